"""`gemsim timeline`: the run of a sweep's point and replication, on the page and in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gemsim.cli.main import ASKED_WRONG, DONE, main
from gemsim.results.rows import RowStore
from gemsim.spec.loading import parse_study
from gemsim.study.choosing import choose_point
from gemsim.study.timeline import recorded
from tests.study.test_explain import SMALL

FILES = ("timeline.txt", "timeline.csv", "spans.csv", "timeline.svg", "timeline.png", "timeline.json")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_page_and_files(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run 1 äöü"
    asked = ["timeline", str(study), "variant=as it is", "k=8", "restart=in_place", "--replication", "2"]
    assert main([*asked, "--out", str(out)]) == DONE
    page = capsys.readouterr().out
    assert page.startswith("A small job\n  design       as it is k=8 restart=in_place\n")
    assert "replication  2 of seed 5" in page
    assert all((out / name).stat().st_size > 0 for name in FILES)
    assert json.loads((out / "timeline.json").read_text())["otherData"]["replication"] == 2
    assert main([*asked, "--full"]) == DONE
    assert (out / "timeline.txt").read_text() == capsys.readouterr().out


def test_it_is_the_run_of_the_sweep(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(study), "--jobs", "1", "--replications", "2", "--out", str(tmp_path / "out")]) == DONE
    table = RowStore(tmp_path / "out" / "rows").read().to_pylist()
    loaded = parse_study(study.read_bytes(), study)
    for number in (1, 3):
        found = recorded(loaded, choose_point(loaded, number=number, words=()), seed=None, replication=1)
        (row,) = [r for r in table if r["point"] == found.row["point"] and r["replication"] == 1]
        assert {name: row[name] for name in found.row} == found.row


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "design points are left"),
        (["--point", "99"], "no such design point (99)"),
        (["--point", "1", "--replication", "-1"], "--replication"),
        (["--point", "1", "cluster.gpus=7"], "cluster.gpus"),
    ],
)
def test_what_is_refused(study: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", str(study), *words]) == ASKED_WRONG
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown


def test_a_folder_that_cannot_be_written(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["timeline", str(study), "--point", "1", "--out", str(tmp_path / "file")]) == ASKED_WRONG
    assert "cannot be written" in capsys.readouterr().err
