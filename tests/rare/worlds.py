"""Jobs that lose everything in other ways, often enough to be counted in plain runs."""

from __future__ import annotations

from typing import Any

from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point

STUDY = """
title: a world
cluster: {gpus: 96, gpus_per_node: 4, nodes_per_rack: 4, gpu: h100-80gb, spare_nodes: 6, spare_activation: 2 min,
          storage: {write: 200 GB/s, read: 200 GB/s}, disk: {write: 5 GB/s, read: 10 GB/s}}
workload: {parameters: 8e9, parallel: {tensor: 4, data: 24, shard: optimizer}, step: 2 s, microbatches: 4, layers: 32}
restart: {mode: in_process, process: 60 s, communicator: 20 s, warmup: 30 s, pause: 20 s}
failures:
  classes: [CLASSES]
protection: [TIERS]
run: {horizon: 7 d, replications: 1}
"""
NODE = "{name: node, scope: node, rate: 8 / 1 d, gpus: 96, detect: 10 s, action: replace, repair: 2 h}"
GPU = "{name: gpu, scope: gpu, rate: 6 / 1 d, gpus: 96, detect: {kind: exponential, mean: 1 min}, action: reset}"
SOFT = "{name: soft, scope: process, rate: 6 / 1 d, gpus: 96, detect: 30 s, action: restart_app}"
RACK = "{name: rack, scope: rack, rate: 0.02 / 1 d, gpus: 96, detect: 30 s, action: reboot}"
PAIR = (
    "{name: pair, scope: node, rate: 1 / 1 d, gpus: 96, detect: 10 s, action: reboot, "
    "batch: {sizes: [[1, 0.9], [2, 0.1]], within: rack}}"
)
SILENT = (
    "{name: silent, scope: silent, rate: 2 / 1 d, gpus: 96, detect: {kind: exponential, mean: 1 h}, "
    "action: replace, repair: 2 h}"
)
MEMORY = "{name: memory, scope: memory, rate: 8 / 1 d, gpus: 96, contained: 0.5, detect: 5 s, action: drain_and_reset}"
STRIPE = "stripe: {name: nodes, layout: nodes, k: 3, m: 1, copy: snapshot}"
FRESH = "stripe: {name: nodes, layout: nodes, k: 10, m: 2}"
NEAR = "replica: {copies: 2, blocked: 0 s, write: 20 s, read: 5 s, every: 60}"
FAR = "checkpoint: {name: far, target: remote, mode: sync, interval: 1 h, invalid: INVALID}"
ALONE = NODE.replace("repair: 2 h", "repair: 1 h")
ONCE = "{name: silent, scope: silent, rate: 2 / 1 d, gpus: 96, detect: 10 min, action: replace, repair: 2 h}"
RUNNING = NODE.replace("repair: 2 h", "repair: 2 h, exposure: running")
KEPT = "checkpoint: {name: far, target: remote, mode: sync, interval: 30 min, keep: 2}"

WORLDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]] = {
    "one stripe of several": ((NODE, GPU, SOFT), (STRIPE,), {}),
    "racks and pairs": ((NODE, SOFT, RACK, PAIR), (STRIPE,), {"failures.scale": 0.3}),
    "copies on hosts": ((NODE, SOFT), (NEAR,), {}),
    "bad copies": ((NODE, SOFT), (FAR.replace("INVALID", "0.1 %"),), {}),
    "a stripe, then bad copies": ((NODE, GPU), (STRIPE, FAR.replace("INVALID", "30 %")), {}),
    "found too late": ((SOFT, SILENT), (KEPT,), {"failures.scale": 0.1}),
    "a window": ((NODE,), (FRESH,), {"workload.update": "1 ms", "workload.skew": "1 ms", "failures.scale": 0.05}),
    "kept once": ((SOFT, ONCE), (KEPT.replace("keep: 2", "keep: 1"),), {"failures.scale": 0.1}),
    "on the clock of running time": ((RUNNING, SOFT), (NEAR,), {}),
    "no spares": ((ALONE,), (STRIPE,), {"cluster.spare_nodes": 0, "failures.scale": 0.1}),
    "in place": ((MEMORY, NODE), (STRIPE,), {"restart.mode": "in_place"}),
}  # fmt: skip


def world(name: str, **keys: object) -> Scenario:
    """One of `WORLDS`."""
    classes, tiers, changes = WORLDS[name]
    text = STUDY.replace("CLASSES", ", ".join(classes)).replace("TIERS", ", ".join(tiers))
    return build(resolve_point(parse_study(text.encode(), "world.yaml"), {**changes, **keys}))
