"""What a reader sees: readable at 80 columns, honest about its sources, short for large sweeps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gemsim.study.sweep import sweep
from gemsim.study.terminal import render
from gemsim.study.titles import titles_of
from tests.study import fakes


def page(folder: Path, grid: dict[str, list[Any]], *, width: int = 100, **plan: Any) -> str:
    result = sweep(fakes.plan(grid, **plan), fakes.MODEL, folder, jobs=1, report=fakes.Listener())
    return render(result, width=width)


SMALL: dict[str, list[Any]] = {"protection.stripe.k": [8, 16, 128], "protection.stripe.m": [0, 1]}
LARGE: dict[str, list[Any]] = {
    "protection.stripe.k": [8, 16, 32, 64],
    "protection.stripe.m": [0, 1, 2, 3],
    "restart": ["in_place", "all_processes"],
}


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("grid", [SMALL, LARGE])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, grid: dict[str, list[Any]], width: int) -> None:
    shown = page(tmp_path, grid, width=width)
    assert max(len(line) for line in shown.splitlines()) <= width
    assert "…" not in shown
    assert not any(line != line.rstrip() for line in shown.splitlines())


def test_a_small_sweep_is_shown_whole(tmp_path: Path) -> None:
    shown = page(tmp_path, SMALL)
    assert "Which fake?" in shown
    assert "6 points, 3 distinct designs, 6 replications each, seed 1." in shown
    assert "profile fake, modelled, not measured" in shown
    assert shown.count("k=") >= 6
    assert "infeasible" in shown
    assert "2 points are infeasible:" in shown
    assert "2 × k = 128 is more than the 100 pages of the state" in shown
    assert "Caution: few replications (6 < 10)." in shown
    assert f"Files in {tmp_path}: summary.csv" in " ".join(shown.split())


def test_the_twin_stands_beside_with_its_kind_and_its_distance(tmp_path: Path) -> None:
    shown = page(tmp_path, {"restart": ["in_place", "all_processes"]})
    (exact,) = [line for line in shown.splitlines() if "= 0.9800" in line]
    assert " z " in exact
    assert [line for line in shown.splitlines() if " none " in line]


def test_a_large_sweep_shows_what_decides_and_where_the_rest_is(tmp_path: Path) -> None:
    shown = page(tmp_path, LARGE)
    assert "all 32 points: summary.csv" in shown
    assert "restart = in_place" in shown
    assert "Burst survived (pages) at what share of memory" in shown
    assert "12 at 12.50 %" in shown  # k = 8, m = 1
    assert shown.count("Burst survived") == 1  # the same in both groups
    assert "Fall-back per failure, restart = all_processes" in shown
    assert "In each of these groups" in shown


def test_where_the_fleet_decides_its_answer_comes_first_and_nothing_is_said_twice(tmp_path: Path) -> None:
    """One design for each number of spares: no verdict of its own, and the spares of the one to take alone."""

    def describe(scenario: fakes.Scenario) -> dict[str, Any]:
        return fakes.describe(scenario) | {"spare_nodes": int(scenario.fate), "notes": [f"Spares: {scenario.fate}"]}

    model = replace(
        fakes.MODEL, build=lambda v: fakes.build({"protection.fate": v["fleet.spares.hot"]}), describe=describe
    )
    plan = fakes.plan({"fleet.spares.hot": ["2", "4", "8"]})
    shown = render(sweep(plan, model, tmp_path, jobs=1, report=fakes.Listener()))
    assert shown.index("Fewest spares: hot = 2") < shown.index("* hot=2") < shown.index("closed form: = exact")
    assert "nothing to choose here" not in shown
    assert "Spares: 2." in shown
    assert "Spares: 4." not in shown
    assert "hot = 4\n" not in shown[shown.index("closed form: = exact") :]
    assert "* best" not in shown
    assert shown.count("Ceiling: ") == 1


def test_failed_points_are_listed_at_the_end(tmp_path: Path) -> None:
    shown = page(tmp_path, {"protection.fate": ["fine", "raises"]})
    tail = " ".join(shown[shown.index("1 designs failed") :].split())
    assert "protection.fate=raises: failed in 3 replications; in replication 1: ValueError" in tail


def test_groups_of_unlike_variants_have_titles() -> None:
    """A variant may change a section that the others leave alone; of a section its keys are shown."""
    sections = [(), (("workload", '{"parameters": 671000000000.0, "layers": 61}'), ("restart", "in_place"))]
    groups = [SimpleNamespace(key=key, points=()) for key in sections]
    assert titles_of(groups) == [  # type: ignore[arg-type]
        "as written",
        "workload.parameters = 6.71e+11, workload.layers = 61, restart = in_place",
    ]


def test_sections_stand_in_titles_by_the_keys_that_differ() -> None:
    rules = [
        '{"after": 3, "within": "60 d"}',
        '{"after": 3, "within": "7 d"}',
        '{"after": 3, "within": "7 d", "no": 1}',
    ]
    groups = [SimpleNamespace(key=(("fleet.retire", rule),), points=()) for rule in rules]
    assert titles_of(groups) == [  # type: ignore[arg-type]
        "retire.within = 60 d",
        "retire.within = 7 d",
        "retire.within = 7 d, retire.no = 1",
    ]


def test_sections_that_differ_in_a_late_key_only_are_still_told_apart() -> None:
    bases = [{"a": n, "b": n, "c": n, "d": last} for n, last in ((1, 1), (2, 1), (2, 3))]
    groups = [SimpleNamespace(key=(("failures", json.dumps(base)),), points=()) for base in bases]
    titles = titles_of(groups)  # type: ignore[arg-type]
    assert len(set(titles)) == 3
    assert titles[2] == "failures.a = 2, failures.b = 2, failures.c = 2, failures.d = 3"


def test_a_group_of_one_variant_is_called_by_it_beside_what_is_swept() -> None:
    rules = {"never": None, "strict": '{"after": 3}', "loose": '{"after": 5}'}
    groups = []
    for variant, rule in rules.items():
        for hot in (4, 8):
            key = (("fleet.spares.hot", str(hot)), *((("fleet.retire", rule),) if rule else ()))
            point = SimpleNamespace(variant=variant, columns={"fleet.spares.hot": hot})
            groups.append(SimpleNamespace(key=key, points=[point]))
    assert titles_of(groups)[:3] == ["never: hot = 4", "never: hot = 8", "strict: hot = 4"]  # type: ignore[arg-type]


def test_where_all_failed_one_line_says_so(tmp_path: Path) -> None:
    shown = page(tmp_path, {"protection.fate": ["raises"], "restart": ["in_place", "all_processes"]})
    assert "Nothing to compare: no design could be simulated." in shown
    assert "No best" not in shown
    assert "restart = " not in shown
    assert "closed form" not in shown
    assert "2 designs failed (tracebacks in" in shown


def test_a_group_in_which_all_failed_says_that_alone(tmp_path: Path) -> None:
    shown = page(tmp_path, {"restart": ["in_place", "all_processes"], "protection.fate": ["fine"]})
    assert "No best" not in shown
    result = sweep(
        fakes.plan({"cluster.fate": ["fine", "raises"]}),
        replace(fakes.MODEL, build=lambda values: fakes.build({"protection.fate": values["cluster.fate"]})),
        tmp_path / "other",
        jobs=1,
        report=fakes.Listener(),
    )
    shown = render(result)
    assert "No best: no design of this group could be simulated." in shown
    assert "on nothing" not in shown
    assert "Ceiling: not known" not in shown


def test_variants_named_by_job_and_system_are_titled_by_the_job() -> None:
    """The sections that make the job are not spelled out again."""
    keys = {"moe": (("workload", '{"layers": 61}'), ("restart", "in_place")), "dense": (("restart", "in_place"),)}
    groups = [SimpleNamespace(key=key, points=[SimpleNamespace(variant=f"{job}: gem")]) for job, key in keys.items()]
    assert titles_of(groups) == ["moe", "dense"]  # type: ignore[arg-type]
