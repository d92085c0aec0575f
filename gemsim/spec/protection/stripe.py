"""`stripe` in a study."""

from __future__ import annotations

from typing import Annotated, Literal

from gemsim.spec.protection.tier import Tier
from gemsim.spec.types import PositiveTime, Whole, WholeNumber, assumed, sourced


class StripeSpec(Tier):
    """k data and m parity members: pages of one GPU, or GPUs in distinct GPUs, nodes, racks or wider domains."""

    kind: Literal["stripe"] = "stripe"
    layout: Literal["gpu", "gpus", "nodes", "racks", "switches", "power_domains"]
    k: Annotated[int, WholeNumber(1, 10**9)]
    m: Annotated[int, WholeNumber(0, 8)]
    mapping: Literal["interleaved", "contiguous"] = assumed("interleaved")
    cadence: Whole = assumed(1)
    copy_mode: Literal["in_place", "snapshot"] = assumed("in_place", alias="copy")
    buckets: Whole = assumed(1)
    encode: Literal["serial", "overlap"] = assumed("serial")
    rebuild: Literal["gather", "pipeline", "spread"] = assumed("gather")
    scrub: PositiveTime | None = sourced("no scrubs", None)

    @property
    def inside(self) -> bool:
        """Whether the stripe lies inside one GPU."""
        return self.layout == "gpu"

    def inapplicable(self) -> dict[str, str]:
        if self.inside:
            return {"rebuild": "a layout over several GPUs"}
        return dict.fromkeys(("mapping", "scrub"), "layout gpu")
