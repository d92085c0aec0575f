"""Two failures that meet: the second strikes while the first is being recovered, and both defeat the stripe.

What a recovery brings back is at risk until it is there, parity included. First order: pairs, each by its rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gemsim.protection.arrays import anywhere
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Grid
from gemsim.protection.reach import Branch
from gemsim.protection.stripe import MemberStripe
from gemsim.protection.tier import START, Tier

PLACES = 64  # of the second failure that are looked at

Lost = frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Fall:
    """Pairs per second that a stripe does not survive, and the tier that then recovers (-1: the start of the job)."""

    rate: float
    number: int
    tier: str


def falls(found: Sequence[Branch], tiers: Sequence[Tier], grid: Grid, seconds: Callable[[Branch], float]) -> list[Fall]:
    """Of each stripe across GPUs. `seconds` that the recovery of a failure takes, from the failure on.

    `found` are rates per second on any clock; the second failure may strike anywhere. Copies on hosts are not looked
    at: the next checkpoint, wherever it is, is taken to hold.
    """
    at_risk = [branch for branch in found if branch.damage.lost]
    result = []
    for stripe in (tier for tier in tiers if isinstance(tier, MemberStripe)):
        first = [branch for branch in at_risk if branch.number == stripe.number]
        rate, known = 0.0, dict[tuple[Lost, Lost], float]()
        for one in first:
            for other in first:
                key = one.damage.lost, other.damage.lost
                if key not in known:
                    known[key] = _fatal(stripe, key[0], key[1], grid)
                rate = rate + one.rate * seconds(one) * other.rate * known[key]
        later = (tier for tier in tiers if isinstance(tier, Checkpoint) and tier.number > stripe.number)
        following = next(later, None)
        if anywhere(rate > 0.0):
            number, name = (-1, START) if following is None else (following.number, following.name)
            result.append(Fall(rate, number, name))
    return result


def _fatal(stripe: MemberStripe, one: Lost, other: Lost, grid: Grid) -> float:
    """Share of the places of the second at which a stripe is then more than m members short.

    The second takes as many domains side by side as it does where it was looked at.
    """
    gone = _gpus(one, grid)
    unit = grid.widest(*(kind for kind, _ in other))
    count = grid.count(unit)
    reach = range(0, count, max(1, count // PLACES))
    width = sum(1 for kind, _ in other if kind == unit)
    fatal = 0
    for number in reach:
        struck = {(unit, (number + more) % count) for more in range(width)}
        fatal += stripe.stripes.worst_in_stripe(gone | _gpus(struck, grid)) > stripe.stripes.m
    return fatal / len(reach)


def _gpus(lost: Iterable[tuple[str, int]], grid: Grid) -> set[int]:
    return {gpu for unit, number in lost for gpu in grid.members(unit, number)}
