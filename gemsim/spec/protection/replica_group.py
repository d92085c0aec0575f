"""`replica_group` in a study."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import model_validator

from gemsim.errors import ValueRefused
from gemsim.spec.protection.tier import Tier
from gemsim.spec.types import Share, Time, Whole, WholeNumber, assumed, sourced


class ReplicaGroupSpec(Tier):
    """Data-parallel groups that go on without the one that failed; `groups` None: as many as hold all state."""

    kind: Literal["replica_group"] = "replica_group"
    groups: Annotated[int, WholeNumber(2, 10**6)] | None = sourced("derived from the live copies of the layout", None)
    out: Literal["group", "node"] = assumed("group")
    stall: Time
    discard: Literal["step", "nothing"] = sourced("torchft: a step that lost a group is not committed", "step")
    quorum: Time = assumed("0 s", "formed while the step runs")
    catch_up: Time | None = sourced("derived: a GPU's critical state over its NIC", None)
    catch_up_stall: Time = sourced("FT-HSDP (arXiv 2602.00277), torchft: catching up does not block", "0 s")
    minimum: Whole = assumed(1)
    join_timeout: Time | None = assumed(None, "no time-out")
    bubbles: Share = assumed(0, "none")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.groups is not None and self.minimum > self.groups:
            raise ValueRefused(
                f"more than the {self.groups} groups ({self.minimum})",
                f"1 to {self.groups}",
                "write fewer",
                at=("minimum",),
            )
        return self

    def inapplicable(self) -> dict[str, str]:
        return {} if self.out == "node" else {"bubbles": "out: node"}
