"""Failures that follow a failure of the same node: how likely, how soon, and which events they are.

A mixture over each node's own events: an event is either of the background (the node's rate, stepped in time) or
follows one of its earlier ones after a Weibull gap, which counts while the node is not out. Expectation-maximisation,
as Veen and Schoenberg (2008) for aftershocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.laws import fit_weibull

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDS = 200
_LONGEST_BACK = 8  # events of a node looked back over: farther ones explain nothing that the rate does not


@dataclass(frozen=True, slots=True)
class Use:
    """For each event, on a clock that stands still while its node is out: when it starts, and when its outage is over;
    whether it meets the node in use; and when the outage is over on the wall clock. Hours."""

    begins_h: Floats
    ends_h: Floats
    meets: NDArray[np.bool_]
    over_h: Floats

    def only(self, kept: NDArray[np.bool_]) -> Use:
        """The same for some of the events."""
        return Use(self.begins_h[kept], self.ends_h[kept], self.meets[kept], self.over_h[kept])


@dataclass(frozen=True, slots=True)
class Echo:
    """What follows a failure on its node, and the share of each event that is background."""

    again: float  # probability that a failure is followed by another of its node
    shape: float  # Weibull of the gap
    mean_h: float
    background: Floats  # for each event: probability that it follows nothing
    gain: float  # log-likelihood over no recurrence at all, same background


def echoes(
    time_h: Floats, node: Ints, *, rates: Floats, factor: Floats, window_h: float, least_h: float,
    use: Use | None = None,
) -> Echo | None:  # fmt: skip
    """Recurrence on nodes that fail by themselves at `rates` (per hour, of each node) x `factor` (at each event).

    `use`: the clock of use of each event's node, on which gaps count; that of the wall if None. Gaps below `least_h`
    (the log's resolution) are taken as that. None where nothing follows anything.
    """
    use = use or Use(time_h, time_h, np.ones(len(time_h), dtype=bool), time_h)
    later, gaps = _pairs(time_h, node, use, least_h)
    if len(gaps) < 5:
        return None
    base = rates[node] * factor
    again, shape, scale = 0.2, 0.7, float(np.median(gaps))
    count, before = len(time_h), -math.inf
    background = np.ones(count)
    for _ in range(_ROUNDS):
        z = gaps / scale
        density = again * shape / scale * z ** (shape - 1) * np.exp(-(z**shape))
        pushed = np.bincount(later, weights=density, minlength=count)
        total = (1.0 - again) * base + pushed
        share = density / total[later]
        background = (1.0 - again) * base / total
        again = min(float(share.sum()) / count, 0.95)
        if again < 1e-3 or not share.max() > 0:
            return None
        fit = fit_weibull(gaps, weights=np.maximum(share, 1e-300))
        shape, scale = min(max(fit.shape, 0.1), 5.0), fit.scale
        loglik = float(np.log(total).sum())
        if abs(loglik - before) < 1e-6 * count:
            break
        before = loglik
    mean = scale * math.gamma(1.0 + 1.0 / shape)
    expected = again * float((-np.expm1(-((np.maximum(window_h - use.over_h, 0.0) / scale) ** shape))).sum())
    spare = (1.0 - again) * count + expected - count  # mass of the two compensators beyond the counts
    return Echo(again, shape, mean, background, float(np.log(total / base).sum()) - spare)


def _pairs(time_h: Floats, node: Ints, use: Use, least_h: float) -> tuple[Ints, Floats]:
    """(later event, gap in use) for each event and each of the last few before it on its node; one that starts while
    its node is out follows nothing."""
    order = np.lexsort((time_h, node))
    sorted_node, begins, ends, meets = node[order], use.begins_h[order], use.ends_h[order], use.meets[order]
    later, gaps = [], []
    for back in range(1, _LONGEST_BACK + 1):
        same = (sorted_node[back:] == sorted_node[:-back]) & meets[back:]
        later.append(order[back:][same])
        gaps.append(np.maximum((begins[back:] - ends[:-back])[same], least_h))
    return np.concatenate(later).astype(np.int64), np.concatenate(gaps)


def in_use(log: Log) -> Use:
    """The clocks of use of the nodes of `log`, which stand still in known outages of whatever class."""
    count = len(log.time_h)
    begins, ends, over, meets = np.empty(count), np.empty(count), np.empty(count), np.ones(count, dtype=bool)
    back: dict[int, tuple[float, float]] = {}  # of each node: when its last outage is over, hours out until then
    down = np.nan_to_num(log.downtime_h)
    for at, (start, who, length) in enumerate(zip(log.time_h.tolist(), log.node.tolist(), down.tolist(), strict=True)):
        until, out = back.get(who, (0.0, 0.0))
        meets[at] = start >= until - 1e-9
        begins[at] = max(start, until) - out
        out += max(start + length - max(until, start), 0.0)
        over[at] = until = max(until, start + length)
        ends[at] = until - out
        back[who] = until, out
    return Use(begins, ends, meets, over)
