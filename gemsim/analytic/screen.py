"""The twin of many design points at once: one structure, arrays of steps between saves and of spare nodes.

One idea: outcomes of failures are enumerated once; only their shares of the time depend on the intervals, and only the
waits on the spares. So the forms of `run` are worked out on arrays, and no formula is written twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from gemsim.analytic.alike import merged
from gemsim.analytic.evened import is_even
from gemsim.analytic.expected import outcomes
from gemsim.analytic.groups import Interrupted
from gemsim.analytic.points import Array, Found, Points, patterns, points
from gemsim.analytic.refusals import refuse
from gemsim.analytic.run import (
    columns,
    interrupted,
    predict,
    solved,
)
from gemsim.analytic.waiting import met, needed, run_of
from gemsim.analytic.waits import Waits
from gemsim.errors import Infeasible, NotCovered
from gemsim.protection.arrays import is_array
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.kinds import Job
from gemsim.protection.reach import Branch
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.scenario import Scenario
from gemsim.scenario.intervals import timeline, with_intervals
from gemsim.scenario.shop import refuse_overload, replaced
from gemsim.scenario.vary import saving, with_every, with_spares

Places = Array
FIELDS = ("standing", "dry", "lost", "doubt", "error")  # of waits: what may differ from point to point


def screen(
    scenario: Scenario,
    *,
    every: Mapping[int, ArrayLike] | None = None,
    spares: ArrayLike | None = None,
    one_by_one: bool = True,
) -> dict[str, Array]:
    """`predict` of this scenario at each of these steps between saves (by number of the checkpoint tier; 0: the optimum
    for the rate that reaches it) and numbers of hot spare nodes. The arrays broadcast against each other.

    Returns arrays of their common shape: the numeric columns of `predict`, `analytic_kind`, `every_<number>` (whole
    steps as they came out) and `reason`, a text where there is no number (NaN): saves pile up, or no form applies. A
    tier that is not named keeps its interval, also where that was an optimum: name it with 0 to choose anew. Raises
    NotCovered where the structure itself has no form, ValueError for a tier that does not save.

    Point by point, so some hundred times slower, go scenarios with unlike, recurring or drifting classes, replica
    groups, errors unseen in a stripe or stops of their own for row remaps, and, where jobs wait for spares, those with
    warm, cold or borrowed ones, selections, a work target, or classes in running time that take nodes out. Without
    `one_by_one` these raise OneByOne instead.
    """
    saves = {tier.number for tier in scenario.tiers if isinstance(tier, Checkpoint)}
    if not saves.issuperset(every or {}):
        raise ValueError(f"tiers {sorted(set(every or {}) - saves)} save nothing; tiers {sorted(saves)} do")
    asked = points(every or {}, scenario.fleet.spares.hot if spares is None else spares)
    if scenario.fleet.repair is None:  # else what crews are asked for depends on the spares
        refuse(scenario)
    with np.errstate(all="ignore"):
        try:
            found = _on_arrays(scenario, asked)
        except OneByOne:
            if not one_by_one:
                raise
            found = _one_by_one(scenario, asked)
    return found.columns()


class OneByOne(Exception):
    """Something in the scenario has no form on arrays: its points go one by one."""


def _on_arrays(scenario: Scenario, asked: Points) -> Found:
    if (
        not all(is_even(kind) for kind in scenario.classes)
        or any(isinstance(tier, ReplicaGroup) for tier in scenario.tiers)
        or any(kind.latent or kind.scope == "planned" for kind in scenario.classes)
        or scenario.work_steps
        or scenario.remap_now
    ):
        raise OneByOne
    found = Found(asked)
    possible = _possible(scenario, found)
    zeros = {number: steps[possible] == 0 for number, steps in asked.every.items()}
    for optimal, places in patterns(zeros.values(), possible):
        best = [number for number, one in zip(zeros, optimal, strict=True) if one]
        if best:
            _choose(scenario, found, places, best)
        never = [steps[places] >= NEVER for steps in found.every.values()]
        for _, alike in patterns(never, places):
            _alike(scenario, found, alike)
    return found


def _possible(scenario: Scenario, found: Found) -> Places:
    """The places whose saves do not pile up."""
    fine = np.ones(found.asked.size, dtype=bool)
    for number, steps in found.asked.every.items():
        tier = cast(Checkpoint, scenario.tiers[number])
        short = (steps > 0) & (steps < tier.shortest)
        for value in np.unique(steps[short]):
            places = np.flatnonzero(steps == value)
            found.refuse(places, _too_short(tier, int(value), scenario.useful_step))
        fine &= ~short
    return np.flatnonzero(fine)


def _too_short(tier: Checkpoint, every: int, step: float) -> str:
    return (
        f"tier {tier.name}: every {every} steps ({every * step:.4g} s) a save begins before the last is written, or "
        f"more versions are held than memory takes; {tier.shortest} steps or more are possible"
    )


def _choose(scenario: Scenario, found: Found, places: Places, best: Sequence[int]) -> None:
    """Set the intervals of these tiers to their optimum."""
    of = scenario
    steps: dict[int, Any] = {number: 0 if number in best else one[places] for number, one in found.every.items()}
    tiers = saving(of.tiers, steps)
    job = Job(of.platform, timeline(of.platform, tiers), tiers, of.classes, of.restart.mode, of.replace_unit)
    for one in with_intervals(job, of.restart, of.fleet.spares)[1]:
        if one.tier.number in best:
            found.every[one.tier.number][places] = one.tier.every


def _alike(scenario: Scenario, found: Found, places: Places) -> None:
    """Places at which the same tiers save at all: outcomes, then those places apart at which others of them happen."""
    point, branches = _at(scenario, found, places)
    rates = [cast(Any, one.rate) for one in branches if is_array(one.rate)]
    if not rates or all(rate.min() > 0.0 for rate in rates):
        _settle(point, branches, found, places)
        return
    for _, some in patterns([one.rate > 0.0 for one in branches], places):
        point, branches = _at(scenario, found, some)  # those that never happen there may be left out already
        _settle(point, tuple(one for one in branches if np.any(np.asarray(one.rate) > 0.0)), found, some)


def _at(scenario: Scenario, found: Found, places: Places) -> tuple[Scenario, tuple[Branch, ...]]:
    """The scenario with the intervals of these places, as arrays, and its outcomes."""
    steps: dict[int, Any] = {number: one[places] for number, one in found.every.items()}
    tiers = saving(scenario.tiers, steps)
    point = replace(scenario, tiers=tiers, timeline=timeline(scenario.platform, tiers))
    return point, outcomes(point)


def _settle(point: Scenario, branches: tuple[Branch, ...], found: Found, places: Places) -> None:
    """The numbers at places where the same outcomes happen."""
    few = merged(point, branches)
    before = interrupted(point, few)
    asked = found.asked
    table = _table(point, branches, before, asked.counts)
    rows = asked.rows if asked.rows.ndim == 2 else asked.rows[places]
    for activation in {one.activation for one in table if isinstance(one, Waits)}:
        same = [isinstance(one, Waits) and one.activation == activation for one in table]
        waits = _together(table, same, rows, len(places), activation)
        found.put(places, columns(solved(point, few, before, waits)), None if all(same) else np.array(same)[rows])
    for number, one in enumerate(table):
        if isinstance(one, str):
            found.refuse(places, one, rows == number)


def _table(
    point: Scenario, branches: Sequence[Branch], before: Interrupted, counts: Sequence[int]
) -> list[Waits | str]:
    """The waits for spares by number of these, or why there are none."""
    first = tuple(_first(one) for one in branches if one.action == "replace")
    table: list[Waits | str] = []
    for count in counts:
        try:
            one = _beside(point, count)
            if not needed(one, first):  # nor with any more of them
                return [*table, *[Waits(activation=one.spare_activation)] * (len(counts) - len(table))]
            _need_plain_waits(one)
            table.append(met(one, first, run_of(one, before)))
        except NotCovered as error:
            table.append(error.reason)
        except Infeasible as error:
            table.append(str(error))
    return table


def _first(branch: Branch) -> Branch:
    """The branch at the first place: what leaves the job for repair is the same at all, but for rounding."""
    return replace(branch, rate=float(cast(Any, branch.rate)[0])) if is_array(branch.rate) else branch


def _beside(point: Scenario, count: int) -> Scenario:
    """The scenario with so many spares. Raises NotCovered or Infeasible where repair cannot keep up with them."""
    plan = point.fleet.spares
    if count % plan.unit:
        raise Infeasible(f"not whole racks of spares ({count} nodes, {plan.unit} in a rack)")
    if point.fleet.repair is None:
        return replace(point, fleet=replace(point.fleet, spares=replace(plan, hot=count)))
    one = with_spares(point, count)
    refuse_overload(one)
    refuse(one)
    return one


def _need_plain_waits(scenario: Scenario) -> None:
    """Raises where waits depend on more of the run than the mean length of a stop."""
    plan = scenario.fleet.spares
    others = plan.warm or plan.cold or plan.borrow or plan.selection or plan.reshuffle
    running = any(kind.exposure == "running" and replaced(kind) for kind in scenario.classes)
    if others or running or scenario.work_steps:
        raise OneByOne


def _together(table: Sequence[Waits | str], same: Sequence[bool], rows: Array, size: int, activation: float) -> Waits:
    """Those waits of the table that have this activation, as arrays over rows and places."""
    nobody = Waits(activation=activation)
    chosen = [one if isinstance(one, Waits) and here else nobody for one, here in zip(table, same, strict=True)]
    fields: dict[str, Any] = {}
    for name in FIELDS:
        values = [getattr(one, name) for one in chosen]
        if any(map(is_array, values)):
            table_of = np.zeros((len(values), size))
            for number, value in enumerate(values):
                table_of[number] = value
            fields[name] = table_of[rows, np.arange(size)]
        elif any(values):
            fields[name] = np.array(values)[rows]
    return replace(nobody, **fields)


def _one_by_one(scenario: Scenario, asked: Points) -> Found:
    """The same, each point by itself."""
    found = Found(asked)
    possible = set(_possible(scenario, found).tolist())
    rows, places = np.broadcast_arrays(asked.rows, np.arange(asked.size))
    for row, place in zip(rows.ravel().tolist(), places.ravel().tolist(), strict=True):
        if place not in possible:
            continue
        here, number = np.array([place]), asked.rows == row if asked.rows.ndim == 2 else None
        steps = {tier: int(one[place]) for tier, one in asked.every.items()}
        try:
            one = with_spares(scenario, asked.counts[row])
            one = with_every(one, steps) if steps else one
            for tier in steps:
                found.every[tier][place] = cast(Checkpoint, one.tiers[tier]).every
            refuse_overload(one)
            found.put(here, predict(one), number)
        except NotCovered as error:
            found.refuse(here, error.reason, number)
        except Infeasible as error:
            found.refuse(here, str(error), number)
    return found
