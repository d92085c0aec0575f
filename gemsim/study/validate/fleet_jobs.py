"""A job of a published fleet as a study: saves that cost nothing, restarts of one length, and what a row changes."""

from __future__ import annotations

from typing import Any

from gemsim.scenario import Scenario
from gemsim.study.validate.simulate import scenario_of

STUDY = """
title: one job of a published fleet
cluster:
  gpus: GPUS
  gpu: a100-80gb
  spare_nodes: 400
  spare_activation: 0 s
  storage: {write: 2 TB/s, read: 2 TB/s}
workload:
  parameters: 70e9
  parallel: {tensor: 8, data: DATA, shard: optimizer}
  step: STEP
  microbatches: 4
  layers: 80
restart: {mode: all_processes, process: 0 s, communicator: 0 s, warmup: 0 s}
failures: FAILURES
protection:
  - checkpoint: {target: remote, mode: async, blocked: 0 s, write: 0 s, read: 0 s, interval: STEP}
run: {horizon: 40 d, replications: 1}
"""


def job(*, gpus: int, failures: str, step: str = "10 s", **changes: Any) -> Scenario:
    """A job of a published fleet; changes by dotted path, with __ for the dot."""
    text = STUDY.replace("GPUS", str(gpus)).replace("DATA", str(gpus // 8)).replace("STEP", step)
    paths = {path.replace("__", "."): value for path, value in changes.items()}
    return scenario_of(text.replace("FAILURES", failures), paths)


def seconds(value: float) -> str:
    """A time as a study writes it, exactly."""
    return f"{value!r} s"
