"""Costs: a bill worked out by hand, sums that close, prices that scale, what is not given, and planted faults."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gemsim.results import costs
from gemsim.results.costs import CATEGORIES, Bill, Watts, by_category, gpu_hours, useful_gpu_hour
from gemsim.results.ledger import LEDGER
from tests.faults import must_reject, replaced

HOUR = 3600.0
GPUS, SPARES = 8, 4
WATTS = Watts(busy=700.0, waiting=200.0, idle=70.0, off=0.0, repair=50.0)
BILL = Bill(GPUS, SPARES, "USD", gpu_hour=2.0, spare_gpu_hour=1.0, repair_gpu_hour=0.5, watts=WATTS, carbon=0.4)


def run(**hours: float) -> dict[str, Any]:
    """One replication of a hundred hours, in hours; what is not named is productive, or a hot spare."""
    wall, places = 100.0, GPUS * 100.0
    found = dict.fromkeys((f"{name}_s" for name in LEDGER), 0.0)
    found |= {f"{name}_s": hours[name] * HOUR for name in LEDGER if name in hours}
    found["productive_s"] = (wall - sum(hours.get(name, 0.0) for name in LEDGER)) * HOUR
    fleet = {name: hours.get(name, 0.0) for name in ("vacant", "warm", "cold", "repair")}
    found |= {f"gpu_s_{name}": fleet[name] * HOUR for name in ("warm", "cold", "repair")}
    found["gpu_s_job"] = (places - fleet["vacant"]) * HOUR
    found["gpu_s_reserved"] = (places + SPARES * 100.0) * HOUR
    rest = places + SPARES * 100.0 - (places - fleet["vacant"]) - fleet["warm"] - fleet["cold"] - fleet["repair"]
    found["gpu_s_hot"] = rest * HOUR
    found |= {"wall_s": wall * HOUR, "failures": hours.get("failures", 4.0)}
    return {name: np.array([value]) for name, value in found.items()}


BROKEN = run(overhead=2.0, wasted=5.0, restart=3.0, waiting=2.0, vacant=6.0, warm=10.0, cold=20.0, repair=50.0)


def test_a_bill_by_hand() -> None:
    """88 h of 8 GPUs productive; 6 GPU-hours of empty places come off the 16 of waiting; 326 of hot spares are left."""
    hours = {name: float(value[0]) for name, value in gpu_hours(BROKEN, GPUS).items()}
    expected = {"productive": 704.0, "overhead": 16.0, "wasted": 40.0, "restart": 24.0, "waiting": 10.0}
    expected |= {"spares_hot": 326.0, "spares_warm": 10.0, "spares_cold": 20.0, "repair": 50.0}
    assert hours == pytest.approx(dict.fromkeys(CATEGORIES, 0.0) | expected)
    row = costs.summary(BROKEN, BILL, ettr_analytic=None)
    paid = 2.0 * 794.0 + 1.0 * 356.0 + 0.5 * 50.0
    assert row["cost_per_run"] == pytest.approx(paid)
    assert row["lost_cost_per_run"] == pytest.approx(paid - 2.0 * 704.0)
    assert row["lost_cost_per_failure"] == pytest.approx((paid - 2.0 * 704.0) / 4)
    assert row["cost_per_useful_gpu_hour"] == pytest.approx(paid / 704.0)
    assert row["lost_gpu_h_per_run"] == pytest.approx(1200.0 - 704.0)
    assert row["lost_gpu_h_per_failure"] == pytest.approx(124.0)
    energy = 0.7 * 760.0 + 0.2 * 34.0 + 0.07 * 336.0 + 0.05 * 50.0
    assert row["energy_kwh_per_run"] == pytest.approx(energy)
    assert row["lost_kwh_per_run"] == pytest.approx(energy - 0.7 * 704.0)
    assert row["co2_kg_per_run"] == pytest.approx(0.4 * energy)


def check_sums(bill: Bill = BILL) -> None:
    """The categories of every measure sum to the totals, and GPU-hours to what was reserved; spares are paid for."""
    rows, row = list(by_category(BROKEN, bill)), costs.summary(BROKEN, bill, ettr_analytic=None)
    assert [one["category"] for one in rows] == list(CATEGORIES)
    reserved = float(BROKEN["gpu_s_reserved"][0]) / HOUR
    assert math.fsum(one["gpu_h_per_run"] for one in rows) == pytest.approx(reserved, rel=1e-12)
    for measure in ("cost", "energy_kwh", "co2_kg"):
        assert math.fsum(one[f"{measure}_per_run"] for one in rows) == pytest.approx(row[f"{measure}_per_run"])
        lost = [one[f"{measure}_per_failure"] for one in rows if one["category"] != "productive"]
        name = {"cost": "lost_cost", "energy_kwh": "lost_kwh"}.get(measure)
        assert name is None or math.fsum(lost) == pytest.approx(row[f"{name}_per_failure"])
    paid = {one["category"]: one["cost_per_run"] for one in rows}
    assert paid["spares_hot"] == pytest.approx(326.0 * 1.0)
    spent = {one["category"]: one["energy_kwh_per_run"] for one in rows}
    assert spent["waiting"] == pytest.approx(10.0 * 0.2)


def test_nodes_that_start_for_places_still_held_are_paid_for() -> None:
    """3 GPU-hours more in the job than it has places: they wait, and the sum is still what was reserved."""
    crowded = run(restart=3.0, vacant=-3.0)
    hours = {name: float(value[0]) for name, value in gpu_hours(crowded, GPUS).items()}
    assert (hours["waiting"], hours["restart"]) == (3.0, 24.0)
    assert math.fsum(hours.values()) == pytest.approx(float(crowded["gpu_s_reserved"][0]) / HOUR, rel=1e-12)


def test_the_categories_sum_to_the_totals() -> None:
    check_sums()


def test_a_price_scales_what_is_paid_and_nothing_else() -> None:
    twice = replace(BILL, gpu_hour=4.0, spare_gpu_hour=2.0, repair_gpu_hour=1.0)
    one, two = (costs.summary(BROKEN, bill, ettr_analytic=0.9) for bill in (BILL, twice))
    for name, value in two.items():
        factor = 2.0 if "cost" in name else 1.0
        assert value is None or math.isnan(value) or value == pytest.approx(factor * one[name])


def test_without_failures_nothing_is_lost_per_failure() -> None:
    row = costs.summary(run(failures=0.0), BILL, ettr_analytic=1.0)
    assert math.isnan(row["lost_cost_per_failure"])
    assert row["cost_per_run"] == pytest.approx(2.0 * 800 + 1.0 * 400)
    assert all(one["cost_per_failure"] is None for one in by_category(run(failures=0.0), BILL))


@pytest.mark.parametrize("energy", [None, 0.1])
def test_the_closed_form_is_the_bill_where_nothing_is_in_repair(energy: float | None) -> None:
    bill = replace(BILL, repair_gpu_hour=None, kwh=energy)
    row = costs.summary(run(wasted=20.0), bill, ettr_analytic=0.8)
    if energy is None:
        assert row["cost_per_useful_gpu_hour_analytic"] == pytest.approx(row["cost_per_useful_gpu_hour"])
    else:
        assert row["cost_per_useful_gpu_hour_analytic"] is None
        assert row["cost_per_run"] == pytest.approx(2.0 * 800 + 400 + 0.1 * row["energy_kwh_per_run"])


def test_repair_at_another_price_than_spares_has_no_closed_form() -> None:
    """Also where it is that of the job's GPUs."""
    assert costs.closed_form(replace(BILL, repair_gpu_hour=2.0), 0.8) is None
    assert costs.closed_form(replace(BILL, repair_gpu_hour=1.0), 0.8) == pytest.approx((2.0 * 8 + 1.0 * 4) / (8 * 0.8))


