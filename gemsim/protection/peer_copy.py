"""Peer copy: fetch a lost region from a rank that holds a live copy of it (just-in-time, MindIO-like).

Works where the layout keeps copies: weights under data parallelism, moments only when they are not sharded.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gemsim.protection.damage import Damage, Grid, Nature, PageHit
from gemsim.protection.state import CRITICAL
from gemsim.protection.tier import Moment, Overhead, Plan, Platform


@dataclass(frozen=True, slots=True)
class PeerCopy:
    """Tier `peer_copy`: `model_gpus` GPUs hold one copy of the weights, so GPU g's peers are g modulo that."""

    number: int
    name: str
    model_gpus: int
    nic: float  # bytes/s
    page: float  # bytes

    def survives(self, nature: Nature, platform: Platform) -> bool:
        """A critical page with a copy elsewhere, or a whole rank when all critical regions have one."""
        critical = [r for r in platform.memory.regions if r.critical and r.bytes > 0]
        if nature.kind == "pages":
            return any(r.name == nature.region and r.copies > 1 for r in critical)
        return nature.kind in ("gpu", "node", "rack", "switch", "process") and all(r.copies > 1 for r in critical)

    def overhead(self) -> Overhead:
        """Nothing: the copies exist anyway."""
        return Overhead()

    def recover(self, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        """Copy from peers at the current step; None in the update (widened by the skew) or when no copy is left."""
        if damage.all_gpu_memory or damage.corrupt_since is not None:
            return None
        if moment.in_update(platform.steps, platform.steps.skew):
            return None
        regions = {r.name: r for r in platform.memory.regions}
        if not all(self._page_has_copy(hit, platform) for hit in damage.pages):
            return None
        seconds = sum(hit.rows for hit in damage.pages if regions[hit.region].critical) * self.page / self.nic
        if damage.lost:
            if not all(r.copies > 1 for r in platform.memory.regions if r.critical and r.bytes > 0):
                return None
            if not copy_lives(platform.grid.gpus // self.model_gpus, damage, platform.grid):
                return None
            seconds += platform.memory.critical / self.nic
        if not damage.lost and not any(regions[hit.region].critical for hit in damage.pages):
            return None
        return Plan(self.name, None, redo=moment.within, seconds=seconds)

    def _page_has_copy(self, hit: PageHit, platform: Platform) -> bool:
        region = next(r for r in platform.memory.regions if r.name == hit.region)
        return not region.critical or region.copies > 1


def copy_lives(copies: int, damage: Damage, grid: Grid) -> bool:
    """Not all GPUs that hold one and the same part of a region with so many copies are lost or hit together."""
    gone = {gpu for unit, number in damage.lost for gpu in grid.members(unit, number)}
    gone |= {hit.gpu for hit in damage.pages if hit.region in CRITICAL}
    return all(count < copies for count in Counter(gpu % (grid.gpus // copies) for gpu in gone).values())
