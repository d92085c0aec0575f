"""First-order and published accounting: the values that papers and the cases of the reference print."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.analytic import first_order, renewal
from gemsim.errors import NotCovered


@pytest.mark.parametrize(("gpus", "hours"), [(16_384, 1.80), (131_072, 0.225)])
def test_rsc_projection(gpus: int, hours: float) -> None:
    """Reference scenario R2: mean time between failures at 6.5 per 1000 node-days."""
    assert 1 / first_order.fleet_rate(6.5, gpus / 8) / 3600 == pytest.approx(hours, abs=0.005)


@pytest.mark.parametrize(
    ("gpus", "tau", "queue", "ettr"),
    [(16_000, 3600.0, 0.0, 0.684), (16_000, 300.0, 0.0, 0.932), (8_000, 1800.0, 60.0, 0.905)],
)
def test_rsc_jobs(gpus: int, tau: float, queue: float, ettr: float) -> None:
    """Reference scenarios R4 and R5, first order."""
    rate = first_order.fleet_rate(6.5, gpus / 8)
    found = first_order.meta_ettr(tau, 0.0, rate=rate, restart=300.0, queue=queue)
    assert found == pytest.approx(ettr, abs=5e-4)


@pytest.mark.parametrize(
    ("per_thousand", "save", "ettr"), [(6.5, 300.0, 0.706), (1.0, 300.0, 0.893), (6.5, 10.0, 0.919)]
)
def test_rsc_optimum(per_thousand: float, save: float, ettr: float) -> None:
    """Reference scenario R6, first order, at Young's interval (38 min in the base case)."""
    rate = first_order.fleet_rate(per_thousand, 1500)
    tau = first_order.young_interval(save, rate)
    assert first_order.meta_ettr(tau, save, rate=rate, restart=300.0) == pytest.approx(ettr, abs=5e-4)
    if (per_thousand, save) == (6.5, 300.0):
        assert tau / 60 == pytest.approx(38.0, abs=0.5)


def test_bloom() -> None:
    """Case 1: 66 iterations of 105 s are best; the loss of 66, 100, 200 and 250."""
    save, rate = 40.0, 1 / (168 * 3600)
    assert first_order.young_interval(save, rate) == pytest.approx(6956, abs=1)
    assert first_order.daly_interval(save, rate) / 3600 == pytest.approx(1.92, abs=0.005)
    for iterations, percent in ((66, 1.15), (100, 1.25), (200, 1.93), (250, 2.32)):
        tau = 105.0 * iterations
        assert 100 * first_order.first_order_waste(tau, save, rate=rate) == pytest.approx(percent, abs=0.005)
        exact = 100 * (1 - renewal.roll_back_ettr(tau, save, rate=rate))
        assert exact == pytest.approx(percent, abs=0.3)


@pytest.mark.parametrize(
    ("mtbf", "minutes", "young"), [(86_400.0, 116.7, 120.0), (21_600.0, 56.7, 60.0), (900.0, 9.14, 12.2)]
)
def test_daly_examples(mtbf: float, minutes: float, young: float) -> None:
    """Case 3: published as 117, 57 and 9.1 min."""
    assert first_order.daly_interval(300.0, 1 / mtbf) / 60 == pytest.approx(minutes, abs=0.05)
    assert first_order.young_interval(300.0, 1 / mtbf) / 60 == pytest.approx(young, abs=0.05)


@pytest.mark.parametrize(
    ("save", "mtbf_hours", "minutes", "percent"),
    [(394.0, 24, 137, 9.5), (394.0, 168, 364, 3.6), (44.0, 24, 46, 3.2), (44.0, 168, 122, 1.2)],
)
def test_slow_save(save: float, mtbf_hours: float, minutes: float, percent: float) -> None:
    """Case 8: an 8B model that takes six minutes to save."""
    rate = 1 / (mtbf_hours * 3600)
    tau = first_order.young_interval(save, rate)
    assert tau / 60 == pytest.approx(minutes, abs=0.7)
    assert 100 * first_order.first_order_waste(tau, save, rate=rate) == pytest.approx(percent, abs=0.06)


