"""Spares spread over the racks of the job: whom a failed rack takes, worked out by hand, and against a slow player that
moves named nodes about and knows nothing of pools.

By hand: nodes 0 to 3 in the job, two to a rack; spares are numbered from 4 on and take turns: 4 in rack 0, 5 in rack 1.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.analytic.run import predict
from gemsim.engine.run import simulate
from gemsim.errors import NotCovered
from gemsim.failures.trace import draw_trace
from gemsim.protection.damage import Grid
from gemsim.protection.losses import displaced
from gemsim.protection.stripe import MemberStripe
from gemsim.scenario import Scenario, describe
from gemsim.scenario.racks import in_each, shares_domain, turns
from gemsim.scenario.shop import flow_of
from tests.engine.small import DETECT, checkpoint, recovered
from tests.faults import must_reject, replaced
from tests.fleet.fleet_jobs import FEED, GPU, KINDS, LINK, NODE, RACK, Blow, job, play, strays, total, watch, written

NEVER = {"stages": [{"name": "mend", "time": "1000 d"}]}


def racks(hot: int = 0, *tiers: Any, placed: str = "spread", **more: Any) -> Scenario:
    """The small job with spares among its racks."""
    fleet = {"spares": {"hot": hot, "placed": placed, **more.pop("spares", {})}, **more.pop("fleet", {})}
    return job(*tiers, fleet=fleet, **more)


def rack(time: float, number: int, per: int = 2, name: str = "rack") -> Blow:
    """A failure of rack `number` of so many."""
    return Blow(name, time, marks={"device": (number + 0.5) / per})


# ---------------------------------------------------------------- who stands where


@pytest.mark.parametrize(
    ("per_switch", "per_power", "order"),
    [
        (1, 8, [0, 1, 2, 3, 4, 5, 6, 7]),  # one feed for all: rack after rack
        (1, 4, [0, 4, 1, 5, 2, 6, 3, 7]),  # from feed to feed
        (2, 4, [0, 4, 2, 6, 1, 5, 3, 7]),  # from feed to feed, then from switch to switch
        (4, 2, [0, 4, 2, 6, 1, 5, 3, 7]),  # whichever of the two is the wider
        (80, 80, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_spares_take_turns_over_domains(per_switch: int, per_power: int, order: list[int]) -> None:
    grid = Grid(64, 4, 8, 8 * per_switch, 8 * per_power)
    assert list(turns(grid)) == order


def test_no_domain_has_two_spares_more_than_another() -> None:
    grid = Grid(8 * 48, 4, 8, 8 * 4, 8 * 12)
    for spares in range(100):
        for unit in ("rack", "switch", "power"):
            held = in_each(grid, unit, spares)
            assert sum(held) == spares
            assert max(held) - min(held) <= 1


# ---------------------------------------------------------------- spares that stand by


def test_a_rack_takes_the_spares_in_it() -> None:
    """Of two spares one is left for two places: the job waits for the first that is mended, 500 s after the failure."""
    row = play(racks(2), rack(1000.0, 0))
    assert (row["failures_idle"], row["failures"]) == (1, 1)
    assert row["waiting_s"] == pytest.approx(500.0 - DETECT + 20.0)
    apart = play(racks(2, placed="apart"), rack(1000.0, 0))
    assert (apart["failures_idle"], apart["waiting_s"]) == (0, pytest.approx(20.0))


def test_those_of_the_other_rack_take_over() -> None:
    seen = watch(of := racks(4), written(of, rack(1000.0, 0)))
    assert seen.fleet.standing[:2] == [5, 7]
    assert seen.tally.failures_idle == 2
    assert strays(seen) == []
    assert total(seen) == 8


def test_cold_spares_are_off_and_stay() -> None:
    row = play(racks(0, spares={"cold": 2}), rack(1000.0, 0))
    assert (row["failures_idle"], row["waiting_s"]) == (0, pytest.approx(20.0))


def test_a_domain_that_reboots_takes_no_spare() -> None:
    of = racks(2, kinds=[*KINDS, FEED])
    row = play(of, rack(1000.0, 0, per=1, name="feed"))
    assert (row["failures_idle"], row["failures"]) == (0, 1)


def test_a_common_cause_takes_the_spares_of_its_domain() -> None:
    """Before the first of its nodes can be replaced; what spares would share by themselves is the job's cause now."""
    kinds = [{**NODE, "common_cause": {"beta": 0.5, "within": "rack"}}]
    blows = Blow("node+rack", 1000.0, 0), Blow("node+rack", 1000.0, 1), Blow("node+rack", 3000.0, 4)
    row = play(racks(2, kinds=kinds), *blows)
    assert (row["failures_idle"], row["failures"]) == (1, 2)
    assert row["waiting_s"] == pytest.approx(500.0 - DETECT + 20.0)
    apart = play(racks(2, placed="apart", kinds=kinds), *blows)
    assert (apart["failures_idle"], apart["waiting_s"]) == (1, pytest.approx(20.0))


