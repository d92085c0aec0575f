"""Replica groups: data-parallel groups that each hold all state; when one fails the others go on without it.

The others stand still for a short stall. Then the capacity of what is out is missing until it is back: the whole group
(FT-HSDP, torchft), or only the lost nodes (elastic running, as Oobleck and ReCycle do it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gemsim.protection.damage import Damage, Grid, Nature
from gemsim.protection.tier import Moment, Overhead, Plan, Platform

Domains = frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class ReplicaGroup:
    """Tier `replica_group`: `groups` consecutive blocks of GPUs. Times in seconds.

    A *unit* is what goes out and comes back as one: a group, or a node (`out`).
    """

    number: int
    name: str
    groups: int
    out: str  # group | node
    stall: float  # the others stand still: quorum, communicators of those left
    discard: bool  # the step in progress is done again by all
    quorum: float  # added to each step
    catch_up: float  # from the restart of what was out until it contributes
    catch_up_stall: float  # the others stand still when it comes back
    minimum: int  # groups that must be left
    join_timeout: float  # a unit that needs longer to catch up never comes back
    bubbles: float  # lost capacity, as a share of all, that costs nothing

    def survives(self, nature: Nature, platform: Platform) -> bool:
        """Whatever strikes one group: all but corruption, which the groups share by their gradients."""
        return nature.kind != "corrupt"

    def overhead(self) -> Overhead:
        """The quorum of each step; the copies exist anyway."""
        return Overhead(slower=self.quorum)

    def recover(self, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        """Go on without the units that were struck; None when ranks elsewhere exit too or too few groups are left.

        The update needs no other group, so those left finish it: a hit there gives up no step.
        """
        if damage.corrupt_since is not None or damage.all_gpu_memory or damage.restart == "all_processes":
            return None
        grid = platform.grid
        struck = self.units_of(damage.struck, grid)
        gone = struck | {block.start // self.size(grid) for block in moment.out}
        if not struck or not self._enough(len(gone), grid) or not self._copies_live(gone, grid):
            return None
        redo = moment.within if self.discard and not moment.in_update(platform.steps) else 0.0
        return Plan(self.name, None, redo=redo, out=struck, stall=self.stall)

    def group_size(self, grid: Grid) -> int:
        """GPUs of one group."""
        return grid.gpus // self.groups

    def size(self, grid: Grid) -> int:
        """GPUs of one unit."""
        return self.group_size(grid) if self.out == "group" else grid.per_node

    def count(self, grid: Grid) -> int:
        """Units of the job."""
        return self.groups if self.out == "group" else grid.count("node")

    def members(self, unit: int, grid: Grid) -> range:
        """GPUs of one unit."""
        size = self.size(grid)
        return range(unit * size, min((unit + 1) * size, grid.gpus))

    def units_of(self, struck: Domains, grid: Grid) -> frozenset[int]:
        """The units that these failure domains touch."""
        size, units = self.size(grid), set[int]()
        for domain, number in struck:
            block = grid.members(domain, number)
            units.update(range(block.start // size, (block.stop - 1) // size + 1))
        return frozenset(units)

    def lost_share(self, units_out: int, grid: Grid) -> float:
        """Share of the job's capacity that is missing with so many units out."""
        return max(0.0, units_out / self.count(grid) - self.bubbles)

    @property
    def comes_back(self) -> bool:
        """Whether what was out ever contributes again: not if catching up outlasts the time-out."""
        return self.catch_up <= self.join_timeout

    def most_out(self, grid: Grid) -> int:
        """Units that may be out together."""
        if self.out == "group":
            return self.groups - self.minimum
        return (grid.gpus - self.minimum * self.group_size(grid)) // grid.per_node

    def _enough(self, gone: int, grid: Grid) -> bool:
        return gone <= self.most_out(grid)

    def _copies_live(self, gone: Iterable[int], grid: Grid) -> bool:
        """Each part of the state still has a holder: no position of a group is gone from all groups at once."""
        if self.out == "group":
            return True
        size = self.group_size(grid)
        hit = Counter(gpu % size for unit in gone for gpu in self.members(unit, grid))
        return all(count < self.groups for count in hit.values())


def struck_by(scope: str, damage: Damage, gpu: int, grid: Grid) -> Domains:
    """The failure domains that a failure strikes: what it loses, or the GPU, or all behind a switch that is down."""
    if damage.lost:
        return damage.lost
    unit = "switch" if scope == "switch" else "gpu"
    return frozenset({(unit, gpu // grid.size(unit))})
