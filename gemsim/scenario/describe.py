"""What can be said of a scenario without running it: overheads, survivable bursts, intervals, what is derived."""

from __future__ import annotations

from typing import Any

from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import Tier
from gemsim.protection.undo_log import UndoLog
from gemsim.scenario.model import Scenario
from gemsim.units import brief as text


def describe(scenario: Scenario) -> dict[str, Any]:
    """Static columns of a point; shares are of 1."""
    return {
        "step_overhead": step_overhead(scenario),
        "memory_overhead": sum(t.overhead().memory for t in scenario.tiers) / scenario.platform.memory.capacity,
        "survivable_burst_pages": _burst(scenario.tiers),
        "interval_s": scenario.interval_seconds,
        "reach_rate_per_day": scenario.reach_rate * 86400.0,
        "profile": scenario.profile,
        "modelled": scenario.modelled,
        "notes": list(scenario.notes),
    }


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
    for kind in scenario.classes:
        shown = (
            f"{kind.rate * scenario.horizon:.4g} in the run ({kind.rate * 86400:.4g} per day, {kind.exposure} clock)"
        )
        lines.append((f"failures.{kind.name}", shown, "rate x job x horizon"))
    return lines
