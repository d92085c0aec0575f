"""How long what failed stays out of a job that runs on, and how often too little is left: from the rates of failures.

Each unit (group or node) is out as a server of infinite capacity is busy: struck at a constant rate, out for a time,
longer where it is struck again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, expm1, inf, lgamma, log, log1p

from gemsim.protection.damage import Grid
from gemsim.protection.reach import Branch
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.scenario.model import Restart


@dataclass(frozen=True, slots=True)
class Spares:
    """Nodes that stand by, and the seconds until one can start."""

    nodes: int
    activation: float


@dataclass(frozen=True, slots=True)
class Outage:
    """Failures of one kind that take units out: `rate` of failures per second, `units` struck at once; in seconds, how
    long these are `absent`, of which the others stand still for `stall` in the beginning."""

    rate: float
    units: int
    absent: float
    stall: float

    @property
    def beyond(self) -> float:
        """Seconds that it outlasts the stall."""
        return max(0.0, self.absent - self.stall)


def outages(
    found: tuple[Branch, ...], tier: ReplicaGroup, grid: Grid, *, restart: Restart, spares: Spares
) -> Iterator[Outage]:
    """The outages of the branches that go on without a unit; a stall is begun again by every failure within it."""
    every = sum(b.rate for b in found)
    for branch in found:
        if branch.ending == "go_on":
            stall = expm1(min(700.0, every * (branch.kind.detect.mean + tier.stall))) / every  # beyond: for ever
            units = len(tier.units_of(branch.damage.struck, grid))
            yield Outage(branch.rate, units, seconds_out(branch, tier, restart, spares), stall)


def seconds_out(branch: Branch, tier: ReplicaGroup, restart: Restart, spares: Spares) -> float:
    """Mean seconds from a failure until what it struck contributes again; without any spares after its own repair."""
    kind = branch.kind
    device = restart.reset if branch.action == "drain_and_reset" else restart.device_wait(branch.action)
    replaced = branch.action == "replace"
    wait = max(0.0, kind.repair.mean - kind.detect.mean) if replaced and not spares.nodes else 0.0
    start = restart.process + restart.communicator + restart.warmup
    return kind.detect.mean + max(spares.activation + wait if replaced else 0.0, device) + start + tier.catch_up


def falls(found: tuple[Branch, ...], tier: ReplicaGroup, grid: Grid, *, restart: Restart, spares: Spares) -> float:
    """Failures per second that find too few groups left: others are out, or were struck in the stall before."""
    all_of_them = list(outages(found, tier, grid, restart=restart, spares=spares))
    units = tier.count(grid)
    away = -expm1(-sum(o.rate * o.units * max(o.absent, o.stall) for o in all_of_them) / units)
    return sum(o.rate * _short(tier, o.units, units, away, grid) for o in all_of_them)


def _short(tier: ReplicaGroup, own: int, units: int, away: float, grid: Grid) -> float:
    """P(so many others are out that the units struck cannot be spared)."""
    spare = tier.most_out(grid) - own
    return sum(chance(units - own, away, n) for n in range(max(0, spare + 1), units - own + 1))


def chance(units: int, out: float, n: int) -> float:
    """Binomial probability that n of the units are out, each with probability `out`."""
    if out == 0.0:
        return float(n == 0)
    ways = lgamma(units + 1) - lgamma(n + 1) - lgamma(units - n + 1)
    return exp(ways + n * log(out) + ((units - n) * log1p(-out) if out < 1.0 else 0.0 if n == units else -inf))
