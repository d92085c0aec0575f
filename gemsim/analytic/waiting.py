"""Whether a job waits for spares at all, and what that costs on top of how it is interrupted otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from gemsim.analytic.evened import run_seconds
from gemsim.analytic.groups import Interrupted
from gemsim.analytic.markov import down_at_once
from gemsim.analytic.refusals import plain_spares
from gemsim.analytic.waits import Run, Waits, waits
from gemsim.errors import NotCovered
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario

WAIT_LIMIT = 1e-4  # share of failures that may find no spare before waiting must be modelled
ALWAYS = 1e-6  # share of the time in which none is lacking, below which the job does not run


def waiting(
    scenario: Scenario, found: tuple[Branch, ...], before: Interrupted, course: tuple[float, ...]
) -> Waits | None:
    """What waiting for spares costs; None where one that can start at once is all but always at hand."""
    if not needed(scenario, found, course):
        return None
    return met(scenario, found, run_of(scenario, before, course))


def run_of(scenario: Scenario, before: Interrupted, course: tuple[float, ...] = (1.0,)) -> Run:
    """The run as it is while no node is lacking."""
    running = 1.0 / before.standing.wall_per_running
    return Run(running, before.groups.standing / before.groups.rate, run_seconds(scenario, running), course)


def needed(scenario: Scenario, found: tuple[Branch, ...], course: tuple[float, ...] = (1.0,)) -> bool:
    """Whether waiting for spares counts. Raises NotCovered where it does beside groups that are out."""
    replacing = [b for b in found if b.action == "replace"] if course else []
    alone = all(len(b.damage.hosts) <= 1 for b in replacing)
    going_on = any(b.ending == "go_on" for b in replacing)
    if plain_spares(scenario) and (alone or going_on) and _no_spare(scenario, replacing) <= WAIT_LIMIT:
        return False
    if going_on:
        if plain_spares(scenario) and not scenario.spare_nodes and all(b.ending == "go_on" for b in replacing):
            return False  # what is out comes back after its own repair
        lacking = _no_spare(scenario, replacing)
        raise NotCovered(f"{lacking:.2g} of replacements find no spare while groups are out; not in the closed form")
    return bool(replacing)


def met(scenario: Scenario, found: tuple[Branch, ...], run: Run) -> Waits:
    """The waits of a run. Raises NotCovered where nodes are always lacking."""
    here = waits(scenario, found, run)
    if here.out > 1.0 - ALWAYS:
        raise NotCovered(
            "nodes are lacking all the time, or in a stretch of the drift: more are broken than there are spares"
        )
    return here


def _no_spare(scenario: Scenario, replacing: Sequence[Branch]) -> float:
    """P(no idle spare), M/G/inf: broken nodes are Poisson with mean rate x repair time (Palm's theorem)."""
    load = sum(b.rate * b.kind.repair.mean * max(1, len(b.damage.hosts)) for b in replacing)
    if load == 0.0:
        return 0.0
    return down_at_once(load, 1.0, more_than=scenario.spare_nodes - 1) if scenario.spare_nodes else 1.0
