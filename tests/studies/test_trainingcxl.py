"""What studies/trainingcxl.yaml claims: the order of its variants, and what a batch of RM1 costs in each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gemsim.cli.main import main
from gemsim.protection.batches import period
from gemsim.scenario import describe
from gemsim.scenario.tiers.undo_log import phases
from gemsim.spec.recommendation import published_phases
from tests.studies.world import FOLDER, ettr, point, rows, surely_above, twin

NAME = "trainingcxl"
RELAXED, UNDO, REDO, REMOTE = (
    "relaxed undo log (CXL)", "undo log (CXL-B)", "redo save (CXL-D)", "remote checkpoint",
)  # fmt: skip
FEW = 8


@pytest.mark.parametrize("scale", [1, 16])
def test_only_the_relaxed_log_beats_a_remote_checkpoint(scale: int, seed: int) -> None:
    found = {v: ettr(rows(point(NAME, v, scale=scale), FEW, seed=seed)) for v in (RELAXED, REMOTE, UNDO, REDO)}
    for better, worse in ((RELAXED, REMOTE), (REMOTE, UNDO), (UNDO, REDO)):
        assert surely_above(found[better], found[worse]), (better, worse)


def test_its_gain_over_the_remote_checkpoint_grows_with_the_rate_of_failures() -> None:
    gains = [twin(point(NAME, RELAXED, scale=s)) - twin(point(NAME, REMOTE, scale=s)) for s in (1, 4, 16)]
    assert gains == sorted(gains)
    assert 0.003 < gains[0] < gains[-1] < 0.04


def test_logging_takes_what_the_bars_of_rm1_say() -> None:
    """0.41 and 1.64 ms on 5.05; the saves of the fall-back add less than a thousandth."""
    added = {v: describe(point(NAME, v, scale=1))["step_overhead"] for v in (RELAXED, UNDO, REDO)}
    assert added == pytest.approx({RELAXED: 0.0, UNDO: 0.41 / 5.05, REDO: 1.64 / 5.05}, abs=1e-3)


def test_its_step_is_that_of_the_published_bar() -> None:
    bare = phases(published_phases("rm1", "cxl_d")).unlogged
    assert period("cxl_d", bare) == pytest.approx(5.05e-3)


def test_it_says_that_the_effective_time_is_a_prediction_of_ours() -> None:
    text = (FOLDER / f"{NAME}.yaml").read_text()
    assert "gemsim's own prediction" in text
    assert "Our prediction" in text


def test_every_input_has_its_source_or_the_word_assumption() -> None:
    wanted = re.compile(r"assumption|derived|RSC|TrainingCXL")
    section = ""
    for line in (FOLDER / f"{NAME}.yaml").read_text().splitlines():
        section = line.split(":")[0] if line[:1].isalpha() else section
        if section in ("cluster", "workload", "restart", "failures", "run") and ": " in line.split(" # ")[0]:
            assert wanted.search(line.partition(" # ")[2]), line


def test_quick_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")  # else the worker's terminal says where a name is folded
    command = ["sweep", str(FOLDER / f"{NAME}.yaml"), "--quick", "--replications", "2", "--jobs", "1"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"\* relaxed undo log \(CXL\)", shown)
    assert "no recovery time is published" in " ".join(shown.split())
