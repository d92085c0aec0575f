"""Spares spread over the racks of the job: clocks of nodes and GPUs, unlike devices, nodes that retire, and whoever is
called after a while, worked out by hand.

Nodes 0 to 3 in the job, two to a rack; spares are numbered from 4 on and take turns: 4 in rack 0, 5 in rack 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gemsim.engine.job import Job
from gemsim.scenario import Scenario, describe
from gemsim.scenario.racks import shares_domain, taken_rate
from gemsim.scenario.shop import flow_of
from tests.engine.small import checkpoint
from tests.fleet.fleet_jobs import FEED, LINK, NODE, RACK, Blow, job, play, strays, total, watch, written

NEVER = {"stages": [{"name": "mend", "time": "1000 d"}]}
SOON = dict.fromkeys(("hot", "warm", "cold"), "20 s")
CLOCKS = ["job", "node", "gpu"]
LEMONS = {"kind": "lemons", "share": 0.5, "multiplier": 100}
CAUSE = {"common_cause": {"beta": 0.5, "within": "rack"}}
OVER_RACKS = {"stripe": {"layout": "racks", "k": 3, "m": 1}}
WIDE: dict[str, Any] = {"cluster__gpus": 64, "workload__parallel": {"tensor": 4, "data": 16, "shard": "none"}}


def spread(kinds: list[dict[str, Any]], *tiers: Any, fleet: dict[str, Any] | None = None, **spares: Any) -> Scenario:
    """The small job with such spares among its racks, and nobody mended."""
    kept = {"activation": SOON, "placed": "spread", **spares}
    return job(*(tiers or (checkpoint(),)), kinds=kinds, fleet={"repair": NEVER, "spares": kept, **(fleet or {})})


def after(of: Scenario, *blows: Blow) -> Job:
    """The job after these failures; nobody is lost or in two places."""
    seen = watch(of, written(of, *blows))
    assert strays(seen) == []
    assert total(seen) == of.fleet.spares.nodes + 4
    return seen


def nodes(*places: int) -> list[Blow]:
    """Nodes fail one after the other, in these places."""
    return [Blow("node", 100.0 + 200.0 * number, place) for number, place in enumerate(places)]


def rack_of(clock: str, name: str = "rack") -> Blow:
    """A failure of rack 0 in its first node, by whichever clock."""
    return Blow(name, 1500.0, 0, marks={"device": 0.1} if clock != "gpu" else {})


# ---------------------------------------------------------------- a rack fails once, whatever its clock counts


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_rack_that_nobody_left_alone_takes_all_of_it(clock: str) -> None:
    """Place 0 went through 4 and 6, of rack 0, to 5, of rack 1: node 1 alone still works in rack 0."""
    of = spread([NODE, {**RACK, "clock": clock}], hot=4)
    assert after(of, *nodes(0, 0, 0)).fleet.standing == [5, 1, 2, 3]
    seen = after(of, *nodes(0, 0, 0), rack_of(clock))
    assert (seen.fleet.standing, seen.tally.failures) == ([5, 7, 2, 3], 4)


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_rack_leaves_alone_who_came_from_another(clock: str) -> None:
    """Places 0 and 1 of rack 0 are taken by 5, of rack 1, and 4, of rack 0."""
    of = spread([NODE, {**RACK, "clock": clock}], hot=2, cold=20)
    assert after(of, *nodes(1, 0)).fleet.standing == [5, 4, 2, 3]
    assert after(of, *nodes(1, 0), rack_of(clock)).fleet.standing == [5, 6, 2, 3]


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_rack_takes_the_spares_in_it_by_any_clock(clock: str) -> None:
    of = spread([{**RACK, "clock": clock, "rate": "1 / 1000 s"}], hot=3)
    assert play(of, rack_of(clock))["failures_idle"] == 2
    (kind,) = of.classes
    assert taken_rate(kind, of.platform.grid, 3) == pytest.approx(1.5 / 1000)  # half of the failures 2, the others 1
    assert flow_of(of).idle == pytest.approx(1.5 / 1000 / 3)
    assert any("about 7.5 spares per run" in note for note in describe(of)["notes"])


@pytest.mark.parametrize("clock", ["node", "gpu"])
def test_an_unlike_node_takes_the_rack_in_which_it_stands(clock: str) -> None:
    """Node 4, of rack 0, works in place 2 and fails more often than others: what fails is rack 0."""
    of = spread([NODE, {**RACK, "clock": clock, "frailty": LEMONS}], hot=1, cold=20)
    assert after(of, *nodes(2)).fleet.standing == [0, 1, 4, 3]
    device = 4 if clock == "node" else 16
    seen = after(of, *nodes(2), Blow("rack", 1500.0, device, bound=True))
    assert seen.fleet.standing[3] == 3
    assert min(seen.fleet.standing[:3]) > 4
    assert seen.tally.failures == 2
    gone = after(of, *nodes(2), Blow("rack", 1500.0, device // 2, bound=True))  # node 2 is in repair
    assert gone.tally.failures == 1


def test_an_unlike_node_takes_the_spares_of_its_rack() -> None:
    of = spread([NODE, {**RACK, "clock": "node", "frailty": LEMONS}], hot=4)
    assert play(of, Blow("rack", 1500.0, 3, bound=True))["failures_idle"] == 2


def test_a_whole_batch_leaves_single_devices_alone() -> None:
    """A lemon of a class whose batches take whole racks fails by itself, in the job and beside it."""
    kind = {**NODE, "batch": {"sizes": [[2, 1.0]], "within": "rack"}, "frailty": LEMONS}
    of = spread([kind], hot=4)
    assert of.fleet.spares.placed == "spread"
    seen = after(of, Blow("node", 100.0, 1, bound=True), Blow("node", 500.0, 7, bound=True))
    assert (seen.fleet.standing, seen.tally.failures, seen.tally.failures_idle) == ([0, 4, 2, 3], 1, 1)


# ---------------------------------------------------------------- nodes that retire


RETIRE = {"retire": {"after": 2, "within": "1 d"}}


def of_retiring() -> Scenario:
    """Node 4, of rack 0, comes to place 2; rack 0 then fails by a common cause of its nodes."""
    return spread([LINK, {**NODE, **CAUSE}], fleet=RETIRE, hot=1, cold=20)


def struck(*links: int) -> list[Blow]:
    """Links fail in these places before."""
    before = [Blow("link", 300.0 + 200.0 * number, place) for number, place in enumerate(links)]
    return [Blow("node", 100.0, 2), *before, Blow("node+rack", 1500.0, 0), Blow("node+rack", 1500.0, 1)]


@pytest.mark.parametrize(
    ("links", "retired"), [((), 0), ((0,), 1), ((0, 1), 2), ((2,), 1), ((0, 2), 2), ((0, 1, 2), 3)]
)
def test_each_node_of_a_failed_rack_goes_by_its_own_count(links: tuple[int, ...], retired: int) -> None:
    """Whoever had failed before goes for good; the others of the rack go to repair, wherever they work."""
    seen = after(of_retiring(), *struck(*links))
    assert seen.tally.retired == retired
    assert seen.fleet.standing[3] == 3
    assert min(seen.fleet.standing[:3]) > 4
    inside = {node for node in (0, 1, 4) if seen.fleet.pools.away(node) > 0.0}
    assert inside == {node for node, place in ((0, 0), (1, 1), (4, 2)) if place not in links}


def test_a_rack_that_is_given_up_is_that_of_who_stands_there() -> None:
    """Counted is the node whose clock it is; with it all go that stand in its rack."""
    of = spread([LINK, NODE, {**RACK, "clock": "node"}], fleet=RETIRE, hot=2, cold=20)
    seen = after(of, *nodes(1, 0), Blow("link", 700.0, 1), rack_of("node"))
    assert (seen.fleet.standing, seen.tally.retired) == ([5, 6, 2, 3], 1)


# ---------------------------------------------------------------- whoever is called after a while


@pytest.mark.parametrize("kind", ["warm", "cold"])
@pytest.mark.parametrize("gap", [10.0, 1000.0])
def test_each_place_calls_whoever_stands_in_its_rack(kind: str, gap: float) -> None:
    """Detection takes 100 s. Two places fail, and it is known of neither when the second does."""
    kinds = [{**NODE, "detect": "100 s"}, RACK]
    of = spread(kinds, hot=1, warm=2 * (kind == "warm"), cold=2 * (kind == "cold"))
    seen = after(of, Blow("node", 500.0, 1), Blow("node", 1000.0, 2), Blow("node", 1000.0 + gap, 0))
    assert seen.fleet.standing == [6, 4, 5, 3]


def test_whoever_is_chosen_anew_is_of_the_rack_too() -> None:
    of = spread([NODE, RACK], warm=4, selection="60 s")
    assert after(of, *nodes(2)).fleet.standing == [0, 1, 5, 3]


def test_the_next_that_is_tried_is_of_the_rack_too() -> None:
    """Nodes 4 and 6 stand in rack 0. The one that does not start is followed by the other, not by node 5."""
    of = spread([NODE, RACK], hot=3, join_fails=0.5, join_timeout="60 s")
    seen = watch(of, written(of, Blow("node", 100.0, 0, marks={"join:0": 0.1})))
    assert seen.fleet.standing == [6, 1, 2, 3]


# ---------------------------------------------------------------- what is said where no failure takes a spare


def racks_of_eight(kinds: list[dict[str, Any]], **spares: Any) -> Scenario:
    return job(OVER_RACKS, kinds=kinds, fleet={"spares": {"placed": "spread", **spares}}, **WIDE)


@pytest.mark.parametrize(
    ("spares", "share", "why"),
    [
        ({"cold": 1}, 6 / 16, "takes none of the 1 that stand there: they are off."),
        ({"cold": 2}, 4 / 16, "takes none of the 2 that stand there: they are off."),
        ({"cold": 2, "borrow": 3}, 4 / 16, "takes none of the 5 that stand there: they are off or in other jobs."),
        ({"borrow": 2}, 6 / 16, "takes none of the 2 that stand there: they are in other jobs."),
    ],
)
def test_the_page_says_where_spares_come_from_that_no_rack_takes(
    spares: dict[str, int], share: float, why: str
) -> None:
    """Stripes over racks 0 to 3 and 4 to 7; nodes beside the job in racks 0, 1, ... Who is borrowed comes in turn."""
    of = racks_of_eight([NODE, RACK], **spares)
    assert shares_domain(of, of.tiers[0], "rack") == pytest.approx(share)
    (note,) = [note for note in describe(of)["notes"] if note.startswith("Spares: ")]
    assert why in note
    assert f"{100 * share:.2g} % of replacements put two members or copies of stripe into one rack" in note


def test_the_page_says_so_where_no_node_is_replaced() -> None:
    feed = {**FEED, "name": "rack", "scope": "rack"}
    of = racks_of_eight([NODE, feed], hot=1)
    (note,) = [note for note in describe(of)["notes"] if note.startswith("Spares: ")]
    assert "a failed rack takes none of the 1 that stand there: no node is replaced after it. 38 %" in note


def test_warm_spares_are_not_next_while_there_are_hot_ones() -> None:
    of = racks_of_eight([NODE, RACK], hot=1)
    more = replace(of, fleet=replace(of.fleet, spares=replace(of.fleet.spares, warm=7)))
    assert shares_domain(more, of.tiers[0], "rack") == shares_domain(of, of.tiers[0], "rack") == pytest.approx(6 / 16)


def test_nothing_is_said_where_there_are_no_spares() -> None:
    assert not any(note.startswith("Spares: ") for note in describe(racks_of_eight([NODE, RACK]))["notes"])
