"""What can be said of a scenario without running it: overheads, survivable bursts, intervals, what is derived."""

from __future__ import annotations

from typing import Any

from gemsim.failures.classes import FailureClass
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import Tier
from gemsim.protection.undo_log import UndoLog
from gemsim.scenario.blind import PLURALS, Difference, Placing, is_placed, placing, seconds_of_a_run
from gemsim.scenario.model import Scenario
from gemsim.scenario.racks import spares_said
from gemsim.scenario.remaps import said_of_remaps
from gemsim.scenario.shop import shop_said
from gemsim.units import brief as text

SHOWN = 3  # classes named in a note
UNITS_OF = {"gpu": "GPUs", "node": "nodes", "job": "failures"}  # what a class counts


def describe(scenario: Scenario) -> dict[str, Any]:
    """Static columns of a point; shares are of 1."""
    placed = placing(scenario)
    return {
        "step_overhead": step_overhead(scenario),
        "memory_overhead": sum(t.overhead().memory for t in scenario.tiers) / scenario.platform.memory.capacity,
        "survivable_burst_pages": _burst(scenario.tiers),
        "blind_falls_per_run": _blind_falls(scenario, placed),
        "interval_s": scenario.interval_seconds,
        "reach_rate_per_day": scenario.reach_rate * 86400.0,
        "profile": scenario.profile,
        "modelled": scenario.modelled,
        "notes": [
            *scenario.notes,
            *spares_said(scenario),
            *shop_said(scenario),
            *_said(scenario, placed),
            *said_of_remaps(scenario),
        ],
    }


def _blind_falls(scenario: Scenario, placed: Placing) -> float | None:
    """None where no tier is placed on nodes."""
    if not any(is_placed(tier) for tier in scenario.tiers):
        return None
    return 0.0 if placed.blind is None else placed.blind.falls


def _said(scenario: Scenario, placed: Placing) -> list[str]:
    """What the placement of the study brings against a blind one, and what a wiser one would."""
    notes = []
    if placed.blind is not None:
        found = placed.blind
        where = f"in distinct {PLURALS[found.domain]}" if found.domain in PLURALS else "in blocks of neighbours"
        notes.append(
            f"Placement: {' and '.join(found.placed)} {where}. Placed blindly, {_falls(found)} that "
            f"{_names(found.caught)} recovers would fall to {_names(found.fallen)}: {_cost(scenario, found)}"
        )
    if placed.wiser is not None:
        found = placed.wiser
        notes.append(
            f"Placement: blind to {PLURALS[found.domain]}. {_falls(found)} fall to {_names(found.fallen)} that "
            f"{_names(found.caught)} would recover with members and copies in distinct {PLURALS[found.domain]}: "
            f"{_cost(scenario, found)}. Write {', '.join(found.keys)}"
        )
    return notes


def _falls(found: Difference) -> str:
    """How many failures, of which classes."""
    shown = [name if len(found.classes) == 1 else f"{name} {count:.3g}" for name, count in found.classes[:SHOWN]]
    more = [f"{len(found.classes) - SHOWN} more"] if len(found.classes) > SHOWN else []
    return f"{found.falls:.3g} failures per run ({', '.join([*shown, *more])})"


def _names(tiers: tuple[str, ...]) -> str:
    return " or ".join({"start": "the start of the job", "held": "the state held"}.get(name, name) for name in tiers)


def _cost(scenario: Scenario, found: Difference) -> str:
    if found.seconds <= 0.0:
        return "no time, to first order"
    share = found.seconds / seconds_of_a_run(scenario)
    return f"about {text(found.seconds, 'time')} per run ({100.0 * share:.2g} % of it), to first order"


def step_overhead(scenario: Scenario) -> float:
    """Seconds that protection adds per useful second when nothing fails."""
    timeline = scenario.timeline
    pace = timeline.step + sum(s.seconds / s.every for s in timeline.stalls)
    return pace / scenario.useful_step - 1.0


def outside(scenario: Scenario) -> tuple[tuple[str, float], ...]:
    """(kind, seconds of work between versions) of each tier that holds state outside GPU memory."""
    found = []
    for tier in scenario.tiers:
        if isinstance(tier, Checkpoint) and tier.every < NEVER:
            found.append((tier.target, tier.every * scenario.useful_step))
        elif isinstance(tier, UndoLog):
            found.append(("undo_log", scenario.useful_step))
    return tuple(found)


def _burst(tiers: tuple[Tier, ...]) -> int | None:
    """Adjacent pages of one GPU that its own stripe surely survives; None where only stripes across GPUs could tell."""
    inside = [t.stripes.survivable_burst() for t in tiers if isinstance(t, PageStripe)]
    if inside:
        return max(inside)
    return None if any(isinstance(t, MemberStripe) for t in tiers) else 0


def derived(scenario: Scenario) -> list[tuple[str, str, str]]:
    """(name, value, source) of all that follows from the study: memory regions, copies, phases, rates."""
    memory, steps = scenario.platform.memory, scenario.platform.steps
    lines = []
    for region in memory.regions:
        of = f"{region.bytes / memory.capacity:.1%} of the GPU" if region.name == "free" else ""
        used = of or f"{region.bytes / memory.used:.1%} of used"
        copies = f", {region.copies} live cop{'y' if region.copies == 1 else 'ies'}" if region.critical else ""
        coded = ", coded" if region.coded else ""
        shown = f"{text(region.bytes, 'bytes')} per GPU ({used}{copies}{coded})"
        lines.append((f"memory.{region.name}", shown, "derived from parameters, bytes and layout"))
    elsewhere = sum(r.bytes for r in memory.regions if r.coded and r.copies > 1)
    share = elsewhere / memory.coded if memory.coded else 0.0
    lines.append(("memory.coded", f"{text(memory.coded, 'bytes')}; {share:.1%} has live copies elsewhere", "derived"))
    lines += [
        (f"step.{name}", text(getattr(steps, name), "time"), "derived unless given")
        for name in ("update", "skew", "microbatch", "layer", "kernel")
    ]
    lines.append(("restart.communicator", text(scenario.restart.communicator, "time"), "FT-HSDP, arXiv 2602.00277"))
    lines += [(f"failures.{kind.name}", _often(scenario, kind), _counted(scenario, kind)) for kind in scenario.classes]
    return lines


def _often(scenario: Scenario, kind: FailureClass) -> str:
    """How often a class strikes: what fails at one instant is one event."""
    starts, seconds = kind.starts * kind.striking, seconds_of_a_run(scenario)
    what = "stops" if kind.scope == "planned" else "events" if kind.batch is not None else "failures"
    size = kind.rate / kind.starts
    together = f", of {size:.4g} {UNITS_OF[kind.clock]} on average" if kind.batch is not None else ""
    clock = f"{starts * 86400:.4g} per day, {kind.exposure} clock"
    return f"{starts * seconds:.4g} {what} in the run{together} ({clock})"


def _counted(scenario: Scenario, kind: FailureClass) -> str:
    """How the number of failures of a class follows, and what it leaves out."""
    said = f"rate x job x {'useful time (at least)' if scenario.work_steps else 'horizon'}"
    if kind.batch is not None:
        said += ", all that fails at one instant as one"
    if kind.striking < 1.0:
        said += f", less the {1.0 - kind.striking:.3g} that follow others on nodes replaced by then"
    if kind.frailty is not None and kind.frailty.kind == "lemons" and scenario.fleet.repair is not None:
        said += "; fewer as repair makes lemons ordinary"
    return said
