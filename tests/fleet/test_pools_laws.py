"""Spares: what may never be slower, and exact laws of a job with few of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from gemsim.scenario.fleet import RepairPlan, SparesPlan
from tests import statcheck
from tests.fleet.queues import ALL_JOIN, Drawn, exponential, marks_of, pools, repair, spares, stage
from tests.fleet.test_pools_oracle import CREWS, REPAIR

Story = list[tuple[float, int, float]]
"""(s since the one before, nodes that break, s until that is noticed)."""

stories = st.lists(
    st.tuples(st.integers(0, 50).map(float), st.integers(1, 3), st.sampled_from([0.0, 9.0])), min_size=1, max_size=15
)


def ready(plan: SparesPlan, mending: RepairPlan, story: Story, unit: int = 1) -> list[float]:
    """When all that was asked for is met, as seen at each failure; nodes break at given times, come what may.

    Of all, since a spare more can change which of two requests a mended node goes to.
    """
    these, now, node = pools(plan, mending, jobs=1000 * unit), 0.0, 0
    seen: list[float] = []
    for number, (gap, count, notice) in enumerate(story):
        now += gap
        marks = marks_of(number)
        these.send(range(node, node + unit * count, unit), now, marks)
        these.take(unit * count, now, marks, begin=now + notice)
        node += unit * count
        seen.append(max(now, these.ready))
    return seen


@settings(max_examples=50)
@given(
    story=stories,
    hot=st.integers(0, 3),
    warm=st.integers(0, 2),
    cold=st.integers(0, 2),
    borrow=st.integers(0, 2),
    seconds=st.sampled_from([0.0, 1.0, 20.0]),
    more=st.sampled_from(["hot", "warm", "cold", "borrow"]),
)
def test_more_spares_are_never_slower(
    story: Story,
    hot: int,
    warm: int,
    cold: int,
    borrow: int,
    seconds: float,
    more: str,
) -> None:
    """All start equally fast. Were cold ones slower, two requests that overlap could get them in a luckier order."""
    few = spares(hot=hot, warm=warm, cold=cold, borrow=borrow, borrow_each=25.0, activation=(seconds,) * 3)
    many = replace(few, **{more: getattr(few, more) + 1})
    pairs = zip(ready(few, REPAIR, story), ready(many, REPAIR, story), strict=True)
    assert all(with_more <= with_few for with_few, with_more in pairs)


@settings(max_examples=40)
@given(
    count=st.integers(1, 5),
    notice=st.sampled_from([0.0, 9.0]),
    hot=st.integers(0, 2),
    warm=st.integers(0, 2),
    cold=st.integers(0, 2),
    more=st.sampled_from(["hot", "warm", "cold"]),
)
def test_more_spares_are_never_slower_for_one_request(
    count: int, notice: float, hot: int, warm: int, cold: int, more: str
) -> None:
    """Whatever the activation times: a mended node overtakes a cold one."""
    few = spares(hot=hot, warm=warm, cold=cold, activation=(0.0, 2.0, 30.0))
    many = replace(few, **{more: getattr(few, more) + 1})
    story = [(0.0, count, notice)]
    assert ready(many, REPAIR, story) <= ready(few, REPAIR, story)


@settings(max_examples=50)
@given(story=stories, hot=st.integers(0, 3), warm=st.integers(0, 2), cold=st.integers(0, 2), borrow=st.integers(0, 2))
def test_spares_that_never_join_are_none(story: Story, hot: int, warm: int, cold: int, borrow: int) -> None:
    """Also those that could be borrowed. Their repair takes nobody else's crew: there are enough."""
    plan = spares(
        hot=hot, warm=warm, cold=cold, borrow=borrow, borrow_each=7.0, join_fails=1.0, join_timeout=3.0,
        activation=(2.0, 2.0, 2.0),
    )  # fmt: skip
    assert ready(plan, REPAIR, story) == ready(spares(activation=(2.0, 2.0, 2.0)), REPAIR, story)


@settings(max_examples=40)
@given(
    story=stories,
    hot=st.integers(0, 3),
    warm=st.integers(0, 2),
    borrow=st.integers(0, 3),
    join_fails=st.sampled_from([0.0, 0.4]),
    selection=st.sampled_from([0.0, 5.0]),
    unit=st.integers(2, 5),
)
def test_trays_are_nodes_of_a_larger_size(
    story: Story, hot: int, warm: int, borrow: int, join_fails: float, selection: float, unit: int
) -> None:
    plan = spares(
        hot=hot, warm=warm, borrow=borrow, borrow_each=11.0, join_fails=join_fails, join_timeout=3.0,
        selection=selection, activation=(1.0, 2.0, 3.0),
    )  # fmt: skip
    trays = replace(plan, hot=unit * hot, warm=unit * warm, borrow=unit * borrow, unit=unit)
    assert ready(trays, CREWS, story, unit) == ready(plan, CREWS, story)


