"""A folder read again says what its sweep said, and refuses what it cannot read."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemsim.errors import ResultsError
from gemsim.spec.loading import load_study
from gemsim.study.plan import MODEL, plan
from gemsim.study.reopen import reopen
from gemsim.study.sweep import SOURCE, sweep
from gemsim.study.terminal import render
from tests.study.fakes import Listener

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.mark.parametrize("name", ["trainingcxl", "uncertain", "zero3"])  # variants, laws of inputs, a required bound
def test_a_folder_says_again_what_its_sweep_said(name: str, tmp_path: Path) -> None:
    asked = plan(load_study(STUDIES / f"{name}.yaml", quick=True), seed=7, replications=2, quick=True)
    said = render(sweep(asked, MODEL, tmp_path, jobs=1, report=Listener()))
    assert render(reopen(tmp_path)) == said


def test_a_folder_without_a_sweep_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"holds no sweep \(source.yaml: No such file.*gemsim sweep"):
        reopen(tmp_path)


def test_a_folder_whose_designs_are_others_is_refused(tmp_path: Path) -> None:
    asked = plan(load_study(STUDIES / "zero3.yaml", quick=True), seed=7, replications=1, quick=True)
    sweep(asked, MODEL, tmp_path, jobs=1, report=Listener())
    (tmp_path / SOURCE).write_bytes((STUDIES / "trainingcxl.yaml").read_bytes())
    with pytest.raises(ResultsError, match="none of its designs is one of this version"):
        reopen(tmp_path)
