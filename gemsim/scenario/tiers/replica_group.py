"""Replica groups: how many hold all state, and the seconds of catching up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import gcd, inf

from gemsim.errors import Infeasible
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.state import Region
from gemsim.scenario.tiers.workshop import Workshop
from gemsim.spec.protection.replica_group import ReplicaGroupSpec
from gemsim.spec.protection.stripe import StripeSpec
from gemsim.units import brief

EXITS = ("all_processes", "holder")


def replica_group(shop: Workshop, one: ReplicaGroupSpec, number: int) -> ReplicaGroup:
    """The tier. Raises Infeasible."""
    tier = ReplicaGroup(
        number=number,
        name=one.label,
        groups=_groups(shop, one),
        out=one.out,
        stall=one.stall,
        discard=one.discard == "step",
        quorum=one.quorum,
        catch_up=shop.memory.critical / shop.spec.cluster.nic if one.catch_up is None else one.catch_up,
        catch_up_stall=one.catch_up_stall,
        minimum=one.minimum,
        join_timeout=inf if one.join_timeout is None else one.join_timeout,
        bubbles=one.bubbles,
    )
    if tier.minimum > tier.groups:
        raise Infeasible(f"tier '{one.label}': at least {tier.minimum} groups must be left of {tier.groups}")
    if any(isinstance(other, StripeSpec) and not other.inside and other.m for other in shop.spec.protection):
        raise Infeasible("replica groups beside a stripe across GPUs are not built: the stripe would lose members")
    shop.notes.extend(_notes(shop, tier))
    return tier


def _groups(shop: Workshop, one: ReplicaGroupSpec) -> int:
    """Groups: consecutive blocks of GPUs, each of which holds whole copies of every critical region."""
    critical = [r for r in shop.memory.regions if r.critical and r.bytes > 0]
    most = reduce(gcd, (region.copies for region in critical), 0)
    groups = most if one.groups is None else one.groups
    if groups < 2 or most % groups:
        raise Infeasible(f"tier '{one.label}': {_refusal(groups, most, critical)}")
    return groups


def _refusal(groups: int, most: int, critical: Sequence[Region]) -> str:
    """Why there are not so many groups; `most` divides the live copies of every critical region."""
    fewest = min(critical, key=lambda r: r.copies, default=None)
    held = "there is no state" if fewest is None else f"live copies of {fewest.name}: {fewest.copies}"
    if most < 2:
        todo = "shard within groups (workload.parallel.replicas) or not at all"
        return f"no two groups hold the same state ({held}); {todo}"
    return f"{groups} groups cannot each hold all state ({held}); write a divisor of {most} that is at least 2"


def _notes(shop: Workshop, tier: ReplicaGroup) -> list[str]:
    """What a reader must be told of the tier."""
    size = tier.group_size(shop.grid)
    caught = brief(tier.catch_up, "time")
    notes = [f"Tier {tier.name}: {tier.groups} groups of {size} GPUs; what was out takes {caught} to catch up"]
    if shop.spec.restart.mode in EXITS:
        notes.append(
            f"Tier {tier.name}: under restart mode {shop.spec.restart.mode} every rank exits at any failure, so no "
            "group lives on and this tier recovers nothing (write in_process or in_place)"
        )
    if not tier.comes_back:
        limit = brief(tier.join_timeout, "time")
        notes.append(
            f"Tier {tier.name}: catching up outlasts the join time-out ({limit}), so what is out never comes back "
            "until the whole job restarts"
        )
    return notes
