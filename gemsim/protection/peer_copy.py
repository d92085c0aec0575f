"""Peer copy: bring back a lost region from a rank that holds a live copy of it (just-in-time, MindIO-like).

Works where the layout keeps copies: weights under data parallelism, moments only when they are not sharded. Over the
fabric the copy goes from memory to memory. Through the store the ranks that live on save their state before they exit,
and all read it after the restart (Gupta et al., EuroSys 2024).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gemsim.protection.damage import UNITS, Damage, Grid, Nature
from gemsim.protection.state import CRITICAL
from gemsim.protection.tier import Moment, Overhead, Plan, Platform


@dataclass(frozen=True, slots=True)
class PeerCopy:
    """Tier `peer_copy`: of a region that is cut over c GPUs, GPU g's peers are those equal to g modulo c."""

    number: int
    name: str
    nic: float  # bytes/s
    page: float  # bytes
    via: str = "fabric"  # fabric | store
    save: float = 0.0  # seconds to write the state to the store, after the failure
    read: float = 0.0  # seconds to read it back, after the restart

    def survives(self, nature: Nature, platform: Platform) -> bool:
        """A critical page with a copy elsewhere, or a whole rank when all critical regions have one.

        Through the store also a failure that destroys nothing, whatever exits after it.
        """
        if nature.kind == "nothing":
            return self.via == "store"
        critical = [r for r in platform.memory.regions if r.critical and r.bytes > 0]
        if nature.kind == "pages":
            return any(r.name == nature.region and r.copies > 1 for r in critical)
        return nature.kind in (*UNITS, "process") and all(r.copies > 1 for r in critical)

    def overhead(self) -> Overhead:
        """Nothing: the copies exist anyway."""
        return Overhead()

    def recover(self, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        """Copy from peers at the current step; None in the update (widened by the skew) or when no copy is left.

        Over the fabric some rank must keep its memory. Through the store it need not: what counts is what the ranks
        that did not fail could save. A second failure counts as if it came before they had.
        """
        stored = self.via == "store"
        if damage.corrupt_since is not None or (damage.all_gpu_memory and not stored):
            return None
        if moment.in_update(platform.steps, platform.steps.skew) or not self._copies_live(damage, moment, platform):
            return None
        pages = sum(hit.rows for hit in damage.pages if hit.region in CRITICAL)
        if not (pages or damage.lost or stored):
            return None
        if stored:
            return Plan(self.name, None, redo=moment.within, seconds=self.save + self.read)
        seconds = pages * self.page / self.nic + (platform.memory.critical / self.nic if damage.lost else 0.0)
        return Plan(self.name, None, redo=moment.within, seconds=seconds)

    def _copies_live(self, damage: Damage, moment: Moment, platform: Platform) -> bool:
        """All that was lost has a copy in a rank that was not struck and is not out."""
        critical = [r for r in platform.memory.regions if r.critical and r.bytes > 0]
        if damage.lost:
            return all(copy_lives(r.copies, damage, platform.grid, moment.out) for r in critical)
        hits = {hit.region: hit for hit in damage.pages}
        of = [r for r in critical if r.name in hits]
        if moment.out:
            return all(copy_lives(r.copies, Damage(pages=(hits[r.name],)), platform.grid, moment.out) for r in of)
        return all(r.copies > 1 for r in of)


def copy_lives(copies: int, damage: Damage, grid: Grid, out: tuple[range, ...] = ()) -> bool:
    """Not all GPUs that hold one and the same part of a region with so many copies are lost, hit or out together."""
    gone = {gpu for unit, number in damage.lost for gpu in grid.members(unit, number)}
    gone |= {hit.gpu for hit in damage.pages if hit.region in CRITICAL}
    gone.update(*out)
    return all(count < copies for count in Counter(gpu % (grid.gpus // copies) for gpu in gone).values())
