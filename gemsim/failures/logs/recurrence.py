"""Failures that follow a failure of the same node: how likely, how soon, and which events they are.

A mixture over each node's own events: an event is either of the background (the node's rate, stepped in time) or
follows one of its earlier ones after a Weibull gap. Expectation-maximisation, as Veen and Schoenberg (2008) for
aftershocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.logs.laws import fit_weibull

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDS = 200
_LONGEST_BACK = 8  # events of a node looked back over: farther ones explain nothing that the rate does not


@dataclass(frozen=True, slots=True)
class Echo:
    """What follows a failure on its node, and the share of each event that is background."""

    again: float  # probability that a failure is followed by another of its node
    shape: float  # Weibull of the gap
    mean_h: float
    background: Floats  # for each event: probability that it follows nothing
    gain: float  # log-likelihood over no recurrence at all, same background


def echoes(
    time_h: Floats, node: Ints, *, rates: Floats, factor: Floats, window_h: float, least_h: float
) -> Echo | None:
    """Recurrence on nodes that fail by themselves at `rates` (per hour, of each node) x `factor` (at each event).

    Gaps below `least_h` (the log's resolution) are taken as that. None where nothing follows anything.
    """
    later, gaps = _pairs(time_h, node, least_h)
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
    expected = again * float((-np.expm1(-(((window_h - time_h) / scale) ** shape))).sum())
    spare = (1.0 - again) * count + expected - count  # mass of the two compensators beyond the counts
    return Echo(again, shape, mean, background, float(np.log(total / base).sum()) - spare)


def _pairs(time_h: Floats, node: Ints, least_h: float) -> tuple[Ints, Floats]:
    """(later event, gap) for each event and each of the last few before it on its node."""
    order = np.lexsort((time_h, node))
    sorted_time, sorted_node = time_h[order], node[order]
    later, gaps = [], []
    for back in range(1, _LONGEST_BACK + 1):
        same = sorted_node[back:] == sorted_node[:-back]
        later.append(order[back:][same])
        gaps.append(np.maximum((sorted_time[back:] - sorted_time[:-back])[same], least_h))
    return np.concatenate(later).astype(np.int64), np.concatenate(gaps)
