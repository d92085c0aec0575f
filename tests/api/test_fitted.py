"""A log fitted from a program: the numbers of the command, and a section that takes the place of a study's failures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gemsim as gs
from gemsim.cli.main import main
from gemsim.errors import ValueRefused

NODES, DAYS = 64, 60


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(3)
    lines = [
        f"{hour:.2f},n{rng.integers(NODES):02d},{rng.choice(['gpu', 'host'])},{rng.lognormal(0.5, 0.7):.2f}"
        for hour in np.sort(rng.uniform(0, DAYS * 24, 90))
    ]
    path = tmp_path_factory.mktemp("log") / "outages.csv"
    path.write_text("\n".join(["time_h,node,component,downtime_h", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def fitted(log: Path) -> gs.FittedLog:
    return gs.fit_log(log, nodes=NODES, window=f"{DAYS} d", replications=100)


def test_it_says_what_the_command_says(
    fitted: gs.FittedLog, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["fit", str(log), "--nodes", str(NODES), "--window", f"{DAYS} d", "--replications", "100"]
    assert main([*asked, "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.partition("\nwritten: ")[0] == fitted.answer
    assert (tmp_path / "failures.yaml").read_text() == fitted.section


def test_rates_are_in_si_with_their_intervals(fitted: gs.FittedLog) -> None:
    whole = fitted.classes.iloc[0]
    assert (whole["name"], whole["events"]) == ("all", 90)
    assert whole["rate"] == pytest.approx(90 / (NODES * DAYS * 86_400), rel=1e-12)
    assert whole["rate_lo"] < whole["rate"] < whole["rate_hi"]
    assert fitted.classes.attrs["units"]["rate"] == "1/(s node)"
    assert fitted.classes["events"].iloc[1:].sum() == 90


def test_its_section_takes_the_place_of_the_failures_of_a_study(fitted: gs.FittedLog) -> None:
    study = gs.load_study("systems/gemini").with_({"failures": fitted.failures})
    failures = study.loaded.spec.failures
    assert failures.mix is None
    assert failures.scale == 1.0  # of the study it was 4
    assert {one.name for one in failures.classes} == {"gpu", "host"}
    assert gs.predict(study)["feasible"].all()


def test_it_says_whether_its_model_makes_logs_like_it(fitted: gs.FittedLog) -> None:
    assert f"logs of its model are {'like it' if fitted.holds else 'not like it'}" in repr(fitted)
    assert json.dumps(fitted.failures)
    assert "<pre>" in fitted._repr_html_()


def test_a_log_without_its_number_of_nodes_is_refused(log: Path) -> None:
    with pytest.raises(ValueRefused, match="nodes"):
        gs.fit_log(log, window=f"{DAYS} d")
    with pytest.raises(ValueRefused, match=r"nodes: not such a number \(0\)"):
        gs.fit_log(log, nodes=0, window=f"{DAYS} d")
