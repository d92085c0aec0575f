"""Logs that the engine writes: a job with known inputs, step by step, as the plain table of gemsim backtest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import simpy

from gemsim.engine.job import Job
from gemsim.engine.run import _trace
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import LoadedStudy, parse_study, resolve_point

DAY = 86400.0
RESTART, READ, STRIDE = 240.0, 60.0, 20
TEXT = """
title: A job whose log is known
cluster: {gpus: 64, gpu: h100-80gb, spare_nodes: 8, storage: {write: 2 TB/s, read: 2 TB/s}}
workload: {parameters: 8e9, parallel: {tensor: 8, data: 8}, step: 30 s}
restart: {mode: all_processes, process: 4 min, communicator: 0 s, warmup: 0 s}
failures:
  classes:
    - {name: node, scope: node, rate: 1 / 1 d, gpus: 64, detect: {kind: exponential, mean: 5 min}, action: replace,
       repair: 6 h}
    - {name: software, scope: process, rate: 1 / 1 d, gpus: 64, detect: {kind: exponential, mean: 5 min},
       action: restart_app}
protection:
  - checkpoint: {target: remote, mode: async, blocked: 20 s, write: 3 min, read: 60 s, interval: 1 h}
run: {horizon: 30 d, replications: 4}
"""

Rows = list[tuple[float, str, int | None]]


def study(text: str = TEXT) -> LoadedStudy:
    """The study of the job."""
    return parse_study(text.encode(), "job.yaml")


def scenario(days: float, **changes: str) -> Scenario:
    """The job for so long; `changes` are dotted paths with `__` for the dot."""
    assigned = {path.replace("__", "."): value for path, value in changes.items()}
    return build(resolve_point(study(), {"run.horizon": f"{days} d", **assigned}))


def ridden(of: Scenario, *, seed: int, replication: int = 0, restart: float = RESTART) -> tuple[Rows, dict[str, float]]:
    """The rows of one run, and the seconds of its ledger. `restart`: seconds of a restart of `of`."""
    env = simpy.Environment()
    trace = _trace(of.classes, of.horizon, seed, replication, of.stationary, None)
    job = Job(env, of, trace)
    env.run(until=env.process(job.run()))
    rows: Rows = []
    for number, life in enumerate(job.history.lives):
        begun, running = life.pieces[0][1], job.running if life.ended is None else life.ended[0]
        assert len(life.pieces) == 1
        if begun >= job.now:  # the run has ended in the recovery before
            break
        if number:
            rows.append((begun - READ - restart, "restart", None))
            rows.append((begun - READ, "restore_start", None))
            rows.append((begun, "restore_end", None))
        rows += _life(life.base, begun, running, life.timeline)
        if life.ended is not None:
            rows.append((begun + running, "failure", None))
    rows.append((job.now, "end", None))
    return rows, dict(job.ledger.seconds)


def _life(base: int, begun: float, running: float, timeline: Any) -> Rows:
    (save,) = timeline.stalls
    rows: Rows = [(begun, "step", base)]
    done = 1
    while timeline.done(done) < running:
        saves = done >= save.first and (done - save.first) % save.every == 0
        if saves:
            rows.append((begun + timeline.done(done), "save_start", None))
            if timeline.start(done) >= running:
                return rows
            rows.append((begun + timeline.start(done), "save_end", None))
        if saves or done % STRIDE == 0:
            rows.append((begun + timeline.start(done), "step", base + done))
        done += 1
    return rows


def write(path: Path, rows: Rows) -> Path:
    """The rows as a file."""
    lines = ["time,event,step", *(f"{time!r},{event},{'' if step is None else step}" for time, event, step in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def joined(first: Rows, second: Rows) -> Rows:
    """A run that goes on as another one from a restart: the second begins when the first one ends."""
    after = first[-1][0]
    newest = max(step for _, _, step in first if step is not None)
    stop = [] if first[-2][1] == "failure" else [(after, "failure", None)]
    start: Rows = [(after + 300.0, "restart", None), (after + 540.0, "restore_start", None)]
    begun = after + 600.0
    moved = [(time + begun, event, None if step is None else step + newest) for time, event, step in second]
    return [*first[:-1], *stop, *start, (begun, "restore_end", None), *moved]
