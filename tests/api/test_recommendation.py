"""A recommendation from a program: the answer of the command as frames, and the chosen design as a study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gemsim as gs
from gemsim.errors import GemsimError
from gemsim.scenario import build
from gemsim.spec.loading import resolve_point
from gemsim.study.design import designs_of

SPACE = {
    "decide": {
        "objective": "goodput",
        "variables": {"protection.checkpoint.interval": ["10 min", "30 min", "optimal"], "cluster.spare_nodes": [4, 8]},
    },
    "compare": {}, "require": {"memory_overhead": "<= 1 %"}, "run.horizon": "10 d", "run.replications": 4,
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> gs.Recommendation:
    study = gs.load_study("widths", quick=True).point(
        "k=16", "m=1", "mapping=interleaved", "restart=in_place", "lands=used"
    )
    return gs.recommend(study.with_(SPACE), out=tmp_path_factory.mktemp("out"), jobs=1, confirm=3, quiet=True)


def test_the_choice_is_that_of_the_file_and_a_study_of_its_own(found: gs.Recommendation) -> None:
    held = json.loads((found.folder / "recommend.json").read_text())
    confirmed = found.confirmed
    assert confirmed["point"].tolist() == [one["point"] for one in held["confirmed"]]
    assert confirmed.index[confirmed["choice"]].tolist() == [held["choice"]]
    assert found.choice is not None
    (only,) = designs_of(found.choice.loaded)
    assert build(resolve_point(found.choice.loaded, only.assignments)).id == held["confirmed"][held["choice"]]["point"]
    assert found.data["choice"] == held["choice"]


def test_the_choice_is_marked_wherever_it_stands(found: gs.Recommendation) -> None:
    other = gs.Recommendation(found.study, found.found, found.folder)
    other.__dict__["data"] = {**found.data, "choice": 1, "tied": [1, 2]}
    assert other.confirmed["choice"].tolist() == [False, True, False]
    assert other.confirmed["tied"].tolist() == [False, True, True]


def test_numbers_are_those_of_the_file(found: gs.Recommendation) -> None:
    held = found.data["confirmed"]
    for column, key, part in (
        ("ettr", "ettr", "value"),
        ("ettr_lo", "ettr", "lo"),
        ("objective_hi", "objective", "hi"),
    ):
        assert found.confirmed[column].tolist() == [one[key][part] for one in held]
    assert len(found.front) == len(found.data["front"])
    assert found.front["value"].tolist() == [one["value"] for one in found.data["front"]]
    assert set(found.break_even["input"]) == {one["input"] for one in found.data["break_even"]}


@pytest.mark.parametrize("name", ["confirmed", "front", "break_even", "measure_next"])
def test_every_column_has_a_unit(found: gs.Recommendation, name: str) -> None:
    table = getattr(found, name)
    assert list(table.attrs["units"]) == list(table.columns)
    assert all(table.attrs["units"].values())


def test_it_says_what_to_run_and_how_surely(found: gs.Recommendation) -> None:
    assert "run: " in repr(found)
    assert "95 %" in repr(found)
    assert "Run this" in found.answer
    page = found._repr_html_()
    assert "Run this" in page
    assert "modelled, not measured" in page


def test_a_study_that_decides_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GemsimError, match="decide: missing"):
        gs.recommend(gs.load_study("widths", quick=True), out=tmp_path, jobs=1, quiet=True)
