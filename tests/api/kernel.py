"""Runs notebooks as a reader would: in a kernel of this interpreter, in a folder of their own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
SPEC = {
    "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
    "display_name": "Python 3",
    "language": "python",
}


def prepare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel `python3` that is this interpreter with this checkout, and nothing of the user's own settings."""
    place = folder / "jupyter" / "kernels" / "python3"
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(json.dumps(SPEC))
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(folder / name.lower()))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "kernels")]))


def run(notebook: Any, folder: Path, *, timeout: int = 120) -> Any:
    """The notebook with its outputs. Raises CellExecutionError where a cell fails."""
    client = NotebookClient(
        notebook, timeout=timeout, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    return client.execute()


def of_cells(*sources: str) -> Any:
    """A notebook of code cells."""
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])  # type: ignore[no-untyped-call]


def printed(notebook: Any) -> str:
    """What its cells wrote to stdout and stderr."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return "".join(output.text for output in outputs if output.output_type == "stream")
