"""The judge, the reading of published numbers, the page and the exit code of `gemsim validate`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from gemsim import resources
from gemsim.analytic import first_order
from gemsim.cli.main import main
from gemsim.errors import ProfileError, ValueRefused
from gemsim.scenario import Scenario
from gemsim.spec.published import Outcome, names, paper, read_paper
from gemsim.spec.tolerance import Tolerance
from gemsim.study.validate import closed_forms, simulate
from gemsim.study.validate import run as running
from gemsim.study.validate.checks import Engine, Ours
from gemsim.study.validate.judge import Check, judge
from gemsim.study.validate.table import headline, objects, render

GOOD = """
title: A paper
source: https://example.org
inputs:
  step: {value: 2, unit: min, read: text}
outcomes:
  X1: {value: 10, unit: "%", read: text, tolerance: "± 1 pp", class: A, kind: independent, scenario: one}
  X2: {value: 3, unit: x, read: figure, band: 0.1, tolerance: none, class: C, kind: identity, scenario: two}
"""


def written(folder: Path, text: str) -> Path:
    place = folder / "paper.yaml"
    place.write_text(text)
    return place


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("exact", [10.0, 10.0 * (1 + 1e-10)], [10.0001, 9.9999]),
        ("± 1 %", [9.9, 10.1], [9.89, 10.11]),
        ("± 0.5", [9.5, 10.5], [9.49, 10.51]),
        ("9 to 12", [9.0, 12.0], [8.99, 12.01]),
        (">= 8", [8.0, 1e9], [7.99]),
        ("<= 8", [8.0, -1.0], [8.01]),
    ],
)
def test_a_tolerance_holds_up_to_its_edge(text: str, inside: list[float], outside: list[float]) -> None:
    tolerance = Tolerance.read(text, 1.0)
    assert all(tolerance.holds(ours, 10.0) for ours in inside)
    assert not any(tolerance.holds(ours, 10.0) for ours in outside)


def test_a_tolerance_is_in_the_unit_of_its_value() -> None:
    assert Tolerance.read("± 2", 60.0).holds(719.0, 600.0)
    assert not Tolerance.read("± 2", 60.0).holds(721.0, 600.0)
    assert Tolerance.read("± 1 pp", 0.01).holds(0.109, 0.1)
    assert not Tolerance.read("± 1 pp", 0.01).holds(0.111, 0.1)


@pytest.mark.parametrize("text", ["", "1 %", "± ", "12 to 9", "about 3", "± 1 parsec"])
def test_a_tolerance_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueRefused, match="cannot be read"):
        Tolerance.read(text, 1.0)


def test_a_paper_is_read_in_si(tmp_path: Path) -> None:
    read = read_paper(written(tmp_path, GOOD))
    assert read.inputs.step == 120.0
    assert read.outcomes["X1"].value == pytest.approx(0.1)
    with pytest.raises(ProfileError, match="no key stride"):
        _ = read.inputs.stride


BAD = [
    ("unit: min", "unit: mins", "5:20: inputs.step.unit: unknown unit ('mins')"),
    ("value: 2, ", "", "value is missing"),
    ("read: text}", "read: rumour}", "inputs.step.read: not known ('rumour')"),
    ("band: 0.1, ", "", "band is missing"),
    ("class: A", "class: D", "outcomes.X1.class: not known ('D')"),
    ('"± 1 pp"', "none", "none in class C only"),
    ("tolerance: none", "tolerance: exact", "none in class C only"),
    ('"± 1 pp"', "near", "outcomes.X1.tolerance: cannot be read ('near')"),
    ("scenario: one", "scene: one", "scenario is missing"),
    ("title: A paper", "titel: A paper", "unknown key ('titel')"),
    ("inputs:", "inputs: [", "not YAML"),
    ("value: 2, ", "value: two, ", "inputs.step.value: not a number ('two')"),
    ("value: 2, ", "value: true, ", "inputs.step.value: not a number"),
    ("value: 10, ", "value: {a: 10}, ", "outcomes.X1.value: not a value"),
    ("value: 10, ", "value: [10, [1]], ", "outcomes.X1.value[1]: not a value"),
    ("band: 0.1", "band: small", "outcomes.X2.band: not a number ('small')"),
    ("kind: identity", "differs: 1, kind: identity", "outcomes.X2.differs: not true or false (1)"),
]


@pytest.mark.parametrize(("old", "new", "said"), BAD)
def test_a_file_that_is_wrong_says_where(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ProfileError) as caught:
        read_paper(written(tmp_path, GOOD.replace(old, new)))
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("paper.yaml:")
    assert any(said in line for line in lines)
    assert len(lines) <= 2  # a misspelt key is also a missing one


def judged(tmp_path: Path, first: Ours, second: Ours | None = None) -> tuple[Check, Check]:
    one, two = judge(read_paper(written(tmp_path, GOOD)), {"X1": first, "X2": second or Ours(3.0)})
    return one, two


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (Ours(0.105), "pass"),
        (Ours(0.12), "fail"),
        (Ours(0.3, linear=0.105), "pass"),  # print is judged against its own accounting
        (Ours(0.1, linear=0.12), "fail"),
        (Ours(0.1, engine=Engine(0.5, 0.1, 0.2)), "pass"),
        (Ours(0.1, engine=Engine(0.5, 0.07, 0.2)), "fail"),  # z 4.3
        (Ours(0.1, engine=(Engine(0.5, 0.1, 0.2), Engine(0.5, 0.0, 0.2))), "fail"),
        (Ours(0.1, engine=Engine(0.5, 0.07, None)), "pass"),
        (Ours(0.1, engine=Engine(float("nan"), 0.1, 0.2)), "fail"),
        (Ours(float("nan")), "fail"),
        (Ours(True), "fail"),
        (Ours("0.1"), "fail"),
        (Ours((0.1, 0.1)), "fail"),
        (Ours(0.9, unbuilt="needs the fleet model"), "shown"),
    ],
)
def test_verdicts(tmp_path: Path, ours: Ours, verdict: str) -> None:
    assert judged(tmp_path, ours)[0].verdict == verdict


@pytest.mark.parametrize("ours", [Ours(99.0), Ours("nothing"), Ours(3.0, engine=Engine(1.0, 0.1, 9.0))])
def test_class_c_is_never_judged(tmp_path: Path, ours: Ours) -> None:
    assert judged(tmp_path, Ours(0.1), ours)[1].verdict == "shown"


@pytest.mark.parametrize("ours", [{"X1": Ours(0.1)}, {"X1": Ours(0.1), "X2": Ours(3.0), "X3": Ours(1.0)}])
def test_an_id_on_one_side_only_is_an_error(tmp_path: Path, ours: dict[str, Ours]) -> None:
    with pytest.raises(ProfileError, match=r"X2|X3"):
        judge(read_paper(written(tmp_path, GOOD)), ours)


def test_exit_code_and_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for ours, code in ((Ours(0.1), 0), (Ours(0.5), 1)):
        checks = list(judged(tmp_path, ours, Ours(99.0)))
        monkeypatch.setattr(running, "run", lambda *, quick, only, found=checks: found)
        assert main(["validate", "--quick"]) == code
        page = capsys.readouterr().out
        assert "\x1b" not in page
        assert ("FAILED: X1" in page) == bool(code)
        assert main(["validate", "--json"]) == code
        (first, second) = json.loads(capsys.readouterr().out)
        assert isinstance(ours.value, float)
        assert (first["published"], first["ours"]) == (10, pytest.approx(100 * ours.value))
        assert second["verdict"] == "shown"


def test_a_planted_fault_in_a_formula_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed_forms, "young_interval", lambda *args: 1.05 * first_order.young_interval(*args))
    published = paper("cases")
    failed = {c.id for c in judge(published, closed_forms.rows(published.inputs, quick=True)) if c.verdict == "fail"}
    assert failed == {"case1.best", "case3.young", "case8.interval", "case8.waste"}


def test_every_published_check_holds(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["validate", "--quick"])
    page = capsys.readouterr().out
    assert "FAILED" not in page, page
    assert code == 0
    first, second = page.splitlines()[:2]
    assert page.splitlines()[-2:] == [first, second]  # what a terminal still shows after a long page


def test_a_choice_without_independent_checks_says_so(tmp_path: Path) -> None:
    dependent = GOOD.replace("kind: independent", "kind: calibrated")
    checks = judge(read_paper(written(tmp_path, dependent)), {"X1": Ours(0.1), "X2": Ours(9.0)})
    assert headline(checks)[0] == "Independent checks: none among those shown."


def test_the_first_screen_says_what_print_is_judged_against(tmp_path: Path) -> None:
    page = render(judged(tmp_path, Ours(0.2, linear=0.1)), quick=True)
    top = " ".join(page.splitlines()[:6])
    assert "Print is judged against linear, its own accounting, where there is one, else against ours" in top


def test_an_unknown_prefix_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--only", "Z9"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no check begins so ('Z9')" in said


def test_print_that_a_correct_simulator_does_not_give_is_named(tmp_path: Path) -> None:
    """By its file, or where the linear form passes and the exact one would not; not every row of class C."""
    linear = Ours(0.2, linear=0.1)
    assert "must disagree with print, for the reason in the note: X1." in render(judged(tmp_path, linear), quick=True)
    assert "must disagree" not in render(judged(tmp_path, Ours(0.1), Ours((4.0,), linear=(3.0,))), quick=True)
    flagged = GOOD.replace("class: C", "class: C, differs: true")
    checks = judge(read_paper(written(tmp_path / "..", flagged)), {"X1": Ours(0.1), "X2": Ours(9.0)})
    assert "for the reason in the note: X2." in render(checks, quick=True)


DISAGREE = {
    "G3.below", "G3.ring", "G9.strawman", "G9.highfreq", "G15.highfreq.8", "G15.strawman.8", "G16.strawman.1000",
    "G16.ratio", "G17.stall", "R4.60min", "R9", "R10", "F1.before", "F1.after", "T7.headline", "T7.RM4", "T8.all",
}  # fmt: skip


def test_all_known_disagreements_with_print_are_named(cheap_engine: None) -> None:
    page = render(running.run(quick=True), quick=True, width=120)
    named = page.split("must disagree with print, for the reason in the note: ")[1].split(". linear:")[0]
    found = set(named.split("\nlinear:")[0].rstrip(".\n").replace("\n", " ").split(", "))
    assert found >= DISAGREE
    assert not [one for one in found if one.startswith("M1")]


def test_every_paper_has_its_rows() -> None:
    assert set(names()) == set(running.ROWS)


KEYS = {"id", "scenario", "published", "ours", "linear", "engine", "tolerance", "class", "kind", "verdict", "note"}


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_page_fits_and_keeps_kinds_apart(cheap_engine: None, width: int) -> None:
    checks = running.run(quick=True, only="G")
    page = render(checks, quick=True, width=width)
    assert max(len(line) for line in page.splitlines()) <= max(100, width)
    places = [page.index(f"\n{kind} (") for kind in ("Independent", "Calibrated", "Identity")]
    assert places == sorted(places)
    assert page.startswith("Independent checks: ")
    assert "|z| <= 4 is asked of" in page
    assert all(set(one) >= KEYS for one in objects(checks))
    json.dumps(objects(checks), allow_nan=False)


@pytest.fixture
def cheap_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that depends on the scenario alone, at no cost."""

    def sample(scenario: Scenario, *, replications: int, seed: int) -> np.ndarray:
        return np.random.default_rng([int(scenario.id[:8], 16), seed]).normal(0.5, 0.1, replications)

    monkeypatch.setattr(simulate, "ettr_sample", sample)


