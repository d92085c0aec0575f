"""Jobs that are birth-death chains: one stripe over all nodes, nothing behind it, nodes that fail alone."""

from __future__ import annotations

from functools import lru_cache

from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point


@lru_cache
def chain(k: int, m: int, *, rate: float, days: float = 7.0) -> Scenario:
    """One stripe of k + m nodes; `rate` failures of the job per day, each of which stops it for about 241 s."""
    nodes = k + m
    text = f"""
title: a chain
cluster: {{gpus: {4 * nodes}, gpus_per_node: 4, gpu: h100-80gb, storage: {{write: 200 GB/s, read: 200 GB/s}}}}
workload:
  parameters: 8e9
  parallel: {{tensor: 4, data: {nodes}, shard: optimizer}}
  step: 2 s
  update: 0 s
  skew: 0 s
  microbatches: 4
  layers: 32
restart: {{mode: in_process, process: 60 s, communicator: 20 s, warmup: 30 s, pause: 20 s, reboot: 120 s}}
failures:
  classes: [{{name: node, scope: node, rate: {rate} / 1 d, gpus: {4 * nodes}, detect: 10 s, action: reboot}}]
protection:
  - stripe: {{name: nodes, layout: nodes, k: {k}, m: {m}, copy: snapshot}}
run: {{horizon: {days} d, replications: 1}}
"""
    return build(resolve_point(parse_study(text.encode(), "chain.yaml"), {}))
