"""Bad devices that repairs cure: how their share decays, how many failures a stretch of work takes, and the time.

One idea: bad devices are few among many, so their numbers follow a mean-field equation. A bad device costs 1 / (chance
of a cure) failures in all, whenever they happen; the time between matters only for those not cured at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, sqrt

from gemsim.analytic.repair import Pipeline, pipeline
from gemsim.failures.classes import Frailty
from gemsim.scenario.fleet import RepairPlan, SparesPlan


@dataclass(frozen=True, slots=True)
class Cured:
    """A stretch of work by a job whose bad devices are cured by repairs. `failures` of all, `of_bad` of bad ones, with
    `error` of the mean number; `left`: bad ones at the end; `elapsed`: wall seconds; `ettr`, with `ettr_error`."""

    failures: float
    of_bad: float
    error: float
    left: float
    elapsed: float
    ettr: float
    ettr_error: float
    in_repair: float


def cured_lemons(
    job: int, *, rate: float, frailty: Frailty | None, repair: RepairPlan, spares: SparesPlan, work: float, stop: float
) -> Cured:
    """Failures and time of `work` seconds of running on `job` nodes, of which bad ones are cured by a repair.

    `rate`: of a device of multiple 1, per second; failures strike in running time alone, each stops the job for `stop`
    seconds and sends its node to `repair`, from which it comes back good unless that was in vain. Whoever is repaired
    waits among the spares until it is needed. Bad nodes run (B) or are away (A) for a mean time d of running:
    B' = -b B + s A / d, A' = b B - A / d, with b the rate of a bad one and s the chance that a repair is in vain.
    Kind: first order (nodes without identity, repairs as if exponential, one pace). Selections and borrowed nodes are
    not in it: see `standbys`.
    """
    law = frailty or Frailty("lemons")
    if law.kind != "lemons":
        raise ValueError(f"needs lemons, not {law.kind}: which multiple a repair gives is said for them alone")
    good, bad = rate * law.good, rate * law.good * law.multiplier
    begin = law.share * (job + spares.nodes)
    failures, error, bads, way = job * good * work, 0.0, Bad(0.0, 0.0, 0.0), Pipeline(0.0, 0.0, 0.0)
    for _ in range(4):  # the pace of the run follows from its failures
        mean_rate = failures / work
        pace = 1.0 + mean_rate * stop
        way = pipeline(mean_rate / pace, repair)
        idle = max(1.0, spares.nodes - way.inside) / mean_rate
        away = way.mean / pace + way.silent * idle
        bads = bad_ones(begin, bad, away, silent=way.silent, work=work)
        failures = good * job * work + bads.failures * (1.0 - good / bad)
        first = way.mean / (1.0 + job * good * law.mean / law.good * stop)
        last = way.mean / (1.0 + job * good * stop)
        unsure = bad * (abs(last - first) + idle) + (bad * away) ** 2
        most = min(bads.failures, (bads.running + bads.away) * bad * work)
        late = law.share * spares.nodes * min(1.0, bad * idle)
        error = (1.0 - good / bad) * (most * unsure + late)
    elapsed = work + failures * stop
    left, ettr = bads.running + bads.away, work / elapsed
    return Cured(failures, bads.failures, error, left, elapsed, ettr, ettr * error * stop / elapsed, way.inside)


@dataclass(frozen=True, slots=True)
class Bad:
    """Bad nodes after a stretch of work: their failures so far, how many run, how many are away."""

    failures: float
    running: float
    away: float


def bad_ones(begin: float, rate: float, away: float, *, silent: float, work: float) -> Bad:
    """The mean-field equations solved: `begin` bad ones run at first. Kind: exact.

    Two exponentials of rates that are roots of x^2 - (b + 1/d) x + b c / d = 0, c = 1 - silent; the smaller is taken
    from the product, so that nothing cancels.
    """
    if away == 0.0:
        decay = (1.0 - silent) * rate
        return Bad(begin * rate * _held(decay, work), begin * exp(-decay * work), 0.0)
    back = 1.0 / away
    total = rate + back
    apart = max(sqrt(max(0.0, total * total - 4.0 * rate * back * (1.0 - silent))), 1e-9 * total)  # a double root
    fast = (total + apart) / 2.0
    slow = rate * back * (1.0 - silent) / fast
    ways = ((back - slow, slow), (fast - back, fast))
    running = sum(weight * exp(-decay * work) for weight, decay in ways) / apart * begin
    failures = sum(weight * _held(decay, work) for weight, decay in ways) / apart * begin * rate
    gone = begin * rate * (exp(-slow * work) - exp(-fast * work)) / apart
    return Bad(failures, running, gone)


def _held(decay: float, seconds: float) -> float:
    """Integral of exp(-decay t) from 0 to `seconds`."""
    return -expm1(-decay * seconds) / decay if decay > 0.0 else seconds
