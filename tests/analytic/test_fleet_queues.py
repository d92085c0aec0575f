"""Queues and spare pools: against fractions, sums written out, linear solves and the cases of planners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import exp, factorial, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.analytic import markov, queues, spares
from tests.faults import must_reject, replaced

Chain = Callable[[Sequence[float], Sequence[float]], list[float]]


def erlang_b_exact(servers: int, load: Fraction) -> Fraction:
    terms = [load**n / factorial(n) for n in range(servers + 1)]
    return terms[-1] / sum(terms)


@given(st.integers(0, 40), st.fractions(Fraction(1, 50), 60, max_denominator=50))
def test_erlang_b_is_the_truncated_poisson_law(servers: int, load: Fraction) -> None:
    assert queues.erlang_b(servers, float(load)) == pytest.approx(float(erlang_b_exact(servers, load)), rel=1e-13)


def test_erlang_b_does_not_overflow() -> None:
    from scipy.stats import poisson

    exact = poisson.pmf(100_000, 99_000.0) / poisson.cdf(100_000, 99_000.0)
    assert queues.erlang_b(100_000, 99_000.0) == pytest.approx(exact, rel=1e-9)
    assert queues.erlang_b(10**5, 1e-3) == 0.0
    assert queues.erlang_b(0, 5.0) == 1.0


@given(st.integers(1, 30), st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50))
def test_erlang_c_is_the_sum_written_out(servers: int, used: Fraction) -> None:
    load = used * servers
    beyond = load**servers / factorial(servers) / (1 - used)
    exact = beyond / (sum(load**n / factorial(n) for n in range(servers)) + beyond)
    assert queues.erlang_c(servers, float(load)) == pytest.approx(float(exact), rel=1e-12)
    assert queues.erlang_c(servers, float(servers)) == 1.0


def test_one_crew_is_pollaczek_khinchine() -> None:
    for variation in (0.0, 1.0, 4.0):
        found = queues.crews(0.6, 1.0, crews=1, variation=variation)
        assert found.wait == pytest.approx(0.6 * (1.0 + variation) / 2.0 / 0.4, rel=1e-14)
    assert queues.crews(0.6, 1.0, crews=1).longer(2.0) == pytest.approx(0.6 * exp(-0.4 * 2.0), rel=1e-13)
    with pytest.raises(ValueError, match="cannot keep up"):
        queues.crews(2.0, 1.0, crews=2)


def solved(up: list[float], down: list[float]) -> np.ndarray:
    """Equilibrium by least squares on the balance equations."""
    size = len(up) + 1
    rates = np.zeros((size, size))
    for n, (rise, fall) in enumerate(zip(up, down, strict=True)):
        rates[n, n + 1], rates[n + 1, n] = rise, fall
    rates -= np.diag(rates.sum(axis=1))
    system = np.vstack([rates.T, np.ones(size)])
    found: np.ndarray = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return found


@given(st.lists(st.tuples(st.floats(0.01, 5.0), st.floats(0.01, 5.0)), min_size=1, max_size=12))
def test_a_chain_is_its_balance_equations(rates: list[tuple[float, float]]) -> None:
    up, down = [r for r, _ in rates], [r for _, r in rates]
    assert queues.chain(up, down) == pytest.approx(solved(up, down).tolist(), rel=1e-7, abs=1e-10)


def test_a_chain_far_from_zero_does_not_overflow() -> None:
    shares = queues.chain([5000.0] * 12_000, [float(n) for n in range(1, 12_001)])
    assert sum(n * share for n, share in enumerate(shares)) == pytest.approx(5000.0, rel=1e-12)


@pytest.mark.parametrize("exposure", ["wall", "running"])
@pytest.mark.parametrize("crews", [0, 1, 3])
@pytest.mark.parametrize("spare", [0, 1, 5])
def test_a_pool_is_its_balance_equations(spare: int, crews: int, exposure: str) -> None:
    rate, mean, idle = 0.02, 40.0, 0.003
    found = queues.pool(spare, rate, mean, crews=crews, idle_rate=idle, exposure=exposure)
    top = spare + 1 if exposure == "running" else 150
    up = [rate + max(0, spare - n) * idle for n in range(top)]
    down = [min(n, crews or n) / mean for n in range(1, top + 1)]
    shares = solved(up, down)
    assert found.standing == pytest.approx(shares[spare + 1 :].sum(), abs=1e-9)
    assert found.idle == pytest.approx(sum((spare - n) * shares[n] for n in range(spare)), abs=1e-9)
    assert found.broken == pytest.approx(sum(n * share for n, share in enumerate(shares)), rel=1e-7)


def test_a_pool_without_limits_is_erlangs() -> None:
    """Running: the loss formula, for any law of repair. Wall: a Poisson number broken."""
    load = 0.02 * 100.0
    for spare in range(8):
        running = queues.pool(spare, 0.02, 100.0, exposure="running")
        assert running.standing == pytest.approx(queues.erlang_b(spare + 1, load), rel=1e-12)
        wall, free = queues.pool(spare, 0.02, 100.0), spares.wanted(spare, 0.02, 100.0)
        assert wall.standing == pytest.approx(free.standing, rel=1e-11)
        assert wall.waits == pytest.approx(free.waits, rel=1e-11)
        assert wall.wait == pytest.approx(free.wait, rel=1e-9)
        assert wall.idle == pytest.approx(free.idle, rel=1e-11, abs=1e-15)


def test_limited_crews_are_the_queue() -> None:
    for crews in (1, 2, 5):
        found = queues.pool(4, 0.01, 80.0, crews=crews)
        tail = markov.queue_tail(0.01, 1 / 80.0, crews=crews, more_than=4)
        assert found.standing == pytest.approx(tail, rel=1e-9)
        assert found.broken == pytest.approx(queues.crews(0.01, 80.0, crews=crews).inside, rel=1e-9)
    with pytest.raises(ValueError, match="cannot keep up"):
        queues.pool(4, 1.0, 80.0, crews=2)


@given(st.integers(0, 20), st.floats(0.001, 0.2), st.integers(0, 4))
def test_more_spares_never_wait_longer(spare: int, rate: float, crews: int) -> None:
    if crews and rate * 20.0 > 0.99 * crews:
        return
    few, more = (queues.pool(n, rate, 20.0, crews=crews) for n in (spare, spare + 1))
    assert more.wait <= few.wait
    assert more.standing <= few.standing


def by_transform(batches: float, mean: float, sizes: list[tuple[int, float]], top: int) -> list[float]:
    """The number broken of batches with exponential repairs, from its generating function on the circle.

    log E z^N = batches x integral of (sum_size p (1 - u + u z)^size - 1) mean du / u.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)
    u, du = (nodes + 1.0) / 2.0, weights / 2.0
    z = np.exp(2j * np.pi * np.arange(top) / top)
    log_law = np.zeros(top, dtype=complex)
    for size, share in sizes:
        log_law += batches * mean * share * (((1.0 - u + np.outer(z, u)) ** size - 1.0) / u) @ du
    found: list[float] = np.real(np.fft.fft(np.exp(log_law)) / top).tolist()
    return found


