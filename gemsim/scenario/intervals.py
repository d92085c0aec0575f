"""How often each checkpoint tier saves: as given, or at the optimum for the failures that reach it; what then stalls.

Steps between saves may be arrays, as many as there are design points that differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import cast

from gemsim.protection.arrays import anywhere, at_least, either, everywhere, whole
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.interval import interval_beside
from gemsim.protection.kinds import Job
from gemsim.protection.pairs import falls as falls_of_pairs
from gemsim.protection.reach import Branch, branches
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import Platform, Tier
from gemsim.protection.timeline import Stall, Timeline
from gemsim.scenario.fleet import SparesPlan
from gemsim.scenario.model import Restart
from gemsim.scenario.outages import Spares, falls


@dataclass(frozen=True, slots=True)
class Chosen:
    """A tier with its interval, the failures per second that roll back to it, whether all of them strike while another
    is being recovered, and whether the interval is the optimum for that rate."""

    tier: Checkpoint
    rate: float
    pairs: bool
    optimal: bool


def with_intervals(job: Job, times: Restart, spares: SparesPlan) -> tuple[tuple[Tier, ...], list[Chosen]]:
    """The tiers with the optimum where `every` is 0, in their order: a rate knows the intervals of tiers before, and
    those that are given."""
    tiers = list(job.tiers)
    chosen = []
    for place, tier in enumerate(job.tiers):
        if not isinstance(tier, Checkpoint):
            continue
        held = replace(job, tiers=tuple(tiers))
        found = branches(held)
        reach = reaching(found, tier.number) + _fallen(held, found, tier.number, times, spares)
        pairs = 0.0 if everywhere(reach > 0.0) else _pairs(held, found, tier.number, times, spares)
        reach = reach + pairs * (reach <= 0.0)
        optimal = not anywhere(tier.every > 0)
        keep = at_least(0.0, restarting(found, tier.number) - pairs)
        tiers[place] = one = replace(tier, every=best_every(job.timeline, tier, reach, keep)) if optimal else tier
        chosen.append(Chosen(one, reach, anywhere(pairs > 0.0), optimal))
    return tuple(tiers), chosen


def timeline(platform: Platform, tiers: Sequence[Tier]) -> Timeline:
    """Stalls of all tiers, encodes before saves at a common boundary."""
    stalls = []
    for tier in sorted(tiers, key=lambda t: isinstance(t, Checkpoint)):
        cost = tier.overhead()
        if anywhere(cost.every > 0) and (cost.stall > 0.0 or cost.keeps_versions):
            stalls.append(Stall(tier.number, cost.every, cost.stall, cost.every))
    return Timeline(platform.steps.length, tuple(stalls))


def _pairs(job: Job, found: tuple[Branch, ...], number: int, times: Restart, spares: SparesPlan) -> float:
    """Failures per second that roll back to this tier because a stripe, or copies on other hosts and disks, still lack
    what another has taken."""
    stripes = [t.cadence.encode for t in job.tiers if isinstance(t, (PageStripe, MemberStripe))]

    def seconds(branch: Branch) -> float:
        activation = spares.activation[0] if branch.action == "replace" else 0.0
        waiting = max(activation, times.device_wait(branch.action))
        return branch.kind.detect.mean + waiting + times.seconds(branch.damage) + branch.recovery + sum(stripes)

    return sum(pair.rate for pair in falls_of_pairs(job, found, seconds) if pair.number == number)


def _fallen(job: Job, found: tuple[Branch, ...], number: int, times: Restart, spares: SparesPlan) -> float:
    """Failures per second that roll back to this tier because too few replica groups are left."""
    group = next((t for t in job.tiers if isinstance(t, ReplicaGroup)), None)
    spared = sum(b.rate for b in found if b.ending == "go_on")
    if group is None or spared == 0.0:
        return 0.0
    without = branches(replace(job, tiers=tuple(t for t in job.tiers if t is not group)))
    share = (reaching(without, number) - reaching(found, number)) / spared
    at_hand = Spares(spares.nodes, spares.activation[0])
    return max(0.0, share) * falls(found, group, job.platform.grid, restart=times, spares=at_hand)


def reaching(found: tuple[Branch, ...], number: int) -> float:
    """Failures per second that end in a roll-back to this tier."""
    return sum(b.rate * b.kind.striking for b in found if b.number == number and b.ending == "roll_back")


def restarting(found: Sequence[Branch], number: int) -> float:
    """Restarts per second that keep the state, or restore it from a tier before this one."""
    kept = (b for b in found if b.ending == "keep" or (b.ending == "roll_back" and 0 <= b.number < number))
    return sum(b.rate * b.kind.striking for b in kept)


def best_every(running: Timeline, tier: Checkpoint, rate: float, keep: float = 0.0) -> int:
    """Steps between saves at the exact renewal optimum for `rate` roll-backs per second, beside `keep` restarts that
    begin the clock of saves anew; no save begins before the last is written."""
    keep = 0.0 * keep if tier.wall_anchor else keep
    others = sum(s.seconds / s.every for s in running.stalls if s.tier != tier.number)
    pace = running.step + others  # encodes included
    best = either(rate > 0.0, lambda: interval_beside(tier.blocked, rate, keep=keep, lag=tier.lag), lambda: inf)
    shortest = whole(at_least(1, -(-tier.lag // pace)))
    return cast(int, either(best < inf, lambda: at_least(shortest, whole(best / pace)), lambda: NEVER))
