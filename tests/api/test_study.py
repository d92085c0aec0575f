"""A study in a program: found by name, changed at any path, one of its points; errors are those of the command."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gemsim as gs
from gemsim.errors import StudyError, ValueRefused
from gemsim.scenario import build
from gemsim.spec.loading import resolve_point
from gemsim.spec.printing import study_hash
from gemsim.study.design import designs_of
from tests.api.small import K, M, small

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted(path.relative_to(ROOT / "studies") for path in (ROOT / "studies").rglob("*.yaml"))
NEEDS_A_LOG = "replay.yaml"


def _of(study: gs.Study) -> str:
    """A hash of what is run: without the quick section, which a changed study has no more."""
    return study_hash(study.loaded.spec.model_copy(update={"quick": {}}))


def test_a_name_and_a_file_are_the_same_study() -> None:
    named, file = gs.load_study("systems/gemini"), gs.load_study(ROOT / "studies" / "systems" / "gemini.yaml")
    assert _of(named) == _of(file)
    assert named.path == file.path


def test_an_unknown_name_is_one_line_with_the_nearest() -> None:
    with pytest.raises(StudyError) as refused:
        gs.load_study("witdhs")
    assert re.fullmatch(
        r"witdhs: no such study; a YAML file, or one of .*; did you mean 'widths'\?", str(refused.value)
    )


def test_a_file_that_is_not_there_is_refused_as_by_the_command() -> None:
    with pytest.raises(StudyError, match=r"^nowhere\.yaml: cannot be read"):
        gs.load_study("nowhere.yaml")


def test_without_a_quick_section_the_whole_study_is_taken_and_said_to_be() -> None:
    with pytest.warns(UserWarning, match="has no `quick:` section"):
        study = gs.load_study(_without_quick(), quick=True)
    assert not study.quick


def _without_quick() -> Path:
    for path in SHIPPED:
        if path.name != NEEDS_A_LOG and "\nquick:" not in (ROOT / "studies" / path).read_text(encoding="utf-8"):
            return ROOT / "studies" / path
    raise AssertionError("every shipped study has a quick section")


@pytest.mark.parametrize("path", [one for one in SHIPPED if one.name != NEEDS_A_LOG], ids=str)
def test_a_study_changed_in_nothing_is_the_same_study(path: Path) -> None:
    study = gs.load_study(ROOT / "studies" / path)
    assert _of(study.with_()) == _of(study)


@pytest.mark.parametrize("name", ["widths", "cadence", "systems", "uncertain", "retry"])
def test_a_point_taken_alone_is_the_same_design(name: str) -> None:
    study = gs.load_study(name, quick=True)
    for design in (designs_of(study.loaded)[0], designs_of(study.loaded)[-1]):
        alone = study.point(index=design.index)
        (only,) = designs_of(alone.loaded)
        whole = build(resolve_point(study.loaded, design.assignments)).id
        assert build(resolve_point(alone.loaded, only.assignments)).id == whole


def test_a_value_put_where_one_is_swept_fixes_it() -> None:
    fixed = small().set(K, np.int64(64))
    assert len(fixed.points) == 8
    assert K not in fixed.points
    assert {tier.k for tier in fixed.loaded.spec.protection if tier.kind == "stripe"} == {64}
    assert len(small().points) == 16


def test_any_path_goes() -> None:
    study = gs.load_study("recommend").with_(
        {
            "run.seed": 7, "run.replications": 2, "title": "another", "decide.objective": "goodput",
            "require.memory_overhead": "<= 1 %", "require.step_overhead": None, "restart.pause": "5 s",
            "failures": {"mix": "llama3-2024", "scale": 2},
        }
    )  # fmt: skip
    spec = study.loaded.spec
    assert (study.seed, study.replications, study.title, spec.restart.pause) == (7, 2, "another", 5.0)
    assert spec.require["memory_overhead"].value == 0.01
    assert "step_overhead" not in spec.require
    assert (spec.failures.mix, spec.failures.scale) == ("llama3-2024", 2.0)


def test_a_mapping_takes_the_place_of_a_section() -> None:
    study = gs.load_study("systems/gemini")
    assert study.loaded.spec.failures.scale == 4.0
    assert study.set("failures", {"mix": "llama3-2024"}).loaded.spec.failures.scale == 1.0


def test_what_follows_from_a_value_follows_the_new_one() -> None:
    study = small().set("run.seed", 5)
    assert study.loaded.spec.profile == "nvidia-h100"
    assert study.set("cluster.gpu", "a100-80gb").loaded.spec.profile == "nvidia-a100"


def test_a_law_goes_where_a_value_is_put() -> None:
    study = gs.load_study("uncertain")
    path = "cluster.spare_activation"
    assert path in study.loaded.spec.uncertain
    assert path not in study.set(path, "2 min").loaded.spec.uncertain


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"protection.stripe.kk": 3}, r"stripe\.kk: no such path .*; did you mean 'protection\.stripe\.k'\?"),
        ({M: -1}, r"m: out of range \(-1\); a whole number from 0 to 8"),
        ({"sweep.grid.protection.stripe.x": [1]}, r"sweep\.grid\.protection\.stripe\.x: no such path"),
        ({"require.etr": "<= 1 %"}, r"unknown summary column \('etr'\)"),
        ({"require.step_overhead": None}, r"no such key to take out \('step_overhead'\); require has memory_overhead"),
        ({K: object()}, r"protection\.stripe\.k: no value of a study \(object "),
        ({"titel": "x"}, r"titel: no such path"),
    ],
)  # fmt: skip
def test_a_wrong_change_is_one_line(changes: dict[str, object], said: str) -> None:
    with pytest.raises(StudyError, match=said) as refused:
        small().with_(changes)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"{small().path}: ")


def test_all_wrong_changes_are_said_at_once() -> None:
    with pytest.raises(StudyError) as refused:
        small().with_({"protection.stripe.kk": 3, "cluster.gups": 8})
    assert len(refused.value.problems) == 2


def test_a_value_that_every_variant_writes_itself_is_refused() -> None:
    with pytest.raises(StudyError, match=r"the variant 'strawman' of compare writes protection itself") as refused:
        gs.load_study("systems/gemini").with_({"protection": [], "run.seed": 1})
    assert "take one design first" in str(refused.value)


def test_several_points_left_are_refused_with_what_differs() -> None:
    with pytest.raises(StudyError, match=r"2 design points are left, and one is wanted; choose by k=16 \| 32"):
        small().point("m=1", "restart=in_place", "lands=used")


@pytest.mark.parametrize("index", [-1, 16, 1000])
def test_an_index_that_is_none_is_refused_as_it_was_given(index: int) -> None:
    with pytest.raises(ValueRefused, match=rf"no such design point \({index}\); index from 0 to 15"):
        small().point(index=index)


def test_a_number_as_a_choice_says_how_it_is_written() -> None:
    with pytest.raises(ValueRefused, match=r"not a choice \(3\).*for a number write index="):
        small().point(3)  # type: ignore[arg-type]


def test_points_are_a_row_each_in_the_order_of_a_sweep() -> None:
    points = small().points
    assert list(points.columns) == ["variant", K, M, "restart", "failures.lands"]
    assert points[K].tolist() == [one.columns[K] for one in designs_of(small().loaded)]


def test_it_says_what_it_is_and_where_its_costs_are_from() -> None:
    said, page = repr(small()), small()._repr_html_()
    for text in (said, page):
        assert "16,384 h100-80gb" in text
        assert "modelled, not measured" in text
    assert "k (2)" in said
    evil = small().set("title", "<script>alert(1)</script>")
    assert "<script>" not in evil._repr_html_()
    wrong = small().set("profile", "nvidia-h200")
    assert "nvidia-h200/modelled" in repr(wrong)
