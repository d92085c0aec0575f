"""What a job waits for its spares in closed form: until one has started, and while there is none.

One idea: time in which a node is lacking is cut out. Failures come at the same rate on what is left of the time, so
the rest is a job whose spares are always at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, fsum, log, sqrt

from gemsim.analytic.queues import chain, erlang_b
from gemsim.analytic.repair import in_repair, pipeline, with_parts
from gemsim.analytic.settling import early_error, late, relaxation, used_up
from gemsim.analytic.spares import broken_at_once, joining, tries
from gemsim.analytic.standby import Stretch, over_a_run
from gemsim.errors import NotCovered
from gemsim.protection.arrays import at_most
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
        mean = pipeline(total, scenario.fleet.repair).mean
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
        return Waits(activation=plan.activation[_first(scenario)])
    if plan.join_fails >= 1.0:
        raise NotCovered("spares never join, so each failure waits for its own repair")
    spares = plan.nodes // plan.unit
    law = _broken(scenario, asked)
    warmer = -fsum(law[spares + 1 :])
    if plan.cold and asked.idle:  # those that have warmed up fail too
        law = _broken(scenario, asked, ceil(_used(scenario, asked, _broken(scenario, asked, plan.cold), run)))
    beyond, finds = fsum(law[spares + 1 :]), fsum(law[spares:])
    warmer += beyond
    if asked.only_running:
        beyond = erlang_b(spares + 1, rate * asked.mean)
    tried = joining(plan.join_fails, plan.join_timeout)
    activation, error, variance = _activation(scenario, asked, law, run)
    each = plan.join_timeout + activation
    activation += tried.lost + (tried.spares - 1.0) * activation
    variance += plan.join_fails * (tried.spares * each) ** 2
    selections = borrowed = lost = 0.0
    doubt = warmer + rate * finds * at_most(asked.mean, run.stop) + rate * rate * variance / 2.0
    if plan.selection or plan.reshuffle or (plan.borrow and finds > SURE):
        _need_singles(asked, plan.unit)
        stretches = [Stretch(run.wall / len(run.course), rate / run.running * part) for part in run.course]
        expected = over_a_run(stretches, plan, asked.mean, stop=_stop(asked, run), idle=asked.idle)
        selections, borrowed = expected.selections, expected.borrowed
        lost = (selections * plan.selection + borrowed * plan.borrow_each) / run.wall
        doubt += 0.5 * lost + _borrowed_before(scenario, borrowed, run)
    if plan.borrow:
        beyond = 0.0
    parts = scenario.fleet.repair is not None and scenario.fleet.repair.parts is not None
    if asked.only_running or len(asked.sizes) > 1 or plan.join_fails or parts:
        doubt += beyond * 0.25
    doubt += early_error(scenario, beyond, units=rate, spares=spares, wall=run.wall)
    return Waits(beyond, activation, finds, lost, doubt, error, selections, borrowed)


def _stop(asked: Demand, run: Run) -> float:
    return run.stop if asked.only_running else 0.0


def _need_singles(asked: Demand, unit: int) -> None:
    if unit > 1 or not asked.single:
        raise NotCovered("selections and borrowed nodes are in the closed form for single nodes alone")


def _broken(scenario: Scenario, asked: Demand, warmed: int = 0) -> list[float]:
    """P(n units are broken), where so many of the cold ones are powered by now."""
    plan, repair = scenario.fleet.spares, scenario.fleet.repair
    crews = [stage.crews for stage in repair.stages] if repair is not None else [0]
    if any(crews) and not (asked.single and not plan.join_fails):
        raise NotCovered("limited crews, where nodes leave together, have no law in closed form")
    if any(crews) and (len(crews) > 1 or (repair is not None and repair.parts is not None)):
        assert repair is not None
        return in_repair(asked.units, repair)
    if repair is not None and repair.parts is not None and asked.single and not plan.join_fails:
        return with_parts(asked.units, repair)
    if asked.single and not plan.join_fails:
        return _one_by_one(scenario, asked, crews[0], warmed)
    if not asked.single and plan.join_fails:
        raise NotCovered("units that leave together, where spares may not join, have no law in closed form")
    sizes: Sequence[tuple[int, float]] = asked.sizes
    if plan.join_fails:
        sizes = [(size, share * asked.units) for size, share in tries(plan.join_fails)]
    return broken_at_once(fsum(rate for _, rate in sizes), asked.mean, sizes=sizes, together=asked.together)


def _one_by_one(scenario: Scenario, asked: Demand, crews: int, warmed: int = 0) -> list[float]:
    """The same where units leave one at a time; spares that stand by fail too, the fewer the more are broken."""
    plan, repair = scenario.fleet.spares, scenario.fleet.repair
    mean = asked.mean
    if crews:
        assert repair is not None
        (stage,) = repair.stages
        if stage.time.kind != "exponential":
            raise NotCovered(f"repair stage {stage.name}: {crews} crews with {stage.time.kind} times have no law")
        mean = stage.time.mean
    powered = (plan.hot + plan.warm + warmed) // plan.unit
    load = (asked.units + powered * asked.idle) * mean
    top = powered + plan.cold // plan.unit + int(load + 12.0 * sqrt(load) + 40.0)
    if crews:
        top += int(40.0 / log(crews / load)) if load < crews else 0
    up = [asked.units + max(0, powered - broken) * asked.idle for broken in range(top)]
    return chain(up, [min(broken, crews or broken) / mean for broken in range(1, top + 1)])


def _first(scenario: Scenario) -> int:
    """The kind that a failure takes first, and that a node from repair is for a job that waits for it: hot or warm."""
    plan = scenario.fleet.spares
    return 0 if plan.hot or plan.selection or plan.reshuffle else 1


def _activation(scenario: Scenario, asked: Demand, law: Sequence[float], run: Run) -> tuple[float, float, float]:
    """Mean seconds until the spare that is next can start, the error of that, and the variance.

    Nodes from repair and from other jobs are hot or warm, so that those are used for most of a run; who is cold at the
    start is used once.
    """
    plan = scenario.fleet.spares
    first, warm, cold = plan.activation[_first(scenario)], plan.activation[1], plan.activation[2]
    starts = asked.units * run.wall
    taken, lent = _used(scenario, asked, law, run), _used(scenario, asked, law, run, lent=True)
    once = taken / 2.0 * (cold - first) / starts
    mean, error = first + once, abs(once)
    variance = taken / 2.0 / starts * (cold - first) ** 2
    beyond = fsum(law[plan.hot // plan.unit :])  # at least this often no hot one is left
    if not plan.hot or warm == first or beyond < SURE or not plan.warm + taken + lent:
        return mean, error, variance
    _need_singles(asked, plan.unit)
    shares = [_without_hot(scenario, asked, run, plan.warm + more) for more in {0, ceil(min(taken + lent, starts))}]
    share = (min(shares) + max(shares)) / 2.0
    unsure = 0.3 * share + (max(shares) - min(shares)) / 2.0
    if not scenario.stationary:
        unsure += share * late(relaxation(scenario, asked.units), plan.hot, run.wall)
    return (
        mean + share * (warm - first),
        error + unsure * abs(warm - first),
        variance + share * (1.0 - share) * (warm - first) ** 2,
    )


def _used(scenario: Scenario, asked: Demand, law: Sequence[float], run: Run, *, lent: bool = False) -> float:
    """At most so many cold units are used in the run, or (`lent`) units of other jobs."""
    plan, largest = scenario.fleet.spares, max(size for size, _ in asked.sizes)
    first = plan.nodes if lent else plan.hot + plan.warm
    count = plan.borrow if lent else plan.cold
    starts = asked.units * run.wall
    return used_up(law, first // plan.unit, count // plan.unit, starts=starts, together=largest)


def _without_hot(scenario: Scenario, asked: Demand, run: Run, others: int) -> float:
    """Share of failures that take a warm one, of so many."""
    if not others:
        return 0.0
    from gemsim.analytic.standby import standby

    plan = scenario.fleet.spares
    found = standby(
        plan.hot,
        others,
        asked.units / run.running,
        asked.mean,
        stop=_stop(asked, run),
        anew=plan.selection > 0.0 or plan.reshuffle,
        idle=asked.idle,
    )
    return found.without_hot / found.failures


def _borrowed_before(scenario: Scenario, borrowed: float, run: Run) -> float:
    """Error, share of time: a fleet that has long been running may have borrowed all that it ever will."""
    return borrowed * scenario.fleet.spares.borrow_each / run.wall if scenario.stationary else 0.0
