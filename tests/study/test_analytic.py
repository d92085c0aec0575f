"""Every design point by the closed form alone: the numbers that a sweep shows beside its own, and why there is none."""

from __future__ import annotations

import csv
import math
import shlex
from pathlib import Path
from typing import Any

import pytest

from gemsim.cli.main import main
from gemsim.results.summary import RESULT_COLUMNS
from gemsim.spec.loading import LoadedStudy, load_study, parse_study
from gemsim.study import analytic
from gemsim.study.analytic import COMPUTED, closed_forms
from gemsim.study.plan import MODEL, plan
from gemsim.study.points import realise
from gemsim.study.pools import Pools

ROOT = Path(__file__).parents[2]
BASE = (ROOT / "tests" / "spec" / "valid" / "designs.yaml").read_text().split("sweep:")[0] + "run: {horizon: 54 d}\n"
EVERY = "protection.replica.every"
INTERVAL = "protection.checkpoint.interval"
SWEEPS = {
    "intervals and spares": f"{{grid: {{{INTERVAL}: [optimal, 5 min, 1 h], cluster.spare_nodes: [0, 2]}}}}",
    "structures": "{grid: {protection.stripe.k: [8, 16], protection.stripe.cadence: [1, 4], restart: [holder]}}",
    "both": f"{{grid: {{protection.stripe.m: [0, 1], {INTERVAL}: [20 min, 2 h]}}}}",
    "too short": f"{{grid: {{protection.checkpoint.write: [10 min], {INTERVAL}: [1 min, 1 h]}}}}",
    "cannot be": f"{{grid: {{protection.stripe.k: [8, 100000000], {INTERVAL}: [20 min, 2 h]}}}}",
    "no axis": "{nested: [{grid: {protection: [[{replica: {keep: 1 h}}]], protection.replica.every: [1, 8]}}]}",
    "a system's": f"{{nested: [{{grid: {{protection: [gemini], {EVERY}: [1, 8]}}}}, {{zip: {{restart: [holder]}}}}]}}",
    "drawn": f"{{sobol: {{number: 8, over: {{{INTERVAL}: {{from: 5 min, to: 2 h}}, cluster.spare_nodes: [2, 4]}}}}}}",
}


def loaded(sweep: str) -> LoadedStudy:
    return parse_study(f"{BASE}sweep: {sweep}\n".encode(), "case.yaml")


def alike(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, int | float):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(ours) and math.isnan(theirs))
    return bool(ours == theirs) or {ours, theirs} <= {None, ""}


def same_as_a_sweep(study: LoadedStudy) -> None:
    """Each row has what a sweep shows of its point without running it."""
    asked = plan(study, seed=None, replications=None)
    points, _, _ = realise(asked.designs, asked.resolve, MODEL)
    rows = closed_forms(study)
    assert len(rows) == len(points)
    for row, point in zip(rows, points, strict=True):
        assert row["feasible"] == bool(point.id), row["reason"]
        assert {path: row[path] for path in point.columns} == dict(point.columns)
        for name in COMPUTED if point.id else ():
            known = {**point.static, **point.twin, "variant": point.variant, "feasible": True, "reason": ""}
            if name in known and known.get("analytic_kind") != "none":
                assert alike(row[name], known[name]), (name, row[name], known[name], point.columns)


@pytest.mark.parametrize("sweep", SWEEPS.values(), ids=SWEEPS)
def test_a_point_has_the_numbers_of_its_own_scenario(sweep: str) -> None:
    same_as_a_sweep(loaded(sweep))


@pytest.mark.parametrize("name", ["widths", "trainingcxl", "gem", "systems/ft_hsdp", "systems/scr"])
def test_so_do_the_shipped_studies(name: str) -> None:
    same_as_a_sweep(load_study(ROOT / "studies" / f"{name}.yaml", quick=True))


def test_rows_have_the_columns_of_the_summary() -> None:
    (row, *_) = closed_forms(loaded(SWEEPS["both"]))
    assert set(RESULT_COLUMNS) <= set(row)
    assert {name for name in RESULT_COLUMNS if row[name] is not None} <= set(COMPUTED)


def test_the_command_writes_all_points_and_says_that_nothing_ran(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    study = tmp_path / "case.yaml"
    study.write_text(f"{BASE}sweep: {SWEEPS['too short']}\nrequire: {{memory_overhead: '<= 1 %', ettr: '>= 0.5'}}\n")
    assert main(["sweep", str(study), "--analytic", "--out", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "nothing was simulated" in shown
    assert "interval=1 h" in shown
    assert "Not judged here, for want of a closed form in this table: ettr." in shown
    assert "1 points are infeasible:" in shown
    assert not (folder / "rows").exists()
    rows = list(csv.DictReader((folder / "analytic.csv").open()))
    assert [row["feasible"] for row in rows] == ["false", "true"]
    own = closed_forms(load_study(study))[1]["ettr_analytic"]
    assert float(rows[1]["ettr_analytic"]) == pytest.approx(own)


def test_processes_that_share_the_structures_find_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    study = load_study(ROOT / "studies" / "widths.yaml", quick=True)
    alone = closed_forms(study)
    shared: list[int] = []

    def made(jobs: int) -> Pools:
        shared.append(jobs)
        return Pools(jobs)

    monkeypatch.setattr(analytic, "Pools", made)
    assert closed_forms(study, jobs=2) == alone
    assert not shared  # few structures are not worth the start of processes
    monkeypatch.setattr(analytic, "MANY", 2)
    assert closed_forms(study, jobs=2) == alone
    assert shared == [2]


@pytest.mark.parametrize("given", ["--seed 3", "--replications 4", "--limit '1 h'", "--fail-fast", "--shard 1/2"])
def test_what_says_how_to_simulate_is_refused_where_nothing_is(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = str(ROOT / "studies" / "widths.yaml")
    assert main(["sweep", study, "--analytic", "--out", str(tmp_path / "out"), *shlex.split(given)]) == 2
    assert f"{shlex.split(given)[0]}: of replications, and --analytic runs none" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
