"""The repair shop: timelines by hand, a SimPy shop as oracle, and what may never make anyone wait longer."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.engine.repair import Marks, Return, Shop
from gemsim.failures.laws import Duration, duration, quantile
from gemsim.scenario.fleet import Parts, RepairPlan
from tests.fleet.queues import exponential, marks_of, repair, slow_returns, stage

Arrivals = list[tuple[float, int]]


def ends(plan: RepairPlan, arrivals: Arrivals, marks: Callable[[int], Marks] = marks_of) -> list[Return]:
    """When each is back, in order."""
    shop = Shop(plan)
    back: list[Return] = []
    for when, node in arrivals:
        back += shop.returns(when)
        shop.enter(node, when, marks(node))
    return back + shop.returns(inf)


def fixed(**values: float) -> Marks:
    """Marks that are written down; asking for another is an error. repair__x stands for repair:x."""
    return lambda name: values[name.replace(":", "__")]


# ---------------------------------------------------------------- by hand


def test_one_stage_without_limits() -> None:
    assert ends(repair(stage("x", 10.0)), [(0.0, 7), (1.0, 8), (1.0, 9)]) == [
        (10.0, 7, True),
        (11.0, 8, True),
        (11.0, 9, True),
    ]


def test_crew_takes_them_in_order_of_arrival() -> None:
    plan = repair(stage("x", 10.0, crews=1))
    assert ends(plan, [(0.0, 3), (1.0, 2), (2.0, 1)]) == [(10.0, 3, True), (20.0, 2, True), (30.0, 1, True)]
    shop = Shop(plan)
    for when, node in ((0.0, 3), (1.0, 2), (2.0, 1)):
        shop.enter(node, when, marks_of(node))
    shop.returns(inf)
    assert shop.crew_wait == 9.0 + 18.0


def test_escalation_and_silent_failure_by_their_marks() -> None:
    plan = repair(stage("auto", 2.0, escalate=0.8, silent=0.4), stage("manual", 48.0, silent=0.2))
    ways = {
        0: fixed(repair__auto=0.5, escalate__auto=0.79, repair__manual=0.5, silent__manual=0.2),
        1: fixed(repair__auto=0.5, escalate__auto=0.79, repair__manual=0.5, silent__manual=0.19),
        2: fixed(repair__auto=0.5, escalate__auto=0.81, silent__auto=0.4),
        3: fixed(repair__auto=0.5, escalate__auto=0.81, silent__auto=0.39),
    }
    assert ends(plan, [(0.0, node) for node in ways], ways.__getitem__) == [
        (2.0, 2, True),
        (2.0, 3, False),
        (50.0, 0, True),
        (50.0, 1, False),
    ]


def test_whoever_is_at_the_second_door_first_goes_first() -> None:
    """Node 1 enters later but leaves the first stage sooner."""
    plan = repair(stage("a", exponential(10.0), escalate=1.0), stage("b", 100.0, crews=1))
    slow = fixed(repair__a=1 - exp(-2), escalate__a=0.0, repair__b=0.0, silent__b=0.5)  # 20 s
    fast = fixed(repair__a=1 - exp(-1), escalate__a=0.0, repair__b=0.0, silent__b=0.5)  # 10 s
    back = ends(plan, [(0.0, 0), (5.0, 1)], {0: slow, 1: fast}.__getitem__)
    assert [(round(when, 9), node) for when, node, _ in back] == [(115.0, 1), (215.0, 0)]


def test_parts_are_taken_from_the_stock_and_ordered_anew() -> None:
    plan = repair(stage("x", 1.0), parts=Parts(1.0, 2, duration("fixed", 100.0)))
    assert [when for when, _, _ in ends(plan, [(0.0, 0), (10.0, 1), (20.0, 2), (30.0, 3), (40.0, 4)])] == [
        1.0,
        11.0,
        101.0,
        111.0,
        121.0,
    ]


def test_a_part_is_not_waited_for_by_the_crew() -> None:
    """The second node waits 99 s for its part; the third needs none and passes it."""
    plan = repair(stage("x", 10.0, crews=1), parts=Parts(0.5, 1, duration("fixed", 100.0)))
    needs = fixed(repair__x=0.0, part=0.4, lead=0.0, silent__x=0.5)
    none = fixed(repair__x=0.0, part=0.6, silent__x=0.5)
    back = ends(plan, [(0.0, 0), (1.0, 1), (2.0, 2)], {0: needs, 1: needs, 2: none}.__getitem__)
    assert back == [(10.0, 0, True), (20.0, 2, True), (110.0, 1, True)]


def test_no_stock_at_all_waits_for_the_order() -> None:
    assert ends(repair(stage("x", 1.0), parts=Parts(1.0, 0, duration("fixed", 5.0))), [(0.0, 0)]) == [(6.0, 0, True)]


def test_parts_are_for_the_last_stage() -> None:
    plan = repair(stage("a", 1.0, escalate=0.5), stage("b", 1.0), parts=Parts(1.0, 0, duration("fixed", 50.0)))
    early = fixed(repair__a=0.0, escalate__a=0.6)
    late = fixed(repair__a=0.0, escalate__a=0.4, part=0.0, lead=0.0, repair__b=0.0)
    assert ends(plan, [(0.0, 0), (0.0, 1)], {0: early, 1: late}.__getitem__) == [(1.0, 0, True), (52.0, 1, True)]


def test_a_known_time_needs_nobody() -> None:
    shop = Shop(repair(stage("x", 10.0, crews=1)))
    shop.enter(0, 0.0, marks_of(0))
    shop.enter_for(1, 0.0, 3.0)
    assert shop.returns(inf) == [(3.0, 1, True), (10.0, 0, True)]


def test_look_ahead_changes_nothing() -> None:
    plan = repair(stage("a", exponential(9.0), escalate=0.7), stage("b", exponential(20.0), crews=2))
    shop, other = Shop(plan), Shop(plan)
    for node in range(40):
        for each in (shop, other):
            each.enter(node, float(node), marks_of(node))
        seen = [shop.next_returns(n) for n in range(1, shop.inside + 2)]
        assert seen == sorted(seen)
        assert seen[-1] == inf
        assert shop.returns(float(node)) == other.returns(float(node))
    assert shop.returns(inf) == other.returns(inf)


@pytest.mark.parametrize("law", [duration("fixed", 3.0), exponential(3.0), duration("lognormal", 3.0, 1.2)])
def test_quantile_is_that_of_the_law(law: Duration) -> None:
    drawn = quantile(law)
    assert [drawn(u) for u in (0.0, 0.1, 0.5, 0.999)] == [law.quantile(u) for u in (0.0, 0.1, 0.5, 0.999)]


# ---------------------------------------------------------------- against the oracle


@st.composite
def plans(draw: st.DrawFn, *, limits: bool = True) -> RepairPlan:
    """Up to three stages with and without crews, parts with fixed or random lead times."""
    laws = st.sampled_from([exponential(9.0), exponential(30.0), duration("lognormal", 20.0, 1.0)])
    shares = st.sampled_from([0.0, 0.3, 0.8, 1.0])
    stages = [
        stage(f"s{k}", draw(laws), escalate=draw(shares), silent=draw(shares), crews=draw(st.integers(0, 3)) * limits)
        for k in range(draw(st.integers(1, 3)))
    ]
    leads = st.sampled_from([duration("fixed", 40.0), exponential(40.0)])
    parts = st.builds(Parts, needed=st.sampled_from([0.3, 1.0]), stock=st.integers(0, 3), lead=leads)
    return repair(*stages, parts=draw(st.none() | parts) if limits else None)


@st.composite
def arrivals(draw: st.DrawFn) -> Arrivals:
    """Times without ties: order among equals is judged by hand above."""
    gaps = draw(st.lists(st.integers(0, 20), min_size=1, max_size=25))
    return [(float(when) + 1e-3 * node, node) for node, when in enumerate(np.cumsum(gaps))]


@settings(max_examples=150)
@given(plan=plans(), come=arrivals())
def test_same_as_a_process_for_each_node(plan: RepairPlan, come: Arrivals) -> None:
    check_oracle(plan, come)


def check_oracle(plan: RepairPlan, come: Arrivals) -> None:
    """The shop and its oracle agree on who is back when, and how."""
    ours, slow = ends(plan, come), slow_returns(plan, come)
    assert [(node, mended) for _, node, mended in ours] == [(node, mended) for _, node, mended in slow]
    assert [when for when, _, _ in ours] == pytest.approx([when for when, _, _ in slow], rel=1e-12)


@settings(max_examples=40)
@given(plan=plans(), come=arrivals())
def test_little_exactly(plan: RepairPlan, come: Arrivals) -> None:
    """The number inside, integrated step by step, is the sum of the stays."""
    shop = Shop(plan)
    back: list[Return] = []
    for when, node in come:
        back += shop.returns(when)
        shop.enter(node, when, marks_of(node))
    back += shop.returns(inf)
    end = back[-1][0]
    changes = sorted([(when, 1) for when, _ in come] + [(when, -1) for when, _, _ in back])
    area, inside, last = 0.0, 0, 0.0
    for when, step in changes:
        area += inside * (when - last)
        inside, last = inside + step, when
    stays = sum(when for when, _, _ in back) - sum(when for when, _ in come)
    assert shop.node_seconds(end) == pytest.approx(area, rel=1e-9)
    assert shop.node_seconds(end) == pytest.approx(stays, rel=1e-9)
    assert shop.inside == inside == 0


@settings(max_examples=40)
@given(plan=plans(limits=False), come=arrivals(), more=st.integers(0, 3))
def test_crews_enough_for_all_are_no_limit(plan: RepairPlan, come: Arrivals, more: int) -> None:
    limited = repair(*(stage(s.name, s.time, escalate=s.escalate, silent=s.silent, crews=len(come) + more)
                       for s in plan.stages))  # fmt: skip
    assert ends(limited, come) == ends(plan, come)


@settings(max_examples=40)
@given(come=arrivals(), crews=st.integers(1, 4), first=st.booleans())
def test_more_crews_never_keep_anyone_longer(come: Arrivals, crews: int, first: bool) -> None:
    """One stage of two is limited; were both, one node could now be overtaken by another at the second door."""

    def when(crews: int) -> dict[int, float]:
        a = stage("a", exponential(20.0), escalate=0.6, crews=crews if first else 0)
        b = stage("b", exponential(40.0), crews=0 if first else crews)
        return {node: when for when, node, _ in ends(repair(a, b), come)}

    few, many = when(crews), when(crews + 1)
    assert all(many[node] <= few[node] for node in few)


@settings(max_examples=40)
@given(come=arrivals(), stock=st.integers(0, 4), random=st.booleans())
def test_more_parts_never_keep_anyone_longer(come: Arrivals, stock: int, random: bool) -> None:
    lead = exponential(60.0) if random else duration("fixed", 60.0)

    def when(stock: int) -> dict[int, float]:
        plan = repair(stage("a", exponential(20.0)), parts=Parts(0.7, stock, lead))
        return {node: when for when, node, _ in ends(plan, come)}

    few, many = when(stock), when(stock + 1)
    assert all(many[node] <= few[node] for node in few)
