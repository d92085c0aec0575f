"""Intervals cover what they say: exactly computed where they can be, by trials with a planted fault elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm, poisson

from gemsim.results import estimate
from gemsim.results.estimate import Floats, Interval
from tests import statcheck

TRIALS = 20_000


def binomial_coverage(interval: Callable[[int, int], Interval], share: float, trials: int) -> float:
    """Exact chance that the interval of a binomial count holds the true share."""
    inside = [k for k in range(trials + 1) if (i := interval(k, trials)).lo <= share <= i.hi]
    return float(binom.pmf(inside, trials, share).sum())


def poisson_coverage(interval: Callable[[int, float], Interval], mean: float) -> float:
    """Exact chance that the interval of a Poisson count holds the true mean."""
    inside = [k for k in range(int(mean + 12 * math.sqrt(mean) + 30)) if (i := interval(k, 1.0)).lo <= mean <= i.hi]
    return float(poisson.pmf(inside, mean).sum())


def wald(events: int, trials: int) -> Interval:
    """The textbook interval that fails for rare events."""
    share = events / trials
    half = 1.96 * math.sqrt(share * (1 - share) / trials)
    return Interval(share, share - half, share + half)


@pytest.mark.parametrize("trials", [1, 8, 64, 400])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.5, 0.95, 1.0])
def test_binomial_intervals_cover_at_least_what_they_say(trials: int, share: float) -> None:
    assert binomial_coverage(estimate.binomial_interval, share, trials) >= 0.95


def test_the_textbook_interval_would_not_have_passed() -> None:
    assert binomial_coverage(wald, 0.01, 64) < 0.5


@pytest.mark.parametrize("mean", [0.01, 0.5, 2.9, 3.5, 10.0, 29.0])
def test_poisson_intervals_cover_at_least_what_they_say(mean: float) -> None:
    assert poisson_coverage(estimate.poisson_interval, mean) >= 0.95


def test_no_event_still_gives_an_upper_bound() -> None:
    none = estimate.count_interval(np.zeros(16))
    assert (none.value, none.lo) == (0.0, 0.0)
    assert none.hi == pytest.approx(-math.log(0.025) / 16)
    share = estimate.share_interval(np.zeros(16), np.full(16, 25.0))
    assert share.hi == pytest.approx(1.0 - 0.025 ** (1 / 400))


def test_exact_intervals_match_published_tables() -> None:
    ten = estimate.poisson_interval(10, 1.0)  # Garwood (1936): 4.795 to 18.39
    assert list(ten) == pytest.approx([10.0, 4.795, 18.390], abs=5e-4)
    two = estimate.binomial_interval(2, 10)  # Clopper and Pearson (1934): 0.0252 to 0.5561
    assert list(two) == pytest.approx([0.2, 0.0252, 0.5561], abs=5e-5)


def covered(rng: np.random.Generator, n: int, quantile: float | None = None) -> int:
    """How many of TRIALS intervals for the mean of `n` standard normals hold zero."""
    hits = 0
    for values in rng.standard_normal((TRIALS, n)):
        interval = estimate.mean_interval(values)
        half = interval.half_width if quantile is None else quantile * estimate.standard_error(values)
        hits += abs(interval.value) <= half
    return hits


@pytest.mark.parametrize("n", [2, 5])
def test_mean_intervals_cover_what_they_say(n: int, rng: np.random.Generator) -> None:
    statcheck.binomial_count(covered(rng, n), TRIALS, 0.95, detect=0.02)


def test_normal_quantiles_for_five_replications_are_found_out(rng: np.random.Generator) -> None:
    with statcheck.unbooked(), pytest.raises(statcheck.Rejected):
        statcheck.binomial_count(covered(rng, 5, float(norm.isf(0.025))), TRIALS, 0.95, detect=0.02)


def test_one_value_shows_no_spread() -> None:
    alone = estimate.mean_interval(np.array([0.9]))
    assert alone.value == 0.9
    assert math.isnan(alone.lo)
    assert math.isnan(alone.hi)
    assert math.isnan(estimate.mean_interval(np.array([])).value)


def ratio_hits(rng: np.random.Generator, interval: Callable[[Floats, Floats], Interval]) -> int:
    """How many of 4,000 intervals hold the true cost per failure (100 s, times uneven; some runs have few failures)."""
    hits = 0
    for _ in range(4_000):
        failures = rng.poisson(6.0, 30).astype(float)
        cost = 100.0 * rng.gamma(np.maximum(failures, 1e-9))
        found = interval(cost, failures)
        hits += found.lo <= 100.0 <= found.hi
    return hits


def mean_of_ratios(cost: Floats, failures: Floats) -> Interval:
    """A tempting wrong estimator: it weighs replications, not failures, and counts a run without failures as zero."""
    return estimate.mean_interval(cost / np.maximum(failures, 1.0))


def test_ratio_intervals_cover_nearly_what_they_say(rng: np.random.Generator) -> None:
    least = 0.93  # the jackknife is asymptotic: at 30 replications some 0.945
    assert ratio_hits(rng, estimate.ratio_interval) >= binom.ppf(statcheck.ALARM, 4_000, least)


def test_an_interval_of_half_the_length_is_found_out(rng: np.random.Generator) -> None:
    def short(cost: Floats, failures: Floats) -> Interval:
        found = estimate.ratio_interval(cost, failures)
        return Interval(found.value, found.value - found.half_width / 2, found.value + found.half_width / 2)

    assert ratio_hits(rng, short) < binom.ppf(statcheck.ALARM, 4_000, 0.93)


def test_a_ratio_weighs_failures_not_replications() -> None:
    cost, failures = np.array([100.0, 900.0]), np.array([1.0, 3.0])
    assert estimate.ratio_interval(cost, failures).value == 250.0
    assert mean_of_ratios(cost, failures).value == 200.0


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12), st.floats(0.5, 50.0))
def test_with_equal_denominators_the_jackknife_is_the_t_interval(values: list[float], each: float) -> None:
    sample = np.array(values)
    ratio = estimate.ratio_interval(sample, np.full(len(sample), each))
    mean = estimate.mean_interval(sample / each)
    assert ratio == pytest.approx(mean, rel=1e-9, abs=1e-6)


def test_a_ratio_without_failures_is_unknown() -> None:
    assert math.isnan(estimate.ratio_interval(np.zeros(4), np.zeros(4)).value)
    one_run_has_all = estimate.ratio_interval(np.array([5.0, 0.0]), np.array([2.0, 0.0]))
    assert one_run_has_all.value == 2.5
    assert math.isnan(one_run_has_all.lo)


def test_pairing_takes_out_what_both_designs_share(rng: np.random.Generator) -> None:
    shared = rng.normal(0.9, 0.01, 20)
    better = shared + 0.001 + rng.normal(0.0, 1e-5, 20)
    paired = estimate.paired_interval(better, shared)
    assert paired.value == pytest.approx(0.001, abs=2e-5)
    assert paired.lo > 0.0
    assert paired.half_width < estimate.mean_interval(shared).half_width / 100


def test_many_events_let_the_spread_speak_and_few_do_not() -> None:
    clustered = np.array([0.0, 40.0] * 10)  # failures of one run hang together
    trials = np.full(20, 100.0)
    spread, pure = estimate.share_interval(clustered, trials), estimate.binomial_interval(400, 2000)
    assert spread.half_width > 3 * pure.half_width
    few = np.array([0.0, 2.0] * 10)
    assert estimate.share_interval(few, trials) == estimate.binomial_interval(20, 2000)
    assert estimate.count_interval(few) == estimate.poisson_interval(20, 20.0)


def test_small_samples_are_flagged() -> None:
    assert estimate.few(10, 30) == ""
    assert estimate.few(3, 1000) == "few replications (3 < 10)"
    assert estimate.few(3, 12) == "few replications (3 < 10); few failures (12 < 30)"
