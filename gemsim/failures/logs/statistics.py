"""What the starts of a whole system show: rate, gaps, daily counts, and the same after repeats or joint starts are one.

These describe the system. A law of gaps over the whole system is no law of a device: frailty, joint starts and steps of
the rate make it, and a device that got it would lose them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.logs.laws import Fit, fit_all, fit_weibull, varied, weibull_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DAY_H = 24.0
MINUTES_10_H = 1.0 / 6.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table of a system."""

    name: str
    events: int
    mtbf_h: float
    mtbf_low_h: float  # exact Poisson 95 % interval
    mtbf_high_h: float
    zero_gaps: int
    gap_fits: tuple[Fit, ...]  # best AIC first; zero gaps left out
    shape: float  # Weibull; nan below five gaps
    shape_low: float  # 95 %, profile likelihood
    shape_high: float
    fano_24h: float  # nan below two whole days
    node_variance_over_mean: float  # of the counts of nodes: 1 if all are alike; nan where nodes are not counted
    node_worst_tenth: float  # share of the events on the tenth of the nodes with most

    @property
    def wide_h(self) -> tuple[float, float]:
        """About 95 % of the MTBF where counts vary as those of days do: the deviation of the logarithm of a Poisson
        count times the root of the Fano factor, if that is above 1. Steps longer than days may make it wider still."""
        if math.isnan(self.fano_24h):
            return math.nan, math.nan
        factor = math.exp(1.959964 * math.sqrt(max(self.fano_24h, 1.0) / self.events))
        return min(self.mtbf_h / factor, self.mtbf_low_h), max(self.mtbf_h * factor, self.mtbf_high_h)


def poisson_interval(events: int, *, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of a Poisson mean (Garwood 1936): (0, upper) for no event."""
    from scipy.special import gammainccinv, gammaincinv

    tail = (1.0 - level) / 2.0
    low = 0.0 if events == 0 else float(gammaincinv(events, tail))
    return low, float(gammainccinv(events + 1, tail))


def fano(times_h: Floats, window_h: float, *, bin_h: float = DAY_H) -> float:
    """Variance over mean of the counts in whole bins of `bin_h`: 1 for Poisson; nan below two bins or no events."""
    bins = int(window_h / bin_h + 1e-9)
    if bins < 2:
        return math.nan
    counts = np.bincount((times_h[times_h < bins * bin_h] / bin_h).astype(np.int64), minlength=bins)
    return float(counts.var(ddof=1) / counts.mean()) if counts.any() else math.nan


def gap_shape(times_h: Floats) -> float:
    """Weibull shape of the gaps that are not zero, by maximum likelihood; nan below five."""
    gaps = np.diff(np.sort(times_h))
    gaps = gaps[gaps > 0]
    return fit_weibull(gaps).shape if varied(gaps) else math.nan


def unevenness(counts: Ints) -> tuple[float, float]:
    """Variance over mean of the counts of nodes, healthy ones among them, and the share of the worst tenth of them."""
    variance = float(counts.var(ddof=1) / counts.mean()) if len(counts) > 1 else math.nan
    worst = np.sort(counts)[::-1][: max(1, len(counts) // 10)].sum()
    return variance, float(worst / counts.sum())


def row(name: str, times_h: Floats, window_h: float, counts: Ints | None = None) -> Row:
    """The line of starts `times_h`, counted from the beginning of the window; `counts` are those of each node."""
    count = len(times_h)
    low, high = poisson_interval(count)
    gaps = np.diff(np.sort(times_h))
    real = gaps[gaps > 0]
    fits = fit_all(real)
    weibull = next((fit for fit in fits if fit.kind == "weibull"), None)
    shape_low, shape_high = (math.nan, math.nan) if weibull is None else weibull_interval(real)
    return Row(
        name, count, window_h / count, window_h / high, window_h / low if low else math.inf, len(gaps) - len(real),
        fits, math.nan if weibull is None else weibull.shape, shape_low, shape_high, fano(times_h, window_h),
        *(unevenness(counts) if counts is not None else (math.nan, math.nan)),
    )  # fmt: skip


def merge_repeats(times_h: Floats, node: Ints, within_h: float) -> Ints:
    """Positions of the events that stay when a start within `within_h` of the last one kept of its node is not new.

    `times_h` must be sorted. Titan's counting: once for each device and time span.
    """
    last: dict[int, float] = {}
    kept = []
    for at, (time, who) in enumerate(zip(times_h.tolist(), node.tolist(), strict=True)):
        if time - last.get(who, -math.inf) >= within_h:
            last[who] = time
            kept.append(at)
    return np.array(kept, dtype=np.int64)


def joint_starts(times_h: Floats, within_h: float) -> Ints:
    """A group number for each sorted start: one within `within_h` of the start before it is of its group."""
    if not len(times_h):
        return np.empty(0, dtype=np.int64)
    new = np.concatenate([[True], np.diff(times_h) > within_h + 1e-9])
    groups: Ints = np.cumsum(new) - 1
    return groups.astype(np.int64)
