"""Fits against scipy, hand sums and the score equations, with censoring; faults that they must notice."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from gemsim.failures.logs import laws
from gemsim.failures.logs.statistics import poisson_interval
from tests.faults import must_reject, replaced

HAND = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.3, 5.8, 9.7, 0.4])
CENSORED = np.array([10.0, 10.0, 6.0])


def test_an_exponential_is_total_time_over_failures() -> None:
    fit = laws.fit_exponential(HAND, CENSORED)
    assert fit.mean == pytest.approx((HAND.sum() + 26.0) / 10)
    assert fit.loglik == pytest.approx(-10 * math.log(fit.mean) - (HAND.sum() + 26.0) / fit.mean)
    assert fit.aic == pytest.approx(2 - 2 * fit.loglik)


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        ("weibull", lambda f: stats.weibull_min(f.shape, scale=f.scale)),
        ("gamma", lambda f: stats.gamma(f.shape, scale=f.scale)),
        ("lognormal", lambda f: stats.lognorm(f.shape, scale=f.scale)),
    ],
)
@pytest.mark.parametrize("censored", [np.array([]), CENSORED], ids=["complete", "censored"])
def test_a_fit_has_the_likelihood_of_scipy_and_no_neighbour_has_more(
    kind: str, law: Callable[[laws.Fit], stats.rv_continuous], censored: np.ndarray
) -> None:
    fit = next(one for one in laws.fit_all(HAND, censored) if one.kind == kind)

    def loglik(shape: float, scale: float) -> float:
        moved = law(laws.Fit(kind, shape, scale, 0.0, 0, 0))
        return float(moved.logpdf(HAND).sum() + moved.logsf(censored).sum())

    assert fit.loglik == pytest.approx(loglik(fit.shape, fit.scale), abs=1e-8)
    assert fit.mean == pytest.approx(law(fit).mean(), rel=1e-9)
    for shape, scale in ((1.01, 1.0), (0.99, 1.0), (1.0, 1.01), (1.0, 0.99)):
        assert loglik(fit.shape * shape, fit.scale * scale) < fit.loglik


def test_scipy_finds_the_same_weibull() -> None:
    shape, _, scale = stats.weibull_min.fit(HAND, floc=0)
    fit = laws.fit_weibull(HAND)
    assert fit.shape == pytest.approx(shape, rel=1e-4)
    assert fit.scale == pytest.approx(scale, rel=1e-4)


def test_the_best_law_comes_first_and_few_times_give_few_laws() -> None:
    fits = laws.fit_all(HAND)
    assert [fit.aic for fit in fits] == sorted(fit.aic for fit in fits)
    assert {fit.kind for fit in fits} == set(laws.KINDS)
    assert [fit.kind for fit in laws.fit_all([1.0, 2.0, 3.0])] == ["exponential"]
    assert laws.fit_all([1.0]) == ()
    assert [fit.kind for fit in laws.fit_all([2.0] * 9)] == ["exponential"]


def test_the_profile_interval_drops_half_a_chi_squared_quantile() -> None:
    low, high = laws.weibull_interval(HAND, CENSORED)
    best = laws.fit_weibull(HAND, CENSORED)
    assert low < best.shape < high
    both = np.concatenate([HAND, CENSORED])
    for shape in (low, high):
        scale = ((both**shape).sum() / len(HAND)) ** (1 / shape)
        law = stats.weibull_min(shape, scale=scale)
        profile = law.logpdf(HAND).sum() + law.logsf(CENSORED).sum()
        assert best.loglik - profile == pytest.approx(stats.chi2.ppf(0.95, 1) / 2, rel=1e-6)


@pytest.mark.parametrize(("events", "low", "high"), [(0, 0.0, 3.6889), (1, 0.0253, 5.5716), (10, 4.7954, 18.3904)])
def test_poisson_limits_are_the_printed_ones(events: int, low: float, high: float) -> None:
    # Garwood's table, as reprinted in Johnson, Kemp and Kotz, Univariate Discrete Distributions, section 4.7.3.
    assert list(poisson_interval(events)) == pytest.approx([low, high], abs=5e-5)


def test_poisson_limits_have_the_tails_they_claim() -> None:
    low, high = poisson_interval(7)
    assert stats.poisson.sf(6, low) == pytest.approx(0.025)
    assert stats.poisson.cdf(7, high) == pytest.approx(0.025)


def check_censoring() -> None:
    """Lives of Weibull shape 1.5 cut off where four of five still live: the shape is found within 20 %."""
    rng = np.random.default_rng(11)
    born = stats.weibull_min(1.5, scale=100.0).rvs(20_000, random_state=rng)
    end = 35.0
    fit = laws.fit_weibull(born[born <= end], np.full(int((born > end).sum()), end))
    assert abs(fit.shape / 1.5 - 1) < 0.2
    assert abs(fit.scale / 100.0 - 1) < 0.2


def test_censored_lives_give_the_law_they_were_drawn_from() -> None:
    check_censoring()


def test_a_fit_that_ignores_censoring_is_noticed() -> None:
    must_reject(check_censoring, replaced("gemsim.failures.logs.laws:fit_weibull", lambda fit: lambda x, c: fit(x)))
