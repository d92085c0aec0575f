"""`checkpoint` in a study."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import model_validator

from gemsim.errors import ValueRefused
from gemsim.spec.protection.tier import Tier
from gemsim.spec.types import Interval, KeepFor, PositiveShare, Share, Time, Whole, WholeNumber, assumed, sourced

_DERIVED = "derived from bytes over the store's bandwidth"
IN_SETS = ("partner", "xor", "rs")


class CheckpointSpec(Tier):
    """A copy in the remote store, on local disks or in CPU memory; times in seconds, None: derived."""

    kind: Literal["checkpoint"] = "checkpoint"
    target: Literal["remote", "disk", "cpu_memory"]
    mode: Literal["sync", "async"]
    blocked: Time | None = None
    interval: Interval
    keep: KeepFor = assumed("7 d")
    part: PositiveShare = sourced("a full copy", 1)
    write: Time | None = sourced(_DERIVED, None)
    read: Time | None = sourced(_DERIVED, None)
    fetch: Time | None = sourced("derived from bytes over the network", None)
    redundancy: Literal["single", "partner", "xor", "rs"] | None = sourced(
        "one copy on disk, copies in CPU memory", None
    )
    set: Annotated[int, WholeNumber(2, 4096)] = sourced("SCR user guide", 8)
    losses: Annotated[int, WholeNumber(1, 64)] = sourced("SCR user guide", 2)
    copies: Annotated[int, WholeNumber(1, 64)] = sourced("GEMINI (Wang et al. 2023)", 2)
    domain: Literal["node", "rack", "switch", "power"] = assumed("node")
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
        if self.redundancy == "rs" and self.losses >= self.set:
            raise ValueRefused(
                f"a set of {self.set} cannot lose {self.losses}", "fewer than the set", "enlarge set", at=("losses",)
            )
        return self

    @property
    def placement(self) -> str:
        """How copies or parity lie on the hosts."""
        return self.redundancy or ("mixed" if self.target == "cpu_memory" else "single")

    def inapplicable(self) -> dict[str, str]:
        found = {}
        if self.target != "cpu_memory" or self.redundancy:
            found["copies"] = "target cpu_memory" + (" without redundancy" if self.redundancy else "")
        if self.placement == "single":
            found["domain"] = "target cpu_memory, or redundancy partner, xor or rs"
        if self.target == "remote":
            found |= dict.fromkeys(("redundancy", "fetch"), "target disk or cpu_memory")
        if self.redundancy not in IN_SETS:
            found["set"] = "redundancy partner, xor or rs"
        if self.redundancy != "rs":
            found["losses"] = "redundancy rs"
        return found
