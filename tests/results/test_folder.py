"""The output folder: one writer, whole files, clear words when the disk refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gemsim.errors import ResultsError
from gemsim.results import provenance
from gemsim.results.folder import json_text, locked, write_text


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
        assert (tmp_path / ".lock").read_text() == str(os.getpid())
        with pytest.raises(ResultsError, match=f"process {os.getpid()}"), locked(tmp_path):
            pass
    with locked(tmp_path):
        pass


def test_provenance_lists_the_runs_that_added_rows(tmp_path: Path) -> None:
    path = tmp_path / "provenance.json"
    provenance.record(path, {"seed": 3}, added=5)
    before = path.read_bytes()
    provenance.record(path, {"seed": 3}, added=0)
    assert path.read_bytes() == before
    provenance.record(path, {"seed": 3}, added=2)
    runs = json.loads(path.read_text())["runs"]
    assert [run["rows_added"] for run in runs] == [5, 2]
    assert all(run["gemsim"] and run["python"] and run["packages"]["numpy"] and run["command"] for run in runs)


def test_json_has_no_number_that_the_standard_lacks() -> None:
    nan, endless = float("nan"), float("inf")
    text = json_text({"a": nan, "b": [endless, (1.5, -endless)], "c": {"d": True, "e": "NaN"}})
    found = json.loads(text, parse_constant=pytest.fail)
    assert found == {"a": None, "b": [None, [1.5, None]], "c": {"d": True, "e": "NaN"}}
