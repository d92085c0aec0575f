"""Undo logs: the phases of a batch, the seconds that logging adds to them, and whether the MLP log can keep up."""

from __future__ import annotations

from gemsim.errors import Infeasible, ValueRefused
from gemsim.protection.batches import REDO, Phases, least_gap, log_seconds, period
from gemsim.protection.undo_log import UndoLog
from gemsim.scenario.tiers.workshop import Workshop
from gemsim.spec.protection.undo_log import UndoLogSpec
from gemsim.spec.published import paper
from gemsim.spec.recommendation import PhasesSpec, published_phases
from gemsim.spec.workload import WorkloadSpec
from gemsim.units import brief

SAME_STEP = 0.005  # relative: print gives times to three digits


def undo_log(shop: Workshop, one: UndoLogSpec, number: int) -> UndoLog:
    """The tier. Raises Infeasible where there are no phases, the step is another, or the MLP log cannot keep up."""
    work = shop.spec.workload
    phases = phases_of(work, one)
    bare = period(one.variant, phases.unlogged)
    if abs(work.step - bare) > SAME_STEP * bare:
        raise Infeasible(
            f"workload.step is {brief(work.step, 'time')}, but a batch takes {brief(bare, 'time')} on the hardware of "
            f"variant {one.variant} when nothing is logged; write step: {brief(bare, 'time')}"
        )
    needed = least_gap(one.variant, phases)
    if one.variant == "cxl" and one.mlp_log_gap < needed:
        raise Infeasible(
            f"mlp_log_gap {one.mlp_log_gap} of tier '{one.label}' is less than the {needed:g} batches in which the MLP "
            "log can be written beside the top MLP"
        )
    added = log_seconds(one.variant, phases)
    shop.notes.extend(_notes(one, added, bare, needed))
    gap = one.mlp_log_gap if one.variant == "cxl" else 1
    return UndoLog(number, one.label, one.variant, added, one.replay, gap)


def phases_of(work: WorkloadSpec, one: UndoLogSpec) -> Phases:
    """The phases of a batch in seconds: given, or those of a published model. Raises Infeasible without any."""
    if work.phases is not None:
        return phases(work.phases)
    if work.recommendation is None:
        raise Infeasible(
            f"tier '{one.label}' needs the phases of a batch; write workload.recommendation (rm1 to rm4) or "
            "workload.phases"
        )
    try:
        return phases(published_phases(work.recommendation, one.variant))
    except ValueRefused as refused:
        raise Infeasible(str(refused)) from refused


def phases(given: PhasesSpec) -> Phases:
    """The phases of a study as those of the recurrence."""
    times = {name: getattr(given, name) for name in Phases.__slots__}
    if times["lookup_after_write"] is None:
        times["lookup_after_write"] = times["lookup"]
    return Phases(**times)


def _accuracy(gap: int) -> str:
    """What figure 9a of TrainingCXL shows at the next gap that it has."""
    read = paper("training_cxl").inputs
    wider = [(int(at), read.accuracy[0] - value) for at, value in zip(read.accuracy_gaps, read.accuracy, strict=True)]
    at, lost = next(((at, lost) for at, lost in wider if at >= gap), (0, 0.0))
    return f" ({100 * lost:.3f} pp at {at} batches in figure 9a)" if at else " (figure 9a ends at 256,000)"


def _notes(one: UndoLogSpec, added: float, bare: float, needed: float) -> list[str]:
    name = f"Tier {one.label} ({one.variant})"
    if one.variant in REDO:
        back = "what a batch changed is saved after it; a failure goes back to the save of the batch before"
    else:
        back = "a failure goes on from the start of the interrupted batch"
    notes = [
        f"{name}: logging adds {brief(added, 'time')} to a batch of {brief(bare, 'time')}; {back}, after "
        f"{brief(one.replay, 'time')} of replay (no recovery time is published)",
        f"{name}: outlives processes, GPUs, hosts and power; a lost memory pool is not modelled",
    ]
    if one.variant == "cxl":
        notes.append(
            f"{name}: MLP parameters may be up to {one.mlp_log_gap} batches older (at least {needed:g} are needed to "
            f"write them); that costs accuracy, no time{_accuracy(one.mlp_log_gap)}"
        )
    return notes