@settings(max_examples=40)
@given(story=stories, hot=st.integers(0, 2), borrow=st.integers(0, 2), selection=st.sampled_from([0.0, 5.0]))
def test_what_is_foreseen_comes_about(story: Story, hot: int, borrow: int, selection: float) -> None:
    """Looking again from a later time, when nobody else has broken, changes nothing."""
    plan = spares(hot=hot, borrow=borrow, borrow_each=11.0, join_fails=0.4, join_timeout=3.0, selection=selection)
    these = pools(plan, CREWS, jobs=1000)
    now, node = 0.0, 0
    for number, (gap, count, notice) in enumerate(story):
        now += gap
        marks = marks_of(number)
        these.send(range(node, node + count), now, marks)
        taken = these.take(count, now, marks, begin=now + notice)
        node += count
    foreseen = (taken.nodes, taken.ready, these.ready)
    steps = [now + step for step in (1.0, 2.5, 10.0, 40.0) if now + step < taken.ready]
    for later in steps:
        these.send([], later, marks)
        assert (taken.nodes, taken.ready, these.ready) == foreseen


# ---------------------------------------------------------------- exact laws

MEAN = 24.0
"""Hours of a repair."""


@cache
def erlang_b(offered: float, servers: int) -> float:
    """P(all busy) of Erlang's loss system."""
    return float(poisson.pmf(servers, offered) / poisson.cdf(servers, offered))


def check_few_spares(seed: int, cycles: int = 4_000, hot: int = 4, offered: float = 2.0) -> None:
    """A job that stands still while it lacks a node: broken nodes are a birth-death chain cut off at spares + 1.

    A failure finds n of them broken, n = 0 .. spares, as in Erlang's loss system, and waits with probability B(a,
    spares); the wait is the shortest of spares + 1 exponential repairs. Each cycle begins with such a failure and looks
    at the next.
    """
    rng = np.random.default_rng(seed)
    weights = poisson.pmf(range(hot + 1), offered)
    found = rng.choice(hot + 1, size=cycles, p=weights / weights.sum())
    waits = []
    for broken in found.tolist():
        these, marks = pools(spares(hot=hot), repair(stage("x", exponential(MEAN)))), Drawn(rng)
        now = 0.0
        for node in range(broken + 1):
            these.send([node], 0.0, marks)
            now = max(now, these.take(1, 0.0, marks).ready)
        now += float(rng.exponential(MEAN / offered))
        these.send([50], now, marks)
        waits.append(these.take(1, now, marks).ready - now)
    waited = [wait for wait in waits if wait > 0.0]
    statcheck.binomial_count(len(waited), cycles, erlang_b(offered, hot), detect=0.04)
    statcheck.ks_uniform(-np.expm1(-np.array(waited) * (hot + 1) / MEAN), detect=0.35)


def test_few_spares(seed: int) -> None:
    check_few_spares(seed)


def check_four_buffer_hosts(seed: int, cycles: int = 10_000) -> None:
    """OPT-175B: two machines a day go down; with 24 h to replace one, more than 4 are down 5.3 % of the time."""
    rng = np.random.default_rng(seed)
    lacking = []
    for count in rng.poisson(2.0, size=cycles).tolist():  # breakdowns of the last 24 h; who broke before is back
        these = pools(spares(hot=4), 24.0)
        for node, when in enumerate(sorted(rng.uniform(0.0, 24.0, size=count).tolist())):
            these.send([node], when, ALL_JOIN)
            these.take(1, when, ALL_JOIN)
        these.settle(23.999999)
        assert (these.ready > 24.0) == (count > 4)
        lacking.append(these.ready > 24.0)
    share = float(poisson.sf(4, 2.0))
    assert round(share, 3) == 0.053
    statcheck.binomial_count(sum(lacking), cycles, share, detect=0.02)


def test_four_buffer_hosts(seed: int) -> None:
    check_four_buffer_hosts(seed)


def check_joins(seed: int, cycles: int = 8_000) -> None:
    """The number of spares that fail before one starts is geometric, cut off where they run out."""
    rng = np.random.default_rng(seed)
    plan = spares(hot=3, join_fails=0.3, join_timeout=10.0, activation=(1.0, 1.0, 1.0))
    late = []
    for _ in range(cycles):
        these, given_marks = pools(plan, 1e6), dict(zip(("join:0", "join:1", "join:2"), rng.random(3), strict=True))
        late.append(these.take(1, 0.0, lambda name, table=given_marks: table.get(name, 0.5)).ready)  # type: ignore[misc]
    for failed, share in ((0, 0.7), (1, 0.21), (2, 0.063)):
        statcheck.binomial_count(late.count(1.0 + 11.0 * failed), cycles, share, detect=0.05)


def test_number_of_joins(seed: int) -> None:
    check_joins(seed)


def check_reshuffle(seed: int, draws: int = 6_000) -> None:
    """All nodes are alike: each rests with the share of the idle ones, and is hot with that of the hot ones."""
    rng = np.random.default_rng(seed)
    first_rests = spare_runs = first_hot = 0
    for u in rng.random(draws).tolist():
        these = pools(spares(hot=2, warm=4), jobs=10)
        moved = dict(these.reshuffle(range(10), 0.0, u))
        first_rests += 0 in moved
        spare_runs += 15 in moved.values()
        first_hot += 0 in (these.idle_node(0), these.idle_node(1))
    statcheck.binomial_count(first_rests, draws, 6 / 16, detect=0.05)
    statcheck.binomial_count(spare_runs, draws, 10 / 16, detect=0.05)
    statcheck.binomial_count(first_hot, draws, 2 / 16, detect=0.05)


def test_a_reshuffle_favours_nobody(seed: int) -> None:
    check_reshuffle(seed)
