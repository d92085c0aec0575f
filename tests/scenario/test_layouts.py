"""Replica groups and experts: bytes of each region, live copies, the update, and what a peer can bring back."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from gemsim.protection.damage import Damage
from gemsim.protection.peer_copy import PeerCopy
from gemsim.protection.state import Layout, Memory
from gemsim.protection.tier import Moment
from gemsim.scenario import build
from gemsim.scenario.state import layout, memory, update_seconds
from gemsim.spec.study import StudySpec
from gemsim.spec.workload import ExpertsSpec, ParallelSpec, WorkloadSpec
from tests.engine.small import PEERS, RETRY, checkpoint, profile, scenario, spec

GPUS = 64
PARAMETERS = 8e9
EXPERTS = {"share": 0.75, "parallel": 4}


def job(shard: str = "optimizer", replicas: int = 2, experts: dict[str, Any] | None = EXPERTS) -> StudySpec:
    """64 GPUs: tensor 2, pipeline 2, data 16; 2 + 4 + 12 bytes for each of 8e9 parameters, 6e9 of them in experts."""
    return spec(
        cluster__gpus=GPUS,
        workload__parallel={"tensor": 2, "pipeline": 2, "data": 16, "shard": shard, "replicas": replicas},
        workload__experts=experts,
        workload__update=None,
    )


def sizes(held: Memory) -> dict[str, tuple[float, int]]:
    return {r.name: (r.bytes, r.copies) for r in held.regions}


def test_a_mixture_of_experts_by_hand() -> None:
    """Dense 2e9 over 4 GPUs, experts 6e9 over 4 x 4; moments over 8 times, in two groups, as many ranks as a group
    has."""
    found = sizes(memory(job()))
    assert found["weights"] == (2e9 * 2 / 4, 16)
    assert found["expert_weights"] == (6e9 * 2 / 16, 4)
    assert found["moments"] == (2e9 * 12 / 32, 2)
    assert found["expert_moments"] == (6e9 * 12 / 32, 2)
    assert found["gradients"][0] == 2e9 * 4 / 4 + 6e9 * 4 / 16


@pytest.mark.parametrize(("shard", "replicas"), [("none", 1), *product(("optimizer", "gradients", "full"), (1, 2, 4))])
@pytest.mark.parametrize("experts", [None, {"share": 0.75, "parallel": 1}, {"share": 0.75, "parallel": 4}])
def test_all_bytes_over_all_copies_are_the_model(shard: str, replicas: int, experts: dict[str, Any] | None) -> None:
    unique = whole_model(job(shard, replicas, experts))
    assert unique == pytest.approx(PARAMETERS * (2 + 12), rel=1e-12)


def whole_model(study: StudySpec) -> float:
    """Weights and moments of all GPUs, each byte once."""
    return sum(r.bytes * GPUS / r.copies for r in memory(study).regions if r.critical)


def test_copies_of_experts_taken_as_the_data_degree_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Layout.copies
    monkeypatch.setattr(Layout, "copies", lambda self, region: right(self, region.removeprefix("expert_")))
    assert whole_model(job(replicas=1)) != pytest.approx(PARAMETERS * 14, rel=0.01)


def test_a_dense_job_has_no_region_of_experts() -> None:
    names = [r.name for r in memory(job(experts=None)).regions]
    assert names == ["weights", "moments", "gradients", "activations", "workspace", "buffers", "context", "free"]


def test_replicas_one_is_the_plain_layout() -> None:
    plain, hybrid = job(replicas=1, experts=None), job(replicas=4, experts=None)
    assert memory(plain).bytes_of("moments") * 4 == memory(hybrid).bytes_of("moments")
    assert [layout(s).copies("moments") for s in (plain, hybrid)] == [1, 4]
    assert [layout(s).copies("weights") for s in (plain, hybrid)] == [16, 16]
    assert layout(job("full", 4, None)).copies("weights") == 4


def test_the_update_by_hand() -> None:
    """Moments read and written, own share of gradients and weights; then weights gathered, experts apart: 8 ranks share
    the dense part, 2 a set of experts."""
    hbm, nic = 3.35e12, 50e9
    dense = 2 * 0.75e9 + 2 * 1e9 / 8 + 2e9 / 8
    experts = 2 * 2.25e9 + 2 * 0.75e9 / 2 + 1.5e9 / 2
    gather = 1e9 * 7 / 8 / nic + 0.75e9 / 2 / nic
    study = job()
    assert update_seconds(study, memory(study)) == pytest.approx((dense + experts) / hbm + gather, rel=1e-12)


def test_critical_covers_experts_and_a_list_may_leave_them_out() -> None:
    held = memory(job())
    assert held.coded == held.critical == held.bytes_of("weights", "moments", "expert_weights", "expert_moments")
    part = job().model_copy(update={"workload": job().workload.model_copy(update={"protect": ("expert_moments",)})})
    assert memory(part).coded == held.bytes_of("expert_moments")
    unique = job(replicas=1).workload.model_copy(update={"protect": "unique"})
    alone = memory(job(replicas=1).model_copy(update={"workload": unique}))
    assert alone.coded == alone.bytes_of("moments", "expert_moments")


def test_errors_land_on_experts_by_their_bytes() -> None:
    held = memory(job())
    landing = dict(held.landing("critical"))
    assert landing["expert_moments"] == 2.25e9 / (1e9 + 0.75e9 + 0.75e9 + 2.25e9)
    assert sum(landing.values()) == pytest.approx(1.0)


def peers(gpus: set[int], replicas: int) -> bool:
    """Whether a peer copy brings back what these GPUs held: tensor 4, data 4, experts over two ranks."""
    of = scenario(
        RETRY,
        PEERS,
        checkpoint(),
        workload__parallel={"tensor": 4, "data": 4, "shard": "full", "replicas": replicas},
        workload__experts={"share": 0.5, "parallel": 2},
    )
    tier = next(t for t in of.tiers if isinstance(t, PeerCopy))
    lost = Damage(lost=frozenset(("gpu", gpu) for gpu in gpus), alive=False, restart="in_process")
    return tier.recover(lost, Moment(5, 1.0, 0), of.platform) is not None


def test_a_replica_group_brings_a_fully_sharded_gpu_back() -> None:
    """Two groups of 8 GPUs: GPU 3 and GPU 11 hold the same shards."""
    assert not peers({3}, 1)
    assert peers({3}, 2)
    assert peers({3, 4}, 2)
    assert not peers({3, 11}, 2)


def test_all_holders_of_one_set_of_experts() -> None:
    """Unsharded, weights have four copies and experts two: GPUs 0 and 8 are all that hold theirs."""
    keys: dict[str, Any] = {"workload__experts": {"share": 0.5, "parallel": 2}}
    of = scenario(PEERS, checkpoint(), **keys)
    tier = next(t for t in of.tiers if isinstance(t, PeerCopy))
    for other, possible in ((4, True), (8, False)):
        lost = Damage(lost=frozenset({("gpu", 0), ("gpu", other)}), alive=False, restart="in_process")
        assert (tier.recover(lost, Moment(5, 1.0, 0), of.platform) is not None) is possible


def test_a_job_with_experts_runs_and_differs_from_a_dense_one() -> None:
    keys: dict[str, Any] = {"workload__experts": {"share": 0.5, "parallel": 2}}
    assert build(spec(**keys), profile=profile()).id != build(spec(), profile=profile()).id


def test_arithmetic_grows_with_the_active_parameters() -> None:
    dense = {"parameters": 10e9, "step": "1 s", "parallel": {"data": 8}}
    mixture = dense | {"experts": {"share": 0.8, "parallel": 8, "active": 2, "total": 8}}
    assert WorkloadSpec.model_validate(dense).active_parameters == 10e9
    assert WorkloadSpec.model_validate(mixture).active_parameters == pytest.approx(2e9 + 8e9 / 4)


BASE = {"parameters": 10e9, "step": "1 s", "parallel": {"data": 8, "shard": "full", "replicas": 2}}


@pytest.mark.parametrize(
    ("model", "raw", "words"),
    [
        (ParallelSpec, {"data": 8, "shard": "full", "replicas": 3}, "divisor of the data-parallel degree, 8"),
        (ParallelSpec, {"data": 8, "replicas": 2}, "remove replicas, or shard"),
        (ExpertsSpec, {"share": 0, "parallel": 1}, "remove experts"),
        (ExpertsSpec, {"share": 0.5, "parallel": 1, "active": 2}, "both or neither"),
        (ExpertsSpec, {"share": 0.5, "parallel": 1, "active": 3, "total": 2}, "not more than total"),
        (WorkloadSpec, BASE | {"experts": {"share": 0.5, "parallel": 8}}, "8 of 4 data-parallel ranks"),
        (WorkloadSpec, BASE | {"protect": ["weights", "expert_weights"]}, "dense model"),
    ],
)
def test_layouts_that_cannot_be(model: Any, raw: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        model.model_validate(raw)
