"""The twin on arrays: each of its numbers is that of `predict` for the scenario that a study with its values gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from gemsim.analytic.run import predict
from gemsim.analytic.screen import screen
from gemsim.errors import Infeasible, NotCovered
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.scenario import Scenario
from gemsim.scenario.vary import with_every, with_spares
from gemsim.study.validate.simulate import scenario_of
from tests.faults import must_reject, replaced

STEP = 8
HOST = "replica: {name: host, copies: 2, every: EVERY}"
DISK = "checkpoint: {name: disk, target: disk, redundancy: partner, mode: async, blocked: 200 ms, interval: EVERY"
STORE = "checkpoint: {name: store, target: remote, mode: async, blocked: 2 s, write: 3 min, interval: EVERY"
SYNC = "checkpoint: {name: store, target: remote, mode: sync, interval: EVERY"
GEM = "stripe: {name: gem, layout: gpu, k: 32, m: 1, cadence: CADENCE}"
NODES = "stripe: {name: across, layout: nodes, k: 6, m: 1, cadence: CADENCE}"
RETRY = "retry: {granularity: mixed}"
BASE = """
title: one job
cluster: {gpus: 512, gpu: h100-80gb, replace: node, nic: 400 Gb/s, storage: {write: 500 GB/s, read: 500 GB/s}, SPARES}
workload:
  {parameters: 70e9, parallel: {tensor: 8, pipeline: 2, data: 32, shard: SHARD}, step: 8 s, microbatches: 8,
   layers: 80, network_idle: 2 s}
