"""Running on with less, for any list of failures: every second is booked once, and more that is spared never costs."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.engine.capacity import Capacity
from gemsim.engine.run import simulate
from gemsim.results.ledger import LEDGER
from gemsim.scenario import Scenario
from tests.engine.small import PEERS, RETRY, STRIPE, Hit, checkpoint, run, scenario
from tests.engine.test_properties import judge, scripts, slower

NEAR = checkpoint("cpu_memory", name="near", interval="30 s", invalid=0.2)
SHORT: dict[str, Any] = {"cluster__spare_nodes": 0}
NODES_OF_TWO: dict[str, Any] = {"cluster__gpus_per_node": 2, "cluster__nodes_per_rack": 4}


def groups(**keys: Any) -> dict[str, Any]:
    return {"replica_group": {"stall": "30 s", "catch_up": "6 s", **keys}}


DESIGNS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "alone": ([groups()], {}),
    "no spares": ([groups(minimum=2), checkpoint(mode="async")], SHORT),
    "all else first": ([RETRY, STRIPE, groups(quorum="1 s"), NEAR, checkpoint(name="far", interval="200 s")], {}),
    "peers first": ([RETRY, PEERS, groups(discard="nothing"), checkpoint(keep=2)], {"cluster__spare_nodes": 1}),
    "blocking": ([groups(catch_up_stall="9 s", catch_up="70 s"), checkpoint("disk", anchor="wall")], SHORT),
    "for good": ([groups(join_timeout="1 s", minimum=2), checkpoint()], {}),
    "two halves": ([groups(groups=2), checkpoint()], SHORT),
    "elastic": ([groups(out="node", bubbles=0.15), checkpoint(mode="async")], {**SHORT, **NODES_OF_TWO}),
    "work": ([groups(minimum=2), checkpoint()], {"run": {"steps": 300, "max_wall": "5000 s"}, **SHORT}),
}


@lru_cache
def design(name: str, mode: str) -> Scenario:
    tiers, changes = DESIGNS[name]
    return scenario(*tiers, mode=mode, **changes)


designs = st.builds(design, st.sampled_from(sorted(DESIGNS)), st.sampled_from(["in_process", "in_place", "holder"]))


@settings(max_examples=400)
@given(designs, scripts)
def test_the_ledger_closes_for_any_list_of_failures(of: Scenario, script: list[Hit]) -> None:
    row = run(of, *script)
    judge(of, row)
    if of.work_steps and row["wall_s"] < of.horizon:
        assert row["steps"] == of.work_steps


@settings(max_examples=60)
@given(
    name=st.sampled_from(sorted(DESIGNS)),
    mode=st.sampled_from(["in_process", "in_place"]),
    scale=st.floats(0.1, 3e5),
    seed=st.integers(0, 2**31),
)
def test_the_ledger_closes_for_random_failures(name: str, mode: str, scale: float, seed: int) -> None:
    tiers, changes = DESIGNS[name]
    of = scenario(*tiers, mode=mode, **{"failures__scale": scale, **changes})
    judge(of, simulate(of, seed=seed, replication=1))


@settings(max_examples=100)
@given(designs, scripts, st.sampled_from([0.25, 4.0, 1024.0]))
def test_scaling_all_times_scales_the_run(of: Scenario, script: list[Hit], factor: float) -> None:
    row = run(of, *script)
    later = run(
        slower(of, factor), *(Hit(h.name, h.time * factor, h.unit, h.region, h.contained, h.marks) for h in script)
    )
    for name in (*(f"{column}_s" for column in LEDGER), "wall_s", "at_risk_s"):
        assert later[name] == pytest.approx(row[name] * factor, rel=1e-9, abs=1e-6 * factor)
    for name in ("failures", "fallbacks", "unrecoverable", "by_tier", "steps"):
        assert later[name] == row[name]


@settings(max_examples=100)
@given(scripts)
def test_bubbles_only_save_capacity(script: list[Hit]) -> None:
    """The same run in time; the more that bubbles hide, the more of it is productive."""
    rows = [
        run(scenario(groups(out="node", bubbles=share), mode="in_process", **{**SHORT, **NODES_OF_TWO}), *script)
        for share in (0.0, 0.15, 1.0)
    ]
    for less, more in pairwise(rows):
        assert less["degraded_s"] >= more["degraded_s"] - 1e-9
        whole = [row["productive_s"] + row["degraded_s"] + row["wasted_s"] for row in (less, more)]
        assert whole[0] == pytest.approx(whole[1], abs=1e-6)
    assert rows[-1]["degraded_s"] == 0.0


@settings(max_examples=100)
@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 5), st.floats(0, 1)), max_size=8), st.floats(0, 60))
def test_what_is_missing_is_given_up_once(stretches: list[tuple[float, float, float]], cut: float) -> None:
    """Missing work of a lineage and of its end add up, and going back forgets that of the end alone."""
    capacity, place = Capacity(design("alone", "in_process")), 0.0
    for gap, length, lost in stretches:
        capacity.note(place + gap, place + gap + length, lost)
        place += gap + length
    total = capacity.missing_between(0.0, place)
    beyond = capacity.missing_between(cut, place)
    assert total == pytest.approx(10.0 * math.fsum(length * lost for _, length, lost in stretches), abs=1e-6)
    capacity.go_back(cut)
    assert capacity.missing_between(0.0, place) == pytest.approx(total - beyond, abs=1e-6)
