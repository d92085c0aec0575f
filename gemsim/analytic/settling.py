"""What the start of a run changes: repair shops that fill up first, and spares that are used once.

One idea: from an empty shop the number broken rises toward its equilibrium, so that nothing is met more often than in
equilibrium; what is certain are bounds. The middle between them is the number, half of their distance its error.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log, sqrt

from gemsim.analytic.repair import time_variation
from gemsim.errors import NotCovered
from gemsim.failures.laws import Duration
from gemsim.scenario import Scenario
from gemsim.scenario.fleet import RepairPlan, Stage
from gemsim.scenario.shop import prehistory, reached

MOST = 0.05  # share of time: a larger error says nothing


def relaxation(scenario: Scenario, units: float) -> float:
    """Seconds in which a shop that starts empty comes near its equilibrium, as nodes come at `units` per second.

    Without a limit of crews the mean residual time of a repair; with crews 1 / (sqrt(c mu) - sqrt(lambda))^2, the
    relaxation time of M/M/c. Waits for parts add the lead time. Kind: first order.
    """
    plan = scenario.fleet.repair
    if plan is not None:
        return _through(plan, units)
    loads = [(k.rate * k.repair.mean, k.repair) for k in scenario.classes if k.action == "replace"]
    total = fsum(load for load, _ in loads)
    return fsum(load * _residual(law) for load, law in loads) / total if total else 0.0


def _through(plan: RepairPlan, units: float) -> float:
    chances = reached(plan)
    seconds = fsum(_in_stage(units * chance, stage) for chance, stage in zip(chances, plan.stages, strict=True))
    return seconds + (_residual(plan.parts.lead) if plan.parts is not None else 0.0)


def _in_stage(rate: float, stage: Stage) -> float:
    if not stage.crews or not stage.time.mean:
        return _residual(stage.time)
    slack = sqrt(stage.crews) - sqrt(rate * stage.time.mean)
    return _residual(stage.time) * max(1.0, slack**-2) if slack > 0.0 else float("inf")


def _residual(law: Duration) -> float:
    return law.mean * (1.0 + time_variation(law)) / 2.0


def late(relax: float, spares: int, wall: float) -> float:
    """Share of a run before which nodes are lacking as often as in equilibrium: all spares + 1 must first be broken,
    which takes about the largest of as many residual times (exact for exponential ones, up to 0.6 of one)."""
    return min(1.0, relax * (1.0 + log(1.0 + spares)) / wall)


def early_error(scenario: Scenario, lacking: float, *, units: float, spares: int, wall: float) -> float:
    """Error of `lacking`, the share of time without a node in equilibrium, in a run that begins with nobody broken.
    Raises NotCovered where that says nothing."""
    if lacking == 0.0:
        return 0.0
    relax = relaxation(scenario, units)
    error = lacking * min(1.0, late(relax, spares, wall) * _still_empty(scenario, relax, units))
    if error > MOST:
        raise NotCovered(
            f"nodes are lacking {lacking:.2g} of the time once repairs are in equilibrium, which takes about "
            f"{relax * (1.0 + log(1.0 + spares)) / 86400.0:.3g} d of the {wall / 86400.0:.3g} d; the way there is not "
            "in the closed form"
        )
    return error


def _still_empty(scenario: Scenario, relax: float, units: float) -> float:
    """How much of an empty shop is left when a run begins: all of a new fleet; in one that has long been running what a
    prehistory leaves where crews or parts are short, which makes it be played; else none."""
    plan = scenario.fleet.repair
    if not scenario.stationary:
        return 1.0
    if plan is None or not (plan.parts is not None or any(stage.crews for stage in plan.stages)):
        return 0.0
    return exp(-prehistory(plan, units) / relax) if relax and units else 0.0


def used_up(law: Sequence[float], first: int, count: int, *, starts: float, together: int = 1) -> float:
    """At most so many of `count` units that never come back as what they were are used in a run.

    The one after `first` + j others is used when a failure meets as many broken for the first time, so at most as
    often as failures meet that (Markov): min(1, failures x P(so many are broken)). `starts`: failures in the run, of up
    to `together` units. At least none is used: in a fleet that has long been running all have been.
    """
    used = 0.0
    for broken in range(first, first + count):
        chance = min(1.0, starts * together * fsum(law[max(0, broken + 1 - together) :]))
        if chance < 1e-12:
            break
        used += chance
    return used
