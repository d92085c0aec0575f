"""Running on without the group that failed, by hand: four groups of one node, and where each second goes."""

from __future__ import annotations

from typing import Any

import pytest

from gemsim.errors import Infeasible
from gemsim.protection.damage import Damage
from gemsim.scenario import Scenario
from tests.engine.small import RETRY, STRIPE, Hit, Row, checkpoint, expect, recovered, run, scenario

STALL, CATCH_UP = 30.0, 6.0
SHORT: dict[str, Any] = {"cluster__spare_nodes": 0}  # every group waits for its own repair


def groups(**keys: Any) -> dict[str, Any]:
    return {"replica_group": {"stall": f"{STALL} s", "catch_up": f"{CATCH_UP} s", **keys}}


def job(
    *more: dict[str, Any], mode: str = "in_process", keys: dict[str, Any] | None = None, **changes: Any
) -> Scenario:
    return scenario(groups(**(keys or {})), *more, mode=mode, **changes)


def one_out() -> Row:
    """A GPU fails 5 s into step 11; its group is back at 105 + 4 + 20 + 15 + 6 = 150, the others run from 139."""
    row = run(job(), Hit("gpu", 105.0))
    expect(row, productive=100 + 11 * 0.75 + 4850, wasted=5, degraded=11 * 0.25, detection=4, restart=30)
    assert recovered(row) == {"replica_group": 1}
    assert row["failures"] == 1
    assert row["fallbacks"] == row["rollbacks"] == row["unrecoverable"] == 0
    return row


def test_a_group_is_out_for_a_while() -> None:
    row = one_out()
    assert row["cost_failures_s"] == row["touch_lost_s"] == pytest.approx(4 + 30 + 5 + 2.75)


def two_out() -> None:
    """Each waits 541 s for its own repair; the second failure, 6 s into a step of three groups, gives up 4.5 s."""
    row = run(job(**SHORT), Hit("gpu", 105.0), Hit("gpu", 205.0, 8))
    worked = 100 + 60 * 0.75 + (646 - 239) * 0.5 + 100 * 0.75 + (5000 - 746)
    missing = 66 * 0.25 + (646 - 239) * 0.5 + 100 * 0.25
    expect(row, productive=worked, wasted=5 + 4.5, degraded=missing, detection=8, restart=60)


def test_two_groups_are_out() -> None:
    two_out()


def hit_while_out() -> None:
    """A failure of what is out stops nobody: it is out until 300 + 541, and the failure is counted."""
    row = run(job(**SHORT, cluster__gpus_per_node=2), Hit("gpu", 105.0), Hit("gpu", 300.0, 2))
    expect(row, productive=100 + 702 * 0.75 + 4159, wasted=5, degraded=702 * 0.25, detection=4, restart=30)
    assert row["failures"] == 2
    assert recovered(row) == {"replica_group": 2}
    assert row["fallbacks"] == 0


def test_a_hit_on_what_is_out_prolongs_it() -> None:
    hit_while_out()


def test_a_short_failure_of_what_is_out_does_not_bring_it_back() -> None:
    """Software of the lost group fails again just before it would be back: its start begins anew, no more."""
    row = run(job(**SHORT), Hit("gpu", 105.0), Hit("software", 500.0))  # 500 s of running: 534 on the wall
    expect(row, productive=100 + 507 * 0.75 + 4354, wasted=5, degraded=507 * 0.25, detection=4, restart=30)
    assert row["failures"] == 2


def roll_back() -> None:
    """Three groups must be left. The second failure finds one out and rolls back to step 10, over 56 s of which the
    fourth group did nothing: 42 s are given up, 14 s stay degraded. It waits for its own node; the first is back."""
    row = run(job(checkpoint(), keys={"minimum": 3}, **SHORT), Hit("gpu", 110.0), Hit("gpu", 200.0, 8))
    expect(
        row, productive=100 + 4136, overhead=3 + 41 * 3, wasted=7 + 42, degraded=14, detection=8, restart=30 + 15,
        waiting=516, recovery=6,
    )  # fmt: skip
    assert recovered(row) == {"replica_group": 1, "checkpoint": 1}
    assert row["rollbacks"] == row["fallbacks"] == 1


def test_too_few_groups_left_falls_to_the_checkpoint() -> None:
    roll_back()


