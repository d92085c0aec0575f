"""What a GPU's memory holds: regions with bytes, live copies elsewhere, and which of them a code covers.

Derived from the workload's parameter count and parallel layout; the shares decide where a memory failure lands.
"""

from __future__ import annotations

from dataclasses import dataclass

CRITICAL = ("weights", "moments", "expert_weights", "expert_moments")


@dataclass(frozen=True, slots=True)
class Region:
    """One kind of content of a GPU's memory."""

    name: str  # weights, moments, these of experts, gradients, activations, workspace, buffers, context, free
    bytes: float
    copies: int  # live copies of each byte in the job, this one included
    coded: bool

    @property
    def critical(self) -> bool:
        """Written by the optimizer once a step: retry alone cannot bring it back."""
        return self.name in CRITICAL


@dataclass(frozen=True, slots=True)
class Memory:
    """Regions of one GPU in address order, `capacity` bytes in all (every GPU holds the same)."""

    regions: tuple[Region, ...]
    capacity: float

    def bytes_of(self, *names: str) -> float:
        """Bytes of the named regions together."""
        return sum(r.bytes for r in self.regions if r.name in names)

    @property
    def used(self) -> float:
        """All bytes but the free ones."""
        return sum(r.bytes for r in self.regions if r.name != "free")

    @property
    def critical(self) -> float:
        """Bytes of weights and moments on this GPU."""
        return sum(r.bytes for r in self.regions if r.critical)

    @property
    def coded(self) -> float:
        """Bytes that a stripe covers on this GPU."""
        return sum(r.bytes for r in self.regions if r.coded)

    def landing(self, lands: str) -> tuple[tuple[str, float], ...]:
        """(region, probability) of a memory failure that lands on `used`, `critical` or `all` bytes."""
        chosen = [r for r in self.regions if r.bytes > 0 and _hit(r, lands)]
        total = sum(r.bytes for r in chosen)
        return tuple((r.name, r.bytes / total) for r in chosen)

    def region_at(self, u: float, lands: str) -> str:
        """The region that a uniform mark falls on."""
        below = 0.0
        shares = self.landing(lands)
        for name, share in shares:
            below += share
            if u < below:
                return name
        return shares[-1][0]


def _hit(region: Region, lands: str) -> bool:
    if lands == "critical":
        return region.critical
    return lands == "all" or region.name != "free"


@dataclass(frozen=True, slots=True)
class Layout:
    """Parallel layout: how the model's parameters are cut over GPUs.

    `replicas` groups of data / replicas ranks each hold a full copy of what is sharded. Experts are `expert_share` of
    the parameters; `expert_parallel` data-parallel ranks hold one set of them between them.
    """

    parameters: float
    weight_bytes: float
    gradient_bytes: float
    optimizer_bytes: float
    tensor: int
    pipeline: int
    data: int
    shard: str  # none | optimizer | gradients | full
    replicas: int = 1
    expert_share: float = 0.0
    expert_parallel: int = 1

    @property
    def model_gpus(self) -> int:
        """GPUs over which one copy of the weights is cut before any data-parallel sharding."""
        return self.tensor * self.pipeline

    def cut(self, region: str) -> int:
        """Over how many GPUs one copy of the region is cut."""
        kind = region.removeprefix("expert_")
        sharded = {
            "none": (),
            "optimizer": ("moments",),
            "gradients": ("moments", "gradients"),
            "full": ("moments", "gradients", "weights"),
        }[self.shard]
        if kind in sharded:
            return self.model_gpus * (self.data // self.replicas)
        return self.model_gpus * (self.expert_parallel if kind != region else 1)

    def copies(self, region: str) -> int:
        """Live copies of each byte over the whole job; of experts unless sharded, their data-parallel degree."""
        return self.model_gpus * self.data // self.cut(region)

    def per_gpu(self, region: str) -> float:
        """Bytes of `weights`, `moments` or `gradients` on one GPU, `expert_` before it for those of experts."""
        kind = region.removeprefix("expert_")
        width = {"weights": self.weight_bytes, "moments": self.optimizer_bytes, "gradients": self.gradient_bytes}
        share = self.expert_share if kind != region else 1.0 - self.expert_share
        return self.parameters * share * width[kind] / self.cut(region)

    @property
    def unique_state(self) -> float:
        """Bytes of one copy of weights and moments over the whole job: what a checkpoint writes."""
        return self.parameters * (self.weight_bytes + self.optimizer_bytes)
