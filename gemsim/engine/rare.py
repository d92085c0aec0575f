"""P(the job starts again from zero at least once in a run), down to 1e-9, by the engine itself.

One idea: a run is lost by what one failure begins. So that failure is put into an otherwise natural run at a random
moment (Mecke's formula for Poisson processes: the mean over all failures of a run), and the engine chases the loss from
there (`chase`). Each such run gives one weight; their mean is the probability, without bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import attrgetter
from time import monotonic

import numpy as np
import simpy

from gemsim.engine.chase import CLASSES, FATES, RESERVE, Chase, Over, by_rate, mixed, pick
from gemsim.engine.job import Job
from gemsim.engine.run import no_garbage, simulate
from gemsim.engine.streams import Stream, events, streams_of
from gemsim.errors import NotCovered
from gemsim.failures.classes import FailureClass
from gemsim.failures.streams import generator
from gemsim.failures.trace import Trace, draw_trace
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.results.estimate import binomial_interval
from gemsim.results.weighted import Mean, weighted_mean
from gemsim.scenario import Scenario

PILOT = 40  # plain runs that are looked at first
OFTEN = 4  # of them lost: plain runs tell it sooner
EACH = 20  # runs of each class that are looked at before
LEARNED = 0.75  # share of the runs that begin as these have taught
LEARNING = 0.3  # share of the time for that, at most
APART = 2**40  # replications from here on: no failures in common with those of a sweep


@dataclass(frozen=True, slots=True)
class RareLosses:
    """P(at least one unrecoverable loss in a run) with its 95 % interval.

    `events`: runs of `runs` that ended in a loss, as if all weighed the same: (sum of weights)^2 / sum of squares.
    `method`: forced (failures forced and weighted) or plain (runs counted). `stopped_by`: precision, time or trials.
    `note`: why not forced, where that was not possible.
    """

    value: float
    lo: float
    hi: float
    events: float
    runs: int
    method: str
    stopped_by: str
    note: str = ""


def rare_losses(
    scenario: Scenario,
    *,
    seed: int,
    precision: float = 0.2,
    most_seconds: float = 60.0,
    most_runs: int = 10**9,
    method: str = "auto",
) -> RareLosses:
    """The probability that a run loses everything at least once, by the engine.

    Ends when the half-width of the interval is at most `precision` of the value and at least 30 runs were lost, or
    after `most_seconds` of wall time or `most_runs`. Same seed, same result, unless time ended it. No loss at all gives
    0 with an upper bound. `method` auto: forced failures, plain runs where losses are frequent or where what fails next
    depends on the past.
    """
    ends = {"precision": precision, "most_seconds": most_seconds}
    note = ""
    if method == "auto":
        try:
            refuse(scenario)
            method = "plain" if _often(scenario, seed) else "forced"
        except NotCovered as error:
            method, note = "plain", error.reason
    if method == "forced":
        try:
            return _forced(scenario, seed, most_runs, **ends)
        except NotCovered as error:
            note = error.reason
    return replace(_plain(scenario, seed, most_runs, **ends), note=note)


def refuse(scenario: Scenario) -> None:
    """Raises NotCovered where what fails next is not independent of what failed before."""
    if scenario.replay is not None:
        raise NotCovered("a replayed log has no law to draw another future from")
    for kind in scenario.classes:
        reason = _memory(kind)
        if reason:
            raise NotCovered(f"{kind.name}: {reason}")
    if scenario.shrunk is not None or any(isinstance(tier, ReplicaGroup) for tier in scenario.tiers):
        raise NotCovered("groups that are out stay out while the job runs on")
    if scenario.remap_now:
        raise NotCovered("remap: now makes stops of its own between failures")


def _memory(kind: FailureClass) -> str:
    """What the future of a class depends on beside its rate; "" for nothing."""
    reasons = (
        (kind.lifetime.kind != "exponential", f"{kind.lifetime.kind} lives have memory"),
        (kind.frailty is not None, "devices are unlike for good"),
        (kind.recurrence is not None, "failures follow others on the same device"),
        (bool(kind.drift), "its rate steps in time"),
        (kind.latent > 0.0, "errors lie unseen between failures"),
        (kind.batch is not None and kind.exposure == "running", "a batch on the clock of running time strikes twice"),
    )
    return next((text for holds, text in reasons if holds), "")


def _often(scenario: Scenario, seed: int) -> bool:
    """Whether plain runs lose so often that they tell it sooner. These runs are then forgotten."""
    lost = 0
    for number in range(PILOT):
        lost += _lost(scenario, seed, 2 * APART + number)
        if lost >= OFTEN:
            return True
    return False


def _lost(scenario: Scenario, seed: int, number: int) -> bool:
    return bool(simulate(scenario, seed=seed, replication=number)["unrecoverable"])


def _plain(scenario: Scenario, seed: int, most_runs: int, *, precision: float, most_seconds: float) -> RareLosses:
    """Runs counted, with the exact interval of Clopper and Pearson; with no loss its upper bound at 95 %."""
    found = weighted_mean(
        lambda number: float(_lost(scenario, seed, APART + number)),
        bound=1.0, precision=precision, most_seconds=most_seconds, most_trials=most_runs,
    )  # fmt: skip
    exact = binomial_interval(round(found.events), found.trials)
    hi = found.hi if found.events == 0 else exact.hi
    return RareLosses(found.value, exact.lo, hi, found.events, found.trials, "plain", found.stopped_by)


def _forced(scenario: Scenario, seed: int, most_runs: int, *, precision: float, most_seconds: float) -> RareLosses:
    hunt, begun = Hunt(scenario, seed), monotonic()
    if not hunt.first:
        return RareLosses(0.0, 0.0, 0.0, 0, 0, "forced", "precision")
    hunt.learn(most_seconds * LEARNING)
    left = max(0.0, most_seconds - (monotonic() - begun))
    found: Mean = weighted_mean(
        hunt.value, bound=hunt.bound, precision=precision, most_seconds=left, most_trials=most_runs
    )
    hi = min(1.0, found.hi)
    return RareLosses(found.value, found.lo, hi, found.events, found.trials, "forced", found.stopped_by)


class Hunt:
    """Draws weights whose mean is the probability of a loss."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario, self.seed = scenario, seed
        self.streams = streams_of(scenario)
        self.first = [stream for stream in self.streams if stream.of_job]
        self.failures = scenario.horizon * math.fsum(stream.rate for stream in self.first)  # on their own clocks
        odds = [tier.invalid for tier in scenario.tiers if isinstance(tier, Checkpoint) and tier.invalid]
        self.chances = mixed(self.first, even=CLASSES)
        odds = [tier.invalid for tier in scenario.tiers if isinstance(tier, Checkpoint) and tier.invalid]
        self.heaviest = 1.0 / FATES if odds else 1.0

    @property
    def bound(self) -> float:
        """The most that one value can be."""
        return self.failures * self.heaviest * float(np.max(by_rate(self.first) / self.chances))

    def learn(self, most_seconds: float) -> None:
        """Look at a few runs of each class, and begin more with those that lose more (then forget these runs)."""
        begun, scores = monotonic(), np.zeros(len(self.first))
        for number, stream in enumerate(self.first):
            values = [self._chase(stream, 3 * APART + number * EACH + i) for i in range(EACH)]
            scores[number] = stream.rate * math.sqrt(math.fsum(value * value for value in values) / EACH)
            if monotonic() - begun > most_seconds:
                return
        if scores.any():
            self.chances = (1.0 - LEARNED) * self.chances + LEARNED * scores / scores.sum()

    def value(self, number: int) -> float:
        """The weight of run `number`: 0 unless what its chosen failure begins ends in the first loss of the run."""
        stream, factor = pick(self.first, generator(self.seed, APART + number, "rare class"), self.chances)
        return self.failures * factor * self._chase(stream, APART + number)

    def _chase(self, stream: Stream, replication: int) -> float:
        """One run with a failure of this class put into it at a moment that is even over the run."""
        scenario, rng = self.scenario, generator(self.seed, replication, "rare")
        time = float(rng.random()) * scenario.horizon
        trace, numbers = self._trace(stream, time, replication)
        chosen = events(stream, stream.struck(rng), time, numbers[stream.index])
        numbers[stream.index] += len(chosen)
        clock = trace.wall if stream.kind.exposure == "wall" else trace.running
        clock.extend(chosen)
        clock.sort(key=attrgetter("time"))
        chase = Chase(scenario, self.streams, rng, numbers, frozenset(event[1:3] for event in chosen))
        with no_garbage():
            run_watched(scenario, trace, chase)
        return chase.value

    def _trace(self, stream: Stream, time: float, replication: int) -> tuple[Trace, list[int]]:
        """A natural trace with room for the marks of more failures, and the number of the next of each class.

        What fails after the chosen failure is drawn anew when that has struck, so it is not needed here.
        """
        scenario = self.scenario
        at_once = stream.kind.exposure == "wall" and stream.kind.scope not in ("silent", "slow")
        trace = draw_trace(
            scenario.classes,
            horizon=time if at_once else scenario.horizon,
            seed=self.seed,
            replication=replication,
            stationary=scenario.stationary,
        )
        trace.stationary = scenario.stationary
        numbers = list(trace.counts)
        for index, kind in enumerate(scenario.classes):
            most = 1 if kind.batch is None else max(min(size, kind.batch.domain) for size, _ in kind.batch.sizes)
            trace.counts[index] += (RESERVE + 1) * most
        return trace, numbers


def run_watched(scenario: Scenario, trace: Trace, chase: Chase) -> None:
    """Run a job with someone who looks on, to its end or to where that says so."""
    env = simpy.Environment()
    job = Job(env, scenario, trace)
    job.watch, job.stretch.possible = chase, False
    try:
        env.run(until=env.process(job.run()))
    except Over:
        return