def one_too_many_in_the_stall() -> None:
    """One of two groups loses a GPU; 2 s into the stall a link of the other fails, which itself needs no more than 8 s.
    All now wait for the first one's spare and the start of its processes."""
    of = job(checkpoint(), keys={"stall": "3 s"}, workload__parallel={"tensor": 8, "data": 2})
    row = run(of, Hit("gpu", 108.0), Hit("link", 110.0, 2))
    expect(
        row, productive=100 + 4845 - 47 * 3, overhead=3 + 47 * 3, wasted=5, detection=2 + 4, waiting=20, restart=15,
        recovery=6,
    )  # fmt: skip
    assert recovered(row) == {"checkpoint": 2}


def test_a_fall_within_the_stall_waits_for_what_the_first_failure_needs() -> None:
    one_too_many_in_the_stall()


def roll_back_while_out() -> None:
    """A group takes 600 s to catch up and is out until 749. A corruption of 145 is found at 445, 29 steps and 5 s past
    the checkpoint; the job restarts with three groups, which are joined by the fourth when that is back."""
    of = job(checkpoint(), keys={"catch_up": "600 s"})
    row = run(of, Hit("gpu", 110.0), Hit("silent", 145.0, 8))
    expect(
        row, productive=100 + 257 * 0.75 + 4128, overhead=3 + 6 + 43 * 3, wasted=7 + 295 * 0.75,
        degraded=295 * 0.25 + 257 * 0.25, detection=4, restart=30 + 15, waiting=20, recovery=6,
    )  # fmt: skip


def test_a_roll_back_while_a_group_is_out() -> None:
    roll_back_while_out()


def let_in_again() -> None:
    """A group that would never come back is let in by the restart of the whole job, when its node is there at 649."""
    of = job(checkpoint(), keys={"join_timeout": "5 s", "minimum": 3}, **SHORT)
    row = run(of, Hit("gpu", 108.0), Hit("reset_gpu", 208.0, 8))
    expect(
        row, productive=100 + 400 * 0.75 + 4225, overhead=3 + 4 * 3 + 42 * 3, wasted=5 + 66 * 0.75,
        degraded=66 * 0.25 + 400 * 0.25, detection=8, restart=30 + 8, waiting=11, recovery=6,
    )  # fmt: skip


def test_a_restart_of_all_lets_in_what_had_given_up() -> None:
    let_in_again()


def half_out_already() -> None:
    """A rack of two groups fails, one of which is out: the other's failure stops those left. Both are out until 843."""
    row = run(job(keys={"catch_up": "600 s"}), Hit("gpu", 105.0), Hit("rack", 204.0))
    expect(
        row, productive=100 + 60 * 0.75 + 605 * 0.5 + 4157, wasted=5 + 3.75, degraded=65 * 0.25 + 605 * 0.5,
        detection=8, restart=60,
    )  # fmt: skip


def test_a_failure_of_one_that_is_out_and_one_that_is_not() -> None:
    half_out_already()


def remap_is_served() -> None:
    """The group's start has reset the GPU at 108; the roll-back of 233 waits 20 s for spares, not 40 s for a reset."""
    of = job(checkpoint(), keys={"minimum": 3}, restart__reset="40 s")
    row = run(of, Hit("page", 108.0, 15), Hit("rack", 233.0))
    expect(
        row, productive=100 + 4587, overhead=3 + 45 * 3, wasted=5 + 31 * 0.75 + 60, degraded=31 * 0.25, detection=8,
        restart=30 + 15, waiting=20, recovery=6,
    )  # fmt: skip


def test_a_group_that_starts_anew_has_served_its_row_remap() -> None:
    remap_is_served()


def rejoin() -> None:
    row = run(job(keys={"catch_up_stall": "5 s"}), Hit("gpu", 105.0))
    expect(row, productive=100 + 8.25 + 4845, wasted=5, degraded=2.75, detection=4, restart=30, recovery=5)
    assert row["cost_failures_s"] == pytest.approx(4 + 30 + 5 + 2.75 + 5)


def test_the_others_wait_for_the_one_that_comes_back() -> None:
    rejoin()


def test_a_failure_while_one_comes_back() -> None:
    """It strikes 2 s into that stall; what it needs is longer, and it gives up the second of step 12 that was done."""
    row = run(job(keys={"catch_up_stall": "5 s"}), Hit("gpu", 105.0), Hit("gpu", 152.0, 8))
    # step 11 begins again at 139; the stall from 152 ends at 186, the second group is back at 197
    worked = 100 + 10 * 0.75 + (197 - 186) * 0.75 + (5000 - 202)
    expect(
        row, productive=worked, wasted=5 + 0.75, degraded=22 * 0.25, detection=8, restart=60, recovery=2 + 5,
    )  # fmt: skip


