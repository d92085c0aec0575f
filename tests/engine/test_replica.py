"""Replicas in CPU memory: timelines worked out by hand, and every set of lost hosts of small fleets.

A part of 7 GB per GPU takes 1 s over the NIC and 0.5 s over PCIe. Saves follow every step of 10 s and are complete one
step later.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from gemsim.analytic.run import predict
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage, Nature
from gemsim.protection.decide import decide
from gemsim.protection.placement import Copies
from gemsim.protection.tier import Moment
from gemsim.scenario import Scenario
from tests.engine.ledgers import HORIZON, RESTART
from tests.engine.small import (
    ACTIVATION,
    DETECT,
    READ,
    Hit,
    checkpoint,
    expect,
    recovered,
    run,
    scenario,
)
from tests.laws.jobs import GPU, SOFT, Case
from tests.laws.test_first_order import check_within_stated

LOCAL, PEER = 0.5, 1.0
REMOTE = checkpoint()


def replica(**keys: Any) -> dict[str, Any]:
    return {"replica": {"startup": "0 s", "mu": 1.0, **keys}}


def small(*tiers: dict[str, Any], nodes: int = 4, idle: float = 2.0, **changes: Any) -> Scenario:
    """The small job with links that make whole seconds; `nodes` of four GPUs."""
    gpus = 4 * nodes
    given = {
        "cluster__gpus": gpus,
        "cluster__nic": "7 GB/s",
        "cluster__pcie": "14 GB/s",
        "workload__parameters": 8e9 * nodes / 4,
        "workload__parallel": {"tensor": 4, "data": nodes, "shard": "optimizer"},
        "workload__network_idle": f"{idle} s",
        "workload__memory__buffers": "1 GiB",
        **changes,
    }
    return scenario(*tiers, mode="all_processes", **given)


ALONE = small(replica())
BACKED = small(replica(), REMOTE)


def test_the_times_of_the_tier() -> None:
    tier = ALONE.tiers[0]
    assert isinstance(tier, Checkpoint)
    assert (tier.every, tier.blocked, tier.lag, tier.target) == (1, 0.0, 10.0, "cpu_memory")
    assert (tier.read, tier.fetch) == pytest.approx((LOCAL, PEER))
    assert (tier.keep_count, tier.memory) == (1, 128e6)


# --- what it costs when nothing fails ----------------------------------------------------------------------------


def test_traffic_that_fits_costs_nothing() -> None:
    expect(run(ALONE), productive=HORIZON)


def test_traffic_beyond_the_idle_spans_lengthens_the_step() -> None:
    of = small(replica(), idle=0.25)  # 0.75 s of 1 s are left over
    cycles, rest = divmod(HORIZON, 10.75)
    expect(run(of), productive=10.0 * cycles + rest, overhead=0.75 * cycles)
    assert of.tiers[0].overhead().lag == pytest.approx(10.75)


@pytest.mark.parametrize(
    ("keys", "added"),
    [
        ({"interleave": "blocking"}, 1.0),
        ({"copies": 3}, 0.0),
        ({"copies": 4}, 1.0),
        ({"interleave": "blocking", "copies": 3}, 2.0),
        ({"interleave": "no_pipeline", "buffer": "7 GB", "copies": 3}, 0.5),  # 1 s, 0.5 s of copy, 1 s
        ({"interleave": "naive", "copies": 3}, 0.5),
        ({"startup": "0.1 s", "buffer": "7 GB", "copies": 3}, 0.8),  # four chunks a copy
        ({"blocked": "0.3 s"}, 0.3),
    ],
)
def test_what_a_save_adds(keys: dict[str, Any], added: float) -> None:
    assert small(replica(**keys)).tiers[0].overhead().stall == pytest.approx(added, abs=1e-9)


def test_saves_every_few_steps_cost_as_much_less() -> None:
    of = small(replica(interleave="blocking", every=4))
    expect(run(of), productive=4879.0, overhead=121.0)  # 121 cycles of 41 s, then 39 s


def test_idle_spans_are_cut_as_they_lie() -> None:
    # a chunk of 2.8 GB takes 0.6 s, a span of 1/3 s carries 0.933 GB of it; the last span carries 2.8 and 2.333 GB in
    # 0.6 + 0.533 s, 0.8 s more than its length
    of = small(replica(buffer="11.2 GB", startup="0.2 s"), idle=1.0, workload__idle_spans=3)
    assert of.tiers[0].overhead().stall == pytest.approx(0.8)
    listed = small(replica(buffer="11.2 GB", startup="0.2 s"), idle=1.0, workload__idle_spans=["0.8 s", "0.2 s"])
    # 2.8 GB in the first, which has no room for more than 0.2 s of start-up; then 2.8 and 1.4 GB: 0.6 + 0.4 s
    assert listed.tiers[0].overhead().stall == pytest.approx(0.8)


# --- what it brings back -----------------------------------------------------------------------------------------


def test_software_restores_from_its_own_memory() -> None:
    row = run(ALONE, Hit("software", 254.0))  # version 25 and 4 s; 24 was complete at 250
    lost = {"detection": DETECT, "restart": RESTART, "recovery": LOCAL}
    expect(row, productive=HORIZON - 14.0 - sum(lost.values()), wasted=14.0, **lost)
    assert recovered(row) == {"replica": 1}


@pytest.mark.parametrize(("when", "wasted"), [(250.5, 10.5), (255.0, 15.0), (259.5, 19.5)])
def test_a_step_and_a_half_is_wasted_on_average(when: float, wasted: float) -> None:
    assert run(ALONE, Hit("software", when))["wasted_s"] == pytest.approx(wasted)


def test_blocking_saves_waste_half_a_step() -> None:
    of = small(replica(interleave="blocking"))  # steps of 11 s
    assert run(of, Hit("software", 11.0 * 23 + 5.0))["wasted_s"] == pytest.approx(5.0)


def test_a_lost_host_is_fetched_from_its_peer() -> None:
    row = run(ALONE, Hit("gpu", 254.0, 5))
    lost = {"detection": DETECT, "waiting": ACTIVATION, "restart": RESTART, "recovery": PEER}
    expect(row, productive=HORIZON - 14.0 - sum(lost.values()), wasted=14.0, **lost)
    assert recovered(row) == {"replica": 1}


def test_both_hosts_of_a_group_fall_to_the_remote_store() -> None:
    # saves of 3 s every ten steps: at 254 s version 24 and 8 s; 20 is in the store, 23 was complete at 246
    row = run(BACKED, Hit("node", 254.0, 0), Hit("node", 260.0, 1))
    assert recovered(row)["checkpoint"] >= 1
    assert row["wasted_s"] == pytest.approx(48.0)
    assert row["detection_s"] == pytest.approx(2 * DETECT)
    assert row["waiting_s"] == pytest.approx(ACTIVATION + 2.0)  # 6 s after the first: 4 s detected, 2 s waited
    assert row["recovery_s"] == pytest.approx(READ)
    assert row["restart_s"] == pytest.approx(RESTART)


@pytest.mark.parametrize(("first", "second"), list(combinations(range(4), 2)))
def test_any_two_hosts_lost_at_once(first: int, second: int) -> None:
    row = run(BACKED, Hit("node", 254.0, first), Hit("node", 254.5, second))
    fatal = (first, second) in ((0, 1), (2, 3))
    assert row["wasted_s"] == pytest.approx(48.0 if fatal else 18.0)
    assert row["recovery_s"] == pytest.approx(READ if fatal else PEER)
    assert row["unrecoverable"] == 0


@pytest.mark.parametrize(("when", "wasted"), [(309.0, 45.0), (315.0, 11.0)])
def test_a_replaced_host_has_no_copy_until_the_next_save(when: float, wasted: float) -> None:
    # back at 294 s from version 23; 24 is captured at 304 s and complete at 314 s. Its peer lost before: store, 20
    row = run(BACKED, Hit("node", 254.0, 0), Hit("node", when, 1))
    assert row["wasted_s"] == pytest.approx(18.0 + wasted)


def test_without_anything_behind_it_the_job_starts_again() -> None:
    row = run(ALONE, Hit("node", 254.0, 2), Hit("node", 254.5, 3))
    assert row["unrecoverable"] == 1
    assert row["wasted_s"] == pytest.approx(254.0)


def test_corruption_outlasts_the_one_version_it_holds() -> None:
    row = run(BACKED, Hit("silent", 120.0))  # found 300 s later
    assert recovered(row) == {"checkpoint": 1}


# --- every set of lost hosts -------------------------------------------------------------------------------------


def chosen(of: Scenario, gone: frozenset[int]) -> str:
    """The tier that recovers when these hosts are lost."""
    lost = frozenset(("node", host) for host in gone)
    damage = Damage(lost=lost, hosts=gone, alive=False, restart="all_processes", replaced=True, all_gpu_memory=True)
    return decide(of.tiers, damage, Moment(9, 3.0, 0, saved={0: 8, 1: 5}), of.platform).plan.tier


def patterns(nodes: int) -> list[frozenset[int]]:
    return [frozenset(gone) for k in range(nodes + 1) for gone in combinations(range(nodes), k)]


SMALL_FLEETS: list[tuple[int, dict[str, Any], list[set[int]]]] = [
    (4, {}, [{0, 1}, {2, 3}]),
    (5, {}, [{0, 1}, {2, 3}, {3, 4}, {4, 2}]),  # a pair, and a ring of three
    (6, {"copies": 3, "placement": "group"}, [{0, 1, 2}, {3, 4, 5}]),
    (5, {"copies": 3}, [{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 0}, {4, 0, 1}]),  # one ring of five
    (5, {"placement": "ring"}, [{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}]),
    (4, {"domain": "rack"}, [{0, 2}, {1, 3}]),  # racks of two
    (6, {"copies": 1}, [{host} for host in range(6)]),
]


def check_patterns(nodes: int, keys: dict[str, Any], fatal: list[set[int]]) -> None:
    of = small(replica(**keys), REMOTE, nodes=nodes)
    for gone in patterns(nodes):
        lost = any(hosts <= gone for hosts in fatal)
        assert chosen(of, gone) == ("checkpoint" if lost else "replica"), gone


@pytest.mark.parametrize(("nodes", "keys", "fatal"), SMALL_FLEETS)
def test_it_survives_exactly_what_leaves_a_copy(nodes: int, keys: dict[str, Any], fatal: list[set[int]]) -> None:
    check_patterns(nodes, keys, fatal)


def test_its_column_says_what_it_can_ever_survive() -> None:
    for nature in ("node", "rack", "gpu", "process"):
        assert ALONE.tiers[0].survives(Nature(nature), ALONE.platform)
    single = small(replica(copies=1))
    assert not single.tiers[0].survives(Nature("node"), single.platform)
    assert single.tiers[0].survives(Nature("gpu"), single.platform)


# --- faults that these tests must catch --------------------------------------------------------------------------


def test_both_copies_on_one_host_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Copies, "holders", lambda self, host: (host, host))
    with pytest.raises(AssertionError):
        check_patterns(*SMALL_FLEETS[0])
    with pytest.raises(AssertionError):
        test_a_lost_host_is_fetched_from_its_peer()


def test_a_copy_that_counts_at_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    early = small(replica(write="0 s"))
    assert run(early, Hit("software", 254.0))["wasted_s"] == pytest.approx(4.0)
    monkeypatch.setattr("tests.engine.test_replica.ALONE", early)
    with pytest.raises(AssertionError):
        test_software_restores_from_its_own_memory()


# --- engine and twin ---------------------------------------------------------------------------------------------

TIER = "replica: {every: %d}"
FAR = "checkpoint: {target: remote, mode: async, blocked: 2 s, interval: 20 min}"
JOBS = {
    "each step": Case("all_processes", 4, (GPU, SOFT), (TIER % 1, FAR)),
    "every 16 steps": Case("all_processes", 4, (GPU, SOFT), (TIER % 16, FAR)),
}


@pytest.mark.parametrize("name", JOBS)
def test_engine_within_the_error_of_the_closed_form(name: str) -> None:
    of = JOBS[name].scenario(3.0)
    assert predict(of)["ettr_analytic"] > 0.5
    check_within_stated(of, replications=24, seed=20231023)
