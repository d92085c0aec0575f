"""The twin: the effective training time of a scenario in closed form, with its kind and its stated error.

It shares tiers, laws and costs with the engine but not the evolution in time: outcomes by phase give rates of
repairs in place, of restarts that keep the state and of roll-backs; renewal theory does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gemsim.analytic.anew import SEEN, UNSURE, kept
from gemsim.analytic.anew import doubt as unsure_of_start
from gemsim.analytic.capacity import Missing, fall_cost, missing
from gemsim.analytic.copies import add_pairs, one_short, still
from gemsim.analytic.doubt import doubt
from gemsim.analytic.evened import is_even, run_seconds
from gemsim.analytic.expected import expected, outcomes, reset_share, serving, standing_still
from gemsim.analytic.groups import Groups, Stop
from gemsim.analytic.lengths import lengths
from gemsim.analytic.markov import down_at_once
from gemsim.analytic.pairs import falls
from gemsim.analytic.planned import add_planned, failures_of
from gemsim.analytic.refusals import plain_spares, refuse
from gemsim.analytic.remaps import Stops, stops
from gemsim.analytic.renewal import Interruptions, general_ettr, interruptions
from gemsim.analytic.saves import not_durable, stalls
from gemsim.analytic.unseen import noticed, piled_up
from gemsim.analytic.varied import ANEW, LACKING, per_failure, units_of, varied
from gemsim.analytic.waits import Run, Waits, waits
from gemsim.errors import NotCovered
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.reach import Branch
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import START
from gemsim.scenario import Scenario

WAIT_LIMIT = 1e-4  # share of failures that may find no spare before waiting must be modelled
ALWAYS = 1e-6  # share of the time in which none is lacking, below which the job does not run
NEGLIGIBLE = 1e-5  # share of time, a hundredth of what a run of this size can tell


def predict(scenario: Scenario) -> dict[str, Any]:
    """`ettr_analytic`, `analytic_kind` (exact or first_order) and `analytic_error` (absolute). Raises NotCovered.

    exact: exponential classes on the wall clock, fixed detection, one checkpoint tier rolled back to. Everything
    else within reach is first order, with the size of the first neglected terms as its error. Unlike devices, failures
    that follow others and drifts become plain classes first (`evened`).
    """
    refuse(scenario)
    even = all(is_even(kind) for kind in scenario.classes)
    numbers = _steady(scenario) if even else varied(scenario, _steady)
    return {name: value for name, value in numbers.items() if name not in (LACKING, ANEW)}


def _steady(scenario: Scenario, *, course: tuple[float, ...] = (1.0,)) -> dict[str, Any]:
    """The same for plain classes of constant rates; `course`: how often nodes leave in equal parts of the run, relative
    to that (none: as if a spare were always at hand)."""
    found, moved = piled_up(scenario, failures_of(outcomes(scenario)))
    found, unread = noticed(scenario, found)
    main = _main_tier(scenario, found)
    scenario, groups, lost, out = _with_waits(scenario, found, main, course)
    steps, delta, lag = (1000, 0.0, 0.0) if main is None else (main.every, main.blocked, main.lag)
    kinds = {
        name: wall + aside
        for (name, wall), aside in zip(groups.kinds(wall=True).items(), groups.kinds(wall=False).values(), strict=True)
    }
    standing = _interruptions(groups)
    stalled = stalls(scenario, main, ending=standing.roll_back + standing.keep)
    pace = stalled.pace(scenario.timeline.step)
    ettr = general_ettr(
        steps * pace,
        delta,
        **kinds,
        rates=standing,
        step=pace,
        write_lag=lag,
        overhead=pace / scenario.useful_step - 1.0,
        wall_anchor=main is not None and main.wall_anchor,
        cut_off=True,
        saved=groups.saved,
        written=groups.written,
    )
    working = (1.0 - stalled.all) * scenario.useful_share
    ettr *= max(0.0, 1.0 - groups.extra / working) * (1.0 - groups.silent)
    degraded = ettr * (1.0 - lost.joins) * lost.share
    ettr = ettr * (1.0 - lost.joins) - degraded
    groups.doubt += lost.error + fall_cost(scenario, lost)
    groups.doubt += moved.doubt(steps * pace) + unread.doubt(steps * pace)
    ettr *= 1.0 - out
    starts = groups.start * scenario.horizon / standing.wall_per_running
    if starts > SEEN and scenario.work_steps:
        raise NotCovered(f"{starts:.3g} failures per run start the job again, which has a number of steps to do")
    groups.doubt += ettr * unsure_of_start(starts, groups.unsure_start / max(groups.start, 1e-30))
    ettr *= kept(starts)
    error = _error(scenario, groups, ettr, 0.0 if main is None else steps * pace)
    inexact = starts + groups.doubt + groups.extra + groups.silent + lost.share + lost.joins + out
    kind = "exact" if inexact < NEGLIGIBLE else "first_order"
    others = expected(
        scenario,
        found,
        ettr=ettr,
        wall_per_running=standing.wall_per_running / (1.0 - out),
        stalled=stalled.all,
        degraded=degraded,
        waiting=out,
        unread=unread.rate,
        met=groups.falls,
        planned=groups.planned / standing.wall_per_running,
        saver=groups.saver,
        units=partial(units_of, scenario),
        stops=lambda branch: lost.stops(scenario, branch),
    )
    said = {"ettr_analytic": max(0.0, ettr), "analytic_kind": kind, "analytic_error": error, LACKING: out, ANEW: starts}
    return said | (per_failure(scenario, others, found) if any(one.batch for one in scenario.classes) else others)


def _with_waits(
    scenario: Scenario, found: tuple[Branch, ...], main: Checkpoint | None, course: tuple[float, ...]
) -> tuple[Scenario, Groups, Missing, float]:
    """The scenario with the mean time to start a spare, what the renewal form then takes, and the share of the time in
    which a node is lacking."""
    groups, lost = _with_capacity(scenario, found, main)
    waiting = _waiting(scenario, found, groups, course)
    if waiting is None:
        return scenario, groups, lost, 0.0
    if waiting.out > 1.0 - ALWAYS:
        raise NotCovered(
            "nodes are lacking all the time, or in a stretch of the drift: more are broken than there are spares"
        )
    scenario = waiting.applied(scenario)
    still = waiting.out / (1.0 - waiting.out) * _interruptions(groups).wall_per_running
    leaving = sum(b.rate for b in found if b.action == "replace")
    groups, lost = _with_capacity(scenario, found, main, still / leaving if still else 0.0)
    groups.doubt += waiting.doubt + groups.rate * waiting.error
    return scenario, groups, lost, waiting.out


def _waiting(scenario: Scenario, found: tuple[Branch, ...], groups: Groups, course: tuple[float, ...]) -> Waits | None:
    """What waiting for spares costs; None where one that can start at once is all but always at hand."""
    replacing = [b for b in found if b.action == "replace"] if course else []
    alone = all(len(b.damage.hosts) <= 1 for b in replacing)
    going_on = any(b.ending == "go_on" for b in replacing)
    if plain_spares(scenario) and (alone or going_on) and _no_spare(scenario, replacing) <= WAIT_LIMIT:
        return None
    if going_on:
        if plain_spares(scenario) and not scenario.spare_nodes and all(b.ending == "go_on" for b in replacing):
            return None  # what is out comes back after its own repair
        lacking = _no_spare(scenario, replacing)
        raise NotCovered(f"{lacking:.2g} of replacements find no spare while groups are out; not in the closed form")
    if not replacing:
        return None
    per_running = _interruptions(groups).wall_per_running
    run = Run(1.0 / per_running, groups.standing / groups.rate, run_seconds(scenario, 1.0 / per_running), course)
    return waits(scenario, found, run)


def _interruptions(groups: Groups) -> Interruptions:
    """How interruptions end and how long they last; what fails in running time alone begins none within another."""
    found = interruptions(**groups.kinds(wall=True), running=groups.kinds(wall=False))
    return found._replace(wall_per_running=found.wall_per_running * (1.0 + groups.dead))


def _with_capacity(
    scenario: Scenario, found: tuple[Branch, ...], main: Checkpoint | None, lacking: float = 0.0
) -> tuple[Groups, Missing]:
    """The groups of the renewal form, less the failures that strike only what is out; and what is missing meanwhile.

    `lacking`: seconds that each node which leaves is waited for, where there is no spare.
    """
    groups = _grouped(scenario, found, main, Missing(), lacking)
    if all(branch.ending != "go_on" for branch in found):
        return groups, Missing()
    lost = missing(scenario, found, wall_per_running=_interruptions(groups).wall_per_running)
    return _grouped(scenario, found, main, lost, lacking), lost


def _no_spare(scenario: Scenario, replacing: Sequence[Branch]) -> float:
    """P(no idle spare), M/G/inf: broken nodes are Poisson with mean rate x repair time (Palm's theorem)."""
    load = sum(b.rate * b.kind.repair.mean * max(1, len(b.damage.hosts)) for b in replacing)
    if load == 0.0:
        return 0.0
    return down_at_once(load, 1.0, more_than=scenario.spare_nodes - 1) if scenario.spare_nodes else 1.0


def _main_tier(scenario: Scenario, found: tuple[Branch, ...]) -> Checkpoint | None:
    """The deepest checkpoint tier that anything rolls back to."""
    reached = {b.number for b in found if b.ending == "roll_back"}
    tiers = [t for t in scenario.tiers if isinstance(t, Checkpoint) and t.number in reached]
    return tiers[-1] if tiers else None


def _grouped(
    scenario: Scenario, found: tuple[Branch, ...], main: Checkpoint | None, lost: Missing, lacking: float
) -> Groups:
    """Sort branches into the groups of the renewal form."""
    groups = Groups()
    served = serving(scenario, found)
    own = stops(scenario, found)
    pairs = falls(scenario, found, partial(still, scenario), lacking=lacking)
    ending = sum(b.rate for b in found if b.ending in ("keep", "roll_back"))
    for branch in found:
        share = 1.0 if lost.tier is None else lost.stops(scenario, branch)
        counted = branch if share == 1.0 else replace(branch, rate=branch.rate * share)
        _add(scenario, groups, counted, main, served, own, ending)
    add_planned(scenario, groups, main)
    groups.join()
    groups.doubt += doubt(scenario, groups, found, main) + own.doubt(scenario, found, main)
    add_pairs(scenario, groups, pairs, main)
    groups.doubt += one_short(scenario, found, groups.standing / max(groups.rate, 1e-30))
    return groups


def _add(
    scenario: Scenario,
    groups: Groups,
    branch: Branch,
    main: Checkpoint | None,
    served: float,
    own: Stops,
    ending: float,
) -> None:
    after = own.after(branch)
    down = standing_still(scenario, branch, reset=own.at_once(branch)) + after
    if branch.ending == "in_place" and after > 0.0:
        groups.keeping += _stops(branch, branch.rate, down)
        return
    if branch.ending in ("in_place", "go_on"):
        groups.in_place += _stops(branch, branch.rate, down)
        groups.extra += branch.rate * branch.redo * scenario.useful_share
        return
    if branch.tier == START:
        groups.start += branch.rate
        groups.unsure_start += UNSURE * branch.rate
    if branch.ending == "keep" or branch.tier == START:
        groups.keeping += _stops(branch, branch.rate, down)
        return
    target = groups.restarting if main is not None and branch.number == main.number else groups.keeping
    share = reset_share(scenario, branch, served)
    for weight, reset in ((share, True), (1.0 - share, False)):
        if weight > 0.0:
            longer = standing_still(scenario, branch, reset=True) if reset else down
            target += _stops(branch, branch.rate * weight, longer)
    if target is groups.keeping:
        extra = _older(scenario, branch.number, ending)
        groups.extra += branch.rate * extra
        groups.doubt += branch.rate * extra * branch.rate * extra
    if branch.kind.scope == "silent":
        groups.silent += branch.rate * branch.kind.detect.mean
        if target is groups.restarting and main is not None:
            groups.written += branch.rate * sum(share * min(main.lag, s) for share, s in lengths(branch.kind.detect))
        groups.doubt += (branch.rate * branch.kind.detect.mean) ** 2


def _stops(branch: Branch, rate: float, seconds: float) -> list[Stop]:
    """Interruptions of a branch, in so many seconds on average: as several where detection takes a random time."""
    wall = branch.kind.exposure == "wall"
    if branch.kind.scope == "silent":
        return [Stop(rate, seconds, wall)]
    mean = branch.kind.detect.mean
    return [Stop(rate * share, seconds - mean + one, wall) for share, one in lengths(branch.kind.detect)]


def _older(scenario: Scenario, number: int, ending: float) -> float:
    """Mean useful seconds between the last whole step and the version that a shallower tier restores; `ending`:
    restarts per second, which begin its saves anew."""
    tier = scenario.tiers[number]
    if isinstance(tier, (PageStripe, MemberStripe)):
        return (tier.cadence.every - 1) / 2 * scenario.useful_step + tier.cadence.lag
    if isinstance(tier, Checkpoint) and not tier.wall_anchor:
        pace = scenario.timeline.pace
        work = tier.every * pace - tier.blocked
        lost = not_durable(work, tier.blocked, ending=ending, lag=tier.lag)
        return max(0.0, lost / pace - 0.5) * scenario.useful_step
    if isinstance(tier, Checkpoint):
        return (tier.every - 1) / 2 * scenario.useful_step + tier.lag
    return 0.0


def _error(scenario: Scenario, groups: Groups, ettr: float, tau: float) -> float:
    """Absolute error: the neglected second-order terms, and what is lost to rounding."""
    second = (groups.extra / 4.0 + groups.silent) * groups.rate * (tau + groups.standing / max(groups.rate, 1e-30))
    phases = groups.rate * scenario.timeline.step * groups.rate * tau
    return 1e-9 + 2.0 * second + groups.doubt + phases * (1.0 - ettr)
