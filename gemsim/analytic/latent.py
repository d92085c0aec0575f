"""Errors that nobody has seen yet: how many pile up in a stripe until the next scrub, and how often to scrub.

One idea: each chunk fails at its own Poisson rate and a scrub makes all whole again, so a stripe is binomial in the
time since the last scrub. Rates per second, times in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, exp, expm1, fsum, inf, log

from gemsim.analytic.survival import binomial_tail


def piled_up(k: int, m: int, *, rate: float, seconds: float) -> float:
    """P(more than m of the k + m chunks of a stripe are lost), this long after a scrub; `rate` per chunk.

    A rate per GPU is spread over its pages: each is Poisson by itself (thinning). Kind: exact.
    """
    return binomial_tail(k + m, -expm1(-rate * seconds), m)


def met_at_random(k: int, m: int, *, rate: float, interval: float, known: int = 0) -> float:
    """P(a failure that takes `known` chunks of a stripe finds too many others lost already), at a random time.

    The mean of `piled_up` over the ages 0 to interval, for k + m - known chunks of which m - known may be lost.
    Gauss-Legendre on a polynomial-like integrand. Kind: exact (relative error below 1e-12).
    """
    if known > m:
        return 1.0
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(64)
    ages = (nodes + 1.0) / 2.0 * interval
    values = [piled_up(k, m - known, rate=rate, seconds=float(age)) for age in ages]
    return fsum(float(w) / 2.0 * value for w, value in zip(weights, values, strict=True))


def loss_rate(k: int, m: int, *, stripes: int, rate: float, interval: float) -> float:
    """Stripes lost per second, each judged and made whole at the end of each interval. Kind: exact."""
    return stripes * piled_up(k, m, rate=rate, seconds=interval) / interval


def required_interval(k: int, m: int, *, stripes: int, rate: float, allowed: float) -> float:
    """Longest interval between scrubs at which no more than `allowed` stripes are lost per second, of those below the
    interval at which most are; inf where none is too long. Raises ValueError for m = 0, where scrubs do not help.
    Kind: exact, by bisection.
    """
    if m < 1:
        raise ValueError("without parity a scrub rebuilds nothing")
    worst = _most_lost(k, m, rate)
    if loss_rate(k, m, stripes=stripes, rate=rate, interval=worst) <= allowed:
        return inf
    low, high = 0.0, worst
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        good = loss_rate(k, m, stripes=stripes, rate=rate, interval=middle) <= allowed
        low, high = (middle, high) if good else (low, middle)
    return low


def first_order_interval(k: int, m: int, *, stripes: int, rate: float, cost: float, loss: float) -> float:
    """The interval of least cost: a scrub takes `cost` s, a lost stripe `loss` s. Kind: first order in rate x interval.

    cost / T + stripes C(k + m, m + 1) rate^(m + 1) T^m loss is least where T^(m + 1) = cost / (m stripes C rate^(m + 1)
    loss).
    """
    if m < 1:
        raise ValueError("without parity a scrub rebuilds nothing")
    each = m * stripes * comb(k + m, m + 1) * loss / cost
    return float(each ** (-1.0 / (m + 1)) / rate)


def optimal_interval(k: int, m: int, *, stripes: int, rate: float, cost: float, loss: float) -> float:
    """The same without the first order, of the intervals up to that at which most stripes are lost. Kind: exact."""
    start = first_order_interval(k, m, stripes=stripes, rate=rate, cost=cost, loss=loss)

    def gain(seconds: float) -> float:
        lost = loss_rate(k, m, stripes=stripes, rate=rate, interval=seconds)
        return -(cost / seconds + lost * loss)

    return _peak(gain, min(start, _most_lost(k, m, rate)) * 1e-3, _most_lost(k, m, rate))


def _peak(value: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of one peak is largest: golden section in the logarithm of its argument."""
    left, right = log(low), log(high)
    golden = (5.0**0.5 - 1.0) / 2.0
    a, b = right - golden * (right - left), left + golden * (right - left)
    at_a, at_b = value(exp(a)), value(exp(b))
    while right - left > 1e-9:
        if at_a >= at_b:
            right, b, at_b = b, a, at_a
            a = right - golden * (right - left)
            at_a = value(exp(a))
        else:
            left, a, at_a = a, b, at_b
            b = left + golden * (right - left)
            at_b = value(exp(b))
    return exp((left + right) / 2.0)


def _most_lost(k: int, m: int, rate: float) -> float:
    """The interval at which most stripes are lost per second: longer ones find each lost once."""
    near = 1.0 / rate
    return _peak(lambda t: piled_up(k, m, rate=rate, seconds=t) / t, near * 1e-6, near * 1e2)
