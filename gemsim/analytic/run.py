"""The twin: the effective training time of a scenario in closed form, with its kind and its stated error.

It shares tiers, laws and costs with the engine but not the evolution in time: outcomes by phase give rates of
repairs in place, of restarts that keep the state and of roll-backs; renewal theory does the rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gemsim.analytic.capacity import Missing, fall_cost, missing
from gemsim.analytic.copies import both_lost, one_short
from gemsim.analytic.doubt import doubt, never_hit
from gemsim.analytic.evened import is_even
from gemsim.analytic.expected import expected, outcomes, standing_still
from gemsim.analytic.groups import Groups, Interrupted, Solved, Told, joined
from gemsim.analytic.refusals import refuse
from gemsim.analytic.remaps import Stops, stops
from gemsim.analytic.renewal import Interruptions, general_ettr, interruptions
from gemsim.analytic.unseen import NOTHING, Moved, piled_up
from gemsim.analytic.varied import LACKING, per_failure, varied
from gemsim.analytic.waiting import waiting
from gemsim.analytic.waits import Waits
from gemsim.errors import NotCovered
from gemsim.protection.arrays import anywhere, at_least, either
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.reach import Branch
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import START
from gemsim.scenario import Scenario

UNCOVERED_START = 1e-6  # failures per run that no tier recovers before the renewal form breaks down


def predict(scenario: Scenario) -> dict[str, Any]:
    """`ettr_analytic`, `analytic_kind` (exact or first_order) and `analytic_error` (absolute). Raises NotCovered.

    exact: exponential classes on the wall clock, fixed detection, one checkpoint tier rolled back to. Everything
    else within reach is first order, with the size of the first neglected terms as its error. Unlike devices, failures
    that follow others and drifts become plain classes first (`evened`).
    """
    return traced(scenario)[0]


def traced(scenario: Scenario) -> tuple[dict[str, Any], list[Solved]]:
    """`predict` with the renewal form behind it: one, or where rates step in time that of each stretch, in order."""
    refuse(scenario)
    behind: list[Solved] = []

    def steady(scenario: Scenario, *, course: tuple[float, ...] = (1.0,)) -> dict[str, Any]:
        behind.append(solve(scenario, course=course))
        return columns(behind[-1])

    even = all(is_even(kind) for kind in scenario.classes)
    numbers = steady(scenario) if even else varied(scenario, steady)
    found = {name: value for name, value in numbers.items() if name != LACKING}
    return found, behind if even else behind[1:]  # the first of those that are not even gives the mean rates alone


def columns(solved: Solved) -> dict[str, Any]:
    """The columns of the twin, and the share of the time in which nodes are lacking."""
    scenario = solved.scenario
    others = expected(
        scenario,
        solved.found,
        ettr=solved.ettr,
        wall_per_running=solved.standing.wall_per_running / (1.0 - solved.out),
        standing=solved.groups.standing,
        degraded=solved.degraded,
        stops=lambda branch: solved.lost.stops(scenario, branch),
    )
    said = {
        "ettr_analytic": at_least(0.0, solved.ettr),
        "analytic_kind": solved.kind,
        "analytic_error": solved.error,
        LACKING: solved.out,
    }
    batches = any(one.batch for one in scenario.classes)
    return said | (per_failure(scenario, others, solved.found) if batches else others)


def solve(scenario: Scenario, *, course: tuple[float, ...] = (1.0,)) -> Solved:
    """The renewal form of plain classes of constant rates, with all that went into it. Raises NotCovered.

    `course`: how often nodes leave in equal parts of the run, relative to the mean (none: a spare is always at hand).
    """
    found, moved = piled_up(scenario, outcomes(scenario))
    lost = lost_for_good(scenario, found)
    if lost > UNCOVERED_START:
        raise NotCovered(started_again(lost))
    before = interrupted(scenario, found)
    return solved(scenario, found, before, waiting(scenario, found, before, course), moved)


def solved(
    scenario: Scenario,
    found: tuple[Branch, ...],
    before: Interrupted,
    waits: Waits | None,
    moved: Moved = NOTHING,
) -> Solved:
    """The renewal form of these outcomes, with these waits for spares. Steps between saves, and with them rates, may be
    arrays; so may what waits come to, but for the time that a spare takes to start."""
    main = _main_tier(scenario, found)
    scenario, groups, standing, lost, out = _with_waits(scenario, found, before, waits)
    pace = _pace(scenario, main)
    steps, delta, lag = (1000, 0.0, 0.0) if main is None else (main.every, main.blocked, main.lag)
    tau = steps * pace
    renewal = general_ettr(
        tau,
        delta,
        **groups.kinds(),
        rates=standing,
        step=pace,
        write_lag=lag,
        overhead=pace / scenario.useful_step - 1.0,
        wall_anchor=main is not None and main.wall_anchor,
    )
    ettr = (renewal - groups.extra / standing.wall_per_running) * (1.0 - groups.silent)
    degraded = ettr * (1.0 - lost.joins) * lost.share
    ettr = ettr * (1.0 - lost.joins) - degraded
    groups.doubt = groups.doubt + lost.error + fall_cost(scenario, lost) + moved.doubt(tau)
    ettr = ettr * (1.0 - out)
    error = _error(scenario, groups, ettr, 0.0 if main is None else tau)
    inexact = groups.doubt + groups.extra + groups.silent + lost.share + lost.joins + out
    return Solved(
        scenario, found, main, groups, lost, out, standing, pace, tau, delta, lag, renewal, degraded, ettr, error,
        inexact,
    )  # fmt: skip


def _with_waits(
    scenario: Scenario, found: tuple[Branch, ...], before: Interrupted, waits: Waits | None
) -> tuple[Scenario, Groups, Interruptions, Missing, float]:
    """The scenario with the mean time to start a spare, what the renewal form then takes, and the share of the time in
    which a node is lacking."""
    doubt, out = 0.0, 0.0
    if waits is not None:
        if waits.activation != scenario.spare_activation:
            scenario = waits.applied(scenario)
            before = interrupted(scenario, found)
        doubt, out = waits.doubt + before.groups.rate * waits.error, waits.out
    groups = replace(before.groups, doubt=before.groups.doubt + doubt)
    return scenario, groups, before.standing, before.lost, out


def _interruptions(scenario: Scenario, groups: Groups) -> Interruptions:
    """How interruptions end and how long they last; none begins within another where all fail in running time."""
    kinds = groups.kinds()
    if not never_hit(scenario):
        return interruptions(**kinds)
    rolled, kept, in_place = (sum(rate for rate, _ in kinds[name]) for name in ("restarting", "keeping", "in_place"))
    return Interruptions(rolled, kept, in_place, 1.0 + groups.standing)


def _pace(scenario: Scenario, main: Checkpoint | None) -> float:
    """Seconds of a step with all stalls but those of the main tier's saves."""
    stalls = {s.tier: s for s in scenario.timeline.stalls}
    others = (s.seconds / s.every for n, s in stalls.items() if main is None or n != main.number)
    return scenario.timeline.step + sum(others)


