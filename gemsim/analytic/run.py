"""The twin: the effective training time of a scenario in closed form, with its kind and its stated error.

It shares tiers, laws and costs with the engine but not the evolution in time: outcomes by phase give rates of
repairs in place, of restarts that keep the state and of roll-backs; renewal theory does the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gemsim.analytic.anew import SEEN, UNSURE, kept
from gemsim.analytic.anew import doubt as unsure_of_start
from gemsim.analytic.capacity import Missing, fall_cost, missing
from gemsim.analytic.copies import add_pairs, older, one_short, still
from gemsim.analytic.doubt import doubt
from gemsim.analytic.evened import is_even
from gemsim.analytic.expected import expected, outcomes, reset_share, serving, standing_still
from gemsim.analytic.groups import Groups, Interrupted, Solved, Told
from gemsim.analytic.lengths import lengths
from gemsim.analytic.planned import add_planned, failures_of
from gemsim.analytic.refusals import refuse
from gemsim.analytic.remaps import Stops
from gemsim.analytic.remaps import stops as own_stops
from gemsim.analytic.renewal import Interruptions, general_ettr, interruptions
from gemsim.analytic.saves import cut_off_writes, stalls
from gemsim.analytic.unseen import NOTHING, Moved, noticed, piled_up
from gemsim.analytic.varied import ANEW, LACKING, per_failure, units_of, varied
from gemsim.analytic.waiting import waiting
from gemsim.analytic.waits import Waits
from gemsim.errors import NotCovered
from gemsim.protection.arrays import anywhere, at_least, either, exp
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.pairs import Fall, falls, meet
from gemsim.protection.reach import Branch
from gemsim.protection.tier import START
from gemsim.scenario import Scenario


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
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # what comes of it is refused below
        numbers = steady(scenario) if even else varied(scenario, steady)
    found = {name: value for name, value in numbers.items() if name not in (LACKING, ANEW)}
    for name, value in found.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise NotCovered(f"{name} comes to no number: something happens far more often than the job can work")
    return found, behind if even else behind[1:]  # the first of those that are not even gives the mean rates alone


def columns(solved: Solved) -> dict[str, Any]:
    """The columns of the twin, and the share of the time in which nodes are lacking."""
    scenario = solved.scenario
    batches = any(one.batch for one in scenario.classes)
    others = expected(
        scenario,
        solved.found,
        ettr=solved.ettr,
        wall_per_running=solved.standing.wall_per_running / (1.0 - solved.out),
        stalled=solved.stalled.all,
        degraded=solved.degraded,
        waiting=solved.out,
        unread=solved.unread,
        met=solved.groups.falls,
        planned=solved.groups.planned / solved.standing.wall_per_running,
        saver=solved.groups.saver,
        units=partial(units_of, scenario) if batches else lambda branch: 1.0,
        stops=lambda branch: solved.lost.stops(scenario, branch),
    )
    said = {
        "ettr_analytic": at_least(0.0, solved.ettr),
        "analytic_kind": solved.kind,
        "analytic_error": solved.error,
        LACKING: solved.out,
        ANEW: solved.starts,
    }
    return said | (per_failure(scenario, others, solved.found) if batches else others)


def solve(scenario: Scenario, *, course: tuple[float, ...] = (1.0,)) -> Solved:
    """The renewal form of plain classes of constant rates, with all that went into it. Raises NotCovered.

    `course`: how often nodes leave in equal parts of the run, relative to the mean (none: a spare is always at hand).
    """
    found, moved = piled_up(scenario, failures_of(outcomes(scenario)))
    found, unread = noticed(scenario, found)
    before = interrupted(scenario, found)
    return solved(scenario, found, before, waiting(scenario, found, before, course), (moved, unread))


def solved(
    scenario: Scenario,
    found: tuple[Branch, ...],
    before: Interrupted,
    waits: Waits | None,
    hidden: tuple[Moved, Moved] = (NOTHING, NOTHING),
) -> Solved:
    """The renewal form of these outcomes, with these waits for spares. Steps between saves, and with them rates, may be
    arrays; so may what waits come to, but for the time that a spare takes to start. `hidden`: latent errors that pile
    up, and those that nobody ever notices."""
    scenario, before, out = _with_waits(scenario, found, before, waits)
    groups, standing, lost, main = before.groups, before.standing, before.lost, before.main
    stalled = stalls(scenario, main, ending=standing.roll_back + standing.keep)
    pace = stalled.pace(scenario.timeline.step)
    steps, delta, lag = (1000, 0.0, 0.0) if main is None else (main.every, main.blocked, main.lag)
    tau = steps * pace
    writes = cut_off_writes(
        tau, delta, roll_back=standing.roll_back, keep=standing.keep, lag=lag, saved=groups.saved
    ) * exp(groups.written)
    renewal = general_ettr(
        tau,
        delta,
        **groups.kinds(),
        rates=standing,
        step=pace,
        write_lag=lag,
        overhead=pace / scenario.useful_step - 1.0,
        wall_anchor=main is not None and main.wall_anchor,
        factor=writes,
    )
    groups = _of_what_is_kept(groups, renewal * standing.wall_per_running, (1.0 - stalled.all) * scenario.useful_share)
    ettr = at_least(0.0, renewal - groups.extra / standing.wall_per_running) * (1.0 - groups.silent)
    degraded = ettr * (1.0 - lost.joins) * lost.share
    ettr = ettr * (1.0 - lost.joins) - degraded
    groups.doubt = groups.doubt + lost.error + fall_cost(scenario, lost) + sum(one.doubt(tau) for one in hidden)
    ettr = ettr * (1.0 - out)
    starts = groups.start * scenario.horizon / standing.wall_per_running
    if scenario.work_steps and anywhere(starts > SEEN):
        raise NotCovered(f"{starts:.3g} failures per run start the job again, which has a number of steps to do")
    unsure = either(groups.start > 0.0, lambda: groups.unsure_start / groups.start, lambda: 0.0)
    groups.doubt = groups.doubt + ettr * unsure_of_start(starts, unsure)
    left = kept(starts)
    ettr, degraded = ettr * left, degraded * left
    error = _error(scenario, groups, ettr, 0.0 if main is None else tau)
    inexact = starts + groups.doubt + groups.extra + groups.silent + lost.share + lost.joins + out
    return Solved(
        scenario, found, main, groups, lost, out, standing, pace, tau, delta, lag, renewal, degraded, ettr, error,
        inexact, stalled, hidden[1].rate, writes, starts, left,
    )  # fmt: skip


def _of_what_is_kept(groups: Groups, renewal: float, worked: float) -> Groups:
    """The groups with what is lost beside as a share of what roll-backs leave: the same second is not lost twice."""
    share = renewal / worked
    told = [replace(one, extra=one.extra * share) if anywhere(one.extra > 0.0) else one for one in groups.told]
    return replace(groups, extra=groups.extra * share, told=told)


def _with_waits(
    scenario: Scenario, found: tuple[Branch, ...], before: Interrupted, waits: Waits | None
) -> tuple[Scenario, Interrupted, float]:
    """The scenario with the mean time to start a spare, how it is then interrupted, and the share of the time in which
    a node is lacking."""
    doubt, out = 0.0, 0.0
    if waits is not None:
        lacking = lacking_seconds(found, before, waits)
        if waits.activation != scenario.spare_activation or (meet(scenario) and anywhere(lacking > 0.0)):
            scenario = waits.applied(scenario)
            before = interrupted(scenario, found, lacking=lacking)
        doubt, out = waits.doubt + before.groups.rate * waits.error, waits.out
    groups = replace(before.groups, doubt=before.groups.doubt + doubt)
    return scenario, replace(before, groups=groups), out


def lacking_seconds(found: tuple[Branch, ...], before: Interrupted, waits: Waits) -> float:
    """Seconds that each node which leaves is waited for, where there is no spare."""
    leaving = sum(b.rate for b in found if b.action == "replace")
    still = waits.out / (1.0 - waits.out) * before.standing.wall_per_running
    return either(leaving > 0.0, lambda: still / leaving, lambda: 0.0)


def _interruptions(groups: Groups) -> Interruptions:
    """How interruptions end and how long they last; what fails in running time alone begins none within another."""
    found = interruptions(**groups.kinds(wall=True), running=groups.kinds(wall=False))
    return found._replace(wall_per_running=found.wall_per_running * (1.0 + groups.dead))


def interrupted(scenario: Scenario, found: tuple[Branch, ...], *, lacking: float = 0.0) -> Interrupted:
    """The groups of the renewal form, less the failures that strike only what is out; and what is missing meanwhile.

    `lacking`: seconds that each node which leaves is waited for on top of its recovery.
    """
    pairs = falls(scenario, found, partial(still, scenario), lacking=lacking)
    main = _main_tier(scenario, found, pairs)
    groups = _grouped(scenario, found, main, Missing(), pairs)
    standing = _interruptions(groups)
    if all(branch.ending != "go_on" for branch in found):
        return Interrupted(groups, standing, Missing(), main)
    lost = missing(scenario, found, wall_per_running=standing.wall_per_running)
    groups = _grouped(scenario, found, main, lost, pairs)
    return Interrupted(groups, _interruptions(groups), lost, main)


def _main_tier(scenario: Scenario, found: tuple[Branch, ...], pairs: Sequence[Fall]) -> Checkpoint | None:
    """The deepest checkpoint tier that anything rolls back to, or else that two failures which meet do."""
    reached = {b.number for b in found if b.ending == "roll_back"}
    if not any(isinstance(scenario.tiers[number], Checkpoint) for number in reached if number >= 0):
        reached = {pair.number for pair in pairs}
    tiers = [t for t in scenario.tiers if isinstance(t, Checkpoint) and t.number in reached]
    return tiers[-1] if tiers else None


def _grouped(
    scenario: Scenario, found: tuple[Branch, ...], main: Checkpoint | None, lost: Missing, pairs: Sequence[Fall]
) -> Groups:
    """Sort branches into the groups of the renewal form."""
    groups = Groups()
    served = serving(scenario, found)
    own = own_stops(scenario, found)
    ending = sum(b.rate for b in found if b.ending in ("keep", "roll_back"))
    for branch in found:
        share = 1.0 if lost.tier is None else lost.stops(scenario, branch)
        counted = branch if share == 1.0 else replace(branch, rate=branch.rate * share)
        _add(scenario, groups, counted, main, served, own, ending)
    add_planned(scenario, groups, main)
    groups.join()
    second = groups.beside * groups.beside + groups.silent * groups.silent
    groups.doubt = groups.doubt + second + doubt(scenario, groups, found, main) + own.doubt(scenario, found, main)
    add_pairs(scenario, groups, pairs, main, ending)
    groups.doubt = groups.doubt + one_short(scenario, found, groups.standing / at_least(1e-30, groups.rate))
    return groups


def _add(
    scenario: Scenario, groups: Groups, branch: Branch, main: Checkpoint | None, served: float, own: Stops,
    renewed: float,
) -> None:  # fmt: skip
    """Put one branch into the groups; `renewed`: restarts per second, which begin all saves anew."""
    kind, after = branch.kind, own.after(branch)
    known = 0.0 if kind.scope == "silent" else kind.detect.mean
    down = standing_still(scenario, branch, reset=own.at_once(branch)) + after
    if branch.ending in ("in_place", "go_on") and not (branch.ending == "in_place" and after > 0.0):
        redone = branch.rate * branch.redo * scenario.useful_share
        _take(groups, Told(branch, "in_place", branch.rate, down, redone, detect=known))
        return
    if branch.tier == START:
        groups.start = groups.start + branch.rate
        groups.unsure_start = groups.unsure_start + UNSURE * branch.rate
    if branch.ending in ("in_place", "keep") or branch.tier == START:
        _take(groups, Told(branch, "keeping", branch.rate, down, detect=known))
        return
    ending = "restarting" if main is not None and branch.number == main.number else "keeping"
    beside, silent = 0.0, 0.0
    if ending == "keeping":
        extra = older(scenario, branch.number, renewed)
        beside = branch.rate * extra
        groups.beside = groups.beside + beside
    if branch.kind.scope == "silent":
        silent = branch.rate * branch.kind.detect.mean
        if ending == "restarting" and main is not None:
            groups.written = groups.written + branch.rate * sum(
                share * min(main.lag, s) for share, s in lengths(branch.kind.detect)
            )
    share = reset_share(scenario, branch, served)
    for weight, reset in ((share, True), (1.0 - share, False)):
        if anywhere(weight > 0.0):
            seconds = standing_still(scenario, branch, reset=True) if reset else down
            _take(groups, Told(branch, ending, branch.rate * weight, seconds, beside * weight, silent * weight, known))


def _take(groups: Groups, told: Told) -> None:
    """Put it there, as several where detection takes a random time."""
    kind = told.branch.kind
    if kind.scope == "silent" or kind.detect.kind == "fixed":
        groups.take(told)
        return
    for share, seconds in lengths(kind.detect):
        down, extra, silent = told.down - kind.detect.mean + seconds, told.extra * share, told.silent * share
        groups.take(replace(told, rate=told.rate * share, down=down, extra=extra, silent=silent, detect=seconds))


def _error(scenario: Scenario, groups: Groups, ettr: float, tau: float) -> float:
    """Absolute error: the neglected second-order terms, and what is lost to rounding."""
    second = (groups.extra / 4.0 + groups.silent) * groups.rate
    second = second * (tau + groups.standing / at_least(1e-30, groups.rate))
    phases = groups.rate * scenario.timeline.step * groups.rate * tau
    return 1e-9 + 2.0 * second + groups.doubt + phases * (1.0 - ettr)
