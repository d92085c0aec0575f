"""Unlike devices, common causes, latent errors and drift: against sums written out, scipy's laws and quadrature."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import comb, exp, expm1, inf, log
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.analytic import common_cause, drift, frailty, latent, markov
from gemsim.failures.classes import Batch, Frailty, factor_at
from tests.faults import must_reject, replaced

GAMMA = Frailty("gamma", shape=0.5)
LEMONS = Frailty("lemons", share=0.15, multiplier=6.0, good=1.0 / 1.75)


# Frailty


def test_counts_of_gamma_devices_are_negative_binomial() -> None:
    from scipy.stats import nbinom

    law = frailty.counts(GAMMA, 0.02, 100.0)
    assert law == pytest.approx(nbinom.pmf(np.arange(len(law)), 0.5, 0.5 / 2.5).tolist(), rel=1e-11)
    assert sum(law) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("law", [None, GAMMA, LEMONS, Frailty("lemons", share=0.012, multiplier=243.0)])
def test_the_fano_factor_is_that_of_the_counts(law: Frailty | None) -> None:
    found = frailty.counts(law, 0.03, 100.0)
    mean = sum(n * p for n, p in enumerate(found))
    variance = sum((n - mean) ** 2 * p for n, p in enumerate(found))
    assert mean == pytest.approx(3.0 * (1.0 if law is None else law.mean), rel=1e-9)
    assert frailty.fano(law, 0.03, 100.0) == pytest.approx(variance / mean, rel=1e-8)


def test_the_worst_tenth_of_gamma_devices() -> None:
    """The Lorenz curve by quadrature of the quantile function."""
    k = mpmath.mpf("0.5")
    cut = mpmath.findroot(lambda x: mpmath.gammainc(k, x, mpmath.inf, regularized=True) - 0.1, 1.35)
    exact = mpmath.quad(lambda x: x * x ** (k - 1) * mpmath.exp(-x), [cut, mpmath.inf]) / mpmath.gamma(k) / k
    assert frailty.worst(GAMMA, 0.1) == pytest.approx(float(exact), rel=1e-12)
    assert frailty.worst(GAMMA, 0.0) == 0.0
    assert frailty.worst(GAMMA, 1.0) == 1.0


def test_the_worst_lemons() -> None:
    good, bad = 0.85, 0.15 * 6.0
    assert frailty.worst(LEMONS, 0.15) == pytest.approx(bad / (good + bad))
    assert frailty.worst(LEMONS, 0.30) == pytest.approx((bad + 0.15) / (good + bad))
    assert frailty.worst(None, 0.1) == 0.1
    assert frailty.rate_after_removal(LEMONS, 0.15) == pytest.approx(LEMONS.good)


@given(st.floats(0.1, 3.0), st.floats(0.01, 0.99))
def test_taking_out_the_worst_never_makes_it_worse(shape: float, share: float) -> None:
    law = Frailty("gamma", shape=shape)
    assert frailty.worst(law, share) >= share - 1e-12
    assert frailty.rate_after_removal(law, share) <= 1.0 + 1e-12


def test_a_log_shows_luck_too() -> None:
    """All alike, 0.1 failures each: who failed at all is the worst tenth, with nearly all failures on it."""
    assert frailty.worst_seen(None, 0.1, 1.0, 0.1) > 0.99
    assert frailty.worst_seen(None, 0.1, 1e6, 0.1) == pytest.approx(0.1, abs=0.002)
    assert frailty.worst_seen(LEMONS, 0.1, 1e4, 0.15) == pytest.approx(frailty.worst(LEMONS, 0.15), rel=1e-3)


@pytest.mark.parametrize("devices", [1, 8, 64])
def test_a_job_on_devices_at_random(devices: int) -> None:
    p, m, hazard = 0.012, 243.0, 6e-4
    survives = sum(
        comb(devices, bad) * p**bad * (1 - p) ** (devices - bad) * exp(-hazard * (devices + (m - 1) * bad))
        for bad in range(devices + 1)
    )
    assert frailty.job_fails(devices, hazard, lemons=p, multiplier=m) == pytest.approx(1.0 - survives, rel=1e-11)


def test_the_multiplier_is_what_gives_both_shares() -> None:
    found = frailty.multiplier_of_removal(64, before=0.14, after=0.04, lemons=0.012)
    hazard = -log(0.96) / 64
    assert frailty.job_fails(64, hazard, lemons=0.012, multiplier=found) == pytest.approx(0.14, rel=1e-11)
    assert found == pytest.approx(243.0, abs=0.5)
    with pytest.raises(ValueError, match="too few"):
        frailty.multiplier_of_removal(64, before=0.9, after=0.04, lemons=0.012)


def test_small_jobs_of_unlike_nodes_look_better_than_a_linear_rate() -> None:
    law = Frailty("gamma", shape=2.0)
    exact = mpmath.quad(lambda x: mpmath.exp(-x) * x ** (2 * 8 - 1) / mpmath.gamma(16) * 16 / x, [0, mpmath.inf])
    assert frailty.mean_gap_of_small_jobs(law, 8) == pytest.approx(float(exact), rel=1e-10)
    assert frailty.mean_gap_of_small_jobs(GAMMA, 2) == inf
    gaps = [frailty.mean_gap_of_small_jobs(LEMONS, n) for n in (1, 8, 64, 512)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] == pytest.approx(LEMONS.mean * (0.85 + 0.15 / 6.0) / LEMONS.good)
    assert gaps[-1] == pytest.approx(1.0, abs=0.01)


def test_spread_of_a_job_over_fleets() -> None:
    assert frailty.job_rate_variation(GAMMA, 16_384) == pytest.approx(2.0 / 16_384)
    assert frailty.variation(LEMONS) == pytest.approx(0.15 * 0.85 * 25.0 / 1.75**2)


# Batches and common causes


BATCH = Batch(((1, 0.95), (2, 0.03), (5, 0.02)), "cluster", 10_000)


def test_starts_are_counted_once() -> None:
    assert common_cause.starts(1.11, BATCH) == pytest.approx(1.0)
    assert common_cause.several(BATCH) == pytest.approx(0.05)
    assert common_cause.fano_of_starts(BATCH) == pytest.approx((0.95 + 0.12 + 0.5) / 1.11)
    assert common_cause.starts(2.0, None) == 2.0
    assert common_cause.several(Batch(((4, 1.0),), "rack", 1)) == 0.0  # no domain holds two


def by_enumeration(units: int, domains: int, width: int) -> list[Fraction]:
    """A stripe of random members against the first domain."""
    size, found = units // domains, [Fraction(0)] * (units // domains + 1)
    ways = list(combinations(range(units), width))
    for members in ways:
        found[sum(member < size for member in members)] += Fraction(1, len(ways))
    return found


@pytest.mark.parametrize(("units", "domains", "width"), [(12, 4, 3), (12, 3, 5), (12, 6, 4)])
def test_members_of_a_blind_stripe_in_a_domain(units: int, domains: int, width: int) -> None:
    found = common_cause.BetaFactor(units, domains, 1e-3, 0.1).members_lost(width, aware=False)
    exact = by_enumeration(units, domains, width)
    assert found == pytest.approx([float(x) for x in exact[: len(found)]], rel=1e-13)
    assert not any(exact[len(found) :])


def test_an_aware_placement_loses_what_it_must() -> None:
    racks = common_cause.BetaFactor(64, 8, 1e-3, 0.1)
    assert racks.loses(8, 1, aware=True) == 0.0
    assert racks.loses(12, 1, aware=True) == pytest.approx(racks.together * 0.5)  # four of eight hold two
    assert racks.loses(12, 2, aware=True) == 0.0
    assert racks.loses(8, 1, aware=False) > 0.0
    assert racks.some_stripe_lost(2, 1, aware=True) == 0.0
    assert racks.some_stripe_lost(9, 1, aware=True) == 1.0


def test_copies_under_a_rack_that_fails() -> None:
    """Two copies of 32 shards on 64 nodes: eight nodes of a rack are all distinct pairs or some pair is gone."""
    racks = common_cause.BetaFactor(64, 8, 1e-3, 0.1)
    apart = 1.0
    for drawn in range(8):
        apart *= (64 - 2 * drawn) / (64 - drawn)
    assert racks.some_stripe_lost(2, 1, aware=False) == pytest.approx(1.0 - apart, rel=1e-12)


def test_no_share_in_common_is_independence() -> None:
    racks = common_cause.BetaFactor(64, 8, 1e-3, 0.0)
    assert racks.interruptions == pytest.approx(64e-3)
    assert racks.loses(8, 1, aware=False) == 0.0
    whole = common_cause.BetaFactor(64, 8, 1e-3, 1.0)
    assert whole.interruptions == pytest.approx(8e-3)


@pytest.mark.parametrize(("k", "m"), [(4, 0), (8, 1), (10, 4), (32, 4)])
@pytest.mark.parametrize("crews", [None, 1])
def test_a_stripe_without_common_causes_is_the_plain_chain(k: int, m: int, crews: int | None) -> None:
    plain = markov.mean_time_to_data_loss(k, m, failure_rate=1e-6, repair_rate=1e-2, crews=crews)
    found = common_cause.mean_time_to_loss(k, m, failure_rate=1e-6, repair_rate=1e-2, crews=crews)
    assert found == pytest.approx(plain, rel=1e-13)


@pytest.mark.parametrize(("k", "m"), [(2, 1), (4, 2), (6, 3)])
def test_a_stripe_with_common_causes_is_the_solution_in_fractions(k: int, m: int) -> None:
    """Mean time to loss by elimination in exact numbers on the generator."""
    fail, repair, both, three = Fraction(1, 1000), Fraction(1, 10), Fraction(1, 50_000), Fraction(1, 90_000)
    width, size = k + m, m + 1
    rates = [[Fraction(0)] * (m + 2) for _ in range(size)]
    for lost in range(size):
        rates[lost][lost + 1] += (width - lost) * fail
        if lost:
            rates[lost][lost - 1] += lost * repair
        for members, rate in ((2, both), (3, three)):
            for hit in range(max(0, members - lost), min(members, width - lost) + 1):
                ways = Fraction(comb(width - lost, hit) * comb(lost, members - hit), comb(width, members))
                rates[lost][min(m + 1, lost + hit)] += rate * ways if hit else 0
    rows = [[-sum(r) + r[i] if i == j else r[j] for j in range(size)] + [Fraction(-1)] for i, r in enumerate(rates)]
    for i in range(size):
        rows[i][i] = -(sum(rates[i]) - rates[i][i])
    for i in range(size):
        pivot = rows[i][i]
        rows[i] = [x / pivot for x in rows[i]]
        for other in range(size):
            if other != i:
                factor = rows[other][i]
                rows[other] = [x - factor * y for x, y in zip(rows[other], rows[i], strict=True)]
    found = common_cause.mean_time_to_loss(
        k, m, failure_rate=1e-3, repair_rate=0.1, together=((2, float(both)), (3, float(three)))
    )
    assert found == pytest.approx(float(rows[0][-1]), rel=1e-12)
    plain = markov.mean_time_to_data_loss(k, m, failure_rate=1e-3, repair_rate=0.1)
    assert found < plain


def test_nothing_ever_lost() -> None:
    assert common_cause.mean_time_to_loss(4, 2, failure_rate=0.0, repair_rate=1.0) == inf


# Latent errors


def test_lost_chunks_pile_up_as_a_binomial() -> None:
    p = -expm1(-1e-3 * 50.0)
    exact = sum(comb(12, n) * p**n * (1 - p) ** (12 - n) for n in range(3, 13))
    assert latent.piled_up(10, 2, rate=1e-3, seconds=50.0) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("known", [0, 1, 2, 3])
def test_what_a_failure_meets(known: int) -> None:
    def law(age: mpmath.mpf) -> mpmath.mpf:
        p = 1 - mpmath.exp(-mpmath.mpf("0.001") * age)
        n = 12 - known
        return sum(mpmath.binomial(n, j) * p**j * (1 - p) ** (n - j) for j in range(3 - known, n + 1))

    exact = 1.0 if known > 2 else float(mpmath.quad(law, [0, 50, 100]) / 100)
    found = latent.met_at_random(10, 2, rate=1e-3, interval=100.0, known=known)
    assert found == pytest.approx(exact, rel=1e-11)


def test_an_interval_is_required() -> None:
    world: dict[str, Any] = {"stripes": 10_000, "rate": 1e-9}
    found = latent.required_interval(10, 2, **world, allowed=1e-12)
    assert latent.loss_rate(10, 2, **world, interval=found) == pytest.approx(1e-12, rel=1e-6)
    first = (1e-12 / (10_000 * comb(12, 3) * 1e-27)) ** 0.5
    assert found == pytest.approx(first, rel=1e-2)
    assert latent.required_interval(10, 2, **world, allowed=1.0) == inf
    with pytest.raises(ValueError, match="without parity"):
        latent.required_interval(10, 0, **world, allowed=1e-12)


@pytest.mark.parametrize(("k", "m"), [(8, 1), (10, 2), (32, 4)])
def test_the_best_interval_has_no_better_neighbour(k: int, m: int) -> None:
    world: dict[str, Any] = {"stripes": 1_000, "rate": 1e-9}
    best = latent.optimal_interval(k, m, **world, cost=60.0, loss=3600.0)

    def cost(seconds: float) -> float:
        return 60.0 / seconds + 3600.0 * latent.loss_rate(k, m, **world, interval=seconds)

    assert all(cost(best * factor) > cost(best) for factor in (0.5, 0.98, 1.02, 2.0))
    first = latent.first_order_interval(k, m, **world, cost=60.0, loss=3600.0)
    assert best == pytest.approx(first, rel=0.1 if m < 4 else 0.3)


# Drift


def test_drift_by_pieces() -> None:
    steps = ((0.0, 0.6), (29.0, 1.4))
    assert drift.shares(steps, 58.0) == [(0.5, 0.6), (0.5, 1.4)]
    assert drift.mean_factor(steps, 58.0) == pytest.approx(1.0)
    assert drift.variation(steps, 58.0) == pytest.approx(0.16)
    assert drift.mean_factor(steps, 10.0) == pytest.approx(0.6)
    assert drift.mean_factor((), 10.0) == 1.0
    assert drift.variation(steps, 10.0) == pytest.approx(0.0)
    assert [factor_at(steps, t) for t in (0.0, 28.9, 29.0)] == [0.6, 0.6, 1.4]


# Planted faults


def test_counts_without_frailty_are_caught() -> None:
    def alike(original: Callable[..., list[float]]) -> Callable[..., list[float]]:
        return lambda law, rate, seconds: original(None, rate, seconds)

    must_reject(
        lambda: test_the_fano_factor_is_that_of_the_counts(GAMMA),
        replaced("gemsim.analytic.frailty:counts", alike),
    )


def test_blind_members_taken_for_aware_ones_are_caught() -> None:
    def aware(original: Callable[..., list[float]]) -> Callable[..., list[float]]:
        return lambda self, width, aware: original(self, width, aware=True)

    must_reject(
        test_an_aware_placement_loses_what_it_must,
        replaced("gemsim.analytic.common_cause:BetaFactor.members_lost", aware),
    )


def test_repair_from_a_wrong_state_is_caught() -> None:
    def never_hit_twice(original: Callable[..., object]) -> Callable[..., object]:
        return lambda width, lost, members: [(members, 1.0)]

    must_reject(
        lambda: test_a_stripe_with_common_causes_is_the_solution_in_fractions(4, 2),
        replaced("gemsim.analytic.common_cause:_fresh", never_hit_twice),
    )
