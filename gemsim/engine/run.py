"""One replication: a scenario and a seed in, one row out."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import simpy

from gemsim.engine.job import Job
from gemsim.failures.classes import FailureClass
from gemsim.failures.logs.trace import Replay, as_trace
from gemsim.failures.trace import Trace, draw_trace
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.undo_log import UndoLog
from gemsim.results.ledger import FLEET_LEDGER, LEDGER
from gemsim.scenario import Scenario

CLOSURE = 1e-9


def simulate(scenario: Scenario, *, seed: int, replication: int, trace: Trace | None = None) -> dict[str, Any]:
    """Run one replication and return its row (columns: results/rows.py).

    The failures depend on seed and replication alone; `trace` replaces them by a scripted list. Raises RuntimeError
    when the ledger does not close to the wall time.
    """
    return play(scenario, seed=seed, replication=replication, trace=trace)


def play(
    scenario: Scenario, *, seed: int, replication: int, trace: Trace | None = None,
    listen: Callable[[Job], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """`simulate`, with somebody who may attach himself to the job before it begins."""
    with no_garbage():
        if trace is None:
            laws = scenario.classes, scenario.horizon, seed, replication, scenario.stationary
            trace = _trace(*laws, scenario.replay)
        return _run(scenario, trace, replication, listen)


def _run(scenario: Scenario, trace: Trace, replication: int, listen: Callable[[Job], None] | None) -> dict[str, Any]:
    env = simpy.Environment()
    job = Job(env, scenario, trace)
    if listen is not None:
        listen(job)
    env.run(until=env.process(job.run()))
    wall = job.now
    if abs(job.ledger.total - wall) > CLOSURE * wall:
        raise RuntimeError(f"the ledger holds {job.ledger.total!r} s of a run of {wall!r} s")
    return _row(scenario, job, wall, replication)


@contextmanager
def no_garbage() -> Iterator[None]:
    """Nothing that a run makes can be collected before it ends: to look for it would take a tenth of its time."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


@lru_cache(maxsize=4)
def _trace(
    classes: tuple[FailureClass, ...], horizon: float, seed: int, replication: int, stationary: bool,
    replay: Replay | None,
) -> Trace:  # fmt: skip
    """The trace of one replication, shared by all designs that meet it in this process."""
    key: dict[str, Any] = {"horizon": horizon, "seed": seed, "replication": replication, "stationary": stationary}
    if replay is not None:
        return as_trace(replay, classes, **key)
    trace = draw_trace(classes, **key)
    trace.stationary = stationary
    return trace


def _fleet(scenario: Scenario, job: Job, wall: float) -> dict[str, float]:
    """The fleet ledger in GPU-seconds; RuntimeError unless it closes to what was reserved. Spares of a job smaller than
    a node count as many GPUs as the job has."""
    gpus = min(scenario.platform.grid.per_node, scenario.platform.grid.gpus)
    found = {f"gpu_s_{name}": gpus * seconds for name, seconds in job.fleet.pools.fleet_seconds(wall).items()}
    reserved = found["gpu_s_reserved"]
    booked = sum(found[name] for name in FLEET_LEDGER)
    if abs(booked - reserved) > CLOSURE * reserved:
        raise RuntimeError(f"the fleet ledger holds {booked!r} GPU-seconds of {reserved!r} that were reserved")
    return found


def at_risk(job: Job) -> float:
    """Productive seconds since the newest version that outlives the loss of all GPU memory."""
    scenario = job.scenario
    moment = job.stores.moment(job.running, job.now, None)
    stored = [moment.saved.get(t.number, 0) for t in scenario.tiers if isinstance(t, Checkpoint)]
    stored += [moment.version for t in scenario.tiers if isinstance(t, UndoLog)]
    steps = moment.version - max(stored, default=0)
    work = steps * scenario.useful_step + moment.within * scenario.useful_share
    return work - job.capacity.missing_between(moment.version - steps, job.progress.place)


def _row(scenario: Scenario, job: Job, wall: float, replication: int) -> dict[str, Any]:
    seconds, tally, pools = job.ledger.seconds, job.tally, job.fleet.pools
    row: dict[str, Any] = {"point": scenario.id, "replication": replication, "wall_s": wall}
    row.update({f"{name}_s": seconds[name] for name in LEDGER})
    row.update(
        at_risk_s=at_risk(job),
        steps=int(seconds["productive"] / scenario.useful_step + 1e-6),
        failures=tally.failures,
        interruptions=tally.interruptions,
        failures_idle=tally.failures_idle,
        fallbacks=tally.fallbacks,
        rollbacks=tally.rollbacks,
        unrecoverable=tally.unrecoverable,
        wasted_failures_s=job.ledger.wasted - tally.stopped_wasted,
        cost_failures_s=job.ledger.lost_to_failures - tally.stopped_lost,
        touch_failures=tally.touch_failures,
        touch_lost_s=tally.touch_lost,
        planned_stops=tally.planned_stops,
        found_early=tally.found_early,
        joins_failed=pools.failed_joins,
        selections=pools.selections,
        borrowed=pools.borrowed,
        retired=tally.retired,
        **_fleet(scenario, job, wall),
        by_class=json.dumps(tally.by_class, sort_keys=True),
        lost_by_class=json.dumps(tally.lost_by_class(), sort_keys=True),
        by_tier=json.dumps(dict(tally.by_tier), sort_keys=True),
        overhead_by_tier=json.dumps(job.ledger.overhead_by_tier, sort_keys=True),
    )
    return row
