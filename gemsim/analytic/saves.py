"""How much of its running time a job stands in its stalls: fewer saves are reached than the interval says.

One idea: the clock of saves starts anew at each restart, so that a save after `every` seconds is one that no restart
came before; repairs in place do not start it anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gemsim.protection.arrays import anywhere, at_least, either, exp, total
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.saving import SHORT, kept_share
from gemsim.protection.saving import not_durable as not_durable
from gemsim.protection.saving import stalled_share as stalled_share
from gemsim.protection.timeline import Stall
from gemsim.scenario import Scenario


def cut_off_writes(tau: float, delta: float, *, roll_back: float, keep: float, lag: float, saved: float = 0.0) -> float:
    """Factor on the effective time, beside e^(-roll_back lag), of restarts that keep the state and cut off a write.

    What no save holds then is carried into the next attempt and lost if a roll-back ends that before its first save
    counts, so its mean is that of `not_durable` over 1 - P(that) x keep / (roll_back + keep). Of the restarts `saved`
    per second come after a save of their own, and carry nothing. Kind: exact.
    """
    ending = roll_back + keep
    if lag == 0.0 and not anywhere(saved > 0.0):
        return 1.0

    def useful(lag: float, carried: float) -> float:
        return kept_share(tau, delta, roll_back=roll_back, keep=keep, lag=lag, carried=carried)

    def counts() -> float:
        whole = useful(0.0, keep)
        left = at_least(0.0, useful(lag, at_least(0.0, keep - saved)))
        return either(whole > 0.0, lambda: left / whole * exp(roll_back * lag), lambda: 1.0)

    plain = (keep <= 0.0) | (roll_back <= 0.0) | (ending * (tau + delta) < SHORT)
    return either(plain, lambda: 1.0, counts)


@dataclass(frozen=True, slots=True)
class Stalls:
    """Shares of running time in the stalls: of the main tier, whose saves the renewal form itself counts, of all
    others, and of each tier."""

    main: float
    others: float
    by_tier: Mapping[int, float]

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
    shares: dict[int, float] = {}
    for stall in timeline.stalls:
        if stall.seconds:
            shares[stall.tier] = shares.get(stall.tier, 0.0) + _share(scenario, stall, ending)
    number = None if main is None else main.number
    others = [share for tier, share in shares.items() if tier != number]
    return Stalls(0.0 if number is None else shares.get(number, 0.0), total(others), shares)


def _share(scenario: Scenario, stall: Stall, ending: float) -> float:
    """Saves on the wall come at their marks, whatever failed since."""
    timeline = scenario.timeline
    every = stall.every * timeline.pace - stall.seconds  # running time between two saves
    tier = scenario.tiers[stall.tier]
    on_wall = isinstance(tier, Checkpoint) and tier.wall_anchor
    return stalled_share(every, stall.seconds, ending=0.0 if on_wall else ending)
