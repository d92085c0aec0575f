"""Lifetime and duration laws against mpmath, their own inverses and exact tests of draws."""

from __future__ import annotations

import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gemsim.errors import ValueRefused
from gemsim.failures.laws import Lifetime, duration, lifetime
from tests import statcheck

MEAN = 4.0e6
LAWS = [
    lifetime("exponential", MEAN),
    lifetime("weibull", MEAN, 0.7),
    lifetime("weibull", MEAN, 1.5),
    lifetime("weibull", MEAN, 0.3),
    lifetime("lognormal", MEAN, 0.5),
    lifetime("lognormal", MEAN, 1.5),
    lifetime("gamma", MEAN, 0.4),
    lifetime("gamma", MEAN, 3.0),
]
names = pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.kind}-{law.shape}")


def exact_sf(law: Lifetime, t: mpmath.mpf) -> mpmath.mpf:
    """The survival function from its definition by mean and shape, in mpmath."""
    mean, shape = mpmath.mpf(law.mean), mpmath.mpf(law.shape)
    if law.kind == "exponential":
        return mpmath.exp(-t / mean)
    if law.kind == "weibull":
        return mpmath.exp(-((t * mpmath.gamma(1 + 1 / shape) / mean) ** shape))
    if law.kind == "gamma":
        return mpmath.gammainc(shape, t * shape / mean, regularized=True)
    median = mean * mpmath.exp(-(shape**2) / 2)
    return mpmath.erfc(mpmath.log(t / median) / shape / mpmath.sqrt(2)) / 2


@names
def test_survival_is_that_of_the_mean_and_shape(law: Lifetime) -> None:
    with mpmath.workdps(40):
        for share in (1e-6, 1e-3, 0.3, 1.0, 4.0):
            t = share * MEAN
            expected = exact_sf(law, mpmath.mpf(t))
            assert float(law.sf(t)) == pytest.approx(float(expected), rel=1e-12)
            assert float(law.cdf(t)) == pytest.approx(float(1 - expected), rel=1e-11)
            assert float(law.cumulative_hazard(t)) == pytest.approx(float(-mpmath.log(expected)), rel=1e-11)


@names
def test_equilibrium_is_the_integral_of_survival_over_the_mean(law: Lifetime) -> None:
    for share in (1e-3, 0.05, 1.0, 3.0):
        end = share * MEAN
        pieces = [end * x for x in (0, 1e-6, 1e-3, 0.1, 1)]
        expected = mpmath.quad(lambda t: exact_sf(law, t) if t > 0 else mpmath.mpf(1), pieces) / law.mean
        assert float(law.equilibrium_cdf(end)) == pytest.approx(float(expected), rel=1e-7)


@names
def test_the_inverses_invert(law: Lifetime) -> None:
    u = np.concatenate([10.0 ** -np.arange(1, 10), np.linspace(0.05, 0.95, 19), 1 - 10.0 ** -np.arange(2, 8)])
    np.testing.assert_allclose(law.cdf(law.quantile(u)), u, rtol=1e-11)
    np.testing.assert_allclose(law.equilibrium_cdf(law.equilibrium_quantile(u)), u, rtol=1e-10)
    assert float(law.quantile(0.0)) == 0.0
    assert float(law.equilibrium_quantile(0.0)) == 0.0


@names
def test_stationary_draws_of_a_horizon_stay_within_it(law: Lifetime) -> None:
    horizon = 0.01 * MEAN
    share = law.equilibrium_cdf(horizon)
    times = law.equilibrium_quantile(share * np.linspace(0, 1, 101))
    assert np.all(np.diff(times) > 0)
    assert times[-1] == pytest.approx(horizon, rel=1e-9)


@names
def test_residual_life_is_life_given_the_age(law: Lifetime) -> None:
    u = np.linspace(0.01, 0.99, 25)
    for age in (0.0, 1e-3 * MEAN, MEAN, 5 * MEAN):
        further = law.residual_quantile(u, age)
        np.testing.assert_allclose(law.sf(age + further) / law.sf(age), 1 - u, rtol=1e-9)
    assert np.all(law.residual_quantile(np.zeros(3), np.array([1.0, MEAN, 3 * MEAN])) >= 0)


@names
def test_the_mean_is_the_mean_of_the_draws(law: Lifetime) -> None:
    # The whole area under sf, in pieces of equal length on a log scale: no draws, no tolerance for chance.
    edges = MEAN * np.logspace(-14, 7, 20_001)
    middles = np.sqrt(edges[1:] * edges[:-1])
    area = edges[0] + float(np.sum(law.sf(middles) * np.diff(edges)))
    assert area == pytest.approx(MEAN, rel=1e-5)
    assert float(law.equilibrium_cdf(1e12 * MEAN)) == pytest.approx(1.0, rel=1e-12)


