"""Copies from living peers, through the store after the failure or over the fabric in place: by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gemsim.protection.peer_copy import PeerCopy
from gemsim.protection.tier import Plan
from gemsim.spec.study import StudySpec
from tests.engine.small import PEERS, RETRY, Hit, checkpoint, expect, recovered, run, scenario, spec

SAVE, READ = 9.0, 6.0
STORE = {"peer_copy": {"via": "store", "save": f"{SAVE} s", "read": f"{READ} s"}}


def saved_and_read() -> None:
    """A GPU fails 5 s into step 11: those left save, all restart with the spare, and step 11 begins again."""
    row = run(scenario(STORE, checkpoint(), mode="all_processes"), Hit("gpu", 108.0))
    lost = {"detection": 4, "waiting": 20, "restart": 15, "recovery": SAVE + READ}
    running = 5000 - 108 - sum(lost.values())  # the checkpoint clock begins again
    saves = running // 103
    expect(row, **lost, productive=100 + running - 3 * saves, overhead=3 + 3 * saves, wasted=5)
    assert recovered(row) == {"peer_copy": 1}
    assert row["rollbacks"] == row["fallbacks"] == 0


def test_the_survivors_save_before_they_exit() -> None:
    saved_and_read()


def test_a_second_failure_begins_the_recovery_again() -> None:
    """At 117, 8 s into the wait for the spare of 105: all of it once more, with the copies of the two that are left."""
    row = run(scenario(STORE, mode="all_processes"), Hit("gpu", 105.0), Hit("gpu", 117.0, 4))
    lost = {"detection": 8, "waiting": 8 + 20, "restart": 15, "recovery": SAVE + READ}
    expect(row, **lost, productive=5000 - 5 - sum(lost.values()), wasted=5)
    assert recovered(row) == {"peer_copy": 2}


def test_over_the_fabric_nothing_is_left_to_copy_from() -> None:
    assert recovered(run(scenario(PEERS, checkpoint(), mode="all_processes"), Hit("gpu", 108.0))) == {"checkpoint": 1}


@pytest.mark.parametrize("name", ["software", "link", "node", "rack", "page"])
def test_any_failure_that_leaves_a_copy(name: str) -> None:
    assert recovered(run(scenario(STORE, mode="all_processes"), Hit(name, 105.0, 1))) == {"peer_copy": 1}


def test_no_copy_no_save() -> None:
    """Moments in one copy; all four holders of one part; state that is torn by the update, or bad."""
    sharded = scenario(STORE, mode="all_processes", workload__parallel__shard="optimizer")
    assert recovered(run(sharded, Hit("gpu", 105.0))) == {"start": 1}
    assert recovered(run(sharded, Hit("link", 105.0))) == {"peer_copy": 1}  # nothing was lost
    of = scenario(STORE, mode="all_processes", cluster__gpus_per_node=1, cluster__nodes_per_rack=1)
    assert recovered(run(of, *(Hit("gpu", 105.0 + i, 4 * i) for i in range(4)))) == {"start": 4}
    assert recovered(run(of, *(Hit("gpu", 105.0 + i, i) for i in range(4)))) == {"peer_copy": 4}
    assert recovered(run(of, Hit("gpu", 108.4))) == {"peer_copy": 1}
    for torn in (108.6, 109.5):  # ranks in the update, then all of them
        assert recovered(run(of, Hit("gpu", torn))) == {"start": 1}
    assert recovered(run(of, Hit("silent", 105.0))) == {"start": 1}


def test_times_through_the_store_follow_from_its_bandwidth() -> None:
    """A replica is one node: 8e9 parameters of 14 bytes at 50 GB/s save; four nodes read a quarter each at 60 GB/s."""
    storage = {"write": "1 TB/s", "read": "80 GB/s", "node_write": "50 GB/s", "node_read": "60 GB/s"}
    of = scenario({"peer_copy": {"via": "store"}}, mode="all_processes", cluster__storage=storage)
    row = run(of, Hit("gpu", 105.0))
    assert row["recovery_s"] == pytest.approx(112 / 50 + 112 / 80)


def test_a_page_in_place_comes_from_a_replica() -> None:
    """MindIO-like: outside the update, widened by the skew, a page of 2 MiB at 50 GB/s, and the step again."""
    row = run(scenario(PEERS), Hit("page", 105.0, region="weights"))
    expect(row, productive=5000 - 5 - 6 - 2**21 / 50e9, wasted=5, detection=4, recovery=2 + 2**21 / 50e9)
    assert recovered(row) == {"peer_copy": 1}
    for torn in (108.6, 109.5):
        assert recovered(run(scenario(PEERS, checkpoint()), Hit("page", torn + 3, region="weights"))) == {
            "checkpoint": 1
        }


def test_a_replica_that_is_out_has_no_copy() -> None:
    """Two groups: while one is out, a page of the other has no second holder, and the group goes on with one alone."""
    halves = {"replica_group": {"groups": 2, "stall": "30 s", "catch_up": "6 s"}}
    workload: dict[str, Any] = {"workload__parallel": {"tensor": 8, "data": 2}, "cluster__spare_nodes": 0}
    of = scenario(RETRY, PEERS, halves, checkpoint(), **workload)
    assert recovered(run(of, Hit("page", 205.0, 9))) == {"peer_copy": 1}
    rebooted = scenario(RETRY, halves, PEERS, checkpoint(), **workload)
    both = run(rebooted, Hit("gpu", 108.0), Hit("page", 208.0, 9))
    assert recovered(both) == {"replica_group": 1, "checkpoint": 1}


def test_keys_of_the_store_go_with_it() -> None:
    with pytest.raises(ValueError, match="does not apply here"):
        spec({"peer_copy": {"save": "3 s"}})
    assert isinstance(spec(STORE), StudySpec)


def test_a_copy_that_is_not_saved_in_time_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the store's copy costs nothing to write."""
    saved_and_read()
    recover = PeerCopy.recover

    def unsaved(tier: PeerCopy, *args: Any) -> Plan | None:
        return recover(replace(tier, save=0.0), *args)

    monkeypatch.setattr(PeerCopy, "recover", unsaved)
    with pytest.raises(AssertionError):
        saved_and_read()
