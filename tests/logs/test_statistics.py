"""The table of a system by hand: merges, zero gaps, Fano; nodes, repair, steps and joint starts."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from gemsim.failures.logs import chance, fleet, model, repair, steps
from gemsim.failures.logs.at_once import at_once
from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.clock import Clock
from gemsim.failures.logs.statistics import fano, gap_shape, joint_starts, merge_repeats, row
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.logs.synthetic import log_of


def test_a_row_is_what_one_counts_by_hand() -> None:
    one = row("hand", np.array([0.0, 1.0, 1.0, 3.0, 10.0, 15.0, 26.0]), 48.0)
    assert (one.events, one.zero_gaps) == (7, 1)
    assert one.mtbf_h == pytest.approx(48 / 7)
    assert one.mtbf_low_h == pytest.approx(48 / stats.gamma.isf(0.025, 8))
    assert one.mtbf_high_h == pytest.approx(48 / stats.gamma.ppf(0.025, 7))
    assert one.fano_24h == pytest.approx(np.var([6, 1], ddof=1) / 3.5)
    shape, _, _ = stats.weibull_min.fit([1.0, 2.0, 7.0, 5.0, 11.0], floc=0)
    assert one.shape == pytest.approx(shape, rel=1e-4)


def test_fano_counts_whole_days_only() -> None:
    assert math.isnan(fano(np.array([1.0]), 47.9))
    assert fano(np.array([1.0, 2.0, 30.0, 49.0]), 50.0) == pytest.approx(0.5 / 1.5)


def test_repeats_are_counted_from_the_last_one_kept() -> None:
    times, node = np.array([0.0, 5.0, 9.0, 11.0, 12.0, 30.0]), np.array([1, 1, 2, 1, 1, 2])
    assert merge_repeats(times, node, 10.0).tolist() == [0, 2, 3, 5]


def test_joint_starts_chain_from_start_to_start() -> None:
    assert joint_starts(np.array([0.0, 0.1, 0.2, 1.0, 1.0, 2.0]), 0.1).tolist() == [0, 0, 0, 1, 1, 2]
    assert joint_starts(np.array([0.0, 0.1, 1.0, 1.0]), 0.0).tolist() == [0, 1, 2, 2]
    assert joint_starts(np.array([]), 1.0).tolist() == []


def check_zero_gaps() -> None:
    """Starts of an even rate of which a third come in pairs: the gaps that are not zero have Weibull shape 1."""
    rng = np.random.default_rng(3)
    times = np.sort(rng.random(4000) * 1e4)
    assert abs(gap_shape(np.sort(np.concatenate([times, times[::3]]))) - 1) < 0.06


def test_zero_gaps_are_kept_out_of_the_shape() -> None:
    check_zero_gaps()


def test_zero_gaps_that_stay_in_are_noticed() -> None:
    must_reject(
        check_zero_gaps, replaced("gemsim.failures.logs.statistics:np.diff", lambda d: lambda x: np.maximum(d(x), 1e-4))
    )


def test_the_spread_of_counts_by_hand() -> None:
    counts = np.array([0, 0, 0, 0, 0, 0, 0, 1, 2, 7])
    nodes = fleet.spread(counts, np.full(10, 100.0))
    assert nodes.variance_over_mean == pytest.approx(np.var(counts, ddof=1))
    assert nodes.worst_tenth == pytest.approx(0.7)
    assert nodes.struck == 3
    assert nodes.aic_alike == pytest.approx(2 - 2 * stats.poisson.logpmf(counts, 1.0).sum())
    k = nodes.gamma_shape
    assert nodes.aic_gamma == pytest.approx(4 - 2 * stats.nbinom.logpmf(counts, k, k / (k + 1)).sum())
    good = 1 / (1 + nodes.lemon_share * (nodes.lemon_multiplier - 1))
    both = (1 - nodes.lemon_share) * stats.poisson.pmf(counts, good)
    both += nodes.lemon_share * stats.poisson.pmf(counts, good * nodes.lemon_multiplier)
    assert nodes.aic_lemons == pytest.approx(6 - 2 * np.log(both).sum())


@pytest.mark.parametrize("kind", ["alike", "gamma", "lemons"])
def test_the_law_of_nodes_is_found_again(kind: str) -> None:
    rng = np.random.default_rng(5)
    multiple = {
        "alike": np.ones(4000),
        "gamma": rng.gamma(0.8, 1 / 0.8, 4000),
        "lemons": np.where(rng.random(4000) < 0.1, 8.0, 1.0),
    }[kind]
    nodes = fleet.spread(rng.poisson(multiple), np.full(4000, 100.0))
    assert nodes.best == kind
    if kind == "gamma":
        assert nodes.gamma_shape == pytest.approx(0.8, rel=0.15)
    if kind == "lemons":
        assert nodes.lemon_share == pytest.approx(0.1, abs=0.03)
        assert nodes.lemon_multiplier == pytest.approx(8, rel=0.15)


def test_first_failures_count_the_healthy_nodes() -> None:
    log = log_of([10.0, 20.0, 30.0, 40.0, 55.0, 60.0], node=[0, 1, 0, 2, 3, 4], window=100.0, nodes=20)
    lives = fleet.lives(log)
    assert (lives.failed, lives.censored) == (5, 15)
    exponential = next(fit for fit in lives.fits if fit.kind == "exponential")
    assert exponential.mean == pytest.approx((10 + 20 + 40 + 55 + 60 + 15 * 100) / 5)


def check_node_life() -> None:
    """Nodes that fail at an even rate once in ten windows: mean life within 10 % of ten windows, shape 1 inside."""
    rng = np.random.default_rng(7)
    times = rng.exponential(1e4, 20_000)
    kept = np.flatnonzero(times < 1000)
    order = kept[np.argsort(times[kept])]
    lives = fleet.lives(log_of(times[order], node=order, nodes=20_000))
    exponential = next(fit for fit in lives.fits if fit.kind == "exponential")
    assert abs(exponential.mean / 1e4 - 1) < 0.1
    assert lives.shape_low < 1.02
    assert lives.shape_high > 0.98


def test_healthy_nodes_are_censored_lives() -> None:
    check_node_life()


def test_leaving_the_healthy_nodes_out_is_noticed() -> None:
    must_reject(check_node_life, replaced("gemsim.failures.logs.fleet:fit_all", lambda fit: lambda x, c: fit(x)))


def test_unavailability_counts_overlaps_once_and_ends_with_the_window() -> None:
    log = log_of([10.0, 11.0, 20.0, 90.0], node=[0, 0, 1, 0], window=100.0, down=[5.0, 2.0, math.nan, 50.0])
    found = repair.repair_of(log)
    assert found.unavailability == pytest.approx((5 + 10) / 1000)
    assert (found.known, found.unknown, found.zeros) == (3, 1, 0)
    assert found.median_h == 5.0
    assert found.mean_h == pytest.approx(19.0)


def test_the_repair_law_of_a_study_keeps_mean_and_median() -> None:
    down = np.random.default_rng(2).lognormal(1.0, 0.7, 500)
    found = repair.repair_of(log_of(np.arange(500.0), down=down))
    assert (found.kind, found.keeps, found.misfits) == ("lognormal", "median", False)
    law = stats.lognorm(found.sigma, scale=found.mean_h * math.exp(-(found.sigma**2) / 2))
    assert [law.mean(), law.median()] == pytest.approx([down.mean(), np.median(down)])
    assert found.law_median_h == pytest.approx(np.median(down))
    assert repair.repair_of(log_of([1.0, 2.0], down=[0.0, 0.0])).kind == "fixed"
    assert repair.repair_of(log_of([1.0, 2.0], down=[2.0, 2.0])).kind == "exponential"
    assert repair.repair_of(log_of([1.0, 2.0], down=[math.nan, math.nan])).kind == ""


LONG = [1.0] * 60 + [100.0] * 40  # a lognormal with this mean and median has a tail far beyond 100 h


def check_tail() -> None:
    """Mean and mean of squares are kept where the median would put many node-hours beyond the longest outage."""
    found = repair.repair_of(log_of(np.arange(100.0), down=LONG))
    law = stats.lognorm(found.sigma, scale=found.mean_h * math.exp(-(found.sigma**2) / 2))
    assert law.mean() == pytest.approx(np.mean(LONG))
    assert law.moment(2) == pytest.approx(np.mean(np.square(LONG)))
    assert (found.keeps, found.misfits) == ("squares", True)
    tail = 1.0 - law.expect(lambda x: x, lb=0.0, ub=100.0) / law.mean()
    assert found.beyond == pytest.approx(tail, abs=1e-6)


def test_a_repair_law_has_no_tail_that_the_log_has_not() -> None:
    check_tail()
    assert repair.beyond("exponential", 2.0, 0.0, 6.0) == pytest.approx(4.0 * math.exp(-3.0))


def test_a_median_that_is_kept_at_any_price_is_noticed() -> None:
    must_reject(check_tail, replaced("gemsim.failures.logs.repair:FAR", lambda _: 1.0))


def test_the_interval_of_an_mtbf_is_wider_where_counts_vary_more() -> None:
    times = np.repeat(np.arange(100.0) * 24.0, 1 + 5 * (np.arange(100) % 4 == 0))
    one = row("bursts", times, 2400.0)
    assert one.fano_24h > 2.0
    low, high = one.wide_h
    spread = math.exp(1.959964 * math.sqrt(one.fano_24h / len(times)))
    assert (low, high) == pytest.approx((one.mtbf_h / spread, one.mtbf_h * spread))
    assert low < one.mtbf_low_h
    even = row("even", np.arange(100.0) * 24.0, 2400.0)
    assert even.wide_h[0] <= even.mtbf_low_h
    assert all(math.isnan(end) for end in row("short", np.array([1.0, 2.0]), 10.0).wide_h)


def brute_partition(counts: list[int], penalty: float) -> float:
    """Least cost of any partition, by trying all of them."""
    best = math.inf
    for mask in range(2 ** (len(counts) - 1)):
        edges = [0, *(i + 1 for i in range(len(counts) - 1) if mask >> i & 1), len(counts)]
        cost = penalty * (len(edges) - 2)
        for a, b in pairwise(edges):
            events = sum(counts[a:b])
            cost -= events * math.log(events / (b - a)) if events else 0.0
        best = min(best, cost)
    return best


def test_the_partition_is_the_best_of_all() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        counts = rng.poisson(rng.choice([0.5, 4.0], 10))
        edges = steps._partition(counts, 1.3)
        cost = 1.3 * (len(edges) - 2)
        for a, b in pairwise(edges):
            events = int(counts[a:b].sum())
            cost -= events * math.log(events / (b - a)) if events else 0.0
        assert cost == pytest.approx(brute_partition(counts.tolist(), 1.3))


def test_an_even_rate_seldom_gets_a_step() -> None:
    rng = np.random.default_rng(4)
    stepped = sum(
        len(steps.find_steps(np.sort(rng.random(rng.poisson(400)) * 9600), 9600.0).starts_h) > 1 for _ in range(200)
    )
    # The claim is under 5 %; 10 of 200 would be that, and 24 has a chance of 1e-5 there.
    assert stepped < 24


def test_a_doubled_rate_is_found_where_it_doubles() -> None:
    rng = np.random.default_rng(6)
    times = np.concatenate([rng.random(300) * 4800, 4800 + rng.random(600) * 4800])
    found = steps.find_steps(np.sort(times), 9600.0)
    assert len(found.starts_h) == 2
    assert found.starts_h[1] == pytest.approx(4800, abs=240)
    assert list(found.factors) == pytest.approx([2 / 3, 4 / 3], rel=0.12)
    assert sum(found.counts) == 900
    assert sum(found.lengths_h) == pytest.approx(9600)


def test_a_handful_of_events_gets_no_step() -> None:
    """Nineteen in the first day of a hundred: nobody can tell a step from so few, one more is enough."""
    times = np.linspace(1.0, 20.0, steps.FEWEST)
    assert len(steps.find_steps(times, 2400.0).starts_h) == 2
    assert len(steps.find_steps(times[:-1], 2400.0).starts_h) == 1


def test_a_clock_goes_there_and_back() -> None:
    clock = Clock(((0.0, 0.5), (10.0, 2.0), (20.0, 1.0)), 35.0)
    shown = clock.operational(np.array([0.0, 5.0, 10.0, 15.0, 25.0]))
    assert shown.tolist() == [0.0, 2.5, 5.0, 15.0, 30.0]
    assert [clock.real(one) for one in shown.tolist()] == [0.0, 5.0, 10.0, 15.0, 25.0]
    assert clock.factor(np.array([9.9, 10.0])).tolist() == [0.5, 2.0]
    assert Clock((), 5.0).real(3.0) == 3.0


def test_the_window_of_joint_starts_shrinks_with_the_rate() -> None:
    assert chance.joint_window(log_of(np.linspace(1, 999, 10))) == pytest.approx((1 / 6, 1 / 6))
    assert chance.joint_window(log_of(np.linspace(1, 999, 1000))) == pytest.approx((0.02, 0.02))
    assert chance.joint_window(log_of(np.linspace(1, 999, 1000), tick=0.1)) == pytest.approx((0.02, 0.0))


def test_joint_starts_are_of_several_nodes() -> None:
    log = log_of([1.0, 1.0, 1.0, 50.0, 50.05, 80.0], node=[0, 1, 0, 2, 3, 4], window=100.0)
    together, repeats = chance.members(log, joint_starts(log.time_h, 0.1))
    assert together.tolist() == [True, True, False, True, True, False]
    assert repeats.tolist() == [False, False, True, False, False, False]
    assert chance.members(log_of([1.0, 1.0], node=[0, 0]), np.zeros(2, dtype=np.int64))[0].tolist() == [False, False]


def alone(seed: int) -> Log:
    """150 failures of 20 nodes that are alike, each by itself."""
    rng = np.random.default_rng(seed)
    return log_of(np.sort(rng.random(150) * 8000.0), node=rng.integers(0, 20, 150), nodes=20, window=8000.0)


def check_no_repeats() -> None:
    """Repeats are told in up to 1 of 100 logs without any: 10 of 200 have a chance of 4e-5 then."""
    told = sum(model.fit_model(alone(seed)).sources[0].again > 0.0 for seed in range(200))
    assert told < 10


def test_independent_nodes_have_no_repeats() -> None:
    check_no_repeats()


def test_repeats_told_from_too_little_are_noticed() -> None:
    must_reject(check_no_repeats, replaced("gemsim.failures.logs.model:GAIN", lambda _: 2.5))


def check_repeats() -> None:
    """One fault that is logged over and over: the merged log has a rate within 3 % of that of the faults."""
    rng = np.random.default_rng(9)
    times = np.sort(rng.random(5000) * 1e5)
    node = rng.integers(0, 500, 5000)
    copies = np.repeat(times, 10) + np.tile(np.arange(10) * 0.01, 5000)
    order = np.argsort(copies, kind="stable")
    kept = merge_repeats(copies[order], np.repeat(node, 10)[order], 1.0)
    statcheck.poisson_count(len(kept), 5000 * (1 - 500 * 1e-5 / 5), detect=0.12)


def test_merged_repeats_leave_the_faults() -> None:
    check_repeats()


def test_repeats_that_stay_are_noticed() -> None:
    fault = replaced(
        "tests.logs.test_statistics:merge_repeats", lambda merge: lambda times, node, _: merge(times, node, 0.0)
    )
    must_reject(check_repeats, fault)


def test_nodes_down_at_once_by_hand() -> None:
    """Of 100 h none are down for 60, one for 30, two for 8, three for 2: an outage past the end, and one in another."""
    log = log_of(
        [10.0, 12.0, 14.0, 15.0, 60.0, 98.0],
        node=[0, 0, 1, 2, 3, 4],
        window=100.0,
        down=[20.0, 3.0, 10.0, 2.0, 18.0, 50.0],
    )
    found = at_once(log)
    assert found is not None
    assert (found.median, found.p95, found.p99, found.most) == (0, 2, 3, 3)
    assert found.mean == pytest.approx((30 + 2 * 8 + 3 * 2) / 100)
    assert found.independent == tuple(int(stats.binom.ppf(level, 10, 0.052)) for level in (0.5, 0.95, 0.99))
    assert at_once(log_of([1.0, 2.0], down=[math.nan, math.nan])) is None
