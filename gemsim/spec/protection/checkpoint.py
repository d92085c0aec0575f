"""`checkpoint` in a study."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import model_validator

from gemsim.errors import ValueRefused
from gemsim.spec.protection.tier import Tier
from gemsim.spec.types import Interval, KeepFor, Share, Time, Whole, WholeNumber, assumed, sourced


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
