"""Maximum likelihood of exponential, Weibull, lognormal and gamma laws, with right censoring, compared by AIC.

Location is 0 throughout. A censored time adds the logarithm of the chance to live beyond it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

KINDS = ("exponential", "weibull", "lognormal", "gamma")
FEWEST = 5  # observed times below which no two-parameter law is fitted


@dataclass(frozen=True, slots=True)
class Fit:
    """One fitted law. `shape` is Weibull's or gamma's k or lognormal's sigma; `mean` in the unit of the data."""

    kind: str
    shape: float
    scale: float  # Weibull and gamma scale; lognormal's median; the exponential's mean
    loglik: float
    observed: int
    censored: int

    @property
    def aic(self) -> float:
        """Akaike's criterion: 2 x parameters - 2 x log-likelihood."""
        return 2.0 * (1 if self.kind == "exponential" else 2) - 2.0 * self.loglik

    @property
    def mean(self) -> float:
        """Mean of the law; infinite where it overflows."""
        try:
            factor = {
                "exponential": lambda: 1.0,
                "weibull": lambda: math.gamma(1 + 1 / self.shape),
                "gamma": lambda: self.shape,
                "lognormal": lambda: math.exp(self.shape**2 / 2),
            }[self.kind]()
        except OverflowError:
            return math.inf
        return self.scale * factor


def fit_all(observed: ArrayLike, censored: ArrayLike = ()) -> tuple[Fit, ...]:
    """Every law that can be fitted, best AIC first; none below two observed times.

    Times must be positive; zeros have no place in a law of location 0 and are the caller's to count apart.
    """
    x, c = _positive(observed), _positive(censored)
    if len(x) < 2:
        return ()
    fits = [fit_exponential(x, c)]
    if varied(x):
        fits += [fit_weibull(x, c), fit_lognormal(x, c), fit_gamma(x, c)]
    return tuple(sorted(fits, key=lambda fit: fit.aic))


def varied(times: Floats) -> bool:
    """Whether there are times enough, and unlike enough, for a law of two parameters."""
    return len(times) >= FEWEST and float(times.max() / times.min()) > 1.001


def fit_exponential(observed: ArrayLike, censored: ArrayLike = ()) -> Fit:
    """Mean = total time / failures."""
    x, c = _positive(observed), _positive(censored)
    mean = float((x.sum() + c.sum()) / len(x))
    return Fit("exponential", 1.0, mean, -len(x) * (math.log(mean) + 1.0), len(x), len(c))


def fit_weibull(observed: ArrayLike, censored: ArrayLike = (), weights: Floats | None = None) -> Fit:
    """Weibull by its profile equation (Cohen 1965); `weights` of the observed times for a mixture."""
    x, c = _positive(observed), _positive(censored)
    w = np.ones(len(x)) if weights is None else weights
    both, all_w = np.concatenate([x, c]), np.concatenate([w, np.ones(len(c))])
    logs = np.log(both)
    top = float(logs.max())
    logs = logs - top  # so that no power overflows
    mean_log = float((w * logs[: len(x)]).sum() / w.sum())

    def equation(k: float) -> float:
        powers = all_w * np.exp(k * logs)
        return float((powers * logs).sum() / powers.sum()) - 1.0 / k - mean_log

    shape = float(_optimize().brentq(equation, 1e-3, 1e6, xtol=1e-12))
    mass = float((all_w * np.exp(shape * logs)).sum())
    scale = math.exp(top + math.log(mass / w.sum()) / shape)
    return Fit("weibull", shape, scale, _weibull_loglik(shape, scale, x, w, both, all_w), len(x), len(c))


def _weibull_loglik(shape: float, scale: float, x: Floats, w: Floats, both: Floats, all_w: Floats) -> float:
    z = np.log(x / scale)
    hazard = float((all_w * np.exp(shape * np.log(both / scale))).sum())
    return float((w * (math.log(shape) - math.log(scale) + (shape - 1) * z)).sum()) - hazard


