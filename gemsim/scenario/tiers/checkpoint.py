"""Checkpoints: the seconds that their stores need, and when a save follows the last."""

from __future__ import annotations

from math import inf

from gemsim.costs.links import store_seconds
from gemsim.errors import Infeasible
from gemsim.protection.checkpoint import Checkpoint
from gemsim.scenario.state import layout
from gemsim.scenario.tiers.workshop import Workshop
from gemsim.spec.protection.checkpoint import CheckpointSpec


def checkpoint(shop: Workshop, one: CheckpointSpec, number: int) -> Checkpoint:
    """The tier. Raises Infeasible."""
    write, read = store_times(shop, one)
    blocked = write if one.blocked is None else one.blocked
    lag = 0.0 if one.mode == "sync" else write
    if not isinstance(one.interval, str) and one.interval < write:
        raise Infeasible(
            f"interval {one.interval:.4g} s of tier '{one.label}' is shorter than its write time, {write:.4g} s: "
            "saves pile up"
        )
    every = 0 if isinstance(one.interval, str) else _steps_between(one.interval, write, shop.spec.workload.step)
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
        stride=shop.spec.cluster.nodes_per_rack if one.domain == "rack" and one.target == "cpu_memory" else 1,
        invalid=one.invalid,
        notice=one.notice,
        wall_anchor=one.anchor == "wall",
    )


def _steps_between(interval: float, write: float, step: float) -> int:
    """A given interval in whole steps; rounding does not make it shorter than the write."""
    every = max(1, round(interval / step))
    return every if every * step >= write else every + 1


def store_times(shop: Workshop, one: CheckpointSpec) -> tuple[float, float]:
    """(write, read) seconds of one copy of the unique state, where the study does not give them.

    Remote: each node writes its part, max(S / b_node, N S / B_store); one reader per replica that reads. Disk: the
    node's part over its disk. CPU memory: the GPU's part over PCIe, and the other copies over the NIC beside it.
    """
    cluster, state = shop.spec.cluster, layout(shop.spec).unique_state
    each = state / cluster.nodes
    nodes, nics = cluster.nodes, cluster.gpus_per_node * cluster.nic
    if one.target == "remote":
        store = cluster.storage
        write = store_seconds(each, clients=nodes, node_bandwidth=store.node_write or nics, store_bandwidth=store.write)
        read = store_seconds(
            each * one.readers, clients=nodes, node_bandwidth=store.node_read or nics, store_bandwidth=store.read
        )
    elif one.target == "disk":
        write, read = each / cluster.disk.write, each / cluster.disk.read
    else:
        domains = cluster.nodes if one.domain == "node" else cluster.nodes // cluster.nodes_per_rack
        if one.copies > domains:
            raise Infeasible(f"{one.copies} copies are more than the {domains} {one.domain}s of the job")
        part = state / cluster.gpus
        write = max(part / cluster.pcie, (one.copies - 1) * part / cluster.nic)
        read = max(part / cluster.pcie, part / cluster.nic)
        if one.copies * each * 2 > cluster.cpu_memory:
            raise Infeasible(
                f"{one.copies} double-buffered copies need {one.copies * each * 2:.4g} bytes of CPU memory per node, "
                f"which has {cluster.cpu_memory:.4g}"
            )
    return (write if one.write is None else one.write), (read if one.read is None else one.read)
