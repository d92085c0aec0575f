"""A small job whose every number is chosen, and failures written down by hand: what exact tests of the engine use."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pytest

from gemsim.costs.profiles import Point, Profile
from gemsim.engine.run import simulate
from gemsim.failures.trace import Event, Trace
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.results.ledger import LEDGER
from gemsim.scenario import Scenario, build
from gemsim.spec.study import StudySpec

STEP, UPDATE, SKEW = 10.0, 1.0, 0.5
PROCESS, COMMUNICATOR, WARMUP, PAUSE, RESET, REBOOT = 7.0, 5.0, 3.0, 2.0, 11.0, 13.0
ACTIVATION, REPAIR, DETECT = 20.0, 500.0, 4.0
BLOCKED, WRITE, READ = 3.0, 40.0, 6.0

Row = dict[str, Any]

MEMORY = {"scope": "memory", "contained": 0.5, "action": "drain_and_reset"}
CLASSES: tuple[dict[str, Any], ...] = (
    {"name": "page", **MEMORY},
    {"name": "burst", **MEMORY, "rows": [[6, 1.0]]},
    {"name": "gpu", "scope": "gpu", "action": "replace", "repair": f"{REPAIR} s"},
    {"name": "reset_gpu", "scope": "gpu", "action": "reset"},
    {"name": "sram", "scope": "sram", "action": "reset"},
    {"name": "node", "scope": "node", "action": "replace", "repair": f"{REPAIR} s"},
    {"name": "reboot", "scope": "node", "action": "reboot"},
    {"name": "rack", "scope": "rack", "action": "replace", "repair": f"{REPAIR} s"},
    {"name": "link", "scope": "link", "action": "none"},
    {"name": "software", "scope": "process", "action": "restart_app"},
    {"name": "silent", "scope": "silent", "action": "replace", "repair": f"{REPAIR} s", "detect": "300 s"},
)

BASE: dict[str, Any] = {
    "title": "a small job",
    "cluster": {
        "gpus": 16,
        "gpus_per_node": 4,
        "nodes_per_rack": 2,
        "racks_per_switch": 1,
        "gpu": "h100-80gb",
        "spare_nodes": 8,
        "spare_activation": f"{ACTIVATION} s",
        "storage": {"write": "1 TB/s", "read": "1 TB/s"},
    },
    "workload": {
        "parameters": 8e9,
        "parallel": {"tensor": 4, "data": 4, "shard": "none"},
        "step": f"{STEP} s",
        "update": f"{UPDATE} s",
        "skew": f"{SKEW} s",
        "microbatches": 9,
        "layers": 4,
        "memory": {"activations": "4 GiB"},
    },
    "restart": {
        "mode": "in_place",
        "process": f"{PROCESS} s",
        "communicator": f"{COMMUNICATOR} s",
        "warmup": f"{WARMUP} s",
        "pause": f"{PAUSE} s",
        "reset": f"{RESET} s",
        "reboot": f"{REBOOT} s",
    },
    "failures": {"classes": [{"rate": "1 / 1000 d", "gpus": 16, "detect": f"{DETECT} s", **one} for one in CLASSES]},
    "protection": [],
    "run": {"horizon": "5000 s"},
}

RETRY: dict[str, Any] = {"retry": {"granularity": "mixed"}}
STRIPE: dict[str, Any] = {"stripe": {"layout": "gpu", "k": 8, "m": 1}}
NODES: dict[str, Any] = {"stripe": {"name": "nodes", "layout": "nodes", "k": 3, "m": 1}}
PEERS: dict[str, Any] = {"peer_copy": {}}


def checkpoint(target: str = "remote", mode: str = "sync", **keys: Any) -> dict[str, Any]:
    """A checkpoint tier of this file's times, every ten steps unless told."""
    given = {"interval": f"{10 * STEP} s", "read": f"{READ} s", "target": target, "mode": mode, **keys}
    if mode == "async":
        given = {"blocked": f"{BLOCKED} s", "write": f"{WRITE} s", **given}
    else:
        given = {"write": f"{BLOCKED} s", **given}
    return {"checkpoint": given}