def test_what_comes_back_too_slowly_never_does() -> None:
    """Each failure then costs a group for good, until the whole job restarts."""
    of = job(keys={"join_timeout": "5 s", "minimum": 3})
    row = run(of, Hit("gpu", 105.0))
    expect(row, productive=100 + 4861 * 0.75, wasted=5, degraded=4861 * 0.25, detection=4, restart=30)
    # the second one leaves too few: all start again from step 0 after 20 + 15 s, and all four groups are there
    row = run(of, Hit("gpu", 105.0), Hit("gpu", 239.0, 8))
    expect(
        row, productive=5000 - 278, wasted=105 + 75, degraded=25, detection=8, restart=45, waiting=20,
    )  # fmt: skip
    assert row["unrecoverable"] == 1
    slower = run(job(keys={"join_timeout": "6 s"}), Hit("gpu", 105.0))
    assert slower == {**one_out(), "point": slower["point"]}


def test_a_second_group_fails_within_the_stall() -> None:
    """The stall begins again; both are out from then on."""
    row = run(job(), Hit("gpu", 105.0), Hit("gpu", 120.0, 8))
    # stall to 154; the first is back at 150, the second at 165
    expect(row, productive=100 + 11 * 0.75 + 4835, wasted=5, degraded=2.75, detection=4 + 4, restart=11 + 30)
    assert recovered(row) == {"replica_group": 2}


def test_all_groups_at_once_are_one_too_many() -> None:
    hits = [Hit("gpu", 105.0 + i, 4 * i) for i in range(4)]
    assert recovered(run(job(), *hits[:3])) == {"replica_group": 3}
    assert recovered(run(job(), *hits)) == {"start": 4}


def test_a_rack_takes_two_groups() -> None:
    row = run(job(), Hit("rack", 105.0))
    expect(row, productive=100 + 11 * 0.5 + 4850, wasted=5, degraded=5.5, detection=4, restart=30)
    assert recovered(run(job(keys={"minimum": 3}), Hit("rack", 105.0))) == {"start": 1}


def test_a_lost_link_stops_its_group_alone() -> None:
    row = run(job(), Hit("link", 105.0, 1))  # out until 105 + 4 + 15 + 6 = 130, before the stall is over
    expect(row, productive=100 + 4861, wasted=5, detection=4, restart=30)
    assert recovered(row) == {"replica_group": 1}


def behind_a_switch() -> None:
    """It is down for no time of its own: two of the four groups start anew, from 109 to 224."""
    switch = {"name": "switch", "scope": "switch", "action": "none", "rate": "1 / d", "gpus": 16, "detect": "4 s"}
    row = run(job(keys={"catch_up": "100 s"}, failures__classes=[switch]), Hit("switch", 105.0))
    expect(row, productive=100 + 85 * 0.5 + 4776, wasted=5, degraded=85 * 0.5, detection=4, restart=30)


def test_a_switch_stops_all_groups_behind_it() -> None:
    behind_a_switch()


def test_a_hit_in_the_update_gives_up_no_step() -> None:
    row = run(job(), Hit("gpu", 109.5))
    expect(row, productive=109.5 + 11 * 0.75 + 4845.5, degraded=2.75, detection=4, restart=30)
    row = run(job(keys={"discard": "nothing"}), Hit("gpu", 105.0))
    expect(row, productive=105 + 11 * 0.75 + 4850, degraded=2.75, detection=4, restart=30)


def test_only_the_lost_node_is_out() -> None:
    """Eight nodes of two GPUs: an eighth of the capacity, less what bubbles take over."""
    elastic = {"out": "node"}
    row = run(job(keys=elastic, cluster__gpus_per_node=2), Hit("gpu", 105.0))
    expect(row, productive=100 + 11 * 7 / 8 + 4850, wasted=5, degraded=11 / 8, detection=4, restart=30)
    row = run(job(keys={**elastic, "bubbles": 0.1}, cluster__gpus_per_node=2), Hit("gpu", 105.0))
    expect(row, productive=100 + 11 * 0.975 + 4850, wasted=5, degraded=11 * 0.025, detection=4, restart=30)


def test_elastic_running_needs_one_copy_of_each_part() -> None:
    """The same two GPUs of every group at once are too many; one in each group, apart, are not."""
    of = job(keys={"out": "node"}, cluster__gpus_per_node=2)
    same = [Hit("gpu", 105.0 + i, 4 * i) for i in range(4)]
    apart = [Hit("gpu", 105.0 + i, 4 * i + 2 * (i % 2)) for i in range(4)]
    assert recovered(run(of, *same)) == {"start": 4}
    assert recovered(run(of, *apart)) == {"replica_group": 4}


