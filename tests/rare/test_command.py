"""`gemsim losses`, the columns of a sweep, and what `require` may ask."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from gemsim.cli.main import main
from gemsim.engine.rare import RareLosses
from gemsim.study.rare import said

STUDY = """\
title: How many parity members?
cluster: {gpus: 64, gpus_per_node: 4, gpu: h100-80gb, storage: {write: 20 GB/s, read: 20 GB/s}}
workload: {parameters: 7e9, parallel: {tensor: 4, data: 16, shard: optimizer}, step: 2 s}
restart: {mode: in_process}
failures:
  classes: [{name: node, scope: node, rate: 1 / 1 d, gpus: 64, detect: 10 s, action: reboot}]
protection:
  - stripe: {name: nodes, layout: nodes, k: 14, m: 1, copy: snapshot}
sweep: {grid: {protection.nodes.m: [1, 2, 8]}}
require: {unrecoverable_analytic: "<= 1e-3"}
run: {horizon: 4 d, replications: 3, seed: 3}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "parity.yaml"
    path.write_text(STUDY)
    return path


def test_each_design_with_interval_form_ratio_and_parts(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["losses", str(study), "--json", str(tmp_path / "found.json")]) == 0
    page = capsys.readouterr().out
    assert "engine / form" in page
    assert "100.0% one after another: nodes" in page
    assert "3: protection.nodes.m=8\n  no such design: " in page
    one, two, none = json.loads((tmp_path / "found.json").read_text())
    assert none["simulated"] is None
    assert none["reason"]
    for found in (one, two):
        simulated, ratio = found["simulated"], found["ratio"]
        assert (simulated["method"], simulated["stopped_by"]) == ("forced", "precision")
        assert ratio[0] == pytest.approx(simulated["value"] / found["closed_form"]["probability"])
        assert 0.6 < ratio[0] < 1.5
    assert two["simulated"]["value"] < 0.05 * one["simulated"]["value"]
    assert two["nines"] > one["nines"] + 1.0


def test_one_point_alone(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["losses", str(study), "protection.nodes.m=2", "--precision", "0.5"]) == 0
    page = capsys.readouterr().out
    assert page.count("engine  ") == 1
    assert "2: protection.nodes.m=2" in page


@pytest.mark.parametrize(
    ("hi", "words"), [(1.0, "no loss met, which bounds nothing yet; give it more time"), (0.01, "< 0.01 (95 %)")]
)
def test_no_loss_met_is_a_bound_or_said_to_be_none(hi: float, words: str) -> None:
    line = said(RareLosses(0.0, 0.0, hi, 0.0, 10, "forced", "time"))
    assert line.startswith(words)
    assert "-0.0" not in line


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--point", "7"], "no such design point (7); 1 to 3; see gemsim check\n"),
        (["--precision", "0"], "--precision is 0; a share from 0.01 to 1; 0.2 is enough to choose a design\n"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    study: Path, capsys: pytest.CaptureFixture[str], words: list[str], line: str
) -> None:
    assert main(["losses", str(study), *words]) == 2
    assert capsys.readouterr().err.endswith(line)


def test_a_sweep_shows_the_form_and_its_kind_and_may_bound_it(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(study), "--out", str(tmp_path / "out"), "--jobs", "1"]) == 0
    with (tmp_path / "out" / "summary.csv").open(newline="") as stream:
        one, two, none = csv.DictReader(stream)
    assert float(one["unrecoverable_analytic"]) > 1e-3 > float(two["unrecoverable_analytic"]) > 0.0
    assert one["unrecoverable_note"].startswith("first_order, within ") or one["unrecoverable_note"].startswith("exact")
    assert none["unrecoverable_analytic"] == ""
    assert (one["best"], two["best"]) == ("false", "true")
    assert float(two["unrecoverable_per_run"]) == 0.0
    assert float(two["unrecoverable_per_run_hi"]) == pytest.approx(1.23, abs=0.01)
    assert "Back to the start of the job: 0 per run (95 %: at most 1.2; closed form " in " ".join(
        capsys.readouterr().out.split()
    )
