"""Small sweeps to report on: real studies of few points, in a second or two."""

from __future__ import annotations

from pathlib import Path

from gemsim.spec.loading import parse_study
from gemsim.study.plan import MODEL, plan
from gemsim.study.sweep import SweepResult, sweep
from tests.study.fakes import Listener

STUDY = """\
title: {title}
cluster:
  gpus: 64
  gpu: h100-80gb
  spare_nodes: 2
  storage: {{write: 100 GB/s, read: 200 GB/s}}
workload:
  parameters: 7e9
  parallel: {{data: 64, shard: full}}
  step: 8 s
  tokens_per_step: 4e6
  layers: 32
restart: in_process
failures: llama3-2024
protection:
  - stripe: {{layout: nodes, k: 4, m: 1, cadence: 4, copy: snapshot}}
  - checkpoint: {{target: remote, mode: async, blocked: 2 s, interval: optimal}}
{more}
run: {{horizon: 300 d, replications: {replications}, seed: 7}}
"""
WIDTHS = "sweep: {grid: {protection.stripe.k: [2, 4], protection.stripe.m: [0, 1, 2]}}"
TITLE = "Which width?"


def study(more: str = WIDTHS, *, title: str = TITLE, replications: int = 3) -> str:
    """The study as text."""
    return STUDY.format(title=title, more=more, replications=replications)


def swept(folder: Path, text: str, *, replications: int | None = None) -> SweepResult:
    """Run a study into a folder."""
    loaded = parse_study(text.encode(), folder / "study.yaml")
    return sweep(plan(loaded, seed=None, replications=replications), MODEL, folder, jobs=1, report=Listener())
