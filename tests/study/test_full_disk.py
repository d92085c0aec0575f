"""A sweep whose disk refuses, at every write in turn: one clear line, nothing lost, and the run can go on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gemsim.errors import ResultsError
from gemsim.results.provenance import runs_of
from gemsim.results.rows import RowStore
from gemsim.study.sweep import SweepResult, sweep
from tests.results.full import STEPS, break_at
from tests.study import fakes

GRID = {"protection.fate": ["fine", "raises"]}


def run(folder: Path, **options: Any) -> SweepResult:
    return sweep(fakes.plan(GRID, **options), fakes.MODEL, folder, jobs=1, report=fakes.Listener())


def told(folder: Path) -> tuple[bytes, bytes, Any]:
    """What a folder says in the end."""
    rows = RowStore(folder / "rows").read()
    return (folder / "summary.csv").read_bytes(), (folder / "costs.csv").read_bytes(), rows


def refuses(folder: Path, monkeypatch: pytest.MonkeyPatch, step: str, *, after: int) -> bool:
    """Whether a run on a disk that is full after so many files is told so."""
    with monkeypatch.context() as patch:
        break_at(patch, step, after=after)
        try:
            run(folder, replications=3)
        except ResultsError as error:
            said = str(error)
        else:
            return False
    assert "cannot be written (No space left on device); free it or give --out" in said
    return True


@pytest.mark.parametrize("step", STEPS)
def test_a_disk_that_fills_at_any_write_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    run(tmp_path / "whole", replications=3)
    whole = told(tmp_path / "whole")
    refused = 0
    while refuses(tmp_path / f"full-{refused}", monkeypatch, step, after=refused):
        folder = tmp_path / f"full-{refused}"
        refused += 1
        kept = RowStore(folder / "rows").read().num_rows
        assert run(folder, replications=3).added == len(whole[2]) - kept
        assert told(folder) == whole
        outcomes = [one["outcome"] for one in runs_of(folder / "provenance.json")]
        assert outcomes[-1] == "ended"
        assert sum(one["rows_added"] for one in runs_of(folder / "provenance.json")) == len(whole[2])
    assert refused >= 9  # provenance twice, study, parts, errors, failed.json, summary, costs


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A disk of 200 kB of its own; a machine that allows no mount has the tests above."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(words, capture_output=True).returncode != 0:
        pytest.skip("mounting a file system is not allowed here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_real_disk_that_is_full_is_one_clear_line_and_room_is_all_it_takes(mounted: Path, tmp_path: Path) -> None:
    folder = mounted / "out"
    with pytest.raises(ResultsError, match=r"cannot be written \(No space left on device\)"):
        run(folder, replications=600)
    kept = RowStore(folder / "rows").read().num_rows
    assert kept > 0
    assert not list(folder.rglob(".*.tmp"))
    subprocess.run(["mount", "-o", "remount,size=64m", str(mounted)], check=True)
    run(folder, replications=600)
    run(tmp_path / "whole", replications=600)
    assert told(folder) == told(tmp_path / "whole")


def test_a_real_disk_that_is_read_only_is_one_clear_line(mounted: Path) -> None:
    folder = mounted / "out"
    run(folder, replications=2)
    before = told(folder)
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    with pytest.raises(ResultsError, match=r"out/\.lock: cannot be written \(Read-only file system\).*--out"):
        run(folder, replications=3)
    with pytest.raises(ResultsError, match=r"new: cannot be written \(Read-only file system\)"):
        run(mounted / "new", replications=3)
    assert told(folder) == before


def test_a_folder_that_is_removed_while_a_run_writes_there_is_said_and_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    usual = RowStore.append

    def then_removed(self: RowStore, *given: Any, **named: Any) -> None:
        usual(self, *given, **named)
        shutil.rmtree(folder)

    monkeypatch.setattr(RowStore, "append", then_removed)
    with pytest.raises(ResultsError, match="was removed or replaced while this run was writing there"):
        run(folder)
    assert not folder.exists()
    monkeypatch.undo()
    assert run(folder).added == 9


def test_rows_that_are_removed_while_a_run_writes_are_missed_before_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = RowStore.append

    def then_removed(self: RowStore, *given: Any, **named: Any) -> None:
        usual(self, *given, **named)
        if first:
            first.clear()
            next(self.folder.glob("part-*")).unlink()

    first = [True]
    monkeypatch.setattr(RowStore, "append", then_removed)
    with pytest.raises(
        ResultsError, match="replications are gone since this run began: something removed files; run a"
    ):
        run(tmp_path)
    assert not (tmp_path / "summary.csv").exists()
    assert runs_of(tmp_path / "provenance.json")[-1]["outcome"].startswith("failed: ")


def test_what_stands_in_the_way_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ResultsError, match=r"file: cannot be written \(File exists\)"):
        run(tmp_path / "file")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/rows").write_text("mine")
    with pytest.raises(ResultsError, match=r"out/rows: cannot be written \(File exists\)"):
        run(tmp_path / "out")
    assert (tmp_path / "file").read_text() == (tmp_path / "out/rows").read_text() == "mine"


def test_a_refused_folder_is_left_as_it_was(tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / "rows/part-0.parquet").write_bytes(b"half")
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ResultsError, match=r"part-0\.parquet: cannot be read .*remove this file and run again"):
        run(tmp_path, replications=9)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files
    (tmp_path / "rows/part-0.parquet").unlink()
    run(tmp_path, replications=9)


def test_nothing_is_written_into_a_folder_that_took_the_place_of_the_one_that_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    usual = RowStore.append

    def then_exchanged(self: RowStore, *given: Any, **named: Any) -> None:
        usual(self, *given, **named)
        if not (tmp_path / "moved").exists():
            folder.rename(tmp_path / "moved")
            (folder / "rows").mkdir(parents=True)

    monkeypatch.setattr(RowStore, "append", then_exchanged)
    plan = fakes.plan({"protection.stripe.k": [8, 16, 32]})
    with pytest.raises(ResultsError, match="was removed or replaced while this run was writing there"):
        sweep(plan, fakes.MODEL, folder, jobs=1, report=fakes.Listener())
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert RowStore(tmp_path / "moved/rows").read().num_rows > 0
