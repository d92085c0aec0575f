"""The training job: its size, its parallel layout, its step and what of its memory is to be protected."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator

from gemsim import units
from gemsim.errors import ValueRefused, show
from gemsim.spec.recommendation import PhasesSpec, Recommendation
from gemsim.spec.types import (
    Bytes,
    BytesEach,
    Gpus,
    Model,
    Number,
    PositiveTime,
    Share,
    Spans,
    Time,
    Whole,
    assumed,
    refuse_unknown,
    sourced,
)

Shard = Literal["none", "optimizer", "gradients", "full"]
REGIONS = ("weights", "moments", "expert_weights", "expert_moments")
_MIXED = "ZeRO (Rajbhandari et al. 2020), section 3.1: mixed-precision Adam"


class BytesSpec(Model):
    """Bytes for each parameter, by region."""

    weight: BytesEach = sourced(_MIXED, 2)
    gradient: BytesEach = assumed(4, "FP32 accumulation")
    optimizer: BytesEach = sourced(_MIXED, 12)


class ParallelSpec(Model):
    """Degrees of tensor, pipeline and data parallelism (their product is the number of GPUs) and the ZeRO sharding,
    over all data-parallel ranks or, hybrid, in `replicas` groups of them."""

    tensor: Gpus = sourced("no split", 1)
    pipeline: Gpus = sourced("no split", 1)
    data: Gpus = sourced("no split", 1)
    shard: Shard = sourced("no split", "none")
    replicas: Gpus = sourced("no split", 1)

    @model_validator(mode="after")
    def _groups(self) -> Self:
        if self.data % self.replicas:
            allowed = f"a divisor of the data-parallel degree, {self.data}"
            raise ValueRefused(f"not whole groups ({self.replicas} of {self.data} ranks)", allowed, at=("replicas",))
        if self.replicas > 1 and self.shard == "none":
            todo = "remove replicas, or shard"
            raise ValueRefused("does not apply to shard none", "every rank holds a copy anyway", todo, at=("replicas",))
        return self

    @property
    def gpus(self) -> int:
        """GPUs that this layout uses."""
        return self.tensor * self.pipeline * self.data


class ExpertsSpec(Model):
    """Mixture of experts: the share of the parameters that are theirs, over how many data-parallel ranks one set of
    them is spread, and how many of each layer's experts a token passes (`active` of `total`; both or neither)."""

    share: Share
    parallel: Gpus
    active: Whole | None = sourced("not needed; lets step time be checked against FLOPs", None)
    total: Whole | None = sourced("not needed; lets step time be checked against FLOPs", None)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.share == 0.0:
            raise ValueRefused("no experts (share 0)", "a share above 0", "remove experts", at=("share",))
        if (self.active is None) != (self.total is None) or (self.active or 0) > (self.total or 0):
            shown = f"active {show(self.active)}, total {show(self.total)}"
            raise ValueRefused(shown, "both or neither, and active not more than total", at=("active",))
        return self

    @property
    def active_share(self) -> float:
        """Share of the expert parameters that a token passes; all where it is not given."""
        return 1.0 if self.active is None or self.total is None else self.active / self.total


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
    experts: ExpertsSpec | None = sourced("a dense model", None)
    step: PositiveTime
    tokens_per_step: Number | None = sourced("not needed; lets step time be checked against FLOPs", None)
    microbatches: Whole = assumed(1)
    layers: Whole = assumed(1)
    kernels_per_layer: Whole = assumed(10)
    update: Time | None = sourced("derived from bytes over links", None)
    skew: Time | None = assumed(None, "the update time")
    network_idle: Time = assumed("0 s", "nothing hidden")
    recommendation: Recommendation | None = sourced("no recommendation model", None)
    phases: PhasesSpec | None = sourced("those of recommendation", None)
    idle_spans: Spans = assumed(1, "one span")
    memory: MemorySpec = assumed(default_factory=MemorySpec)
    protect: Annotated[str | tuple[str, ...], BeforeValidator(_protect)] = sourced(
        "what the optimizer writes once per step", "critical"
    )

    @model_validator(mode="after")
    def _batch(self) -> Self:
        if self.recommendation is not None and self.phases is not None:
            allowed = "recommendation (published phases) or phases (your own)"
            raise ValueRefused("the phases of a batch twice", allowed, "remove one", at=("phases",))
        return self

    @model_validator(mode="after")
    def _experts(self) -> Self:
        ranks = self.parallel.data // self.parallel.replicas
        if self.experts is None:
            stray = [] if isinstance(self.protect, str) else [n for n in self.protect if n.startswith("expert_")]
            if stray:
                shown = f"no {stray[0]} in a dense model"
                raise ValueRefused(shown, "weights, moments", "add workload.experts", at=("protect",))
        elif ranks % self.experts.parallel:
            shown = f"{self.experts.parallel} of {ranks} data-parallel ranks"
            allowed = "a divisor of parallel.data / parallel.replicas"
            raise ValueRefused(f"not whole sets ({shown})", allowed, at=("experts", "parallel"))
        return self

    @model_validator(mode="after")
    def _spans(self) -> Self:
        spans = self.idle_spans
        if isinstance(spans, tuple) and abs(sum(spans) - self.network_idle) > 1e-9 * self.network_idle:
            total, idle = (units.format(float(f"{value:.9g}"), "time") for value in (sum(spans), self.network_idle))
            shown = f"spans of {total} in all, network_idle is {idle}"
            raise ValueRefused(shown, "spans that add up to network_idle", at=("idle_spans",))
        return self

    @property
    def idle(self) -> tuple[float, ...]:
        """The network's idle spans of one step, seconds."""
        if isinstance(self.idle_spans, tuple):
            return self.idle_spans
        return (self.network_idle / self.idle_spans,) * self.idle_spans

    @property
    def active_parameters(self) -> float:
        """Parameters that a token passes: what its arithmetic grows with."""
        idle = 0.0 if self.experts is None else self.experts.share * (1.0 - self.experts.active_share)
        return self.parameters * (1.0 - idle)
