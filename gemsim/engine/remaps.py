"""Row remaps that wait for a reset, and the stop on purpose that serves them (`failures.remap: now`)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import simpy

from gemsim.engine.strike import NO_WARNING, Strike
from gemsim.scenario.remaps import LOST, REPLACED, reset_of, way_back

if TYPE_CHECKING:
    from gemsim.engine.job import Job


@dataclass(frozen=True, slots=True, eq=False)
class Remap:
    """A row that waits for its spare: the memory error that hit it, and the node whose row it is."""

    strike: Strike
    node: int


def _gpu_of(job: Job, one: Remap) -> int:
    """The GPU of the job that the row is in by now; negative once its node has left."""
    per_node = job.fleet.per_host
    return job.fleet.where(one.node) * per_node + one.strike.gpu % per_node


def serve_remaps(job: Job) -> Generator[simpy.Event, Any, None]:
    """With `remap: now` a recovery that leaves row remaps goes on into a stop on purpose that serves them."""
    while job.remaps and job.scenario.remap_now and job.now < job.scenario.horizon:
        served = job.remaps
        stop = _stop(job)
        if stop is None:
            return
        job.tally.planned_stops += 1
        recovery, before = job._recovery(), (job.ledger.lost_to_failures, job.ledger.wasted)
        job._strike(recovery, stop)
        yield from job._stand_still(recovery)
        if recovery.strikes[1:]:  # a failure meanwhile made it a recovery of its own
            job.close(recovery, recovery.strikes[1:], before)
        else:
            cost = job.ledger.lost_to_failures - before[0]
            job.tally.remapped(job.scenario, [one.strike for one in served], cost)
        job._resume(recovery)
        job.fleet.serve_rows(gpu for one in served if (gpu := _gpu_of(job, one)) >= 0)
        job.remaps = [one for one in job.remaps if not any(one is other for other in served)]


def _stop(job: Job) -> Strike | None:
    """The stop that serves all that is pending, as the strike that it is to the job: no failure, and seen at once.

    GPUs that have no row left leave with their nodes. None where no tier brings the job back but its start.
    """
    scenario, fleet, per_node = job.scenario, job.fleet, job.scenario.platform.grid.per_node
    gpus = frozenset(_gpu_of(job, one) for one in job.remaps)
    worn = frozenset(gpu for gpu in gpus if fleet.worn and fleet.node_in(gpu // per_node) in fleet.worn)
    damage, nature = reset_of(scenario, gpus, worn=worn), REPLACED if worn else LOST
    moment = job.stores.moment(job.running, job.now, None)
    if job.capacity.out:
        moment = replace(moment, out=job.capacity.blocks())
    way = way_back(scenario, damage, moment, nature)
    if way is None:
        return None
    return Strike(
        event=job.remaps[-1].strike.event,
        nature=nature,
        damage=damage,
        detect=0.0,
        repair=0.0,
        slots=tuple(sorted(damage.hosts | {gpu // per_node for gpu in worn})),
        wait=scenario.restart.device_wait("reset") if gpus - worn else 0.0,
        remap=False,
        wall=job.now,
        notice=NO_WARNING if way.saver is None else inf,
        gpu=_gpu_of(job, job.remaps[-1]),
        on_purpose=True,
    )
