"""Who recovers: the first tier of the list that can, after a finer retry and the state itself have been considered.

Each tier that is tried and turns out bad charges its attempt and hands on; the last resort is the start of the job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage, Nature
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.retry import Retry
from gemsim.protection.tier import START, Moment, Plan, Platform, Tier, held, state_is_intact


@dataclass(frozen=True, slots=True)
class Decision:
    """The plan that holds, and the seconds lost on tiers whose copy was bad."""

    plan: Plan
    failed: float


def decide(
    tiers: Sequence[Tier],
    damage: Damage,
    moment: Moment,
    platform: Platform,
    copy_is_bad: Callable[[Tier], bool] = lambda tier: False,
) -> Decision:
    """The recovery of this damage at this moment. `copy_is_bad(tier)` is the drawn fate of a stored copy."""
    retries = [tier for tier in tiers if isinstance(tier, Retry)]
    for retry in retries:
        plan = retry.recover(damage, moment, platform)
        if plan is not None:
            return Decision(plan, 0.0)
    if state_is_intact(damage):
        plan = _without_a_group(tiers, damage, moment, platform) or held(damage, moment, platform)
        if plan is not None:
            return Decision(plan, 0.0)
    failed = 0.0
    for tier in tiers:
        plan = None if isinstance(tier, Retry) else tier.recover(damage, moment, platform)
        if plan is not None and damage.alive and plan.version is None and not plan.out:
            plan = _with_retry(plan, retries, damage, moment, platform)
        if plan is None:
            continue
        if copy_is_bad(tier):
            failed += plan.seconds + (tier.notice if isinstance(tier, Checkpoint) else 0.0)
            continue
        return Decision(plan, failed)
    return Decision(Plan(START, 0), failed)


def _without_a_group(tiers: Sequence[Tier], damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
    """Where processes died but no state, as after a lost link, one group need not stop the others."""
    if damage.alive:
        return None
    plans = (tier.recover(damage, moment, platform) for tier in tiers if isinstance(tier, ReplicaGroup))
    return next((plan for plan in plans if plan is not None), None)


def _with_retry(
    plan: Plan, retries: Sequence[Retry], damage: Damage, moment: Moment, platform: Platform
) -> Plan | None:
    """After an in-place rebuild the step goes on: from a finer granule with a retry tier, else from its start."""
    redone = [r.redo(damage, moment, platform) for r in retries]
    possible = [redo for redo in redone if redo is not None]
    if possible:
        return Plan(plan.tier, None, min(possible), plan.seconds)
    if moment.in_update(platform.steps):
        return None
    return Plan(plan.tier, None, moment.within, plan.seconds)


def first_covering(tiers: Sequence[Tier], nature: Nature, platform: Platform) -> int | None:
    """Place in the list of the first tier whose `survives` column covers this loss; None when none does."""
    for number, tier in enumerate(tiers):
        if tier.survives(nature, platform):
            return number
    return None
