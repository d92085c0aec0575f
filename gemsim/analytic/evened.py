"""Classes of unlike devices, of failures that follow others and of rates that drift, as plain classes of equal rate.

One idea: many rare clocks make a Poisson stream whatever is behind them; what they have beyond that goes into the
stated error. A drift becomes pieces of constant rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from gemsim.analytic import frailty
from gemsim.analytic.composition import Flow, in_the_job
from gemsim.analytic.repair import pipeline
from gemsim.errors import NotCovered
from gemsim.failures.classes import FailureClass, factor_at
from gemsim.protection.arrays import at_most
from gemsim.scenario import Scenario
from gemsim.scenario.shop import units_per_failure

UNSURE = 0.03  # of what the mean field says that it changes, beside times away of 0.7 to 1.4 times its own


@dataclass(frozen=True, slots=True)
class Even:
    """A class as a plain one. `variation`: squared relative spread of its rate, over time or over fleets; `near`: share
    of its failures that soon follow another; `unsure`: relative error of its mean rate; `course`: its rate in equal
    parts of the run, relative to the mean."""

    kind: FailureClass
    variation: float = 0.0
    near: float = 0.0
    unsure: float = 0.0
    course: tuple[float, ...] = (1.0,)


def is_even(kind: FailureClass) -> bool:
    """Whether a class needs none of this."""
    return kind.frailty is None and kind.recurrence is None and not kind.drift


def evened(scenario: Scenario, *, running: float, within: float) -> list[Even]:
    """All classes as plain ones, drifts left in. `running`: share of the time in which the job runs; `within`: seconds
    after a failure in which a second one costs less than a first. Raises NotCovered.
    """
    units = sum(_leaving(scenario, kind) for kind in scenario.classes)
    leaving = units * scenario.fleet.spares.unit / scenario.platform.grid.count("node")  # of any node, per second
    found = []
    for kind in scenario.classes:
        one = Even(kind)
        if kind.frailty is not None:
            one = _unlike(scenario, kind, leaving, running)
        if kind.recurrence is not None:
            one = _followed(scenario, one, within)
        found.append(one)
    return found


def _leaving(scenario: Scenario, kind: FailureClass) -> float:
    """Units of nodes (racks, if these go together) per second that this class sends away."""
    return kind.rate * units_per_failure(scenario, kind) if kind.action == "replace" else 0.0


def _scaled(kind: FailureClass, factor: float) -> FailureClass:
    """The class without frailty or recurrence, at `factor` times its mean rate."""
    mean = 1.0 if kind.frailty is None else kind.frailty.mean
    law = replace(kind.lifetime, mean=kind.lifetime.mean / (mean * factor), scale=kind.lifetime.scale / (mean * factor))
    return replace(kind, lifetime=law, frailty=None)


def _unlike(scenario: Scenario, kind: FailureClass, leaving: float, running: float) -> Even:
    """Unlike devices: the spread of the job's rate over fleets, and who is in the job. Bad ones are away more often,
    and repair may cure them."""
    law, plan = kind.frailty, scenario.fleet.repair
    assert law is not None
    spread = frailty.job_rate_variation(law, kind.units)
    if leaving == 0.0:
        return Even(_scaled(kind, 1.0), spread)
    if plan is not None and law.kind != "lemons":
        raise NotCovered(f"{kind.name}: what repair makes of a device of a gamma law is not in the closed form")
    nodes = scenario.platform.grid.count("node")
    per_node = kind.units / nodes
    clock = 1.0 if kind.exposure == "wall" else running
    own = kind.rate / kind.units if kind.action == "replace" else 0.0
    repair, cured = _way(scenario, running)
    flow = Flow(
        places=kind.units,
        spares=round(scenario.spare_nodes * per_node),
        rate=1.0 / kind.lifetime.mean,
        leaves=own > 0.0,
        others=max(0.0, leaving - own),
        repair=repair * clock,
        cured=cured,
        idle=_idle(scenario) if kind.fails_idle and kind.exposure == "wall" else 0.0,
    )
    seconds = run_seconds(scenario, running) * clock
    found = in_the_job(law, flow, seconds)
    factor = found.mean / law.mean
    doubted = [in_the_job(law, replace(flow, longer=longer), seconds).mean / law.mean for longer in (0.7, 1.4)]
    course = tuple(multiple / found.mean for multiple in found.course)
    unsure = max(abs(one - factor) for one in doubted) / factor + UNSURE * abs(1.0 - factor)
    return Even(_scaled(kind, factor), spread + found.variation, unsure=unsure, course=course)


def _idle(scenario: Scenario) -> float:
    """Share of the spares that stand by powered, of those away."""
    plan = scenario.fleet.spares
    return (plan.hot + plan.warm) / plan.nodes if plan.nodes else 0.0


def _way(scenario: Scenario, running: float) -> tuple[float, float]:
    """Mean seconds in repair, and the chance that it makes a device ordinary."""
    plan = scenario.fleet.repair
    rates = [(_leaving(scenario, kind), kind.repair.mean) for kind in scenario.classes]
    total = sum(rate for rate, _ in rates)
    if plan is None:
        return sum(rate * mean for rate, mean in rates) / total, 0.0
    way = pipeline(total * running, plan)
    return way.mean, 1.0 - way.silent


def run_seconds(scenario: Scenario, running: float) -> float:
    """Wall seconds of a run, of which the job runs for this share."""
    if not scenario.work_steps:
        return scenario.horizon
    return at_most(scenario.horizon, scenario.work_steps * scenario.timeline.step / running)


def _followed(scenario: Scenario, one: Even, within: float) -> Even:
    """Failures that follow others on the same device: none where that has been replaced by then."""
    kind, law = one.kind, one.kind.recurrence
    assert law is not None
    soon = law.again * float(law.gap.cdf(within))
    unsure = one.unsure
    if not scenario.stationary:  # those that follow failures from before the run are missing
        unsure += law.again * min(1.0, law.gap.mean / scenario.horizon)
    if kind.action == "replace":
        # alone 1 - again of the rate; a device that is back in the job by then can still be struck
        kind = replace(_scaled(kind, 1.0 - law.again), recurrence=None)
        nodes = scenario.platform.grid.count("node")
        unsure += law.again * nodes / (nodes + scenario.spare_nodes) * float(law.gap.sf(max(kind.repair.mean, within)))
    elif kind.scope == "memory" and kind.uncontained_action == "replace" and kind.contained < 1.0:
        raise NotCovered(f"{kind.name}: failures follow others on devices of which some are replaced")
    return replace(one, kind=kind, near=soon, unsure=unsure)


def pieces(scenario: Scenario, *, running: float) -> Iterator[tuple[float, float, Scenario]]:
    """(from, to, scenario of constant rates) in wall seconds, up to the horizon.

    Steps of a class on the clock of running time come when that has run so far, at this share.
    """
    kinds = scenario.classes
    late = {kind.name: 1.0 if kind.exposure == "wall" else 1.0 / running for kind in kinds}
    starts = {0.0} | {start * late[kind.name] for kind in kinds for start, _ in kind.drift}
    edges = [*sorted(start for start in starts if start < scenario.horizon), scenario.horizon]
    for begin, end in pairwise(edges):
        now = tuple(_at(kind, begin / late[kind.name]) for kind in kinds)
        yield begin, end, replace(scenario, classes=now)


def _at(kind: FailureClass, time: float) -> FailureClass:
    """The class at the factor of this time."""
    if not kind.drift:
        return kind
    factor = factor_at(kind.drift, time * (1.0 + 1e-12))
    law = replace(kind.lifetime, mean=kind.lifetime.mean / factor, scale=kind.lifetime.scale / factor)
    return replace(kind, lifetime=law, drift=())