def test_what_is_not_given_is_not_computed() -> None:
    row = costs.summary(BROKEN, Bill(GPUS, SPARES), ettr_analytic=0.9)
    known = {name for name, value in row.items() if value is not None}
    assert known == {"lost_gpu_h_per_failure", *(f"lost_gpu_h_per_run{end}" for end in ("", "_lo", "_hi"))}


def test_the_cost_of_a_useful_gpu_hour_on_arrays() -> None:
    found = useful_gpu_hour(2.0, gpus=np.array([100, 200]), spare_gpus=[10, 0], ettr=[0.5, 0.0])
    assert found[0] == pytest.approx(2.0 * 110 / 50)
    assert found[1] == math.inf


def test_a_difference_of_ratios_is_paired() -> None:
    """Two designs on the same failures: what they share cancels."""
    rng = np.random.default_rng(1)
    common = rng.uniform(0.0, 30.0, 20)
    runs = [[run(wasted=float(one) + more) for one in common] for more in (0.0, 2.0)]
    first, second = ({k: np.concatenate([one[k] for one in many]) for k in many[0]} for many in runs)
    found = costs.apart((second, BILL), (first, BILL))
    level = costs.summary(first, BILL, ettr_analytic=None)
    value = found["cost_diff"]
    other = costs.summary(second, BILL, ettr_analytic=None)["cost_per_useful_gpu_hour"]
    assert value == pytest.approx(other - level["cost_per_useful_gpu_hour"])
    width = level["cost_per_useful_gpu_hour_hi"] - level["cost_per_useful_gpu_hour_lo"]
    low, high = found["cost_diff_lo"], found["cost_diff_hi"]
    assert low is not None
    assert high is not None
    assert value is not None
    assert 0.0 < low < value < high
    assert high - low < width / 5


def _free_spares(original: Callable[..., float]) -> Callable[..., float]:
    return lambda bill, category: 0.0 if category.startswith("spares") else original(bill, category)


def _always_busy(original: Callable[..., float]) -> Callable[..., float]:
    return lambda watts, category: watts.busy if category == "waiting" else original(watts, category)


@pytest.mark.parametrize(
    ("target", "fault"),
    [("gemsim.results.costs:Bill.price", _free_spares), ("gemsim.results.costs:Watts.of", _always_busy)],
)
def test_planted_faults_are_rejected(target: str, fault: Callable[[Any], Any]) -> None:
    must_reject(check_sums, replaced(target, fault))
