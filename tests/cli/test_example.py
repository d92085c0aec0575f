"""`--example NAME` in place of STUDY: shipped studies by name, from any folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemsim import resources
from gemsim.cli.example import names, path_of
from gemsim.cli.main import main
from gemsim.errors import ValueRefused
from gemsim.spec.loading import load_study


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_shipped_study_has_a_name() -> None:
    files = set(resources.studies().rglob("*.yaml"))
    assert set(names().values()) == files
    assert names()["widths"] == resources.studies() / "widths.yaml"
    assert names()["systems/gemini"] == resources.studies() / "systems" / "gemini.yaml"


def test_another_name_is_refused_with_those_there_are() -> None:
    for wrong in ("width", "../widths", "", "widths.yaml", str(resources.studies() / "widths.yaml")):
        with pytest.raises(ValueRefused, match="--example: no such study") as caught:
            path_of(wrong)
        assert "widths" in str(caught.value)
    with pytest.raises(ValueRefused, match="did you mean 'widths'"):
        path_of("width")


def test_an_example_is_checked_and_swept_from_any_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--example", "gem"]) == 0
    title = load_study(path_of("gem")).spec.title
    assert capsys.readouterr().out.startswith(f"\n{title}")
    assert main(["sweep", "--example", "systems/recycle", "--replications", "1", "--jobs", "1"]) == 0
    assert (tmp_path / "out" / "recycle" / "summary.csv").is_file()


@pytest.mark.parametrize("words", [["lands=used"], []])
def test_choices_may_follow_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The first word after it is a choice, not STUDY."""
    choice = ["k=16", "m=1", "mapping=interleaved", "restart=in_place", *words]
    code = main(["explain", "--example", "widths", "--replications", "1", *choice])
    out, err = capsys.readouterr()
    assert (code == 0) == bool(words)
    assert "Which stripe width" in out if words else "lands" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sweep"], "Missing argument 'STUDY'"),
        (["sweep", "--example", "gem", "gem.yaml"], "give one of them"),
        (["explain", "--example", "gem", "gem.yaml"], "give one of them"),
        (["recommend"], "or --example NAME"),
        (["sensitivity"], "or --example NAME"),
        (["losses"], "or --example NAME"),
        (["timeline", "--example", "gem", "gem.yaml"], "give one of them"),
        (["check", "--example"], "requires an argument"),
    ],
)
def test_one_of_study_and_example(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err
