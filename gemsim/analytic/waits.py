"""What a job waits for its spares in closed form: until one has started, and while there is none.

One idea: time in which a node is lacking is cut out. Failures come at the same rate on what is left of the time, so
the rest is a job whose spares are always at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum, log, sqrt

from gemsim.analytic.queues import chain, erlang_b
from gemsim.analytic.repair import in_repair, pipeline
from gemsim.analytic.spares import broken_at_once, joining, tries
from gemsim.analytic.standby import Stretch, over_a_run
from gemsim.errors import NotCovered
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario

SURE = 1e-12


@dataclass(frozen=True, slots=True)
class Waits:
    """`standing`: share of the time in which a node is lacking; `activation`: mean seconds to start a replacement;
    `dry`: share of replacements that find no spare; `lost`: share of time for selections and borrowed nodes; `doubt`:
    error, share of time; `error`: of the mean activation, seconds."""

    standing: float = 0.0
    activation: float = 0.0
    dry: float = 0.0
    lost: float = 0.0
    doubt: float = 0.0
    error: float = 0.0
    selections: float = 0.0
    borrowed: float = 0.0

    @property
    def out(self) -> float:
        """Share of the time to be cut out."""
        return self.standing + self.lost

    def applied(self, scenario: Scenario) -> Scenario:
        """The scenario with this activation for all spares."""
        spares = replace(scenario.fleet.spares, activation=(self.activation,) * 3)
        return replace(scenario, fleet=replace(scenario.fleet, spares=spares))


@dataclass(frozen=True, slots=True)
class Run:
    """`running`: share of the time in which the job runs while no node is lacking; `stop`: mean seconds of a recovery;
    `wall`: seconds of the run; `course`: how often nodes leave in equal parts of it, relative to the mean."""

    running: float
    stop: float
    wall: float
    course: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """Units that leave the job: `sizes` (units together, starts per wall second), mean repair in seconds, `together`
    (all of a start come back at once), `only_running` (nothing fails while the job waits), `idle` (failures per second
    of each powered spare)."""

    sizes: tuple[tuple[int, float], ...]
    mean: float
    together: bool
    only_running: bool
    idle: float

    @property
    def units(self) -> float:
        """Units per second."""
        return fsum(size * rate for size, rate in self.sizes)

    @property
    def single(self) -> bool:
        """Units leave one at a time."""
        return all(size == 1 for size, _ in self.sizes)


def demand(scenario: Scenario, found: Sequence[Branch], running: float) -> Demand:
    """What the failures of the job take out of it, and those of its spares."""
    plan, sizes, repair = scenario.fleet.spares, dict[int, float](), 0.0
    wall = False
    for branch in found:
        if branch.action != "replace":
            continue
        units = len({host // plan.unit for host in branch.damage.hosts}) or 1
        rate = branch.rate * (running if branch.kind.exposure == "running" else 1.0)
        wall |= branch.kind.exposure == "wall"
        sizes[units] = sizes.get(units, 0.0) + rate
        repair += units * rate * branch.kind.repair.mean
    total = fsum(units * rate for units, rate in sizes.items())
    nodes = scenario.platform.grid.count("node")
    idle = sum(k.rate for k in scenario.classes if k.fails_idle and k.exposure == "wall") / nodes
    if scenario.fleet.repair is not None:
        mean = pipeline(total * plan.unit, scenario.fleet.repair).mean
    else:
        mean = repair / total if total else 0.0
    many = any(units > 1 and not _in_batches(found, units, plan.unit) for units in sizes)
    together = many and scenario.fleet.repair is None
    return Demand(tuple(sorted(sizes.items())), mean, together, not wall and total > 0.0, idle)


def _in_batches(found: Sequence[Branch], units: int, unit: int) -> bool:
    """Whether starts of this size are batches, whose nodes are repaired each by itself."""
    return any(
        b.kind.batch is not None and len({host // unit for host in b.damage.hosts}) == units
        for b in found
        if b.action == "replace"
    )


def waits(scenario: Scenario, found: Sequence[Branch], run: Run) -> Waits:
    """All about waiting for spares. Raises NotCovered where no form applies."""
    plan = scenario.fleet.spares
    asked = demand(scenario, found, run.running)
    rate = asked.units
    if rate == 0.0:
        return Waits(activation=plan.activation[0])
    if plan.join_fails >= 1.0:
        raise NotCovered("spares never join, so each failure waits for its own repair")
    law = _broken(scenario, asked)
    spares = plan.nodes // plan.unit
    beyond, finds = fsum(law[spares + 1 :]), fsum(law[spares:])
    if asked.only_running:
        beyond = erlang_b(spares + 1, rate * asked.mean)
    tried = joining(plan.join_fails, plan.join_timeout)
    activation, error, variance = _activation(scenario, asked, law, run)
    each = plan.join_timeout + activation
    activation += tried.lost + (tried.spares - 1.0) * activation
    variance += plan.join_fails * (tried.spares * each) ** 2
    selections = borrowed = lost = 0.0
    doubt = rate * finds * min(asked.mean, run.stop) + rate * rate * variance / 2.0
    if plan.selection or plan.reshuffle or (plan.borrow and finds > SURE):
        _need_singles(asked, plan.unit)
        stretches = [Stretch(run.wall / len(run.course), rate / run.running * part) for part in run.course]
        expected = over_a_run(stretches, plan, asked.mean, stop=_stop(asked, run), idle=asked.idle)
        selections, borrowed = expected.selections, expected.borrowed
        lost = (selections * plan.selection + borrowed * plan.borrow_each) / run.wall
        doubt += 0.5 * lost
    if plan.borrow:
        beyond = 0.0
    if asked.only_running or len(asked.sizes) > 1 or plan.join_fails:
        doubt += beyond * 0.25
    doubt += beyond * min(1.0, asked.mean / run.wall)  # nobody is broken at the start
    return Waits(beyond, activation, finds, lost, doubt, error, selections, borrowed)


def _stop(asked: Demand, run: Run) -> float:
    return run.stop if asked.only_running else 0.0


def _need_singles(asked: Demand, unit: int) -> None:
    if unit > 1 or not asked.single:
        raise NotCovered("selections and borrowed nodes are in the closed form for single nodes alone")


def _broken(scenario: Scenario, asked: Demand) -> list[float]:
    """P(n units are broken)."""
    plan, repair = scenario.fleet.spares, scenario.fleet.repair
    crews = [stage.crews for stage in repair.stages] if repair is not None else [0]
    if any(crews) and not (asked.single and not plan.join_fails):
        raise NotCovered("limited crews, where nodes leave together, have no law in closed form")
    if any(crews) and len(crews) > 1:
        assert repair is not None
        return in_repair(asked.units, repair)
    if asked.single and not plan.join_fails:
        return _one_by_one(scenario, asked, crews[0])
    if not asked.single and plan.join_fails:
        raise NotCovered("units that leave together, where spares may not join, have no law in closed form")
    sizes: Sequence[tuple[int, float]] = asked.sizes
    if plan.join_fails:
        sizes = [(size, share * asked.units) for size, share in tries(plan.join_fails)]
    return broken_at_once(fsum(rate for _, rate in sizes), asked.mean, sizes=sizes, together=asked.together)


def _one_by_one(scenario: Scenario, asked: Demand, crews: int) -> list[float]:
    """The same where units leave one at a time; spares that stand by fail too, the fewer the more are broken."""
    plan, repair = scenario.fleet.spares, scenario.fleet.repair
    mean = asked.mean
    if crews:
        assert repair is not None
        (stage,) = repair.stages
        if stage.time.kind != "exponential":
            raise NotCovered(f"repair stage {stage.name}: {crews} crews with {stage.time.kind} times have no law")
        mean = stage.time.mean
    powered = (plan.hot + plan.warm) // plan.unit
    load = (asked.units + powered * asked.idle) * mean
    top = powered + plan.cold // plan.unit + int(load + 12.0 * sqrt(load) + 40.0)
    if crews:
        top += int(40.0 / log(crews / load)) if load < crews else 0
    up = [asked.units + max(0, powered - broken) * asked.idle for broken in range(top)]
    return chain(up, [min(broken, crews or broken) / mean for broken in range(1, top + 1)])


def _activation(scenario: Scenario, asked: Demand, law: Sequence[float], run: Run) -> tuple[float, float, float]:
    """Mean seconds until the spare that is next can start, the error of that, and the variance."""
    plan = scenario.fleet.spares
    hot, warm, cold = plan.activation
    most = max(warm if plan.warm else 0.0, cold if plan.cold else 0.0, hot if plan.hot else 0.0)
    first = hot if plan.hot else warm if plan.warm else cold
    if not plan.nodes:
        return hot, 0.0, 0.0
    beyond = fsum(law[plan.hot // plan.unit :])  # at least this often no hot one is left
    if most == first or (plan.hot and beyond < SURE):
        return first, 0.0, 0.0
    if not plan.hot:
        return first, (most - first) * fsum(law[plan.warm // plan.unit :]), 0.0
    _need_singles(asked, plan.unit)
    from gemsim.analytic.standby import standby

    standing_by = standby(
        plan.hot,
        plan.warm + plan.cold,
        asked.units / run.running,
        asked.mean,
        stop=_stop(asked, run),
        anew=plan.selection > 0.0 or plan.reshuffle,
        idle=asked.idle,
    )
    share = standing_by.without_hot / standing_by.failures
    second = warm if plan.warm else cold
    error = share * (abs(second - first) * 0.3 + abs(most - second))
    return first + share * (second - first), error, share * (1.0 - share) * (second - first) ** 2
