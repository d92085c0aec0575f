"""Lifetime laws by mean and shape, and duration laws: how long until a device fails, how long a repair takes.

Every lifetime law is a scale family. It needs only its cumulative hazard H, the inverse of H and its equilibrium
distribution (the residual life in a fleet that has run for long); everything else follows from these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsim.errors import ValueRefused

Floats = NDArray[np.float64]

_NEWTON_STEPS = 200


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Time from new to failure of one device, made by `lifetime`. Scalars or arrays; times and ages in seconds."""

    kind: str  # exponential | weibull | lognormal | gamma
    mean: float
    shape: float  # Weibull k, gamma k, lognormal sigma; 1 for exponential
    scale: float

    def cumulative_hazard(self, t: ArrayLike) -> Floats:
        """H(t) = -log P(life > t), exact while P(life > t) is above 1e-300."""
        return _FAMILIES[self.kind].hazard(np.asarray(t, dtype=float) / self.scale, self.shape)

    def cdf(self, t: ArrayLike) -> Floats:
        """P(life <= t), to full relative precision at small t too."""
        return -np.expm1(-self.cumulative_hazard(t))

    def sf(self, t: ArrayLike) -> Floats:
        """P(life > t)."""
        return np.exp(-self.cumulative_hazard(t))

    def quantile(self, u: ArrayLike) -> Floats:
        """The life that a share `u` stays below: a draw, for uniform `u`."""
        return self._at_hazard(-np.log1p(-np.asarray(u, dtype=float)))

    def residual_quantile(self, u: ArrayLike, age: ArrayLike) -> Floats:
        """The further life of a device of this age that a share `u` stays below."""
        hazard = self.cumulative_hazard(age) - np.log1p(-np.asarray(u, dtype=float))
        # The life found at the age's own hazard can round to just below the age.
        further: Floats = np.maximum(self._at_hazard(hazard) - np.asarray(age, dtype=float), 0.0)
        return further

    def equilibrium_cdf(self, t: ArrayLike) -> Floats:
        """P(residual life <= t) of a device met at a random time: the integral of sf from 0 to t, over the mean."""
        return _FAMILIES[self.kind].equilibrium(np.asarray(t, dtype=float) / self.scale, self.shape)

    def equilibrium_quantile(self, u: ArrayLike) -> Floats:
        """Inverse of `equilibrium_cdf`. With `u` below the cdf of a horizon, every draw lies within the horizon."""
        return self.scale * _FAMILIES[self.kind].equilibrium_quantile(np.asarray(u, dtype=float), self.shape)

    def _at_hazard(self, hazard: Floats) -> Floats:
        return self.scale * _FAMILIES[self.kind].at_hazard(hazard, self.shape)


def lifetime(kind: str, mean: float, shape: float | None = None) -> Lifetime:
    """The law of this kind with this mean in seconds.

    `shape` is Weibull's or gamma's k or lognormal's sigma (of the logarithm); an exponential has none.
    Raises ValueRefused.
    """
    family = _FAMILIES.get(kind)
    if family is None:
        raise ValueRefused(f"unknown lifetime law ({kind!r})", "one of " + ", ".join(_FAMILIES))
    if not (math.isfinite(mean) and mean > 0):
        raise ValueRefused(f"mean of a lifetime law is not a positive time ({mean})")
    if kind == "exponential":
        if shape is not None:
            raise ValueRefused(f"an exponential law has no shape ({shape})", todo="leave it out, or take weibull")
        return Lifetime(kind, mean, 1.0, mean)
    if shape is None or not (math.isfinite(shape) and shape > 0):
        raise ValueRefused(f"shape of a {kind} law is not a positive number ({shape})")
    try:
        scale = mean / family.unit_mean(shape)
    except OverflowError:
        scale = 0.0
    if not (math.isfinite(scale) and scale > 0):
        raise ValueRefused(f"a {kind} law of shape {shape} is too wide to have a usable mean")
    return Lifetime(kind, mean, shape, scale)


@dataclass(frozen=True, slots=True)
class _Family:
    """One law at scale 1, as functions of (time, shape)."""

    unit_mean: Callable[[float], float]
    hazard: Callable[[Floats, float], Floats]
    at_hazard: Callable[[Floats, float], Floats]
    equilibrium: Callable[[Floats, float], Floats]
    equilibrium_quantile: Callable[[Floats, float], Floats]


def _special() -> Any:
    # Imported when first needed: it costs 0.2 s, and a study of exponential laws never asks.
    from scipy import special

    return special


def _exponential_equilibrium(x: Floats, _: float) -> Floats:
    return -np.expm1(-x)


def _exponential_equilibrium_quantile(u: Floats, _: float) -> Floats:
    return -np.log1p(-u)


def _weibull_equilibrium(x: Floats, k: float) -> Floats:
    result: Floats = _special().gammainc(1 / k, x**k)
    return result


def _weibull_equilibrium_quantile(u: Floats, k: float) -> Floats:
    result: Floats = _special().gammaincinv(1 / k, u) ** (1 / k)
    return result


def _gamma_hazard(x: Floats, k: float) -> Floats:
    special = _special()
    below: Floats = special.gammainc(k, x)
    with np.errstate(divide="ignore"):
        return np.where(below < 0.5, -np.log1p(-below), -np.log(special.gammaincc(k, x)))


def _gamma_at_hazard(hazard: Floats, k: float) -> Floats:
    special = _special()
    early: Floats = special.gammaincinv(k, -np.expm1(-hazard))
    late: Floats = special.gammainccinv(k, np.exp(-hazard))
    return np.where(hazard < math.log(2), early, late)


