"""The shipped study that decides: as large as promised, every point covered, and its answer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from docs import refresh
from gemsim.cli.main import main
from gemsim.spec.loading import load_study
from gemsim.study.recommend.front import met, wanted
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.screen import screened
from gemsim.study.recommend.space import structures
from gemsim.study.recommend.tools import TOOLS
from tests.studies.world import FOLDER

STUDY = FOLDER / "recommend.yaml"
GOODPUT = Sought("goodput")


def test_the_space_is_as_large_as_promised() -> None:
    full, quick = (sum(one.points for one in structures(load_study(STUDY, quick=form))) for form in (False, True))
    assert full >= 100_000
    assert quick < 1_000


def test_every_point_of_the_quick_form_has_a_form_and_some_meet_the_bounds() -> None:
    loaded = load_study(STUDY, quick=True)
    table = screened(loaded, structures(loaded), TOOLS, GOODPUT, columns=wanted(loaded.spec.require, GOODPUT))
    assert not table.uncovered
    assert not table.infeasible
    rows = np.flatnonzero(met(table, loaded.spec.require, GOODPUT))
    assert 0 < len(rows) < len(table.flat)  # copies on hosts alone may lose a run; the store behind them does not


@pytest.mark.long
def test_the_page_shows_what_is_printed() -> None:
    printed = refresh.recommendation()
    page = refresh.PAGE.read_text(encoding="utf-8")
    assert refresh.block(page, refresh.ALL_OF_ONE, refresh.END_OF_ONE) == printed


@pytest.mark.long
def test_the_full_study_is_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recommend", str(STUDY), "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    found = json.loads((tmp_path / "recommend.json").read_text(encoding="utf-8"))
    assert found["screened"]["points"] >= 100_000
    assert len(found["confirmed"]) == 8
    choice = found["confirmed"][found["choice"]]
    assert choice["variant"] == "copies alone"
    assert choice["values"]["protection.replica.every"] == 1
    assert abs(found["largest_deviation"]["ettr_engine_less_closed_form"]) < 0.01
    assert "What to measure next" in shown
