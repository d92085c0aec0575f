"""How much of its running time a job stands in its stalls: fewer saves are reached than the interval says.

One idea: the clock of saves starts anew at each restart, so that a save after `every` seconds is one that no restart
came before; repairs in place do not start it anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1

from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.timeline import Stall
from gemsim.scenario import Scenario

SHORT = 1e-9  # interruptions in a cycle, below which none is seen


def stalled_share(every: float, seconds: float, *, ending: float) -> float:
    """Share of running time in a stall of `seconds` after each `every` seconds, where restarts come at the rate
    `ending` per running second and each begins the cycle anew.

    Of attempts at a cycle of w = every + seconds, each is cut at an exponential time: e^(-r every) (1 - e^(-r seconds))
    / (1 - e^(-r w)). Kind: exact.
    """
    cycle = every + seconds
    if ending * cycle < SHORT:
        return seconds / cycle if cycle else 0.0
    return exp(-ending * every) * expm1(-ending * seconds) / expm1(-ending * cycle)


@dataclass(frozen=True, slots=True)
class Stalls:
    """Shares of running time in the stalls: of the main tier, whose saves the renewal form itself counts, and of all
    others."""

    main: float
    others: float

    @property
    def all(self) -> float:
        """Share of running time in any stall."""
        return self.main + self.others

    def pace(self, step: float) -> float:
        """Seconds of a step with all stalls but those of the main tier."""
        return step * (1.0 + self.others / (1.0 - self.all))


def stalls(scenario: Scenario, main: Checkpoint | None, *, ending: float) -> Stalls:
    """Of all stalls; `ending`: restarts per running second. Shares that no step is left beside are capped below 1."""
    timeline = scenario.timeline
    shares = {stall: _share(scenario, stall, ending) for stall in timeline.stalls if stall.seconds and stall.every}
    number = None if main is None else main.number
    of_main = sum(share for stall, share in shares.items() if stall.tier == number)
    return Stalls(of_main, sum(shares.values()) - of_main)


def _share(scenario: Scenario, stall: Stall, ending: float) -> float:
    """Saves on the wall come at their marks, whatever failed since."""
    timeline = scenario.timeline
    every = stall.every * timeline.pace - stall.seconds
    tier = scenario.tiers[stall.tier]
    on_wall = isinstance(tier, Checkpoint) and tier.wall_anchor
    return stalled_share(every, stall.seconds, ending=0.0 if on_wall else ending)
