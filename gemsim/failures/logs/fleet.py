"""How unlike the nodes are, and how long they live: counts of each node, frailty by maximum likelihood, first failures.

Counts of nodes that were all alike and failed at random would be Poisson. Two ways to differ are tried: a gamma law of
rates (counts are then negative binomial; Greenwood and Yule 1920) and a share of lemons with one multiplier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.laws import Fit, fit_all, fit_weibull, varied, weibull_interval
from gemsim.failures.logs.statistics import unevenness

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WIDEST = 1e4  # gamma shape above which the nodes are as good as alike


@dataclass(frozen=True, slots=True)
class Nodes:
    """How the failures are spread over the nodes."""

    variance_over_mean: float  # of the counts: 1 if all nodes are alike and Poisson
    worst_tenth: float  # share of the failures on the worst tenth of the nodes, rounded down
    struck: int  # nodes with at least one failure
    gamma_shape: float  # inf: no wider than Poisson
    lemon_share: float
    lemon_multiplier: float
    aic_alike: float
    aic_gamma: float
    aic_lemons: float

    @property
    def best(self) -> str:
        """The way to differ with the least AIC: alike, gamma or lemons."""
        found = {"alike": self.aic_alike, "gamma": self.aic_gamma, "lemons": self.aic_lemons}
        return min(found, key=lambda name: found[name])


@dataclass(frozen=True, slots=True)
class Lives:
    """Time from joining to the first failure of each node; nodes without one are censored."""

    fits: tuple[Fit, ...]
    shape: float  # Weibull; nan where it cannot be fitted
    shape_low: float  # 95 %, profile likelihood
    shape_high: float
    failed: int
    censored: int


def hours_of(log: Log) -> Floats:
    """Hours each node was observed."""
    if log.exposure is not None:
        return log.exposure.left_h - log.exposure.joined_h
    return np.full(log.nodes, log.window_h)


def spread(counts: Ints, hours: Floats) -> Nodes:
    """Frailty of nodes with these `counts` of failures in these `hours`."""
    rate = counts.sum() / hours.sum()
    cells = _cells(counts, rate * hours)
    shape, gamma = _gamma(cells)
    share, multiplier, lemons = _lemons(cells)
    variance, worst = unevenness(counts)
    return Nodes(
        variance_over_mean=variance, worst_tenth=worst, struck=int((counts > 0).sum()),
        gamma_shape=shape, lemon_share=share, lemon_multiplier=multiplier,
        aic_alike=2.0 - 2.0 * _alike(cells), aic_gamma=4.0 - 2.0 * gamma, aic_lemons=6.0 - 2.0 * lemons,
    )  # fmt: skip


def lives(log: Log) -> Lives:
    """First failures of the nodes of `log`, with censoring: nodes without a failure count for all the time they had."""
    first = np.full(log.nodes, math.inf)
    np.minimum.at(first, log.node, log.time_h)
    hours = hours_of(log)
    born = log.exposure.joined_h if log.exposure is not None else np.zeros(log.nodes)
    failed = np.isfinite(first)
    observed = np.maximum(first[failed] - born[failed], log.tick_h / 2 or 1e-9)
    censored = hours[~failed]
    if not varied(observed):
        return Lives((), math.nan, math.nan, math.nan, len(observed), len(censored))
    fits = fit_all(observed, censored)
    low, high = weibull_interval(observed, censored)
    return Lives(fits, fit_weibull(observed, censored).shape, low, high, len(observed), len(censored))


_Cells = tuple[Floats, Floats, Floats]  # count, mean if alike, nodes


def _cells(counts: Ints, means: Floats) -> _Cells:
    """Equal nodes together: (count, mean) and how many nodes have it."""
    pairs, many = np.unique(np.column_stack([counts, means]), axis=0, return_counts=True)
    return pairs[:, 0], pairs[:, 1], many.astype(float)


def _alike(cells: _Cells) -> float:
    n, m, many = cells
    return float((many * (n * np.log(m) - m - _gammaln(n + 1))).sum())


def _gamma(cells: _Cells) -> tuple[float, float]:
    """Shape of the gamma law of rates and the log-likelihood."""
    n, m, many = cells

    def loglik(log_shape: float) -> float:
        a = math.exp(log_shape)
        terms = _gammaln(n + a) - _gammaln(a) - _gammaln(n + 1) + a * np.log(a / (a + m)) + n * np.log(m / (a + m))
        return float((many * terms).sum())

    top = math.log(_WIDEST)
    found = _optimize().minimize_scalar(lambda x: -loglik(x), bounds=(math.log(1e-3), top), method="bounded")
    if loglik(top) >= -found.fun or found.x > top - 1e-3:
        return math.inf, _alike(cells)
    return math.exp(found.x), float(-found.fun)


def _lemons(cells: _Cells) -> tuple[float, float, float]:
    """Share of lemons, their multiplier over a good node, and the log-likelihood; the mean rate is kept."""
    n, m, many = cells

    def loglik(share: float, multiplier: float) -> float:
        good = m / (1.0 + share * (multiplier - 1.0))
        bad = good * multiplier
        logs = [
            math.log(1.0 - share) + n * np.log(good) - good, math.log(share) + n * np.log(bad) - bad
        ]  # fmt: skip
        return float((many * (np.logaddexp(*logs) - _gammaln(n + 1))).sum())

    def cost(p: Any) -> float:
        share = 1.0 / (1.0 + math.exp(-min(max(p[0], -30.0), 30.0)))
        return -loglik(share, 1.0 + math.exp(min(p[1], 7.0)))

    starts = [(math.log(s / (1 - s)), math.log(k - 1)) for s in (0.02, 0.1, 0.3) for k in (3.0, 10.0)]
    runs = [_optimize().minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-6}) for start in starts]
    best = min(runs, key=lambda run: float(run.fun))
    share = 1.0 / (1.0 + math.exp(-min(max(float(best.x[0]), -30.0), 30.0)))
    return share, 1.0 + math.exp(min(float(best.x[1]), 7.0)), -float(best.fun)


def _gammaln(x: Any) -> Any:
    from scipy.special import gammaln

    return gammaln(x)


def _optimize() -> Any:
    from scipy import optimize

    return optimize
