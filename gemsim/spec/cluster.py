"""The cluster: GPUs in nodes, racks and switches, their links, memories and stores, and the spare nodes."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, model_validator

from gemsim.errors import ValueRefused
from gemsim.spec import catalog
from gemsim.spec.types import Bandwidth, Gpus, Model, PositiveBytes, Time, Whole, WholeOrNone, assumed, refuse_unknown

Replace = Literal["gpu", "node", "tray", "rack"]


def _known_gpu(name: object) -> str:
    return refuse_unknown(name, catalog.gpu_names(), "GPU type")


class DiskSpec(Model):
    """The local disk of one node, bytes per second."""

    write: Bandwidth = assumed("5 GB/s")
    read: Bandwidth = assumed("10 GB/s")


class StorageSpec(Model):
    """The remote store: aggregate bandwidth and that of one node (default: all its NICs), bytes per second."""

    write: Bandwidth
    read: Bandwidth
    node_write: Bandwidth | None = assumed(None, "all NICs of the node")
    node_read: Bandwidth | None = assumed(None, "all NICs of the node")


class ClusterSpec(Model):
    """Bandwidths in bytes per second: `nic` and `pcie` are of one GPU; `cpu_memory` is of one node, in bytes."""

    gpus: Gpus
    gpus_per_node: Whole = assumed(8)
    nodes_per_rack: Whole = assumed(2)
    racks_per_switch: Whole = assumed(10)
    racks_per_power: Whole = assumed(10, "a row of racks on one feed, as many as behind one switch")
    gpu: Annotated[str, BeforeValidator(_known_gpu)]
    spare_nodes: WholeOrNone = assumed(0)
    spare_activation: Time = assumed("2 min")
    replace: Replace = assumed("node")
    nic: Bandwidth = assumed("400 Gb/s")
    pcie: Bandwidth = assumed("64 GB/s")
    cpu_memory: PositiveBytes = assumed("2 TB")
    disk: DiskSpec = assumed(default_factory=DiskSpec)
    storage: StorageSpec

    @model_validator(mode="after")
    def _whole_nodes(self) -> Self:
        if self.gpus > self.gpus_per_node and self.gpus % self.gpus_per_node:
            raise ValueRefused(
                f"not a whole number of nodes ({self.gpus} of {self.gpus_per_node} per node)",
                "a multiple of gpus_per_node, or fewer than one node",
                f"write {self.gpus - self.gpus % self.gpus_per_node}",
                at=("gpus",),
            )
        return self

    @property
    def nodes(self) -> int:
        """Nodes of the job; a job smaller than a node has one."""
        return max(1, self.gpus // self.gpus_per_node)
