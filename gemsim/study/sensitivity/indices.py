"""Which inputs move a number, from runs in which they vary: elementary effects (Morris) and variance shares (Sobol').

Pure arithmetic over arrays in [0, 1]; a run without a number is NaN, is left out of what it would enter, and is
counted. Intervals are 95 % percentiles of a bootstrap over trajectories or over rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsim.results.estimate import Interval

Floats = NDArray[np.float64]

LEVELS = 4  # of the grid of a Morris design; steps are LEVELS / (2 (LEVELS - 1)), as Morris (1991) advises
STEP = LEVELS / (2.0 * (LEVELS - 1.0))
RESAMPLES = 999
FEWEST = 4  # effects or rows below which nothing is said of an input
_TAILS = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Effect:
    """Elementary effects of one input: mean of their sizes (mu*), their mean and spread, and how many there are."""

    size: Interval
    mean: float
    spread: Interval
    number: int


@dataclass(frozen=True, slots=True)
class Share:
    """Sobol' indices of one input: the share of the variance it makes alone, and with all it interacts with."""

    first: Interval
    total: Interval
    rows: int


def trajectories(inputs: int, number: int, stream: np.random.Generator) -> Floats:
    """A Morris design (Morris, 1991): `number` walks from a random point of the grid that move each input once.

    Shape (number, inputs + 1, inputs), values in [0, 1].
    """
    walks = np.empty((number, inputs + 1, inputs))
    for walk in walks:
        walk[0] = stream.integers(0, LEVELS, inputs) / (LEVELS - 1.0)
        for at, moved in enumerate(stream.permutation(inputs)):
            walk[at + 1] = walk[at]
            walk[at + 1, moved] += STEP if walk[at, moved] < 0.5 else -STEP
    return np.clip(walks, 0.0, 1.0)


def morris(walks: Floats, outcomes: Floats, stream: np.random.Generator) -> list[Effect]:
    """The effects of each input over a Morris design; `outcomes` has shape (walks, inputs + 1).

    mu* is that of Campolongo, Cariboni and Saltelli (2007).
    """
    steps = np.diff(walks, axis=1)
    slopes = np.diff(outcomes, axis=1)
    found = []
    for each in range(walks.shape[2]):
        moved = np.argmax(np.abs(steps[:, :, each]), axis=1)
        rows = np.arange(len(walks))
        effects = slopes[rows, moved] / steps[rows, moved, each]
        found.append(_effect(effects[~np.isnan(effects)], stream))
    return found


def _effect(effects: Floats, stream: np.random.Generator) -> Effect:
    if len(effects) < FEWEST:
        nothing = Interval(math.nan, math.nan, math.nan)
        return Effect(nothing, math.nan, nothing, len(effects))
    again = effects[stream.integers(0, len(effects), (RESAMPLES, len(effects)))]
    size = _interval(float(np.abs(effects).mean()), np.abs(again).mean(axis=1))
    spread = _interval(float(effects.std(ddof=1)), again.std(axis=1, ddof=1))
    return Effect(size, float(effects.mean()), spread, len(effects))


def saltelli(first: Floats, second: Floats) -> Floats:
    """The rows to run for Sobol' indices (Saltelli and others, 2010): A, B, and A with each column of B in turn.

    Shape (inputs + 2, rows, inputs).
    """
    mixed = np.repeat(first[np.newaxis], first.shape[1], axis=0)
    for each in range(first.shape[1]):
        mixed[each, :, each] = second[:, each]
    return np.concatenate([first[np.newaxis], second[np.newaxis], mixed])


def sobol(outcomes: Floats, stream: np.random.Generator) -> list[Share]:
    """The indices of each input from the outcomes of `saltelli`, of shape (inputs + 2, rows).

    First order by Saltelli and others (2010), table 2 (b); total by Jansen (1999), table 2 (f). Rows in which A, B or
    the mixed run has no number are left out for that input. Where nothing varies all indices are NaN.
    """
    a, b = outcomes[0], outcomes[1]
    return [_share(a, b, mixed, stream) for mixed in outcomes[2:]]


def alone(outcomes: Floats, stream: np.random.Generator) -> Interval:
    """The sum of the first-order indices: the share of the variance that inputs make without interaction.

    The estimator is linear in the mixed runs, so the sum is that of one run in which all their steps are added.
    """
    a, b = outcomes[0], outcomes[1]
    return _share(a, b, a + (outcomes[2:] - a).sum(axis=0), stream).first


def _share(a: Floats, b: Floats, mixed: Floats, stream: np.random.Generator) -> Share:
    known = ~(np.isnan(a) | np.isnan(b) | np.isnan(mixed))
    rows = int(known.sum())
    nothing = Interval(math.nan, math.nan, math.nan)
    if rows < FEWEST or float(np.ptp(np.concatenate([a[known], b[known]]))) == 0.0:
        return Share(nothing, nothing, rows)
    level = float(np.concatenate([a[known], b[known]]).mean())
    one, other, both = a[known] - level, b[known] - level, mixed[known] - level
    first, total = (float(value[0]) for value in _indices(one, other, both, np.arange(rows)[np.newaxis]))
    picked = stream.integers(0, rows, (RESAMPLES, rows))
    firsts, totals = _indices(one, other, both, picked)
    return Share(_interval(first, firsts), _interval(total, totals), rows)


def _indices(a: Floats, b: Floats, mixed: Floats, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """(first, total) for each set of rows; NaN where the set does not vary."""
    one, other, both = a[rows], b[rows], mixed[rows]
    variance = np.concatenate([one, other], axis=1).var(axis=1)
    variance = np.where(variance > 0.0, variance, np.nan)
    first = (other * (both - one)).mean(axis=1) / variance
    total = 0.5 * ((one - both) ** 2).mean(axis=1) / variance
    return first, total


def _interval(value: float, again: Floats) -> Interval:
    low, high = np.nanpercentile(again, _TAILS)
    return Interval(value, float(low), float(high))
