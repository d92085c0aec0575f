"""Checks across the sections of a study. Each raises ValueRefused at a place in the study; they are made even where other
parts are at fault (`gemsim.spec.draft`)."""

from __future__ import annotations

from gemsim.errors import ValueRefused, show
from gemsim.spec.cluster import ClusterSpec
from gemsim.spec.failures import FailuresSpec
from gemsim.spec.fleet import FleetSpec, SparesSpec
from gemsim.spec.workload import ParallelSpec

KINDS_OF_SPARES = ("hot", "warm", "cold", "borrow")


def refuse_layout(gpus: int, parallel: ParallelSpec) -> None:
    """The parallel layout uses all GPUs of the cluster."""
    if parallel.gpus != gpus:
        shown = f"tensor {parallel.tensor} × pipeline {parallel.pipeline} × data {parallel.data} = {parallel.gpus}"
        rest, over = divmod(gpus, parallel.tensor * parallel.pipeline)
        todo = f"data: {rest} would fit" if not over and rest else "change the degrees or cluster.gpus"
        raise ValueRefused(
            f"the layout uses other than all GPUs ({shown}, cluster.gpus is {gpus})",
            "a product equal to cluster.gpus",
            todo,
            at=("workload", "parallel"),
        )
