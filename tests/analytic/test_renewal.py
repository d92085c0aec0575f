"""Renewal forms with one or two kinds of failure: published values, and 50-digit arithmetic over the whole range."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.analytic import renewal
from gemsim.analytic.first_order import fleet_rate, young_interval


@pytest.mark.parametrize(
    ("gpus", "tau", "down", "ettr"),
    [(16_000, 3600.0, 0.0, 0.7202), (16_000, 300.0, 0.0, 0.9345), (8_000, 1800.0, 60.0, 0.9089)],
)
def test_rsc_jobs(gpus: int, tau: float, down: float, ettr: float) -> None:
    """Reference scenarios R4 and R5: RSC-1 at 6.5 failures per 1000 node-days, 300 s of restart that can fail."""
    rate = fleet_rate(6.5, gpus / 8)
    assert renewal.roll_back_ettr(tau, 0.0, rate=rate, restart=300.0, down=down) == pytest.approx(ettr, abs=5e-5)


@pytest.mark.parametrize(
    ("per_thousand", "save", "ettr"), [(6.5, 300.0, 0.7358), (1.0, 300.0, 0.8967), (6.5, 10.0, 0.9215)]
)
def test_rsc_optimum(per_thousand: float, save: float, ettr: float) -> None:
    """Reference scenario R6: 12,000 GPUs at Young's interval (the second is 0.89665 there, 0.89670 at the optimum)."""
    rate = fleet_rate(per_thousand, 1500)
    tau = young_interval(save, rate)
    assert renewal.roll_back_ettr(tau, save, rate=rate, restart=300.0) == pytest.approx(ettr, abs=1e-4)
    best = renewal.roll_back_ettr(renewal.optimal_interval(save, rate), save, rate=rate, restart=300.0)
    assert ettr - 5e-5 < best < ettr + 1e-3


@pytest.mark.parametrize(
    ("mtbf", "minutes", "efficiency"), [(86_400.0, 116.7, 0.913), (21_600.0, 56.7, 0.819), (900.0, 9.17, 0.200)]
)
def test_daly_examples(mtbf: float, minutes: float, efficiency: float) -> None:
    """Case 3: the exact optimum of Daly's (2006) three examples, d = 5 min, R = 10 min."""
    tau = renewal.optimal_interval(300.0, 1 / mtbf)
    assert tau / 60 == pytest.approx(minutes, abs=0.05)
    assert renewal.roll_back_ettr(tau, 300.0, rate=1 / mtbf, restart=600.0) == pytest.approx(efficiency, abs=5e-4)


@pytest.mark.parametrize(("save", "restart", "ettr"), [(40.0, 0.0, 0.33), (40.0, 300.0, 0.013), (394.0, 0.0, 0.005)])
def test_no_periodic_scheme_works_on_spot_nodes(save: float, restart: float, ettr: float) -> None:
    """Case 11: 64 spot nodes at 0.61 preemptions per node-hour, one every 92 s."""
    rate = 64 * 0.61 / 3600
    assert 1 / rate == pytest.approx(92.0, abs=0.5)
    best = renewal.roll_back_ettr(renewal.optimal_interval(save, rate), save, rate=rate, restart=restart)
    assert best == pytest.approx(ettr, rel=0.08)


@pytest.mark.parametrize("cost", [1e-18, 1e-12, 1e-9, 1e-6, 1e-3, 0.0049, 0.0051, 0.1, 1.0, 5.0, 29.9, 30.1, 100.0])
def test_optimum_is_lamberts(cost: float) -> None:
    rate = 1e-5
    with mpmath.workdps(60):
        exact = (1 + mpmath.lambertw(-mpmath.exp(-1 - mpmath.mpf(cost)))) / rate
    assert renewal.optimal_interval(cost / rate, rate) == pytest.approx(float(exact.real), rel=1e-13)


@given(cost=st.floats(1e-6, 5.0), nudge=st.floats(-0.3, 0.3))
def test_optimum_is_the_best(cost: float, nudge: float) -> None:
    rate, delta = 1e-4, cost / 1e-4
    tau = renewal.optimal_interval(delta, rate)
    best = renewal.roll_back_ettr(tau, delta, rate=rate, restart=60.0)
    assert renewal.roll_back_ettr(tau * (1 + nudge), delta, rate=rate, restart=60.0) <= best * (1 + 1e-12)


