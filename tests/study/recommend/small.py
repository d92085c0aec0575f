"""A study small enough to try all of its designs by the engine: 256 GPUs that fail often, over ten days."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gemsim.spec.loading import LoadedStudy, parse_study
from gemsim.study.plan import MODEL, plan
from gemsim.study.points import Model
from gemsim.study.recommend.answer import Answer
from gemsim.study.recommend.hangs import Hangs
from gemsim.study.recommend.run import recommend
from gemsim.study.recommend.screen import Tools
from gemsim.study.recommend.tools import TOOLS
from tests.faults import replaced
from tests.study.fakes import Listener

CHECKPOINT = {"target": "remote", "mode": "async", "blocked": "5 s", "interval": "optimal"}
REPLICA: dict[str, Any] = {"replica": {"copies": 2, "every": 10}}
STRIPE: dict[str, Any] = {"stripe": {"layout": "gpu", "k": 16, "m": 1}}
STUDY: dict[str, Any] = {
    "title": "small",
    "cluster": {
        "gpus": 256, "gpu": "h100-80gb", "spare_nodes": 8, "storage": {"write": "200 GB/s", "read": "200 GB/s"},
    },
    "workload": {
        "parameters": 70e9, "parallel": {"tensor": 8, "data": 32, "shard": "optimizer"}, "step": "20 s",
        "network_idle": "3 s",
    },
    "restart": "in_place",
    "failures": {
        "classes": [
            {"name": "gpu", "scope": "gpu", "rate": "25 / 10 d", "gpus": 256, "detect": "1 min", "action": "replace",
             "repair": "2 h"},
            {"name": "memory", "scope": "memory", "rate": "15 / 10 d", "gpus": 256, "contained": 0.45, "detect": "10 s",
             "action": "drain_and_reset"},
            {"name": "silent", "scope": "silent", "rate": "1 / 10 d", "gpus": 256, "detect": "1 h", "action": "replace",
             "repair": "2 h"},
        ]
    },
    "protection": [{"retry": {}}, STRIPE, {"checkpoint": CHECKPOINT}],
    "compare": {
        "a code": {},
        "copies": {"protection": [{"retry": {}}, REPLICA, {"checkpoint": CHECKPOINT}]},
    },
    "decide": {
        "variables": {
            "protection.stripe.m": [0, 1, 2],
            "protection.replica.every": [1, 20],
            "protection.checkpoint.interval": ["optimal", "10 min", "1 h", "4 h"],
        }
    },
    "run": {"horizon": "10 d", "replications": 4, "seed": 7},
}  # fmt: skip


def study(**changes: Any) -> LoadedStudy:
    """The study with whole sections replaced; `variables` and `objective` go into `decide`."""
    data = json.loads(json.dumps(STUDY))
    for key in ("variables", "objective"):
        if key in changes:
            data["decide"][key] = changes.pop(key)
    return parse_study(json.dumps({**data, **changes}).encode(), "small.yaml")


def answer(
    folder: Path, loaded: LoadedStudy | None = None, *, model: Model = MODEL, tools: Tools = TOOLS, **options: Any
) -> Answer:
    """What `gemsim recommend` finds, without its page."""
    loaded = study() if loaded is None else loaded
    given = {"jobs": 1, "report": Listener(), **options}
    seed, replications = given.pop("seed", None), given.pop("replications", None)
    return recommend(loaded, tools, model, plan(loaded, seed=seed, replications=replications), folder, **given)


def unmoved(folder: Path, loaded: LoadedStudy | None = None, **options: Any) -> Answer:
    """The same without moving the inputs, which takes most of the time."""
    with replaced("gemsim.study.recommend.run:hangs", lambda original: lambda *given: Hangs(unmoved="not asked for")):
        return answer(folder, loaded, **options)


def said(folder: Path) -> dict[str, Any]:
    """recommend.json without the seconds that it took."""
    found: dict[str, Any] = json.loads((folder / "recommend.json").read_text(encoding="utf-8"))
    del found["seconds"]
    return found
