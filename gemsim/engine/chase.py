"""One run in chase of a loss: it goes its way until one chosen failure strikes, and from then on each next failure is
forced to come before the job is whole again.

A run is a function of its trace. What lies ahead of the present moment is memoryless, so it can be drawn anew, or drawn
from another law and weighted by the ratio of the two (importance sampling by forced failures: Lewis and Boehm 1984;
Nicola, Shahabuddin and Heidelberger 1993). The weights keep the mean what it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemsim.engine.faults import Clock
from gemsim.engine.job import Job
from gemsim.engine.levels import Missing, kept_on_hosts, level, near
from gemsim.engine.recovery import Recovery
from gemsim.engine.streams import Stream, events
from gemsim.errors import NotCovered
from gemsim.failures.trace import Event
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage
from gemsim.protection.tier import START
from gemsim.protection.timeline import end_of_save
from gemsim.scenario import Scenario

AT_ONCE = 1e-6  # seconds that rounding may part
RESERVE = 64  # instants of each class that one run may meet after the chosen failure
CLASSES, PLACES, FATES = 0.5, 0.5, 0.5  # share of draws from the even law over classes, near places, bad copies
AGAIN = 0.5  # chance that a failure is forced after one that took no more of the redundancy
HEAVIEST = 1.0 / CLASSES / PLACES  # factor of a forced failure beside the chance that one comes at all


class Over(Exception):
    """Nothing that this run could still meet counts."""


@dataclass(slots=True)
class Chase:
    """Watches a job and sets what fails next. `chosen`: (class, number) of the failures whose stroke begins the chase.

    `value`: the weight of a loss in the recovery that they begin, or before the job is whole again; 0 without one.
    """

    scenario: Scenario
    streams: Sequence[Stream]
    rng: np.random.Generator
    numbers: list[int]  # of the next failure of each class
    chosen: frozenset[tuple[int, int]]
    weight: float = 1.0
    value: float = 0.0
    begun: bool = False
    level: int = 0
    damage: Damage = field(default_factory=Damage)
    latest: Recovery | None = None
    drawn: int = 0

    def begins(self, recovery: Recovery, event: Event) -> None:
        """A recovery is about to take in its first failure: whether copies turn out bad is drawn here, all of them
        together more often than they are."""
        odds = {t.name: t.invalid for t in self.scenario.tiers if isinstance(t, Checkpoint) and t.invalid}
        if not odds or not (self.begun or event[1:3] in self.chosen):
            return
        together = math.prod(odds.values())
        bias = FATES if 2.0 * together < FATES else 0.0
        fates = dict.fromkeys(odds, True)
        if self.rng.random() >= bias:
            fates = {name: bool(self.rng.random() < chance) for name, chance in odds.items()}
        own = math.prod(chance if fates[name] else 1.0 - chance for name, chance in odds.items())
        drawn = (1.0 - bias) * own + (bias if all(fates.values()) else 0.0)
        self.weight *= own / drawn
        recovery.fates = fates

    def standing(self, job: Job, recovery: Recovery, end: float) -> None:
        """The job stands still until wall time `end` if nothing happens; called whenever that has changed."""
        strikes = recovery.strikes
        if not strikes:
            return
        lost = recovery.plan.tier == START and any(not strike.on_purpose and not strike.stop for strike in strikes)
        short = self._short(recovery)
        if not self.begun:
            if strikes[0].event[1:3] not in self.chosen:
                if lost or any(strike.event[1:3] in self.chosen for strike in strikes):
                    raise Over  # the run is lost before, or the chosen failure belongs to what another began
                return
            if short:
                raise Over
            self.begun = True
        elif self._rested(recovery, short):
            raise Over
        self.latest = recovery
        if lost:
            self.value = self.weight
            raise Over
        if job.injector.wall.due <= job.now + AT_ONCE:
            return  # others strike at this very moment
        self.damage = recovery.damage
        missing = recovery.moment.missing
        before, self.level = self.level, level(self.scenario, self.damage, missing)
        self._next(job, end, self._whole(job, recovery, end), missing, risen=self.level > before)

    def idle(self, job: Job) -> None:
        """What was due has struck nobody, while the job runs."""
        if self.begun:
            self._next(job, job.now, job.scenario.horizon, {}, risen=False)

    def _rested(self, recovery: Recovery, short: bool) -> bool:
        """The job was whole again before this recovery began."""
        return recovery is not self.latest and not short

    def _short(self, recovery: Recovery) -> bool:
        """Whether hosts have lost copies since the last save, when a recovery begins."""
        gone = recovery.moment.missing
        return any(gone.get(tier.number) for tier in kept_on_hosts(self.scenario))

    def _whole(self, job: Job, recovery: Recovery, end: float) -> float:
        """Wall time at which nothing is lacking any more if nothing happens, or later (which only costs time)."""
        lost = [t for t in kept_on_hosts(self.scenario) if recovery.damage.hosts or recovery.moment.missing]
        if not lost:
            return end
        if recovery.in_place:
            return self.scenario.horizon
        timeline = job.progress.timeline_at(end)
        stalls = job.history.stalls
        saves = (end_of_save(timeline, stalls[t.number], 0) + t.lag for t in lost if t.number in stalls)
        return end + max(saves, default=0.0)

    def _next(self, job: Job, end: float, whole: float, missing: Missing, *, risen: bool) -> None:
        """Draw what fails next: on the wall clock from now on, on that of running time from `end` on."""
        now, horizon = job.now, self.scenario.horizon
        limit = max(now, min(whole, horizon))
        found = job.injector.detections[0][0] if job.injector.detections else math.inf
        wall = math.fsum(s.rate for s in self.streams if s.kind.exposure == "wall")
        both = math.fsum(s.rate for s in self.streams)
        still = max(0.0, min(end, limit) - now)

        def hazard(until: float) -> float:
            seconds = max(0.0, until - now)
            return wall * min(still, seconds) + both * max(0.0, seconds - still)

        chance = -math.expm1(-hazard(limit))
        come = 1.0 if risen else AGAIN  # after a failure that took no more, only as often as not
        forced = found >= limit and chance * HEAVIEST <= FATES * come
        if forced:
            if self.rng.random() >= come:
                raise Over
            self.weight *= chance / come
            reached = -math.log1p(-self.rng.random() * chance)
        else:
            reached = float(self.rng.exponential())
        soon = reached < hazard(min(limit, found))
        if not soon and found >= limit:
            raise Over
        due: list[Event] = []
        if soon:
            after = reached / wall if reached <= wall * still else still + (reached - wall * still) / both
            due = self._failure(now + after, after > still, missing, forced=forced)
        job.injector.wall, job.injector.running = Clock(due), Clock([])

    def _failure(self, time: float, running: bool, missing: Missing, *, forced: bool) -> list[Event]:
        """One instant of failures at wall time `time`."""
        streams = [s for s in self.streams if running or s.kind.exposure == "wall"]
        stream, factor = pick(streams, self.rng, mixed(streams, even=CLASSES if forced else 0.0))
        self.weight *= factor
        units = self._near(stream, missing) if forced else None
        self.drawn += 1
        if self.drawn > RESERVE:
            raise NotCovered(f"more than {RESERVE} failures follow one another before the job is whole again")
        due = events(stream, units or stream.struck(self.rng), time, self.numbers[stream.index])
        self.numbers[stream.index] += len(due)
        return due

    def _near(self, stream: Stream, missing: Missing) -> list[int] | None:
        """A unit that is, more often than chance has it, one of a stripe or set that lacks some already."""
        if stream.kind.batch is not None or stream.kind.clock == "job" or not stream.of_job:
            return None
        grid = self.scenario.platform.grid
        nodes = sorted(near(self.scenario, self.damage, missing))
        each = grid.per_node if stream.kind.clock == "gpu" else 1
        close = [unit for node in nodes for unit in range(node * each, min((node + 1) * each, stream.units))]
        if not close or 2 * len(close) > stream.units:
            return None
        own = self.rng.random() < PLACES
        unit = close[int(self.rng.integers(len(close)))] if own else int(self.rng.integers(stream.units))
        inside = unit // each in nodes
        self.weight /= 1.0 - PLACES + (PLACES * stream.units / len(close) if inside else 0.0)
        return [unit]


def mixed(streams: Sequence[Stream], *, even: float) -> NDArray[np.float64]:
    """Chances of each: a share `even` of the times those of the job alike, else by rate."""
    own = by_rate(streams)
    of_job = np.array([float(stream.of_job) for stream in streams])
    return (1.0 - even) * own + even * of_job / of_job.sum() if of_job.any() else own


def by_rate(streams: Sequence[Stream]) -> NDArray[np.float64]:
    """Their chances as they are."""
    rates = np.array([stream.rate for stream in streams])
    own: NDArray[np.float64] = rates / rates.sum()
    return own


def pick(streams: Sequence[Stream], rng: np.random.Generator, chances: NDArray[np.float64]) -> tuple[Stream, float]:
    """One of them by these chances, and its own chance over that."""
    number = min(int(np.searchsorted(np.cumsum(chances), rng.random(), side="right")), len(streams) - 1)
    return streams[number], float(by_rate(streams)[number] / chances[number])
