"""The job: runs from failure to failure, and recovers. The only SimPy process of a replication.

While it runs, nothing can happen but the next failure (and a stall for a group that comes back): its clock is then set,
in a plain loop. So it is while it recovers, unless something strikes before it has; for that it waits as for any event
of SimPy.
"""

from __future__ import annotations

from collections.abc import Generator
from math import inf
from typing import Any

import simpy

from gemsim.engine.capacity import Capacity
from gemsim.engine.course import book_all, book_down, length
from gemsim.engine.faults import Injector
from gemsim.engine.fleet import Fleet
from gemsim.engine.history import History, Life
from gemsim.engine.incidents import Incidents
from gemsim.engine.plain import Stretch
from gemsim.engine.progress import Progress
from gemsim.engine.recovery import Recovery, back, replace_nodes
from gemsim.engine.remaps import Remap, serve_remaps
from gemsim.engine.stores import Stores
from gemsim.engine.strike import Strike, Striker
from gemsim.engine.tally import WAIT, Tally
from gemsim.engine.unseen import Unseen
from gemsim.engine.verdict import Verdicts
from gemsim.engine.watch import Watch
from gemsim.failures.trace import Event, Trace
from gemsim.protection.checkpoint import Checkpoint
from gemsim.results.ledger import Ledger
from gemsim.scenario import Scenario

FAILURE, STALL, END = "failure", "stall", "end"


