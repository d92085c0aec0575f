"""Every shipped study loads, says where its inputs come from, is consistent, runs, and agrees with its closed forms."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from gemsim import scenario
from gemsim.analytic.run import predict
from gemsim.cli.main import main
from gemsim.errors import Infeasible, NotCovered
from gemsim.scenario import Scenario
from gemsim.spec import catalog
from tests.studies.world import FOLDER, NAMES, designs, ettr, rows, spec, standard_error

REPLICATIONS = 24
COMMENTED = ("cluster", "workload", "restart", "failures", "require", "run")
OF_THEIR_OWN = (
    "trainingcxl",
    "systems",
    "replay",
    "recommend",
    "sobol",
)  # tested in test_trainingcxl, tests/systems, tests/logs, test_decide, test_sobol
SOURCES = re.compile(r"assumption|derived|Llama 3|RSC|ZeRO|Delta|GEMINI|DeepSeek")


def test_no_study_is_left_out() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {*NAMES, *OF_THEIR_OWN}


@pytest.mark.parametrize("name", [*NAMES, "recommend", "sobol"])
def test_every_input_has_its_source_or_the_word_assumption(name: str) -> None:
    section, bare = "", []
    for line in (FOLDER / f"{name}.yaml").read_text().splitlines():
        if line[:1].isalpha():
            section = line.split(":")[0]
        value = re.match(r"\s*(- )?[\w. -]+:\s*[^\s#>]", line.split(" # ")[0])
        if section in COMMENTED and value and "name:" not in line and "scope:" not in line:
            comment = line.partition(" # ")[2]
            bare += [] if SOURCES.search(comment) else [line]
    assert not bare


@pytest.mark.parametrize("name", [*NAMES, "recommend"])
@pytest.mark.parametrize("quick", [False, True])
def test_checks(name: str, quick: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(FOLDER / f"{name}.yaml"), *(["--quick"] if quick else [])]) == 0
    shown = capsys.readouterr().out
    assert "% of peak" in shown
    assert "IMPOSSIBLE" not in shown


@pytest.mark.parametrize("name", NAMES)
def test_step_and_arithmetic_agree_at_every_swept_size(name: str) -> None:
    """Three to five tenths of the peak: what large dense jobs report (Llama 3: 38 to 43 %)."""
    by_group = {design.group: design for design in designs(name)}
    for design in by_group.values():
        one = spec(name, design)
        assert one.workload.tokens_per_step is not None
        flops = 6 * one.workload.active_parameters * one.workload.tokens_per_step
        speed = flops / (one.cluster.gpus * one.workload.step)
        assert 0.3 < speed / catalog.gpu(one.cluster.gpu).peak_flops < 0.5, design.group


@pytest.mark.parametrize("name", NAMES)
def test_quick_sweep(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "sweep",
        str(FOLDER / f"{name}.yaml"),
        "--quick",
        "--replications",
        "3",
        "--jobs",
        "1",
    ]  # of two, t is 12.7: no choice
    assert main([*command, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "Ceiling:" in shown
    assert "modelled, not measured" in shown
    with (tmp_path / "summary.csv").open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert sum(row["best"] == "true" for row in table) >= 2
    assert all(row["ettr"] for row in table if row["feasible"] == "true")


def _sample(name: str, number: int) -> list[Scenario]:
    """Distinct designs spread evenly over a study, without those that cannot exist."""
    found: dict[str, Scenario] = {}
    for design in designs(name)[:: max(1, len(designs(name)) // (2 * number))]:
        try:
            built = scenario.build(spec(name, design))
        except Infeasible:
            continue
        found.setdefault(built.id, built)
    return list(found.values())[:: max(1, len(found) // number)][:number]


@pytest.mark.parametrize("name", NAMES)
def test_engine_and_closed_form_agree(name: str, seed: int) -> None:
    """Within the stated error and four standard errors, at a fixed seed; or the closed form says why it has none."""
    judged = 0
    for built in _sample(name, 7):
        try:
            form = predict(built)
        except NotCovered:
            continue
        found = ettr(rows(built, REPLICATIONS, seed=seed))
        allowed = float(str(form["analytic_error"])) + 4.0 * standard_error(found)
        assert abs(found.mean() - float(str(form["ettr_analytic"]))) < allowed, built.notes
        judged += 1
    assert judged >= 3
