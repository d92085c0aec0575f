"""Nodes that are in repair when a stationary run begins, and the places of the job that lack one for it.

Idea: nodes come to the shop at a rate that depends on the number inside alone (a vacant place does not fail, nor does
a spare in repair). Without limits in the shop, that number then has a known law whatever the lengths of repair are, and
what is left of each is its residual life (insensitivity: Sevastyanov 1957). With crews or parts a prehistory is played.
All of it has streams of its own; one more spare adds at most one node and moves nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from heapq import merge
from math import exp, inf, log

import numpy as np

from gemsim.engine.claims import Taken
from gemsim.engine.pools import Pools
from gemsim.engine.repair import Shop
from gemsim.failures.classes import NO_TIME
from gemsim.failures.laws import Duration
from gemsim.failures.streams import generator, uniforms
from gemsim.failures.trace import Event
from gemsim.scenario import Scenario
from gemsim.scenario.fleet import RepairPlan, Stage
from gemsim.scenario.shop import Flow, flow_of, prehistory, reached

ONE_STAGE = RepairPlan((Stage("repair", NO_TIME, 0.0, 0.0, 0),), 0.0, None)  # each repair in the time of its class
BEFORE = -1  # the number of a failure from before the run


@dataclass(frozen=True, slots=True)
class Start:
    """How the nodes beside the job stand at time 0: `away` spares and the nodes of `lacking` places are in `shop`."""

    shop: Shop
    away: int = 0  # in units
    lacking: tuple[tuple[int, int], ...] = ()  # (first place of a unit, class of the failure that took its node)
    unit: int = 1
    apart: bool = False  # one request for each place: the job runs on without those that lack a node
    marks: Callable[[int, str], float] = lambda _, __: 0.5

    def lacks(self, places: int) -> int:
        """Nodes of the job that are in the shop."""
        return sum(min(first + self.unit, places) - first for first, _ in self.lacking)

    def ask(self, pools: Pools, places: int) -> list[tuple[tuple[int, ...], Taken, Event]]:
        """Ask for nodes for the places that lack one, at time 0."""
        found = []
        groups = [[one] for one in self.lacking] if self.apart else [list(self.lacking)] if self.lacking else []
        for number, group in enumerate(groups):
            vacant = tuple(place for first, _ in group for place in range(first, min(first + self.unit, places)))
            taken = pools.take(len(vacant), 0.0, partial(self.marks, number))
            found.append((vacant, taken, Event(0.0, group[0][1], BEFORE, vacant[0])))
        return found


def at_the_start(scenario: Scenario, seed: int, replication: int, *, stationary: bool) -> Start:
    """Who is in repair when the run begins: nobody in a new fleet, nor where failures are written down."""
    plan = scenario.fleet.repair
    flow = flow_of(scenario) if stationary else None
    if flow is None or flow.rate == 0.0:
        return Start(Shop(plan or ONE_STAGE))
    shop, causes = _in_shop(flow, plan, seed, replication)
    unit, jobs = scenario.fleet.spares.unit, scenario.platform.grid.count("node")
    away = min(len(causes), flow.spares)
    heads = [jobs + number * unit for number in range(away)]
    if away < len(causes):
        order = generator(seed, replication, "before", "place").permutation(flow.places)[: len(causes) - away]
        heads += [int(place) * unit for place in order]
    lacking = tuple(zip(heads[away:], causes[away:], strict=True))
    return Start(
        shop.renamed(dict(enumerate(heads))), away, lacking, unit,
        apart=scenario.shrunk is not None, marks=partial(_ask, seed, replication),
    )  # fmt: skip


@lru_cache(maxsize=64)
def number_law(flow: Flow, mean: float) -> tuple[float, ...]:
    """P(so many are in repair), from 0 to all; `mean` seconds in the shop. Poisson while spares that cannot fail
    suffice."""
    logs = [0.0]
    for inside in range(flow.places + flow.spares):
        births = flow.rate * flow.from_job(inside) + flow.idle * flow.from_spares(inside)
        logs.append(logs[-1] + log(births * mean / (inside + 1)) if births * mean > 0.0 else -inf)
    top = max(logs)
    weights = [exp(one - top) for one in logs]
    total = sum(weights)
    return tuple(one / total for one in weights)


@lru_cache(maxsize=16)
def _in_shop(flow: Flow, plan: RepairPlan | None, seed: int, replication: int) -> tuple[Shop, tuple[int, ...]]:
    """The shop at time 0 with nodes 0, 1, ..., and the class that sent each there."""
    shop = Shop(plan or ONE_STAGE)
    if shop.limited:
        return _prehistory(flow, shop, plan or ONE_STAGE, seed, replication)
    weights, stages = list(flow.rates), [1.0]
    if plan is None:
        weights = [rate * law.mean for rate, law in zip(flow.rates, flow.times, strict=True)]
    else:
        stages = [share * one.time.mean for share, one in zip(reached(plan), plan.stages, strict=True)]
    mean = sum(weights) / flow.rate * sum(stages)
    cumulative = np.cumsum(number_law(flow, mean))
    count = int(np.searchsorted(cumulative, uniforms(seed, replication, "before", "number", count=1)[0], side="right"))
    count = min(count, len(cumulative) - 1)
    marks = _Marks(seed, replication, "", count)
    causes = []
    for node in range(count):
        mark = partial(marks.of, node)
        which = _pick(weights, mark("class"))
        causes.append(flow.causes[which])
        if plan is None:
            shop.enter_for(node, 0.0, residual(flow.times[which], mark("longer"), mark("left")))
        else:
            stage = _pick(stages, mark("stage"))
            left = residual(plan.stages[stage].time, mark("longer"), mark("left"))
            shop.enter(node, 0.0, mark, stage=stage, left=left)
    return shop, tuple(causes)


def residual(law: Duration, longer: float, left: float) -> float:
    """What is left of a time that is under way, from two uniforms: it is the longer, the likelier it is met, and met
    anywhere."""
    if law.kind == "exponential":
        return law.quantile(left)
    if law.kind == "lognormal":
        return law.quantile(longer) * exp(law.sigma**2) * left
    return law.mean * left


def _prehistory(
    flow: Flow, shop: Shop, plan: RepairPlan, seed: int, replication: int
) -> tuple[Shop, tuple[int, ...]]:  # fmt: skip
    """Play what came before through an empty shop; those who are still inside at time 0, in order of coming."""
    ahead = prehistory(plan, flow.rate)
    streams = [("job", flow.rate), ("spares", flow.idle * flow.powered)]
    arrivals = list(merge(*(_arrivals(rate, ahead, seed, replication, name) for name, rate in streams if rate > 0.0)))
    of = {name: _Marks(seed, replication, name, len(arrivals)) for name, _ in streams}
    inside: dict[int, int] = {}  # label -> class
    for label, (when, name, number) in enumerate(arrivals):
        for _, node, _ in shop.returns(when):
            del inside[node]
        mark = partial(of[name].of, number)
        here = len(inside)
        share = flow.from_job(here) if name == "job" else flow.from_spares(here) / flow.powered
        if mark("comes") < share:
            inside[label] = flow.causes[_pick(flow.rates, mark("class"))]
            shop.enter(label, when, mark)
    for _, node, _ in shop.returns(0.0):
        del inside[node]
    return shop.renamed({label: number for number, label in enumerate(inside)}), tuple(inside.values())


def _arrivals(rate: float, ahead: float, seed: int, replication: int, name: str) -> Iterator[tuple[float, str, int]]:
    """Times of a Poisson process in the `ahead` seconds before time 0."""
    gaps = generator(seed, replication, "before", name, "gaps")
    when, number = -ahead, 0
    while (when := when + float(gaps.exponential()) / rate) < 0.0:
        yield when, name, number
        number += 1


class _Marks:
    """Uniforms by name and number, drawn when asked for."""

    def __init__(self, seed: int, replication: int, name: str, count: int) -> None:
        self.key, self.count = (seed, replication, "before", name), count
        self.drawn: dict[str, list[float]] = {}

    def of(self, number: int, name: str) -> float:
        """The uniform `name` of a node."""
        if name not in self.drawn:
            self.drawn[name] = uniforms(*self.key, name, count=self.count)
        return self.drawn[name][number]


def _ask(seed: int, replication: int, number: int, name: str) -> float:
    """The mark of a request at time 0."""
    return uniforms(seed, replication, "before", "request", name, count=number + 1)[number]


def _pick(weights: list[float] | tuple[float, ...], u: float) -> int:
    """The number that a uniform falls on, by weight."""
    ends = np.cumsum(weights)
    return min(int(np.searchsorted(ends, u * ends[-1], side="right")), len(weights) - 1)
