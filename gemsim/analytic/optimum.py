"""How well periodic saving could do: the interval that is optimal for the failures that reach a tier, its ETTR, and
where that is hopeless, what would reach one half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gemsim.analytic.expected import outcomes
from gemsim.analytic.groups import Solved
from gemsim.analytic.renewal import general_ettr, interruptions, optimal_interval
from gemsim.analytic.run import predict, traced
from gemsim.errors import NotCovered
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.scenario import Scenario
from gemsim.scenario.intervals import best_every, restarting, timeline
from gemsim.scenario.model import Restart
from gemsim.units import brief

HOPELESS = 0.5  # ETTR at the optimum below which periodic saving alone does not work
HOPELESS_NOTE = "Periodic saving alone does not work here"
HALVINGS = 10  # of a range of factors: what is needed is known to a thousandth of what there is
SHORTER = tuple(0.8**power for power in range(24))  # of an interval
ABLE = "peer copies, stripes across nodes, replica groups"


def optimum(scenario: Scenario) -> dict[str, Any]:
    """`optimum_interval_s` (seconds of work) and `optimum_ettr` of the deepest checkpoint tier, others as they are.

    Empty without a checkpoint tier, where nothing reaches it, or where no closed form applies. `notes`: what follows.
    """
    tiers = [t for t in scenario.tiers if isinstance(t, Checkpoint)]
    if not tiers or not scenario.reach_rate > 0.0:
        return {}
    last = tiers[-1]
    at_best = at_optimum(scenario)
    try:
        ettr: float = predict(at_best)["ettr_analytic"]
    except (NotCovered, ArithmeticError):
        return {}
    every = _every(at_best)
    seconds = every * scenario.useful_step
    best = (
        f"every {brief(seconds, 'time')} of work"
        if every < NEVER and seconds < scenario.horizon
        else "not once in this run"
    )
    there = "ETTR at this interval" if every == last.every else f"its optimum, {best}, would give ETTR"
    notes = [f"Tier {last.name}: {there} {ettr:.4f} (closed form)"]
    if ettr < HOPELESS:
        notes.append(_hopeless(scenario, last, ettr))
    return {"optimum_interval_s": seconds, "optimum_ettr": ettr, "notes": notes}


def at_optimum(scenario: Scenario) -> Scenario:
    """The scenario with its deepest checkpoint tier at the optimal interval for the rate that reaches it."""
    last = [t for t in scenario.tiers if isinstance(t, Checkpoint)][-1]
    every = best_every(scenario.timeline, last, scenario.reach_rate, restarting(outcomes(scenario), last.number))
    tiers = tuple(replace(last, every=every) if t is last else t for t in scenario.tiers)
    return replace(scenario, tiers=tiers, timeline=timeline(scenario.platform, tiers))


def _every(scenario: Scenario) -> int:
    return [t for t in scenario.tiers if isinstance(t, Checkpoint)][-1].every


def _hopeless(scenario: Scenario, last: Checkpoint, ettr: float) -> str:
    """What it is that takes most of the time: failures, or what the other tiers cost when nothing fails."""
    stalls = sum(s.seconds / s.every for s in scenario.timeline.stalls if s.tier != last.number)
    steady = scenario.useful_step / (scenario.timeline.step + stalls)
    if ettr >= HOPELESS * steady:
        return (
            f"What the other tiers cost at each step leaves {steady:.2g} of the time, failures or none: use them less "
            "often, hide them, or leave them out"
        )
    reach, short = list[str](), list[str]()
    for what in (_blocked(scenario, last), _restart(scenario), _kept(scenario)):
        (reach if what.reaches else short).append(what.said)
    if not reach:
        both = _both(scenario, last)
        (reach if both.reaches else short).append(both.said)
    would = f"{HOPELESS:g} would be reached by {', or by '.join(reach)}" if reach else ""
    not_by = f"not by {', nor by '.join(short)}" if short else ""
    return f"{HOPELESS_NOTE}: ETTR at its best is {ettr:.2g}; {', but '.join(filter(None, (would, not_by)))}"


class _Way:
    """One thing that could be better, by a factor from 1 (as it is) down to 0, and what ETTR it would come to."""

    def __init__(self, at: Callable[[float], float], said: Callable[[float], str], none: str) -> None:
        best = at(0.0)
        self.reaches = best >= HOPELESS
        self.said = said(_largest(at)) if self.reaches else f"{none} ({best:.2g} then)"


def _largest(at: Callable[[float], float]) -> float:
    """The largest factor, to a thousandth, with an ETTR of one half; `at` falls."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if at(middle) >= HOPELESS else (low, middle)
    return low


