"""The same chain without an engine: members lost, a recovery that each failure starts again, in numpy, many at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def exact(n: int, m: int, *, chance: float, starts: float) -> float:
    """Mean losses: `starts` first failures, each next one of n places in time with `chance`. Subtraction-free."""
    found = 1.0
    for lost in range(m, 0, -1):
        onward = chance * (n - lost) / n
        found *= onward / (1.0 - chance + onward)
    return starts * found


def weights(
    rng: np.random.Generator, size: int, n: int, m: int, *, chance: float, starts: float
) -> NDArray[np.float64]:
    """Values whose mean is `exact`, forced as the engine forces: surely after a new member lost, else half the time."""
    level, weight = np.ones(size, dtype=int), np.full(size, starts)
    force, value = np.full(size, True), np.zeros(size)
    going = np.arange(size)
    while len(going):
        come = np.where(force[going], 1.0, 0.5)
        weight[going] *= chance / come
        going = going[rng.random(len(going)) < come]
        new = rng.random(len(going)) * n >= level[going]
        force[going] = new
        level[going] += new
        lost = going[level[going] > m]
        value[lost] = weight[lost]
        going = going[level[going] <= m]
    return value


def chance_for(n: int, m: int, wanted: float, *, starts: float) -> float:
    """The chance of a next failure that makes `exact` the wanted value."""
    low, high = 1e-12, 0.5
    while high / low > 1.0 + 1e-12:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if exact(n, m, chance=middle, starts=starts) > wanted else (middle, high)
    return low