def test_nothing_that_computes_reads_what_it_is_judged_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cheap_engine: None
) -> None:
    before = {name: running.rows_of(name)(paper(name).inputs, quick=True) for name in running.ROWS}
    folder = tmp_path / "published"
    shutil.copytree(resources.published(), folder)
    for place in (folder / "papers").glob("*.yaml"):
        scramble(place)
    monkeypatch.setattr(resources, "published", lambda: folder)
    for name, rows in before.items():
        moved: dict[str, Outcome] = paper(name).outcomes
        assert set(moved) == set(rows)
        assert running.rows_of(name)(paper(name).inputs, quick=True) == rows


def scramble(place: Path) -> None:
    """Change the value of every outcome of a file."""
    yaml = YAML()
    tree: Any = yaml.load(place)
    other: dict[type, Callable[[Any], Any]] = {
        bool: lambda value: not value,
        str: lambda value: f"not {value}",
        int: lambda value: 3 * value + 17,
        float: lambda value: 1.7 * value + 0.3,
    }
    for outcome in tree["outcomes"].values():
        value = outcome["value"]
        kinds = [kind for kind in (bool, str, int, float) if isinstance(value, kind)]
        outcome["value"] = other[kinds[0]](value) if kinds else [2.0 * float(one) + 1.0 for one in value]
    yaml.dump(tree, place)
