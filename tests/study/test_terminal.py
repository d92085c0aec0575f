"""What a reader sees: readable at 80 columns, honest about its sources, short for large sweeps."""

from __future__ import annotations

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


def test_failed_points_are_listed_at_the_end(tmp_path: Path) -> None:
    shown = page(tmp_path, {"protection.fate": ["fine", "raises"]})
    tail = " ".join(shown[shown.index("1 designs failed") :].split())
    assert "protection.fate=raises: failed in 3 replications; in replication 1: ValueError" in tail


def test_groups_of_unlike_variants_have_titles() -> None:
    """A variant may change a section that the others leave alone; a long section is shown by its beginning."""
    sections = [(), (("workload", '{"parameters": 671000000000.0, "layers": 61}'), ("restart", "in_place"))]
    groups = [SimpleNamespace(key=key, points=()) for key in sections]
    assert titles_of(groups) == [  # type: ignore[arg-type]
        "as written",
        'workload = {"parameters": 671000000…, restart = in_place',
    ]


def test_variants_named_by_job_and_system_are_titled_by_the_job() -> None:
    """The sections that make the job are not spelled out again."""
    keys = {"moe": (("workload", '{"layers": 61}'), ("restart", "in_place")), "dense": (("restart", "in_place"),)}
    groups = [SimpleNamespace(key=key, points=[SimpleNamespace(variant=f"{job}: gem")]) for job, key in keys.items()]
    assert titles_of(groups) == ["moe", "dense"]  # type: ignore[arg-type]