def test_a_smaller_batch_takes_whom_it_says() -> None:
    kinds = [{**NODE, "batch": {"sizes": [[1, 0.5], [2, 0.5]], "within": "rack"}}]
    of = racks(2, kinds=kinds)
    assert of.fleet.spares.placed == "apart"  # no failure takes a whole rack
    assert play(of, Blow("node", 1000.0, 0), Blow("node", 1000.0, 1))["failures_idle"] == 0


# ---------------------------------------------------------------- nodes that have joined


def test_a_place_goes_to_a_spare_of_its_rack() -> None:
    """Node 4, of rack 0, is next; but place 2 is in rack 1, where node 5 stands by."""
    seen = watch(of := racks(2), written(of, Blow("node", 100.0, 2)))
    assert seen.fleet.standing == [0, 1, 5, 3]
    seen = watch(of := racks(1), written(of, Blow("node", 100.0, 2)))
    assert seen.fleet.standing == [0, 1, 4, 3]  # there is none: the next in turn


def test_a_node_keeps_its_rack() -> None:
    """Node 4 of rack 0 works in place 2. When rack 0 fails three places are struck, and one when rack 1 does."""
    of = racks(1, fleet={"repair": NEVER}, spares={"cold": 20})
    for number, struck in ((0, {0, 1, 2}), (1, {3})):
        seen = watch(of, written(of, Blow("node", 100.0, 2), rack(1000.0, number)))
        came = {place for place, node in enumerate(seen.fleet.standing) if node > 4}
        assert (came, seen.tally.failures) == (struck, 2)


def test_a_rack_that_nobody_of_the_job_stands_in_strikes_nobody() -> None:
    """Its two nodes are in repair, and nodes of the other rack work for them."""
    of = racks(0, fleet={"repair": NEVER}, spares={"cold": 4})
    row = play(of, Blow("node", 100.0, 0), Blow("node", 200.0, 1), rack(1000.0, 0), rack(2000.0, 0))
    assert row["failures"] == 3  # nodes 4 and 6, of rack 0 too, came first
    assert play(racks(4, placed="apart"), rack(1000.0, 0), rack(2000.0, 0))["failures"] == 2


def test_the_domain_of_a_common_cause_is_where_nodes_stand() -> None:
    """Node 4 of rack 0 works in place 2 and goes with the first; place 3 stays."""
    kinds = [NODE, {**GPU, "common_cause": {"beta": 1.0, "within": "rack"}}]
    of = racks(1, kinds=kinds, fleet={"repair": NEVER}, spares={"cold": 20})
    blows = [Blow("gpu+rack", 1000.0, unit) for unit in range(8)]
    seen = watch(of, written(of, Blow("node", 100.0, 2), *blows))
    assert {place for place, node in enumerate(seen.fleet.standing) if node > 4} == {0, 1, 2}
    assert seen.tally.failures == 3


WIDE: dict[str, Any] = {"cluster__gpus": 64, "workload__parallel": {"tensor": 4, "data": 16, "shard": "none"}}
OVER_RACKS = {"stripe": {"layout": "racks", "k": 3, "m": 1}}


@pytest.mark.parametrize(("placed", "by"), [("apart", "stripe"), ("spread", "checkpoint")])
def test_members_of_a_stripe_can_come_to_share_a_rack(placed: str, by: str) -> None:
    """Place 2, in rack 1, is taken by a node of rack 0, and with that rack two members of four are gone."""
    of = racks(1, OVER_RACKS, checkpoint(), placed=placed, mode="in_process", spares={"cold": 20}, **WIDE)
    row = play(of, Blow("node", 100.0, 2), rack(1000.0, 0, per=8))
    assert recovered(row) == ({"stripe": 2} if by == "stripe" else {"stripe": 1, "checkpoint": 1})
    tier = of.tiers[0]
    assert isinstance(tier, MemberStripe)
    shared = displaced(tier.stripes, of.platform.grid, {2: 0}, apart="rack")  # as if on a node of rack 0
    assert {(0, 2, 0)} <= set(shared)