def test_ft_hsdp_as_printed() -> None:
    """Reference scenarios R9 and R10: a failure every 18 min, 10 or 3 min of stall."""
    assert first_order.published_linear(1.0, [(1 / 1080, 600.0)]) == pytest.approx(0.444, abs=5e-4)
    assert first_order.published_linear(1.0, [(1 / 1080, 180.0)]) == pytest.approx(0.833, abs=5e-4)
    assert first_order.published_linear(0.9, [(1e-4, 100.0), (1e-5, 1000.0)]) == pytest.approx(0.88)
    assert first_order.published_linear(1.0, [(1.0, 2.0)]) == 0.0


@given(
    rate=st.floats(1e-9, 1e-4), tau=st.floats(10.0, 1e5), delta=st.floats(0.0, 500.0), restart=st.floats(0.0, 2000.0)
)
def test_first_order_is_never_above_the_exact_form(rate: float, tau: float, delta: float, restart: float) -> None:
    exact = renewal.roll_back_ettr(tau, delta, rate=rate, restart=restart)
    assert first_order.meta_ettr(tau, delta, rate=rate, restart=restart) <= exact + 1e-12


@given(rate=st.floats(1e-9, 1e-6), tau=st.floats(100.0, 1e4), restart=st.floats(0.0, 2000.0))
def test_first_order_differs_by_second_order(rate: float, tau: float, restart: float) -> None:
    exact = 1 - renewal.roll_back_ettr(tau, 0.0, rate=rate, restart=restart)
    assert first_order.first_order_waste(tau, 0.0, rate=rate, restart=restart) == pytest.approx(
        exact, abs=(rate * (tau + restart)) ** 2
    )


@given(cost=st.floats(1e-5, 0.3))
def test_young_and_daly_against_the_optimum(cost: float) -> None:
    rate = 1e-4
    best = renewal.optimal_interval(cost / rate, rate)
    assert first_order.young_interval(cost / rate, rate) / best - 1 == pytest.approx(math.sqrt(2 * cost) / 3, rel=0.5)
    assert first_order.daly_interval(cost / rate, rate) == pytest.approx(best, rel=0.003)


def test_daly_beyond_its_expansion() -> None:
    assert first_order.daly_interval(2.1e4, 1e-4) == 1e4
    assert first_order.daly_interval(1.0, 0.0) == first_order.young_interval(1.0, 0.0) == math.inf


@given(
    save=st.floats(1.0, 600.0), failure=st.floats(1e3, 1e7), recovery=st.floats(0.0, 1e4), nudge=st.floats(-0.2, 0.2)
)
def test_availability_interval_is_the_best_of_its_expression(
    save: float, failure: float, recovery: float, nudge: float
) -> None:
    def availability(cycle: float) -> float:
        return (1 - save / cycle) * failure / (failure + recovery + cycle / 2)

    best = first_order.availability_interval(save, time_to_failure=failure, recovery=recovery)
    assert availability(best * (1 + nudge)) <= availability(best) * (1 + 1e-12)


def test_silent_corruption() -> None:
    waste = first_order.silent_waste(1e-6, latency=7200.0, tau=1800.0, restart=300.0, write_lag=60.0)
    assert waste == pytest.approx(1e-6 * (7200 + 900 + 60 + 300))
    with pytest.raises(NotCovered, match="latency"):
        first_order.silent_waste(1e-5, latency=5000.0, tau=1800.0, restart=300.0)


def test_waste_at_the_edges() -> None:
    assert first_order.first_order_waste(0.0, 1.0, rate=1e-3) == math.inf
    assert first_order.first_order_waste(0.0, 0.0, rate=1e-3, restart=10.0) == pytest.approx(0.01)
    assert first_order.meta_ettr(0.0, 1.0, rate=1e-3) == 0.0
    with pytest.raises(ValueError, match="rate"):
        first_order.meta_ettr(1.0, 1.0, rate=-1.0)
