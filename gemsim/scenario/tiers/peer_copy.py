"""Peer copies: the seconds through the store, where the copy goes that way."""

from __future__ import annotations

from gemsim.costs.links import store_seconds
from gemsim.protection.peer_copy import PeerCopy
from gemsim.scenario.state import layout
from gemsim.scenario.tiers.workshop import Workshop
from gemsim.spec.protection.peer_copy import PeerCopySpec


def peer_copy(shop: Workshop, one: PeerCopySpec, number: int) -> PeerCopy:
    """The tier."""
    nic, page = shop.spec.cluster.nic, shop.spec.failures.page
    if one.via == "fabric":
        return PeerCopy(number, one.label, nic, page)
    save, read = store_times(shop)
    save, read = (save if one.save is None else one.save), (read if one.read is None else one.read)
    return PeerCopy(number, one.label, nic, page, "store", save, read)


def store_times(shop: Workshop) -> tuple[float, float]:
    """(save, read) seconds of one copy of the state through the remote store.

    The nodes that hold one copy between them save it, max(S / b_node, n S / B_store); all nodes read their part.
    """
    cluster, cut = shop.spec.cluster, layout(shop.spec)
    held = [r.copies for r in shop.memory.regions if r.critical and r.bytes > 0]
    savers = max(1, cluster.nodes // min(held, default=1))
    nics, store = cluster.gpus_per_node * cluster.nic, cluster.storage
    save = store_seconds(
        cut.unique_state / savers,
        clients=savers,
        node_bandwidth=store.node_write or nics,
        store_bandwidth=store.write,
    )
    read = store_seconds(
        cut.unique_state / cluster.nodes,
        clients=cluster.nodes,
        node_bandwidth=store.node_read or nics,
        store_bandwidth=store.read,
    )
    return save, read
