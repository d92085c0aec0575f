"""Replicas in CPU memory: traffic cut to the network's idle spans, what of it lengthens the step, and what fits."""

from __future__ import annotations

from math import ceil, inf

from gemsim.costs.interleave import Interleaving, Path, interleave
from gemsim.errors import Infeasible
from gemsim.protection.checkpoint import Checkpoint
from gemsim.scenario.state import layout
from gemsim.scenario.tiers.checkpoint import fewest, fits, placed, stride_of
from gemsim.scenario.tiers.workshop import Workshop
from gemsim.spec.protection.replica import ReplicaSpec
from gemsim.units import brief


def replica(shop: Workshop, one: ReplicaSpec, number: int) -> Checkpoint:
    """The tier: a checkpoint in CPU memory, taken at the end of a step and complete at the end of the next.

    The traffic of a save goes out in the idle spans of the step after it, which it may lengthen; blocking traffic
    goes out at once. Raises Infeasible.
    """
    cluster = shop.spec.cluster
    part = layout(shop.spec).unique_state / cluster.gpus
    kept = placed(shop, one.placement, copies=one.copies, domain=one.domain).storage(part)
    held = _versions(shop, one, one.every) + 1  # and the one in progress
    fits(shop, kept * cluster.gpus / cluster.nodes, held=held, what=f"{held} times {one.copies} copies")
    traffic = _interleaved(shop, one, part)
    blocked = traffic.added if one.blocked is None else one.blocked
    read = part / cluster.pcie if one.read is None else one.read
    fetch = max(read, part / cluster.nic) if one.fetch is None else one.fetch
    _tell(shop, one, traffic, blocked)
    return Checkpoint(
        number=number,
        name=one.label,
        target="cpu_memory",
        every=one.every,
        blocked=blocked,
        lag=_lag(shop, one, blocked),
        read=read,
        keep_seconds=inf if one.keep.seconds is None else one.keep.seconds,
        keep_count=one.keep.count or 0,
        copies=one.copies,
        stride=stride_of(shop, one.domain),
        invalid=one.invalid,
        notice=one.notice,
        wall_anchor=False,
        placement=one.placement,
        fetch=fetch,
        memory=traffic.buffer,
        shortest=_shortest(shop, one, kept * cluster.gpus / cluster.nodes, blocked),
    )


def _versions(shop: Workshop, one: ReplicaSpec, every: int) -> int:
    """Complete versions held at most."""
    return one.keep.count or ceil((one.keep.seconds or 0.0) / (every * shop.spec.workload.step))


def _shortest(shop: Workshop, one: ReplicaSpec, kept: float, blocked: float) -> int:
    """Fewest steps between saves at which each is complete before the next, and the versions held fit into a node."""
    step, lag = shop.spec.workload.step, _lag(shop, one, blocked)
    most = shop.spec.cluster.cpu_memory // kept - 1 if kept else inf

    def possible(every: int) -> bool:
        return (
            lag <= every * step + blocked and kept * (_versions(shop, one, every) + 1) <= shop.spec.cluster.cpu_memory
        )

    held = 1.0 if one.keep.count or most < 1 else (one.keep.seconds or 0.0) / most / step
    return fewest(possible, max(held, (lag - blocked) / step))


def _interleaved(shop: Workshop, one: ReplicaSpec, part: float) -> Interleaving:
    """The traffic of one save. Raises Infeasible when its buffers do not fit into GPU memory."""
    cluster, work = shop.spec.cluster, shop.spec.workload
    if work.network_idle > work.step:
        raise Infeasible(f"network_idle, {work.network_idle:.4g} s, is longer than the step, {work.step:.4g} s")
    try:
        traffic = interleave(
            one.interleave,
            work.idle,
            part,
            copies=one.copies,
            path=Path(cluster.nic, one.startup, cluster.pcie),
            reserved=one.buffer,
            buffers=one.buffers,
            caution=one.mu,
            busy=work.step - work.network_idle,
        )
    except ValueError as error:
        raise Infeasible(f"tier '{one.label}': {error}") from error
    free = shop.memory.bytes_of("free")
    if traffic.out_of_memory(free):
        raise Infeasible(
            f"out of memory: buffers of tier '{one.label}' ({one.interleave}) need "
            f"{brief(traffic.buffer, 'bytes')} per GPU, {brief(free, 'bytes')} are free"
        )
    return traffic


def _lag(shop: Workshop, one: ReplicaSpec, blocked: float) -> float:
    """Seconds from the end of the save until all copies are complete: the next step, as far as traffic lengthens it."""
    if one.interleave == "blocking":
        return 0.0
    lag = shop.spec.workload.step + blocked if one.write is None else one.write
    between = one.every * shop.spec.workload.step + blocked
    if lag > between:
        raise Infeasible(
            f"write {lag:.4g} s of tier '{one.label}' is longer than the {between:.4g} s between saves: they pile up"
        )
    return lag


def _tell(shop: Workshop, one: ReplicaSpec, traffic: Interleaving, blocked: float) -> None:
    count = sum(len(span) for span in traffic.chunks)
    idle = sum(shop.spec.workload.idle)
    shop.notes.append(
        f"Tier {one.label}: {count} chunks per save take {brief(traffic.transfer, 'time')} of the network, idle for "
        f"{brief(idle, 'time')} of a step; a save adds {brief(blocked, 'time')}"
    )