class Job:
    """State of the running job and its process."""

    def __init__(self, env: simpy.Environment, scenario: Scenario, trace: Trace) -> None:
        self.env, self.scenario, self.trace = env, scenario, trace
        self.now = 0.0  # seconds of wall time; SimPy's clock comes after it
        self.injector, self.striker = Injector(scenario, trace), Striker(scenario, trace)
        self.ledger, self.tally = Ledger(), Tally()
        self.fleet = Fleet(scenario, trace, self.tally)
        self.capacity = Capacity(scenario)
        self.remaps: list[Remap] = []  # that wait for a restart
        self.history = History(
            stalls={stall.tier: number for number, stall in enumerate(scenario.timeline.stalls)},
            lags={tier.number: tier.overhead().lag for tier in scenario.tiers},
            volatile=frozenset(t.number for t in scenario.tiers if not isinstance(t, Checkpoint)),
        )
        self.stores = Stores(scenario, self.history)
        self.progress = Progress(scenario, self.history, self.ledger, self.tally, self.capacity)
        self.hidden = self.progress.hidden
        verdicts = Verdicts(scenario, self.striker, self.fleet, self.tally)
        self.unseen = Unseen(scenario, self.injector, self.striker, self.fleet, self.capacity, verdicts)
        parts = scenario, self.injector, self.striker, self.fleet, self.progress, self.tally, self.unseen
        self.incidents = Incidents(*parts, verdicts)
        self.stretch = Stretch(*parts, self.stores, watched=verdicts.needed)
        self.watch: Watch | None = None
        self.progress.begin(0, 0.0)

    @property
    def life(self) -> Life:
        """The present life."""
        return self.history.lives[-1]

    @property
    def running(self) -> float:
        """Running seconds of the present life."""
        return self.progress.running

    def run(self) -> Generator[simpy.Event, Any, None]:
        """The SimPy process: run to the next failure, recover, and again, until the horizon or the last step."""
        if self.fleet.coming:
            yield from self._begin_short()
        while self.now < self.scenario.horizon:
            event = self._play()
            happens = FAILURE if event is not None else self._run_on()
            if happens == END:
                break
            if happens == STALL:
                yield from self._wait_for_those_back()
                continue
            met = self.incidents
            strike = met.next(self.now, advancing=True) if event is None else met.met(event, self.now)
            if strike is not None:
                yield from self._recover(strike)
            elif self.watch is not None:
                self.watch.idle(self)
        yield self._event()

    def _play(self) -> Event | None:
        """Play failures that nothing complicates; returns the first that is not one, if that has struck."""
        if not self.stretch.possible or self.remaps or not self.stretch.begins:
            return None
        self.now, event = self.stretch.play(self.now)
        return event

    def _run_on(self) -> str:
        """Run to what happens next: a failure, a stall for those who come back, or the end."""
        progress, capacity, horizon, now = self.progress, self.capacity, self.scenario.horizon, self.now
        if self.scenario.shrunk is not None and self.fleet.coming:
            self._leave_out()
        elif self.fleet.lemons and capacity.tier is None and not self.fleet.coming:
            self.injector.drop(now, progress.exposure, self.fleet.misses)
        wanted = self._steps_wanted() if self.scenario.work_steps else 0
        limit = min(horizon, now + progress.left(wanted))
        when = self.injector.peek(now, progress.exposure, advancing=True)
        stall = inf if capacity.tier is None else capacity.next_stall(now)
        stop = min(when, stall, limit)
        if stop > now:
            self.now = now + (stop - now)
        progress.advance(self.now - now, self.now)
        if stop == limit:  # what groups that were out did not do may still be to be done
            return END if limit == horizon or self._steps_wanted() <= wanted else self._run_on()
        if stall <= when:
            capacity.settle(max(stall, self.now))  # the clock may stop one rounding short
            return STALL
        return FAILURE

    def _event(self) -> simpy.Event:
        """SimPy's clock comes to where the job's stands."""
        return self.env.timeout(max(0.0, self.now - self.env.now))

    def _steps_wanted(self) -> int:
        """Steps to the end of the work target, those included that make up for missing capacity."""
        return self.scenario.work_steps + (self.capacity.steps_behind if self.capacity.behind else 0)

    def _recover(self, strike: Strike) -> Generator[simpy.Event, Any, None]:
        """Stand still until the state is back; failures meanwhile join the damage and start the recovery again."""
        if self.capacity.out and self._out_already(strike):
            return
        recovery = self._recovery()
        if self.watch is not None:
            self.watch.begins(recovery, strike.event)
        before = self.ledger.lost_to_failures, self.ledger.wasted
        self._strike(recovery, strike)
        yield from self._stand_still(recovery)
        self.close(recovery, recovery.strikes, before)
        self._resume(recovery)
        yield from serve_remaps(self)

    def _begin_short(self) -> Generator[simpy.Event, Any, None]:
        """Begin without nodes that are in repair: wait for them, or run without the groups that lack one."""
        if self.capacity.spares(frozenset(("node", place) for place in self.fleet.vacant)):
            self._leave_out()
            return
        recovery = self._recovery()
        recovery.begin()
        yield from self._wait(recovery, [self.scenario.classes[e.index].name for _, _, e in self.fleet.coming])

    def _wait_for_those_back(self) -> Generator[simpy.Event, Any, None]:
        """Stand still while what comes back catches up."""
        assert self.capacity.tier is not None
        causes, self.capacity.owed = self.capacity.owed, []
        recovery = self._recovery()
        recovery.catch_up(self.capacity.tier.catch_up_stall)
        yield from self._wait(recovery, causes)

    def _wait(self, recovery: Recovery, causes: list[str]) -> Generator[simpy.Event, Any, None]:
        """Stand still though nothing has failed; a failure meanwhile makes it a recovery."""
        before = self.ledger.lost_to_failures, self.ledger.wasted
        yield from self._stand_still(recovery)
        if recovery.strikes:
            self.close(recovery, recovery.strikes, before)
        else:
            tier, lost = self.capacity.tier, self.ledger.lost_to_failures - before[0]
            self.tally.charge(causes, lost, by=WAIT if tier is None else tier.name, touched=tier is not None)
        self._resume(recovery)
        yield from serve_remaps(self)

    def close(self, recovery: Recovery, strikes: list[Strike], before: tuple[float, float]) -> None:
        """A recovery is over; `before`: seconds lost to failures, and wasted, when it began."""
        lost, wasted = before
        stops = self.tally.stopped_lost
        self.tally.close(self.scenario, strikes, recovery.plan, self.ledger.lost_to_failures - lost)
        if self.tally.stopped_lost > stops:
            self.tally.stopped_wasted += self.ledger.wasted - wasted

    def _recovery(self) -> Recovery:
        return Recovery(self.scenario, self.trace, self.stores, self.fleet, self.ledger, self.running, self.capacity)

    def _stand_still(self, recovery: Recovery) -> Generator[simpy.Event, Any, None]:
        """Spend and book the seconds of a recovery, taking in the failures that strike meanwhile."""
        left = recovery.down
        while True:
            begun = self.now
            end = begun + length(left)
            if self.watch is not None:
                self.watch.standing(self, recovery, end)
            when = self.injector.peek(begun, self.progress.exposure, advancing=False)
            stop = min(when, end, self.scenario.horizon)
            self.now = begun + max(0.0, stop - begun)
            if stop == end:
                book_all(self.ledger, left)
                return
            yield self._event()
            left = book_down(self.ledger, left, stop - begun)
            if stop == self.scenario.horizon:
                return
            again = self.incidents.next(self.now, advancing=False)
            if again is not None and not (self.capacity.out and self._out_already(again)):
                self._strike(recovery, again)
                left = recovery.down
            elif (longer := recovery.held_longer()) > 0.0:
                left.insert(0, ("waiting", longer))

    def _out_already(self, strike: Strike) -> bool:
        """Whether a failure strikes only what is out: it is then out for longer, and nobody else notices."""
        whole = strike.damage.corrupt_since is not None or strike.stop > 0.0
        if not self.capacity.holds(strike.damage.struck, whole):
            return False
        assert self.capacity.tier is not None
        taken = replace_nodes(strike, self.stores, self.fleet)
        self.fleet.settle_in(self.now)
        cause = self.scenario.classes[strike.event.index].name
        again = back(strike, taken, self.fleet, self.capacity.tier)
        self.capacity.take_out(strike.damage.struck, again, cause)
        self.tally.count_out(self.scenario, strike, self.capacity.tier.name)
        self._note_left()
        return True

    def _strike(self, recovery: Recovery, strike: Strike) -> None:
        if strike.remap:
            self.remaps = [*self.remaps, Remap(strike, self.fleet.node_in(strike.gpu // self.fleet.per_host))]
        recovery.add(strike, self._remap_waits)
        self.unseen.lose(strike.damage)
        self._note_left()

    def _remap_waits(self) -> bool:
        """Whether a row waits for the reset that remaps it; a node that leaves takes its rows with it."""
        if self.remaps and self.fleet.left:
            self.remaps = [one for one in self.remaps if one.node not in self.fleet.left]
        return bool(self.remaps)

    def _note_left(self) -> None:
        """Nodes that have left the job hold up nobody, and nothing of theirs waits."""
        self._remap_waits()
        if self.hidden.slow:
            self.hidden.leave(self.fleet.left)
        self.fleet.left.clear()

    def _resume(self, recovery: Recovery) -> None:
        """Run again: the same life after an in-place repair, else a new one from the restored version."""
        if self.fleet.coming or self.fleet.drawn:
            self.fleet.settle_in(self.now)
            self._note_left()
        self.unseen.lose(recovery.damage, rewritten=recovery.rolls_back)
        self.fleet.serve_rows(None if recovery.refills_memory else [one.gpu for one in recovery.strikes if one.wait])
        if recovery.in_place:
            self.progress.running -= recovery.plan.redo
            self.life.resume(self.running, self.now)
            if recovery.plan.redo and self.capacity.missing:
                self.capacity.go_back(recovery.place)
            if recovery.plan.out:
                self._go_on_without(recovery)
            if self.capacity.out:
                self.capacity.settle(self.now)
            return
        killed = recovery.killed_at
        assert killed is not None  # processes died, or the work in progress was given up
        if recovery.rolls_back:
            self.remaps = [] if recovery.refills_memory else self.remaps
            self._forget_corruptions(recovery, killed)
        self.life.ended = (self.running, killed)
        self.progress.begin(recovery.version, self.now)
        if self.capacity.tier is not None or self.capacity.missing:
            self.capacity.restart(recovery.version, self.now)
        if self.scenario.shrunk is not None:
            self._leave_out()

    def _leave_out(self) -> None:
        """The groups of a job that shrinks that lack a node are out until it is there, as far as is known now: who
        comes from repair first goes to whoever has waited longest."""
        for unit in self.capacity.out.values():
            unit.ready = unit.until = self.now
        for places, taken, event in self.fleet.coming:
            lacking = frozenset(("node", place) for place in places)
            self.capacity.take_out(lacking, taken.ready, self.scenario.classes[event.index].name)

    def _go_on_without(self, recovery: Recovery) -> None:
        """What was struck is out until it is back; the row remaps of these failures are served there."""
        for strike, ready in zip(recovery.strikes, recovery.back, strict=True):
            cause = self.scenario.classes[strike.event.index].name
            self.capacity.take_out(strike.damage.struck, ready, cause)
            self.remaps = [one for one in self.remaps if one.strike is not strike]
        self.unseen.refill(self.capacity.blocks())

    def _forget_corruptions(self, recovery: Recovery, as_of: float) -> None:
        """Corruptions later than the capture of the restored version are gone with it."""
        if not self.injector.detections:
            return
        tier = next((t for t in self.scenario.tiers if t.name == recovery.plan.tier), None)
        captured = 0.0 if tier is None else self.stores.captured(tier, recovery.version, self.running, as_of)
        self.injector.forget_corruptions(captured)
