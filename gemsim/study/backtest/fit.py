"""What the first part of a log says of the inputs: rate, stops, saves and steps, each with its interval.

The rate has Jeffreys' posterior, a gamma; a mean has Student's interval on the logarithm, which keeps it positive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import gamma, t

from gemsim.errors import ValueRefused
from gemsim.study.backtest.account import STANDS, Account, account
from gemsim.study.backtest.events import RunLog

FEWEST = 5  # failures of the first part, below which nothing is predicted
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """An input with its 95 % interval, from `events` observations; SI units. NaN where there are none."""

    value: float
    lo: float
    hi: float
    events: int
    spread: float = 0.0  # standard deviation over mean of one observation


@dataclass(frozen=True, slots=True)
class Fit:
    """The inputs that a log determines. `stood`: seconds of each stop by part, for each failure that is over."""

    failures: int
    up: float  # seconds in which failures were counted
    rate: Estimate  # per second of that
    stand: Estimate  # seconds from a failure until work goes on
    parts: dict[str, Estimate]
    stood: tuple[dict[str, float], ...]
    save: Estimate  # seconds that the job stands still for one
    every: Estimate  # steps from save to save
    step: Estimate  # seconds
    told: bool  # failures have rows of their own, and are not guessed from restarts


def split(log: RunLog, share: float) -> tuple[RunLog, RunLog]:
    """The log cut at the first step after a stop that lies beyond `share` of its wall time, or the last before it.

    Raises ValueRefused when there is none.
    """
    wanted = log.events[0].time + share * log.seconds
    edges = _resumes(log)
    if not edges:
        raise ValueRefused(
            f"{log.path}: no stop after which work went on", "at least one, at which the log can be cut",
            "wait for more of the run",
        )  # fmt: skip
    edge = next((one for one in edges if log.events[one].time >= wanted), edges[-1])
    first, rest = log.part(0, edge), log.part(edge, len(log.events) - 1)
    if rest.seconds <= 0.0:
        raise ValueRefused(f"{log.path}: nothing follows the last stop", "some work to predict", "a smaller --split")
    return first, rest


def _resumes(log: RunLog) -> list[int]:
    """Where work goes on after a stop."""
    found, stopped, worked = [], False, False
    for number, event in enumerate(log.events):
        if event.kind in ("failure", "planned", "restart"):
            stopped = stopped or worked
        elif event.kind in ("step", "run"):
            if stopped:
                found.append(number)
            stopped, worked = False, True
    return found


def fit(log: RunLog) -> tuple[Fit, Account]:
    """The inputs of a part of a log, and where its time went."""
    found = account(log)
    over = [stop for stop in found.failures if stop.over]
    stood = tuple({name: stop.seconds[name] for name in STANDS} for stop in over)
    parts = {name: mean_of([one[name] for one in stood]) for name in STANDS}
    steps = [seconds / number for number, seconds in found.steps]
    step = mean_of(steps)
    return Fit(
        failures=len(found.failures), up=found.up, rate=rate_of(len(found.failures), found.up),
        stand=mean_of([stop.stood for stop in over]), parts=parts, stood=stood,
        save=mean_of(found.saves), every=_usual(found.every),
        step=Estimate(found.step, step.lo, step.hi, step.events, step.spread),
        told=log.has("failure"),
    ), found  # fmt: skip


def _usual(steps: Sequence[int]) -> Estimate:
    """Steps between saves: the median, with the middle 95 % of what was seen."""
    if not steps:
        return mean_of([])
    lo, middle, hi = (float(one) for one in np.quantile(steps, [0.025, 0.5, 0.975]))
    return Estimate(middle, lo, hi, len(steps))


def rate_of(events: int, seconds: float) -> Estimate:
    """Events per second with Jeffreys' interval: a gamma of shape n + 1/2."""
    if seconds <= 0.0:
        return Estimate(math.nan, math.nan, math.nan, events)
    tail = (1.0 - CONFIDENCE) / 2.0
    lo, hi = (float(gamma.ppf(p, events + 0.5)) / seconds for p in (tail, 1.0 - tail))
    return Estimate(events / seconds, 0.0 if events == 0 else lo, hi, events)


def mean_of(sample: Sequence[float]) -> Estimate:
    """The mean of positive times; the interval is Student's on the logarithm of the mean."""
    values = np.asarray(sample, dtype=np.float64)
    n, mean = len(values), float(values.mean()) if len(values) else math.nan
    if n < 2 or mean <= 0.0:
        end = mean if n >= 2 else math.nan
        return Estimate(mean, end, end, n)
    spread = float(values.std(ddof=1)) / mean
    half = float(t.ppf(0.5 + CONFIDENCE / 2.0, n - 1)) * spread / math.sqrt(n)
    return Estimate(mean, mean * math.exp(-half), mean * math.exp(half), n, spread)


def draw_means(estimate: Estimate, rng: np.random.Generator, number: int) -> np.ndarray:
    """Means as uncertain as the estimate of one."""
    if estimate.spread == 0.0:
        return np.full(number, estimate.value)
    scale = estimate.spread / math.sqrt(estimate.events)
    return estimate.value * np.exp(scale * rng.standard_t(estimate.events - 1, number))


def draw_rates(fitted: Fit, rng: np.random.Generator, number: int) -> np.ndarray:
    """Rates from the posterior."""
    return rng.gamma(fitted.failures + 0.5, 1.0 / fitted.up, number)
