"""The general form: its recursion against 40-digit linear algebra, its whole against a job played failure by
failure."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.analytic import renewal
from tests import statcheck
from tests.analytic.monte_carlo import IN_PLACE, KEEP, ROLL_BACK, Job, lives

JOBS = {
    "two stalls, two restarts": Job(
        900.0, 40.0, restarting=[(2e-4, 300.0), (5e-5, 1500.0)], in_place=[(4e-4, 60.0), (1e-4, 500.0)]
    ),
    "stall longer than a restart": Job(
        900.0, 40.0, restarting=[(2e-4, 100.0), (1e-4, 900.0)], in_place=[(5e-4, 400.0)]
    ),
    "write lag": Job(600.0, 5.0, restarting=[(2e-4, 200.0)], in_place=[(6e-4, 90.0)], write_lag=500.0),
    "kept restarts": Job(1200.0, 60.0, restarting=[(1.5e-4, 600.0)], keeping=[(5e-4, 200.0), (2e-4, 50.0)], step=200.0),
    "all kinds": Job(
        1200.0,
        60.0,
        restarting=[(1.5e-4, 600.0)],
        in_place=[(3e-4, 250.0), (2e-4, 20.0)],
        keeping=[(4e-4, 200.0)],
        step=150.0,
    ),
    "write goes on through kept restarts": Job(
        600.0, 10.0, restarting=[(3e-4, 300.0)], keeping=[(5e-4, 100.0)], step=60.0, write_lag=400.0
    ),
}


def predicted(job: Job) -> float:
    """The closed form of a job, looked up at call time so that a planted fault is seen."""
    return renewal.general_ettr(
        job.tau,
        job.delta,
        restarting=job.restarting,
        in_place=job.in_place,
        keeping=job.keeping,
        step=job.step,
        write_lag=job.write_lag,
    )


def check_against_play(name: str) -> None:
    """Renewal-reward: over lives, kept work minus ETTR x length has mean zero. Sees an ETTR off by 2 %."""
    job = JOBS[name]
    ettr = predicted(job)
    seeds = np.random.SeedSequence([2026, *name.encode()]).spawn(2)
    length = 1.0 / sum(rate for rate, _ in job.restarting)

    def surplus(stage: int) -> np.ndarray:
        kept, wall = lives(job, 100_000, np.random.default_rng(seeds[stage]))
        return (kept - ettr * wall) / (ettr * length)

    statcheck.mean_two_stage(surplus, 0.0, detect=0.02)


@pytest.mark.parametrize("name", JOBS)
def test_form_agrees_with_a_job_played_out(name: str) -> None:
    check_against_play(name)


def solved(job: Job) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """(roll-back, keep, in-place, wall per running) by a dense system over every (kind, length), in 40 digits."""
    with mpmath.workdps(40):
        classes = [(kind, mpmath.mpf(rate), mpmath.mpf(seconds)) for kind, rate, seconds in job.classes]
        total = mpmath.fsum(rate for _, rate, _ in classes)
        lengths = sorted({seconds for _, _, seconds in classes})
        states = [(kind, length) for kind in (IN_PLACE, KEEP, ROLL_BACK) for length in lengths]
        place = {state: i for i, state in enumerate(states)}
        matrix = mpmath.eye(len(states))
        right = mpmath.zeros(len(states), 4)
        for state, row in place.items():
            kind, length = state
            end = mpmath.exp(-total * length)
            stay = (1 - end) / total
            for other, rate, seconds in classes:
                matrix[row, place[max(kind, other), max(length, seconds)]] -= rate * stay
            right[row, 3] = stay
            right[row, kind] += end
        answer = mpmath.lu_solve(matrix, right[:, 3])
        ends = [mpmath.lu_solve(matrix, right[:, kind]) for kind in (ROLL_BACK, KEEP, IN_PLACE)]
        first = [(rate, place[kind, seconds]) for kind, rate, seconds in classes]
        rates = [mpmath.fsum(rate * end[row] for rate, row in first) for end in ends]
        return rates[0], rates[1], rates[2], 1 + mpmath.fsum(rate * answer[row] for rate, row in first)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 30.0])
@pytest.mark.parametrize("name", JOBS)
def test_recursion_is_the_dense_solution(name: str, scale: float) -> None:
    base = JOBS[name]
    job = replace(
        base,
        restarting=[(rate * scale, d) for rate, d in base.restarting],
        in_place=[(rate * scale, d) for rate, d in base.in_place],
        keeping=[(rate * scale, d) for rate, d in base.keeping],
    )
    found = renewal.interruptions(restarting=job.restarting, in_place=job.in_place, keeping=job.keeping)
    wanted = solved(job)
    total = sum(rate for _, rate, _ in job.classes)
    assert found.roll_back + found.keep + found.in_place == pytest.approx(total, rel=1e-13)
    for ours, exact in zip(found, wanted, strict=True):
        assert ours == pytest.approx(float(exact), rel=1e-12)
    # the small part of wall time keeps its digits too
    assert found.wall_per_running - 1.0 == pytest.approx(float(wanted[3] - 1), rel=1e-12, abs=3e-16)


rates = st.floats(1e-9, 1e-3)
times = st.floats(0.0, 2000.0)


@given(a=rates, b=rates, stall=times, more=times, tau=st.floats(1.0, 1e4), delta=st.floats(0.0, 100.0))
def test_one_stall_is_the_form_of_section_six(
    a: float, b: float, stall: float, more: float, tau: float, delta: float
) -> None:
    restart = stall + more
    segment = renewal.in_place_segment(tau, delta, in_place=[(a, stall)], roll_back=b, restart=restart)
    found = renewal.general_ettr(tau, delta, restarting=[(b, restart)], in_place=[(a, stall)])
    assert found == pytest.approx(tau / segment, rel=1e-11)
    success = renewal.mean_stall_success([(a, stall)], roll_back=b)
    thinned = renewal.interruptions(restarting=[(b, restart)], in_place=[(a, stall)]).roll_back
    assert thinned == pytest.approx(b + a * (1 - success), rel=1e-9)


@given(b=rates, restart=times, tau=st.floats(1.0, 1e4), delta=st.floats(0.0, 100.0))
def test_roll_backs_alone(b: float, restart: float, tau: float, delta: float) -> None:
    found = renewal.general_ettr(tau, delta, restarting=[(b, restart)])
    assert found == pytest.approx(renewal.roll_back_ettr(tau, delta, rate=b, restart=restart), rel=1e-11)


@given(a=rates, b=rates, lag=times, overhead=st.floats(0.0, 1.0))
def test_lag_and_overhead_are_factors(a: float, b: float, lag: float, overhead: float) -> None:
    plain = renewal.general_ettr(600.0, 5.0, restarting=[(b, 90.0)], in_place=[(a, 9.0)])
    full = renewal.general_ettr(
        600.0, 5.0, restarting=[(b, 90.0)], in_place=[(a, 9.0)], write_lag=lag, overhead=overhead
    )
    assert full == pytest.approx(plain * renewal.write_lag_factor(b, lag) / (1 + overhead), rel=1e-13)


@given(factor=st.floats(1e-3, 1e3), name=st.sampled_from(sorted(JOBS)))
def test_ettr_does_not_depend_on_the_unit_of_time(factor: float, name: str) -> None:
    job = JOBS[name]
    scaled = Job(
        job.tau * factor,
        job.delta * factor,
        restarting=[(rate / factor, d * factor) for rate, d in job.restarting],
        in_place=[(rate / factor, d * factor) for rate, d in job.in_place],
        keeping=[(rate / factor, d * factor) for rate, d in job.keeping],
        step=job.step * factor,
        write_lag=job.write_lag * factor,
    )
    assert predicted(scaled) == pytest.approx(predicted(job), rel=1e-12)


def test_splitting_a_class_changes_nothing() -> None:
    whole = renewal.general_ettr(
        900.0, 9.0, restarting=[(3e-4, 300.0)], in_place=[(2e-4, 30.0)], keeping=[(1e-4, 60.0)]
    )
    split = renewal.general_ettr(
        900.0,
        9.0,
        restarting=[(1e-4, 300.0), (2e-4, 300.0), (0.0, 1e9)],
        in_place=[(1.5e-4, 30.0), (5e-5, 30.0)],
        keeping=[(1e-4, 60.0)],
    )
    assert split == pytest.approx(whole, rel=1e-14)


def test_limits() -> None:
    assert renewal.general_ettr(90.0, 10.0, restarting=[]) == 0.9
    assert renewal.general_ettr(0.0, 10.0, restarting=[(1e-4, 1.0)]) == 0.0
    assert renewal.general_ettr(90.0, 10.0, restarting=[(1.0, 5000.0)]) == 0.0
    assert renewal.general_ettr(90.0, 10.0, restarting=[(1e-3, 0.0)], write_lag=1e9) == 0.0
    rare = renewal.general_ettr(90.0, 10.0, restarting=[(1e-300, 10.0)])
    assert rare == pytest.approx(0.9, rel=1e-15)
    # no roll-backs at all: kept restarts cost their down time, the saves in between, and unfinished steps
    keep = renewal.general_ettr(1e6, 0.0, restarting=[], keeping=[(1e-3, 10.0)])
    assert keep == pytest.approx(1.0 / (1.0 + math.expm1(0.01)), rel=1e-12)
    # interruptions long before the cycle ends: e^{-hT} / (1 - e^{-hT}) whole steps of T in each
    steps = renewal.general_ettr(1e9, 0.0, restarting=[], keeping=[(1e-2, 0.0)], step=50.0)
    assert steps == pytest.approx(50.0 * 1e-2 * math.exp(-0.5) / -math.expm1(-0.5), rel=1e-9)


@pytest.mark.parametrize("rate", [1e-12, 1e-8, 1.1e-7, 1e-4, 3e-3, 1.0])
@pytest.mark.parametrize("step", [0.0, 37.0, 100.0, 600.0])
def test_work_kept_at_an_interruption_is_its_integral(rate: float, step: float) -> None:
    tau, delta = 600.0, 45.0
    with mpmath.workdps(30):
        whole = mpmath.mpf(step) * math.floor(tau / step) if step else mpmath.mpf(tau)
        cuts = [step * i for i in range(math.floor(tau / step) + 1)] if step else []
        points = [mpmath.mpf(x) for x in sorted({*cuts, 0.0, tau, tau + delta})]

        def density(s: mpmath.mpf) -> mpmath.mpf:
            return rate * mpmath.exp(-rate * s) / -mpmath.expm1(-rate * mpmath.mpf(tau + delta))

        parts = []
        for a, b in pairwise(points):
            middle = (a + b) / 2
            if step:
                work = min(whole, step * mpmath.floor(middle / step))
                parts.append(mpmath.quad(lambda s, work=work: work * density(s), [a, b]))
            else:
                parts.append(mpmath.quad(lambda s: min(s, whole) * density(s), [a, b]))
        exact = mpmath.fsum(parts)
    assert renewal.kept_at_interruption(tau, delta, rate=rate, step=step) == pytest.approx(float(exact), rel=1e-7)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_refuses_what_is_no_rate_or_time(bad: float) -> None:
    with pytest.raises(ValueError, match="finite number"):
        renewal.interruptions(restarting=[(bad, 1.0)])
    with pytest.raises(ValueError, match="finite number"):
        renewal.interruptions(restarting=[], keeping=[(1.0, bad)])
    with pytest.raises(ValueError, match="tau"):
        renewal.general_ettr(bad, 1.0, restarting=[])


@pytest.mark.parametrize("failures", [0.0, 1e-6, 1e-3, 1.0, 7.0])
def test_saves_at_marks_of_the_wall_keep_the_age_of_a_poisson_process(failures: float) -> None:
    """Failures of no length: a period of tau keeps the mean of min(tau, age), and never less than a clock that starts
    anew."""
    tau = 1000.0
    restarting = [(failures / tau, 0.0)]
    found = renewal.general_ettr(tau, 0.0, restarting=restarting, wall_anchor=True)
    assert found == pytest.approx(float(mpmath.quad(lambda t: mpmath.exp(-failures * t), [0, 1])), rel=1e-9)
    assert found >= renewal.general_ettr(tau, 0.0, restarting=restarting) * (1 - 1e-9)
    saving = renewal.general_ettr(tau, 250.0, restarting=[(1e-12, 0.0)], wall_anchor=True)
    assert saving == pytest.approx(0.8, rel=1e-6)