restart: MODE
failures: {FAILURES}
FLEET
protection: [TIERS]
run: {HORIZON, replications: 1}
"""
SILENT = (
    "mix: llama3-2024, scale: 8, classes: [{name: silent, scope: silent, rate: 1 / 6 d, gpus: 512, action: replace, "
    "repair: 1 d, detect: {kind: exponential, mean: 10 min}}]"
)
RACKS = (
    "mix: llama3-2024, scale: 8, classes: [{name: racks, scope: node, rate: 4 / 1000 node d, action: replace, "
    "repair: 6 h, detect: 1 min, batch: {sizes: [[1, 0.7], [2, 0.3]], within: rack}}]"
)
AGEING = (
    "mix: llama3-2024, scale: 8, classes: [{name: worn, scope: gpu, rate: 1 / 1000 gpu d, action: reset, "
    "detect: 1 min, law: {kind: weibull, shape: 0.7}}]"
)
SPOT = (
    "classes: [{name: preempted, scope: node, rate: 1 / 7 node d, detect: 20 s, action: replace, repair: 30 min}, "
    "{name: software, scope: process, rate: 1 / 1 d, gpus: 512, detect: 30 s, action: restart_app}]"
)


def study(
    *tiers: str,
    every: Mapping[str, int] | None = None,
    cadence: int = 1,
    spares: int = 40,
    mode: str = "in_place",
    failures: str = "mix: llama3-2024, scale: 8",
    horizon: str = "horizon: 30 d",
    fleet: str = "",
    shard: str = "optimizer",
) -> str:
    """The text of a study; `every`: steps between saves of each named tier, optimal where it is not named."""
    written = []
    for tier in tiers:
        name = next((one for one in ("host", "disk", "store") if f"name: {one}" in tier), "")
        steps = (every or {}).get(name, 0)
        given = str(steps or 1) if name == "host" else f"{steps * STEP} s" if steps else "optimal"
        text = tier.replace("EVERY", given).replace("CADENCE", str(cadence))
        written.append(f"{{{text + '}' * (text.count('{') - text.count('}'))}}}")
    stand_by = "spare_activation: 2 min" if fleet else f"spare_nodes: {spares}, spare_activation: 2 min"
    return (
        BASE.replace("SPARES", stand_by)
        .replace("SHARD", shard)
        .replace("MODE", mode)
        .replace("FAILURES", failures)
        .replace("FLEET", f"fleet: {fleet.replace('HOT', str(spares))}" if fleet else "")
        .replace("TIERS", ", ".join(written))
        .replace("HORIZON", horizon)
    )


JOBS: dict[str, dict[str, Any]] = {
    "retry, a stripe in each GPU, a store": {"tiers": (RETRY, GEM, STORE)},
    "every fourth step": {"tiers": (RETRY, GEM, STORE), "cadence": 4},
    "replicas, a disk and a store": {"tiers": (HOST, DISK, STORE)},
    "stripes across nodes": {"tiers": (RETRY, NODES, STORE), "cadence": 6},
    "both stripes, replicas and a store": {"tiers": (RETRY, GEM, NODES, HOST, STORE), "cadence": 2},
    "all processes exit": {"tiers": (HOST, STORE), "mode": "all_processes"},
    "spot nodes": {"tiers": (HOST, STORE), "mode": "all_processes", "failures": SPOT},
    "a holder, a synchronous save": {"tiers": (GEM, SYNC), "mode": "holder"},
    "saves on the wall clock": {"tiers": (RETRY, GEM, STORE + ", anchor: wall")},
    "the last two are kept": {"tiers": (RETRY, HOST, STORE + ", keep: 2"), "failures": SILENT},
    "a copy can be bad": {"tiers": (RETRY, DISK + ", invalid: 10 %", STORE + ", invalid: 2 %")},
    "racks fail together": {"tiers": (RETRY, NODES, STORE), "failures": RACKS},
    "lives that age": {"tiers": (RETRY, GEM, STORE), "failures": AGEING},
    "a work target": {"tiers": (RETRY, GEM, STORE), "horizon": "steps: 200000, max_wall: 90 d"},
    "spares that may not join": {
        "tiers": (RETRY, GEM, STORE),
        "fleet": "{spares: {hot: HOT, activation: {hot: 2 min}, join_fails: 10 %, join_timeout: 5 min}}",
    },
    "warm ones too": {
        "tiers": (RETRY, GEM, STORE),
        "fleet": "{spares: {hot: HOT, warm: 2, activation: {hot: 2 min, warm: 10 min}}}",
    },
    "crews": {
        "tiers": (RETRY, GEM, STORE),
        "fleet": "{spares: {hot: HOT, activation: {hot: 2 min}}, repair: {stages: [{name: a, crews: 6, "
        "time: {kind: exponential, mean: 9 h}}]}}",
    },
    "a group runs on without another": {
        "tiers": ("replica_group: {stall: 20 s, catch_up: 2 min, catch_up_stall: 10 s}", STORE),
        "mode": "in_process",
        "shard": "optimizer, replicas: 4",
    },
    "lemons": {
        "tiers": (RETRY, GEM, STORE),
        "failures": "classes: [{name: node, scope: node, rate: 9 / 1000 node d, action: replace, detect: 1 min, "
        "repair: 1 d, frailty: {kind: lemons, share: 0.05, multiplier: 20}}]",
    },
    "errors unseen in a stripe": {
        "tiers": (RETRY, GEM.replace("CADENCE", "CADENCE, scrub: 1 h"), STORE),
        "failures": "mix: llama3-2024, scale: 8, classes: [{name: cold, scope: memory, rate: 1 / 100 gpu d, "
        "detect: 10 s, contained: 0.5, action: none, uncontained_action: reset, latent: {share: 0.5, read: 1 d}}]",
    },
}
SPARES = (0, 1, 2, 3, 5, 8, 40)
SLOW = ("lemons", "a group runs on without another", "errors unseen in a stripe", "warm ones too")  # point by point


def numbers(job: Mapping[str, Any], every: Mapping[str, int], spares: int) -> dict[str, Any] | str:
    """What `predict` says of the scenario that is built from a study with these values; or why it does not."""
    try:
        return predict(built(job, every, spares))
    except (NotCovered, Infeasible) as error:
        return str(error)


def built(job: Mapping[str, Any], every: Mapping[str, int], spares: int) -> Scenario:
    rest = {key: value for key, value in job.items() if key != "tiers"}
    return scenario_of(study(*job["tiers"], every=every, spares=spares, **rest))


def saves(scenario: Scenario) -> dict[str, int]:
    """The number of each tier that saves, by its name."""
    return {tier.name: tier.number for tier in scenario.tiers if isinstance(tier, Checkpoint)}


def differs(found: Mapping[str, Any], at: tuple[int, ...], said: dict[str, Any] | str) -> str:
    """In what a point of a screen is not what `predict` says; "" where it is that."""
    if isinstance(said, str):
        bare = bool(found["reason"][at]) and bool(np.isnan(found["ettr_analytic"][at]))
        return "" if bare else f"a number where there is none: {said}"
    if found["reason"][at]:
        return f"no number: {found['reason'][at]}"
    least = 1e-12 * said.get("cost_s_per_failure_analytic", 0.0)  # of a difference of these nothing may be left
    for name, value in said.items():
        one = found[name][at]
        floor = least if name == "wasted_s_per_failure_analytic" else 1e-18
        if value != one and not (isinstance(value, float) and abs(one - value) <= 2e-12 * abs(value) + floor):
            return f"{name}: {one!r}, not {value!r}"
    return ""


def sampled(
    name: str,
    rng: np.random.Generator,
    *,
    points: int,
    said: dict[tuple[Any, ...], dict[str, Any] | str] | None = None,
) -> list[str]:
    """Points of a job that are not what `predict` says, or said before."""
    said = {} if said is None else said
    job = JOBS[name]
    scenario = built(job, {"host": 1}, 40)
    tiers = saves(scenario)
    every = {one: np.unique(np.r_[0, NEVER, 1, 2, 3, rng.integers(4, 400, 10)]) for one in tiers}
    if "host" in every:
        every["host"] = np.array([1, 2, 3, 4, 7])
    names = list(tiers)
    grids = np.meshgrid(*every.values(), indexing="ij", sparse=True)
    found = screen(
        scenario,
        every={tiers[one]: grid[..., None] for one, grid in zip(names, grids, strict=True)},
        spares=np.array(SPARES),
    )
    wrong = []
    for _ in range(points):
        at = tuple(int(rng.integers(0, size)) for size in found["reason"].shape)
        given = {one: int(every[one][place]) for one, place in zip(names, at, strict=False)}
        piled = any(0 < given[one] < scenario.tiers[tiers[one]].shortest for one in tiers)  # type: ignore[attr-defined]
        if at not in said and piled:
            said[at] = "saves pile up"
        elif at not in said and NEVER in given.values():  # a study has no word for it
            other = with_every(with_spares(scenario, SPARES[at[-1]]), {tiers[one]: n for one, n in given.items()})
            said[at] = _said(other)
        elif at not in said:
            said[at] = numbers(job, given, SPARES[at[-1]])
        wrong += [f"{given}, {SPARES[at[-1]]} spares: {what}" for what in [differs(found, at, said[at])] if what]
    return wrong


def _said(scenario: Scenario) -> dict[str, Any] | str:
    try:
        return predict(scenario)
    except NotCovered as error:
        return str(error)


@pytest.mark.parametrize("name", [name for name in JOBS if name not in SLOW])
def test_a_point_is_what_the_scenario_built_for_it_says(name: str, rng: np.random.Generator) -> None:
    assert not sampled(name, rng, points=16)


@pytest.mark.parametrize("name", SLOW)
def test_what_has_no_form_on_arrays_is_the_same_point_by_point(name: str, rng: np.random.Generator) -> None:
    job = JOBS[name]
    every, spares = np.array([0, rng.integers(20, 200)]), np.array([40, 3])
    scenario = built(job, {}, 40)
    found = screen(scenario, every={saves(scenario)["store"]: every}, spares=spares)
    wrong = [
        differs(found, (at,), numbers(job, {"store": int(steps)}, int(nodes)))
        for at, (steps, nodes) in enumerate(zip(every, spares, strict=True))
    ]
    assert not any(wrong), wrong


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in JOBS if name not in SLOW])
def test_the_same_at_many_points(name: str, rng: np.random.Generator) -> None:
    assert not sampled(name, rng, points=400)


FAULTS = {
    "intervals are not rounded": replaced(
        "gemsim.analytic.screen:points",
        lambda of: lambda every, spares: of({tier: steps + 1 for tier, steps in every.items()}, spares),
    ),
    "the interval of another tier": replaced(
        "gemsim.analytic.screen:saving",
        lambda of: lambda tiers, every: of(tiers, dict(zip(every, reversed(list(every.values())), strict=True))),
    ),
    "the optimum of a rate that is not its own": replaced(
        "gemsim.scenario.intervals:reaching", lambda of: lambda found, number: 1.2 * of(found, number)
    ),
    "the waits of another number of spares": replaced(
        "gemsim.analytic.screen:_beside", lambda of: lambda point, count: of(point, max(0, count - 1))
    ),
    "saves that meet no encode": replaced(
        "gemsim.protection.cells:_boundaries",
        lambda of: lambda stall, period: [(one, 1.0 / len(of(stall, period))) for one, _ in of(stall, period)],
    ),
    "the oldest version of another tier": replaced(
        "gemsim.protection.held:_orders", lambda of: lambda spans: [(list(reversed(one)), at) for one, at in of(spans)]
    ),
}  # fmt: skip
SHOWN_BY = {
    "the interval of another tier": "replicas, a disk and a store",
    "saves that meet no encode": "every fourth step",
    "the oldest version of another tier": "the last two are kept",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_arrays_alone_is_found(fault: str) -> None:
    name = SHOWN_BY.get(fault, "retry, a stripe in each GPU, a store")
    said: dict[tuple[Any, ...], dict[str, Any] | str] = {}

    def check() -> None:
        """Against what was said before a fault was planted, since some lie in what both use."""
        assert not sampled(name, np.random.default_rng(6), points=24, said=said)

    check()
    must_reject(check, FAULTS[fault])


def test_arrays_broadcast_and_pairs_are_what_the_grid_has() -> None:
    scenario = built(JOBS["retry, a stripe in each GPU, a store"], {}, 40)
    every, spares = np.array([0, 5, 30, 60, 200]), np.array([0, 1, 2, 40])
    grid = screen(scenario, every={2: every[:, None]}, spares=spares)
    assert grid["reason"].shape == (5, 4)
    row, column = np.array([0, 1, 4, 3, 2]), np.array([3, 0, 1, 2, 3])
    pairs = screen(scenario, every={2: every[row]}, spares=spares[column])
    for name, values in pairs.items():
        there = grid[name][row, column]
        if values.dtype.kind == "f":
            assert np.allclose(values, there, rtol=1e-12, atol=0.0, equal_nan=True), name
        else:
            assert values.tolist() == there.tolist(), name
    alone = screen(scenario)
    assert alone["ettr_analytic"].shape == ()
    assert alone["ettr_analytic"] == predict(scenario)["ettr_analytic"]


def test_an_interval_shorter_than_its_write_says_so() -> None:
    """180 s of writing, 2 s of which block the job, take 23 steps of 8 s; `optimal` is never shorter."""
    scenario = built(JOBS["retry, a stripe in each GPU, a store"], {}, 40)
    found = screen(scenario, every={2: np.array([0, 1, 22, 23])})
    assert [bool(reason) for reason in found["reason"]] == [False, True, True, False]
    assert np.isnan(found["ettr_analytic"]).tolist() == [False, True, True, False]
    assert "tier store: every 22 steps (176 s)" in found["reason"][2]
    assert found["every_2"].tolist()[1:] == [1, 22, 23]
    assert found["every_2"][0] == scenario.tiers[2].overhead().every


def test_spares_that_are_always_lacking_have_a_reason() -> None:
    node = "{name: node, scope: node, rate: 300 / 1000 node d, action: replace, detect: 1 min, repair: 1 d}"
    job = {**JOBS["every fourth step"], "failures": f"classes: [{node}]"}
    found = screen(built(job, {"store": 30}, 400), spares=np.array([0, 400]))
    assert "nodes are lacking all the time" in found["reason"][0]
    assert np.isnan(found["cost_s_per_failure_analytic"][0])


def test_what_cannot_be_asked_is_refused() -> None:
    scenario = built(JOBS["retry, a stripe in each GPU, a store"], {}, 40)
    with pytest.raises(ValueError, match=r"tiers \[1\] save nothing; tiers \[2\] do"):
        screen(scenario, every={1: np.array([3])})
    with pytest.raises(ValueError, match="whole numbers"):
        screen(scenario, every={2: np.array([3.5])})
    shrinks = built({**JOBS["all processes exit"], "fleet": "{spares: {hot: HOT, short: shrink}}"}, {}, 8)
    with pytest.raises(NotCovered, match="short: shrink"):
        screen(shrinks, spares=np.array([1, 2]))


@pytest.mark.parametrize("name", ["retry, a stripe in each GPU, a store", "replicas, a disk and a store", "lemons"])
def test_a_scenario_varied_is_the_one_that_is_built(name: str) -> None:
    job = JOBS[name]
    scenario = built(job, {}, 40)
    tiers = saves(scenario)
    every = {"store": 60, **({"host": 2, "disk": 0} if "host" in tiers else {})}  # the optimum of disk moves with host
    varied = with_every(with_spares(scenario, 7), {tiers[one]: steps for one, steps in every.items()})
    assert varied.id == built(job, every, 7).id
    anew = {tiers[one]: 0 for one in ("disk", "store") if one in tiers}
    assert with_every(varied, anew).id == built(job, {**every, "store": 0}, 7).id
