"""What planned stops take: the job saves within the notice, stands for the stop, and comes back at the present version.

One idea: to the renewal form such a stop is a restart that keeps the state. It is no failure, and costs none anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gemsim.analytic.groups import Groups, Stop
from gemsim.errors import NotCovered
from gemsim.failures.classes import FailureClass
from gemsim.protection.arrays import everywhere
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.damage import Nature, consequence
from gemsim.protection.decide import decide
from gemsim.protection.reach import Branch
from gemsim.protection.tier import Moment
from gemsim.scenario import Scenario

IN_GOOD_ORDER = "all_processes"  # how the job ends, whatever the restart mode


def failures_of(found: Sequence[Branch]) -> tuple[Branch, ...]:
    """The outcomes that are failures."""
    return tuple(branch for branch in found if branch.kind.scope != "planned")


def add_planned(scenario: Scenario, groups: Groups, main: Checkpoint | None) -> None:
    """Adds the planned stops to the groups. Raises NotCovered.

    A failure during the stop itself costs nothing and does not begin it anew. One before the save has ended rolls back,
    and what a silent corruption costs beside such stops is known to a third: both are the error.
    """
    rate = groups.rate
    tau = 0.0 if main is None else main.every * scenario.timeline.pace
    for saver, stop in _stops(scenario):
        groups.keeping.append(stop)
        groups.saver = saver.number
        groups.planned = groups.planned + stop.rate * (stop.seconds + scenario.timeline.step / 2.0)
        if main is not None and saver.number == main.number:
            groups.saved = groups.saved + stop.rate
        groups.doubt = groups.doubt + stop.rate * rate * tau * (saver.blocked + saver.lag)
    for kind in scenario.classes:
        if kind.scope == "planned":
            groups.dead = groups.dead + kind.rate * kind.stop.mean
            groups.planned = groups.planned + kind.rate * kind.stop.mean
            groups.doubt = groups.doubt + groups.silent / 3.0


def _stops(scenario: Scenario) -> Iterator[tuple[Checkpoint, Stop]]:
    for kind in scenario.classes:
        if kind.scope != "planned" or kind.rate == 0.0:
            continue
        saver, seconds = _way_back(scenario, kind)
        yield saver, Stop(kind.rate, seconds, kind.exposure == "wall")


def _way_back(scenario: Scenario, kind: FailureClass) -> tuple[Checkpoint, float]:
    """The tier that saves, and the seconds of that save and of all that comes after the stop."""
    nature, platform = Nature("process"), scenario.platform
    damage = consequence(
        mode=IN_GOOD_ORDER,
        nature=nature,
        action=kind.action,
        gpu=0,
        grid=platform.grid,
        hit=None,
        survives=False,
        replace_unit=scenario.replace_unit,
    )
    for tier in scenario.tiers:
        if not isinstance(tier, Checkpoint) or everywhere(tier.every >= NEVER) or tier.blocked + tier.lag > kind.notice:
            continue
        if tier.survives(nature, platform) and not tier.invalid:
            plan = decide(scenario.tiers, damage, Moment(1, 0.0, 0, saved={tier.number: 1}), platform).plan
            saving, restart = tier.blocked + tier.lag, scenario.restart
            waiting = max(restart.device_wait(kind.action), scenario.spare_activation * (kind.action == "replace"))
            return tier, saving + waiting + restart.seconds(damage) + plan.seconds + scenario.encode_anew
    raise NotCovered(f"{kind.name}: no tier can save within the notice, so each planned stop goes back")