def test_where_every_rank_exits_nothing_is_recovered() -> None:
    for mode in ("all_processes", "holder"):
        of = job(mode=mode)
        assert recovered(run(of, Hit("gpu", 105.0))) == {"start": 1}
        assert any("recovers nothing" in note for note in of.notes)


def test_what_is_repaired_in_place_stops_no_group() -> None:
    of = scenario(RETRY, STRIPE, groups(), checkpoint())
    row = run(of, Hit("page", 105.0, region="weights"), Hit("page", 205.0, region="activations"), Hit("gpu", 305.0))
    assert recovered(row) == {"stripe": 1, "retry": 1, "replica_group": 1}


def test_a_page_without_a_code_is_a_group_out() -> None:
    """Its start also serves the row remap: it is back at 105 + 4 + 11 (reset) + 15 + 6 = 141."""
    row = run(job(keys={"stall": "2 s"}, mode="in_place"), Hit("page", 105.0, region="weights"))
    expect(row, productive=100 + 30 * 0.75 + 4859, wasted=5, degraded=30 * 0.25, detection=4, restart=2)


def test_the_work_target_includes_what_was_missing() -> None:
    changes: dict[str, Any] = {"run": {"steps": 300, "max_wall": "9000 s"}, **SHORT}
    row = run(job(**changes), Hit("gpu", 105.0))
    # 507 s at three quarters lack 126.75 s of work: thirteen more steps
    assert row["degraded_s"] == pytest.approx(507 * 0.25)
    assert row["wall_s"] == pytest.approx(3000 + 130 + 5 + 34)
    assert row["productive_s"] == pytest.approx(3130 - 507 * 0.25)
    assert row["steps"] == 300


def test_work_at_risk_is_work_that_was_done() -> None:
    row = run(job(checkpoint(interval="40 s"), **SHORT, run={"horizon": "300 s"}), Hit("gpu", 105.0))
    assert row["at_risk_s"] <= 40 * 0.75 + 1e-6


def test_quorum_lengthens_each_step() -> None:
    row = run(job(keys={"quorum": "1 s"}))
    expect(row, productive=5000 / 1.1, overhead=5000 / 11)


def test_more_groups_lose_less_capacity() -> None:
    lost = [run(job(keys={"groups": count}, **SHORT), Hit("gpu", 105.0))["degraded_s"] for count in (2, 4)]
    assert lost[0] == pytest.approx(2 * lost[1])


QUICK: dict[str, Any] = {"restart__process": "0 s", "restart__communicator": "0 s", "restart__warmup": "0 s"}


def test_without_an_outage_the_stall_is_all() -> None:
    at_once: dict[str, Any] = {"cluster__spare_activation": "0 s", **QUICK}
    keys = {"catch_up": "0 s", "discard": "nothing"}
    expect(run(job(keys=keys, **at_once), Hit("gpu", 105.0)), productive=4966, detection=4, restart=30)
    none = {**keys, "stall": "0 s", "discard": "step"}
    row = run(job(keys=none, failures__classes=NO_DETECTION, **at_once), Hit("gpu", 105.0))
    expect(row, productive=4995, wasted=5)


NO_DETECTION: list[dict[str, Any]] = [{"name": "gpu", "scope": "gpu", "action": "replace", "rate": "1 / d", "gpus": 16}]
NO_DETECTION[0] |= {"detect": "0 s", "repair": "500 s"}


@pytest.mark.parametrize(
    ("keys", "changes", "said"),
    [
        ({}, {"workload__parallel__shard": "optimizer"}, "live copies of moments: 1"),
        ({"groups": 3}, {}, "a divisor of 4"),
        ({"minimum": 5}, {}, "at least 5"),
    ],
)
def test_groups_that_cannot_be(keys: dict[str, Any], changes: dict[str, Any], said: str) -> None:
    with pytest.raises(Infeasible, match=said):
        job(keys=keys, **changes)


def test_groups_within_which_state_is_sharded() -> None:
    sharded = {"tensor": 2, "data": 8, "shard": "optimizer", "replicas": 2}
    row = run(job(workload__parallel=sharded), Hit("gpu", 105.0))
    expect(row, productive=100 + 11 * 0.5 + 4850, wasted=5, degraded=5.5, detection=4, restart=30)


def test_struck_domains_join() -> None:
    both = Damage(struck=frozenset({("gpu", 1)})).join(Damage(struck=frozenset({("node", 2)})))
    assert both.struck == {("gpu", 1), ("node", 2)}