# ---------------------------------------------------------------- what it must not change


def test_without_a_failure_of_a_domain_it_is_the_same_design() -> None:
    kinds = [{**NODE, "rate": "1 / 400 s"}, LINK]
    one, other = (racks(2, checkpoint(), kinds=kinds, placed=placed) for placed in ("apart", "spread"))
    assert one.id == other.id
    assert simulate(one, seed=3, replication=1) == simulate(other, seed=3, replication=1)


def test_it_does_not_move_the_trace() -> None:
    kinds = [
        {**NODE, "rate": "1 / 400 s", "common_cause": {"beta": 0.5, "within": "rack"}},
        {**RACK, "rate": "1 / 1 h"},
    ]
    drawn = []
    for placed in ("apart", "spread"):
        of = racks(2, kinds=kinds, placed=placed)
        trace = draw_trace(of.classes, horizon=of.horizon, seed=5, replication=0)
        drawn.append([(event, trace.mark(event, "repair")) for event in trace.wall])
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) > 10


@settings(max_examples=40)
@given(order=st.permutations(range(8)), upto=st.integers(1, 8), hot=st.integers(0, 12))
def test_racks_that_fail_once_cost_no_less(order: list[int], upto: int, hot: int) -> None:
    """Nobody is mended: each rack takes its own nodes, and what stands there beside them."""
    blows = [rack(100.0 + 400.0 * n, number, per=8) for n, number in enumerate(order[:upto])]
    fleet = {"repair": NEVER}
    apart, spread = (play(racks(hot, placed=one, fleet=fleet, **WIDE), *blows) for one in ("apart", "spread"))
    assert spread["failures_idle"] >= apart["failures_idle"] == 0
    assert spread["waiting_s"] >= apart["waiting_s"] - 1e-6


# ---------------------------------------------------------------- against a slow player

ORDER = (0, 2, 1, 3)  # racks 0 and 1 on one feed, 2 and 3 on the other
FOUR = {**WIDE, "cluster__nodes_per_rack": 4, "cluster__racks_per_power": 2}
LAW = {"kind": "exponential", "mean": "700 s"}
HARD = [{**NODE, "detect": "0 s", "repair": LAW}, {**RACK, "detect": "0 s", "repair": LAW},
        {**RACK, "name": "power", "scope": "power", "detect": "0 s", "repair": LAW}]  # fmt: skip


@dataclass(frozen=True)
class Break:
    """At `time` a place (of 16), a rack (of 4) or a feed (of 2) is struck; who leaves is away for `away` s."""

    what: str
    number: int
    time: float
    u: float


def of_player(hot: int, clock: str) -> Scenario:
    """A job where nothing takes time but repair and restart: it waits exactly while it lacks a node."""
    activation = {"hot": "0 s", "warm": "0 s", "cold": "0 s"}
    kinds = [kind if kind["name"] == "node" else {**kind, "clock": clock} for kind in HARD]
    return racks(hot, kinds=kinds, spares={"activation": activation}, **FOUR)