def _gamma_equilibrium(x: Floats, k: float) -> Floats:
    special = _special()
    result: Floats = x * special.gammaincc(k, x) / k + special.gammainc(k + 1, x)
    return result


def _gamma_equilibrium_quantile(u: Floats, k: float) -> Floats:
    return _invert_equilibrium(u, k, "gamma")


def _lognormal_hazard(x: Floats, sigma: float) -> Floats:
    with np.errstate(divide="ignore"):
        result: Floats = -_special().log_ndtr(-np.log(x) / sigma)
    return result


def _lognormal_at_hazard(hazard: Floats, sigma: float) -> Floats:
    result: Floats = np.exp(-sigma * _special().ndtri_exp(-hazard))
    return result


def _lognormal_equilibrium(x: Floats, sigma: float) -> Floats:
    special = _special()
    with np.errstate(divide="ignore"):
        z = np.log(x) / sigma
    result: Floats = x * special.ndtr(-z) / math.exp(sigma * sigma / 2) + special.ndtr(z - sigma)
    return result


def _lognormal_equilibrium_quantile(u: Floats, sigma: float) -> Floats:
    return _invert_equilibrium(u, sigma, "lognormal")


def _invert_equilibrium(u: Floats, shape: float, kind: str) -> Floats:
    """Newton from the left. The cdf is concave with slope sf / mean, so each step falls short of the root and the
    first that does not move right has reached the last digit."""
    family = _FAMILIES[kind]
    mean = family.unit_mean(shape)
    x = u * mean  # no later than the root: the cdf is at most x / mean
    for _ in range(_NEWTON_STEPS):
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (u - family.equilibrium(x, shape)) * mean / np.exp(-family.hazard(x, shape))
        moves = step > 1e-15 * x
        if not moves.any():
            break
        x = np.where(moves, x + step, x)
    return np.where(u < 1, x, np.inf)


_FAMILIES = {
    "exponential": _Family(
        unit_mean=lambda _: 1.0,
        hazard=lambda x, _: x,
        at_hazard=lambda h, _: h,
        equilibrium=_exponential_equilibrium,
        equilibrium_quantile=_exponential_equilibrium_quantile,
    ),
    "weibull": _Family(
        unit_mean=lambda k: math.gamma(1 + 1 / k),
        hazard=lambda x, k: x**k,
        at_hazard=lambda h, k: h ** (1 / k),
        equilibrium=_weibull_equilibrium,
        equilibrium_quantile=_weibull_equilibrium_quantile,
    ),
    "lognormal": _Family(
        unit_mean=lambda sigma: math.exp(sigma * sigma / 2),
        hazard=_lognormal_hazard,
        at_hazard=_lognormal_at_hazard,
        equilibrium=_lognormal_equilibrium,
        equilibrium_quantile=_lognormal_equilibrium_quantile,
    ),
    "gamma": _Family(
        unit_mean=lambda k: k,
        hazard=_gamma_hazard,
        at_hazard=_gamma_at_hazard,
        equilibrium=_gamma_equilibrium,
        equilibrium_quantile=_gamma_equilibrium_quantile,
    ),
}


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time drawn from one uniform. Made by `duration`."""

    kind: str  # fixed | exponential | lognormal
    mean: float
    sigma: float  # of the logarithm; 0 unless lognormal

    def quantile(self, u: float) -> float:
        """The seconds that a share `u` in [0, 1) of the draws stays below."""
        return quantile(self)(u)

    def longer(self, seconds: float) -> float:
        """P(duration > seconds)."""
        if self.mean == 0.0 or math.isinf(seconds):
            return 0.0
        if self.kind == "exponential":
            return math.exp(-seconds / self.mean)
        if self.kind == "lognormal":
            return (
                1.0
                if seconds <= 0
                else 1.0 - NormalDist().cdf(math.log(seconds / self.mean) / self.sigma + self.sigma / 2)
            )
        return float(self.mean > seconds)


def duration(kind: str, mean: float, sigma: float | None = None) -> Duration:
    """The duration of this kind with this mean in seconds; a lognormal needs `sigma`, of the logarithm.

    Raises ValueRefused.
    """
    kinds = ("fixed", "exponential", "lognormal")
    if kind not in kinds:
        raise ValueRefused(f"unknown duration law ({kind!r})", "one of " + ", ".join(kinds))
    if not (math.isfinite(mean) and mean >= 0):
        raise ValueRefused(f"mean of a duration is not a time ({mean})")
    if kind != "lognormal":
        if sigma is not None:
            raise ValueRefused(f"a {kind} duration has no sigma ({sigma})", todo="leave it out, or take lognormal")
        return Duration(kind, mean, 0.0)
    if sigma is None or not 0 < sigma <= 10:
        raise ValueRefused(f"sigma of a lognormal duration cannot be used ({sigma})", "more than 0, at most 10")
    return Duration(kind, mean, sigma)


def quantile(law: Duration) -> Callable[[float], float]:
    """`Duration.quantile` of one law as a function, with all worked out that does not depend on the uniform."""
    mean, sigma = law.mean, law.sigma
    if law.kind == "exponential":
        return lambda u: -mean * math.log1p(-u)
    if law.kind == "lognormal":
        normal = NormalDist().inv_cdf
        return lambda u: mean * math.exp(sigma * (normal(u) - sigma / 2)) if u > 0 else 0.0
    return lambda _: mean
