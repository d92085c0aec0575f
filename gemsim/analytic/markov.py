"""Losses one after another, with repair: mean time to data loss, and how many spares keep a job from waiting.

One idea: a birth-death chain has positive recursions, so nothing is subtracted and no linear system is solved (on the
same chain a general solver was wrong by 100 % at 32 + 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gemsim.analytic.survival import binomial_tail


def mean_hitting_time(up: Sequence[float], down: Sequence[float]) -> float:
    """Mean seconds from state 0 to state n = len(up) of a birth-death chain.

    `up[i]` = rate i -> i + 1 (all > 0), `down[i]` = rate i + 1 -> i for i < n - 1, all per second. With h_i the mean
    time from i to i + 1: h_0 = 1 / up_0, h_i = 1 / up_i + down_{i-1} / up_i h_{i-1}; the answer is their sum.
    Source: elementary, e.g. Karlin and Taylor (1975), chapter 4. Kind: exact (relative error about n x 1e-16).
    """
    if len(down) != len(up) - 1:
        raise ValueError(f"need one rate down for each state but the first: {len(up) - 1}, not {len(down)}")
    if any(rate <= 0.0 for rate in up) or any(rate < 0.0 for rate in down):
        raise ValueError("rates up must be > 0 and rates down >= 0")
    total = step = 1.0 / up[0]
    for rate, back in zip(up[1:], down, strict=True):
        step = (1.0 + back * step) / rate
        total += step
    return total


def mean_time_to_data_loss(
    k: int, m: int, *, failure_rate: float, repair_rate: float, crews: int | None = None
) -> float:
    """Mean seconds until a stripe of k + m members has more than m lost at once, starting whole.

    Each standing member fails at `failure_rate`, each lost one is rebuilt at `repair_rate` (per second); `crews`
    limits how many are rebuilt at a time (None = all). Exponential times. `failure_rate` = 0 gives inf.
    Source: Patterson, Gibson and Katz (1988) for m = 1, the general chain by `mean_hitting_time`. Kind: exact.
    """
    if k < 1 or m < 0 or (crews is not None and crews < 1):
        raise ValueError(f"need k >= 1, m >= 0 and crews >= 1, not {k}, {m}, {crews}")
    if failure_rate == 0.0:
        return math.inf
    up = [(k + m - lost) * failure_rate for lost in range(m + 1)]
    down = [min(lost, crews or lost) * repair_rate for lost in range(1, m + 1)]
    return mean_hitting_time(up, down)


def poisson_tail(mean: float, more_than: int) -> float:
    """P(X > more_than) for X Poisson(mean). Kind: exact (relative error about 1e-13)."""
    if not 0.0 <= mean < math.inf:
        raise ValueError(f"mean must be a finite number >= 0, not {mean!r}")
    if more_than < 0:
        return 1.0
    if mean == 0.0:
        return 0.0
    if more_than + 1 > mean:
        return _poisson_sum(mean, more_than + 1, 1)
    return 1.0 - _poisson_sum(mean, more_than, -1)


def _poisson_sum(mean: float, start: int, direction: int) -> float:
    """Poisson probabilities from `start` away from the mean, until they no longer count."""
    term = math.exp(start * math.log(mean) - mean - math.lgamma(start + 1))
    total, count = 0.0, start
    while count >= 0 and term > 1e-18 * total:
        total += term
        count += direction
        term *= mean / count if direction > 0 else (count + 1) / mean
    return total


def down_at_once(rate: float, seconds_down: float, *, more_than: int) -> float:
    """P(more than `more_than` units are away at a random moment), units leaving at `rate` for `seconds_down` on
    average.

    M/G/inf: the number away is Poisson(rate x mean time away) whatever the law of that time (Palm 1943; Takacs 1962).
    Independent departures; joint failures need more. Kind: exact.
    """
    return poisson_tail(rate * seconds_down, more_than)


def spares_for_repairs(rate: float, seconds_down: float, *, confidence: float) -> int:
    """Fewest spares with P(the job waits at a random moment) <= 1 - confidence, by `down_at_once`. Kind: exact."""
    _check_confidence(confidence)
    return _fewest(lambda spares: down_at_once(rate, seconds_down, more_than=spares), 1.0 - confidence)


def spares_for_units(needed: int, unavailability: float, *, confidence: float) -> int:
    """Fewest spares beside `needed` units so that `needed` are up with `confidence`, each down independently.

    `unavailability` = share of time a unit is down. P(binomial(needed + spares, unavailability) > spares). Kind: exact.
    """
    _check_confidence(confidence)
    if not 0.0 <= unavailability < 1.0:
        raise ValueError(f"unavailability must be in [0, 1), not {unavailability!r}")
    return _fewest(lambda spares: binomial_tail(needed + spares, unavailability, spares), 1.0 - confidence)


def queue_tail(rate: float, repair_rate: float, *, crews: int, more_than: int) -> float:
    """P(more than `more_than` units in repair) with `crews` repairing one unit each at `repair_rate`.

    M/M/c in equilibrium (Erlang 1917); 1 where the crews cannot keep up. Rates per second. Exponential times. Kind:
    exact.
    """
    if crews < 1 or repair_rate <= 0.0 or rate < 0.0:
        raise ValueError(f"need crews >= 1, repair_rate > 0 and rate >= 0, not {crews}, {repair_rate}, {rate}")
    if more_than < 0:
        return 1.0
    load = rate / repair_rate
    if load >= crews:
        return 1.0
    weights = [1.0]
    for count in range(1, max(crews, more_than + 1) + 1):
        weights.append(weights[-1] * load / min(count, crews))
    beyond = weights[-1] * load / (crews - load)
    above = math.fsum(weights[more_than + 1 :]) + beyond
    return above / (math.fsum(weights[: more_than + 1]) + above)


def _fewest(shortage: Callable[[int], float], allowed: float) -> int:
    """Smallest count at which a falling probability is allowed: doubling, then bisection."""
    high = 1
    while shortage(high) > allowed:
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shortage(middle) <= allowed else (middle, high)
    return high


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence!r}")