def weibull_interval(observed: ArrayLike, censored: ArrayLike = (), *, level: float = 0.95) -> tuple[float, float]:
    """Interval of the Weibull shape by profile likelihood: where twice the log-likelihood lies within the chi-squared
    quantile of one degree of freedom of its largest value (Meeker and Escobar 1998, section 8.3)."""
    from scipy.stats import chi2

    x, c = _positive(observed), _positive(censored)
    best = fit_weibull(x, c)
    both = np.concatenate([x, c])
    ones, all_ones = np.ones(len(x)), np.ones(len(both))
    drop = float(chi2.ppf(level, 1)) / 2.0
    logs = np.log(both)
    top = float(logs.max())

    def below(log_shape: float) -> float:
        k = math.exp(log_shape)
        scale = math.exp(top + math.log(float(np.exp(k * (logs - top)).sum()) / len(x)) / k)
        return best.loglik - _weibull_loglik(k, scale, x, ones, both, all_ones) - drop

    centre, step = math.log(best.shape), 4.0 / math.sqrt(len(x))
    low, high = centre - step, centre + step
    while below(low) < 0:
        low -= step
    while below(high) < 0:
        high += step
    root = _optimize().brentq
    return math.exp(root(below, low, centre)), math.exp(root(below, centre, high))


def fit_lognormal(observed: ArrayLike, censored: ArrayLike = ()) -> Fit:
    """Mean and deviation of the logarithms; with censoring by a search from there."""
    x, c = np.log(_positive(observed)), np.log(_positive(censored))
    mu, sigma = float(x.mean()), float(x.std())

    def loglik(mu: float, sigma: float) -> float:
        seen = -math.log(sigma * math.sqrt(2 * math.pi)) - ((x - mu) / sigma) ** 2 / 2 - x
        lived = _special().log_ndtr((mu - c) / sigma) if len(c) else np.zeros(0)
        return float(seen.sum() + lived.sum())

    if len(c):
        start = [mu + float(np.log1p(len(c) / len(x))) * max(sigma, 0.1), math.log(max(sigma, 0.1))]
        mu, log_sigma = _search(lambda p: -loglik(p[0], math.exp(p[1])), start)
        sigma = math.exp(log_sigma)
    return Fit("lognormal", sigma, math.exp(mu), loglik(mu, sigma), len(x), len(c))


def fit_gamma(observed: ArrayLike, censored: ArrayLike = ()) -> Fit:
    """Gamma: without censoring the root of log k - digamma(k) = log mean - mean log; with it a search from there."""
    x, c = _positive(observed), _positive(censored)
    special = _special()
    spread = math.log(float(x.mean())) - float(np.log(x).mean())
    shape = float(_optimize().brentq(lambda k: math.log(k) - special.digamma(k) - spread, 1e-4, 1e8))
    scale = float(x.mean()) / shape

    def loglik(shape: float, scale: float) -> float:
        seen = (shape - 1) * np.log(x) - x / scale - special.gammaln(shape) - shape * math.log(scale)
        if not len(c):
            return float(seen.sum())
        with np.errstate(divide="ignore"):
            return float(seen.sum() + np.log(special.gammaincc(shape, c / scale)).sum())

    if len(c):
        total = (float(x.sum()) + float(c.sum())) / len(x)
        start = [math.log(shape), math.log(total / shape)]
        log_shape, log_scale = _search(lambda p: -loglik(math.exp(p[0]), math.exp(p[1])), start)
        shape, scale = math.exp(log_shape), math.exp(log_scale)
    return Fit("gamma", shape, scale, loglik(shape, scale), len(x), len(c))


def _search(cost: Any, start: list[float]) -> tuple[float, float]:
    found = _optimize().minimize(
        cost, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-9, "maxiter": 4000}
    )
    return float(found.x[0]), float(found.x[1])


def _positive(times: ArrayLike) -> Floats:
    values = np.asarray(times, dtype=float)
    return values[values > 0]


def _optimize() -> Any:
    from scipy import optimize

    return optimize


def _special() -> Any:
    from scipy import special

    return special
