"""Chains and spares: against a linear solve in fractions, scipy's laws, and the cases of the reference."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.analytic import markov


def solved(up: list[Fraction], down: list[Fraction]) -> Fraction:
    """Mean hitting time by Gaussian elimination in fractions on the generator: sum_j q_ij t_j = -1."""
    size = len(up)
    rows = []
    for i in range(size):
        row = [Fraction(0)] * size + [Fraction(-1)]
        back = down[i - 1] if i else Fraction(0)
        row[i] = -(up[i] + back)
        if i + 1 < size:
            row[i + 1] = up[i]
        if i:
            row[i - 1] = back
        rows.append(row)
    for i in range(size):
        pivot = rows[i][i]
        rows[i] = [x / pivot for x in rows[i]]
        for other in range(size):
            if other != i and rows[other][i]:
                factor = rows[other][i]
                rows[other] = [x - factor * y for x, y in zip(rows[other], rows[i], strict=True)]
    return rows[0][-1]


@pytest.mark.parametrize("crews", [None, 1, 2])
@pytest.mark.parametrize(("k", "m"), [(1, 0), (8, 1), (10, 4), (32, 4), (200, 6), (16, 16)])
@pytest.mark.parametrize(("failure", "repair"), [(1e-9, 1e-2), (1e-6, 1e-1), (1e-3, 1e-3), (1e-2, 0.0)])
def test_time_to_data_loss_is_the_exact_solution(
    k: int, m: int, crews: int | None, failure: float, repair: float
) -> None:
    up = [(k + m - i) * Fraction(failure) for i in range(m + 1)]
    down = [min(i, crews or i) * Fraction(repair) for i in range(1, m + 1)]
    exact = solved(up, down)
    found = markov.mean_time_to_data_loss(k, m, failure_rate=failure, repair_rate=repair, crews=crews)
    assert found == pytest.approx(float(exact), rel=1e-13)


def test_raid_five() -> None:
    """m = 1 in closed form: ((2k + 1) f + r) / (k (k + 1) f^2), Patterson, Gibson and Katz (1988) keep r alone."""
    k, f, r = 8, 1e-6, 1e-2
    exact = ((2 * k + 1) * f + r) / (k * (k + 1) * f * f)
    assert markov.mean_time_to_data_loss(k, 1, failure_rate=f, repair_rate=r) == pytest.approx(exact, rel=1e-14)


def test_chain_limits() -> None:
    assert markov.mean_time_to_data_loss(4, 2, failure_rate=0.0, repair_rate=1.0) == math.inf
    assert markov.mean_hitting_time([2.0], []) == 0.5
    with pytest.raises(ValueError, match="one rate down"):
        markov.mean_hitting_time([1.0, 1.0], [])
    with pytest.raises(ValueError, match="> 0"):
        markov.mean_hitting_time([1.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="k >= 1"):
        markov.mean_time_to_data_loss(0, 1, failure_rate=1.0, repair_rate=1.0)


@given(mean=st.floats(1e-3, 500.0), more_than=st.integers(-1, 700))
def test_poisson_tail_is_scipys(mean: float, more_than: int) -> None:
    from scipy.stats import poisson

    assert markov.poisson_tail(mean, more_than) == pytest.approx(poisson.sf(more_than, mean), rel=1e-9, abs=1e-300)


def test_opt_buffer_hosts() -> None:
    """Case 2: two hosts a day leave for 6 to 72 hours."""
    rate = 2 / 86_400
    for hours, spares in ((6, 3), (12, 4), (24, 6), (48, 9), (72, 12)):
        assert markov.spares_for_repairs(rate, 3600.0 * hours, confidence=0.99) == spares
    for hours, more_than, share in ((24, 4, 0.053), (48, 4, 0.37), (72, 4, 0.71), (72, 12, 0.009), (72, 18, 0.00002)):
        found = markov.down_at_once(rate, 3600.0 * hours, more_than=more_than)
        assert found == pytest.approx(share, rel=0.15 if share < 0.001 else 0.03)


@pytest.mark.parametrize(("nodes", "spares"), [(100, (2, 3)), (1000, (10, 12)), (4000, (27, 31)), (18_000, (96, 104))])
def test_ten_percent_is_overkill(nodes: int, spares: tuple[int, int]) -> None:
    """Case 9: node MTBF 5,720 h, a day without repair."""
    rate = nodes / (5720 * 3600)
    found = tuple(markov.spares_for_repairs(rate, 86_400.0, confidence=c) for c in (0.99, 0.999))
    assert found == spares


@pytest.mark.parametrize(
    ("needed", "spares"), [(32, (3, 5)), (64, (5, 7)), (128, (8, 10)), (256, (13, 15)), (512, (21, 24))]
)
def test_spares_beside_needed_nodes(needed: int, spares: tuple[int, int]) -> None:
    """Case 10: each node down 2.32 % of the time."""
    found = tuple(markov.spares_for_units(needed, 0.0232, confidence=c) for c in (0.99, 0.999))
    assert found == spares


@given(load=st.floats(0.01, 0.95), crews=st.integers(1, 20), more_than=st.integers(0, 60))
def test_queue_is_the_stationary_chain(load: float, crews: int, more_than: int) -> None:
    rate, repair = load * crews, 1.0
    weights = [1.0]
    for count in range(1, 3000):
        weights.append(weights[-1] * rate / (repair * min(count, crews)))
    exact = math.fsum(weights[more_than + 1 :]) / math.fsum(weights)
    assert markov.queue_tail(rate, repair, crews=crews, more_than=more_than) == pytest.approx(exact, rel=1e-9)


def test_queue_limits() -> None:
    assert markov.queue_tail(2.0, 1.0, crews=500, more_than=4) == pytest.approx(markov.poisson_tail(2.0, 4), rel=1e-12)
    assert markov.queue_tail(2.0, 1.0, crews=2, more_than=100) == 1.0
    assert markov.queue_tail(0.5, 1.0, crews=1, more_than=-1) == 1.0
    assert markov.queue_tail(0.5, 1.0, crews=1, more_than=0) == 0.5
    with pytest.raises(ValueError, match="crews"):
        markov.queue_tail(1.0, 1.0, crews=0, more_than=1)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="mean"):
        markov.poisson_tail(math.nan, 1)
    with pytest.raises(ValueError, match="confidence"):
        markov.spares_for_repairs(1.0, 1.0, confidence=1.0)
    with pytest.raises(ValueError, match="unavailability"):
        markov.spares_for_units(3, 1.0, confidence=0.9)
    assert markov.poisson_tail(0.0, 0) == 0.0
    assert markov.spares_for_repairs(0.0, 1.0, confidence=0.99) == 0
