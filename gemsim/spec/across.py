"""Checks across the sections of a study: spares and cluster, batches and domains, repairs and failure classes.

Each raises ValueRefused at a place in the study.
"""

from __future__ import annotations

from gemsim.errors import ValueRefused
from gemsim.spec.cluster import ClusterSpec
from gemsim.spec.failures import FailureClassSpec, FailuresSpec, refuse_without_repair
from gemsim.spec.fleet import FleetSpec, SparesSpec

KINDS_OF_SPARES = ("hot", "warm", "cold", "borrow")


def refuse_spares(spares: SparesSpec | None, cluster: ClusterSpec) -> None:
    """Spares are given once, and by rack only in whole racks and where whole racks are replaced."""
    if spares is None:
        return
    if cluster.spare_nodes:
        raise ValueRefused(
            f"given beside cluster.spare_nodes ({cluster.spare_nodes})",
            "one of them",
            "say all spares under fleet.spares and remove cluster.spare_nodes",
            at=("fleet", "spares"),
        )
    if spares.placed == "spread" and cluster.replace == "rack":
        raise ValueRefused(
            "spread over the racks of the job, but a failure replaces a whole rack (cluster.replace)",
            "spread with cluster.replace: gpu, node or tray",
            "write placed: apart, or another cluster.replace",
            at=("fleet", "spares", "placed"),
        )
    if spares.unit != "rack":  # a tray is a node here
        return
    if cluster.replace != "rack":
        raise ValueRefused(
            f"spares by rack, but a failure replaces a {cluster.replace} (cluster.replace)",
            "unit: rack with cluster.replace: rack",
            "write cluster.replace: rack, or unit: node",
            at=("fleet", "spares", "unit"),
        )
    for kind in KINDS_OF_SPARES:
        nodes, unit = getattr(spares, kind), cluster.nodes_per_rack
        if nodes % unit:
            raise ValueRefused(
                f"not whole racks ({nodes} nodes, {unit} in a rack)",
                "with unit: rack a multiple of cluster.nodes_per_rack",
                f"write {nodes - nodes % unit} or {nodes - nodes % unit + unit}",
                at=("fleet", "spares", kind),
            )


def room(cluster: ClusterSpec, within: str, clock: str) -> int:
    """Clock units in one whole rack, switch or power domain."""
    racks = {"rack": 1, "switch": cluster.racks_per_switch, "power": cluster.racks_per_power}
    nodes = cluster.nodes_per_rack * racks[within]
    return nodes * cluster.gpus_per_node if clock == "gpu" else nodes


def refuse_batches(classes: tuple[FailureClassSpec, ...], cluster: ClusterSpec) -> None:
    """No batch of a class of the study is larger than the domain that holds it.

    One within the cluster is cut at the job, since a job may be smaller than the fleet that a law is from.
    """
    for number, one in enumerate(classes):
        if one.batch is None or one.batch.within == "cluster":
            continue
        most = room(cluster, one.batch.within, one.clock)
        largest = max(size for size, share in one.batch.sizes if share > 0.0)
        if largest > most:
            raise ValueRefused(
                f"a batch of {largest} {one.clock}s is larger than its {one.batch.within} ({most} {one.clock}s)",
                f"at most {most} within one {one.batch.within}",
                "write smaller sizes, or a wider within",
                at=("failures", "classes", number, "batch", "sizes"),
            )


def refuse_repairs(classes: tuple[FailureClassSpec, ...], fleet: FleetSpec) -> None:
    """Every node that is replaced comes back after some time: that of its failure's class, or of `fleet.repair`."""
    if fleet.repair is None:
        for number, one in enumerate(classes):
            refuse_without_repair(one, at=("failures", "classes", number, "repair"))


def refuse_remaps(failures: FailuresSpec, fleet: FleetSpec) -> None:
    """A GPU whose rows can be remapped no more is replaced, and memory classes name no time of repair."""
    if failures.remap_budget and fleet.repair is None:
        raise ValueRefused(
            "GPUs whose rows cannot be remapped are replaced, and nothing says how long their repair takes",
            "remap_budget with fleet.repair",
            "add fleet.repair, e.g. {stages: [{name: swap, time: 2.2 h}]}",
            at=("failures", "remap_budget"),
        )


def refuse_unknown_repairs(failures: FailuresSpec, fleet: FleetSpec) -> None:
    """Every outage of a replayed log ends: after its own time, or by `replay.repair` or `fleet.repair`."""
    if failures.replay is not None and fleet.repair is None:
        failures.replay.refuse_unknown(at=("failures", "replay", "repair"))
