"""How long outages last and how much of the fleet they take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gemsim.failures.logs.clean import Floats, Log
from gemsim.failures.logs.laws import Fit, fit_all

_LEAST_H = 1e-3
FAR = 0.05  # share of node-hours beyond the longest outage above which the median is given up
MANY = 20  # down times below which a misfit is not told


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
    sigma: float  # of the logarithm, lognormal only
    keeps: str  # what of the data the law keeps beside the mean: "median" | "squares" (their mean) | ""
    longest_h: float

    @property
    def law_median_h(self) -> float:
        """Median of the law for a study."""
        shrink = {"lognormal": math.exp(-(self.sigma**2) / 2), "exponential": math.log(2.0)}
        return self.mean_h * shrink.get(self.kind, 1.0)

    @property
    def beyond(self) -> float:
        """Share of the law's node-hours that belongs to outages longer than the longest of the log, which has none."""
        return beyond(self.kind, self.mean_h, self.sigma, self.longest_h)

    @property
    def misfits(self) -> bool:
        """Many known down times, and the median is off by half or more than 1 node-hour in 10 lies beyond the log."""
        if self.known < MANY or self.kind == "fixed" or self.median_h <= 0:
            return False
        return abs(math.log(self.law_median_h / self.median_h)) > math.log(1.5) or self.beyond > 2 * FAR


def repair_of(log: Log) -> Repair:
    """Down times of `log`."""
    down = log.downtime_h[~np.isnan(log.downtime_h)]
    unknown, zeros = len(log.downtime_h) - len(down), int((down == 0).sum())
    if not len(down):
        return Repair(0, unknown, 0, math.nan, math.nan, (), math.nan, "", 0.0, "", math.nan)
    fits = fit_all(np.where(down > 0, down, log.tick_h / 2 or _LEAST_H))
    mean, median = float(down.mean()), float(np.median(down))
    kind, sigma, keeps = _for_study(down)
    lost = unavailability(log)
    return Repair(len(down), unknown, zeros, median, mean, fits, lost, kind, sigma, keeps, float(down.max()))


def _for_study(down: Floats) -> tuple[str, float, str]:
    """(kind, sigma, what is kept beside the mean). A study knows fixed, exponential and lognormal. The lognormal keeps
    the mean, which decides how many nodes are out and which maximum likelihood would miss by a factor, and the median;
    where that puts many node-hours beyond the longest outage of the log, the mean of the squares in its stead."""
    mean, median = float(down.mean()), float(np.median(down))
    if mean <= 0:
        return "fixed", 0.0, ""
    if median <= 0 or mean / median <= 1.0 + 1e-9:
        return "exponential", 0.0, ""
    by_median = math.sqrt(2.0 * math.log(mean / median))
    by_squares = math.sqrt(math.log(float((down / mean) @ (down / mean)) / len(down)))
    if by_squares < by_median and beyond("lognormal", mean, by_median, float(down.max())) > FAR:
        return "lognormal", min(by_squares, 10.0), "squares"
    return "lognormal", min(by_median, 10.0), "median"


def beyond(kind: str, mean: float, sigma: float, length: float) -> float:
    """Share of the time in outages of this law that those longer than `length` take."""
    if kind == "exponential":
        return (1.0 + length / mean) * math.exp(-length / mean)
    if kind != "lognormal" or sigma <= 0:
        return 0.0
    return 0.5 * math.erfc((math.log(length / mean) / sigma - sigma / 2.0) / math.sqrt(2.0))


def unavailability(log: Log) -> float:
    """Down node-hours over node-hours: overlapping outages of a node once, and none beyond the window."""
    if not log.named and log.nodes > 1:
        return math.nan
    return math.fsum(end - begin for _, begin, end in outages(log)) / log.node_hours


def down_hours(log: Log) -> Floats:
    """Hours of the window in which each node is down."""
    hours = np.zeros(log.nodes)
    for who, begin, end in outages(log):
        hours[who] += end - begin
    return hours


def outages(log: Log) -> Iterator[tuple[int, float, float]]:
    """Each stretch in which a node is down: node, begin and end in hours; what overlaps another of it is cut off."""
    until: dict[int, float] = {}
    down = np.nan_to_num(log.downtime_h)
    for start, length, who in zip(log.time_h.tolist(), down.tolist(), log.node.tolist(), strict=True):
        begin, end = max(start, until.get(who, 0.0)), min(start + length, log.window_h)
        if end > begin:
            yield who, begin, end
            until[who] = end