def _ettr(scenario: Scenario) -> float:
    """At the optimum; 0 where no form applies."""
    try:
        return float(predict(at_optimum(scenario))["ettr_analytic"])
    except (NotCovered, ArithmeticError):
        return 0.0


def _with_block(scenario: Scenario, last: Checkpoint, factor: float) -> Scenario:
    """A shorter block; a write in the background is as much shorter, so that it does not bound the interval."""
    shorter = replace(last, blocked=last.blocked * factor, lag=last.lag * factor)
    tiers = tuple(shorter if t.number == last.number else t for t in scenario.tiers)
    return replace(scenario, tiers=tiers, timeline=timeline(scenario.platform, tiers))


def _with_restart(scenario: Scenario, factor: float) -> Scenario:
    old = scenario.restart
    seconds = (old.process, old.communicator, old.warmup, old.pause, old.reset, old.reboot)
    return replace(scenario, restart=Restart(old.mode, *(one * factor for one in seconds)))


def _blocked(scenario: Scenario, last: Checkpoint) -> _Way:
    was = brief(last.blocked + last.lag, "time")
    return _Way(
        lambda factor: _ettr(_with_block(scenario, last, factor)),
        lambda factor: f"saves of {brief((last.blocked + last.lag) * factor, 'time')} instead of {was}",
        f"saves that take no time instead of {was}",
    )


def _restart(scenario: Scenario) -> _Way:
    return _Way(
        lambda factor: _ettr(_with_restart(scenario, factor)),
        lambda factor: f"restarts, reboots and resets of {100.0 * factor:.0f} % of their time",
        "restarts that take no time",
    )


def _both(scenario: Scenario, last: Checkpoint) -> _Way:
    return _Way(
        lambda factor: _ettr(_with_restart(_with_block(scenario, last, factor), factor)),
        lambda factor: f"saves and restarts of {100.0 * factor:.2g} % of their time together",
        "both at once",
    )


def _kept(scenario: Scenario) -> _Way:
    """Failures that restart with the state kept, or from a step ago, instead of rolling back to a save."""
    solved = traced(at_optimum(scenario))[1][0]
    return _Way(
        lambda rolled: _if_rolled(solved, rolled),
        lambda rolled: f"recovering {100.0 * (1.0 - rolled):.0f} % of failures without a roll-back ({ABLE})",
        f"recovering all failures without a roll-back, the restart still paid ({ABLE})",
    )


def _if_rolled(solved: Solved, share: float) -> float:
    """ETTR if only this share of the roll-backs were any, the others restarts of equal length that keep the state. Each
    of those begins the cycle of saves anew, so the best interval is looked for below that of the roll-backs alone."""
    kinds = solved.groups.kinds()
    rolled = [(rate * share, down) for rate, down in kinds["restarting"]]
    kept = [*kinds["keeping"], *((rate * (1.0 - share), down) for rate, down in kinds["restarting"])]
    rates = interruptions(restarting=rolled, in_place=kinds["in_place"], keeping=kept)
    best = optimal_interval(solved.delta, sum(rate for rate, _ in rolled))
    least = max(solved.pace, solved.lag)
    overhead = solved.pace / solved.scenario.useful_step - 1.0
    return max(
        general_ettr(
            max(least, factor * min(best, 1000.0 * solved.tau)),
            solved.delta,
            restarting=rolled,
            rates=rates,
            step=solved.pace,
            write_lag=solved.lag,
            overhead=overhead,
        )
        for factor in SHORTER
    )
