"""The pools against a process for each attempt and repair, and faults that this notices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.engine.claims import Taken
from gemsim.engine.pools import Pools
from gemsim.engine.repair import renamed
from gemsim.scenario.fleet import RepairPlan, SparesPlan
from tests.fleet.queues import Process, exponential, marks_of, pools, repair, spares, stage
from tests.fleet.slow_pools import Request, SlowPools

JOBS = 12


@dataclass(frozen=True)
class Blow:
    """Failures of these places of the job at once, and of an idle spare."""

    gap: float
    places: tuple[int, ...]
    notice: float  # s until the spares can start
    idle: int | None = None


blows = st.builds(
    Blow,
    gap=st.integers(0, 60).map(float),
    places=st.lists(st.integers(0, JOBS - 1), max_size=3, unique=True).map(tuple),
    notice=st.sampled_from([0.0, 0.0, 7.3]),
    idle=st.none() | st.integers(0, 5),
)


@st.composite
def spare_plans(draw: st.DrawFn) -> SparesPlan:
    """Everything there is, at sizes that run out."""
    return spares(
        hot=draw(st.integers(0, 3)),
        warm=draw(st.integers(0, 3)),
        cold=draw(st.integers(0, 2)),
        activation=draw(st.sampled_from([(0.0, 0.0, 0.0), (0.7, 3.1, 40.9), (5.3, 1.1, 9.7)])),
        join_fails=draw(st.sampled_from([0.0, 0.3, 0.8, 1.0])),
        join_timeout=draw(st.sampled_from([2.9, 21.7])),
        selection=draw(st.sampled_from([0.0, 8.9])),
        borrow=draw(st.integers(0, 4)),
        borrow_each=13.37,
    )


REPAIR = repair(
    stage("auto", exponential(15.0), escalate=0.6, silent=0.4), stage("manual", exponential(60.0), silent=0.2)
)
CREWS = repair(*(replace(one, crews=crews) for one, crews in zip(REPAIR.stages, (2, 1), strict=True)))

Outcome = tuple[float, list[int], bool]


def ours(
    plan: SparesPlan, mending: RepairPlan, script: Sequence[Blow], key: object = ""
) -> tuple[list[Outcome], Pools]:
    """What each request of a script comes to."""
    these = pools(plan, mending, JOBS)
    job: list[int | None] = list(range(JOBS))
    asked: list[tuple[Taken, list[int]]] = []
    pending: list[tuple[Taken, list[int]]] = []
    now = 0.0
    for number, blow in enumerate(script):
        now += blow.gap + 1e-4
        for taken, places in [one for one in pending if one[0].ready <= now]:
            for place, node in zip(places, taken.nodes, strict=True):
                job[place] = node
            pending.remove((taken, places))
        marks = marks_of(f"{key}{number}")
        these.settle(now)
        idle = None if blow.idle is None else these.idle_node(blow.idle)
        if idle is not None:
            these.lose_idle(idle, now, renamed(marks, "idle "))
        hit = [place for place in blow.places if job[place] is not None]
        if hit:
            these.send([job[place] for place in hit], now, marks)  # type: ignore[misc]
            taken = these.take(len(hit), now, marks, begin=now + blow.notice)
            asked.append((taken, hit))
            pending.append((taken, hit))
            for place in hit:
                job[place] = None
    return [(taken.ready, taken.nodes, taken.selected) for taken, _ in asked], these


def slow(plan: SparesPlan, mending: RepairPlan, script: Sequence[Blow]) -> tuple[list[Outcome], SlowPools]:
    """The same as it happens."""
    env = simpy.Environment()
    these = SlowPools(env, plan, mending, JOBS)
    job: list[int | None] = list(range(JOBS))
    asked: list[Request] = []
    pending: list[tuple[Request, list[int]]] = []

    def story() -> Process:
        for number, blow in enumerate(script):
            yield env.timeout(blow.gap + 1e-4)
            for request, places in [one for one in pending if one[0].ready <= env.now]:
                for place, node in zip(places, request.nodes, strict=True):
                    job[place] = node
                pending.remove((request, places))
            marks = marks_of(str(number))
            powered = [*these.pool["hot"], *these.pool["warm"]]
            if blow.idle is not None and blow.idle < len(powered):
                node = powered[blow.idle]
                these.pool["hot" if node in these.pool["hot"] else "warm"].remove(node)
                if plan.join_fails:
                    these.failed.add(node)
                these.shop.enter(node, renamed(marks, "idle "))
            hit = [place for place in blow.places if job[place] is not None]
            for order, place in enumerate(hit):
                node_hit = job[place]
                assert node_hit is not None
                these.shop.enter(node_hit, renamed(marks, f"{order}:") if order else marks)
                job[place] = None
            if hit:
                asked.append(these.ask(len(hit), env.now + blow.notice, marks))
                pending.append((asked[-1], hit))

    env.process(story())
    env.run(until=1e6)
    return [(request.ready, request.nodes, request.selected) for request in asked], these


def check_oracle(plan: SparesPlan, mending: RepairPlan, script: Sequence[Blow]) -> None:
    """Ready times, nodes, selections and counts are those of the oracle."""
    outcomes, these = ours(plan, mending, script)
    expected, oracle = slow(plan, mending, script)
    assert [ready for ready, _, _ in outcomes] == pytest.approx([ready for ready, _, _ in expected], rel=1e-9)
    met = [k for k, (ready, _, _) in enumerate(expected) if ready < inf]
    assert [outcomes[k][1:] for k in met] == [expected[k][1:] for k in met]
    these.settle(1e6)
    assert these.selections == oracle.selections
    assert these.borrowed == oracle.borrowed
    assert these.failed_joins == oracle.failed_joins
    count = these.counts()
    assert [count[kind] for kind in ("hot", "warm", "cold")] == [len(oracle.pool[k]) for k in ("hot", "warm", "cold")]


@settings(max_examples=250)
@given(plan=spare_plans(), crews=st.booleans(), script=st.lists(blows, max_size=12))
def test_same_as_a_process_for_each_attempt(plan: SparesPlan, crews: bool, script: list[Blow]) -> None:
    check_oracle(plan, CREWS if crews else REPAIR, script)
