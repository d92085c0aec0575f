"""By how much the renewal form may be off where its assumptions fail: the error that a first-order number states."""

from __future__ import annotations

from typing import Any

from gemsim.analytic.expected import serving
from gemsim.analytic.groups import Groups
from gemsim.failures.classes import FailureClass
from gemsim.protection.arrays import anywhere, at_most, is_array
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario


def doubt(scenario: Scenario, groups: Groups, found: tuple[Branch, ...], main: Checkpoint | None) -> float:
    """Share of time that the renewal form may be off by where its assumptions fail; 0 where they hold.

    * A pause longer than a restart counts in full when it is met during one; the restart alone is needed.
    * A failure during a recovery finds the job in the phase in which the first one stopped it; the form draws the phase
      anew, so that one outside the vulnerable window can be followed by one inside.
    * Which roll-backs serve a row remap, and so take longer, is known to first order.
    * Where the clock of saves runs on the wall (`anchor: wall`) it goes on in other pauses; marks are whole steps.
    * What `_of_class` adds for each class.
    """
    everything = (*groups.restarting, *groups.keeping, *groups.in_place)
    mild = sum(stop.rate * stop.seconds for group in (groups.keeping, groups.in_place) for stop in group)
    tau = 0.0 if main is None else main.every * scenario.timeline.step
    rolled = sum(stop.rate for stop in groups.restarting)
    rate = sum(stop.rate for stop in everything)
    if not anywhere(rate > 0.0):
        return 0.0
    standing = sum(stop.rate * stop.seconds for stop in everything)
    total = 0.0
    for stall in {stop.seconds for stop in groups.in_place}:
        hits = sum(stop.rate for stop in groups.in_place if stop.seconds == stall)
        total = total + hits * sum(
            s.rate * s.seconds * max(0.0, stall - s.seconds) for s in (*groups.restarting, *groups.keeping)
        )
    total = total + _by_phase(found) * mild * (tau / 2.0 + standing / rate)
    total = total + serving(scenario, found) * rolled * scenario.restart.reset * at_most(1.0, standing)
    if main is not None and main.wall_anchor:
        total = total + rolled * (tau / 2.0 * at_most(1.0, mild) + scenario.timeline.step)
    return total + sum(_of_class(kind, standing / rate + tau) for kind in scenario.classes)


def _by_phase(found: tuple[Branch, ...]) -> float:
    """Rate of roll-backs that would be none had the failure struck in another phase."""
    spared = {id(b.damage) for b in found if b.ending != "roll_back"}  # branches of one damage share the object
    return sum(b.rate for b in found if b.ending == "roll_back" and id(b.damage) in spared)


def _of_class(kind: FailureClass, near: float) -> float:
    """A class's part of `doubt`: a device that is not exponential and has just been replaced can fail again within the
    next `near` seconds."""
    if kind.lifetime.kind == "exponential":
        return 0.0
    soon: Any = kind.lifetime.cdf(near)
    return kind.rate * near * (soon if is_array(near) else float(soon))
