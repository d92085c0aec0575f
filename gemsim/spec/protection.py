"""The protection: an ordered list of tiers, each a mapping of one key, its kind, to its settings."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gemsim.errors import ValueRefused, show
from gemsim.spec.types import (
    Interval,
    KeepFor,
    Model,
    Name,
    Share,
    Time,
    Whole,
    WholeNumber,
    assumed,
    refuse_unknown,
    sourced,
)

NOT_BUILT = {
    "replica": "use checkpoint with target cpu_memory",
    "undo_log": "use checkpoint",
    "replica_group": "use peer_copy and checkpoint",
}
NAMED_SYSTEMS = (
    "gem",
    "gemini",
    "trainingcxl",
    "ft_hsdp",
    "torchft",
    "checkfreq",
    "bytecheckpoint",
    "mindio",
    "just_in_time",
)


class Tier(Model):
    """What all tiers have: a kind, and an optional name by which sweeps and results call it."""

    kind: str
    name: Annotated[str, Name()] | None = None

    @property
    def label(self) -> str:
        """The name, or the kind where no name is given."""
        return self.name or self.kind

    def inapplicable(self) -> dict[str, str]:
        """Keys that mean nothing with these settings, and what each goes with."""
        return {}

    @model_validator(mode="after")
    def _applicable(self) -> Self:
        for field, where in self.inapplicable().items():
            if field in self.model_fields_set:
                raise ValueRefused("does not apply here", f"goes with {where}", f"remove {field}", at=(field,))
        return self


class RetrySpec(Tier):
    """Re-execution in a living process, of the granule named or (mixed) the least that restores what was lost."""

    kind: Literal["retry"] = "retry"
    granularity: Literal["kernel", "layer", "microbatch", "step", "mixed"] = sourced(
        "the least granule of each region", "mixed"
    )


class PeerCopySpec(Tier):
    """Copy from a rank that holds the same state."""

    kind: Literal["peer_copy"] = "peer_copy"


class StripeSpec(Tier):
    """k data and m parity members: pages of one GPU, or GPUs in distinct GPUs, nodes or racks."""

    kind: Literal["stripe"] = "stripe"
    layout: Literal["gpu", "gpus", "nodes", "racks"]
    k: Annotated[int, WholeNumber(1, 10**9)]
    m: Annotated[int, WholeNumber(0, 8)]
    mapping: Literal["interleaved", "contiguous"] = assumed("interleaved")
    cadence: Whole = assumed(1)
    copy_mode: Literal["in_place", "snapshot"] = assumed("in_place", alias="copy")
    buckets: Whole = assumed(1)
    encode: Literal["serial", "overlap"] = assumed("serial")
    rebuild: Literal["gather", "pipeline", "spread"] = assumed("gather")

    @property
    def inside(self) -> bool:
        """Whether the stripe lies inside one GPU."""
        return self.layout == "gpu"

    def inapplicable(self) -> dict[str, str]:
        return {"rebuild": "layout gpus, nodes or racks"} if self.inside else {"mapping": "layout gpu"}


class CheckpointSpec(Tier):
    """A copy in the remote store, on local disks or in CPU memory; times in seconds, write and read None: derived."""

    kind: Literal["checkpoint"] = "checkpoint"
    target: Literal["remote", "disk", "cpu_memory"]
    mode: Literal["sync", "async"]
    blocked: Time | None = None
    interval: Interval
    keep: KeepFor = assumed("7 d")
    write: Time | None = sourced("derived from bytes over the store's bandwidth", None)
    read: Time | None = sourced("derived from bytes over the store's bandwidth", None)
    copies: Annotated[int, WholeNumber(1, 64)] = sourced("GEMINI (Wang et al. 2023)", 2)
    domain: Literal["node", "rack"] = assumed("node")
    readers: Whole = assumed(1, "one replica reads, then broadcasts")
    invalid: Share = assumed(0, "every copy is good")
    notice: Time = assumed("0 s", "a bad copy is noticed at once")
    anchor: Literal["recovery", "wall"] = assumed("recovery")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.mode == "async") != (self.blocked is not None):
            wanted = self.mode == "async"
            raise ValueRefused(
                "missing for mode async" if wanted else "does not apply to mode sync",
                "the time that a save stops the job; a sync save stops it for its whole write",
                "add e.g. blocked: 1 s" if wanted else "remove blocked",
                at=("blocked",),
            )
        return self

    def inapplicable(self) -> dict[str, str]:
        return {} if self.target == "cpu_memory" else {"copies": "target cpu_memory", "domain": "target cpu_memory"}


TIERS: dict[str, type[Tier]] = {
    "retry": RetrySpec,
    "peer_copy": PeerCopySpec,
    "stripe": StripeSpec,
    "checkpoint": CheckpointSpec,
}
TierSpec = Annotated[RetrySpec | PeerCopySpec | StripeSpec | CheckpointSpec, Field(discriminator="kind")]


def read_tier(value: Any) -> Any:
    """A one-key mapping {kind: settings} (or the bare kind) as the settings with their kind. Raises ValueRefused."""
    if isinstance(value, Tier):
        return value
    if isinstance(value, str):
        value = {value: {}}
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueRefused(
            f"not a tier ({show(value)})",
            "a mapping of one key, the kind of tier",
            "write e.g. '- retry: {granularity: mixed}'",
        )
    kind, settings = next(iter(value.items()))
    kind = str(kind)
    if kind in NOT_BUILT:
        raise ValueRefused(
            f"tier {kind} is not built yet in this version", f"one of {', '.join(TIERS)}", NOT_BUILT[kind]
        )
    if kind.lower().replace("-", "_") in NAMED_SYSTEMS:
        raise ValueRefused(
            f"named system {kind} is not built yet in this version", f"one of {', '.join(TIERS)}", "list its tiers"
        )
    refuse_unknown(kind, [*TIERS, *NOT_BUILT, *NAMED_SYSTEMS], "tier")
    if not isinstance(settings, dict | None):
        raise ValueRefused(f"not the settings of a tier ({show(settings)})", "a mapping", f"write e.g. '{kind}: {{}}'")
    if "kind" in (settings or {}):
        raise ValueRefused("kind inside a tier", "the kind is the key of the tier", "remove kind")
    return {"kind": kind, **(settings or {})}


def refuse_labels(tiers: tuple[Tier, ...]) -> None:
    """Raises ValueRefused when two tiers have one label, or a name is the kind of another."""
    labels = [tier.label for tier in tiers]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        second = [at for at, label in enumerate(labels) if label == twice[0]][1]
        raise ValueRefused(
            f"a second tier called {show(twice[0])}",
            "a name of its own for each tier of one kind",
            "add a name to each",
            at=("protection", second),
        )
    for at, tier in enumerate(tiers):
        if tier.name and tier.name != tier.kind and tier.name in TIERS:
            raise ValueRefused(
                f"a {tier.kind} tier is named {show(tier.name)}",
                "a name that is not a kind of tier",
                "rename it",
                at=("protection", at),
            )
