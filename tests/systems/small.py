"""Eight hosts of eight GPUs under a named system, every number chosen: what the exact tests of the systems use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from gemsim.scenario import Scenario, build
from gemsim.spec import systems
from gemsim.spec.loading import parse_study, resolve_point
from gemsim.spec.study import StudySpec

STUDY = """
title: eight hosts
cluster:
  gpus: 64
  gpu: h100-80gb
  nodes_per_rack: 2
  spare_nodes: 8
  spare_activation: 20 s
  nic: 50 GB/s
  pcie: 64 GB/s
  disk: {write: 5 GB/s, read: 10 GB/s}
  storage: {write: 2 TB/s, read: 7 TB/s}
workload:
  parameters: 13e9
  parallel: PARALLEL
  step: STEP
  update: 0 s
  skew: 0 s
  microbatches: 10
  layers: 10
  kernels_per_layer: 10
  network_idle: 1 s
  EXTRA
restart: {mode: MODE, process: 60 s, communicator: 5 s, warmup: 30 s, pause: 10 s}
failures:
  classes:
    - {name: any, scope: process, rate: 1 / 100 d, gpus: 64, detect: 4 s, action: restart_app}
    - {name: page, scope: memory, contained: 1, action: drain_and_reset, RARE}
    - {name: burst_85, scope: memory, contained: 1, rows: [[85, 1.0]], action: drain_and_reset, RARE}
    - {name: burst_86, scope: memory, contained: 1, rows: [[86, 1.0]], action: drain_and_reset, RARE}
    - {name: gpu, scope: gpu, action: reset, RARE}
    - {name: host, scope: node, action: replace, repair: 2 h, RARE}
    - {name: rack, scope: rack, action: replace, repair: 2 h, RARE}
    - {name: all, scope: switch, action: replace, repair: 2 h, RARE}
    - {name: silent, scope: silent, action: restart_app, rate: 1 / 1000000000 d, gpus: 64, detect: 300 s}
protection: SYSTEM
run: {horizon: HORIZON}
"""
RARE = "rate: 1 / 1000000000 d, gpus: 64, detect: 4 s"  # does not move an optimal interval
CXL_B = "trainingcxl, cxl_b"  # written in full: the gap of a relaxed log does not apply to it
AS_WRITTEN = {
    CXL_B: "[{undo_log: {variant: cxl_b}}, {checkpoint: {target: remote, mode: async, blocked: 1 s, interval: 3 h}}]"
}
IN_PAIRS = ("just_in_time", "mindio", "ft_hsdp", "torchft", "oobleck", "recycle")
"""Systems that need live copies: a copy of the model lies on two hosts, and there are four."""

STATE = 13e9 * 14  # bytes: 2 of weights and 12 of moments for each parameter
HOST, GPU = STATE / 8, STATE / 64  # of one copy, on each host and GPU
FROM_REMOTE = HOST / 400e9  # eight NICs of 50 GB/s; the store gives more
FROM_CPU = GPU / 64e9  # over PCIe
OVER_NIC = GPU / 50e9
FROM_DISK = HOST / 10e9


def job(system: str, *, step: str = "", mode: str = "", horizon: str = "20 h") -> Scenario:
    """The job under a system, in its own restart mode unless told; 10-s steps, but batches of RM1 for TrainingCXL."""
    return build(_spec(system, step, mode, horizon))


@cache
def _spec(system: str, step: str, mode: str, horizon: str) -> StudySpec:
    name = system.split(",")[0]
    batches = name == "trainingcxl"
    given = {
        "SYSTEM": AS_WRITTEN.get(system, system),
        "PARALLEL": "{tensor: 8, pipeline: 2, data: 4}" if system in IN_PAIRS else "{tensor: 8, data: 8}",
        "STEP": step or ("5.05 ms" if batches else "10 s"),
        "EXTRA": "recommendation: rm1" if batches else "",
        "MODE": mode or str(systems.system(name).settings.get("restart", "all_processes")),
        "HORIZON": horizon,
        "RARE": RARE,
    }
    text = STUDY
    for word, value in given.items():
        text = text.replace(word, value)
    return resolve_point(parse_study(text.encode(), "eight.yaml"), {})


def caught(check: Callable[[], None], fault: Callable[[pytest.MonkeyPatch], None]) -> None:
    """The check holds, and no longer holds once the fault is planted."""
    check()
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        with pytest.raises(AssertionError):
            check()
