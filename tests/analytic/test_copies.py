"""What a second lost host adds, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from gemsim.analytic.copies import one_short
from gemsim.protection.damage import Damage, Nature
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario
from tests.engine.test_replica import REMOTE, replica, small
from tests.scenario.test_redundancy import stored


def branch(of: Scenario, rate: float, number: int = 0, **lost: Any) -> Branch:
    damage = Damage(alive=False, **lost)
    return Branch(rate, of.classes[0], Nature("node"), damage, "replace", "near", number, "roll_back", 0.0, 0.0)


def test_a_further_roll_back_fetches_again_and_a_lost_peer_falls_to_the_store() -> None:
    of = small(replica(), REMOTE)
    found = [branch(of, 1e-4, hosts=frozenset({1})), branch(of, 2e-4)]
    window = 45.0 + 10.0 + 10.0  # the recovery, then a step until the next save, complete a step later
    again = 3e-4 * 0.5
    peer = 1e-4 / 4 * (100.0 / 2 + 6.0)  # one host of four is the peer; half of ten steps, and the read
    assert one_short(of, found, 45.0) == pytest.approx(1e-4 * window * (again + peer))


def test_with_a_second_parity_a_second_loss_only_fetches_again() -> None:
    of = stored("disk", redundancy="rs", write="0 s", read="1 s", fetch="3 s")
    found = [branch(of, 1e-4, disks=frozenset({1}))]
    assert one_short(of, found, 0.0) == pytest.approx(1e-4 * 100.0 * 1e-4 * 2.0)
    one = stored("disk", redundancy="xor", write="0 s", read="1 s", fetch="3 s")
    assert one_short(one, found, 0.0) == pytest.approx(1e-4 * 100.0 * 1e-4 * (2.0 + 7 / 8 * 56.0))


def test_nothing_behind_it_costs_half_the_run() -> None:
    of = small(replica())
    found = [branch(of, 1e-4, hosts=frozenset({1}))]
    assert one_short(of, found, 0.0) == pytest.approx(1e-4 * 20.0 * 1e-4 * (0.5 + 2500.0 / 4))


def test_a_store_and_what_loses_no_host_add_nothing() -> None:
    of = small(replica(), REMOTE)
    assert one_short(of, [branch(of, 1e-4), branch(of, 1e-4, 1, hosts=frozenset({1}))], 45.0) == 0.0
