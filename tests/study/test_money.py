"""Prices in a study: from the file to the table, costs.csv and the page."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from gemsim.cli.main import DONE, main
from gemsim.results.costs import CATEGORIES
from gemsim.spec.loading import parse_study, resolve_point
from gemsim.study.plan import MODEL

STUDY = """
title: What it costs
cluster: {gpus: 64, gpu: h100-80gb, spare_nodes: 1, storage: {write: 2 TB/s, read: 2 TB/s}}
workload: {parameters: 8e9, parallel: {tensor: 8, data: 8}, step: 30 s}
failures: {classes: [{name: node, scope: node, rate: 2 / 1 d, gpus: 64, detect: 5 min, action: replace, repair: 6 h}]}
protection: [checkpoint: {target: remote, mode: async, blocked: 20 s, write: 3 min, read: 60 s, interval: 1 h}]
PRICES
sweep: {grid: {protection.checkpoint.interval: [1 h, 4 h]}}
REQUIRE
run: {horizon: 10 d, replications: 4}
"""
PRICES = """
prices: {gpu_hour: 2.50 USD, spare_gpu_hour: 2 USD, power: {host: 4.6 kW}, pue: 1.2, carbon: 400 g/kWh}
"""


def written(prices: str = PRICES, require: str = "") -> str:
    """The study with these sections."""
    return STUDY.replace("PRICES", prices).replace("REQUIRE", require)


def swept(folder: Path, text: str) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The rows of summary.csv and costs.csv."""
    (folder / "cost.yaml").write_text(text, encoding="utf-8")
    assert main(["sweep", str(folder / "cost.yaml"), "--out", str(folder / "out"), "--jobs", "1"]) == DONE
    tables = []
    for name in ("summary.csv", "costs.csv"):
        with (folder / "out" / name).open(encoding="utf-8") as stream:
            tables.append(list(csv.DictReader(stream)))
    return tables[0], tables[1]


def test_what_stands_in_the_files_and_on_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, costs = swept(tmp_path, written())
    assert len(costs) == 2 * len(CATEGORIES)
    for row in rows:
        own = [one for one in costs if one["point"] == row["point"]]
        assert [one["category"] for one in own] == list(CATEGORIES)
        for column, total in (("cost_per_run", "cost_per_run"), ("energy_kwh_per_run", "energy_kwh_per_run")):
            assert sum(float(one[column]) for one in own) == pytest.approx(float(row[total]), rel=1e-8)
        assert sum(float(one["gpu_h_per_run"]) for one in own) == pytest.approx((64 + 8) * 240.0)
        assert float(row["cost_per_run"]) == pytest.approx(_paid(own))
        assert float(row["co2_kg_per_run"]) == pytest.approx(0.4 * float(row["energy_kwh_per_run"]))
        form = float(row["cost_per_useful_gpu_hour_analytic"])
        assert form == pytest.approx((2.5 * 64 + 2.0 * 8) / (64 * float(row["ettr_analytic"])))
    page = " ".join(capsys.readouterr().out.split())
    assert "Money and energy" in page
    best = next(row for row in rows if row["best"] == "true")
    (other,) = (row for row in rows if row is not best)
    less = float(best["cost_per_useful_gpu_hour"]) - float(other["cost_per_useful_gpu_hour"])
    assert less < 0.0
    assert f"on the same failures: {-less:.4g} USD per useful GPU-hour cheaper" in page
    assert "busy 1530, waiting 942, idle 774, off 0, repair 774; waiting, idle, repair: assumed shares" in page


def _paid(own: list[dict[str, str]]) -> float:
    """All GPU-hours at their price: what is no work of the job's is a spare, or in repair."""
    beside = ("spares_hot", "spares_warm", "spares_cold", "repair")
    hours = {one["category"]: float(one["gpu_h_per_run"]) for one in own}
    return sum((2.0 if name in beside else 2.5) * spent for name, spent in hours.items())


def test_without_prices_nothing_is_said_of_money(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, costs = swept(tmp_path, written(""))
    assert "Money" not in capsys.readouterr().out
    assert all(row["cost_per_run"] == "" and row["energy_kwh_per_run"] == "" for row in rows)
    assert all(float(row["lost_gpu_h_per_run"]) > 0.0 for row in rows)
    assert all(one["cost_per_run"] == "" and one["gpu_h_per_run"] != "" for one in costs)


def test_what_is_not_given_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swept(tmp_path, written("prices: {gpu_hour: 2 EUR}"))
    page = " ".join(capsys.readouterr().out.split())
    assert "Not given and so not computed: energy (prices.power), CO2 (prices.carbon)." in page


def test_a_cost_may_be_required(tmp_path: Path) -> None:
    rows, _ = swept(tmp_path, written(require='require: {cost_per_useful_gpu_hour: "<= 3.3"}'))
    met = [row for row in rows if float(row["cost_per_useful_gpu_hour"]) <= 3.3]
    assert [row["best"] for row in rows] == ["true" if row in met else "false" for row in rows]
    assert len(met) == 1


def test_prices_may_be_swept_without_running_anything_again(tmp_path: Path) -> None:
    grid = "sweep: {grid: {prices.gpu_hour: [2 USD, 4 USD]}}"
    text = written(PRICES.replace("spare_gpu_hour: 2 USD, ", ""))
    text = text.replace("sweep: {grid: {protection.checkpoint.interval: [1 h, 4 h]}}", grid)
    rows, costs = swept(tmp_path, text)
    assert len({row["point"] for row in rows}) == 1
    one, two = (float(row["cost_per_useful_gpu_hour"]) for row in rows)
    assert two == pytest.approx(2 * one)
    assert len(costs) == 2 * len(CATEGORIES)


def test_powers_of_a_gpu_have_its_share_of_the_host_and_the_building() -> None:
    loaded = parse_study(written().encode(), "cost.yaml")
    spec = resolve_point(loaded, {})
    bill = MODEL.bill(spec, MODEL.build(spec))
    assert bill is not None
    assert bill.watts is not None
    host = 4600.0 / 8
    expected: Mapping[str, float] = {
        "productive": 1.2 * (700 + host), "waiting": 1.2 * (210 + host), "spares_hot": 1.2 * (70 + host),
        "spares_cold": 0.0, "repair": 1.2 * (70 + host),
    }  # fmt: skip
    assert {name: bill.watts.of(name) for name in expected} == pytest.approx(dict(expected))
    assert bill.carbon == pytest.approx(0.4)
    assert json.dumps(spec.model_dump(mode="json")["prices"]["gpu_hour"]) == '"2.5 USD"'
