"""How often to save: the exact optimum of periodic saving under exponential failures."""

from __future__ import annotations

import math

from gemsim.protection.arrays import anywhere, at_most, either, everywhere, expm1, is_array, least, log1p
from gemsim.protection.saving import kept_share

MATTERS = 1e-3  # restarts that keep the state in an interval, below which they hardly put off a save
SHORTEST = 1e-3  # of the interval that is best without them
GOLDEN = 0.6180339887498949
HALVINGS = 40


def optimal_interval(delta: float, rate: float) -> float:
    """Running time between saves (seconds, save not included) with the largest useful share of wall time.

    tau = (1 + W0(-e^(-1 - delta rate))) / rate, W0 the principal Lambert function; independent of restart, down time
    and write lag. `rate`: roll-backs to these saves per second. Solved as -x - log(1 - x) = delta rate by Newton
    from above, so
    tiny delta x rate keeps full precision (the Lambert form loses half the digits near its branch point). `delta` =
    0 gives
    0; `rate` = 0 with a save that costs gives inf. Source: the optimum of Daly's (2006) complete model; Lambert form in
    Herault and Robert (2015). Kind: exact.
    """
    for name, value in (("delta", delta), ("rate", rate)):
        if not least(value) >= 0.0 or (not is_array(value) and math.isinf(value)):
            raise ValueError(f"{name} must be a finite number >= 0, not {value!r}")
    cost = delta * rate
    if delta == 0.0:
        return 0.0 * cost
    return either(cost > 0.0, lambda: _lost_share(cost) / rate, lambda: math.inf)


def interval_beside(delta: float, rate: float, *, keep: float, lag: float = 0.0) -> float:
    """`optimal_interval` beside `keep` restarts per second that lose nothing but begin the clock of saves anew.

    They put off saves, so that an interval as long as the time between them is hardly ever reached. The maximum of
    `saving.kept_share` by golden section on the logarithm; where `keep` hardly matters the exact form without.
    """
    longest = optimal_interval(delta, rate)
    if delta == 0.0 or not anywhere(rate > 0.0) or not anywhere(keep * (longest + delta) > MATTERS):
        return longest

    def lost(place: float) -> float:
        return -kept_share(longest * SHORTEST**place, delta, roll_back=rate, keep=keep, lag=lag)

    low, high = 0.0 * longest, 0.0 * longest + 1.0
    for _ in range(HALVINGS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        nearer = lost(left) <= lost(right)
        low, high = either(nearer, lambda: low, lambda: left), either(nearer, lambda: right, lambda: high)  # noqa: B023
    best: float = longest * SHORTEST ** ((low + high) / 2.0)
    return either(keep * (longest + delta) > MATTERS, lambda: best, lambda: longest)


def _lost_share(cost: float) -> float:
    """tau x rate at the optimum, of delta x rate = `cost` > 0: nearly all where a save costs so much."""
    return either(cost > 30.0, lambda: -expm1(-1.0 - cost), lambda: _newton(at_most(30.0, cost)))


def _newton(cost: float) -> float:
    share = at_most((2.0 * cost) ** 0.5, -expm1(-1.0 - cost))
    for _ in range(60):
        step = (_excess(share) - cost) * (1.0 - share) / share
        share = share - step
        if everywhere(abs(step) <= 1e-16 * share):
            break
    return share


def _excess(share: float) -> float:
    """-x - log(1 - x) without cancellation at small x."""
    return either(share > 0.1, lambda: -share - log1p(-share), lambda: _series(share))


def _series(share: float) -> float:
    total, power = 0.0, share
    for order in range(2, 20):
        power = power * share
        total = total + power / order
    return total
