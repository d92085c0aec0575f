"""The output folder: one writer, whole files, clear words when the disk refuses."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
from pathlib import Path

import pytest

from gemsim.errors import ResultsError
from gemsim.results import provenance
from gemsim.results.folder import json_text, locked, write_text
from tests.results.full import break_at


def test_a_file_that_says_the_same_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "new/summary.csv"
    write_text(path, "a\n")
    os.utime(path, ns=(1, 1))
    write_text(path, "a\n")
    assert path.stat().st_mtime_ns == 1
    write_text(path, "b\n")
    assert path.read_text() == "b\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match=r"file.*cannot be written.*--out"), locked(tmp_path / "file"):
        pass
    with pytest.raises(ResultsError, match=r"file: cannot be written \(File exists\)"):
        write_text(tmp_path / "file/summary.csv", "a")


def test_a_lock_ends_with_its_holder_not_with_its_file(tmp_path: Path) -> None:
    with locked(tmp_path):
        assert (tmp_path / ".lock").read_text() == f"{os.getpid()} {platform.node()}"
        with pytest.raises(ResultsError, match=f"process {os.getpid()}"), locked(tmp_path):
            pass
    with locked(tmp_path):
        pass


def test_provenance_lists_a_run_from_its_start_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "provenance.json"
    with provenance.recorded(path, {"seed": 3}, rows=0, count=lambda: 5) as found:
        found["designs_failed"] = 2
        (run,) = provenance.runs_of(path)
        assert (run["outcome"], run["ended"], run["rows_added"]) == ("running", None, None)
    (run,) = provenance.runs_of(path)
    assert (run["outcome"], run["rows_before"], run["rows_added"]) == ("ended", 0, 5)
    assert run["when"] <= run["ended"]
    assert all(run[name] for name in ("gemsim", "python", "command", "host", "process"))
    assert run["packages"]["numpy"]
    assert run["found"] == {"designs_failed": 2}
    assert provenance.facts_of(run) == {"seed": 3}  # what was asked, not what came of it


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(KeyboardInterrupt("by hand"), "stopped"), (ResultsError("the disk is full"), "failed: the disk is full")],
)
def test_provenance_says_how_a_run_ended(tmp_path: Path, error: BaseException, outcome: str) -> None:
    path = tmp_path / "provenance.json"
    with pytest.raises(type(error)), provenance.recorded(path, {}, rows=2, count=lambda: 3):
        raise error
    (run,) = provenance.runs_of(path)
    assert (run["outcome"], run["rows_added"]) == (outcome, 1)


def test_a_run_that_was_killed_is_closed_by_the_next_with_the_rows_it_added(tmp_path: Path) -> None:
    path = tmp_path / "provenance.json"
    provenance.begin(path, {}, rows=4)
    provenance.begin(path, {}, rows=10)
    provenance.end(path, rows=12)
    runs = provenance.runs_of(path)
    assert [(run["outcome"], run["rows_added"]) for run in runs] == [("killed", 6), ("ended", 2)]


def test_a_list_of_runs_that_cannot_be_read_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "provenance.json"
    for text in ("{", "[]", '{"runs": [1]}'):
        path.write_text(text)
        with pytest.raises(ResultsError, match=r"provenance.json: is no list of runs .*mend it or move it away"):
            provenance.begin(path, {}, rows=0)
        assert path.read_text() == text


def test_a_lost_folder_is_not_made_again_for_its_provenance(tmp_path: Path) -> None:
    provenance.end(tmp_path / "gone/provenance.json", rows=1)
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS])
def test_a_filesystem_without_locks_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(descriptor: int, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        pytest.raises(ResultsError, match=r"this filesystem gives no lock \(.*\).*--out.*docs/folder.md"),
        locked(tmp_path),
    ):
        pass


def test_a_run_on_another_host_is_named_with_its_host(tmp_path: Path) -> None:
    with locked(tmp_path):
        (tmp_path / ".lock").write_text("77 node9")
        with pytest.raises(ResultsError, match=r"process 77 on node9\) is writing here"), locked(tmp_path):
            pass


def test_a_folder_that_is_removed_or_exchanged_is_no_longer_held(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with locked(folder) as hold:
        hold.check()
        folder.rename(tmp_path / "moved")
        with pytest.raises(ResultsError, match="was removed or replaced while this run was writing"):
            hold.check()
        with locked(folder), pytest.raises(ResultsError, match="was removed or replaced"):
            hold.check()


@pytest.mark.parametrize("step", ["open", "write", "fsync", "rename", "sync_folder"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "summary.csv"
    write_text(path, "old")
    break_at(monkeypatch, step)
    with pytest.raises(ResultsError, match=r"cannot be written \(No space left on device\).*--out"):
        write_text(path, "new")
    monkeypatch.undo()
    assert path.read_text() == ("new" if step == "sync_folder" else "old")  # renamed, if not surely on the disk
    assert list(tmp_path.iterdir()) == [path]


def test_json_has_no_number_that_the_standard_lacks() -> None:
    nan, endless = float("nan"), float("inf")
    text = json_text({"a": nan, "b": [endless, (1.5, -endless)], "c": {"d": True, "e": "NaN"}})
    found = json.loads(text, parse_constant=pytest.fail)
    assert found == {"a": None, "b": [None, [1.5, None]], "c": {"d": True, "e": "NaN"}}
