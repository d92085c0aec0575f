"""`undo_log` in a study."""

from __future__ import annotations

from typing import Literal

from gemsim.spec.protection.tier import Tier
from gemsim.spec.types import Time, Whole, assumed


class UndoLogSpec(Tier):
    """Logging to a pool of persistent memory in every batch of recommendation training; times in seconds."""

    kind: Literal["undo_log"] = "undo_log"
    variant: Literal["cxl", "cxl_b", "cxl_d", "pcie", "pmem", "ssd"]
    mlp_log_gap: Whole = assumed(256, "TrainingCXL (2023): within its accuracy bound at gaps of hundreds of batches")
    replay: Time = assumed("1 s", "no recovery time is published")

    def inapplicable(self) -> dict[str, str]:
        return {} if self.variant == "cxl" else {"mlp_log_gap": "variant cxl"}
