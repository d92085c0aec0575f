"""Rates that step in time: the mean factor over a run, and what its spread does to a quantity that bends.

One idea: a run over many failures is in equilibrium within each piece, so pieces of constant rate add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, inf

Drift = Sequence[tuple[float, float]]
"""(from this second on, factor on the rate), the first from 0; empty: a factor of 1."""


def shares(drift: Drift, horizon: float) -> list[tuple[float, float]]:
    """(share of the time from 0 to `horizon`, factor) of each piece that begins before it. Kind: exact."""
    starts = [start for start, _ in drift] + [inf]
    pieces = [
        ((min(end, horizon) - start) / horizon, factor)
        for (start, factor), end in zip(drift, starts[1:], strict=True)
        if start < horizon
    ]
    return pieces or [(1.0, 1.0)]


def mean_factor(drift: Drift, horizon: float) -> float:
    """Failures up to `horizon` over those at a factor of 1. Kind: exact."""
    return fsum(share * factor for share, factor in shares(drift, horizon))


def variation(drift: Drift, horizon: float) -> float:
    """Variance of the factor over time, over its squared mean: half of this times the curvature in the logarithm of the
    rate is what the mean factor misses (Jensen). Kind: exact."""
    mean = mean_factor(drift, horizon)
    return fsum(share * (factor / mean - 1.0) ** 2 for share, factor in shares(drift, horizon))