class Slow:
    """Names of nodes in lists, moved one at a time."""

    def __init__(self, of: Scenario, hot: int) -> None:
        self.of = of
        self.home = {node: node // 4 for node in range(16)} | {16 + u: ORDER[u % 4] for u in range(hot)}
        self.works: dict[int, int | None] = {place: place for place in range(16)}  # place -> node
        self.idle = [16 + u for u in range(hot)]
        self.away: list[tuple[float, int, int]] = []  # until, order of leaving, node
        self.asked: list[tuple[list[int], list[int]]] = []  # places, nodes kept for them so far
        self.lost_idle = self.left = 0
        self.waited, self.clock = 0.0, 0.0

    def leave(self, node: int, until: float) -> None:
        self.left += 1
        self.away.append((until, self.left, node))

    def until(self, time: float) -> None:
        """Nodes come back one after the other, and go where one has been lacking longest."""
        for when, _, node in sorted(self.away):
            if when > time:
                break
            self.pass_to(when)
            self.idle.append(node)
            self.serve()
        self.away = [entry for entry in self.away if entry[0] > time]
        self.pass_to(time)

    def pass_to(self, time: float) -> None:
        self.waited += (time - self.clock) * bool(self.asked)
        self.clock = time

    def serve(self) -> None:
        while self.asked and self.idle:
            places, kept = self.asked[0]
            kept.append(self.idle.pop(0))
            if len(kept) == len(places):
                self.works.update(zip(places, kept, strict=True))
                self.asked.pop(0)

    def strike(self, one: Break) -> None:
        self.until(one.time)
        back = one.time + float(next(k for k in self.of.classes if k.name == one.what).repair.quantile(one.u))
        if one.what == "node":
            places = [one.number] if self.works[one.number] is not None else []
        else:
            struck = {one.number} if one.what == "rack" else {2 * one.number, 2 * one.number + 1}
            gone = sorted(node for node in self.idle if self.home[node] in struck)
            for node in gone:
                self.idle.remove(node)
                self.leave(node, back)
            self.lost_idle += len(gone)
            places = [p for p, node in self.works.items() if node is not None and self.home[node] in struck]
        if not places:
            return
        for place in places:
            self.leave(self.works[place], back)  # type: ignore[arg-type]
            self.works[place] = None
        if len(places) == 1:
            near = [node for node in self.idle if self.home[node] == places[0] // 4]
            self.idle = near[:1] + [node for node in self.idle if node not in near[:1]]
        self.asked.append((places, []))
        self.serve()


breaks = st.lists(
    st.builds(
        lambda what, number, time, u: Break(what, number % {"node": 16, "rack": 4, "power": 2}[what], time, u),
        st.sampled_from(["node", "node", "node", "rack", "power"]), st.integers(0, 15),
        st.integers(1, 3999).map(float), st.integers(1, 199).map(lambda n: n / 200),
    ),
    min_size=1, max_size=14, unique_by=lambda one: one.time,
)  # fmt: skip


def written_as(one: Break, clock: str) -> Blow:
    """A domain fails in any of its devices; of those of a clock, in one that its mark picks."""
    size = {"node": 1, "rack": 4, "power": 8}[one.what]
    marks = {"repair": one.u, "device": (one.number + 0.5) * size / 16}
    unit = one.number * size + int(one.u * size)
    return Blow(one.what, one.time, unit * 4 if clock == "gpu" and size > 1 else unit, marks=marks)


def compare(hot: int, broken: list[Break], clock: str = "job") -> None:
    """Who works where, who was lost standing by, and how long the job waited."""
    of = of_player(hot, clock)
    slow = Slow(of, hot)
    for one in sorted(broken, key=lambda one: one.time):
        slow.strike(one)
    slow.until(of.horizon)
    seen = watch(of, written(of, *(written_as(one, clock) for one in broken)))
    assert seen.tally.failures_idle == slow.lost_idle
    assert seen.ledger.seconds["waiting"] == pytest.approx(slow.waited, abs=1e-3)
    fleet = seen.fleet
    fleet.settle_in(of.horizon)
    here = {place: None if place in fleet.vacant else node for place, node in enumerate(fleet.standing)}
    assert here == slow.works


@settings(max_examples=200)
@given(hot=st.integers(0, 9), broken=breaks, clock=st.sampled_from(["job", "node", "gpu"]))
def test_as_a_slow_player_plays_it(hot: int, broken: list[Break], clock: str) -> None:
    compare(hot, broken, clock)


def check_some() -> None:
    """The same for lists that are always the same."""
    dice = Random(7)
    sizes = {"node": 16, "rack": 4, "power": 2}
    for _ in range(12):
        kinds = [dice.choice(["node", "node", "rack", "power"]) for _ in range(9)]
        times = dice.sample(range(1, 4000), 9)
        compare(
            dice.randrange(2, 9),
            [Break(k, dice.randrange(sizes[k]), float(t), dice.random()) for k, t in zip(kinds, times, strict=True)],
        )


FAULTS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "spares stay in a failed rack": lambda: replaced(
        "gemsim.engine.neighbours:takes_spares", lambda old: lambda kind: False
    ),
    "a spare takes the rack of the place that it comes to": lambda: replaced(
        "gemsim.engine.neighbours:Neighbours._places",
        lambda old: lambda self, nodes: [node for node in nodes if node < 16 and node not in self.fleet.vacant],
    ),
    "the places struck are those of the number": lambda: replaced(
        "gemsim.engine.neighbours:Neighbours.placed", lambda old: lambda self, strike: strike
    ),
    "any spare is as near": lambda: replaced(
        "gemsim.engine.neighbours:Neighbours.near", lambda old: lambda *_: None
    ),
    "spares in the first racks": lambda: replaced(
        "gemsim.engine.neighbours:turns", lambda old: lambda grid: tuple(range(grid.count("rack")))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_slow_player_finds(name: str) -> None:
    must_reject(check_some, FAULTS[name]())


# ---------------------------------------------------------------- what is said, refused and begun with


def test_a_run_begins_with_the_spares_that_racks_took() -> None:
    """A rack class of rate r over 2 racks takes each of the two spares at r / 2."""
    kinds = [NODE, {**RACK, "rate": "1 / 1 h"}]
    apart, spread = (flow_of(racks(2, kinds=kinds, placed=placed)) for placed in ("apart", "spread"))
    assert spread.idle - apart.idle == pytest.approx(1 / 3600 / 2)
    assert (spread.causes, spread.rates) == (apart.causes, apart.rates)


def test_the_page_says_what_a_rack_takes() -> None:
    kinds = [{**RACK, "rate": "1 / 1000 s"}, {**NODE, "common_cause": {"beta": 0.1, "within": "power"}}]
    notes = describe(racks(3, kinds=kinds))["notes"]
    assert "a failed rack takes up to 2 and a failed power domain takes up to 3 of the 3 that stand by" in notes[0]
    assert "about 7.5 spares per run" in notes[0]  # 5 failures of a rack with 1.5 on average
    other = describe(racks(3, kinds=kinds, placed="apart"))["notes"][0]
    assert other.startswith("Spares: in racks of their own")
    assert "would take up to 2" in other
    assert describe(racks(0, kinds=kinds))["notes"] == [] == describe(racks(3, kinds=[NODE]))["notes"]


@pytest.mark.parametrize(("hot", "share"), [(1, 6 / 16), (2, 4 / 16), (3, 2 / 16), (8, 0.0)])
def test_how_often_a_replacement_joins_another_member(hot: int, share: float) -> None:
    """Stripes over racks 0 to 3 and 4 to 7; spares in racks 0, 1, ... A place of their rack takes them first."""
    of = racks(hot, OVER_RACKS, **WIDE)
    (tier,) = of.tiers
    assert isinstance(tier, MemberStripe)
    assert shares_domain(of, tier, "rack") == pytest.approx(share)
    grid, homes = of.platform.grid, range(hot)
    found = []
    for place in range(16):
        called = [home for home in homes if home == place // 2] or list(homes)
        found += [bool(displaced(tier.stripes, grid, {place: 2 * home}, apart="rack")) / len(called) for home in called]
    assert sum(found) / 16 == pytest.approx(share)
    text = f" {100.0 * share:.2g} % of replacements put two members or copies of stripe into one rack"
    assert any(text in note for note in describe(of)["notes"]) == (share > 0.0)


def test_where_members_share_a_rack_anyway_nothing_is_said() -> None:
    over_nodes = {"stripe": {"layout": "nodes", "k": 3, "m": 1}}
    of = racks(2, over_nodes, **WIDE)
    assert shares_domain(of, of.tiers[0], "rack") == 0.0
    pairs = racks(1, checkpoint("cpu_memory", redundancy="partner", domain="rack"), **WIDE)
    assert shares_domain(pairs, pairs.tiers[0], "rack") == pytest.approx(2 / 16)


def test_the_twin_says_that_it_has_no_form() -> None:
    of = racks(8, checkpoint(), kinds=[NODE, RACK])
    with pytest.raises(NotCovered, match="spread over the racks"):
        predict(of)
    predict(replace(of, fleet=replace(of.fleet, spares=replace(of.fleet.spares, placed="apart"))))
    predict(racks(8, checkpoint(), kinds=[NODE]))


def test_whole_racks_cannot_be_spread() -> None:
    with pytest.raises(ValueError, match="spares come as whole racks"):
        racks(4, spares={"unit": "rack"}, cluster__replace="rack")
    with pytest.raises(ValueError, match="replaces a whole rack"):
        racks(4, cluster__replace="rack")
