"""Questions that planners asked in public, put to the simulator; the number is that of the case in the reference.

Closed forms are tested in tests/analytic; patterns of loss are enumerated in tests/protection/test_domains.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gemsim.engine.run import simulate
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point
from tests import statcheck
from tests.engine.small import Hit, checkpoint, recovered, run, scenario
from tests.faults import must_reject, replaced

DAY, HOUR, MINUTE = 86_400.0, 3_600.0, 60.0


def study(text: str, changes: dict[str, Any] | None = None) -> Scenario:
    return build(resolve_point(parse_study(text.encode(), "case"), changes or {}))


# ---------------------------------------------------------------- case 6: node replaced, the erasure data is useless


def restored_after_a_lost_node(**keys: Any) -> dict[str, int]:
    """Which tier a replaced node's failure goes back to, saved on disks every step and remotely every 20."""
    disk = checkpoint("disk", name="disk", interval="10 s", **keys)
    of = scenario(disk, checkpoint(name="far", interval="200 s"), mode="all_processes")
    return recovered(run(of, Hit("node", 390.0, 1)))


def test_case_6_erasure_data_is_useless_where_a_replaced_node_cannot_rebuild() -> None:
    """ECP-VeloC/VELOC/issues/26: without a code over nodes the replaced node's part is gone, and the next tier serves;
    without a next tier the job starts from the beginning. With a code that rebuilds on the new node it does not."""
    assert restored_after_a_lost_node(redundancy="single") == {"far": 1}
    assert restored_after_a_lost_node(redundancy="xor", set=2, domain="node") == {"disk": 1}
    alone = scenario(checkpoint("disk", name="disk", interval="10 s", redundancy="single"), mode="all_processes")
    row = run(alone, Hit("node", 390.0, 1))
    assert recovered(row) == {"start": 1}
    assert row["wasted_s"] > 250.0  # all work so far instead of a step
    assert recovered(run(alone, Hit("software", 390.0, 1))) == {"disk": 1}  # the same node again: it is of use


def test_case_6_parity_in_gpu_memory_needs_processes_that_live_on() -> None:
    """The second switch of the case, survives a process restart: parity in a node's GPUs goes with its processes."""
    nodes = {"stripe": {"name": "nodes", "layout": "nodes", "k": 3, "m": 1}}
    lost = {
        mode: recovered(run(scenario(nodes, checkpoint(), mode=mode), Hit("node", 394.0, 1)))
        for mode in ("in_process", "all_processes")
    }
    assert lost == {"in_process": {"nodes": 1}, "all_processes": {"checkpoint": 1}}


# ---------------------------------------------------------------- case 7: a bad copy, an endless loop


BAD_COPY = """
title: copies that turn out bad
cluster: {gpus: 16, gpu: h100-80gb, storage: {write: 2 TB/s, read: 7 TB/s}}
workload: {parameters: 1e9, parallel: {data: 16}, step: 1 s}
restart: {mode: all_processes, process: 0 s, communicator: 0 s, warmup: 0 s, reboot: 0 s}
failures: {classes: [{name: node, scope: node, rate: 1 / 50 d, gpus: 16, detect: 0 s, action: reboot}]}
protection:
  - checkpoint: {name: near, target: disk, mode: async, blocked: 0 s, write: 0 s, read: 0 s, interval: 5 min,
                 invalid: 0, notice: 66 min}
  - checkpoint: {name: far, target: remote, mode: async, blocked: 0 s, write: 0 s, read: 0 s, interval: 3 h}
run: {horizon: 2000 d}
"""


def check_bad_copies(p: float, seed: int) -> None:
    """Minutes lost for each failure against (1 - p) tau_local / 2 + p (tau_global / 2 + detection), of 40 per run.

    Half a step of 1 s more, and a second failure within 66 min (1 in 1,000), are below what is seen.
    """
    of = study(BAD_COPY, {"protection.near.invalid": p})
    expected = (1 - p) * 2.5 + p * (90 + 66)

    def draw(stage: int) -> NDArray[np.float64]:
        rows = [simulate(of, seed=seed, replication=400 * stage + one) for one in range(400)]
        lost = [(row["wasted_s"] + row["recovery_s"]) / MINUTE - expected * row["failures"] for row in rows]
        return np.array(lost) / 40

    statcheck.mean_two_stage(draw, 0.0, detect=0.2 + 0.15 * expected)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_case_7_a_bad_local_copy_falls_back_and_costs_the_global_rework(p: float, seed: int) -> None:
    """NVIDIA/Megatron-LM/issues/5281: 44 cycles of 90 s are the 66 min; p = 1 loses 90 min more, and not 2.5."""
    check_bad_copies(p, seed)


def test_case_7_bad_copies_that_are_taken_for_good_ones_are_noticed(seed: int) -> None:
    must_reject(
        lambda: check_bad_copies(0.5, seed),
        replaced("gemsim.engine.recovery:Recovery._copy_is_bad", lambda _: lambda *_: False),
    )


# ---------------------------------------------------------------- case 13: time-out shorter than the recovery


def capacity_left(limit: str, failures: int) -> float:
    """Share of four groups at work at the end, after failures that leave one group each for a recovery of 6 s."""
    tier = {"replica_group": {"stall": "30 s", "catch_up": "6 s", "minimum": 1, "join_timeout": limit}}
    hits = [Hit("gpu", 105.0 + 300.0 * i, 4 * i) for i in range(failures)]
    rows = [run(scenario(tier, mode="in_process", run__horizon=f"{end} s"), *hits) for end in (4000, 5000)]
    return float(rows[1]["productive_s"] - rows[0]["productive_s"]) / 1000.0


@pytest.mark.parametrize("failures", [0, 1, 2, 3])
def test_case_13_a_replica_slower_than_the_join_time_out_never_rejoins(failures: int) -> None:
    """meta-pytorch/torchft/pull/75: R > L takes one group per failure for good; L above R changes nothing."""
    assert capacity_left("5 s", failures) == pytest.approx(1.0 - failures / 4)
    assert capacity_left("7 s", failures) == capacity_left("1 d", failures) == pytest.approx(1.0)
