"""What running on with less costs in closed form: work missing while units are out, and stalls for their return.

Kind: first order in the other failures that strike meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, inf, log

from gemsim.errors import NotCovered
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.reach import Branch
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.scenario import Scenario
from gemsim.scenario.outages import Spares, chance, falls, outages

FALLS_LIMIT = 0.005  # share of time that falling short of groups may cost before its own form is needed


@dataclass(frozen=True, slots=True)
class Missing:
    """`share` of the work of running time that is not done; `out`: P(a given unit is out); `joins`: share of time in
    which the others wait for one that comes back; `falls`: failures per second that find too few groups left; `error`
    of the share of time."""

    tier: ReplicaGroup | None = None
    share: float = 0.0
    out: float = 0.0
    joins: float = 0.0
    falls: float = 0.0
    error: float = 0.0

    def stops(self, scenario: Scenario, branch: Branch) -> float:
        """Share of the branch's failures that strike anything still running; the rest stops nobody."""
        if self.tier is None or self.out == 0.0 or branch.damage.corrupt_since is not None:
            return 1.0
        return -expm1(len(self.tier.units_of(branch.damage.struck, scenario.platform.grid)) * log(self.out))


def missing(scenario: Scenario, found: tuple[Branch, ...], *, wall_per_running: float) -> Missing:
    """Capacity that is out in the mean. Raises NotCovered where what is out never comes back.

    `wall_per_running`: wall seconds per running second. What is out is so in wall time, but work is missing in running
    time alone. An outage begins in a stall and is met running when that ends, so that it sees more running than the
    mean; as if running and standing still were a Markov chain, the excess dies out at the rate of leaving both.
    """
    tier = next(t for t in scenario.tiers if isinstance(t, ReplicaGroup))
    if not tier.comes_back:
        raise NotCovered(f"tier {tier.name}: what is out never comes back, so that capacity only falls")
    grid = scenario.platform.grid
    spares = Spares(scenario.spare_nodes, scenario.spare_activation)
    units, rate = tier.count(grid), sum(b.rate for b in found)
    still = 1.0 - 1.0 / wall_per_running
    leaving = rate + rate / (wall_per_running - 1.0) if still else inf
    load, seen, longest, struck = 0.0, 0.0, 0.0, 0.0
    for outage in outages(found, tier, grid, restart=scenario.restart, spares=spares):
        struck += outage.rate * outage.units
        if outage.beyond == 0.0:
            continue
        part = outage.rate * outage.beyond * outage.units / units
        load += part
        settling = -expm1(-leaving * outage.beyond) / (leaving * outage.beyond) if still else 0.0
        seen += part * (1.0 + still * settling * wall_per_running)
        longest = max(longest, outage.absent)
    out = -expm1(-load)
    share = _mean_lost(tier, units, -expm1(-seen), scenario)
    joins = struck * (1.0 - out) * -expm1(-rate * tier.catch_up_stall) / rate
    near = longest / scenario.horizon + 0.3 * still + (out if tier.bubbles else 0.0)
    short = falls(found, tier, grid, restart=scenario.restart, spares=spares)
    return Missing(tier, share, out, joins, short, share * near + joins * (joins + still))


def fall_cost(scenario: Scenario, lost: Missing) -> float:
    """Share of time that falls to an older version cost. Raises NotCovered above the limit."""
    if lost.falls == 0.0:
        return 0.0
    restart = scenario.restart
    kept = [t.every * scenario.useful_step for t in scenario.tiers if isinstance(t, Checkpoint) and t.every < NEVER]
    each = max(kept, default=scenario.horizon) / 2.0
    each += scenario.spare_activation + restart.process + restart.communicator + restart.warmup
    if lost.falls * each > FALLS_LIMIT:
        raise NotCovered(
            f"{lost.falls * 86400:.2g} failures a day find too few groups left "
            f"(a unit is out {lost.out:.2g} of the time)"
        )
    return lost.falls * each


def _mean_lost(tier: ReplicaGroup, units: int, out: float, scenario: Scenario) -> float:
    grid = scenario.platform.grid
    if tier.bubbles == 0.0:
        return out
    return sum(chance(units, out, n) * tier.lost_share(n, grid) for n in range(units + 1))
