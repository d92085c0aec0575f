"""One recovery: what is lost so far, the plan that brings it back, and the seconds it takes.

A failure during a recovery adds to the damage; the recovery then starts again from its first step, by the longer of
the two plans, so that a second failure never shortens what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

from gemsim.engine.capacity import Capacity
from gemsim.engine.claims import Taken
from gemsim.engine.course import Course, Down, length, longer
from gemsim.engine.fleet import Fleet
from gemsim.engine.stores import Stores
from gemsim.engine.strike import NO_WARNING, Strike
from gemsim.failures.trace import Trace
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage
from gemsim.protection.decide import decide
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.tier import Moment, Plan, Tier
from gemsim.results.ledger import Ledger
from gemsim.scenario import Scenario

ROUNDING = 1e-6  # seconds
NO_DAMAGE, NO_MOMENT, NO_PLAN, NO_COURSE = Damage(), Moment(0, 0.0, 0), Plan("", None), Course()


class Recovery:
    """From the failure that stopped the job until it runs again."""

    def __init__(
        self,
        scenario: Scenario,
        trace: Trace,
        stores: Stores,
        fleet: Fleet,
        ledger: Ledger,
        running: float,
        capacity: Capacity,
    ) -> None:
        self.scenario, self.trace, self.stores, self.fleet, self.ledger = scenario, trace, stores, fleet, ledger
        self.running = running
        self.capacity = capacity
        self.out = capacity.blocks() if capacity.out else ()  # what is out when it begins stays out of it to its end
        self.back: list[float] = []  # wall time at which what each failure struck could contribute again
        self.strikes: list[Strike] = []
        self.damage = NO_DAMAGE
        self.killed_at: float | None = None  # wall time at which processes died or rolled back: unfinished writes end
        self.fates: dict[str, bool] = {}  # tier -> its copy is bad: the same for the whole recovery
        self.worn = False  # nodes are replaced that do not outlive this restart
        self.lost = 0.0  # work booked as wasted so far, seconds
        self.saving_until = 0.0  # wall time at which a save on notice ends
        self.stopped_until = 0.0  # wall time at which a planned stop, with the save before it, ends
        self.asked: list[tuple[Taken, float, float]] = []  # replacements; when the failure was known; when it struck
        self.without: list[Taken] = []  # of these, those that the job does not wait for
        self.ready = 0.0  # wall time at which they are at hand; what it takes to start them comes on top
        self.course = NO_COURSE
        self.down: Down = []
        self.moment, self.plan = NO_MOMENT, NO_PLAN
        self.rolls_back = False  # an older version is restored
        self.in_place = True  # the same life goes on, of all ranks or of those left
        self.version = 0  # that the job goes on from

    def add(self, strike: Strike, remap_waits: Callable[[], bool]) -> None:
        """Take in one failure, decide anew, book newly lost work, and set the recovery to its first step."""
        now = strike.wall
        as_of = now if self.killed_at is None else min(now, self.killed_at)
        self.damage = self.damage.join(strike.damage) if self.strikes else strike.damage
        self.strikes.append(strike)
        self.moment = self.stores.moment(self.running, as_of, self.damage.corrupt_since)
        if strike.notice != NO_WARNING and len(self.strikes) == 1:
            self.moment, saving = self.stores.save_on_notice(self.moment, strike)
            self.stopped_until = now + saving + strike.stop
            self.saving_until = now + saving
            as_of += saving
        else:
            if now < self.saving_until:  # the save is lost, and nobody waits for it
                self.stores.history.cut_off(now)
                self.stopped_until = self.stopped_until if self.strikes[0].stop else now
            if strike.stop:
                self.stopped_until = max(self.stopped_until, now + strike.stop)
        if self.out:
            self.moment = replace(self.moment, out=self.out)
        left_out = bool(self.plan.out)
        failed = self._decide()
        if not self.in_place:
            self.killed_at = as_of  # what was still being written belongs to the work that is given up
        self._lose_work()
        self._replace_nodes(strike)
        fresh = self._course(strike, failed, remap_waits())
        held_up = 0.0 if self.plan.out else self.ready - now  # those left wait for nobody
        again = self._again(fresh)
        if left_out and not self.plan.out:  # whoever was to come back later has to be there now
            for earlier in self.strikes[:-1]:
                again = longer(self._course(earlier, 0.0, False), again, held_up)
        self.course = fresh if self.course is NO_COURSE else longer(fresh, again, held_up)
        self.down = self._booked(self.course.steps(held_up))

    def _booked(self, down: Down) -> Down:
        """The save before a stop for row remaps is part of what the memory error costs: recovery."""
        if not self.strikes[0].on_purpose or any(strike.stop for strike in self.strikes):
            return down
        return [("recovery" if column == "planned" else column, seconds) for column, seconds in down]

    def _decide(self) -> float:
        """Choose the plan for all that is lost; returns the seconds lost on copies that are bad."""
        scenario = self.scenario
        decision = decide(scenario.tiers, self.damage, self.moment, scenario.platform, self._copy_is_bad)
        self.plan = plan = decision.plan
        self.rolls_back = plan.version is not None
        self.in_place = (self.damage.alive or bool(plan.out)) and not self.rolls_back
        self.version = self.moment.version if plan.version is None else plan.version
        return decision.failed

    def _replace_nodes(self, strike: Strike) -> None:
        """Ask for others in place of the nodes that this failure takes out, and of those that this restart does."""
        taken = replace_nodes(strike, self.stores, self.fleet)
        self._ask(taken, strike)
        if self.fleet.worn and self.refills_memory:  # this restart serves row remaps, as far as there is room
            worn = replace(strike, slots=self.fleet.worn_places(strike.slots))
            self._ask(also := replace_nodes(worn, self.stores, self.fleet), strike)
            self.worn = also is not None
        if self.capacity.tier is not None:
            self.back.append(back(strike, taken, self.fleet, self.capacity.tier))

    def _again(self, fresh: Course) -> Course:
        """What was still to be done, with the restore and the planned stop as they are now."""
        before = self.course
        recovery = max(before.recovery, fresh.recovery)
        return Course(before.detection, fresh.planned, before.activation, before.device, before.restart, recovery)

    def _ask(self, taken: Taken | None, strike: Strike) -> None:
        """Note replacements that were asked for."""
        if taken is not None:
            self.asked.append((taken, self.fleet.called(strike.wall, strike.detect) + ROUNDING, strike.wall))
            self.ready = self._at_hand()

    def held_longer(self) -> float:
        """Seconds by which what befell the spares meanwhile holds up the job beyond what was thought."""
        if not self.asked or self.plan.out:
            return 0.0
        before, self.ready = self.ready, self._at_hand()
        return max(0.0, self.ready - before) if self.ready < inf else 0.0

    def _at_hand(self) -> float:
        """Wall time from which the last replacement could start; that of its failure where it could at once."""
        if self.scenario.shrunk is not None:
            self.without = self._lacking()
        activation = self.fleet.activation
        latest = -inf
        for taken, known, struck in self.asked:
            if taken not in self.without:
                ready = taken.ready - activation
                latest = max(latest, struck if ready <= known else ready)
        return latest

    def _lacking(self) -> list[Taken]:
        """The requests that a job that shrinks does not wait for: nobody is there but, some day, from repair. It starts
        again without the groups that lack a node, if any group is left."""
        tier, grid = self.scenario.shrunk, self.scenario.platform.grid
        if tier is None or self.in_place:
            return []
        known = {id(taken): when for taken, when, _ in self.asked}
        late = [
            (places, taken)
            for places, taken, _ in self.fleet.coming
            if taken.ready > known.get(id(taken), -inf) + self.fleet.plan.spares.slowest(taken.count)
        ]
        lacking = frozenset(("node", place) for places, _ in late for place in places)
        enough = len(tier.units_of(lacking, grid)) <= tier.most_out(grid)
        return [taken for _, taken in late] if enough else []

    def begin(self) -> None:
        """No failure: stand still until all are there whom the job lacks when the run begins."""
        self.asked = [(taken, 0.0, 0.0) for _, taken, _ in self.fleet.coming]
        self.ready = self._at_hand()
        self.course = Course(activation=self.fleet.activation)
        self.down = self.course.steps(self.ready)

    def catch_up(self, seconds: float) -> None:
        """No failure: stand still until what comes back has caught up."""
        self.course = Course(recovery=seconds)
        self.down = self.course.steps(0.0)

    @property
    def refills_memory(self) -> bool:
        """Processes start anew and the state comes from outside GPU memory, which a reset may therefore clear."""
        held = any(t.name == self.plan.tier and not isinstance(t, Checkpoint) for t in self.scenario.tiers)
        return self.rolls_back and not self.damage.alive and not held

    @property
    def place(self) -> float:
        """Where the state stands in its lineage when the job runs again, in steps."""
        if not self.in_place:
            return float(self.version)
        return self.moment.version + (self.moment.within - self.plan.redo) / self.scenario.timeline.step

    def _copy_is_bad(self, tier: Tier) -> bool:
        if not isinstance(tier, Checkpoint) or tier.invalid == 0.0:
            return False
        strike = self.strikes[-1]
        again = ":remap" if strike.on_purpose else ""  # another copy than its event's own recovery has read
        drawn = self.trace.mark(strike.event, f"bad:{tier.name}{again}") < tier.invalid
        return self.fates.setdefault(tier.name, drawn)

    def _lose_work(self) -> None:
        """Move to wasted what the plan makes the job do again; after a second failure only the difference.

        Work that was missing while groups were out was not done and stays degraded.
        """
        scenario, moment = self.scenario, self.moment
        partial = moment.within * scenario.useful_share
        if self.in_place:
            lost = self.plan.redo * scenario.useful_share
        else:
            lost = (moment.version - self.version) * scenario.useful_step + partial
        if self.capacity.missing:
            reached = moment.version + moment.within / scenario.timeline.step
            lost -= self.capacity.missing_between(self.place, reached)
        self.ledger.waste(lost - self.lost)
        self.lost = lost

    def _course(self, strike: Strike, failed: float, remaps: bool) -> Course:
        """What the newest failure's recovery takes; a roll-back also serves pending row remaps by a reset."""
        if self.plan.out:
            return Course(detection=strike.detect, restart=self.plan.stall, recovery=failed)
        restart = self.scenario.restart
        device = strike.wait
        if remaps and self.refills_memory:
            device = max(device, restart.reset)
        recovery = failed + self.plan.seconds + (0.0 if self.in_place else self.scenario.encode_anew)
        if self.damage.alive:  # a job that restarts is not paused
            recovery += restart.pause
        return Course(
            detection=strike.detect,
            planned=max(0.0, self.stopped_until - strike.wall),
            activation=self.fleet.activation if (strike.slots or self.worn) and self.ready > -inf else 0.0,
            device=device,
            restart=restart.seconds(strike.damage),
            recovery=recovery,
        )


def replace_nodes(strike: Strike, stores: Stores, fleet: Fleet) -> Taken | None:
    """Send broken nodes to repair and ask for others; None where the failure takes no node out."""
    if strike.damage.hosts:
        stores.losses.append((strike.wall, strike.damage))
    return fleet.replace(strike) if strike.slots else None


def back(strike: Strike, taken: Taken | None, fleet: Fleet, tier: ReplicaGroup) -> float:
    """Wall time at which what was struck could contribute again: detected, replaced, started anew, caught up.

    A row remap is served by this start, beside the reset that it needs.
    """
    restart = fleet.scenario.restart
    course = Course(
        detection=strike.detect,
        activation=0.0 if taken is None else fleet.activation,
        device=max(strike.wait, restart.reset if strike.remap else 0.0),
        restart=restart.process + restart.communicator + restart.warmup,
        recovery=tier.catch_up,
    )
    held_up = 0.0 if taken is None else taken.ready - fleet.activation - strike.wall
    return strike.wall + length(course.steps(held_up))
