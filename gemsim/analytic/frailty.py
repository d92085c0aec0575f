"""Devices that are not alike: how counts spread, what the worst ones carry, and what taking them out does.

One idea: given its multiple of the rate a device is Poisson, so everything follows from the law of that multiple
(gamma, or lemons among good ones).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, exp, expm1, fsum, lgamma, log, log1p, sqrt

from gemsim.failures.classes import Frailty


def variation(law: Frailty | None) -> float:
    """Variance of the multiple over its squared mean. Kind: exact."""
    if law is None:
        return 0.0
    if law.kind == "gamma":
        return 1.0 / law.shape
    low, high = law.good, law.good * law.multiplier
    return law.share * (1.0 - law.share) * ((high - low) / law.mean) ** 2


def counts(law: Frailty | None, rate: float, seconds: float) -> list[float]:
    """P(a device fails n times) for n = 0, 1, ... until less than 1e-15 is left; `rate` is that of multiple 1.

    gamma: negative binomial (Greenwood and Yule 1920). lemons: a mixture of two Poisson laws. Kind: exact.
    """
    mean = rate * seconds
    if law is None:
        return _until(lambda n: _poisson(mean, n), mean, mean)
    if law.kind == "gamma":
        return _until(lambda n: _negative_binomial(law.shape, mean, n), mean, mean + mean * mean / law.shape)
    low, high = mean * law.good, mean * law.good * law.multiplier
    return _until(lambda n: (1.0 - law.share) * _poisson(low, n) + law.share * _poisson(high, n), high, high)


def _until(term: Callable[[int], float], center: float, variance: float) -> list[float]:
    found: list[float] = []
    near = center + 6.0 * sqrt(variance)
    while len(found) <= near or found[-1] > 1e-18:
        found.append(term(len(found)))
    return found


def _poisson(mean: float, n: int) -> float:
    return exp(n * log(mean) - mean - lgamma(n + 1)) if mean > 0.0 else float(n == 0)


def _negative_binomial(shape: float, mean: float, n: int) -> float:
    if mean == 0.0:
        return float(n == 0)
    ways = lgamma(shape + n) - lgamma(shape) - lgamma(n + 1)
    return exp(ways - shape * log1p(mean / shape) + n * (log(mean) - log(mean + shape)))


def fano(law: Frailty | None, rate: float, seconds: float) -> float:
    """Variance over mean of the count of one device in a window, and so of a fleet whose devices are drawn anew each
    time; `rate` is that of multiple 1. In one fleet, over time, it is 1. Kind: exact.
    """
    mean = rate * seconds * (1.0 if law is None else law.mean)
    return 1.0 + mean * variation(law)


def worst(law: Frailty | None, share: float) -> float:
    """Share of all failures on the worst `share` of devices, ranked by their true rates. Kind: exact.

    gamma: the Lorenz curve, from the law of shape + 1. lemons: all those first, then good ones alike.
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share must be in [0, 1], not {share!r}")
    if law is None or share in (0.0, 1.0):
        return share
    if law.kind == "gamma":
        from scipy.special import gammaincc, gammainccinv

        return float(gammaincc(law.shape + 1.0, gammainccinv(law.shape, share)))
    bad = min(share, law.share) * law.good * law.multiplier
    return (bad + max(0.0, share - law.share) * law.good) / law.mean


def worst_seen(law: Frailty | None, rate: float, seconds: float, share: float) -> float:
    """Share of all failures on the `share` of devices with most in a window: what a log shows, luck included. Kind:
    exact in the limit of many devices.
    """
    found = counts(law, rate, seconds)
    total, left, on_them = fsum(n * chance for n, chance in enumerate(found)), share, 0.0
    for n in range(len(found) - 1, 0, -1):
        taken = min(left, found[n])
        on_them += n * taken
        left -= taken
    return on_them / total if total else share


def rate_after_removal(law: Frailty | None, share: float) -> float:
    """The rate of a job, as a multiple of before, once the worst `share` of devices is taken out and the job runs on
    others of the same fleet. Kind: exact.
    """
    if share >= 1.0:
        raise ValueError(f"share must be below 1, not {share!r}")
    return (1.0 - worst(law, share)) / (1.0 - share)


def job_fails(devices: int, hazard: float, *, lemons: float = 0.0, multiplier: float = 1.0) -> float:
    """P(a job on `devices` drawn at random fails), each good one with hazard `hazard` over the job. Kind: exact.

    1 - E exp(-hazard (devices + (multiplier - 1) L)), L binomial: a job without a lemon is no worse than before.
    """
    each = lemons * expm1(-hazard * (multiplier - 1.0))
    return -expm1(-hazard * devices + devices * log1p(each))


def multiplier_of_removal(devices: int, *, before: float, after: float, lemons: float) -> float:
    """How much worse lemons are than good devices, if taking them out brings the share of failed jobs of `devices` from
    `before` to `after`. Raises ValueError where lemons in so few jobs cannot explain the change. Kind: exact.
    """
    good = -log1p(-after) / devices
    fall = (log1p(-after) - log1p(-before)) / devices  # per device, as a hazard
    hit = -expm1(-fall) / lemons
    if not 0.0 < hit < 1.0:
        raise ValueError(f"{lemons:.3g} of devices are too few to bring {before:.3g} down to {after:.3g}")
    return 1.0 - log1p(-hit) / good


def job_rate_variation(law: Frailty | None, devices: int) -> float:
    """Squared relative spread, over fleets, of the total rate of a job on `devices` drawn at random. Kind: exact."""
    return variation(law) / devices if devices else 0.0


def mean_gap_of_small_jobs(law: Frailty, devices: int) -> float:
    """Mean time to failure of jobs of `devices`, each job counted once, as a multiple of 1 / (mean rate).

    E(1 / rate) >= 1 / E(rate): who fails early is counted as often as who runs on, so small jobs look *better* than a
    linear rate says, never worse. gamma: a k / (a k - 1) (inf for a k <= 1). lemons: a binomial mean. Kind: exact.
    """
    if law.kind == "gamma":
        total = devices * law.shape
        return total / (total - 1.0) if total > 1.0 else float("inf")
    p, excess = law.share, law.multiplier - 1.0
    return law.mean * fsum(
        comb(devices, bad) * p**bad * (1.0 - p) ** (devices - bad) * devices / (law.good * (devices + excess * bad))
        for bad in range(devices + 1)
    )


def spread(values: Sequence[float]) -> float:
    """Variance over mean of counts, each window or device counted once (unbiased)."""
    mean = fsum(values) / len(values)
    return fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / mean
