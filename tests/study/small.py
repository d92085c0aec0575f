"""A real study that is quick to simulate: four designs and two that cannot exist."""

from __future__ import annotations

STUDY = """\
title: Which width for a small job?
cluster: {gpus: 64, gpu: h100-80gb, spare_nodes: 1, storage: {write: 20 GB/s, read: 20 GB/s}}
workload:
  parameters: 7e9
  parallel: {tensor: 8, data: 8, shard: optimizer}
  step: 2 s
restart: in_place
failures: {mix: llama3-2024, scale: 50}
protection:
  - retry: {}
  - stripe: {layout: gpu, k: 8, m: 1}
  - checkpoint: {target: remote, mode: async, blocked: 1 s, interval: 10 min}
sweep:
  grid:
    protection.stripe.k: [8, 16, 100000]
    restart: [all_processes, in_place]
run: {horizon: 5 d, replications: REPLICATIONS, seed: 3}
quick:
  run: {replications: 2}
"""


def study_text(*, replications: int = 12) -> str:
    """The study as YAML."""
    return STUDY.replace("REPLICATIONS", str(replications))