def interrupted(scenario: Scenario, found: tuple[Branch, ...]) -> Interrupted:
    """The groups of the renewal form, less the failures that strike only what is out; and what is missing meanwhile."""
    main = _main_tier(scenario, found)
    groups = _grouped(scenario, found, main, Missing())
    standing = _interruptions(scenario, groups)
    if all(branch.ending != "go_on" for branch in found):
        return Interrupted(groups, standing, Missing())
    lost = missing(scenario, found, wall_per_running=standing.wall_per_running)
    groups = _grouped(scenario, found, main, lost)
    return Interrupted(groups, _interruptions(scenario, groups), lost)


def lost_for_good(scenario: Scenario, found: tuple[Branch, ...]) -> float:
    """Failures per run that no tier recovers."""
    return sum(b.rate for b in found if b.tier == START) * scenario.horizon


def started_again(lost: float) -> str:
    """Why there is no form where so many failures per run start the job again."""
    return f"{lost:.3g} failures per run are recovered by no tier and start the job again"


def _main_tier(scenario: Scenario, found: tuple[Branch, ...]) -> Checkpoint | None:
    """The deepest checkpoint tier that anything rolls back to."""
    reached = {b.number for b in found if b.ending == "roll_back"}
    tiers = [t for t in scenario.tiers if isinstance(t, Checkpoint) and t.number in reached]
    return tiers[-1] if tiers else None


