"""How many starts on several nodes would fall together by chance: what is left over is what strikes nodes jointly.

The rate nearby is read off the starts a few windows away on either side, so that it may vary. A log rounded to a tick
puts all starts of a tick at one instant, and chance then makes many.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.statistics import MINUTES_10_H, joint_starts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LEVEL = 0.01
"""Chance of so many joint starts of independent nodes from which on there are none to tell."""

_SHARE = 0.02  # of the system's MTBF: a window of joint starts that chance seldom fills
_NEAR, _FAR = 2.0, 12.0  # windows: from where to where the rate nearby is counted, on either side
_TICKS = 3.5  # the same in ticks, where only equal starts are joint: from half a tick on
_TERMS = 24  # of the series
_GOLDEN = 0.6180339887498949  # its multiples lie evenly between 0 and 1


@dataclass(frozen=True, slots=True)
class Joint:
    """Starts that follow one of another node within the window, and how many would by chance."""

    wanted_h: float  # the window: 10 min, but at most 2 % of the MTBF
    window_h: float  # the one taken: 0 (equal starts) where the log's tick is coarser
    seen: int
    chance: float  # expected if all nodes failed by themselves
    p: float  # chance of `seen` or more of them then

    @property
    def coarse(self) -> bool:
        """The tick of the log is coarser than the window."""
        return self.wanted_h > self.window_h

    @property
    def told(self) -> bool:
        """There are more than chance explains."""
        return self.p < LEVEL


def joint_window(log: Log) -> tuple[float, float]:
    """The time within which starts on several nodes count as one, as wanted and as taken: 10 min, but no more than 2 %
    of the MTBF; 0 (the same instant) where that is below the log's tick."""
    wanted = min(MINUTES_10_H, _SHARE * log.window_h / len(log.time_h))
    return wanted, wanted if wanted >= log.tick_h else 0.0


def members(log: Log, groups: Ints) -> tuple[Bools, Bools]:
    """Which events are part of a start of two nodes or more, and which are later repeats of a node within a group."""
    repeats = np.zeros(len(groups), dtype=bool)
    order = np.lexsort((np.arange(len(groups)), log.node, groups))
    repeats[order[1:]] = (np.diff(groups[order]) == 0) & (np.diff(log.node[order]) == 0)
    nodes = np.bincount(groups[~repeats])
    together: Bools = ~repeats & (nodes[groups] > 1)
    return together if log.named else np.zeros(len(groups), dtype=bool), repeats


def find_joint(log: Log) -> tuple[Joint, Bools, Bools]:
    """What is joint in `log` beyond chance: the count, the events of joint starts, and the repeats within groups.

    As many pairs as chance explains are left out; all are where the rest is not told from zero: one-sided, at LEVEL,
    from the conditional binomial law of the starts within the window and those counted nearby."""
    wanted, within = joint_window(log)
    every = joint_starts(log.time_h, within)
    together, repeats = members(log, every)
    groups = every[together]
    seen = len(groups) - len(np.unique(groups))
    _, firsts, sizes = np.unique(every[~repeats], return_index=True, return_counts=True)
    chance, nearby = expected(log.time_h[~repeats][firsts], log.window_h, within, log.tick_h, sizes)
    alone = 1.0 - float(((np.bincount(log.node) / len(log.time_h)) ** 2).sum()) if log.named else 0.0
    joint = Joint(wanted, within, seen, chance * alone, _tail(seen, chance * alone, nearby, len(firsts)))
    if not joint.told:
        return joint, np.zeros(len(together), dtype=bool), repeats
    at = np.flatnonzero(together)
    together[at[_by_chance(log.time_h[at], groups, round(joint.chance), within)]] = False
    return joint, together, repeats


