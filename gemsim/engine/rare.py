"""P(the job starts again from zero at least once in a run), down to 1e-9, by the engine itself.

One idea: a run is lost by what one failure begins. So that failure is put into an otherwise natural run at a random
moment (Mecke's formula for Poisson processes: the mean over all failures of a run), and the engine chases the loss from
there (`chase`). Each such run gives one weight; their mean is the probability, without bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import attrgetter

import simpy

from gemsim.engine.chase import CLASSES, FATES, RESERVE, Chase, Over, pick
from gemsim.engine.job import Job
from gemsim.engine.run import no_garbage, simulate
from gemsim.engine.streams import Stream, events, streams_of
from gemsim.errors import NotCovered
from gemsim.failures.streams import generator
from gemsim.failures.trace import Trace, draw_trace
from gemsim.protection.checkpoint import Checkpoint
from gemsim.results.estimate import FEW_EVENTS, binomial_interval
from gemsim.results.weighted import Mean, weighted_mean
from gemsim.scenario import Scenario

PILOT = 40  # plain runs that are looked at first
OFTEN = 4  # of them lost: plain runs tell it sooner
APART = 2**40  # replications from here on: no failures in common with those of a sweep


@dataclass(frozen=True, slots=True)
class RareLosses:
    """P(at least one unrecoverable loss in a run) with its 95 % interval.

    `events`: runs that ended in a loss, of `runs` runs. `method`: forced (failures forced and weighted) or plain (runs
    counted). `stopped_by`: precision, time or runs. `note`: why not forced, where that was not possible.
    """

    value: float
    lo: float
    hi: float
    events: int
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
        reason = _memory(kind.lifetime.kind, kind)
        if reason:
            raise NotCovered(f"{kind.name}: {reason}")
    if scenario.shrunk is not None or any(type(tier).__name__ == "ReplicaGroup" for tier in scenario.tiers):
        raise NotCovered("groups that are out stay out while the job runs on")
    if scenario.remap_now:
        raise NotCovered("remap: now makes stops of its own between failures")


def _memory(law: str, kind: object) -> str:
    """What the future of a class depends on; nothing for "". """
    reasons = {
        "frailty": "devices are unlike for good",
        "recurrence": "failures follow others on the same device",
        "drift": "its rate steps in time",
        "latent": "errors lie unseen between failures",
    }
    if law != "exponential":
        return f"{law} lives have memory"
    found = next((text for name, text in reasons.items() if getattr(kind, name)), "")
    if not found and getattr(kind, "batch") is not None and getattr(kind, "exposure") == "running":
        return "a batch on the clock of running time strikes after the recovery that it begins"
    return found


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


def _plain(
    scenario: Scenario, seed: int, most_runs: int, *, precision: float, most_seconds: float
) -> RareLosses:
    """Runs counted, with the exact interval of Clopper and Pearson; with no loss its upper bound at 95 %."""
    found = weighted_mean(
        lambda number: float(_lost(scenario, seed, APART + number)),
        bound=1.0, precision=precision, most_seconds=most_seconds, most_trials=most_runs,
    )  # fmt: skip
    exact = binomial_interval(found.events, found.trials)
    hi = found.hi if found.events == 0 else exact.hi
    return RareLosses(found.value, exact.lo, hi, found.events, found.trials, "plain", found.stopped_by)


def _forced(
    scenario: Scenario, seed: int, most_runs: int, *, precision: float, most_seconds: float
) -> RareLosses:
    hunt = Hunt(scenario, seed)
    if not hunt.first:
        return RareLosses(0.0, 0.0, 0.0, 0, 0, "forced", "precision")
    found: Mean = weighted_mean(
        hunt.value, bound=hunt.bound, precision=precision, most_seconds=most_seconds, most_trials=most_runs
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
        self.bound = self.failures / CLASSES / (FATES if odds else 1.0)

    def value(self, number: int) -> float:
        """The weight of run `number`: 0 unless what its chosen failure begins ends in the first loss of the run."""
        scenario, replication = self.scenario, APART + number
        rng = generator(self.seed, replication, "rare")
        stream, factor = pick(self.first, rng, even=CLASSES)
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
        return self.failures * factor * chase.value

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
