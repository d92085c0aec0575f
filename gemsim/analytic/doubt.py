"""By how much the renewal form may be off where its assumptions fail: the error that a first-order number states."""

from __future__ import annotations

from math import exp
from typing import Any

from gemsim.analytic.groups import Groups
from gemsim.failures.classes import FailureClass
from gemsim.failures.laws import Duration
from gemsim.protection.arrays import anywhere, at_most, is_array
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario


def doubt(scenario: Scenario, groups: Groups, found: tuple[Branch, ...], main: Checkpoint | None) -> float:
    """Share of time that the renewal form may be off by where its assumptions fail; 0 where they hold.

    * A write in progress is lost by a restart that keeps the state; the form lets it end.
    * A pause longer than a restart counts in full when it is met during one; the restart alone is needed.
    * A failure during a recovery finds the job in the phase in which the first one stopped it; the form draws the phase
      anew, so that one outside the vulnerable window can be followed by one inside.
    * Which roll-backs serve a row remap, and so take longer, is known to first order.
    * Where the clock of saves runs on the wall (`anchor: wall`) it goes on in other pauses; marks are whole steps.
    * What `_of_class` adds for each class.
    """
    everything = (*groups.restarting, *groups.keeping, *groups.in_place)
    mild = sum(r * d for group in (groups.keeping, groups.in_place) for r, d in group)
    tau, lag = (0.0, 0.0) if main is None else (main.every * scenario.timeline.step, main.lag)
    kept, rolled = (sum(r for r, _ in group) for group in (groups.keeping, groups.restarting))
    rate = kept + rolled + sum(r for r, _ in groups.in_place)
    if not anywhere(rate > 0.0):
        return 0.0
    standing = sum(r * d for r, d in everything)
    total = kept * lag * rolled * tau
    for stall in {d for _, d in groups.in_place}:
        hits = sum(a for a, d in groups.in_place if d == stall)
        total += hits * sum(r * d * max(0.0, stall - d) for r, d in (*groups.restarting, *groups.keeping))
    total += _by_phase(found) * mild * (tau / 2.0 + standing / rate)
    if any(b.action == "drain_and_reset" for b in found):
        total += rolled * scenario.restart.reset * at_most(1.0, standing)
    if main is not None and main.wall_anchor:
        total += rolled * (tau / 2.0 * at_most(1.0, mild) + scenario.timeline.step)
    squares = sum(r * d * d for r, d in everything)
    again = squares / 2.0 + standing * standing / rate + mild * tau / 2.0
    if never_hit(scenario):
        again = 0.0
    return total + sum(_of_class(kind, rate, again, standing / rate + tau) for kind in scenario.classes)


def never_hit(scenario: Scenario) -> bool:
    """Nothing fails while the job stands still: all classes are on the clock of running time."""
    return all(kind.exposure == "running" for kind in scenario.classes)


def _by_phase(found: tuple[Branch, ...]) -> float:
    """Rate of roll-backs that would be none had the failure struck in another phase."""
    spared = {id(b.damage) for b in found if b.ending != "roll_back"}  # branches of one damage share the object
    return sum(b.rate for b in found if b.ending == "roll_back" and id(b.damage) in spared)


def _of_class(kind: FailureClass, rate: float, again: float, near: float) -> float:
    """A class's part of `doubt`; `rate` of all failures.

    On the clock of running time it cannot hit a recovery; the form lets it, which costs `again` seconds for each
    failure per second of its rate. A random detection of variance V makes recoveries longer by rate x V / 2. A device
    that is not exponential and has just been replaced can fail again within the next `near` seconds.
    """
    doubt = 0.0
    if kind.exposure == "running":
        doubt += kind.rate * again
    if kind.detect.kind != "fixed" and kind.scope != "silent":
        doubt += kind.rate * rate * _variance(kind.detect) / 2.0
    if kind.lifetime.kind != "exponential":
        soon: Any = kind.lifetime.cdf(near)
        doubt += kind.rate * near * (soon if is_array(near) else float(soon))
    return doubt


def _variance(law: Duration) -> float:
    """Variance of a random time, seconds squared."""
    return law.mean**2 * (exp(law.sigma**2) - 1.0 if law.kind == "lognormal" else 1.0)
