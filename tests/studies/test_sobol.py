"""studies/sobol.yaml: jobs are drawn, designs compete within each, and the page counts over the jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemsim.cli.main import main
from gemsim.spec.loading import load_study
from gemsim.study.analytic import closed_forms
from gemsim.study.design import designs_of
from tests.studies.world import FOLDER

STUDY = FOLDER / "sobol.yaml"


def test_three_designs_compete_in_each_of_32_jobs() -> None:
    groups = [design.group for design in designs_of(load_study(STUDY))]
    assert len(groups) == 96
    assert {groups.count(group) for group in groups} == {3}


def test_the_quick_form_counts_over_the_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(STUDY), "--quick", "--replications", "3", "--jobs", "1", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "8 jobs are drawn (step, scale, write, spare_nodes)" in " ".join(shown.split())
    assert "Designs, over the jobs in which they were simulated" in shown
    assert "m=1 k=128" in shown


def test_the_code_decides_nothing_and_the_rate_of_failures_moves_most() -> None:
    rows = closed_forms(load_study(STUDY))
    forms = [row["ettr_analytic"] for row in rows]
    assert None not in forms
    jobs = [rows[at : at + 3] for at in range(0, len(rows), 3)]
    ranges = [max(row["ettr_analytic"] for row in job) - min(row["ettr_analytic"] for row in job) for job in jobs]
    assert max(ranges) < 0.0006
    idle = [job[0]["ettr_analytic"] for job in jobs if job[0]["cluster.spare_nodes"] == 0]
    others = [job[0]["ettr_analytic"] for job in jobs if job[0]["cluster.spare_nodes"] > 0]
    assert idle == [pytest.approx(0.537, abs=0.001)]
    assert (min(others), max(others)) == (pytest.approx(0.930, abs=0.003), pytest.approx(0.991, abs=0.001))
