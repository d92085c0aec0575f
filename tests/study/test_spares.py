"""Groups that differ in the fleet alone: what is compared, what the table says, and what follows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gemsim.results.rows import RowStore
from gemsim.results.summary import Point, Summary, summarise
from gemsim.scenario import Scenario
from gemsim.scenario.waiting import Waits, waits
from gemsim.study.advice import Group
from gemsim.study.spares import fleets, shortage
from tests.engine.small import scenario
from tests.study.fakes import row_of

Designs = dict[str, dict[str, Any]]

SPARES: Designs = {  # loses, shares, by replication
    "none": {"fleet": ("fleet.spares.hot", "0"), "nodes": 0, "lost": (0.30, 0.32, 0.31, 0.29)},
    "four": {"fleet": ("fleet.spares.hot", "4"), "nodes": 4, "lost": (0.1502, 0.1201, 0.1402, 0.1300)},
    "eight": {"fleet": ("fleet.spares.hot", "8"), "nodes": 8, "lost": (0.15, 0.12, 0.14, 0.13)},
}
RULES: Designs = {
    "never": {"nodes": 8, "lost": (0.15, 0.12, 0.14, 0.13)},
    "strict": {"fleet": ("fleet.retire", '{"after": 3}'), "nodes": 8, "lost": (0.14, 0.11, 0.13, 0.12)},
}


def summed(folder: Path, designs: Designs) -> tuple[list[Group], Summary]:
    """A summary of designs that each stand in the group of their fleet; `more` is what else a group holds."""
    points, rows = [], []
    for index, (id_, one) in enumerate(designs.items()):
        key = (*([one["fleet"]] if "fleet" in one else []), *one.get("more", ()))
        protection = (("protection.stripe.m", one.get("m", "1")),)
        swept = {path: value for path, value in key if not value.startswith("{")}
        static = {"spare_nodes": one["nodes"], "waits": one.get("waits", Waits(nodes=True, devices=0.0))}
        points.append(Point(index, swept, one.get("variant", ""), key, id_, static=static, protection=protection))
        waited = one.get("waited", 1 / 3)  # share of what is lost
        for n, share in enumerate(one["lost"]):
            spent = {"waiting_s": share * waited * 1e6, "wasted_s": share * (1.0 - waited) * 1e6}
            rows.append(row_of(id_, n, failures=3, **spent))
    store = RowStore(folder)
    store.append(rows, seed=1)
    found = summarise(points, store.read(), replications=4, require={}, failed={})
    groups = []
    for key, choice in found.choices.items():
        groups.append(Group(key, [p for p in points if p.group == key], found.rows, choice, {}, {}, {}))
    return groups, found


def said(folder: Path, designs: Designs) -> tuple[list[str], str]:
    """The lines of the one table, and the sentence."""
    (found,) = fleets(*summed(folder, designs))
    console = Console(width=120)
    with console.capture() as shown:
        console.print(found.table)
    return [re.sub(r"\s+", " ", line).strip() for line in shown.get().splitlines() if line.strip()], found.text


def test_the_difference_is_paired_with_the_best_of_the_groups(tmp_path: Path) -> None:
    """By hand: replications differ by 0.03, the fleets by 0.0001 in each, which only pairing can see."""
    _, found = summed(tmp_path, SPARES)
    four, eight = found.rows[1], found.rows[2]
    assert (eight["fleet_diff"], eight["fleet_diff_lo"], eight["fleet_diff_hi"]) == (0.0, 0.0, 0.0)
    assert four["fleet_diff"] == pytest.approx(-0.000125)
    assert four["fleet_diff_hi"] - four["fleet_diff_lo"] < 0.001 < four["ettr_hi"] - four["ettr_lo"]
    assert found.rows[0]["fleet_diff"] == pytest.approx(-0.17)


def test_the_fewest_spares_that_cannot_be_told_from_the_best_are_named(tmp_path: Path) -> None:
    lines, answer = said(tmp_path, SPARES)
    assert lines[0].split() == ["fleet", "ETTR,", "95", "%", "points", "behind", "95", "%", "waiting", "failures"]
    assert [line.split(" ")[0] for line in lines[2:]] == ["hot=0", "*", "="]
    assert answer.startswith("Fewest spares: hot = 4 (4 nodes, ETTR 0.8649), not told from the largest, hot = 8")
    assert "With fewer: hot = 0 is 17.00 points worse (95 %:" in answer


def test_a_value_whose_interval_is_too_wide_is_never_the_answer(tmp_path: Path) -> None:
    wild = SPARES | {"none": {"fleet": ("fleet.spares.hot", "0"), "nodes": 0, "lost": (0.12, 0.40, 0.10, 0.13)}}
    lines, answer = said(tmp_path, wild)
    assert lines[2].startswith("? hot=0")
    assert answer.startswith("Fewest spares: hot = 4")
    assert "hot = 0 cannot be told yet (95 %:" in answer
    assert "run more replications" in answer


def test_rules_with_the_same_spares_are_set_beside_the_largest(tmp_path: Path) -> None:
    named = {name: {**one, "variant": name} for name, one in RULES.items()}
    lines, answer = said(tmp_path, named)
    assert lines[3].startswith("* strict")
    assert answer.startswith(
        "Largest: strict (ETTR 0.8750); spares are the same. Beside it: never is 1.00 points worse"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"more": (("restart", "in_place"),)},  # another restart mode
        {"m": "2"},  # another protection
        {"fleet": ("cluster.gpus", "16")},  # no fleet at all
    ],
)
def test_groups_that_differ_in_more_than_the_fleet_are_not_compared(tmp_path: Path, change: dict[str, Any]) -> None:
    pair = {"none": SPARES["none"], "four": SPARES["four"] | change}
    groups, found = summed(tmp_path, pair)
    assert not list(fleets(groups, found))
    assert found.rows[0]["fleet_diff"] is None


def test_each_setting_of_the_rest_has_its_own_table(tmp_path: Path) -> None:
    both = {
        f"{name} {mode}": one | {"more": (("restart", mode),)}
        for mode in ("in_place", "all")
        for name, one in SPARES.items()
    }
    titles = [one.title for one in fleets(*summed(tmp_path, both))]
    assert [title.partition(", on")[0] for title in titles] == [
        "The fleet, restart = in_place",
        "The fleet, restart = all",
    ]


def test_the_short_form_of_spares_is_of_the_fleet_too(tmp_path: Path) -> None:
    short = {name: one | {"fleet": ("cluster.spare_nodes", str(one["nodes"]))} for name, one in SPARES.items()}
    assert said(tmp_path, short)[1].startswith("Fewest spares: spare_nodes = 4")


def test_the_edge_of_the_sweep_is_no_recommendation(tmp_path: Path) -> None:
    """The most spares are the best: how many are enough nobody has seen."""
    better = SPARES | {"eight": {**SPARES["eight"], "lost": (0.05, 0.02, 0.04, 0.03)}}
    lines, answer = said(tmp_path, better)
    assert answer.startswith(
        "No number of spares here is known to be enough: the largest ETTR is hot = 8 (8 nodes, ETTR 0.9650), at the "
        "edge of the sweep. Waiting still takes 1.17 % of the time. More spares might be better: sweep more. "
        "With fewer: hot = 4 is 10.01 points worse"
    )
    assert [line.split(" ")[0] for line in lines[2:]] == ["hot=0", "hot=4", ">"]


def test_spares_that_are_all_too_few_are_never_enough(tmp_path: Path) -> None:
    """The ETTR of all is the same, since the job waits for nodes with each."""
    stuck = {name: {**one, "lost": (0.9, 0.91, 0.9, 0.91), "waited": 0.95} for name, one in SPARES.items()}
    _, answer = said(tmp_path / "a", stuck)
    assert answer.startswith("No number of spares here is known to be enough: the largest ETTR is hot = 0 (0 nodes")
    rebooting = {name: {**one, "waits": Waits(nodes=True, devices=0.8)} for name, one in stuck.items()}
    assert said(tmp_path / "b", rebooting)[1].startswith("Fewest spares: hot = 0")


def test_every_pick_with_fewer_spares_is_named(tmp_path: Path) -> None:
    """Two placements of as many spares: both are worse, and both are said to be."""
    worse = {"nodes": 2, "more": (("fleet.spares.placed", "spread"),)}
    few = {
        "apart": {"fleet": ("fleet.spares.hot", "2"), **worse, "lost": (0.25, 0.22, 0.24, 0.23)},
        "spread": {"fleet": ("fleet.spares.hot", "2"), "nodes": 2, "lost": (0.26, 0.23, 0.25, 0.24)},
    }
    _, answer = said(tmp_path, SPARES | few)
    assert answer.startswith("Fewest spares: hot = 4")
    assert "10.00 points worse" in answer
    assert "11.00 points worse" in answer
    assert "17.00 points worse" in answer


@pytest.mark.parametrize(("crews", "edge"), [((1, 2, 4), True), ((1, 4, 2), False)])
def test_the_largest_at_the_end_of_a_numeric_axis_is_said_to_be_there(
    tmp_path: Path, crews: tuple[int, ...], edge: bool
) -> None:
    swept = {
        str(n): {"fleet": ("fleet.repair.stages.hands.crews", str(n)), "nodes": 8, "lost": (lost, lost - 0.01) * 2}
        for n, lost in zip(crews, (0.4, 0.3, 0.2), strict=True)
    }
    _, answer = said(tmp_path, swept)
    assert ("crews = 4 is the edge of the sweep: values beyond it might be better" in answer) == edge


LOST = dict.fromkeys(("detection", "wasted", "recovery", "restart", "waiting", "degraded"), 0.001)
NODES, BOTH = Waits(nodes=True, devices=0.0), Waits(nodes=True, devices=0.1)


@pytest.mark.parametrize(
    ("lost", "may", "start"),
    [
        ({"waiting": 0.83}, NODES, "Waiting (for nodes and their start) takes 83.0 % of the time"),
        ({"waiting": 0.83}, BOTH, "Waiting (for nodes, their start, resets and reboots) takes 83.0 %"),
        ({"waiting": 0.15}, BOTH, "Resets and reboots take about 10.0 % of the time"),
        ({"waiting": 0.279}, Waits(nodes=False, devices=0.3), "Resets and reboots take 27.9 % of the time"),
        ({"waiting": 0.008}, NODES, "Waiting (for nodes and their start) takes 0.8 % of the time"),
        ({"waiting": 0.2, "wasted": 0.3}, NODES, ""),
        ({"waiting": 0.0045, "wasted": 0.0}, NODES, ""),
        ({}, NODES, ""),
    ],
)
def test_where_waiting_is_most_of_the_loss_it_is_said_for_what(lost: dict[str, float], may: Waits, start: str) -> None:
    text = shortage({f"time_{name}": share for name, share in (LOST | lost).items()}, {"waits": may})
    assert text.startswith(start)
    assert bool(text) == bool(start)
    assert ("fleet.spares or cluster.spare_nodes" in text) == start.startswith("Waiting")


@pytest.mark.parametrize(
    ("action", "nodes", "seconds"), [("reboot", False, 13.0), ("reset", False, 11.0), ("replace", True, 0.0)]
)
def test_what_a_job_can_wait_for_follows_from_its_classes(action: str, nodes: bool, seconds: float) -> None:
    """By hand: one failure in 1,000 s, after which a reboot takes 13 s and a reset 11 s."""
    kind = {"name": "n", "scope": "node", "action": action, "repair": "9 s", "rate": "1 / 1000 s", "gpus": 16}
    found: Scenario = scenario(failures__classes=[{"detect": "1 s", **kind}])
    assert waits(found).nodes == nodes
    assert waits(found).devices == pytest.approx(seconds / 1000.0)
