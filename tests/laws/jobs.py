"""The jobs that the laws are checked on: a 1,024-GPU job with a few exponential classes, and changes to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point
from gemsim.study.validate.simulate import WARM_UP as WARM_UP
from gemsim.study.validate.simulate import ettr_sample as ettr_sample

STUDY = """
title: exact forms
cluster:
  gpus: 1024
  gpu: h100-80gb
  spare_nodes: 100
  spare_activation: 2 min
  storage: {write: 200 GB/s, read: 200 GB/s}
workload:
  parameters: 70e9
  parallel: {tensor: 8, pipeline: 4, data: 32, shard: optimizer}
  step: 2 s
  microbatches: 8
  layers: 80
restart: {mode: all_processes, process: 60 s, communicator: 20 s, warmup: 30 s, pause: 20 s}
failures:
  classes: [CLASSES]
protection: [PROTECTION]
run: {horizon: 10 d, replications: 1}
"""
GPU = "{name: gpu, scope: gpu, rate: 8 / 1 d, gpus: 1024, detect: 10 s, action: replace, repair: 1 h}"
PAGES = "{name: pages, scope: memory, contained: 0.7, rate: 16 / 1 d, gpus: 1024, detect: 5 s, action: restart_app}"
SOFT = "{name: soft, scope: process, rate: 6 / 1 d, gpus: 1024, detect: 30 s, action: restart_app, exposure: wall}"
LINK = "{name: link, scope: link, rate: 9 / 1 d, gpus: 1024, detect: 90 s, action: none}"
RETRY = "retry: {granularity: mixed}"
STRIPE = "stripe: {layout: gpu, k: 32, m: 1}"
NODES = "stripe: {name: nodes, layout: nodes, k: 8, m: 1}"
SYNC = "checkpoint: {target: remote, mode: sync, interval: optimal}"
ASYNC = "checkpoint: {target: remote, mode: async, blocked: 2 s, interval: optimal}"
SLOW = "checkpoint: {target: remote, mode: async, blocked: 2 s, write: 90 s, interval: 2 min}"


# No update and no skew: no vulnerable window but the encode's two milliseconds, so that outcomes do not hang on phases.
SHARP = {"workload.update": "0 s", "workload.skew": "0 s", "failures.lands": "critical"}


@dataclass(frozen=True)
class Case:
    """One job: restart mode, factor on all rates, classes, tiers, and other keys by path."""

    mode: str
    scale: float
    classes: tuple[str, ...]
    tiers: tuple[str, ...]
    keys: dict[str, Any] = field(default_factory=dict)

    def scenario(self, days: float) -> Scenario:
        """Over so many days."""
        text = STUDY.replace("CLASSES", ", ".join(self.classes)).replace("PROTECTION", ", ".join(self.tiers))
        keys = {"restart.mode": self.mode, "failures.scale": self.scale, "run.horizon": f"{days} d"} | self.keys
        return build(resolve_point(parse_study(text.encode(), "jobs.yaml"), keys))


_ALL, _TIERS, _SYNC = (GPU, PAGES, SOFT), (RETRY, STRIPE, ASYNC), (RETRY, STRIPE, SYNC)
_EVERY = {"protection.checkpoint.interval": "80 s"}
EXACT = {
    "gpus alone x8": Case("all_processes", 8, (GPU,), (ASYNC,)),
    "gpus alone, sync x1": Case("all_processes", 1, (GPU,), (SYNC,)),
    "all_processes x1": Case("all_processes", 1, _ALL, _TIERS),
    "all_processes x8": Case("all_processes", 8, _ALL, _TIERS),
    "all_processes, sync x1": Case("all_processes", 1, _ALL, _SYNC),
    "all_processes, sync x8": Case("all_processes", 8, _ALL, _SYNC),
    "all_processes, slow write x8": Case("all_processes", 8, _ALL, (SLOW,)),
    "holder, sync x1": Case("holder", 1, _ALL, _SYNC, SHARP | _EVERY),
    "holder, sync x4": Case("holder", 4, _ALL, _SYNC, SHARP | _EVERY),
    "in_process x1": Case("in_process", 1, _ALL, _TIERS),
    "in_process x8": Case("in_process", 8, _ALL, _TIERS),
    "in_process, links kept, sync x1": Case("in_process", 1, (GPU, LINK), (SYNC,), SHARP),
    "in_process, links kept, sync x8": Case("in_process", 8, (GPU, LINK), (SYNC,), SHARP),
    "in_place x1": Case("in_place", 1, _ALL, _TIERS, SHARP),
    "in_place x8": Case("in_place", 8, _ALL, _TIERS, SHARP),
    "in_place, sync x1": Case("in_place", 1, _ALL, _SYNC, SHARP),
    "in_place, sync x8": Case("in_place", 8, _ALL, _SYNC, SHARP),
    "in_place, slow write x8": Case("in_place", 8, _ALL, (RETRY, STRIPE, SLOW), SHARP),
}
