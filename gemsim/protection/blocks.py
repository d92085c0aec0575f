"""Where a failure strikes: which of the domains of one kind differ in what their loss does to the tiers of a job.

A domain is a block of consecutive GPUs. All blocks are looked at, and those with one outcome count as one.
"""

from __future__ import annotations

from functools import lru_cache

from gemsim.protection.damage import Grid
from gemsim.protection.layouts import MemberStripes
from gemsim.protection.placement import Placement
from gemsim.protection.replica_group import ReplicaGroup

Places = tuple[tuple[float, int], ...]
Keepers = tuple[MemberStripes | Placement, ...]


@lru_cache(maxsize=512)
def places(
    grid: Grid, unit: str, *, keepers: Keepers, groups: tuple[ReplicaGroup, ...], copies: tuple[int, ...]
) -> Places:
    """(probability, first GPU) of the domains of this kind that differ, each weighed by its GPUs: a failure strikes one
    GPU as likely as another.

    `keepers`: who is in which stripe, and which hosts keep whose shards. `copies`: live copies of regions that a tier
    fetches from ranks that were not struck.
    """
    columns = [_of_keeper(keeper, grid, unit) for keeper in keepers]
    columns += [_of_groups(group, grid, unit) for group in groups]
    columns += [_of_copies(number, grid, unit) for number in copies if number > 1]
    weights: dict[tuple[int, ...], tuple[int, int]] = {}
    for number in range(grid.count(unit)):
        block = grid.members(unit, number)
        key = tuple(column[number] for column in columns)
        gpus, first = weights.get(key, (0, block.start))
        weights[key] = (gpus + len(block), first)
    return tuple((gpus / grid.gpus, first) for gpus, first in weights.values())


@lru_cache(maxsize=256)
def _of_keeper(keeper: MemberStripes | Placement, grid: Grid, unit: str) -> tuple[int, ...]:
    """Of each domain: most members of one stripe that go (above m all is one), or whether all shards are left."""
    if isinstance(keeper, MemberStripes):
        blocks = (grid.members(unit, number) for number in range(grid.count(unit)))
        return tuple(min(keeper.worst_in_block(block), keeper.m + 1) for block in blocks)
    hosts = (frozenset(grid.nodes(unit, number)) for number in range(grid.count(unit)))
    return tuple(int(keeper.survives(gone)) for gone in hosts)


def _of_groups(tier: ReplicaGroup, grid: Grid, unit: str) -> tuple[int, ...]:
    """Of each domain: units that go out, and whether a part of the state goes with all its holders."""
    found = []
    for number in range(grid.count(unit)):
        units = tier.units_of(frozenset({(unit, number)}), grid)
        block = range(min(units) * tier.size(grid), min((max(units) + 1) * tier.size(grid), grid.gpus))
        dead = tier.out == "node" and takes_all_copies(block, tier.groups, grid)
        found.append(2 * len(units) + dead)
    return tuple(found)


def _of_copies(copies: int, grid: Grid, unit: str) -> tuple[int, ...]:
    return tuple(int(takes_all_copies(grid.members(unit, number), copies, grid)) for number in range(grid.count(unit)))


def takes_all_copies(block: range, copies: int, grid: Grid) -> bool:
    """Whether GPUs in a row hold all so many copies of some part: those of a part lie gpus / copies apart."""
    apart = grid.gpus // copies
    return block.start < min(apart, block.stop - (copies - 1) * apart)