def test_optimum_with_in_place_repairs_uses_the_thinned_rate() -> None:
    restarting, in_place = [(2e-4, 400.0)], [(8e-4, 120.0)]
    tau = renewal.optimal_interval(30.0, renewal.interruptions(restarting=restarting, in_place=in_place).roll_back)
    best = renewal.general_ettr(tau, 30.0, restarting=restarting, in_place=in_place)
    for other in (0.9 * tau, 0.99 * tau, 1.01 * tau, 1.1 * tau):
        assert renewal.general_ettr(other, 30.0, restarting=restarting, in_place=in_place) < best


def test_optimum_at_the_edges() -> None:
    assert renewal.optimal_interval(0.0, 1e-4) == 0.0
    assert renewal.optimal_interval(10.0, 0.0) == math.inf
    with pytest.raises(ValueError, match="delta"):
        renewal.optimal_interval(-1.0, 1e-4)


@given(
    rate=st.floats(1e-12, 1e-2),
    tau=st.floats(1.0, 1e5),
    delta=st.floats(0.0, 1e3),
    restart=st.floats(0.0, 5e3),
    down=st.floats(0.0, 5e3),
)
def test_segment_against_first_principles(rate: float, tau: float, delta: float, restart: float, down: float) -> None:
    """E = w if nothing fails, else the time to the failure, the recovery, and E again; recovery likewise."""
    with mpmath.workdps(50):
        lam = mpmath.mpf(rate)

        def cut(length: mpmath.mpf) -> mpmath.mpf:
            """Mean time of a failure, given that it comes within `length`."""
            return 1 / lam - length / mpmath.expm1(lam * length)

        through = mpmath.exp(-lam * mpmath.mpf(restart))
        recovery = mpmath.mpf(down) + restart
        if restart:
            recovery += (1 - through) / through * (down + cut(mpmath.mpf(restart)))
        cycle = mpmath.mpf(tau) + delta
        done = mpmath.exp(-lam * cycle)
        exact = cycle + (1 - done) / done * (cut(cycle) + recovery)
    found = renewal.roll_back_segment(tau, delta, rate=rate, restart=restart, down=down)
    assert found == (pytest.approx(float(exact), rel=1e-12) if float(exact) < 1e300 else math.inf)


def test_segment_limits() -> None:
    assert renewal.roll_back_segment(100.0, 5.0, rate=0.0, restart=9.0, down=9.0) == 105.0
    assert renewal.roll_back_segment(1e6, 0.0, rate=1.0) == math.inf
    assert renewal.roll_back_ettr(1e6, 0.0, rate=1.0) == 0.0


def test_several_stalls_that_replace_each_other() -> None:
    """Two in-place classes where a hit puts its own stall in place: L of each by a 2 x 2 system, weighted by rate."""
    (a1, d1), (a2, d2), b = (3e-4, 200.0), (1e-4, 900.0), 2e-4
    total = a1 + a2 + b
    with mpmath.workdps(40):
        ends = [mpmath.exp(-mpmath.mpf(total) * d) for d in (d1, d2)]
        rows = [[int(i == j) - (1 - ends[i]) * (a1, a2)[j] / total for j in range(2)] for i in range(2)]
        success = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(ends))
        mean = (a1 * success[0] + a2 * success[1]) / (a1 + a2)
    assert renewal.mean_stall_success([(a1, d1), (a2, d2)], roll_back=b) == pytest.approx(float(mean), rel=1e-13)


@given(a=st.just(0.0) | st.floats(1e-15, 1e-2), b=st.floats(0.0, 1e-2), stall=st.floats(0.0, 5e3))
def test_stall_success_is_a_probability_and_one_without_roll_backs(a: float, b: float, stall: float) -> None:
    success = renewal.mean_stall_success([(a, stall)], roll_back=b)
    assert 0.0 <= success <= 1.0
    assert renewal.mean_stall_success([(a, stall)], roll_back=0.0) == 1.0
    split = [(a / 2, stall), (a / 2, stall)]
    assert renewal.mean_stall_success(split, roll_back=b) == pytest.approx(success, abs=1e-14)


def test_in_place_form_needs_roll_backs() -> None:
    with pytest.raises(ValueError, match="roll_back"):
        renewal.in_place_segment(10.0, 1.0, in_place=[(1e-3, 1.0)], roll_back=0.0)


def test_down_time_that_cannot_fail() -> None:
    """With no in-place class the two-kind form is the roll-back form, down time included."""
    kind = {"restart": 200.0, "down": 700.0}
    two = renewal.in_place_segment(900.0, 9.0, in_place=[], roll_back=1e-4, **kind)
    assert two == pytest.approx(renewal.roll_back_segment(900.0, 9.0, rate=1e-4, **kind), rel=1e-13)
