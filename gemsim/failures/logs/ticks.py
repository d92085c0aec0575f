"""The clock that a log was written on: how coarse it is, and whether some of its times were rounded further."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Grid in hours, and how far printed times may lie off it: three digits print a minute to 5e-4 h.
_TICKS_H = (
    (24.0, 1e-6), (1.0, 6e-4), (0.5, 6e-4), (0.25, 6e-4), (0.1, 1e-6), (1 / 12, 6e-4), (1 / 60, 6e-4), (0.01, 1e-6),
    (0.0024, 1e-5), (0.001, 1e-7), (1 / 3600, 6e-5), (1e-4, 1e-8),
)  # fmt: skip
_ENOUGH = 12  # starts from which on a common multiple of a grid is no accident
_ROUNDED = 1e-6  # chance of so many starts on whole hours below which some were rounded


def resolution(time_h: Floats) -> float:
    """The coarsest of the usual grids (day, hour, minutes, 0.1 h and its tenths, 0.0001 d, second), or of its
    multiples, that all starts lie on, wherever it begins; 0 if none. Of few starts only the grids that hold time 0."""
    since = np.unique(time_h)
    few = len(since) < _ENOUGH
    since = since if few else since - since[0]
    for tick, slack in _TICKS_H:
        steps = np.round(since / tick)
        off = since - steps * tick
        middle = 0.0 if few else (off.max() + off.min()) / 2.0
        if float(np.abs(off - middle).max()) <= slack:
            many = 1 if few else int(np.gcd.reduce(steps.astype(np.int64)))
            return tick * max(many, 1)
    return 0.0


def rounded(clock_h: Floats, tick: float) -> str:
    """On a clock finer than an hour: more starts on whole hours than even minutes give. Some were rounded, and those of
    several nodes meet there by chance. "" where not."""
    if not 0.0 < tick < 0.5:
        return ""
    from scipy.special import bdtrc

    whole = int((np.abs(clock_h - np.round(clock_h)) < tick / 4.0).sum())
    count = len(clock_h)
    if whole <= 2.0 * tick * count or float(bdtrc(whole - 1, count, tick)) >= _ROUNDED:
        return ""
    return (
        f"{whole:,} of {count:,} starts lie on whole hours, {tick:.2%} would: some times were rounded, and what starts"
        " together there may do so by chance, which joint starts do not allow for"
    )
