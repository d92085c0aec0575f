"""A study stands on the profile that it names, measured or not, and says which; a strict one refuses the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemsim.cli.main import DONE, main
from gemsim.costs.calibrate import write_profile
from tests.calibrate import samples

STUDY = """\
title: On which profile?
cluster: {{gpus: 64, gpu: h100-80gb, spare_nodes: 1, storage: {{write: 20 GB/s, read: 20 GB/s}}}}
workload: {{parameters: 7e9, parallel: {{tensor: 8, data: 8, shard: optimizer}}, step: 2 s}}
restart: in_place
failures: {{mix: llama3-2024, scale: 50}}
profile: {profile}
protection:
  - stripe: {{layout: gpu, k: 8, m: 1}}
  - checkpoint: {{target: remote, mode: async, blocked: 1 s, interval: 10 min}}
sweep:
  grid: {{protection.stripe.k: [8, 512]}}
run: {{horizon: 1 d, replications: 2, seed: 3}}
"""


def checked(tmp_path: Path, profile: str, capsys: pytest.CaptureFixture[str]) -> str:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.format(profile=profile))
    assert main(["check", str(study)]) == DONE
    return " ".join(capsys.readouterr().out.split())


def test_a_study_on_a_measured_profile_says_so_with_its_band(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_profile(tmp_path, samples.bench(noise=0.1), conditions="a busy machine")
    shown = checked(tmp_path, str(folder), capsys)
    assert "made-up/2026-02-03#" in shown
    assert "per encode; measured (a busy machine); linear beyond the " in shown
    assert "per rebuild of a page; measured (a busy machine)" in shown
    assert "2: 2 feasible, 0 infeasible" in shown


def test_a_strict_profile_refuses_the_point_and_the_rest_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = checked(tmp_path, "nvidia-h100/modelled strict", capsys)
    assert "2: 1 feasible, 1 infeasible" in shown
    assert "profile nvidia-h100/modelled is strict and does not hold encode at 512 + 1: k = 512 is beyond" in shown


def test_a_sweep_shouts_which_costs_are_extrapolated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.format(profile="nvidia-h100/modelled"))
    assert main(["sweep", str(study), "--out", str(tmp_path / "out")]) == DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "the costs of 1 of 2 points are EXTRAPOLATED beyond their profile: 1 × k = 512 is beyond" in shown
