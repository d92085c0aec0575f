"""What restarts do to saves: fewer are reached, writes are cut off; and random times as a few fixed ones."""

from __future__ import annotations

from math import exp, expm1

import numpy as np
import pytest

from gemsim.analytic import renewal
from gemsim.analytic.lengths import lengths
from gemsim.analytic.saves import cut_off_writes, not_durable, stalled_share
from gemsim.failures.laws import duration


def test_restarts_keep_saves_from_coming() -> None:
    assert stalled_share(90.0, 10.0, ending=0.0) == pytest.approx(0.1)
    rng = np.random.default_rng(1)
    cut = np.minimum(rng.exponential(1 / 0.01, 400_000), 100.0)
    saving = np.maximum(0.0, cut - 90.0)
    assert stalled_share(90.0, 10.0, ending=0.01) == pytest.approx(saving.sum() / cut.sum(), rel=0.02)


def test_work_that_no_save_holds_when_a_restart_comes() -> None:
    tau, delta, rate, lag = 90.0, 10.0, 0.004, 25.0
    run = np.random.default_rng(2).exponential(1 / rate, 400_000)
    whole, rest = np.divmod(run, tau + delta)
    durable = np.maximum(0.0, np.floor((run - lag) / (tau + delta)))
    left = whole * tau + np.minimum(rest, tau) - durable * tau
    assert not_durable(tau, delta, ending=rate, lag=lag) == pytest.approx(left.mean(), rel=0.01)
    assert not_durable(tau, delta, ending=1e-12, lag=lag) == pytest.approx(
        tau * (tau / 2 + delta + lag) / (tau + delta)
    )


def test_the_write_lag_of_roll_backs_alone_is_the_exact_factor() -> None:
    tau, delta, b, lag = 300.0, 5.0, 1e-3, 60.0
    plain = 1.0 - stalled_share(tau, delta, ending=b) - b * not_durable(tau, delta, ending=b, lag=lag)
    assert plain == pytest.approx(b * tau * exp(-b * lag) / expm1(b * (tau + delta)))


def test_kept_restarts_that_cut_off_writes_as_played() -> None:
    tau, delta, b, k, lag = 180.0, 2.0, 2e-3, 1e-3, 60.0
    rng = np.random.default_rng(3)
    run = rng.exponential(1 / (b + k), 400_000)
    rolled = rng.random(len(run)) < b / (b + k)
    whole, rest = np.divmod(run, tau + delta)
    work = whole * tau + np.minimum(rest, tau)
    durable = np.maximum(0.0, np.floor((run - lag) / (tau + delta))) * tau
    carried = lost = 0.0
    for done, held, back in zip(work, durable, rolled, strict=True):
        carried = done - held + (carried if held == 0.0 else 0.0)
        if back:
            lost, carried = lost + carried, 0.0
    played = (work.sum() - lost) / run.sum()
    factor = cut_off_writes(tau, delta, roll_back=b, keep=k, lag=lag)
    said = renewal.general_ettr(tau, delta, restarting=[(b, 0.0)], keeping=[(k, 0.0)], write_lag=lag, factor=factor)
    assert said == pytest.approx(played, rel=0.01)
    goes_on = renewal.general_ettr(tau, delta, restarting=[(b, 0.0)], keeping=[(k, 0.0)], write_lag=lag)
    assert abs(goes_on / played - 1.0) > 0.02


def test_restarts_after_a_save_of_their_own_leave_nothing_to_lose() -> None:
    of = {"roll_back": 2e-3, "keep": 1e-3, "lag": 60.0}
    assert cut_off_writes(180.0, 2.0, **of, saved=1e-3) > cut_off_writes(180.0, 2.0, **of, saved=0.0)
    assert cut_off_writes(180.0, 2.0, roll_back=2e-3, keep=0.0, lag=60.0) == 1.0


@pytest.mark.parametrize("law", [duration("exponential", 45.0), duration("lognormal", 45.0, 0.7)])
def test_a_random_time_as_a_few(law) -> None:  # type: ignore[no-untyped-def]
    few = lengths(law)
    assert sum(share for share, _ in few) == pytest.approx(1.0)
    assert sum(share * seconds for share, seconds in few) == pytest.approx(45.0)
    square = 2.0 if law.kind == "exponential" else exp(0.49)
    assert sum(share * seconds**2 for share, seconds in few) == pytest.approx(square * 45.0**2, rel=1e-3)
    assert lengths(duration("fixed", 45.0)) == ((1.0, 45.0),)


def test_classes_of_running_time_begin_interruptions_and_hit_none() -> None:
    alone = renewal.interruptions(restarting=[], running={"restarting": [(1e-2, 500.0)]})
    assert alone.wall_per_running == pytest.approx(1.0 + 5.0)
    beside = renewal.interruptions(restarting=[(1e-3, 100.0)], running={"restarting": [(1e-2, 100.0)]})
    again = expm1(0.1) / 1e-3  # a stop of 100 s that the other class hits and begins anew
    assert beside.wall_per_running == pytest.approx(1.0 + 1.1e-2 * again)
    assert beside.roll_back == pytest.approx(1.1e-2)
