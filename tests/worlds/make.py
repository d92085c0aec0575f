"""Random worlds, drawn from a number: the study of a small job under any protection, failures, restart mode and fleet.

A third aims at what has an exact closed form; the others draw from all that a study can say. A number always gives the
same study.
"""

from __future__ import annotations

import json
from functools import cache
from math import exp, log
from random import Random
from typing import Any

from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point

Tree = dict[str, Any]

WORLDS = range(230)
DAY = 86_400.0
COST = 250.0  # seconds: about what a failure costs, by which a share of time becomes a rate


def aims_at_exact(number: int) -> bool:
    """Whether the world is meant to have an exact form."""
    return number % 3 == 0


@cache
def text(number: int) -> str:
    """The study of a world, as a file would hold it."""
    return json.dumps(study(number), indent=1)


def scenario(number: int) -> Scenario:
    """The world's one design point."""
    return build(resolve_point(parse_study(text(number).encode(), f"world_{number}.yaml"), {}))


def study(number: int) -> Tree:
    """All sections of a world's study."""
    rng = Random(f"world {number}")
    if aims_at_exact(number):
        return _exact(rng, number)
    return _recommender(rng, number) if rng.random() < 0.04 else _any(rng, number)


def _exact(rng: Random, number: int) -> Tree:
    """Exponential clocks on the wall, fixed detection, one checkpoint tier, and no vulnerable window."""
    mode = rng.choice(["all_processes", "all_processes", "holder", "in_process", "in_place", "in_place"])
    cluster, workload = _job(rng)
    workload |= {"update": "0 s", "skew": "0 s"}
    names = ["gpu", "hung", "node", "reboot", "software", "memory", "rack", "link", "sram", "power"]
    if mode == "in_process":
        names = ["gpu", "node", "link", "rack"]
    kinds = rng.sample(names, rng.randint(1, min(6, len(names))))
    coded = ["retry", "pages"] if mode == "in_place" or rng.random() < 0.4 else []
    if mode == "holder":
        coded = ["pages"]
    if mode in ("in_place", "holder") and "memory" not in kinds:
        kinds.append("memory")
    protection = [_tier(rng, kind, simple=True) for kind in [*coded, "remote"]]
    if mode != "all_processes":  # a write that a kept restart cuts off is first order
        protection[-1]["checkpoint"] = {"name": "remote", "target": "remote", "mode": "sync", "interval": "optimal"}
    classes = [_class(rng, kind, simple=True) for kind in kinds]
    return _whole(rng, number, cluster, workload, mode, classes, protection, {"lands": "critical"})