def _grouped(scenario: Scenario, found: tuple[Branch, ...], main: Checkpoint | None, lost: Missing) -> Groups:
    """Sort branches into the groups of the renewal form."""
    groups = Groups()
    pending = sum(b.rate for b in found if b.action == "drain_and_reset" and b.ending == "in_place")
    rolled = sum(b.rate for b in found if _refills_memory(scenario, b))
    served = 0.0
    if not scenario.remap_now:
        served = either(rolled > 0.0, lambda: pending / (pending + rolled), lambda: 0.0)
    own = stops(scenario, found)
    for branch in found:
        share = 1.0 if lost.tier is None else lost.stops(scenario, branch)
        counted = branch if share == 1.0 else replace(branch, rate=branch.rate * share)
        _add(scenario, groups, counted, main, served, own)
    groups.restarting, groups.keeping, groups.in_place = (
        joined(group) for group in (groups.restarting, groups.keeping, groups.in_place)
    )
    groups.doubt += doubt(scenario, groups, found, main) + own.doubt(scenario, found, main)
    met = both_lost(scenario, found)
    groups.extra += met
    groups.doubt += met
    groups.doubt += one_short(scenario, found, groups.standing / at_least(1e-30, groups.rate))
    return groups


def _add(
    scenario: Scenario, groups: Groups, branch: Branch, main: Checkpoint | None, served: float, own: Stops
) -> None:
    after = own.after(branch)
    down = standing_still(scenario, branch, reset=own.at_once(branch)) + after
    if branch.ending in ("in_place", "go_on") and not (branch.ending == "in_place" and after > 0.0):
        groups.take(Told(branch, "in_place", branch.rate, down, branch.rate * branch.redo * scenario.useful_share))
        return
    if branch.ending in ("in_place", "keep"):
        groups.take(Told(branch, "keeping", branch.rate, down))
        return
    ending = "restarting" if main is not None and branch.number == main.number else "keeping"
    beside, silent = 0.0, 0.0
    if ending == "keeping":
        extra = _older(scenario, branch.number)
        beside = branch.rate * extra
        groups.doubt += beside * beside
    if branch.kind.scope == "silent":
        silent = branch.rate * branch.kind.detect.mean
        groups.doubt += silent**2
    leaves = branch.action == "drain_and_reset"
    share = (1.0 if leaves else served) if _refills_memory(scenario, branch) else 0.0
    for weight, reset in ((share, True), (1.0 - share, False)):
        if anywhere(weight > 0.0):
            still = standing_still(scenario, branch, reset=True) if reset else down
            groups.take(Told(branch, ending, branch.rate * weight, still, beside * weight, silent * weight))


def _refills_memory(scenario: Scenario, branch: Branch) -> bool:
    """Processes start anew from a state outside GPU memory: pending row remaps are served then."""
    stored = branch.number < 0 or isinstance(scenario.tiers[branch.number], Checkpoint)
    return branch.ending == "roll_back" and not branch.damage.alive and stored


def _older(scenario: Scenario, number: int) -> float:
    """Mean useful seconds between the last whole step and the version that a shallower tier restores."""
    tier = scenario.tiers[number]
    if isinstance(tier, (PageStripe, MemberStripe)):
        return (tier.cadence.every - 1) / 2 * scenario.useful_step + tier.cadence.lag
    if isinstance(tier, Checkpoint):
        return (tier.every - 1) / 2 * scenario.useful_step + tier.lag
    return 0.0


def _error(scenario: Scenario, groups: Groups, ettr: float, tau: float) -> float:
    """Absolute error: the neglected second-order terms, and what is lost to rounding."""
    second = (groups.extra + groups.silent) * groups.rate * (tau + groups.standing / at_least(1e-30, groups.rate))
    phases = groups.rate * scenario.timeline.step * groups.rate * tau
    return 1e-9 + 2.0 * second + groups.doubt + phases * (1.0 - ettr)
