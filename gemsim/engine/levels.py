"""How much redundancy is used up in a recovery, and which nodes would use up more.

A light look at what is lost, tier by tier. It only steers where rare losses are looked for: a poor answer costs time,
and never moves the estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage, Grid
from gemsim.protection.placement import Copies, Placement, beside
from gemsim.protection.stripe import MemberStripe
from gemsim.scenario import Scenario

Missing = Mapping[int, frozenset[int]]


def kept_on_hosts(scenario: Scenario) -> list[Checkpoint]:
    """Tiers whose copies go with hosts."""
    return [tier for tier in scenario.tiers if isinstance(tier, Checkpoint) and tier.target != "remote"]


def level(scenario: Scenario, damage: Damage, missing: Missing) -> int:
    """Members that the worst stripe lacks, and hosts that the worst set lacks, over all tiers; 0 = whole."""
    grid = scenario.platform.grid
    gpus = _gpus(damage, grid)
    found = 0
    for tier in scenario.tiers:
        if isinstance(tier, MemberStripe):
            found += min(tier.stripes.worst_in_stripe(gpus), tier.stripes.m + 1)
    for tier in kept_on_hosts(scenario):
        found += _worst(tier.where(grid.count("node")), _hosts(tier, damage, missing))
    return found


def near(scenario: Scenario, damage: Damage, missing: Missing) -> frozenset[int]:
    """Nodes that share a stripe or a set with what is lost and are not lost themselves."""
    grid = scenario.platform.grid
    gpus = _gpus(damage, grid)
    found: set[int] = set()
    for tier in scenario.tiers:
        if isinstance(tier, MemberStripe):
            found |= _of_stripes(tier, gpus, grid)
    for tier in kept_on_hosts(scenario):
        gone = _hosts(tier, damage, missing)
        where = tier.where(grid.count("node"))
        found |= {other for host in gone for other in beside(where, host)} - gone
    return frozenset(found - {gpu // grid.per_node for gpu in gpus})


def _gpus(damage: Damage, grid: Grid) -> set[int]:
    lost = {gpu for unit, number in damage.lost for gpu in grid.members(unit, number)}
    return lost | {hit.gpu for hit in damage.pages}


def _hosts(tier: Checkpoint, damage: Damage, missing: Missing) -> frozenset[int]:
    return (damage.disks if tier.target == "disk" else damage.hosts) | missing.get(tier.number, frozenset())


def _worst(where: Placement, gone: frozenset[int]) -> int:
    """Most hosts lost of those that keep one shard, or of one set."""
    if isinstance(where, Copies):
        return max((sum(holder in gone for holder in where.holders(host)) for host in gone), default=0)
    lost = Counter(where.sets.around(host)[:2] for host in gone)
    return max(lost.values(), default=0)


def _of_stripes(tier: MemberStripe, gpus: set[int], grid: Grid) -> set[int]:
    stripes, size = tier.stripes, grid.size(tier.stripes.unit)
    found: set[int] = set()
    for group, offset in {stripes.stripe_of(gpu) for gpu in gpus}:
        domains = range(stripes.first(group), stripes.first(group + 1))
        found |= {gpu // grid.per_node for d in domains if (gpu := d * size + offset) < grid.gpus}
    return found
