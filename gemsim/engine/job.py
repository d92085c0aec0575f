"""The job: runs from failure to failure, and recovers. The only SimPy process of a replication.

While it runs, nothing is an event but the next failure (and a stall for a group that comes back); its phase, the
versions it holds and the seconds it has worked follow by arithmetic from the running time of its present life.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from math import inf
from typing import Any

import simpy

from gemsim.engine.capacity import Capacity
from gemsim.engine.course import book_down, length
from gemsim.engine.faults import Injector
from gemsim.engine.fleet import NOWHERE, Fleet
from gemsim.engine.hidden import Hidden
from gemsim.engine.history import History, Life
from gemsim.engine.recovery import Recovery, back, replace_nodes
from gemsim.engine.stores import Stores
from gemsim.engine.strike import Strike, Striker
from gemsim.engine.tally import Tally
from gemsim.failures.trace import Event, Trace
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.timeline import Timeline
from gemsim.protection.undo_log import UndoLog
from gemsim.results.ledger import Ledger
from gemsim.scenario import Scenario


class Job:
    """State of the running job and its process."""

    def __init__(self, env: simpy.Environment, scenario: Scenario, trace: Trace) -> None:
        self.env = env
        self.scenario = scenario
        self.trace = trace
        self.injector = Injector(scenario, trace)
        self.striker = Striker(scenario, trace)
        self.ledger = Ledger()
        self.tally = Tally()
        self.fleet = Fleet(scenario, trace, self.tally)
        self.hidden = Hidden()
        self.capacity = Capacity(scenario)
        self.running = 0.0  # running seconds of the present life
        self.exposure = 0.0  # running seconds of the whole run, repeats included
        self.remaps = 0  # row remaps waiting for a restart
        self.history = History(
            stalls={stall.tier: number for number, stall in enumerate(scenario.timeline.stalls)},
            lags={tier.number: tier.overhead().lag for tier in scenario.tiers},
            volatile=frozenset(t.number for t in scenario.tiers if not isinstance(t, Checkpoint)),
        )
        self.stores = Stores(scenario, self.history)
        self._slower = [(t.name, t.overhead().slower) for t in scenario.tiers if t.overhead().slower]
        self._begin_life(0)

    @property
    def life(self) -> Life:
        """The present life."""
        return self.history.lives[-1]

    def run(self) -> Generator[simpy.Event, Any, None]:
        """The SimPy process: run to the next failure, recover, and again, until the horizon or the last step."""
        while True:
            now = self.env.now
            wanted = self._steps_wanted() if self.scenario.work_steps else 0
            limit = min(self.scenario.horizon, now + self._left(wanted))
            when = self.injector.peek(now, self.exposure, advancing=True)
            stall = inf if self.capacity.tier is None else self.capacity.next_stall(now)
            yield self.env.timeout(max(0.0, min(when, stall, limit) - now))
            self._advance(self.env.now - now)
            if min(when, stall) >= limit:
                if limit == self.scenario.horizon or self._steps_wanted() <= wanted:
                    return
                continue  # what groups that were out did not do is still to be done
            if stall <= when:
                self.capacity.settle(max(stall, self.env.now))  # the clock may stop one rounding short
                yield from self._wait_for_those_back()
            elif (strike := self._pop(advancing=True)) is not None:
                yield from self._recover(strike)
            if self.env.now >= self.scenario.horizon:
                return

    def at_risk(self) -> float:
        """Productive seconds since the newest version that outlives the loss of all GPU memory."""
        moment = self.stores.moment(self.running, self.env.now, None)
        stored = [moment.saved.get(t.number, 0) for t in self.scenario.tiers if isinstance(t, Checkpoint)]
        stored += [moment.version for t in self.scenario.tiers if isinstance(t, UndoLog)]
        steps = moment.version - max(stored, default=0)
        work = steps * self.scenario.useful_step + moment.within * self.scenario.useful_share
        return work - self.capacity.missing_between(moment.version - steps, self._place())

    def _steps_wanted(self) -> int:
        """Steps to the end of the work target, those included that make up for missing capacity."""
        return self.scenario.work_steps + self.capacity.steps_behind

    def _left(self, wanted: int) -> float:
        """Running seconds until the last of the wanted steps is done."""
        if wanted == 0:
            return inf
        return max(0.0, self.life.timeline.done(wanted - self.life.base) - self.running)

    def _place(self) -> float:
        """Where the state stands in its lineage, in steps."""
        phase = self.life.timeline.at(self.running)
        return self.life.base + phase.steps + phase.within / self.life.timeline.step

    def _advance(self, seconds: float) -> None:
        """Book running seconds, piece by piece where groups are out."""
        if not self.capacity.out and not self.hidden.slow:
            self._book(seconds, 0.0)
            return
        for piece, lost, causes in self._pieces(seconds):
            begin = self._place()
            missing = self._book(piece, lost)
            if missing:
                self.capacity.note(begin, begin + missing / lost / self.scenario.useful_step, lost)
                self.tally.charge(causes, missing)
        self.capacity.settle(self.env.now)

    def _pieces(self, seconds: float) -> list[tuple[float, float, list[str]]]:
        """Stretches of equal capacity; all ranks go at the pace of the slowest node."""
        now = self.env.now
        pieces = self.capacity.pieces(now - seconds, now) if self.capacity.out else [(seconds, 0.0, [])]
        if not self.hidden.slow:
            return pieces
        slower, index = self.hidden.slowest()
        cause = self.scenario.classes[index].name
        return [(piece, lost + (1.0 - lost) * slower, [*causes, cause]) for piece, lost, causes in pieces]

    def _book(self, seconds: float, lost: float) -> float:
        """Book running seconds: work, encodes, saves. The share `lost` of the work is missing; returns its seconds."""
        timeline, scenario = self.life.timeline, self.scenario
        before, after = timeline.stalled(self.running), timeline.stalled(self.running + seconds)
        working = seconds
        for stall, spent_before, spent_after in zip(timeline.stalls, before[1], after[1], strict=True):
            spent = spent_after - spent_before
            if spent:
                self.ledger.book_overhead(scenario.tiers[stall.tier].name, spent)
                working -= spent
        worked = working * scenario.useful_share
        missing = worked * lost
        self.ledger.book("productive", worked - missing)
        if missing:
            self.ledger.book("degraded", missing)
        for name, slower in self._slower:
            self.ledger.book_overhead(name, working * slower / timeline.step)
        self.running += seconds
        self.exposure += seconds
        return missing

    def _pop(self, *, advancing: bool) -> Strike | None:
        """The failure that is due now, as a strike; None when it does not stop the job."""
        event, since = self.injector.pop(self.env.now, self.exposure, advancing=advancing)
        if since is not None:
            return self._found(event, since)
        gpu = self.fleet.struck(event, self.env.now)
        if gpu == NOWHERE:
            return None
        kind = self.scenario.classes[event.index]
        if kind.recurrence is not None:
            self.injector.follow(event, self.fleet.device(event, gpu), self.exposure)
        if kind.scope in ("silent", "slow"):
            self.tally.failures += 1
            self._hide(event, gpu)
            return None
        region = self.striker.region(event, kind)
        worn = kind.scope == "memory" and self.fleet.remap(event, gpu)
        if region == "free":
            return None
        if kind.scope == "planned":
            self.tally.planned_stops += 1
            return self.striker.strike(event, self.env.now, gpu, region=region)
        self.tally.failures += 1
        return self.fleet.judged(self.striker, event, gpu, region=region, now=self.env.now, worn=worn)

    def _hide(self, event: Event, gpu: int) -> None:
        """What strikes unseen waits for its detection; a slow node holds up all others until then."""
        node = self.fleet.node_in(gpu // self.scenario.platform.grid.per_node)
        self.hidden.add(event, gpu, self.scenario.classes[event.index].slower, node)
        self.injector.hide(event, self.env.now)

    def _found(self, event: Event, since: float) -> Strike | None:
        """What struck unseen is detected: a corruption rolls back, a slow node that is still there is taken out."""
        if event not in self.hidden.gpus:
            return None  # the slow node has left for another reason
        gpu = self.hidden.find(event)
        kind = self.scenario.classes[event.index]
        silent = kind.scope == "silent"
        if kind.slower and kind.detect.mean and self.fleet.misdiagnosed(event):
            self._hide(replace(event, again=event.again + 1), gpu)  # the slow one stays, and has to be found again
        return self.striker.strike(event, self.env.now, gpu, region="", since=since if silent else None)

    def _recover(self, strike: Strike) -> Generator[simpy.Event, Any, None]:
        """Stand still until the state is back; failures meanwhile join the damage and start the recovery again."""
        if self.capacity.out and self._out_already(strike):
            return
        recovery = self._recovery()
        before = self.ledger.lost_to_failures
        self._strike(recovery, strike)
        self.tally.interruptions += 1
        yield from self._stand_still(recovery)
        self.tally.close(self.scenario, recovery.strikes, recovery.plan, self.ledger.lost_to_failures - before)
        self._resume(recovery)

    def _wait_for_those_back(self) -> Generator[simpy.Event, Any, None]:
        """Stand still while what comes back catches up; a failure meanwhile makes it a recovery."""
        assert self.capacity.tier is not None
        causes, self.capacity.owed = self.capacity.owed, []
        recovery = self._recovery()
        before = self.ledger.lost_to_failures
        recovery.catch_up(self.capacity.tier.catch_up_stall)
        yield from self._stand_still(recovery)
        cost = self.ledger.lost_to_failures - before
        if recovery.strikes:
            self.tally.close(self.scenario, recovery.strikes, recovery.plan, cost)
        else:
            self.tally.charge(causes, cost)
        self._resume(recovery)

    def _recovery(self) -> Recovery:
        return Recovery(self.scenario, self.trace, self.stores, self.fleet, self.ledger, self.running, self.capacity)

    def _stand_still(self, recovery: Recovery) -> Generator[simpy.Event, Any, None]:
        """Spend and book the seconds of a recovery, taking in the failures that strike meanwhile."""
        left = recovery.down
        while True:
            begun = self.env.now
            end = begun + length(left)
            when = self.injector.peek(begun, self.exposure, advancing=False)
            stop = min(when, end, self.scenario.horizon)
            yield self.env.timeout(max(0.0, stop - begun))
            left = book_down(self.ledger, left, inf if stop == end else stop - begun)
            if stop in (end, self.scenario.horizon):
                break
            again = self._pop(advancing=False)
            if again is not None and not (self.capacity.out and self._out_already(again)):
                self._strike(recovery, again)
                left = recovery.down
            elif (longer := recovery.held_longer()) > 0.0:
                left.insert(0, ("waiting", longer))

    def _out_already(self, strike: Strike) -> bool:
        """Whether a failure strikes only what is out: it is then out for longer, and nobody else notices."""
        if not self.capacity.holds(strike.damage.struck, strike.damage.corrupt_since is not None):
            return False
        assert self.capacity.tier is not None
        taken = replace_nodes(strike, self.stores, self.fleet)
        self.fleet.settle_in(self.env.now)
        cause = self.scenario.classes[strike.event.index].name
        again = back(strike, taken, self.fleet, self.capacity.tier)
        self.capacity.take_out(strike.damage.struck, again, cause)
        self.tally.count_out(self.scenario, strike, self.capacity.tier.name)
        return True

    def _strike(self, recovery: Recovery, strike: Strike) -> None:
        self.remaps += strike.remap
        recovery.add(strike, self.remaps)
        self._note_left()

    def _note_left(self) -> None:
        """Nodes that have left the job hold up nobody."""
        if self.hidden.slow:
            self.hidden.leave(self.fleet.left)
        self.fleet.left.clear()

    def _resume(self, recovery: Recovery) -> None:
        """Run again: the same life after an in-place repair, else a new one from the restored version."""
        if self.fleet.coming or self.fleet.drawn:
            self.fleet.settle_in(self.env.now)
            self._note_left()
        if recovery.in_place:
            self.running -= recovery.plan.redo
            self.life.resume(self.running, self.env.now)
            if recovery.plan.redo and self.capacity.missing:
                self.capacity.go_back(recovery.place)
            if recovery.plan.out:
                self._go_on_without(recovery)
            if self.capacity.out:
                self.capacity.settle(self.env.now)
            return
        killed = recovery.killed_at
        assert killed is not None  # processes died, or the work in progress was given up
        if recovery.rolls_back:
            self.remaps = 0 if recovery.refills_memory else self.remaps
            self._forget_corruptions(recovery, killed)
        self.life.ended = (self.running, killed)
        self._begin_life(recovery.version)
        if self.capacity.tier is not None or self.capacity.missing:
            self.capacity.restart(recovery.version, self.env.now)
        if self.scenario.shrunk is not None:
            for places, taken, event in self.fleet.coming:
                lacking = frozenset(("node", place) for place in places)
                self.capacity.take_out(lacking, taken.ready, self.scenario.classes[event.index].name)

    def _go_on_without(self, recovery: Recovery) -> None:
        """What was struck is out until it is back; the row remaps of these failures are served there."""
        for strike, ready in zip(recovery.strikes, recovery.back, strict=True):
            cause = self.scenario.classes[strike.event.index].name
            self.capacity.take_out(strike.damage.struck, ready, cause)
            self.remaps -= strike.remap

    def _forget_corruptions(self, recovery: Recovery, as_of: float) -> None:
        """Corruptions later than the capture of the restored version are gone with it."""
        if not self.injector.detections:
            return
        tier = next((t for t in self.scenario.tiers if t.name == recovery.plan.tier), None)
        captured = 0.0 if tier is None else self.stores.captured(tier, recovery.version, self.running, as_of)
        self.injector.forget_corruptions(captured)

    def _begin_life(self, version: int) -> None:
        self.running = 0.0
        self.history.begin(Life(version, self._timeline(), self.env.now))

    def _timeline(self) -> Timeline:
        """The scenario's timeline; checkpoints anchored to the wall clock start where that clock stands."""
        timeline = self.scenario.timeline
        anchored = {t.number for t in self.scenario.tiers if isinstance(t, Checkpoint) and t.wall_anchor}
        if not anchored:
            return timeline
        stalls = []
        for stall in timeline.stalls:
            period = stall.every * timeline.step + stall.seconds
            steps = round((period - self.env.now % period) / timeline.step)
            first = max(1, min(stall.every, steps))
            stalls.append(replace(stall, first=first) if stall.tier in anchored else stall)
        return Timeline(timeline.step, tuple(stalls))
