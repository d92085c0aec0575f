"""Jobs that are birth-death chains: one stripe over all nodes, nothing behind it, nodes that fail alone."""

from __future__ import annotations

from functools import lru_cache

from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point

STUDY = """
title: a chain
cluster: {gpus: GPUS, gpus_per_node: 4, gpu: h100-80gb, storage: {write: 200 GB/s, read: 200 GB/s}}
workload:
  parameters: 8e9
  parallel: {tensor: 4, data: DATA, shard: optimizer}
  step: 2 s
  update: 0 s
  skew: 0 s
  microbatches: 4
  layers: 32
restart: {mode: in_process, process: 60 s, communicator: 20 s, warmup: 30 s, pause: 20 s, reboot: REBOOT s}
failures:
  classes: [{name: node, scope: node, rate: RATE / 1 d, gpus: GPUS, detect: 10 s, action: reboot}]
protection:
  - stripe: {name: nodes, layout: nodes, k: K, m: M, copy: snapshot}
run: {horizon: 7 d, replications: 1}
"""


@lru_cache
def chain(k: int, m: int, *, rate: float, reboot: float = 120.0, **keys: str) -> Scenario:
    """One stripe of k + m nodes; `rate` failures of the job per day."""
    nodes = k + m
    values = {"GPUS": 4 * nodes, "DATA": nodes, "RATE": rate, "REBOOT": reboot, "K": k, "M": m}
    text = STUDY
    for name, value in values.items():
        text = text.replace(f" {name} ", f" {value} ").replace(f" {name},", f" {value},").replace(f" {name}}}", f" {value}}}")
    return build(resolve_point(parse_study(text.encode(), "chain.yaml"), {k.replace("__", "."): v for k, v in keys.items()}))