def _any(rng: Random, number: int) -> Tree:
    mode = rng.choice(["all_processes", "holder", "in_process", "in_process", "in_place", "in_place"])
    order = rng.choice(ORDERS)
    cluster, workload = _job(rng, copies=any(kind in order for kind in ("groups", "peer")))
    if rng.random() < 0.5:
        update = rng.choice([0.01, 0.03, 0.1]) * workload.pop("seconds_of_step", 5.0)
        workload |= {"update": f"{update:.3f} s", "skew": f"{rng.choice([0.0, 0.5, 2.0]) * update:.3f} s"}
    names = ["gpu", "hung", "node", "reboot", "software", "bug", "memory", "memory", "rack", "link", "sram", "power"]
    kinds = list(dict.fromkeys(rng.sample(names, rng.randint(1, 6))))
    kinds += [kind for kind, chance in (("silent", 0.15), ("planned", 0.05), ("slow", 0.03)) if rng.random() < chance]
    protection = [_tier(rng, kind, nodes=cluster["gpus"] // cluster["gpus_per_node"]) for kind in order]
    failures: Tree = {}
    if rng.random() < 0.3:
        failures["lands"] = rng.choice(["critical", "used", "all"])
    if rng.random() < 0.15:
        failures["remap"] = "now"
    classes = [_class(rng, kind) for kind in kinds]
    if rng.random() < 0.3:
        _unlike(rng, rng.choice(classes), cluster["gpus"])
    return _whole(rng, number, cluster, workload, mode, classes, protection, failures)


def _recommender(rng: Random, number: int) -> Tree:
    """A recommendation job under an undo log."""
    gpus = rng.choice([64, 256])
    cluster: Tree = {"gpus": gpus, "gpus_per_node": 8, "gpu": "h100-80gb"}
    workload: Tree = {
        "parameters": 17e6, "bytes": {"weight": 4, "gradient": 4, "optimizer": 0}, "parallel": {"data": gpus},
        "step": "4.9 ms", "update": "2 ms", "phases": {
            "lookup": "400 us", "lookup_after_write": "950 us", "bottom_forward": "600 us", "interaction": "1.6 ms",
            "update": "2.7 ms", "bottom_backward": "1.5 ms", "embedding_log": "600 us", "mlp_log": "1.2 ms",
            "correction": "450 us", "to_gpu": "0 s", "to_memory": "0 s",
        },
    }  # fmt: skip
    kinds = rng.sample(["gpu", "node", "software", "memory", "power", "silent"], rng.randint(1, 5))
    undo = {"undo_log": {"variant": rng.choice(["cxl_d"]), "replay": "3 s"}}
    remote = {"checkpoint": {"name": "remote", "target": "remote", "mode": "async", "blocked": "2 s", "write": "50 s",
                             "read": "50 s", "interval": "20 min"}}  # fmt: skip
    mode = rng.choice(["all_processes", "in_process"])
    return _whole(rng, number, cluster, workload, mode, [_class(rng, kind) for kind in kinds], [undo, remote], {})


def _whole(
    rng: Random, number: int, cluster: Tree, workload: Tree, mode: str, classes: list[Tree],
    protection: list[Tree], failures: Tree,
) -> Tree:  # fmt: skip
    """Rates from a share of time that is about to be lost, spares from what is then in repair."""
    lost = exp(rng.uniform(log(0.02), log(0.55)))
    total = lost / (1.0 - lost) / COST
    weights = [one.pop("weight") for one in classes]
    load = 0.0
    for one, weight in zip(classes, weights, strict=True):
        rate = total * weight / sum(weights)
        if one["scope"] == "silent":
            rate = min(rate, 0.03 / 600.0)
        one["rate"] = f"{rate * DAY:.5g} / 1 d"
        one["gpus"] = cluster["gpus"]
        load += rate * 3600.0 * one.pop("nodes", 0)
    few = not aims_at_exact(number) and rng.random() < 0.15
    spares = max(1, round(load * rng.choice([0.8, 1.5, 2.0]))) if few else int(4.0 * load + 60)
    activation = rng.choice(["0 s", "30 s", "2 min"])
    if not aims_at_exact(number) and rng.random() < 0.15:
        fleet: Tree | None = _fleet(rng, spares)
    else:
        fleet = None
        cluster |= {"spare_nodes": spares, "spare_activation": activation}
    cluster["storage"] = {"write": f"{rng.choice([50, 200, 1000])} GB/s", "read": f"{rng.choice([50, 200, 1000])} GB/s"}
    restart = {
        "mode": mode, "process": rng.choice(["20 s", "60 s"]), "communicator": rng.choice(["5 s", "20 s"]),
        "warmup": rng.choice(["0 s", "30 s"]), "pause": rng.choice(["2 s", "10 s", "40 s"]),
        "reset": rng.choice(["30 s", "90 s"]), "reboot": rng.choice(["3 min", "8 min"]),
    }  # fmt: skip
    made: Tree = {
        "title": f"world {number}", "cluster": cluster, "workload": workload, "restart": restart,
        "failures": failures | {"classes": classes}, "protection": protection, "run": {"horizon": "10 d"},
    }  # fmt: skip
    workload.pop("seconds_of_step", None)
    return made if fleet is None else made | {"fleet": fleet}


def _fleet(rng: Random, spares: int) -> Tree:
    """Spares of several kinds, and a repair shop."""
    hot = max(1, spares // rng.choice([1, 2]))
    plan: Tree = {"hot": hot, "warm": spares - hot, "activation": {"hot": "30 s", "warm": "4 min", "cold": "10 min"}}
    if rng.random() < 0.3:
        plan |= {"join_fails": 0.1, "join_timeout": "2 min"}
    stages = [{"name": "shop", "time": rng.choice(["1 h", {"kind": "exponential", "mean": "1 h"}])}]
    return {"spares": plan, "repair": {"stages": stages}} if rng.random() < 0.5 else {"spares": plan}


def _job(rng: Random, *, copies: bool = False) -> tuple[Tree, Tree]:
    """A cluster and a model that fills a part of its memory."""
    tensor, pipeline, data = rng.choice([2, 4, 8]), rng.choice([1, 2, 4]), rng.choice([4, 8, 16, 32])
    gpus = tensor * pipeline * data
    shard = "none" if copies else rng.choice(["none", "optimizer", "optimizer", "full"])
    most = {"none": 1.2e9, "optimizer": 4e9, "full": 1.2e9 * data}[shard]  # parameters for each model-parallel GPU
    step = rng.choice([1.0, 2.0, 5.0, 12.0])
    cluster = {
        "gpus": gpus, "gpus_per_node": rng.choice([4, 8]), "nodes_per_rack": rng.choice([1, 2, 4]),
        "racks_per_switch": rng.choice([2, 10]), "racks_per_power": rng.choice([2, 10]),
        "gpu": rng.choice(["h100-80gb", "a100-80gb"]), "replace": rng.choice(["node", "node", "gpu"]),
    }  # fmt: skip
    workload = {
        "parameters": rng.choice([0.3, 1.0]) * most * tensor * pipeline,
        "parallel": {"tensor": tensor, "pipeline": pipeline, "data": data, "shard": shard},
        "step": f"{step} s", "microbatches": rng.choice([1, 4, 8]), "layers": 32, "seconds_of_step": step,
        "network_idle": f"{rng.choice([0.0, 0.3]) * step} s",
    }  # fmt: skip
    return cluster, workload


ORDERS = (
    ("remote",), ("retry", "pages", "remote"), ("retry", "pages", "remote"), ("pages", "remote"), ("members", "remote"),
    ("members", "remote"), ("replica", "remote"), ("replica", "remote"), ("disk", "remote"), ("hosts", "remote"),
    ("peer", "remote"), ("retry", "peer", "remote"), ("groups", "remote"), ("retry", "pages", "members", "remote"),
    ("retry", "pages", "replica", "remote"), ("hosts", "disk", "remote"), ("retry", "pages", "hosts", "disk", "remote"),
    ("members", "hosts", "remote"), ("retry", "remote"), ("replica", "disk", "remote"), ("disk",), ("hosts",),
    ("retry", "groups", "remote"), ("retry", "pages", "peer", "remote"), ("groups", "hosts", "remote"),
)  # fmt: skip


def _tier(rng: Random, kind: str, *, simple: bool = False, nodes: int = 0) -> Tree:
    if kind == "retry" and simple:
        return {"retry": {"granularity": "mixed"}}
    if kind == "retry":
        return {"retry": {"granularity": rng.choice(["mixed", "mixed", "step", "microbatch"])}}
    if kind == "pages":
        return {"stripe": {"name": "pages", "layout": "gpu"} | _pages(rng, simple=simple)}
    if kind == "members":
        return {"stripe": {"name": "members"} | _members(rng, nodes)}
    if kind == "replica":
        return {"replica": {"copies": 2, "placement": rng.choice(["mixed", "group", "ring"]),
                            "every": rng.choice([1, 1, 4])}}  # fmt: skip
    if kind == "peer":
        return {"peer_copy": {"via": "fabric"} if rng.random() < 0.6 else {"via": "store"}}
    if kind == "groups":
        return {"replica_group": {"stall": rng.choice(["8 s", "30 s"]), "out": rng.choice(["group", "node"]),
                                  "catch_up": "20 s", "discard": rng.choice(["step", "nothing"])}}  # fmt: skip
    return {"checkpoint": {"name": kind} | _checkpoint(rng, kind, simple=simple)}


def _pages(rng: Random, *, simple: bool) -> Tree:
    k, m = rng.choice([(16, 1), (32, 1), (64, 2), (128, 2), (200, 3), (100, 0)])
    stripe: Tree = {"k": k, "m": m, "mapping": rng.choice(["interleaved", "contiguous"])}
    if simple:
        return stripe
    if rng.random() < 0.4:
        stripe["cadence"] = rng.choice([2, 5, 20])
        stripe["copy"] = rng.choice(["in_place", "snapshot"])
    elif rng.random() < 0.3:
        stripe["buckets"] = rng.choice([2, 8])
    if rng.random() < 0.3:
        stripe["encode"] = "overlap"
    return stripe


def _members(rng: Random, nodes: int) -> Tree:
    layout, k = rng.choice(["gpus", "nodes", "nodes", "racks"]), rng.choice([2, 4, 8])
    m = rng.choice([1, 2]) if nodes >= 4 else 1
    domains = {"gpus": 64, "nodes": nodes, "racks": nodes // 4}[layout]
    stripe: Tree = {
        "layout": layout, "k": max(1, min(k, domains - m)), "m": m,
        "rebuild": rng.choice(["gather", "pipeline", "spread"]),
    }  # fmt: skip
    if rng.random() < 0.6:
        stripe |= {"cadence": rng.choice([1, 2, 5, 20]), "copy": rng.choice(["in_place", "snapshot", "snapshot"])}
    return stripe


def _checkpoint(rng: Random, kind: str, *, simple: bool) -> Tree:
    """A save every so often: more often to what is near."""
    target = {"remote": "remote", "disk": "disk", "hosts": "cpu_memory"}[kind]
    far, near = ["optimal", "optimal", "3 min", "10 min"], ["1 min", "3 min"]
    often = {"remote": far, "disk": near, "hosts": ["30 s", "1 min"]}[kind]
    one: Tree = {"target": target, "interval": rng.choice(often), "read": rng.choice(["5 s", "30 s"])}
    if rng.random() < 0.35:
        one |= {"mode": "sync", "write": rng.choice(["2 s", "10 s"])}
    else:
        one |= {"mode": "async", "blocked": rng.choice(["0 s", "1 s", "3 s"]) if kind != "remote" else "2 s"}
        one["write"] = rng.choice(["5 s", "25 s"]) if kind != "remote" else rng.choice(["20 s", "90 s"])
    if simple:
        return one
    if kind == "disk":
        one |= {"redundancy": rng.choice(["single", "partner", "xor", "rs"]), "set": 2}
        if one["redundancy"] == "single":
            del one["set"]
        if one["redundancy"] == "rs":
            one |= {"losses": 1}
    if kind == "hosts":
        one["copies"] = rng.choice([1, 2])
    if rng.random() < 0.12:
        one["keep"] = rng.choice([2, 5, "1 h"])
    if rng.random() < 0.1:
        one |= {"invalid": 0.1, "notice": "20 s"}
    if rng.random() < 0.1:
        one["anchor"] = "wall"
    return one


REPLACED = {"action": "replace", "repair": "1 h"}
CLASSES: dict[str, Tree] = {
    "gpu": {"scope": "gpu", "weight": 3.0, "nodes": 1} | REPLACED,
    "hung": {"scope": "gpu", "weight": 2.0, "action": "reset"},
    "node": {"scope": "node", "weight": 2.0, "nodes": 1} | REPLACED,
    "reboot": {"scope": "node", "weight": 1.0, "action": "reboot"},
    "rack": {"scope": "rack", "weight": 0.4, "nodes": 4} | REPLACED,
    "power": {"scope": "power", "weight": 0.3, "action": "reboot"},
    "link": {"scope": "link", "weight": 2.0, "action": "none"},
    "software": {"scope": "process", "weight": 3.0, "action": "restart_app", "exposure": "wall"},
    "bug": {"scope": "process", "weight": 2.0, "action": "restart_app"},
    "memory": {"scope": "memory", "weight": 5.0, "nodes": 0},
    "sram": {"scope": "sram", "weight": 1.0, "action": "reset"},
    "silent": {"scope": "silent", "weight": 0.5, "nodes": 1} | REPLACED,
    "slow": {"scope": "slow", "weight": 0.5, "nodes": 1, "slower": 0.3} | REPLACED,
    "planned": {"scope": "planned", "weight": 0.5, "action": "none", "notice": "10 min", "stop": "5 min"},
}


def _class(rng: Random, kind: str, *, simple: bool = False) -> Tree:
    one = dict(CLASSES[kind]) | {"name": kind}
    one["weight"] *= exp(rng.uniform(-1.2, 1.2))
    if kind == "planned":
        return one
    one["detect"] = f"{rng.choice([2, 10, 45])} s"
    if kind == "silent":
        one["detect"] = rng.choice(["4 min", "10 min", {"kind": "exponential", "mean": "8 min"}])
        return one
    if kind == "memory":
        one |= _memory(rng, simple=simple)
    if simple:
        return one
    if rng.random() < 0.15:
        one["detect"] = {"kind": "exponential", "mean": one["detect"]}
    if kind in ("node", "gpu") and rng.random() < 0.2:
        together: Tree = {"common_cause": {"beta": 0.2, "within": "rack"}}
        if rng.random() < 0.5:
            together = {"batch": {"sizes": [[1, 0.8], [2, 0.2]], "within": rng.choice(["rack", "cluster"])}}
        one |= together
    if kind == "software" and rng.random() < 0.3:
        one["process_survives"] = True
    return one


def _memory(rng: Random, *, simple: bool) -> Tree:
    one: Tree = {
        "contained": rng.choice([0.43, 0.7, 0.95]), "action": "restart_app",
        "rows_to_pages": rng.choice(["adjacent_pages", "same_page", "scattered"]),
        "rows": rng.choice([[[1, 1.0]], [[1, 0.8], [8, 0.2]], [[1, 0.5], [3, 0.3], [63, 0.2]]]),
    }  # fmt: skip
    if simple:
        return one
    one["action"] = rng.choice(["restart_app", "drain_and_reset", "drain_and_reset", "reset"])
    if rng.random() < 0.2:
        one |= {"uncontained_action": "replace", "repair": "1 h"}
    if rng.random() < 0.12:
        one["latent"] = {"share": 0.4, "read": {"kind": "exponential", "mean": "3 h"}}
    return one


def _unlike(rng: Random, one: Tree, gpus: int) -> None:
    """One class of unlike devices, of failures that follow others, or of a drifting rate."""
    if one["scope"] in ("planned", "process", "rack", "power", "link") or "batch" in one or "common_cause" in one:
        return
    if one["scope"] in ("gpu", "memory", "sram") and gpus >= 100 and rng.random() < 0.4:
        one["law"] = {"kind": rng.choice(["weibull", "gamma"]), "shape": rng.choice([0.7, 1.5])}
        return
    one |= rng.choice(
        [
            {"frailty": {"kind": "gamma", "shape": 1.0}},
            {"frailty": {"kind": "lemons", "share": 0.05, "multiplier": 10}},
            {"drift": [[0, 0.7], ["5 d", 1.3]]},
            {"recurrence": {"again": 0.2, "gap": {"kind": "exponential", "mean": "5 h"}}},
        ]
    )
