"""One recovery: what is lost so far, the plan that brings it back, and the seconds it takes.

A failure during a recovery adds to the damage; the recovery then starts again from its first step, by the longer of
the two plans, so that a second failure never shortens what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile

from gemsim.engine.faults import Strike
from gemsim.engine.history import History
from gemsim.engine.spares import SparePool
from gemsim.failures.trace import Trace
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.damage import Damage
from gemsim.protection.decide import decide
from gemsim.protection.tier import Moment, Plan, Tier
from gemsim.results.ledger import Ledger
from gemsim.scenario import Scenario

Down = list[tuple[str, float]]  # (ledger column, seconds) in order


class Stores:
    """The versions that tiers hold, as a recovery sees them: newest, not corrupt, not expired, hosts still there."""

    def __init__(self, scenario: Scenario, history: History) -> None:
        self.scenario = scenario
        self.history = history
        self.losses: list[tuple[float, Damage]] = []  # (wall, damage that took hosts with it)
        written = [t for t in scenario.tiers if not (isinstance(t, Checkpoint) and t.every >= NEVER)]
        self.keepers = [t for t in written if t.number in history.stalls and t.overhead().keeps_versions]

    def moment(self, running: float, as_of: float, corrupt_since: float | None) -> Moment:
        """Where the job stands after `running` s of its life; writes unfinished at wall time `as_of` are lost."""
        life = self.history.lives[-1]
        phase = life.timeline.at(running)
        stall = life.timeline.stalls[phase.stall].tier if phase.stall >= 0 else -1
        saved: dict[int, int] = {}
        missing: dict[int, frozenset[int]] = {}
        for tier in self.keepers:
            newest = self._newest(tier, running, as_of, corrupt_since)
            if newest is not None:
                saved[tier.number], captured = newest
                missing[tier.number] = self._missing(tier, captured)
        ahead = life.timeline.ahead(phase)
        return Moment(life.base + phase.steps, phase.within, life.base, stall, phase.elapsed, saved, missing, ahead)

    def captured(self, tier: Tier, version: int, running: float, as_of: float) -> float:
        """Wall time at which the restored version was captured."""
        versions = self.history.versions(tier.number, running=running, wall=as_of)
        return next((when for held, when in versions if held <= version), 0.0)

    def _newest(
        self, tier: Tier, running: float, as_of: float, corrupt_since: float | None
    ) -> tuple[int, float] | None:
        """Newest held version captured before the corruption, with its capture time."""
        versions = self.history.versions(tier.number, running=running, wall=as_of)
        for seen, (version, captured) in enumerate(versions):
            if isinstance(tier, Checkpoint):
                expired = seen > 0 and as_of - captured > tier.keep_seconds  # the newest is never given up
                if expired or (tier.keep_count and seen >= tier.keep_count):
                    return None
            if corrupt_since is None or captured <= corrupt_since:
                return version, captured
        return None

    def _missing(self, tier: Tier, captured: float) -> frozenset[int]:
        """Hosts that lost their copy of a version captured at that time."""
        later = takewhile(lambda loss: loss[0] > captured, reversed(self.losses))
        on_disk = isinstance(tier, Checkpoint) and tier.target == "disk"
        return frozenset().union(*(damage.disks if on_disk else damage.hosts for _, damage in later))


@dataclass(frozen=True, slots=True)
class Course:
    """Seconds of one recovery: detect, then activate a spare (beside a reset or reboot), restart, and restore."""

    detection: float = 0.0
    activation: float = 0.0
    device: float = 0.0
    restart: float = 0.0
    recovery: float = 0.0

    def steps(self, held_up: float) -> Down:
        """The seconds by ledger column, when all replacements are at hand `held_up` s from now.

        A spare still in repair holds up any recovery, but only until it is back, however often this starts again.
        """
        waiting = max(self.activation + max(0.0, held_up - self.detection), self.device)
        return [
            ("detection", self.detection),
            ("waiting", waiting),
            ("restart", self.restart),
            ("recovery", self.recovery),
        ]


def longer(one: Course, other: Course, held_up: float) -> Course:
    """The longer of two recoveries, made of the steps of the one with more to do.

    Where the other is longer for its detection alone, the job stands that much longer before the first step.
    """
    total = max(length(course.steps(held_up)) for course in (one, other))
    graver = max(one, other, key=lambda course: length(course.steps(held_up)[1:]))
    return replace(graver, detection=graver.detection + total - length(graver.steps(held_up)))


class Recovery:
    """From the failure that stopped the job until it runs again."""

    def __init__(
        self, scenario: Scenario, trace: Trace, stores: Stores, pool: SparePool, ledger: Ledger, running: float
    ) -> None:
        self.scenario, self.trace, self.stores, self.pool, self.ledger = scenario, trace, stores, pool, ledger
        self.running = running
        self.strikes: list[Strike] = []
        self.damage = Damage()
        self.killed_at: float | None = None  # wall time at which processes died or rolled back: unfinished writes end
        self.fates: dict[str, bool] = {}  # tier -> its copy is bad: the same for the whole recovery
        self.lost = 0.0  # work booked as wasted so far, seconds
        self.ready = 0.0  # wall time at which all replacements are at hand
        self.course = Course()
        self.down: Down = []
        self.plan = Plan("", None)
        self.moment = Moment(0, 0.0, 0)

    def add(self, strike: Strike, remaps: int) -> None:
        """Take in one failure, decide anew, book newly lost work, and set the recovery to its first step."""
        now = strike.wall
        self.strikes.append(strike)
        self.damage = self.damage.join(strike.damage)
        if self.killed_at is None and not strike.damage.alive:
            self.killed_at = now
        as_of = now if self.killed_at is None else self.killed_at
        self.moment = self.stores.moment(self.running, as_of, self.damage.corrupt_since)
        decision = decide(self.scenario.tiers, self.damage, self.moment, self.scenario.platform, self._copy_is_bad)
        self.plan = decision.plan
        if self.rolls_back:
            self.killed_at = as_of  # what was still being written belongs to the work that is given up
        self._lose_work()
        self._replace_nodes(strike)
        fresh = self._course(strike, decision.failed, remaps > 0)
        again = replace(self.course, recovery=max(self.course.recovery, fresh.recovery))
        held_up = self.ready - now
        self.course = longer(fresh, again, held_up)
        self.down = self.course.steps(held_up)

    @property
    def rolls_back(self) -> bool:
        """An older version is restored."""
        return self.plan.version is not None

    @property
    def refills_memory(self) -> bool:
        """Processes start anew and the state comes from outside GPU memory, which a reset may therefore clear."""
        held = any(t.name == self.plan.tier and not isinstance(t, Checkpoint) for t in self.scenario.tiers)
        return self.rolls_back and not self.damage.alive and not held

    @property
    def in_place(self) -> bool:
        """The same life goes on."""
        return self.damage.alive and not self.rolls_back

    @property
    def version(self) -> int:
        """The version that the job goes on from."""
        return self.moment.version if self.plan.version is None else self.plan.version

    def _copy_is_bad(self, tier: Tier) -> bool:
        if not isinstance(tier, Checkpoint) or tier.invalid == 0.0:
            return False
        drawn = self.trace.mark(self.strikes[-1].event, f"bad:{tier.name}") < tier.invalid
        return self.fates.setdefault(tier.name, drawn)

    def _lose_work(self) -> None:
        """Move to wasted what the plan makes the job do again; after a second failure only the difference."""
        scenario, moment = self.scenario, self.moment
        partial = moment.within * scenario.useful_share
        if self.in_place:
            lost = self.plan.redo * scenario.useful_share
        else:
            lost = (moment.version - self.version) * scenario.useful_step + partial
        self.ledger.waste(lost - self.lost)
        self.lost = lost

    def _replace_nodes(self, strike: Strike) -> None:
        """Send broken nodes to repair and reserve spares for them."""
        if strike.damage.hosts:
            self.stores.losses.append((strike.wall, strike.damage))
        if strike.nodes:
            for _ in range(strike.nodes):
                self.pool.send_to_repair(strike.wall + strike.repair)
            self.ready = max(self.ready, self.pool.take(strike.nodes, strike.wall))

    def _course(self, strike: Strike, failed: float, remaps: bool) -> Course:
        """What the newest failure's recovery takes; a roll-back also serves pending row remaps by a reset."""
        restart = self.scenario.restart
        device = strike.wait
        if remaps and self.refills_memory:
            device = max(device, restart.reset)
        recovery = failed + self.plan.seconds + (0.0 if self.in_place else self.scenario.encode_anew)
        if self.damage.alive:  # a job that restarts is not paused
            recovery += restart.pause
        return Course(
            detection=strike.detect,
            activation=self.scenario.spare_activation if strike.nodes else 0.0,
            device=device,
            restart=restart.seconds(strike.damage),
            recovery=recovery,
        )


def length(down: Down) -> float:
    """Seconds of a recovery."""
    return sum(seconds for _, seconds in down)


def book_down(ledger: Ledger, down: Down, spent: float) -> Down:
    """Book the first `spent` seconds of a recovery; returns what is left of it."""
    left: Down = []
    for column, seconds in down:
        used = min(seconds, spent)
        ledger.book(column, used)
        spent -= used
        left.append((column, seconds - used))
    return left