def expected(
    starts_h: Floats, window_h: float, within_h: float, tick_h: float, sizes: Ints | None = None
) -> tuple[float, int]:  # fmt: skip
    """How many starts follow another within `within_h` by chance, at the rate nearby of these first starts of groups,
    and how many pairs of them that rate was counted from. `sizes`: nodes of each group; where all ticks nearby are full
    they do not say how full, and a group is taken for chance as it is."""
    reach = within_h if tick_h == 0 else (math.floor(within_h / tick_h + 1e-6) + 0.5) * tick_h
    near, far = (_NEAR * reach, _FAR * reach) if within_h > 0 else (tick_h / 2, _TICKS * tick_h)
    if near == 0.0:  # no tick and no window: nothing meets by chance
        return 0.0, 0

    def within(low: Floats, high: Floats) -> Floats:
        return (np.searchsorted(starts_h, high) - np.searchsorted(starts_h, low)).astype(float)

    pairs = within(starts_h - far, starts_h - near) + within(starts_h + near, starts_h + far)
    clipped = [np.clip(starts_h + by, 0.0, window_h) for by in (-far, -near, near, far)]
    unit = reach if within_h > 0 else tick_h
    cells = np.maximum((clipped[1] - clipped[0] + clipped[3] - clipped[2]) / unit, 1.0)
    many = _extra(pairs, cells, ticks=within_h == 0)
    if within_h == 0 and sizes is not None:
        many = np.where(pairs >= cells - 0.5, np.maximum(many, sizes - 1.0), many)
    even = _extra(np.array([1.0]) * len(starts_h), np.array([window_h / unit]), ticks=within_h == 0)
    # Rates that vary make more than an even one, never fewer.
    return max(float(many.sum()), float(even[0]) * len(starts_h)), int(pairs.sum()) // 2


def _extra(nearby: Floats, cells: Floats, *, ticks: bool) -> Floats:
    """Mean number of further events of the group that each start begins, from the first starts counted in the windows
    (or ticks) nearby.

    A window holds x = y exp(-y) first starts for y events, and a group exp(y) events: 1 + the sum of
    (k+1)^(k-1) / k! x^k. Of ticks the share x = 1 - exp(-y) holds a start, and those y / x events: 1 + the sum of
    x^k / (k+1). Falling factorials of the count stand for the powers of x: they have their mean, however few there are.
    """
    apart = 1.0 if ticks else 2.0  # cells that a start keeps free of others
    total, power = np.zeros(len(nearby)), np.ones(len(nearby))
    for k in range(1, _TERMS + 1):
        power = power * np.maximum(nearby - k + 1, 0.0) / np.maximum(cells - apart * (k - 1), 1.0)
        total += power * (1.0 / (k + 1) if ticks else math.exp((k - 1) * math.log(k + 1) - math.lgamma(k + 1)))
    return total


def _tail(seen: int, chance: float, nearby: int, starts: int) -> float:
    """Chance of `seen` or more where about `chance` are expected, which was counted from `nearby` pairs; the upper tail
    of the binomial law. Groups are as wide as a geometric law, so that all three count for less where they are dense.
    """
    from scipy.special import betainc, gammainc

    if seen == 0:
        return 1.0
    wide = 1.0 + chance / starts
    if nearby == 0:
        return float(gammainc(seen / wide, chance / wide))
    return float(betainc(seen / wide, nearby / wide + 1.0, chance / (chance + nearby)))


def _by_chance(time_h: Floats, groups: Ints, many: int, within_h: float) -> Bools:
    """`many` starts that chance put beside another: whole groups, small ones first, with gaps spread evenly over the
    window as those of chance are, and evenly over time where gaps are equal."""
    _, first, sizes = np.unique(groups, return_index=True, return_counts=True)
    gaps = time_h[first + sizes - 1] - time_h[first]
    evenly = np.arange(len(first)) * _GOLDEN % 1.0
    chosen, left = np.zeros(len(groups), dtype=bool), many
    for size in np.unique(sizes).tolist():
        here = np.flatnonzero(sizes == size)
        free = sorted(zip(gaps[here].tolist(), evenly[here].tolist(), first[here].tolist(), strict=True))
        while left > 0 and free:
            aim = (left - 0.5) / many * within_h
            at = bisect_left(free, (aim,))
            if at == len(free) or (at > 0 and aim - free[at - 1][0] < free[at][0] - aim):
                at -= 1
            start = free.pop(at)[2]
            chosen[start : start + size] = True
            left -= size - 1
    return chosen
