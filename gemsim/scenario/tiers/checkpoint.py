"""Checkpoints: the seconds that their stores need, and when a save follows the last."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf

from gemsim.costs.links import parity_exchange_seconds, store_seconds
from gemsim.errors import Infeasible
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.placement import Placement, placement
from gemsim.scenario.state import layout
from gemsim.scenario.tiers.workshop import Workshop
from gemsim.spec.protection.checkpoint import CheckpointSpec


def checkpoint(shop: Workshop, one: CheckpointSpec, number: int) -> Checkpoint:
    """The tier. Raises Infeasible."""
    write, read, fetch = store_times(shop, one)
    blocked = write if one.blocked is None else one.blocked
    lag = 0.0 if one.mode == "sync" else write
    running = write - blocked  # what must lie between two saves for the first to be written by the second
    if not isinstance(one.interval, str) and one.interval < running:
        raise Infeasible(
            f"interval {one.interval:.4g} s of tier '{one.label}' and its blocked time are shorter than its write "
            f"time, {write:.4g} s: saves pile up"
        )
    every = 0 if isinstance(one.interval, str) else steps_between(one.interval, running, shop.spec.workload.step)
    return Checkpoint(
        number=number,
        name=one.label,
        target=one.target,
        every=every,
        blocked=blocked,
        lag=lag,
        read=read,
        keep_seconds=inf if one.keep.seconds is None else one.keep.seconds,
        keep_count=one.keep.count or 0,
        copies=one.copies if one.target == "cpu_memory" else 1,
        stride=stride_of(shop, one.domain) if one.placement != "single" else 1,
        invalid=one.invalid,
        notice=one.notice,
        wall_anchor=one.anchor == "wall",
        placement=one.placement,
        size=one.set,
        losses=one.losses,
        fetch=fetch,
        shortest=fewest(lambda steps: steps * shop.spec.workload.step >= running, running / shop.spec.workload.step),
    )


def fewest(possible: Callable[[int], bool], near: float) -> int:
    """Fewest steps between saves that are possible, as more are; `near`: what they come to but for rounding."""
    steps = max(1, ceil(near))
    while steps > 1 and possible(steps - 1):
        steps -= 1
    while not possible(steps):
        steps += 1
    return steps


def steps_between(interval: float, least: float, step: float) -> int:
    """A given interval in whole steps; rounding does not make it shorter than the least."""
    every = max(1, round(interval / step))
    return every if every * step >= least else every + 1


def stride_of(shop: Workshop, domain: str) -> int:
    """Nodes between neighbours of a set, so that they do not share a domain of this kind."""
    cluster = shop.spec.cluster
    racks = {"rack": 1, "switch": cluster.racks_per_switch, "power": cluster.racks_per_power}
    return cluster.nodes_per_rack * racks[domain] if domain in racks else 1


def store_times(shop: Workshop, one: CheckpointSpec) -> tuple[float, float, float]:
    """(write, read, fetch) seconds of one copy of the unique state, where the study does not give them.

    Remote: each node writes its part, max(S / b_node, N S / B_store); one reader per replica that reads. Raises
    Infeasible.
    """
    cluster, state = shop.spec.cluster, layout(shop.spec).unique_state
    if one.target == "remote":
        each, store, nics = state / cluster.nodes, cluster.storage, cluster.gpus_per_node * cluster.nic
        write = store_seconds(
            each, clients=cluster.nodes, node_bandwidth=store.node_write or nics, store_bandwidth=store.write
        )
        read = store_seconds(
            each * one.readers,
            clients=cluster.nodes,
            node_bandwidth=store.node_read or nics,
            store_bandwidth=store.read,
        )
        fetch = 0.0
    else:
        write, read, fetch = _on_hosts(shop, one, state / cluster.gpus)
    if one.part < 1.0:  # what changed since a full copy: less to write, and both to read
        write, read = write * one.part, read * (1.0 + one.part)
    read = read if one.read is None else one.read
    return (write if one.write is None else one.write), read, (max(read, fetch) if one.fetch is None else one.fetch)


def _on_hosts(shop: Workshop, one: CheckpointSpec, part: float) -> tuple[float, float, float]:
    """(write, read, fetch) seconds on the hosts, for `part` bytes of each GPU.

    Bytes go to the disk or over PCIe, and copies or parity over the NIC beside it; the slower of the two counts. A
    host that is missing is sent its part by its partner or a copy, or partial sums for each loss that the set makes up
    for, which pass round the set. Assumption: the hosts' CPUs code as fast as the network brings the bytes.
    """
    cluster = shop.spec.cluster
    each = part * cluster.gpus / cluster.nodes
    where = placed(shop, one.placement, copies=one.copies, domain=one.domain, size=one.set, losses=one.losses)
    sent, rebuilt = _traffic(one, part, cluster.nic)
    kept = where.storage(each)
    if one.target == "disk":
        write, read = kept / cluster.disk.write, each / cluster.disk.read
    else:
        write = read = part / cluster.pcie
        fits(shop, kept, held=2, what=_what(one))
    return max(write, sent), read, max(read, rebuilt)


def _traffic(one: CheckpointSpec, part: float, nic: float) -> tuple[float, float]:
    """Seconds of one GPU's NIC for a save, and for the recovery of a missing host."""
    if one.placement == "mixed":
        return (one.copies - 1) * part / nic, part / nic
    if one.placement == "single":
        return 0.0, 0.0
    if one.placement == "partner":
        return part / nic, part / nic
    losses = one.losses if one.placement == "rs" else 1
    return parity_exchange_seconds(part, k=one.set - losses, m=losses, bandwidth=nic), losses * part / nic


def _what(one: CheckpointSpec) -> str:
    return f"{one.copies} double-buffered copies" if one.placement == "mixed" else f"double-buffered {one.placement}"


def placed(shop: Workshop, kind: str, *, copies: int, domain: str, size: int = 8, losses: int = 1) -> Placement:
    """Where copies or parity lie on the job's nodes. Raises Infeasible."""
    nodes, stride = shop.spec.cluster.nodes, stride_of(shop, domain)
    if kind in ("mixed", "group", "ring") and copies > nodes // stride:
        many = {"switch": "switches", "power": "power domains"}.get(domain, f"{domain}s")
        raise Infeasible(f"{copies} copies are more than the {max(1, nodes // stride)} {many} of the job")
    try:
        return placement(kind, nodes, copies=copies, size=size, losses=losses, stride=stride if kind != "single" else 1)
    except ValueError as error:
        raise Infeasible(f"placement {kind} over {nodes} nodes: {error}") from error


def fits(shop: Workshop, kept: float, *, held: int, what: str) -> None:
    """Raises Infeasible unless the CPU memory of a node takes `held` versions of `kept` bytes."""
    memory = shop.spec.cluster.cpu_memory
    if kept * held > memory:
        raise Infeasible(f"{what} need {kept * held:.4g} bytes of CPU memory per node, which has {memory:.4g}")
