"""The studies of the named systems: each runs in its quick form, says what it rests on, and agrees with its twin."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

import pytest

from gemsim import scenario
from gemsim.analytic.run import predict
from gemsim.cli.main import main
from gemsim.errors import Infeasible, NotCovered
from gemsim.spec import catalog
from gemsim.spec.loading import LoadedStudy, load_study, resolve_point
from gemsim.study.design import designs_of
from tests.studies.world import FOLDER, ettr, rows, standard_error

SMALL = sorted(path.stem for path in (FOLDER / "systems").glob("*.yaml"))
LARGE = FOLDER / "systems.yaml"
GROUPS = ("ft_hsdp", "torchft", "oobleck", "recycle")
SOURCES = re.compile(r"assumption|derived|Llama 3|GEMINI|TrainingCXL|DeepSeek|RSC|ZeRO")


@cache
def loaded(path: Path, *, quick: bool = False) -> LoadedStudy:
    """A study, read once."""
    return load_study(path, quick=quick)


def small(name: str) -> Path:
    """The study of a system."""
    return FOLDER / "systems" / f"{name}.yaml"


@pytest.mark.parametrize("path", [*map(small, SMALL), LARGE], ids=lambda path: path.stem)
def test_every_input_has_its_source_or_the_word_assumption(path: Path) -> None:
    section, bare = "", []
    for line in path.read_text().splitlines():
        if line[:1].isalpha():
            section = line.split(":")[0]
        value = re.match(r"\s*(- )?[\w. -]+:\s*[^\s#>]", line.split(" # ")[0])
        if section in ("cluster", "workload", "restart", "failures", "run") and value:
            bare += [] if SOURCES.search(line.partition(" # ")[2]) else [line]
    assert not bare


@pytest.mark.parametrize("name", SMALL)
def test_step_and_arithmetic_agree(name: str) -> None:
    for design in designs_of(loaded(small(name))):
        one = resolve_point(loaded(small(name)), design.assignments)
        job = one.workload
        if job.recommendation is not None:
            continue
        speed = 6 * job.active_parameters * (job.tokens_per_step or 0.0) / (one.cluster.gpus * job.step)
        assert 0.3 < speed / catalog.gpu(one.cluster.gpu).peak_flops < 0.5


@pytest.mark.parametrize("name", SMALL)
def test_quick_sweep(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sweep", str(small(name)), "--quick", "--replications", "16", "--jobs", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "Ceiling:" in shown
    with (tmp_path / "summary.csv").open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert all(row["feasible"] == "true" for row in table)
    assert any(row["best"] == "true" for row in table)


@pytest.mark.parametrize("path", [*map(small, SMALL), LARGE], ids=lambda path: path.stem)
def test_engine_and_closed_form_agree(path: Path, seed: int) -> None:
    """Within the stated error and four standard errors, for the first three named systems that a form covers."""
    judged = 0
    for design in designs_of(loaded(path, quick=True)):
        names = any(isinstance(design.assignments.get("protection"), kind) for kind in (str, dict))
        if not names or judged == 3:
            continue
        try:
            built = scenario.build(resolve_point(loaded(path, quick=True), design.assignments))
            form = predict(built)
        except (Infeasible, NotCovered):
            continue
        found = ettr(rows(built, 24, seed=seed))
        allowed = float(str(form["analytic_error"])) + 4.0 * standard_error(found)
        assert abs(found.mean() - float(str(form["ettr_analytic"]))) < allowed, design.variant
        judged += 1
    assert judged >= 1


def test_all_systems_meet_on_each_job() -> None:
    """Every system is tried on every job, but experts where there are none; one that cannot fit the job says why."""
    study = loaded(LARGE)
    designs = designs_of(study)
    wanted = {f"{job}: {name}" for job in ("dense", "moe", "dlrm") for name in catalog.system_names()}
    assert wanted - {design.variant for design in designs} == {"dense: moevement", "dlrm: moevement"}
    reasons = {}
    for design in designs:
        try:
            scenario.build(resolve_point(study, design.assignments))
        except Infeasible as error:
            reasons[design.variant] = error.reason
    in_groups = {f"{job}: {name}" for job in ("dense", "moe", "dlrm") for name in GROUPS}
    assert set(reasons) == in_groups | {"dense: trainingcxl", "moe: trainingcxl"}
    assert all("shard within groups" in reasons[variant] for variant in in_groups)


def test_variants_of_one_job_and_mode_are_judged_together() -> None:
    groups: dict[object, list[str]] = {}
    for design in designs_of(loaded(LARGE)):
        groups.setdefault(design.group, []).append(design.variant)
    assert all(len({variant.split(":")[0] for variant in names}) == 1 for names in groups.values())
    assert sorted(map(len, groups.values()))[-3:] == [15, 16, 16]
