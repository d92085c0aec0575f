"""What is sought: how the number of a design follows from its closed form and from its replications.

Inside more is always better: a cost or a date is a score with its sign turned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from gemsim import units
from gemsim.results.choice import BY_ETTR, TIE_BAND, TOO_WIDE, Yardstick
from gemsim.results.costs import USEFUL, Bill, measures, total, useful_gpu_hour
from gemsim.results.estimate import CONFIDENCE, Floats, Interval, mean_interval, paired_interval
from gemsim.spec.decide import Kind
from gemsim.spec.study import StudySpec

RESAMPLES = 2_000  # of the bootstrap of a difference of quantiles
TITLES: dict[Kind, str] = {
    "goodput": "the largest effective training time ratio (ETTR)",
    "cost": "the least cost per useful GPU-hour",
    "finish": "the earliest date by which the run is done",
}


@dataclass(frozen=True, slots=True)
class Sought:
    """An objective. `sign` turns a number into a score; `unit` is shown behind it."""

    kind: Kind
    probability: float | None = None
    currency: str = ""
    seed: int = 0  # of the bootstrap

    @property
    def sign(self) -> float:
        """1 where more is better, -1 where less is."""
        return 1.0 if self.kind == "goodput" else -1.0

    @property
    def title(self) -> str:
        """What is sought, in words."""
        sure = "" if self.probability is None else f" with probability {self.probability:g}"
        return TITLES[self.kind] + sure

    @property
    def unit(self) -> str:
        """Of the values, for a machine."""
        return {"goodput": "1", "cost": f"{self.currency} / useful GPU h", "finish": "s"}[self.kind]

    def twin(self, ettr: Any, spec: StudySpec, *, spares: Any) -> Any:
        """Values by the closed form, of an ETTR and spare nodes that may be arrays.

        finish: the mean wall time, since the closed form knows no spread.
        """
        if self.kind == "goodput":
            return ettr
        if self.kind == "cost":
            return _cost(spec, ettr=ettr, spares=spares)
        with np.errstate(divide="ignore"):
            return (spec.run.steps or 0) * spec.workload.step / ettr

    def values(self, run: Mapping[str, Floats], bill: Bill | None) -> Floats:
        """Values by replication, from the columns of the rows of one design and its prices.

        cost: such that their mean is the ratio of the sums, as in the summary, and differences of means are those of
        ratios to first order (Cochran 1977, 6.4). A mean of ratios would be dearer by the spread of what is useful.
        """
        if self.kind == "finish":
            return run["wall_s"]
        if self.kind == "goodput":
            return run["productive_s"] / run["wall_s"]
        assert bill is not None  # a study with the objective cost has prices
        spent = measures(run, bill)
        paid, useful = total(spent["cost"]), spent["gpu_h"][USEFUL]
        if not useful.sum() > 0.0:
            return np.full(len(paid), math.inf)
        ratio = paid.sum() / useful.sum()
        found: Floats = ratio + (paid - ratio * useful) / useful.mean()
        return found

    def estimate(self, values: Floats) -> Interval:
        """The number of a design with its interval: a mean, or for finish a quantile (exact, by order statistics)."""
        return mean_interval(values) if self.probability is None else quantile_interval(values, self.probability)

    def difference(self, values: Floats, other: Floats) -> Interval:
        """`values` less `other`, paired by replication: of means, or of quantiles (bootstrap over replications)."""
        if self.probability is None:
            return paired_interval(values, other)
        return paired_quantiles(values, other, self.probability, seed=self.seed)

    def yardstick(self, scale: float) -> Yardstick:
        """How scores are compared; for a cost or a date the band is the same share of `scale`, a typical value."""
        if self.kind == "goodput":
            return BY_ETTR
        return Yardstick(
            value=lambda scores: self.sign * self.estimate(self.sign * scores).value,
            difference=lambda scores, other: _turned(self.difference(-scores, -other)),
            band=TIE_BAND * scale,
            too_wide=TOO_WIDE * scale,
        )

    def band(self, scale: float) -> float:
        """Differences below this are no reason to pay for anything."""
        return TIE_BAND if self.kind == "goodput" else TIE_BAND * scale

    def show(self, value: float) -> str:
        """A value with its unit."""
        if not math.isfinite(value):
            return "–" if math.isnan(value) else "never"
        if self.kind == "goodput":
            return f"{100.0 * value:.2f} %"
        return f"{value:.4f} {self.unit}" if self.kind == "cost" else f"{value / 86400.0:.3f} d"

    def gap(self, difference: float) -> str:
        """A difference of two values, without a sign."""
        size = abs(difference)
        if self.kind == "goodput":
            return "less than 0.005 points" if size < 5e-5 else f"{100.0 * size:.{2 if size >= 1e-3 else 3}f} points"
        if self.kind == "finish":
            return units.brief(size, "time")
        return f"{size:.4f} {self.unit}" if size >= 5e-5 else f"less than 0.0001 {self.unit}"


def _cost(spec: StudySpec, *, ettr: Any, spares: Any) -> Any:
    prices = spec.prices
    assert prices is not None  # spec/decide
    assert prices.gpu_hour is not None
    spare = prices.gpu_hour if prices.spare_gpu_hour is None else prices.spare_gpu_hour
    gpus, per_node = spec.cluster.gpus, min(spec.cluster.gpus, spec.cluster.gpus_per_node)
    return useful_gpu_hour(
        prices.gpu_hour.amount, gpus=gpus, spare_gpus=spares * per_node, ettr=ettr, spare_price=spare.amount
    )


def _turned(interval: Interval) -> Interval:
    return Interval(-interval.value, -interval.hi, -interval.lo)


def quantile(values: Floats, probability: float) -> float:
    """The least value that a share `probability` of the sample does not exceed."""
    place = max(math.ceil(probability * len(values) - 1e-9), 1)
    return float(np.sort(values)[place - 1])


def quantile_interval(values: Floats, probability: float, confidence: float = CONFIDENCE) -> Interval:
    """A quantile with its interval between order statistics, exact for any law; NaN where the sample is too small.

    Source: David and Nagaraja (2003), Order Statistics, 7.1.
    """
    n, ordered = len(values), np.sort(values)
    tail = (1.0 - confidence) / 2.0
    low, high = int(binom.ppf(tail, n, probability)), int(binom.ppf(1.0 - tail, n, probability)) + 1
    lo = float(ordered[low - 1]) if low >= 1 else math.nan
    hi = float(ordered[high - 1]) if high <= n else math.nan
    return Interval(quantile(values, probability), lo, hi)


def paired_quantiles(values: Floats, other: Floats, probability: float, *, seed: int) -> Interval:
    """Difference of two quantiles of paired samples, with the percentile interval of a bootstrap over pairs."""
    n = len(values)
    value = quantile(values, probability) - quantile(other, probability)
    if n < 2:
        return Interval(value, math.nan, math.nan)
    picks = np.random.default_rng(seed).integers(n, size=(RESAMPLES, n))
    place = max(math.ceil(probability * n - 1e-9), 1) - 1
    apart = np.sort(values[picks], axis=1)[:, place] - np.sort(other[picks], axis=1)[:, place]
    lo, hi = np.quantile(apart, [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0])
    return Interval(value, float(lo), float(hi))