@pytest.mark.parametrize("sizes", [[(1, 1.0)], [(1, 0.95), (2, 0.03), (5, 0.02)], [(8, 1.0)]])
def test_batches_are_compound_poisson(sizes: list[tuple[int, float]]) -> None:
    law = spares.broken_at_once(0.02, 100.0, sizes=sizes)
    exact = by_transform(0.02, 100.0, sizes, 256)
    assert law[:40] == pytest.approx(exact[:40], abs=1e-13)
    mean = sum(n * p for n, p in enumerate(law))
    assert mean == pytest.approx(2.0 * spares.mean_size(sizes), rel=1e-12)


def test_batches_that_come_back_together_have_the_moments_of_a_compound_law() -> None:
    sizes = [(1, 0.9), (5, 0.1)]
    law = spares.broken_at_once(0.02, 100.0, sizes=sizes, together=True)
    mean = sum(n * p for n, p in enumerate(law))
    variance = sum((n - mean) ** 2 * p for n, p in enumerate(law))
    assert (mean, variance) == pytest.approx((2.0 * 1.4, 2.0 * (0.9 + 2.5)), rel=1e-10)


def test_spares_that_do_not_join_are_negative_binomial() -> None:
    """Each replacement uses a geometric number of spares; with exponential repairs shape = load / q."""
    q, load = 0.2, 3.0
    law = spares.broken_at_once(load, 1.0, sizes=spares.tries(q))
    from scipy.stats import nbinom

    assert law[:60] == pytest.approx(nbinom.pmf(np.arange(60), load / q, 1.0 - q).tolist(), abs=1e-13)
    joined = spares.joining(q, 600.0)
    assert joined.spares == pytest.approx(spares.mean_size(spares.tries(q)), rel=1e-12)
    assert joined.lost == pytest.approx(150.0)
    assert spares.joining(1.0, 600.0).spares == inf
    assert spares.joining(0.0, 600.0) == spares.Joining(1.0, 0.0)


def test_large_loads_do_not_underflow() -> None:
    law = spares.broken_at_once(2000.0, 1.0)
    assert sum(n * p for n, p in enumerate(law)) == pytest.approx(2000.0, rel=1e-10)
    assert spares.short(2100, 2000.0, 1.0) == pytest.approx(sum(law[2101:]), rel=1e-9)


