"""Intervals: how sure the replications make a number.

Means over replications use Student's t; ratios of sums use the jackknife over replications; counts and shares of rare
events use exact intervals, so that no event at all still gives an upper bound. All intervals are two-sided.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, stdtrit

from gemsim.failures.logs.statistics import poisson_interval as garwood

CONFIDENCE = 0.95
FEW_REPLICATIONS = 10  # below this a t interval leans on the normal shape of the replications
FEW_EVENTS = 30  # below this an interval from the spread covers far less than it says (0.18-0.44 in trials)

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """An estimate with its interval; `lo` and `hi` are NaN where the sample gives none."""

    value: float
    lo: float
    hi: float

    @property
    def half_width(self) -> float:
        """Half the length of the interval; NaN where there is none."""
        return (self.hi - self.lo) / 2.0


def t_quantile(n: int, confidence: float = CONFIDENCE) -> float:
    """Two-sided Student-t quantile for a mean over `n` >= 2 replications."""
    return float(stdtrit(n - 1, 0.5 + confidence / 2.0))


def standard_error(values: Floats) -> float:
    """Standard error of the mean; NaN for fewer than two values."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def mean_interval(values: Floats, confidence: float = CONFIDENCE) -> Interval:
    """Mean with its Student-t interval; NaN bounds for fewer than two values, since one value shows no spread."""
    if len(values) == 0:
        return Interval(math.nan, math.nan, math.nan)
    mean = math.fsum(values.tolist()) / len(values)
    if len(values) == 1:
        return Interval(mean, math.nan, math.nan)
    half = t_quantile(len(values), confidence) * standard_error(values)
    return Interval(mean, mean - half, mean + half)


def paired_interval(values: Floats, reference: Floats, confidence: float = CONFIDENCE) -> Interval:
    """Mean of `values - reference`, replication by replication (both ran on the same failures), of those both have."""
    both = min(len(values), len(reference))
    return mean_interval(values[:both] - reference[:both], confidence)


def ratio_interval(numerator: Floats, denominator: Floats, confidence: float = CONFIDENCE) -> Interval:
    """sum(numerator) / sum(denominator) with the delete-one jackknife over replications (Miller, 1974).

    Per-failure columns weigh each failure alike, not each replication. NaN where nothing is in the denominator.
    """
    top, bottom = math.fsum(numerator.tolist()), math.fsum(denominator.tolist())
    n = len(numerator)
    if bottom == 0.0:
        return Interval(math.nan, math.nan, math.nan)
    rest = bottom - denominator
    if n < 2 or np.any(rest <= 0.0):
        return Interval(top / bottom, math.nan, math.nan)
    without = (top - numerator) / rest
    error = math.sqrt((n - 1) / n * float(np.sum((without - without.mean()) ** 2)))
    half = t_quantile(n, confidence) * error
    return Interval(top / bottom, top / bottom - half, top / bottom + half)


def paired_ratio_interval(
    ratio: tuple[Floats, Floats], reference: tuple[Floats, Floats], confidence: float = CONFIDENCE
) -> Interval:
    """Difference of two ratios of sums, each (numerator, denominator), over the replications both have: jackknife."""
    both = min(len(ratio[0]), len(reference[0]))
    values, without = [], []
    for numerator, denominator in ((top[:both], bottom[:both]) for top, bottom in (ratio, reference)):
        rest = denominator.sum() - denominator
        if denominator.sum() == 0.0:
            return Interval(math.nan, math.nan, math.nan)
        values.append(math.fsum(numerator.tolist()) / math.fsum(denominator.tolist()))
        without.append(np.divide(numerator.sum() - numerator, rest, out=np.full_like(rest, np.nan), where=rest > 0.0))
    value, n = values[0] - values[1], len(ratio[0])
    apart = without[0] - without[1]
    if n < 2 or not np.all(np.isfinite(apart)):
        return Interval(value, math.nan, math.nan)
    half = t_quantile(n, confidence) * math.sqrt((n - 1) / n * float(np.sum((apart - apart.mean()) ** 2)))
    return Interval(value, value - half, value + half)


def poisson_interval(events: int, exposure: float, confidence: float = CONFIDENCE) -> Interval:
    """Events per unit of exposure with the exact interval of Garwood (1936)."""
    lo, hi = garwood(events, level=confidence)
    return Interval(events / exposure, lo / exposure, hi / exposure)


def binomial_interval(events: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Share of trials with the exact interval of Clopper and Pearson (1934); NaN without trials."""
    if trials == 0:
        return Interval(math.nan, math.nan, math.nan)
    tail = (1.0 - confidence) / 2.0
    lo = 0.0 if events == 0 else float(betaincinv(events, trials - events + 1, tail))
    hi = 1.0 if events == trials else float(betaincinv(events + 1, trials - events, 1.0 - tail))
    return Interval(events / trials, lo, hi)


def share_interval(events: Floats, trials: Floats, confidence: float = CONFIDENCE) -> Interval:
    """Share sum(events) / sum(trials), counted per replication.

    The jackknife lets failures of one replication hang together; with few events (or few non-events) its spread says
    little and the exact binomial interval stands in. The jackknife interval is never narrower than possible: [0, 1].
    """
    hits, total = round(float(events.sum())), round(float(trials.sum()))
    if min(hits, total - hits) < FEW_EVENTS or len(events) < FEW_REPLICATIONS:
        return binomial_interval(hits, total, confidence)
    ratio = ratio_interval(events, trials, confidence)
    return Interval(ratio.value, max(ratio.lo, 0.0), min(ratio.hi, 1.0))


def count_interval(events: Floats, confidence: float = CONFIDENCE) -> Interval:
    """Mean count per replication: exact Poisson with few events, Student-t over replications otherwise."""
    total = round(float(events.sum()))
    if total < FEW_EVENTS or len(events) < FEW_REPLICATIONS:
        return poisson_interval(total, float(len(events)), confidence)
    mean = mean_interval(events, confidence)
    return Interval(mean.value, max(mean.lo, 0.0), mean.hi)


def few(replications: int, failures: float) -> str:
    """What a reader must know before trusting the intervals; empty where nothing stands against them."""
    notes = []
    if replications < FEW_REPLICATIONS:
        notes.append(f"few replications ({replications} < {FEW_REPLICATIONS})")
    if failures < FEW_EVENTS:
        notes.append(f"few failures ({failures:.0f} < {FEW_EVENTS})")
    return "; ".join(notes)
