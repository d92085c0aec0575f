"""A slow repair shop as oracle, one SimPy process for each node; plans and marks for tests; exact laws of queues."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterable
from math import exp, factorial
from typing import Any

import numpy as np
import simpy

from gemsim.engine.pools import Pools
from gemsim.engine.repair import Shop
from gemsim.failures.laws import Duration, duration
from gemsim.scenario.fleet import Parts, RepairPlan, SparesPlan, Stage

Marks = Callable[[str], float]
Process = Generator[simpy.Event, Any, None]


def marks_of(key: object) -> Marks:
    """Uniforms that depend on the key and the name alone."""
    return lambda name: (zlib.crc32(f"{key}/{name}".encode()) + 0.5) / 2.0**32


class Drawn:
    """Marks out of a generator: each name is a fresh uniform."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.left: list[float] = []

    def __call__(self, name: str) -> float:
        del name
        if not self.left:
            self.left = self.rng.random(4096).tolist()
        return self.left.pop()


def exponential(mean: float) -> Duration:
    """Exponential of this mean."""
    return duration("exponential", mean)


def stage(name: str, time: Duration | float, *, escalate: float = 0.0, silent: float = 0.0, crews: int = 0) -> Stage:
    """A stage of repair; a number is a fixed time in seconds."""
    law = duration("fixed", time) if isinstance(time, (int, float)) else time
    return Stage(name, law, escalate, silent, crews)


def repair(*stages: Stage, parts: Parts | None = None) -> RepairPlan:
    """A plan of these stages."""
    return RepairPlan(stages, 0.0, parts)


def spares(
    *,
    hot: int = 0,
    warm: int = 0,
    cold: int = 0,
    unit: int = 1,
    activation: tuple[float, float, float] = (0.0, 0.0, 0.0),
    join_fails: float = 0.0,
    join_timeout: float = 0.0,
    selection: float = 0.0,
    borrow: int = 0,
    borrow_each: float = 0.0,
) -> SparesPlan:
    """Spares with nothing that is not named."""
    return SparesPlan(
        hot, warm, cold, unit, activation, join_fails, join_timeout, selection, borrow, borrow_each, False, "wait"
    )


def joins(*values: float) -> Marks:
    """Marks join:0, join:1, ... as written down; any other is one half."""
    table = {f"join:{k}": value for k, value in enumerate(values)}
    return lambda name: table.get(name, 0.5)


ALL_JOIN = joins()


def pools(plan: SparesPlan, seconds: float | RepairPlan = 1000.0, jobs: int = 100) -> Pools:
    """Pools with a shop of one stage of fixed length, or of this plan."""
    plan_of_shop = seconds if isinstance(seconds, RepairPlan) else repair(stage("x", seconds))
    return Pools(plan, Shop(plan_of_shop), jobs=jobs)


class SlowShop:
    """Each node is a process; crews are SimPy resources, the stock a container."""

    def __init__(self, env: simpy.Environment, plan: RepairPlan, back: Callable[[int, bool], None]) -> None:
        self.env, self.plan, self.back = env, plan, back
        self.crews = [simpy.Resource(env, one.crews) if one.crews else None for one in plan.stages]
        self.store = simpy.Container(env, init=plan.parts.stock if plan.parts else 0)
        self.inside = 0

    def enter(self, node: int, marks: Marks) -> None:
        """A node comes in now."""
        self.inside += 1
        self.env.process(self._mend(node, marks))

    def _mend(self, node: int, marks: Marks) -> Process:
        repaired = True
        for number, one in enumerate(self.plan.stages):
            last = number == len(self.plan.stages) - 1
            parts = self.plan.parts
            if last and parts and marks("part") < parts.needed:
                self.env.process(self._order(parts.lead.quantile(marks("lead"))))
                yield self.store.get(1)
            seconds = one.time.quantile(marks(f"repair:{one.name}"))
            crew = self.crews[number]
            if crew is None:
                yield self.env.timeout(seconds)
            else:
                with crew.request() as turn:
                    yield turn
                    yield self.env.timeout(seconds)
            if last or marks(f"escalate:{one.name}") >= one.escalate:
                repaired = marks(f"silent:{one.name}") >= one.silent
                break
        self.inside -= 1
        self.back(node, repaired)

    def _order(self, lead: float) -> Process:
        yield self.env.timeout(lead)
        yield self.store.put(1)


def slow_returns(plan: RepairPlan, arrivals: Iterable[tuple[float, int]]) -> list[tuple[float, int, bool]]:
    """When each (time, node) is back, each node with `marks_of(node)`."""
    env = simpy.Environment()
    back: list[tuple[float, int, bool]] = []
    shop = SlowShop(env, plan, lambda node, repaired: back.append((env.now, node, repaired)))

    def come(when: float, node: int) -> Process:
        yield env.timeout(when)
        shop.enter(node, marks_of(node))

    for when, node in arrivals:
        env.process(come(when, node))
    env.run()
    return back


def all_busy(offered: float, servers: int) -> float:
    """P(an arrival waits) in M/M/c with `offered` erlangs (Erlang's C formula)."""
    last = offered**servers / factorial(servers) / (1 - offered / servers)
    return last / (sum(offered**k / factorial(k) for k in range(servers)) + last)


def poisson_cdf(k: int, mean: float) -> float:
    """P(N <= k) of a Poisson number."""
    return exp(-mean) * sum(mean**n / factorial(n) for n in range(k + 1))
