"""What `gemsim validate` writes beside its table."""

from __future__ import annotations

import csv
from pathlib import Path

from gemsim.cli.main import main


def test_every_set_of_assumptions_on_gem_can_be_had(tmp_path: Path) -> None:
    """As many rows as combinations, each with its verdict; the page names the met ones alone."""
    assert main(["validate", "--quick", "--only", "G17", "--sets", str(tmp_path / "gem.csv")]) == 0
    with (tmp_path / "gem.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    combinations = 2 * 2 * 1 * 2 * 2 * 2 * 2  # contained, mode, pause, lands, mapping, SRAM, encoding
    assert len(rows) == combinations * 7  # pairs of baseline and fall-back
    assert {row["met"] for row in rows} == {"true", "false"}
    assert all((float(row["total"]) >= float(row["claim"])) == (row["met"] == "true") for row in rows)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert main(["validate", "--quick", "--only", "G17", "--sets", str(tmp_path / "file" / "gem.csv")]) == 2
