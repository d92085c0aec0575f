"""What a second lost host costs while copies outside GPU memory are one short: a bound on what the twin leaves out.

After the loss of a host the newest version lacks its part until the next save is complete. In that time a further
roll-back fetches again, and a further lost host can leave a shard without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

from gemsim.analytic.expected import standing_still
from gemsim.protection.arrays import anywhere
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.double import falls
from gemsim.protection.placement import Placement
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario


def one_short(scenario: Scenario, found: Sequence[Branch], seconds: float) -> float:
    """Share of time, to second order; `seconds`: mean time that a recovery takes."""
    return sum(
        _of_tier(scenario, found, tier, seconds)
        for tier in scenario.tiers
        if isinstance(tier, Checkpoint) and tier.target != "remote"
    )


def both_lost(scenario: Scenario, found: Sequence[Branch]) -> float:
    """Useful seconds lost per running second where a second failure in the recovery of a first leaves a stripe with too
    few members. First order; as large an error."""
    still = partial(standing_still, scenario, reset=False)
    pairs = falls(found, scenario.tiers, scenario.platform.grid, still)
    return sum(pair.rate * _from(scenario, pair.number) for pair in pairs)


def _of_tier(scenario: Scenario, found: Sequence[Branch], tier: Checkpoint, seconds: float) -> float:
    """Rate of lost hosts x time until the next save is complete x rate and cost of what strikes in it."""
    reaching = [b for b in found if b.number == tier.number and b.ending == "roll_back"]
    losing = [(b.rate, b.damage.disks if tier.target == "disk" else b.damage.hosts) for b in reaching]
    losing = [(rate, gone) for rate, gone in losing if gone]
    if not losing:
        return 0.0
    window = seconds + tier.every * scenario.timeline.step + tier.blocked + tier.lag
    again = sum(b.rate for b in reaching) * max(0.0, tier.fetch - tier.read)
    hosts = sum(rate for rate, _ in losing)
    deeper = _beyond(scenario, tier)
    nodes = scenario.platform.grid.count("node")
    fatal = {gone: _fatal_share(tier.where(nodes), nodes, gone) for _, gone in losing}
    return sum(rate * window * (again + hosts * fatal[gone] * deeper) for rate, gone in losing)


@lru_cache(maxsize=4096)  # asked again for every interval, width and rate of a study
def _fatal_share(where: Placement, hosts: int, gone: frozenset[int]) -> float:
    """Share of the hosts whose loss on top of these leaves some shard without a copy."""
    return sum(not where.survives(gone | {host}) for host in range(hosts) if host not in gone) / hosts


def _beyond(scenario: Scenario, tier: Checkpoint) -> float:
    """Mean seconds of work lost by falling to the next checkpoint, or to the start of the job."""
    return _from(scenario, tier.number + 1)


def _from(scenario: Scenario, number: int) -> float:
    """The same from the first checkpoint of this number or a later one; -1: the start of the job."""
    tiers = scenario.tiers[number:] if number >= 0 else ()
    following = next((t for t in tiers if isinstance(t, Checkpoint) and anywhere(t.every < NEVER)), None)
    if following is None:
        return scenario.horizon / 2.0
    return following.every * scenario.useful_step / 2.0 + following.lag + following.read
