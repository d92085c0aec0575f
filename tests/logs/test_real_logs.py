"""The real logs, where they are: the statistics published with them, and the round trip of each."""

from __future__ import annotations

import csv
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemsim import scenario
from gemsim.cli.main import main
from gemsim.engine.run import simulate
from gemsim.failures.logs.statistics import poisson_interval
from gemsim.spec.loading import parse_study

FOLDER = os.environ.get("GEMSIM_TRACES", "")
pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="GEMSIM_TRACES names no folder with real logs"),
    pytest.mark.long,
]

STEPFUN = "stepfun_infinitehbd/events.csv"
LANL = "lanl_hpc_1995_2005/events.csv"
BAMBOO = ("bamboo_spot/events.csv", "--exposure", "add_remove.csv", "--where")
OTHERS = ("Stress Test Failure", "Unknown Error")
CASES: dict[str, tuple[str, ...]] = {
    "all 584 outages": (STEPFUN,),
    "Hardware Failure": (STEPFUN, "--where", "level=Hardware Failure"),
    **{
        f"component {name}": (STEPFUN, "--where", f"component={name}")
        for name in ("GPU", "NIC", "Parameter Plane Cable", "Power Supply", "Fan", *OTHERS)
    },
    **{f"system {number}": (LANL, "--where", f"system={number}") for number in (2, 18, 20)},
    "p3 preemptions": (*BAMBOO, "trace=p3"),
    "g4dn preemptions": (*BAMBOO, "trace=g4dn"),
    "restarts 19 Nov - 1 Dec 2021, experiments left out": (
        "opt175b_logbook/restarts.csv", "--columns", "time_h=time_h,node=node", "--where", "component!=experiment",
    ),
}  # fmt: skip
ROUND_TRIPS: dict[str, list[str]] = {  # what the simulated logs do not have of the statistics as logged
    "all 584 outages": [], "Hardware Failure": [], "system 2": ["gap_shape"], "system 18": ["gap_shape"],
    "system 20": [],
}  # fmt: skip


@cache
def published() -> dict[str, dict[str, str]]:
    with (Path(FOLDER) / "derived_stats.csv").open(encoding="utf-8", newline="") as stream:
        return {row["subset"]: row for row in csv.DictReader(stream)}


def fitted(words: tuple[str, ...], capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert main(["fit", str(Path(FOLDER) / words[0]), *words[1:], "--json", *more]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


@pytest.mark.parametrize("subset", CASES)
def test_a_log_has_the_statistics_published_with_it(subset: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected, told = published()[subset], fitted(CASES[subset], capsys)
    row = told["system"][0]
    assert row["events"] == int(expected["n_events"])
    assert row["mtbf_h"] == pytest.approx(float(expected["system_mtbf_h"]), rel=0.01)
    assert row["zero_gaps"] == int(expected["same_time_gaps"])
    assert float(expected["shape_ci_lo"]) <= row["shape"] <= float(expected["shape_ci_hi"])
    assert row["shape"] == pytest.approx(float(expected["gap_weibull_shape"]), rel=0.005)
    short = {"exponential": "exp", "weibull": "wb", "lognormal": "ln", "gamma": "ga"}
    assert short[row["gap_best_by_aic"]] == expected["gap_best_by_aic"]
    if expected["fano_24h"]:
        assert row["fano_24h"] == pytest.approx(float(expected["fano_24h"]), rel=0.02)
    repair = told["classes"][0]["repair"]
    if expected["node_count_var_over_mean"]:
        assert row["node_variance_over_mean"] == pytest.approx(float(expected["node_count_var_over_mean"]), rel=0.005)
        assert row["node_worst_tenth"] == pytest.approx(float(expected["top10pct_nodes_share"]), abs=0.001)
    if expected["ttr_mean_h"]:
        assert repair["median_h"] == pytest.approx(float(expected["ttr_median_h"]), rel=0.01)
        assert repair["mean_h"] == pytest.approx(float(expected["ttr_mean_h"]), rel=0.005)
        assert repair["unavailability"] == pytest.approx(float(expected["unavailability"]), rel=0.07)
    if subset in ROUND_TRIPS:
        assert [one["name"] for one in told["round_trip"][:3] if not one["holds"]] == ROUND_TRIPS[subset]


def test_starts_within_ten_minutes_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    row = fitted((STEPFUN,), capsys, "--simultaneous", "10 min")["system"][2]
    expected = published()["starts merged within 10 min"]
    assert row["events"] == int(expected["n_events"])
    assert row["mtbf_h"] == pytest.approx(float(expected["system_mtbf_h"]), rel=0.01)
    assert row["shape"] == pytest.approx(float(expected["gap_weibull_shape"]), rel=0.005)
    assert row["fano_24h"] == pytest.approx(float(expected["fano_24h"]), rel=0.02)


def test_losses_of_spot_nodes_are_counted_by_node_hours(capsys: pytest.CaptureFixture[str]) -> None:
    for trace, rate, hours in (("p3", 0.611, 273.1), ("g4dn", 0.545, 135.7)):
        told = fitted((*BAMBOO, f"trace={trace}"), capsys)
        assert told["node_hours"] == pytest.approx(hours, abs=0.05)
        assert told["classes"][0]["rate"] == pytest.approx(rate, abs=0.001)


def test_the_fitted_section_in_the_engine_fails_as_often_as_the_log(tmp_path: Path) -> None:
    """Failures of the job and of idle spares, for 400 nodes, lie within the Poisson interval of the log's 584; with few
    spares those of the job do. With many, the nodes that fail most stand by longer, and fail there."""
    path = Path(FOLDER) / CASES["all 584 outages"][0]
    assert main(["fit", str(path), *CASES["all 584 outages"][1:], "--out", str(tmp_path / "out")]) == 0
    study = (Path(__file__).parents[2] / "studies/replay.yaml").read_text(encoding="utf-8")
    tail = "protection: [{checkpoint: {target: remote, mode: async, blocked: 1 s, interval: 1 h}}]\n"
    section = (tmp_path / "out/failures.yaml").read_text(encoding="utf-8")
    low, high = poisson_interval(584)
    for spares in (8, 48):
        head = study[: study.index("failures:\n")].replace("spare_nodes: 16", f"spare_nodes: {spares}")
        text = head + section + tail + "run: {horizon: 348.79 d}\n"
        one = scenario.build(parse_study(text.encode(), "fitted.yaml").spec)
        rows = [simulate(one, seed=5, replication=number) for number in range(40)]
        of_job = float(np.mean([row["failures"] for row in rows]))
        of_all = of_job + float(np.mean([row["failures_idle"] for row in rows]))
        assert low < of_all * 400 / (400 + spares) < high
        assert of_job > low or spares > 8


def test_a_narrated_log_is_no_source_of_a_rate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(Path(FOLDER) / "llm_chronicles/events.csv")]) == 2
    assert "its 16 rows cannot give a rate" in capsys.readouterr().err


def test_more_nodes_are_down_at_once_than_independent_ones_would_be(capsys: pytest.CaptureFixture[str]) -> None:
    """Published with the traces: of 400 nodes 7 in the median, 26 at 95 %, 31 at 99 %, 35 at most; else 9, 14, 17."""
    told = fitted(CASES["all 584 outages"], capsys)["at_once"]
    assert [told[key] for key in ("median", "p95", "p99", "most")] == [7, 26, 31, 35]
    assert told["independent"] == [9, 14, 17]
