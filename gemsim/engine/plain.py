"""A stretch of failures that nothing complicates, in a plain loop: each time the job goes back to a store, and a spare
that stands by comes in.

Most failures of most jobs are such. What comes out is to the last bit what `Recovery` makes of them step by step; a
test holds them equal. Wherever anything else could happen, the loop ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from gemsim.engine.course import Course, Down, book_all, length
from gemsim.engine.faults import Injector
from gemsim.engine.fleet import Fleet
from gemsim.engine.progress import Progress
from gemsim.engine.recovery import ROUNDING
from gemsim.engine.stores import Stores
from gemsim.engine.strike import NO_WARNING, NOWHERE, Striker
from gemsim.engine.tally import Tally
from gemsim.engine.unseen import Unseen
from gemsim.failures.trace import Event
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage, Nature
from gemsim.protection.tier import START, Moment, state_is_intact
from gemsim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Plain:
    """What every failure of one class does, wherever it strikes: all processes restart from an older version."""

    index: int
    name: str
    nature: Nature
    damage: Damage
    detect: float | None  # seconds; None: drawn
    replaces: bool  # its node
    wait: float  # seconds for a reset or reboot
    restart: float  # seconds


class Stretch:
    """Plays plain failures of a job whose only tiers are remote stores, of which no copy is ever bad."""

    def __init__(
        self, scenario: Scenario, injector: Injector, striker: Striker, fleet: Fleet, progress: Progress,
        tally: Tally, unseen: Unseen, stores: Stores, *, watched: bool,
    ) -> None:  # fmt: skip
        self.scenario, self.injector, self.striker, self.fleet = scenario, injector, striker, fleet
        self.stores, self.history, self.unseen = stores, stores.history, unseen
        self.progress, self.ledger, self.tally = progress, progress.ledger, tally
        good = all(isinstance(tier, Checkpoint) and not tier.invalid for tier in scenario.tiers)
        possible = good and striker.placeless and not watched
        self.plain = [plain(index, scenario, striker) if possible else None for index in range(len(scenario.classes))]
        self.possible = any(self.plain)
        self._downs: dict[tuple[int, float, float], tuple[Down, float]] = {}
        self._restores: dict[int, tuple[int, float]] = {}  # of a tier: versions beside the newest, seconds

    @property
    def begins(self) -> bool:
        """Whether nothing is pending, of hardware or of the state, that a plain failure would have to heed."""
        unseen = self.injector.detections or self.unseen.gpus or self.progress.hidden.slow
        rows = self.fleet.rows is not None and self.fleet.rows.book.waiting
        return self.fleet.complete and not (unseen or rows or self.history.noted or self.progress.capacity.missing)

    def play(self, now: float) -> tuple[float, Event | None]:
        """Run and recover from wall time `now` on; the wall time at which that is no longer plain, and the failure that
        strikes then. None: the job runs on to its end."""
        progress, injector, fleet = self.progress, self.injector, self.fleet
        while True:
            if fleet.lemons:
                when = injector.drop(now, progress.exposure, fleet.misses)
            else:
                when = injector.peek(now, progress.exposure, advancing=True)
            limit = min(self.scenario.horizon, now + progress.left(self.scenario.work_steps))
            if when >= limit:
                return now, None
            begun = now
            if when > now:
                now += when - now
            progress.advance(now - begun, now)
            event, _ = injector.pop(now, progress.exposure, advancing=True)
            kind = self.plain[event.index]
            if kind is None:
                return now, event
            gpu = fleet.struck(event, now)
            if gpu == NOWHERE:
                continue
            end = self._recover(kind, event, gpu, now)
            if end is None:
                return now, event
            now = end

    def _recover(self, kind: Plain, event: Event, gpu: int, now: float) -> float | None:
        """Play one recovery; wall time at which the job runs again. None: it is no plain one, and nothing is done."""
        fleet = self.fleet
        detect = self.striker.seconds_unseen(event) if kind.detect is None else kind.detect
        called = ready = held_up = 0.0
        if kind.replaces:
            called = fleet.called(now, detect)
            ready = fleet.pools.at_hand(now, called) - fleet.activation
            held_up = ready - now if ready > called + ROUNDING else 0.0
            if held_up == inf:
                return None
        version, tier, restore = self._restore(kind, now)
        down, seconds = self._down(kind, detect, restore, held_up)
        end = now + seconds
        if end > self.injector.wall.due or end > self.scenario.horizon:
            return None
        end = now + (end - now)
        if not now < end >= ready:
            return None
        if kind.replaces:
            fleet.swap(event, gpu // fleet.per_host, now, self.striker.seconds_away(event), ready, end)
        self._book(kind, tier, version, down, now)
        self.progress.begin(version, end)
        return end

    def _book(self, kind: Plain, tier: str, version: int, down: Down, now: float) -> None:
        """Book the work that has to be done again and the seconds of the recovery, and end this life."""
        ledger, progress = self.ledger, self.progress
        life = self.history.lives[-1]
        phase = life.at(progress.running)
        before = ledger.lost_to_failures
        ledger.waste((life.base + phase.steps - version) * self.scenario.useful_step + phase.within * progress.share)
        book_all(ledger, down)
        self.tally.failures += 1
        self.tally.close_one(self.scenario, kind.name, kind.nature, tier, ledger.lost_to_failures - before)
        if kind.damage.hosts:
            self.stores.losses.append((now, kind.damage))
        life.ended = (progress.running, now)

    def _restore(self, kind: Plain, now: float) -> tuple[int, str, float]:
        """The version to go back to, the first store that holds any, and the seconds that it takes to restore that. Its
        plan is asked for once: it is alike for all versions."""
        for tier in self.stores.keepers:
            newest = self.history.newest(tier.number, running=self.progress.running, wall=now)
            if newest is None:
                continue
            held, _ = newest
            if tier.number not in self._restores:
                moment = Moment(held, 0.0, 0, saved={tier.number: held})
                plan = tier.recover(kind.damage, moment, self.scenario.platform)
                if plan is None or plan.version is None:
                    continue
                self._restores[tier.number] = plan.version - held, plan.seconds
            older, seconds = self._restores[tier.number]
            return held + older, tier.name, seconds
        return 0, START, 0.0

    def _down(self, kind: Plain, detect: float, restore: float, held_up: float) -> tuple[Down, float]:
        """The steps of the recovery that take time, and their seconds; where nobody is waited for, they are alike for
        equal failures."""
        key = kind.index, detect, restore
        if not held_up and key in self._downs:
            return self._downs[key]
        activation = self.fleet.activation if kind.replaces else 0.0
        course = Course(detect, 0.0, activation, kind.wait, kind.restart, restore + self.scenario.encode_anew)
        down = [step for step in course.steps(held_up) if step[1]]
        found = down, length(down)
        if not held_up:
            self._downs[key] = found
        return found


def plain(index: int, scenario: Scenario, striker: Striker) -> Plain | None:
    """What the failures of a class do, if that is alike for all, takes no more than a node, and comes unannounced."""
    case = striker.case_of(index)
    if case is None or case.damage is None or case.notice != NO_WARNING or case.remap:
        return None
    damage = case.damage
    if damage.alive or state_is_intact(damage):
        return None
    replaces, restart = case.action == "replace", scenario.restart.seconds(damage)
    return Plain(index, scenario.classes[index].name, case.nature, damage, case.detect, replaces, case.wait, restart)
