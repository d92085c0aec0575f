"""The shipped notebooks: stripped, run as a reader runs them, and what they claim is asserted within."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.api.kernel import ROOT, of_cells, prepare, printed, run

FOLDER = ROOT / "studies" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
WANTED = {"choosing_k_and_m", "update_cadence", "reading_a_calibration", "failure_log_to_decision", "gemini_fig15"}


def _read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def test_they_are_all_there_and_listed() -> None:
    page = (ROOT / "studies" / "README.md").read_text(encoding="utf-8")
    assert {path.stem for path in NOTEBOOKS} == WANTED
    assert {path.name for path in NOTEBOOKS if f"`{path.name}`" not in page} == set()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stripped(path: Path) -> None:
    notebook = _read(path)
    nbformat.validate(notebook)
    assert notebook.nbformat == 4
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    for cell in notebook.cells:
        assert not cell.metadata
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_what_is_modelled_and_claims_what_it_asserts(path: Path) -> None:
    cells = _read(path).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert re.search(r"modelled|made up|engine", text, re.IGNORECASE)
    assert re.search(r"measured|published|fitted", text, re.IGNORECASE)
    assert sum(line.startswith("assert ") for line in cells[-1].source.splitlines()) >= 4
    assert len(cells) <= 20


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(tmp_path, monkeypatch)
    done = run(_read(path), tmp_path)
    assert all(cell.execution_count for cell in done.cells if cell.cell_type == "code")
    errors = [
        one for cell in done.cells if cell.cell_type == "code" for one in cell.outputs if one.output_type == "error"
    ]
    assert errors == []


def test_in_a_kernel_two_workers_progress_and_pages_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No guard of __main__ is needed; progress is plain lines on stdout; a result shows its page."""
    prepare(tmp_path, monkeypatch)
    notebook = of_cells(
        "import gemsim as gs\nfrom tests.api.small import one\nstudy = one('k=16', 'm=1')",
        "results = gs.sweep(study, jobs=2)\nresults",
        "alone, two = gs.simulate(study), gs.simulate(study, jobs=2)",
        "assert alone.equals(results.rows)\nassert two.equals(alone)",
        "gs.sweep(study, out='quiet', jobs=1, quiet=True).folder.as_posix()",
    )
    done = run(notebook, tmp_path)
    begun, ended = printed(done).splitlines()
    assert begun == "widths: 3 replications"
    assert ended.endswith("1 of 1 points done")
    shown = done.cells[1].outputs[-1]
    assert shown.output_type == "execute_result"
    assert "95 %" in shown.data["text/html"]
    assert (tmp_path / "out" / "widths-quick" / "summary.csv").is_file()