def spec(*protection: Mapping[str, Any], mode: str = "in_place", **changes: Any) -> StudySpec:
    """The study of the small job; `changes` are dotted paths with `__` for the dot."""
    data = copy.deepcopy(BASE)
    data["protection"] = [copy.deepcopy(dict(tier)) for tier in protection]
    data["restart"]["mode"] = mode
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = data
        for parent in parents:
            place = place[parent]
        place[last] = value
    return StudySpec.model_validate(data)


@lru_cache
def profile() -> Profile:
    """A device that codes the small job's state in about a second: every kernel at copy speed."""
    points = [
        Point(op=op, field=bits, k=None, rows=rows, ratio=1.0, low=1.0, high=1.0)
        for op in ("encode", "decode", "update")
        for bits in (1, 8, 16)
        for rows in range(1, 9)
    ]
    return Profile(
        format=1, device="made-up", date="modelled", source="modelled", copy_bandwidth=31.5e9, launch=0.0,
        provenance={"all": "made up for tests"}, points=tuple(points),
    )  # fmt: skip


def scenario(*protection: Mapping[str, Any], mode: str = "in_place", **changes: Any) -> Scenario:
    """The scenario of the small job under this protection."""
    return build(spec(*protection, mode=mode, **changes), profile=profile())


@dataclass(frozen=True)
class Hit:
    """One failure by hand: class, time on that class's clock, GPU or node, and what its marks are to mean."""

    name: str
    time: float
    unit: int = 0
    region: str = "weights"
    contained: bool = True
    marks: Mapping[str, float] = field(default_factory=dict)


def script(of: Scenario, *hits: Hit) -> Trace:
    """The hits as a trace of this scenario's classes."""
    names = [kind.name for kind in of.classes]
    counts = [0] * len(names)
    wall: list[Event] = []
    running: list[Event] = []
    marks: dict[tuple[int, str], list[float]] = {}
    for hit in sorted(hits, key=lambda hit: hit.time):
        index = names.index(hit.name)
        kind = of.classes[index]
        clock = wall if kind.exposure == "wall" else running
        clock.append(Event(hit.time, index, counts[index], 0 if kind.clock == "job" else hit.unit))
        counts[index] += 1
        drawn = {"contained": 0.0 if hit.contained else 0.999, "device": (hit.unit + 0.5) / of.platform.grid.gpus}
        drawn |= {"place": 0.5, "rows": 0.5, "detect": 0.5, "repair": 0.5, "bad:checkpoint": 0.999}
        if kind.clock == "node":
            drawn["device"] = 0.0
        if kind.scope == "memory":
            drawn["region"] = _region(of, kind.lands, hit.region)
        for name, value in {**drawn, **hit.marks}.items():
            marks.setdefault((index, name), []).append(value)
    return Trace(of.classes, 0, 0, wall, running, counts, marks)


def _region(of: Scenario, lands: str, wanted: str) -> float:
    below = 0.0
    for name, share in of.platform.memory.landing(lands):
        if name == wanted:
            return below + share / 2
        below += share
    raise ValueError(f"nothing lands on {wanted}")


def run(of: Scenario, *hits: Hit) -> Row:
    """The row of a run that meets these failures."""
    return simulate(of, seed=0, replication=0, trace=script(of, *hits))


def expect(row: Row, **seconds: float) -> None:
    """Every ledger column to 1e-6 s: those named, all others zero, and the sum is the wall time."""
    assert {name: row[f"{name}_s"] for name in LEDGER} == pytest.approx(
        {name: seconds.pop(name, 0.0) for name in LEDGER}, abs=1e-6
    )
    assert not seconds
    assert sum(row[f"{name}_s"] for name in LEDGER) == pytest.approx(row["wall_s"], rel=1e-9)


def recovered(row: Row) -> dict[str, int]:
    """Who recovered how many failures."""
    found: dict[str, int] = json.loads(row["by_tier"])
    return found


def encode(of: Scenario, name: str = "stripe") -> float:
    """Seconds of one encode of a stripe of this scenario."""
    tier = next(t for t in of.tiers if t.name == name)
    assert isinstance(tier, (PageStripe, MemberStripe))
    return tier.cadence.encode
