"""Spares and requests: timelines by hand, and the short form of a study against a count and a heap."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.engine.claims import Taken
from gemsim.engine.pools import Pools
from gemsim.scenario.fleet import hot_spares
from tests.fleet.queues import ALL_JOIN, Marks, joins, pools, spares


def fail(these: Pools, node: int, now: float, marks: Marks = ALL_JOIN, begin: float | None = None) -> Taken:
    """A node of the job breaks and is replaced."""
    these.send([node], now, marks)
    return these.take(1, now, marks, begin=begin)


# ---------------------------------------------------------------- by hand


def test_hot_then_warm_then_cold_then_the_first_that_is_mended() -> None:
    these = pools(spares(hot=1, warm=1, cold=1, activation=(1.0, 10.0, 600.0)))
    ends = [fail(these, node, float(node)) for node in range(4)]
    assert [(taken.nodes, taken.ready) for taken in ends[:3]] == [([100], 1.0), ([101], 11.0), ([102], 602.0)]
    # Node 0 is back at 1000 and hot, since nobody else is.
    assert (ends[3].nodes, ends[3].ready) == ([0], 1001.0)
    assert these.ready == 1001.0
    these.settle(2000.0)
    assert these.counts() == {"hot": 1, "warm": 2, "cold": 0, "borrowable": 0, "repair": 0, "gone": 0}
    assert these.came_back() == [(1000.0, 0, True), (1001.0, 1, True), (1002.0, 2, True), (1003.0, 3, True)]
    assert these.came_back() == []


def test_spares_start_when_the_failure_is_detected() -> None:
    these = pools(spares(hot=1, activation=(5.0, 5.0, 5.0)), 100.0)
    assert fail(these, 0, 0.0, begin=60.0).ready == 65.0
    assert fail(these, 1, 10.0, begin=30.0).ready == 105.0  # node 0 is back at 100
    assert fail(these, 2, 20.0, begin=500.0).ready == 505.0  # node 1 is back at 110, and waits


def test_a_shorter_repair_serves_whoever_asked_first() -> None:
    these = pools(spares())
    these.send_for([0], 0.0, 100.0)
    first = these.take(1, 0.0, ALL_JOIN)
    assert (first.nodes, first.ready) == ([0], 100.0)
    these.send_for([1], 10.0, 20.0)
    second = these.take(1, 10.0, ALL_JOIN)
    assert (first.nodes, first.ready) == ([1], 30.0)
    assert (second.nodes, second.ready) == ([0], 100.0)


def test_nobody_left_waits_for_ever() -> None:
    these = pools(spares(hot=1))
    these.retire(0, 0.0)
    assert these.take(1, 0.0, ALL_JOIN).ready == 0.0
    these.retire(1, 1.0)
    taken = these.take(1, 1.0, ALL_JOIN)
    assert (taken.nodes, taken.ready) == ([], inf)
    new = these.retire(2, 5.0, restock=95.0)
    assert (new, taken.nodes, taken.ready) == (101, [101], 100.0)
    assert these.counts()["gone"] == 3


def test_a_spare_that_does_not_start_goes_to_repair_and_the_next_is_tried() -> None:
    these = pools(spares(hot=3, activation=(2.0, 2.0, 2.0), join_fails=0.5, join_timeout=60.0))
    taken = fail(these, 0, 0.0, joins(0.4, 0.1, 0.6))
    assert (taken.nodes, taken.ready, taken.failed_joins) == ([102], 62.0 + 62.0 + 2.0, 2)
    assert these.failed_joins == 0  # nothing of that has happened yet
    these.settle(500.0)
    assert (these.failed_joins, these.counts()["repair"]) == (2, 3)
    these.settle(1124.0)
    assert [node for _, node, _ in these.came_back()] == [0, 100, 101]


def test_a_mended_node_takes_the_place_of_a_spare_that_does_not_start() -> None:
    these = pools(spares(hot=2, join_fails=0.5, join_timeout=60.0), 20.0)
    taken = fail(these, 0, 0.0, joins(0.1, 0.1))
    assert (taken.nodes, taken.ready, taken.failed_joins) == ([0], 20.0, 0)
    these.settle(100.0)
    assert these.counts()["hot"] == 2  # 101 never tried; 100 noticed at 60, mended at 80


def test_a_mended_node_is_sooner_than_a_cold_one() -> None:
    these = pools(spares(cold=1, activation=(0.0, 5.0, 600.0)), 100.0)
    taken = fail(these, 0, 0.0)
    assert (taken.nodes, taken.ready) == ([0], 105.0)
    assert these.counts()["cold"] == 0  # on its way until then
    these.settle(100.0)
    assert these.counts()["cold"] == 1


def test_with_certain_failure_the_job_waits_for_its_own_nodes() -> None:
    these = pools(spares(hot=2, warm=1, join_fails=1.0, join_timeout=10.0), 50.0)
    for node in range(5):
        taken = fail(these, node, 1000.0 * node)
        assert (taken.nodes, taken.ready) == ([node], 1000.0 * node + 50.0)
    assert these.failed_joins == 3 * 4  # each spare once for each request but the last, which has only begun


def test_a_spare_that_broke_idle_is_a_spare_when_it_is_mended() -> None:
    these = pools(spares(hot=1, join_fails=1.0, join_timeout=1.0), 50.0)
    assert these.lose_idle(100, 0.0, ALL_JOIN)
    taken = fail(these, 0, 10.0)
    assert (taken.nodes, taken.ready) == ([0], 60.0)


def test_selection_refills_the_hot_ones_from_the_warm() -> None:
    these = pools(spares(hot=2, warm=5, selection=180.0), 1e9)
    assert [fail(these, node, 1.0 * node).ready for node in range(2)] == [0.0, 1.0]
    assert these.selections == 0
    taken = fail(these, 2, 10.0)
    assert (taken.nodes, taken.ready, taken.selected) == ([102], 190.0, True)
    assert (these.selections, these.borrowed) == (1, 0)
    assert these.counts() == {"hot": 2, "warm": 2, "cold": 0, "borrowable": 0, "repair": 3, "gone": 0}


def test_borrows_until_the_hot_ones_are_full_too() -> None:
    """Two hot are wanted beside the one needed: three are borrowed, 20 min each, then 3 min of selection."""
    these = pools(spares(hot=2, selection=180.0, borrow=5, borrow_each=1200.0), 1e9)
    fail(these, 0, 0.0)
    fail(these, 1, 0.0)
    taken = fail(these, 2, 0.0)
    assert (taken.nodes, taken.ready, taken.selected) == ([102], 3 * 1200.0 + 180.0, True)
    these.settle(4000.0)
    assert (these.borrowed, these.selections) == (3, 1)
    assert these.counts() == {"hot": 2, "warm": 0, "cold": 0, "borrowable": 2, "repair": 3, "gone": 0}


def test_a_repair_that_ends_while_nodes_are_borrowed_counts_at_once() -> None:
    these = pools(spares(hot=2, selection=180.0, borrow=5, borrow_each=1200.0), 2000.0)
    fail(these, 0, 0.0)
    fail(these, 1, 0.0)  # both back at 2000
    taken = fail(these, 2, 500.0)
    # One borrowed at 1700; the second is on its way (2900) when two are back.
    assert taken.ready == 2900.0 + 180.0
    these.settle(3000.0)
    assert these.borrowed == 2
    assert these.counts()["hot"] == 2


def test_with_too_few_to_borrow_the_selection_waits_for_the_repairs_that_are_needed() -> None:
    these = pools(spares(hot=2, selection=180.0, borrow=1, borrow_each=1200.0), 5000.0)
    these.send([0, 1, 2, 3], 0.0, ALL_JOIN)
    taken = these.take(4, 0.0, ALL_JOIN)
    assert (sorted(taken.nodes), taken.ready) == ([0, 100, 101, 102], 5180.0)


def test_without_selection_only_what_is_needed_is_borrowed() -> None:
    these = pools(spares(hot=1, borrow=5, borrow_each=1200.0), 1e9)
    fail(these, 0, 0.0)
    assert fail(these, 1, 10.0).ready == 1210.0
    assert fail(these, 2, 20.0).ready == 2410.0  # one at a time
    these.settle(1e6)
    assert these.borrowed == 2


def test_trays_come_and_go_together() -> None:
    these = pools(spares(hot=4, warm=4, unit=4), 100.0, jobs=8)
    these.send([5], 0.0, ALL_JOIN)
    taken = these.take(4, 0.0, ALL_JOIN)
    assert (taken.nodes, taken.ready) == ([8, 9, 10, 11], 0.0)
    assert these.counts() == {"hot": 0, "warm": 4, "cold": 0, "borrowable": 0, "repair": 4, "gone": 0}
    assert list(these.nodes_of(9)) == [8, 9, 10, 11]
    assert these.lose_idle(14, 1.0, ALL_JOIN)
    assert not these.lose_idle(15, 1.0, ALL_JOIN)
    assert these.counts()["repair"] == 8
    these.settle(200.0)
    assert these.came_back() == [(100.0, 4, True), (101.0, 12, True)]
    assert [these.idle_node(k) for k in (0, 3, 4, 7, 8)] == [4, 7, 12, 15, None]


def test_one_node_needed_takes_a_whole_tray() -> None:
    these = pools(spares(hot=4, unit=4), 100.0, jobs=8)
    assert these.take(1, 0.0, ALL_JOIN).nodes == [8, 9, 10, 11]


def test_the_last_tray_of_the_job_may_be_smaller() -> None:
    these = pools(spares(hot=4, unit=4), 100.0, jobs=6)
    these.send([4, 5], 0.0, ALL_JOIN)
    assert these.take(2, 0.0, ALL_JOIN).nodes == [6, 7, 8, 9]
    taken = these.take(2, 1.0, ALL_JOIN)
    assert (taken.nodes, taken.ready) == ([4, 5], 100.0)


def test_idle_spares_fail_where_they_stand() -> None:
    these = pools(spares(hot=2, warm=1, cold=1), 100.0)
    assert [these.idle_node(k) for k in range(4)] == [100, 101, 102, None]
    assert these.lose_idle(101, 0.0, ALL_JOIN)
    assert not these.lose_idle(103, 0.0, ALL_JOIN)  # off
    assert not these.lose_idle(101, 1.0, ALL_JOIN)  # in repair
    assert these.counts() == {"hot": 1, "warm": 1, "cold": 1, "borrowable": 0, "repair": 1, "gone": 0}
    assert these.failures_idle == 1
    assert these.node_seconds(10.0) == (1 * 10.0, 1 * 10.0, 1 * 10.0)


def test_reshuffle_keeps_all_nodes_and_sizes() -> None:
    these = pools(spares(hot=3, warm=4), jobs=20)
    running = list(range(20))
    for u in (0.0, 0.3, 0.77):
        for place, node in these.reshuffle(running, 5.0, u):
            running[place] = node
        state = these.counts()
        assert (state["hot"], state["warm"]) == (3, 4)
        idle = [these.idle_node(k) for k in range(7)]
        assert sorted([*running, *(node for node in idle if node is not None)]) == list(range(27))
    assert running != list(range(20))


# ---------------------------------------------------------------- the short form of a study, as it was


class CountAndHeap:
    """Idle spares that are all alike, and a heap of those to come back."""

    def __init__(self, idle: int) -> None:
        self.idle = idle
        self.returns: list[float] = []

    def take(self, nodes: int, now: float) -> float:
        """When that many are at hand."""
        while self.returns and self.returns[0] <= now:
            heappop(self.returns)
            self.idle += 1
        ready = now
        for _ in range(nodes):
            if self.idle > 0:
                self.idle -= 1
            else:
                ready = max(ready, heappop(self.returns))
        return ready


@settings(max_examples=80)
@given(
    gaps=st.lists(st.tuples(st.floats(0.0, 50.0), st.integers(1, 3), st.floats(0.0, 200.0)), max_size=20),
    size=st.integers(0, 4),
)
def test_same_as_the_count_and_heap(gaps: list[tuple[float, int, float]], size: int) -> None:
    """Spares that differ in nothing: the last of all open requests is ready when the plain pool says."""
    plain, these, now, latest = CountAndHeap(size), pools(hot_spares(size, 0.0)), 0.0, -inf
    for number, (gap, count, seconds) in enumerate(gaps):
        now += gap
        for _ in range(count):
            heappush(plain.returns, now + seconds)
        these.send_for(range(3 * number, 3 * number + count), now, seconds)
        taken = these.take(count, now, ALL_JOIN)
        latest = max(latest, plain.take(count, now))
        assert max(latest, now) == max(these.ready, taken.ready, now)
