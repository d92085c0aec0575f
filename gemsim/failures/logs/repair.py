"""How long outages last and how much of the fleet they take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.laws import Fit, fit_all

_LEAST_H = 1e-3


@dataclass(frozen=True, slots=True)
class Repair:
    """Down time of one class, hours. The laws are fitted to known ones, 0 h taken as half the log's resolution."""

    known: int
    unknown: int
    zeros: int
    median_h: float
    mean_h: float
    fits: tuple[Fit, ...]  # best AIC first
    unavailability: float  # down node-hours / node-hours; overlaps once, clipped to the window; nan if nothing is known
    kind: str  # the law for a study: lognormal | exponential | fixed | "" if nothing is known
    sigma: float  # of the logarithm, lognormal only: with the mean and the median of the data


def repair_of(log: Log) -> Repair:
    """Down times of `log`."""
    down = log.downtime_h[~np.isnan(log.downtime_h)]
    unknown, zeros = len(log.downtime_h) - len(down), int((down == 0).sum())
    if not len(down):
        return Repair(0, unknown, 0, math.nan, math.nan, (), math.nan, "", 0.0)
    fits = fit_all(np.where(down > 0, down, log.tick_h / 2 or _LEAST_H))
    mean, median = float(down.mean()), float(np.median(down))
    kind, sigma = _for_study(mean, median)
    return Repair(len(down), unknown, zeros, median, mean, fits, unavailability(log), kind, sigma)


def _for_study(mean: float, median: float) -> tuple[str, float]:
    """A study knows fixed, exponential and lognormal. The lognormal keeps mean and median: the mean decides how many
    nodes are out, and a maximum-likelihood lognormal of heavy-tailed down times would miss it by a factor."""
    if mean <= 0:
        return "fixed", 0.0
    if median <= 0 or mean / median <= 1.0 + 1e-9:
        return "exponential", 0.0
    return "lognormal", min(math.sqrt(2.0 * math.log(mean / median)), 10.0)


def unavailability(log: Log) -> float:
    """Down node-hours over node-hours: overlapping outages of a node once, and none beyond the window."""
    if not log.named and log.nodes > 1:
        return math.nan
    return math.fsum(end - begin for begin, end in outages(log)) / log.node_hours


def outages(log: Log) -> Iterator[tuple[float, float]]:
    """Begin and end of each stretch in which a node is down, hours; what overlaps another of its node is cut off."""
    until: dict[int, float] = {}
    down = np.nan_to_num(log.downtime_h)
    for start, length, who in zip(log.time_h.tolist(), down.tolist(), log.node.tolist(), strict=True):
        begin, end = max(start, until.get(who, 0.0)), min(start + length, log.window_h)
        if end > begin:
            yield begin, end
            until[who] = end
