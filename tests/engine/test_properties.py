"""What holds in every run, on scenarios and failure lists made by hypothesis: ledgers, scaling, order, limits."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.engine.run import simulate
from gemsim.failures.trace import draw_trace
from gemsim.results.ledger import LEDGER, LOST_TO_FAILURES
from gemsim.results.rows import check_row
from gemsim.scenario import Scenario
from tests.engine.small import NODES, PEERS, RETRY, STRIPE, Hit, Row, checkpoint, run, scenario

MODES = ("all_processes", "holder", "in_process", "in_place")
NEAR = checkpoint("cpu_memory", name="near", interval="30 s", invalid=0.2)
SNAPSHOT = {"stripe": {**STRIPE["stripe"], "name": "inside", "copy": "snapshot", "cadence": 3}}
OVERLAP = {"stripe": {**STRIPE["stripe"], "encode": "overlap", "buckets": 3}}
SHARDED = {"workload__parallel__shard": "optimizer"}
DESIGNS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "nothing": ([], {}),
    "store": ([checkpoint()], {}),
    "store, no spares": ([checkpoint(mode="async")], {"cluster__spare_nodes": 1}),
    "inside": ([RETRY, STRIPE, checkpoint(mode="async")], {}),
    "overlapped": ([RETRY, OVERLAP, checkpoint("disk", anchor="wall"), checkpoint(name="far", interval="330 s")], {}),
    "both": ([RETRY, STRIPE, NODES, checkpoint(keep=2)], {"cluster__spare_nodes": 0}),
    "snapshot": ([SNAPSHOT, checkpoint(mode="async", keep="400 s")], {**SHARDED}),
    "peers": ([RETRY, PEERS, NEAR, checkpoint(name="far", interval="200 s")], {}),
    "work": ([RETRY, NODES, checkpoint()], {"run": {"steps": 300, "max_wall": "5000 s"}, "cluster__spare_nodes": 1}),
}


@lru_cache
def design(name: str, mode: str) -> Scenario:
    tiers, changes = DESIGNS[name]
    return scenario(*tiers, mode=mode, **changes)


designs = st.builds(design, st.sampled_from(sorted(DESIGNS)), st.sampled_from(MODES))
REGIONS = ("weights", "moments", "gradients", "activations", "workspace", "buffers", "context")
UNITS = {"node": 4, "reboot": 4, "link": 4}
NAMES = (
    "page", "burst", "gpu", "reset_gpu", "sram", "node", "reboot", "rack", "link", "software", "silent",
)  # fmt: skip


@st.composite
def hits(draw: st.DrawFn) -> Hit:
    name = draw(st.sampled_from(NAMES))
    unit = draw(st.integers(0, UNITS.get(name, 16) - 1))
    marks = {"place": draw(st.floats(0, 0.999)), "bad:near": draw(st.floats(0, 0.999))}
    time = draw(st.integers(0, 4999 * 8)) / 8
    return Hit(name, time, unit, draw(st.sampled_from(REGIONS)), draw(st.booleans()), marks)


scripts = st.lists(hits(), max_size=14)


def judge(of: Scenario, row: Row) -> None:
    """No second is lost, booked twice or negative; work and counts fit together."""
    check_row(row)
    assert all(row[f"{name}_s"] >= -1e-9 * row["wall_s"] for name in LEDGER)
    assert abs(math.fsum(row[f"{name}_s"] for name in LEDGER) - row["wall_s"]) <= 1e-9 * row["wall_s"]
    assert -1e-6 <= row["at_risk_s"] <= row["productive_s"] + 1e-6
    assert row["steps"] * of.useful_step <= row["productive_s"] + 1e-4
    assert row["cost_failures_s"] == pytest.approx(sum(row[f"{name}_s"] for name in LOST_TO_FAILURES), abs=1e-6)
    by_class = json.loads(row["by_class"])
    assert sum(cost for _, cost in by_class.values()) == pytest.approx(row["cost_failures_s"], abs=1e-6)
    lost = json.loads(row["lost_by_class"])
    assert {name: pytest.approx(cost, abs=1e-6) for name, (_, cost) in by_class.items() if name in lost} == {
        name: sum(tiers.values()) for name, tiers in lost.items()
    }
    assert all(cost == 0.0 for name, (_, cost) in by_class.items() if name not in lost)
    assert set().union(*lost.values()) <= {t.name for t in of.tiers} | {"held", "start", "remap", "slow", "wait"}
    assert sum(count for count, _ in by_class.values()) == sum(json.loads(row["by_tier"]).values())
    overheads = json.loads(row["overhead_by_tier"])
    assert sum(overheads.values()) == pytest.approx(row["overhead_s"], abs=1e-6)
    assert row["unrecoverable"] <= row["failures"]


@settings(max_examples=300)
@given(designs, scripts)
def test_the_ledger_closes_for_any_list_of_failures(of: Scenario, script: list[Hit]) -> None:
    row = run(of, *script)
    judge(of, row)
    wanted = {hit.name for hit in script}
    assert set(json.loads(row["by_class"])) <= wanted
    if of.work_steps and row["wall_s"] < of.horizon:
        assert row["steps"] == of.work_steps


@settings(max_examples=60)
@given(
    name=st.sampled_from(sorted(DESIGNS)),
    mode=st.sampled_from(MODES),
    scale=st.floats(0.1, 3e5),
    kind=st.sampled_from(["exponential", "weibull", "lognormal"]),
    start=st.sampled_from(["stationary", "new"]),
    seed=st.integers(0, 2**31),
)
def test_the_ledger_closes_for_random_failures(
    name: str, mode: str, scale: float, kind: str, start: str, seed: int
) -> None:
    tiers, changes = DESIGNS[name]
    law = {"kind": kind} if kind == "exponential" else {"kind": kind, "shape": 0.8}
    limits = {"run": {"horizon": "3000 s", **changes.get("run", {}), "start": start}}
    if "run" in changes:
        del limits["run"]["horizon"]
    more = {"failures__scale": scale, "failures__law": law, **changes, **limits}
    of = scenario(*tiers, mode=mode, **more)
    judge(of, simulate(of, seed=seed, replication=1))


TIMES = {
    "length", "update", "skew", "microbatch", "layer", "kernel", "step", "seconds", "process", "communicator", "warmup",
    "pause", "reset", "reboot", "useful_step", "activation", "encode_anew", "horizon", "encode", "stall",
    "slower", "lag", "decode_page", "blocked", "read", "keep_seconds", "notice", "mean", "scale",
    "fetch", "save", "quorum", "catch_up", "catch_up_stall", "join_timeout",
}  # fmt: skip
SPEEDS = {"nic"}


def slower(value: Any, factor: float) -> Any:
    """The same scenario with every duration `factor` times as long."""
    if isinstance(value, tuple):
        return tuple(slower(item, factor) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changes: dict[str, Any] = {}
    for one in (one for one in fields(value) if one.init):
        old = getattr(value, one.name)
        if one.name in TIMES and isinstance(old, (int, float)):
            changes[one.name] = old * factor
        elif one.name == "activation":
            changes[one.name] = tuple(each * factor for each in old)
        elif one.name in SPEEDS:
            changes[one.name] = old / factor
        elif one.name != "notes":
            changes[one.name] = slower(old, factor)
    return replace(value, **changes)


@settings(max_examples=100)
@given(designs, scripts, st.sampled_from([0.25, 4.0, 1024.0]))
def test_scaling_all_times_scales_the_run(of: Scenario, script: list[Hit], factor: float) -> None:
    row = run(of, *script)
    later = run(slower(of, factor), *(replace(hit, time=hit.time * factor) for hit in script))
    for name in (*(f"{column}_s" for column in LEDGER), "wall_s", "at_risk_s"):
        assert later[name] == pytest.approx(row[name] * factor, rel=1e-9, abs=1e-6 * factor)
    for name in ("failures", "fallbacks", "unrecoverable", "by_tier", "steps"):
        assert later[name] == row[name]


@settings(max_examples=40)
@given(st.permutations(range(4)), st.sampled_from(sorted(DESIGNS)))
def test_results_do_not_depend_on_the_order_of_replications(order: list[int], name: str) -> None:
    of = scenario(*DESIGNS[name][0], **{"failures__scale": 2e4, **DESIGNS[name][1]})
    found = {number: simulate(of, seed=5, replication=number) for number in order}
    assert [found[number] for number in range(4)] == in_order(name)


@lru_cache
def in_order(name: str) -> list[Row]:
    of = scenario(*DESIGNS[name][0], **{"failures__scale": 2e4, **DESIGNS[name][1]})
    return [simulate(of, seed=5, replication=number) for number in range(4)]


def test_without_failures_every_design_is_arithmetic() -> None:
    for name in DESIGNS:
        of = design(name, "in_place")
        row = run(of)
        judge(of, row)
        assert row["productive_s"] + row["overhead_s"] == pytest.approx(row["wall_s"])
        assert row["failures"] == row["cost_failures_s"] == 0


def test_a_rate_towards_zero_gives_the_run_without_failures() -> None:
    of = scenario(RETRY, STRIPE, checkpoint(), failures__scale=1e-9)
    assert simulate(of, seed=1, replication=0)["productive_s"] == run(of)["productive_s"]


@settings(max_examples=100)
@given(designs, scripts, st.data())
def test_a_thinned_list_never_has_more_failures(of: Scenario, script: list[Hit], data: st.DataObject) -> None:
    """On the wall clock; fewer stops leave software more running time to fail in."""
    wall = [hit for hit in script if hit.name != "software"]
    fewer = data.draw(st.lists(st.sampled_from(wall), unique_by=id)) if wall else []
    if of.work_steps == 0:
        assert run(of, *fewer)["failures"] <= run(of, *wall)["failures"] <= len(wall)


@settings(max_examples=150)
@given(designs, hits())
def test_lost_work_is_never_older_than_the_start(of: Scenario, hit: Hit) -> None:
    row = run(of, hit)
    assert row["wasted_s"] <= hit.time + (300.0 if hit.name == "silent" else 0.0) + 1e-6


def test_the_trace_is_the_same_for_every_design() -> None:
    """Times, devices and all marks, asked for in another order."""
    marks = ("contained", "region", "rows", "place", "device", "detect", "repair", "bad:near")
    found = []
    for name, (tiers, changes) in DESIGNS.items():
        spares = {k: v for k, v in changes.items() if k.startswith("workload")}
        for mode in MODES:
            of = scenario(*tiers, mode=mode, **{"failures__scale": 1e5, **spares})
            trace = draw_trace(of.classes, horizon=5000.0, seed=3, replication=1)
            asked = marks if mode == "holder" else marks[::-1]
            drawn = {mark: [trace.mark(event, mark) for event in trace.wall + trace.running] for mark in asked}
            found.append((name, trace.wall, trace.running, sorted(drawn.items())))
    assert len(found[0][1]) > 20
    assert all(other[1:] == found[0][1:] for other in found)


def test_stripe_width_parity_cadence_and_interval_leave_the_trace_alone() -> None:
    base = None
    for k, m, cadence, interval in ((4, 1, 1, "100 s"), (8, 2, 1, "100 s"), (16, 1, 5, "100 s"), (4, 1, 1, "optimal")):
        stripe = {"stripe": {"layout": "gpu", "k": k, "m": m, "cadence": cadence}}
        of = scenario(RETRY, stripe, checkpoint(mode="async", interval=interval), failures__scale=2e4)
        trace = draw_trace(of.classes, horizon=of.horizon, seed=9, replication=4)
        base = base or (trace.wall, trace.running)
        assert (trace.wall, trace.running) == base


def test_spares_do_not_move_the_failures_of_the_job() -> None:
    few, many = (scenario(failures__scale=2e4, cluster__spare_nodes=n) for n in (0, 8))
    traces = [draw_trace(of.classes, horizon=5000.0, seed=3, replication=1) for of in (few, many)]
    units = {kind.name: kind.units for kind in few.classes}
    jobs = [[e for e in t.wall if e.unit < units[t.classes[e.index].name]] for t in traces]
    assert jobs[0] == jobs[1]
    assert len(traces[1].wall) > len(traces[0].wall)
    assert [[t.mark(e, "repair") for e in jobs[0]] for t in traces[:1]] == [
        [traces[1].mark(e, "repair") for e in jobs[1]]
    ]


def test_regions_by_their_bytes() -> None:
    memory = design("inside", "in_place").platform.memory
    used = dict(memory.landing("used"))
    assert sum(used.values()) == pytest.approx(1.0)
    assert used["weights"] / used["moments"] == pytest.approx(4 / 24)
    assert "free" not in used
    assert set(dict(memory.landing("critical"))) == {"weights", "moments"}
    assert dict(memory.landing("all"))["free"] == pytest.approx(memory.bytes_of("free") / memory.capacity)
