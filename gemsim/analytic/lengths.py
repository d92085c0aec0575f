"""A random time as a few fixed ones: recoveries of random length are then classes of fixed length.

One idea: Gauss's rules, which have the first 2 n - 1 moments right. Seconds throughout.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, sqrt

import numpy as np

from gemsim.failures.laws import Duration

POINTS = 6


@lru_cache(maxsize=4096)
def lengths(law: Duration) -> tuple[tuple[float, float], ...]:
    """(probability, seconds) that stand for a law. exponential: Gauss-Laguerre; lognormal: Gauss-Hermite."""
    if law.kind == "fixed" or law.mean == 0.0:
        return ((1.0, law.mean),)
    if law.kind == "lognormal":
        nodes, weights = np.polynomial.hermite_e.hermegauss(POINTS + 1)
        weights = weights / sqrt(2.0 * np.pi)
        times = [law.mean * exp(law.sigma * float(x) - law.sigma**2 / 2.0) for x in nodes]
        of_mean = sum(float(w) * time for w, time in zip(weights, times, strict=True)) / law.mean
        times = [time / of_mean for time in times]
    else:
        nodes, weights = np.polynomial.laguerre.laggauss(POINTS)
        times = [law.mean * float(x) for x in nodes]
    return tuple((float(weight), time) for weight, time in zip(weights, times, strict=True))
