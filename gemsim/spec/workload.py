"""The training job: its size, its parallel layout, its step and what of its memory is to be protected."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from gemsim.errors import ValueRefused, show
from gemsim.spec.types import (
    Bytes,
    BytesEach,
    Gpus,
    Model,
    Number,
    PositiveTime,
    Time,
    Whole,
    assumed,
    refuse_unknown,
    sourced,
)

Shard = Literal["none", "optimizer", "gradients", "full"]
REGIONS = ("weights", "moments")
_MIXED = "ZeRO (Rajbhandari et al. 2020), section 3.1: mixed-precision Adam"


class BytesSpec(Model):
    """Bytes for each parameter, by region."""

    weight: BytesEach = sourced(_MIXED, 2)
    gradient: BytesEach = assumed(4, "FP32 accumulation")
    optimizer: BytesEach = sourced(_MIXED, 12)


class ParallelSpec(Model):
    """Degrees of tensor, pipeline and data parallelism (their product is the number of GPUs) and the ZeRO sharding."""

    tensor: Gpus = sourced("no split", 1)
    pipeline: Gpus = sourced("no split", 1)
    data: Gpus = sourced("no split", 1)
    shard: Shard = sourced("no split", "none")

    @property
    def gpus(self) -> int:
        """GPUs that this layout uses."""
        return self.tensor * self.pipeline * self.data


class MemorySpec(Model):
    """What is in the memory of one GPU besides state, in bytes; activations None: derived from what is left."""

    activations: Bytes | None = assumed(None, "half of what is left")
    workspace: Bytes = assumed("2 GiB")
    buffers: Bytes = assumed("2 GiB")
    context: Bytes = assumed("1 GiB")


def _protect(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        if not value or len(set(map(str, value))) < len(value):
            raise ValueRefused(f"empty or repeated ({show(value)})", "each region at most once, at least one", "")
        return tuple(refuse_unknown(name, REGIONS, "region") for name in value)
    return refuse_unknown(value, ("critical", "unique"), "choice; a list of regions is allowed too,")


class WorkloadSpec(Model):
    """Times in seconds of one step; `update` None: derived from bytes over links; `skew` None: the update time."""

    parameters: Number
    bytes: BytesSpec = assumed(default_factory=BytesSpec)
    parallel: ParallelSpec = sourced("no split", default_factory=ParallelSpec)
    step: PositiveTime
    tokens_per_step: Number | None = sourced("not needed; lets step time be checked against FLOPs", None)
    microbatches: Whole = assumed(1)
    layers: Whole = assumed(1)
    kernels_per_layer: Whole = assumed(10)
    update: Time | None = sourced("derived from bytes over links", None)
    skew: Time | None = assumed(None, "the update time")
    network_idle: Time = assumed("0 s", "nothing hidden")
    memory: MemorySpec = assumed(default_factory=MemorySpec)
    protect: Annotated[str | tuple[str, ...], BeforeValidator(_protect)] = sourced(
        "what the optimizer writes once per step", "critical"
    )
