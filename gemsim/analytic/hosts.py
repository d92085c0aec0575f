"""Copies on hosts lost one after another: before the next save has made up for the first, the others go.

First order: each further host is lost within one recovery and one save of the one before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gemsim.errors import NotCovered
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.pairs import Seconds
from gemsim.protection.placement import Placement, beside
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario

DEPTH = 3  # hosts beyond the first that are followed
PLACES = 64  # of the first that are looked at


def hosts_lost(
    scenario: Scenario, found: Sequence[Branch], tier: Checkpoint, still: Seconds, *, running: float
) -> float:
    """Losses of some shard per second, by hosts that fail one after another. `still`: seconds that a recovery takes."""
    taking = [b for b in found if _gone(b, tier) and b.number == tier.number and b.ending == "roll_back"]
    if any(len(_gone(b, tier)) > 1 for b in taking):
        raise NotCovered(f"{tier.name}: hosts lost in blocks, one block after another, are in no form of losses")
    if not taking:
        return 0.0
    step = scenario.timeline.step + sum(s.seconds / s.every for s in scenario.timeline.stalls if s.every)
    save = tier.every * step + tier.lag
    hosts = scenario.platform.grid.count("node")
    clock = {"wall": 1.0, "running": running}
    rate = math.fsum(b.rate * clock[b.kind.exposure] for b in taking)
    on_wall = math.fsum(b.rate for b in taking if b.kind.exposure == "wall")
    total = math.fsum(b.rate for b in found if b.kind.exposure == "wall")
    down = math.fsum(b.rate * still(b) for b in taking) / math.fsum(b.rate for b in taking)
    follow = on_wall * down + math.fsum(b.rate for b in taking) * save  # hosts lost in one window
    where = tier.where(hosts)
    looked_at = range(0, hosts, max(1, hosts // PLACES))
    shares = [_fatal(where, frozenset((host,)), hosts, follow, 1) for host in looked_at]
    again = 1.0 + total * (down + save) / 2.0  # failures of others meanwhile make it longer
    return rate * math.fsum(shares) / len(shares) * again


def _gone(branch: Branch, tier: Checkpoint) -> frozenset[int]:
    return branch.damage.disks if tier.target == "disk" else branch.damage.hosts


def _fatal(where: Placement, gone: frozenset[int], hosts: int, each: float, depth: int) -> float:
    """Chance that hosts which follow these leave some shard without a copy; `each`: hosts lost in one window."""
    total = 0.0
    for host in sorted({other for one in gone for other in beside(where, one)} - gone):
        more = gone | {host}
        if not where.survives(more):
            total += 1.0
        elif depth < DEPTH:
            total += _fatal(where, more, hosts, each, depth + 1)
    return each * total / hosts