def test_activation_by_kind() -> None:
    law = spares.broken_at_once(1.0, 1.0)
    hot = law[0] + law[1]
    assert spares.mean_activation((2, 0, 5), (0.0, 60.0, 600.0), broken=law) == pytest.approx(600.0 * (1.0 - hot))


# The questions of planners, by the number of the case.

DAY, HOUR = 86_400.0, 3_600.0
OPT = 2.0 / DAY


def test_how_many_buffer_hosts_for_opt() -> None:
    """Case 2: two of 128 hosts fail each day; 99 % spares by the hours that a replacement takes."""
    found = [spares.spares_needed(OPT, hours * HOUR, confidence=0.99) for hours in (6, 12, 24, 48, 72)]
    assert found == [3, 4, 6, 9, 12]
    four = [spares.short(4, OPT, hours * HOUR) for hours in (24, 48, 72)]
    assert four == pytest.approx([0.053, 0.37, 0.71], abs=0.005)
    assert spares.short(12, OPT, 72 * HOUR) == pytest.approx(0.009, abs=5e-4)
    assert spares.short(18, OPT, 72 * HOUR) == pytest.approx(2e-5, rel=0.3)
    assert 1.0 / spares.short(4, OPT, DAY) == pytest.approx(19.0, abs=0.2)  # days between days with five or more


def test_joint_failures_need_more_buffer_hosts() -> None:
    """The warning of case 2: the same failures per day in batches as in the reference's study."""
    sizes = [(1, 0.95), (2, 0.03), (5, 0.02)]
    alone = spares.spares_needed(OPT, 72 * HOUR, confidence=0.99)
    each = spares.spares_needed(OPT, 72 * HOUR, confidence=0.99, sizes=sizes)
    joint = spares.spares_needed(OPT, 72 * HOUR, confidence=0.99, sizes=sizes, together=True)
    assert alone == 12 < each <= joint == 14


def test_are_ten_per_cent_spare_nodes_overkill() -> None:
    """Case 9: node MTBF 5,720 h, a day without repair."""
    fleets = (100, 1_000, 4_000, 18_000)
    for level, exact in ((0.99, [2, 10, 27, 96]), (0.999, [3, 12, 31, 104])):
        found = [spares.spares_needed(n / (5_720 * HOUR), DAY, confidence=level) for n in fleets]
        assert found == exact


def test_are_five_to_ten_per_cent_spares_reasonable() -> None:
    """Case 10: each node down 2.32 % of the time."""
    needed = (32, 64, 128, 256, 512)
    for level, exact in ((0.99, [3, 5, 8, 13, 21]), (0.999, [5, 7, 10, 15, 24])):
        assert [spares.spares_among(n, 0.0232, confidence=level) for n in needed] == exact
    assert spares.short_among(64, 5, 0.0232) <= 0.01 < spares.short_among(64, 4, 0.0232)


def test_a_join_time_out_shorter_than_the_recovery_loses_the_replica() -> None:
    """Case 13: fixed: all or none; random recovery R: P(R > L) for each failure, and none for L far beyond R."""
    from gemsim.failures.laws import duration

    assert duration("fixed", 60.0).longer(59.0) == 1.0
    assert duration("fixed", 60.0).longer(61.0) == 0.0
    assert duration("exponential", 60.0).longer(120.0) == pytest.approx(exp(-2.0))
    wide = duration("lognormal", 60.0, 1.0)
    assert wide.longer(60.0) == pytest.approx(0.3085, abs=1e-4)  # the mean lies sigma / 2 above the median
    assert wide.longer(1e9) == pytest.approx(0.0, abs=1e-15)


# Planted faults: each must be rejected by the check named.


def all_repaired_at_once(original: Chain) -> Chain:
    return lambda up, down: original(up, [(n + 1) * down[0] for n in range(len(down))])


def each_batch_one_node(original: Callable[..., list[float]]) -> Callable[..., list[float]]:
    return lambda jumps: original([sum(k * jump for k, jump in enumerate(jumps, start=1))])


def test_a_pool_that_forgets_the_queue_is_caught() -> None:
    must_reject(test_limited_crews_are_the_queue, replaced("gemsim.analytic.queues:chain", all_repaired_at_once))


def test_batches_taken_for_single_failures_are_caught() -> None:
    """The mean is right then, and the tail is not."""
    for check in (test_joint_failures_need_more_buffer_hosts, test_spares_that_do_not_join_are_negative_binomial):
        must_reject(check, replaced("gemsim.analytic.spares:_compound", each_batch_one_node))
