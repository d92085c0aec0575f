"""A scenario with other numbers of what need not be built anew: steps between saves, and nodes that stand by.

The result is the scenario that a study with these numbers would give, id included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gemsim.failures.classes import FailureClass
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.kinds import Job
from gemsim.protection.tier import Tier
from gemsim.scenario.intervals import timeline, with_intervals
from gemsim.scenario.model import Scenario


def with_every(scenario: Scenario, every: Mapping[int, int]) -> Scenario:
    """With these steps between saves by number of the tier, 0 for the optimum; the others keep theirs."""
    of, tiers = scenario, saving(scenario.tiers, every)
    running = timeline(of.platform, tiers)
    job = Job(of.platform, running, tiers, of.classes, of.restart.mode, of.replace_unit)
    tiers, chosen = with_intervals(job, of.restart, of.fleet.spares)
    last = chosen[-1]
    return replace(
        scenario,
        tiers=tiers,
        timeline=timeline(of.platform, tiers),
        interval_seconds=last.tier.every * of.useful_step,
        reach_rate=last.rate,
    )


def saving(tiers: Sequence[Tier], every: Mapping[int, int]) -> tuple[Tier, ...]:
    """The tiers with these steps between saves."""
    return tuple(
        replace(tier, every=every[tier.number]) if isinstance(tier, Checkpoint) and tier.number in every else tier
        for tier in tiers
    )


def with_spares(scenario: Scenario, nodes: int) -> Scenario:
    """With so many hot spares; warm and cold ones as they are."""
    plan = scenario.fleet.spares
    more = nodes - plan.hot
    if not more:
        return scenario
    classes = tuple(_beside(kind, more, scenario.platform.grid.per_node) for kind in scenario.classes)
    return replace(scenario, classes=classes, fleet=replace(scenario.fleet, spares=replace(plan, hot=nodes)))


def _beside(kind: FailureClass, more: int, per_node: int) -> FailureClass:
    """The class with the clocks of so many more nodes that stand by."""
    units = more * {"gpu": per_node, "node": 1, "job": 0}[kind.clock]
    return replace(
        kind,
        spare_units=kind.spare_units + units if kind.fails_idle else 0,
        devices=kind.devices + units if kind.devices else 0,
    )
