"""How well periodic saving could do: the interval that is optimal for the failures that reach a tier, and its ETTR."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gemsim.analytic.run import predict
from gemsim.errors import NotCovered
from gemsim.protection.checkpoint import Checkpoint
from gemsim.scenario import Scenario
from gemsim.scenario.build import best_every, timeline
from gemsim.units import brief

HOPELESS = 0.5  # ETTR at the optimum below which periodic saving alone does not work
HOPELESS_NOTE = "Periodic saving alone does not work here"


def optimum(scenario: Scenario) -> dict[str, Any]:
    """`optimum_interval_s` (seconds of work) and `optimum_ettr` of the deepest checkpoint tier, others as they are.

    Empty without a checkpoint tier, where nothing reaches it, or where no closed form applies. `notes`: what follows.
    """
    tiers = [t for t in scenario.tiers if isinstance(t, Checkpoint)]
    if not tiers or not scenario.reach_rate > 0.0:
        return {}
    last = tiers[-1]
    every = best_every(scenario.timeline, last, scenario.reach_rate)
    changed = tuple(replace(last, every=every) if t is last else t for t in scenario.tiers)
    at_best = replace(scenario, tiers=changed, timeline=timeline(scenario.platform, changed))
    try:
        ettr: float = predict(at_best)["ettr_analytic"]
    except (NotCovered, ArithmeticError):
        return {}
    seconds = every * scenario.useful_step
    same = every == last.every
    best = f"every {brief(seconds, 'time')} of work" if seconds < scenario.horizon else "not once in this run"
    there = "ETTR at this interval" if same else f"its optimum, {best}, would give ETTR"
    notes = [f"Tier {last.name}: {there} {ettr:.4f} (closed form)"]
    if ettr < HOPELESS:
        notes.append(_hopeless(scenario, last, ettr))
    return {"optimum_interval_s": seconds, "optimum_ettr": ettr, "notes": notes}


def _hopeless(scenario: Scenario, last: Checkpoint, ettr: float) -> str:
    """What it is that takes most of the time: failures, or what the other tiers cost when nothing fails."""
    stalls = sum(s.seconds / s.every for s in scenario.timeline.stalls if s.tier != last.number)
    steady = scenario.useful_step / (scenario.timeline.step + stalls)
    if ettr >= HOPELESS * steady:
        return (
            f"What the other tiers cost at each step leaves {steady:.2g} of the time, failures or none: use them less "
            "often, hide them, or leave them out"
        )
    return (
        f"{HOPELESS_NOTE}: ETTR at its best is {ettr:.2f}; shorten the blocked time and "
        "the restart, or recover without a roll-back (peer copies, stripes across nodes, replica groups)"
    )