def check_long_run_residuals(law: Lifetime) -> None:
    """In a fleet renewed since long ago, the residual lives at one moment follow the equilibrium law."""
    rng = np.random.default_rng(20260131)
    left = np.full(15_000, 40 * law.mean)  # until the moment of looking
    while (waiting := left > 0).any():
        left[waiting] -= law.quantile(rng.random(int(waiting.sum())))
    statcheck.ks_uniform(law.equilibrium_cdf(-left))


def check_residuals_given_age(law: Lifetime) -> None:
    """The further life of the devices that have outlived an age follows the residual law of that age."""
    rng = np.random.default_rng(20260201)
    lives, age = law.quantile(rng.random(60_000)), law.mean
    statcheck.same_law(lives[lives > age] - age, law.residual_quantile(rng.random(30_000), age))


# Wider laws take far longer than 40 mean lives to forget that the fleet began as new.
AGEING = [law for law in LAWS if law.kind != "exponential" and law.sf(40 * MEAN) < 1e-6]
ageing = pytest.mark.parametrize("law", AGEING, ids=lambda law: f"{law.kind}-{law.shape}")


@ageing
def test_equilibrium_is_what_renewal_leads_to(law: Lifetime) -> None:
    check_long_run_residuals(law)


@ageing
def test_residuals_are_those_of_the_survivors(law: Lifetime) -> None:
    check_residuals_given_age(law)


@given(
    kind=st.sampled_from(["weibull", "lognormal", "gamma"]),
    shape=st.floats(0.2, 4.0),
    mean=st.floats(1.0, 1e9),
    u=st.floats(1e-9, 1 - 1e-6),
)
def test_every_shape_inverts_and_scales(kind: str, shape: float, mean: float, u: float) -> None:
    law, unit = lifetime(kind, mean, shape), lifetime(kind, 1.0, shape)
    assert float(law.equilibrium_cdf(law.equilibrium_quantile(u))) == pytest.approx(u, rel=1e-8)
    assert float(law.quantile(u)) == pytest.approx(mean * float(unit.quantile(u)), rel=1e-12)


def test_shape_one_is_exponential() -> None:
    t = np.array([1e-3, 0.1, 1.0, 5.0]) * MEAN
    for kind in ("weibull", "gamma"):
        law = lifetime(kind, MEAN, 1.0)
        np.testing.assert_allclose(law.sf(t), np.exp(-t / MEAN), rtol=1e-12)
        np.testing.assert_allclose(law.equilibrium_cdf(t), -np.expm1(-t / MEAN), rtol=1e-12)


def test_a_law_is_a_value() -> None:
    law = lifetime("weibull", MEAN, 0.7)
    assert pickle.loads(pickle.dumps(law)) == law
    assert len({law, lifetime("weibull", MEAN, 0.7)}) == 1


@pytest.mark.parametrize(
    ("kind", "mean", "shape", "words"),
    [
        ("weibul", 1.0, 1.0, "unknown lifetime law"),
        ("exponential", 0.0, None, "positive time"),
        ("exponential", math.inf, None, "positive time"),
        ("exponential", 1.0, 2.0, "has no shape"),
        ("weibull", 1.0, None, "positive number"),
        ("gamma", 1.0, -1.0, "positive number"),
        ("weibull", 1.0, 1e-4, "too wide"),
        ("lognormal", 1.0, 60.0, "too wide"),
    ],
)
def test_a_law_that_cannot_be_is_refused(kind: str, mean: float, shape: float | None, words: str) -> None:
    with pytest.raises(ValueRefused, match=words):
        lifetime(kind, mean, shape)


def test_durations_have_their_mean_and_quantiles() -> None:
    fixed, memoryless = duration("fixed", 10.0), duration("exponential", 10.0)
    wide = duration("lognormal", 7920.0, 2.17)
    assert fixed.quantile(0.0) == fixed.quantile(0.99) == 10.0
    assert memoryless.quantile(0.5) == pytest.approx(10 * math.log(2))
    assert wide.quantile(0.5) == pytest.approx(7920 * math.exp(-(2.17**2) / 2))
    assert wide.quantile(0.9) == pytest.approx(stats.lognorm(2.17, scale=wide.quantile(0.5)).ppf(0.9), rel=1e-9)
    assert wide.quantile(0.0) == memoryless.quantile(0.0) == 0.0
    # Given the median and sigma the mean is exact: integrate the quantile.
    mean = mpmath.quad(lambda z: wide.quantile(0.5) * mpmath.exp(2.17 * z) * mpmath.npdf(z), [-9, 0, 4, 12])
    assert float(mean) == pytest.approx(wide.mean, rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "mean", "sigma"),
    [
        ("fix", 1.0, None),
        ("fixed", -1.0, None),
        ("fixed", 1.0, 1.0),
        ("lognormal", 1.0, None),
        ("lognormal", 1.0, 99.0),
    ],
)
def test_a_duration_that_cannot_be_is_refused(kind: str, mean: float, sigma: float | None) -> None:
    with pytest.raises(ValueRefused):
        duration(kind, mean, sigma)
