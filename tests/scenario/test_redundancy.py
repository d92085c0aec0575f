"""Copies and parity on hosts: seconds, bytes and lost hosts of each scheme by hand, and what cannot be.

Nodes of four GPUs; 7 GB for each GPU, 28 GB for each node; NIC 7 GB/s, PCIe 14 GB/s, disks write 4 and read 8 GB/s.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from gemsim.errors import Infeasible, StudyError, ValueRefused
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage, Nature
from gemsim.protection.placement import Coded
from gemsim.protection.tier import Moment
from gemsim.scenario import Scenario
from gemsim.spec.protection.checkpoint import CheckpointSpec
from gemsim.spec.protection.replica import ReplicaSpec
from tests.engine.ledgers import RESTART
from tests.engine.small import ACTIVATION, DETECT, Hit, expect, run
from tests.engine.test_replica import REMOTE, replica, small


def stored(target: str, nodes: int = 8, **keys: Any) -> Scenario:
    """A synchronous checkpoint every ten steps, its times derived, before one in the store."""
    tier = {"checkpoint": {"name": "near", "target": target, "mode": "sync", "interval": "100 s", **keys}}
    disk = {"write": "4 GB/s", "read": "8 GB/s"}
    return small(tier, REMOTE, nodes=nodes, cluster__disk=disk)


def times(of: Scenario) -> tuple[float, float, float]:
    tier = of.tiers[0]
    assert isinstance(tier, Checkpoint)
    return tier.blocked, tier.read, tier.fetch


@pytest.mark.parametrize(
    ("target", "keys", "expected"),
    [
        ("disk", {}, (7.0, 3.5, 3.5)),
        ("disk", {"redundancy": "single"}, (7.0, 3.5, 3.5)),
        ("disk", {"redundancy": "partner"}, (14.0, 3.5, 3.5)),  # twice the bytes; the NICs need 1 s
        ("disk", {"redundancy": "xor"}, (8.0, 3.5, 3.5)),  # 8/7 of the bytes
        ("disk", {"redundancy": "xor", "set": 4}, (28 / 3, 3.5, 3.5)),
        ("disk", {"redundancy": "rs"}, (28 / 3, 3.5, 3.5)),  # 8/6
        ("cpu_memory", {}, (1.0, 0.5, 1.0)),
        ("cpu_memory", {"copies": 3}, (2.0, 0.5, 1.0)),
        ("cpu_memory", {"redundancy": "single"}, (0.5, 0.5, 0.5)),
        ("cpu_memory", {"redundancy": "partner"}, (1.0, 0.5, 1.0)),
        ("cpu_memory", {"redundancy": "xor"}, (0.875, 0.5, 1.0)),  # 7/8 of a part over the NIC
        ("cpu_memory", {"redundancy": "rs", "losses": 3}, (2.625, 0.5, 3.0)),
        ("cpu_memory", {"redundancy": "rs", "write": "9 s", "read": "5 s"}, (9.0, 5.0, 5.0)),
        ("cpu_memory", {"redundancy": "rs", "fetch": "7 s"}, (1.75, 0.5, 7.0)),
    ],
)
def test_seconds(target: str, keys: dict[str, Any], expected: tuple[float, float, float]) -> None:
    assert times(stored(target, **keys)) == pytest.approx(expected)


def survivors(of: Scenario, nodes: int) -> set[frozenset[int]]:
    """Sets of lost hosts from which the first tier recovers."""
    found = set()
    for count in range(nodes + 1):
        for gone in map(frozenset, combinations(range(nodes), count)):
            damage = Damage(hosts=gone, disks=gone, alive=False, restart="all_processes", all_gpu_memory=True)
            plan = of.tiers[0].recover(damage, Moment(9, 3.0, 0, saved={0: 8, 1: 5}), of.platform)
            if plan is not None:
                assert plan.seconds == times(of)[2 if gone else 1]
                found.add(gone)
    return found


def within(*sets: set[int], losses: int, nodes: int = 8) -> set[frozenset[int]]:
    every = (frozenset(gone) for k in range(nodes + 1) for gone in combinations(range(nodes), k))
    return {gone for gone in every if all(len(gone & one) <= losses for one in sets)}


LOW, HIGH, ODD, EVEN = {0, 1, 2, 3}, {4, 5, 6, 7}, {1, 3, 5, 7}, {0, 2, 4, 6}
NEIGHBOURS = [{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}]
SCHEMES: list[tuple[dict[str, Any], set[frozenset[int]]]] = [
    ({"redundancy": "single"}, {frozenset()}),
    ({"redundancy": "partner", "set": 4}, within(*NEIGHBOURS, losses=1)),
    ({"redundancy": "xor", "set": 4}, within(LOW, HIGH, losses=1)),
    ({"redundancy": "xor", "set": 4, "domain": "rack"}, within(ODD, EVEN, losses=1)),
    ({"redundancy": "rs", "set": 4, "losses": 2}, within(LOW, HIGH, losses=2)),
    ({"redundancy": "rs"}, within(LOW | HIGH, losses=2)),
]


@pytest.mark.parametrize("target", ["disk", "cpu_memory"])
@pytest.mark.parametrize(("keys", "expected"), SCHEMES)
def test_it_survives_exactly_what_its_sets_make_up_for(
    target: str, keys: dict[str, Any], expected: set[frozenset[int]]
) -> None:
    of = stored(target, **keys)
    assert survivors(of, 8) == expected
    assert of.tiers[0].survives(Nature("node"), of.platform) == (keys["redundancy"] != "single")


def test_a_parity_too_strong_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Coded.survives
    monkeypatch.setattr(Coded, "survives", lambda self, gone: honest(Coded(self.sets, self.losses + 1), gone))
    with pytest.raises(AssertionError):
        test_it_survives_exactly_what_its_sets_make_up_for("disk", *SCHEMES[2])


def test_a_lost_disk_is_rebuilt_by_its_set_and_two_fall_to_the_store() -> None:
    of = stored("disk", redundancy="xor", set=4, fetch="9 s")  # saves of 28/3 s and 3 s every 100 s
    one = run(of, Hit("node", 254.0, 1))
    cycle = 100.0 + 28 / 3 + 3.0
    lost = {"detection": DETECT, "waiting": ACTIVATION, "restart": RESTART, "recovery": 9.0}
    wasted = 254.0 - 2 * cycle
    left = 5000.0 - 254.0 - sum(lost.values())
    saves, rest = divmod(left, cycle)
    assert rest < 100.0
    work = 200.0 + wasted + saves * 100.0 + rest
    expect(one, productive=work - wasted, overhead=(2 + saves) * (cycle - 100.0), wasted=wasted, **lost)
    assert run(of, Hit("node", 254.0, 1), Hit("node", 254.0, 5))["recovery_s"] == 9.0  # one of each set
    both = run(of, Hit("node", 254.0, 1), Hit("node", 254.5, 2))
    assert (
        both["recovery_s"] == 9.0
    )  # the later plan reads the store in 6 s; a second failure never shortens what is left
    assert both["unrecoverable"] == 0
    assert '"checkpoint": 2' in both["by_tier"]
    assert run(of, Hit("reboot", 254.0, 1), Hit("reboot", 254.5, 2))["recovery_s"] == 3.5  # a reboot leaves the disks


def test_bytes_in_cpu_memory() -> None:
    # two versions of 28 GB each: twice 2 B, 8/7 B, 8/6 B
    for keys, needed in (
        ({}, 112.0),
        ({"redundancy": "partner"}, 112.0),
        ({"redundancy": "xor"}, 64.0),
        ({"redundancy": "rs"}, 224 / 3),
    ):
        tier = {"checkpoint": {"target": "cpu_memory", "mode": "sync", "interval": "100 s", **keys}}
        small(tier, nodes=8, cluster__cpu_memory=f"{needed + 0.1} GB")
        with pytest.raises(Infeasible, match="CPU memory"):
            small(tier, nodes=8, cluster__cpu_memory=f"{needed - 0.1} GB")


FULL: dict[str, Any] = {
    "workload__memory__activations": "54 GiB"
}  # leaves 5.6 GB of a GPU, less than the chunk of an idle span


@pytest.mark.parametrize(
    ("says", "tier", "changes"),
    [
        ("a set of 8", {"checkpoint": {"target": "disk", "mode": "sync", "interval": "1 h", "redundancy": "xor"}}, {}),
        (
            "and 2 can be in one",
            {"checkpoint": {"target": "disk", "mode": "sync", "interval": "1 h", "redundancy": "xor", "set": 4,
                            "domain": "rack"}},
            {},
        ),
        ("3 copies", replica(copies=3, placement="group"), {}),
        ("5 copies", replica(copies=5), {}),
        ("3 copies", replica(copies=3, domain="rack"), {}),
        ("3 times 2 copies", replica(keep=2), {"cluster__cpu_memory": "160 GB"}),
        ("out of memory", replica(interleave="naive"), FULL),
        ("out of memory", replica(buffer="70 GB"), {}),
        ("pile up", replica(write="11 s"), {}),
        ("network_idle", replica(), {"workload__network_idle": "11 s"}),
        ("chunks", replica(buffer="1 kB"), {}),
    ],
)  # fmt: skip
def test_what_cannot_be(says: str, tier: dict[str, Any], changes: dict[str, Any]) -> None:
    with pytest.raises(Infeasible, match=says):
        small(tier, **changes)


def test_what_three_versions_need_is_enough() -> None:
    small(replica(keep=2), cluster__cpu_memory="170 GB")
    small(replica(keep="20 s"), cluster__cpu_memory="170 GB")  # two steps
    small(replica(interleave="gemini"), **FULL)


@pytest.mark.parametrize(
    ("model", "keys"),
    [
        (CheckpointSpec, {"target": "remote", "redundancy": "xor"}),
        (CheckpointSpec, {"target": "remote", "fetch": "1 s"}),
        (CheckpointSpec, {"target": "disk", "copies": 2}),
        (CheckpointSpec, {"target": "disk", "domain": "rack"}),
        (CheckpointSpec, {"target": "disk", "redundancy": "partner", "losses": 1}),
        (CheckpointSpec, {"target": "disk", "set": 4}),
        (CheckpointSpec, {"target": "cpu_memory", "redundancy": "xor", "copies": 2}),
        (CheckpointSpec, {"target": "disk", "redundancy": "rs", "set": 2}),
        (ReplicaSpec, {"interleave": "blocking", "write": "1 s"}),
        (ReplicaSpec, {"interleave": "naive", "buffer": "1 GB"}),
        (ReplicaSpec, {"interleave": "no_pipeline", "buffers": 2}),
        (ReplicaSpec, {"mu": 0}),
    ],
)
def test_keys_that_mean_nothing_together_are_refused(model: Any, keys: dict[str, Any]) -> None:
    given = {"mode": "sync", "interval": "1 h", **keys} if model is CheckpointSpec else keys
    with pytest.raises((ValueRefused, StudyError, ValueError)):
        model.model_validate(given)


def test_listed_spans_add_up_to_the_idle_time() -> None:
    with pytest.raises(ValueError, match="add up"):
        small(replica(), workload__idle_spans=["1 s", "2 s"])
