"""Pairs of failures that fall deeper than either alone, and jobs that start again from nothing, by hand."""

from __future__ import annotations

from math import expm1
from typing import Any

import pytest

from gemsim.analytic import anew
from gemsim.analytic.copies import one_short
from gemsim.analytic.run import predict
from gemsim.protection.damage import Damage, Nature
from gemsim.protection.pairs import _Known, falls
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario
from tests.engine.small import RETRY, run, scenario
from tests.engine.test_replica import REMOTE, replica, small
from tests.faults import must_reject, replaced
from tests.scenario.test_redundancy import stored


def branch(of: Scenario, rate: float, number: int = 0, **lost: Any) -> Branch:
    damage = Damage(alive=False, **lost)
    return Branch(rate, of.classes[0], Nature("node"), damage, "replace", "near", number, "roll_back", 0.0, 0.0)


def host(of: Scenario, rate: float) -> Branch:
    """A lost host, with its GPUs."""
    return branch(of, rate, hosts=frozenset({1}), lost=frozenset({("node", 1)}))


def test_a_peer_lost_in_the_recovery_or_before_the_next_save_falls_to_the_store() -> None:
    of, rate, seconds = small(replica(), REMOTE), 1e-6, 45.0
    found = falls(of, [host(of, rate)], lambda one: seconds)
    in_recovery = expm1(rate * seconds) / rate
    window = of.timeline.pace + of.tiers[0].lag  # type: ignore[attr-defined]
    assert {fall.failures: fall.rate for fall in found} == pytest.approx(
        {2: rate * rate * in_recovery / 4, 1: rate * rate * window / 4}, rel=1e-4
    )  # one host of four is the peer
    assert all(fall.number == 1 for fall in found)


def test_nothing_behind_the_copies_is_the_start_of_the_job() -> None:
    of = small(replica())
    assert {fall.number for fall in falls(of, [host(of, 1e-6)], lambda one: 45.0)} == {-1}


def test_a_bad_copy_behind_is_the_start_too() -> None:
    remote = {"checkpoint": REMOTE["checkpoint"] | {"invalid": 0.25}}
    found = falls(small(replica(), remote), [host(small(replica(), remote), 1e-6)], lambda one: 45.0)
    store, start = (sum(fall.rate for fall in found if fall.number == number) for number in (1, -1))
    assert start / (store + start) == pytest.approx(0.25)


def test_a_node_that_is_waited_for_is_at_risk_as_long() -> None:
    of = small(replica(), REMOTE)

    def met(lacking: float) -> float:
        found = falls(of, [host(of, 1e-9)], lambda one: 45.0, lacking=lacking)
        return next(fall.rate for fall in found if fall.failures == 2)

    assert met(450.0) == pytest.approx(11.0 * met(0.0), rel=1e-3)


def test_a_store_alone_and_lost_processes_meet_in_nothing() -> None:
    of = small(replica(), REMOTE)
    assert falls(of, [branch(of, 1e-4)], lambda one: 45.0) == ()
    alone = small(REMOTE)
    assert falls(alone, [host(alone, 1e-4)], lambda one: 45.0) == ()


def test_a_further_roll_back_fetches_again() -> None:
    of = small(replica(), REMOTE)
    found = [branch(of, 1e-4, hosts=frozenset({1})), branch(of, 2e-4)]
    window = 45.0 + 10.0 + 10.0  # the recovery, then a step until the next save, complete a step later
    assert one_short(of, found, 45.0) == pytest.approx(1e-4 * window * 3e-4 * 0.5)
    disk = stored("disk", redundancy="rs", write="0 s", read="1 s", fetch="3 s")
    assert one_short(disk, [branch(disk, 1e-4, disks=frozenset({1}))], 0.0) == pytest.approx(1e-4 * 100.0 * 1e-4 * 2.0)


def test_what_is_left_of_a_run_that_starts_again() -> None:
    assert anew.kept(0.0) == 1.0
    assert anew.kept(1e-7) == pytest.approx(1.0 - 5e-8, abs=1e-14)
    assert anew.kept(3.0) == pytest.approx(-expm1(-3.0) / 3.0)
    assert anew.doubt(3.0, 0.1) == pytest.approx((anew.kept(2.7) - anew.kept(3.3)) / 2.0)


def test_a_job_without_protection_has_what_it_did_since_its_last_failure() -> None:
    of = scenario(RETRY, mode="all_processes", failures__scale=1.0)
    assert run(of)["unrecoverable"] == 0
    said = predict(of)
    starts = said["failures_analytic"]
    assert said["analytic_kind"] == "first_order"
    assert said["ettr_analytic"] <= anew.kept(0.9 * starts)


def check_what_is_known() -> None:
    """Two copies and three, in turn: neither takes what the other's tiers answered."""
    two, three = small(replica(), REMOTE), small(replica(copies=3), REMOTE)
    for _ in range(2):
        assert falls(two, [host(two, 1e-6)], lambda one: 45.0)
        assert not falls(three, [host(three, 1e-6)], lambda one: 45.0)


def test_what_tiers_answered_is_taken_for_tiers_like_them_alone() -> None:
    check_what_is_known()
    one = _Known()
    must_reject(check_what_is_known, replaced("gemsim.protection.pairs:_known", lambda original: lambda scenario: one))
