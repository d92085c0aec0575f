"""Retry: run again what a loss of transient state undid, at the finest granule that restores it.

Needs a living process and critical state that is intact or just rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fmod

from gemsim.protection.damage import Damage, Nature
from gemsim.protection.state import CRITICAL
from gemsim.protection.tier import Moment, Overhead, Plan, Platform, state_is_intact

GRANULES = ("kernel", "layer", "microbatch", "step")
# The finest granule that brings a region's content back; weights and moments are decoded first and need the kernel.
LEAST = {
    "weights": "kernel",
    "moments": "kernel",
    "expert_weights": "kernel",
    "expert_moments": "kernel",
    "workspace": "kernel",
    "activations": "microbatch",
    "gradients": "step",
    "buffers": "step",
    "free": "kernel",
}


@dataclass(frozen=True, slots=True)
class Retry:
    """Tier `retry`: granularity kernel | layer | microbatch | step | mixed (= the least that works)."""

    number: int
    name: str
    granularity: str
    layer_boundaries: bool = False  # activations kept at layer boundaries: a lost one costs a layer, not a micro-batch

    def survives(self, nature: Nature, platform: Platform) -> bool:
        """Loss of transient state only."""
        return nature.kind == "pages" and nature.region in LEAST and nature.region not in CRITICAL

    def overhead(self) -> Overhead:
        """Book-keeping of granules is taken as free (assumption)."""
        return Overhead()

    def recover(self, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        """Redo the granule; None when the process died, critical state is lost, or the granule is torn by the
        update."""
        if not damage.alive or not damage.pages or not state_is_intact(damage):
            return None
        redo = self.redo(damage, moment, platform)
        return None if redo is None else Plan(self.name, None, redo=redo)

    def granule(self, region: str) -> str:
        """What is redone when `region` is hit: max(granularity, least)."""
        least = LEAST[region]
        if region == "activations" and self.layer_boundaries:
            least = "layer"
        asked = "kernel" if self.granularity == "mixed" else self.granularity
        return max(asked, least, key=GRANULES.index)

    def redo(self, damage: Damage, moment: Moment, platform: Platform) -> float | None:
        """Seconds of the running step to do again for all pages hit; None where a step-long retry meets the update.

        In a stall no step is in progress and nothing is redone.
        """
        granule = max((self.granule(hit.region) for hit in damage.pages), key=GRANULES.index)
        if granule == "step":
            return None if moment.in_update(platform.steps) else moment.within
        length = granule_seconds(granule, platform)
        return fmod(moment.within, length)


def granule_seconds(granule: str, platform: Platform) -> float:
    """Length of one granule of the running step."""
    steps = platform.steps
    return {"kernel": steps.kernel, "layer": steps.layer, "microbatch": steps.microbatch, "step": steps.length}[granule]
