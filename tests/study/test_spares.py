"""Groups that differ in the fleet alone: what is compared, what the table says, and what follows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gemsim.results.rows import RowStore
from gemsim.results.summary import Point, Summary, summarise
from gemsim.study.advice import Group
from gemsim.study.spares import fleets, shortage
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
        static = {"spare_nodes": one["nodes"]}
        points.append(Point(index, swept, one.get("variant", ""), key, id_, static=static, protection=protection))
        rows += [row_of(id_, n, waiting_s=share * 1e6, failures=3) for n, share in enumerate(one["lost"])]
    store = RowStore(folder)
    store.append(rows, seed=1)
    found = summarise(points, store.read(), replications=4, require={}, failed={})
    groups = []
    for key, choice in found.choices.items():
        groups.append(Group(key, [p for p in points if p.group == key], found.rows, choice, {}, {}, {}))
    return groups, found


def said(folder: Path, designs: Designs) -> tuple[list[str], str]:
    """The lines of the one table, and the sentence."""
    ((_, table, answer),) = fleets(*summed(folder, designs))
    console = Console(width=120)
    with console.capture() as shown:
        console.print(table)
    return [re.sub(r"\s+", " ", line).strip() for line in shown.get().splitlines() if line.strip()], answer


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
    titles = [title for title, _, _ in fleets(*summed(tmp_path, both))]
    assert [title.partition(", on")[0] for title in titles] == [
        "The fleet, restart = in_place",
        "The fleet, restart = all",
    ]


def test_the_short_form_of_spares_is_of_the_fleet_too(tmp_path: Path) -> None:
    short = {name: one | {"fleet": ("cluster.spare_nodes", str(one["nodes"]))} for name, one in SPARES.items()}
    assert said(tmp_path, short)[1].startswith("Fewest spares: spare_nodes = 4")


@pytest.mark.parametrize(
    ("lost", "names_spares"), [({"waiting": 0.83}, True), ({"waiting": 0.2, "wasted": 0.3}, False), ({}, False)]
)
def test_where_waiting_is_most_of_the_loss_spares_and_repair_are_named(
    lost: dict[str, float], names_spares: bool
) -> None:
    shares = dict.fromkeys(("detection", "wasted", "recovery", "restart", "waiting", "degraded"), 0.001) | lost
    text = shortage({f"time_{name}": share for name, share in shares.items()})
    assert ("fleet.spares or cluster.spare_nodes" in text) == bool(text) == names_spares
