"""Objectives: quantiles with exact intervals, paired quantiles, costs; and their place in the choice."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemsim.results.choice import Candidate, choose
from gemsim.spec.loading import resolve_point
from gemsim.study.recommend.objective import Sought, paired_quantiles, quantile, quantile_interval
from tests.faults import must_reject, replaced
from tests.study.recommend import small

FINISH = Sought("finish", 0.9, seed=3)


def check_coverage() -> None:
    """Of 2,000 samples of 60 uniform values the interval of the 0.9 quantile holds 0.9 in at least 94 %; the exact
    coverage of the order statistics is 95.7 %, whose standard error over 2,000 is 0.45 %."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(2_000):
        found = quantile_interval(rng.uniform(size=60), 0.9)
        held += found.lo <= 0.9 and not found.hi < 0.9  # NaN: no upper bound
    assert 0.94 <= held / 2_000 <= 0.985


def test_the_interval_of_a_quantile_covers() -> None:
    check_coverage()


def test_an_interval_between_the_wrong_order_statistics_is_caught() -> None:
    def narrow(original: Any) -> Any:
        return lambda values, probability: original(values, probability, 0.8)

    must_reject(check_coverage, replaced("tests.study.recommend.test_objective:quantile_interval", narrow))


def test_a_quantile_is_the_value_that_its_share_does_not_exceed() -> None:
    values = np.arange(1.0, 11.0)
    assert [quantile(values, p) for p in (0.05, 0.1, 0.5, 0.9, 0.95)] == [1.0, 1.0, 5.0, 9.0, 10.0]
    assert math.isnan(quantile_interval(values, 0.9).hi)  # ten values say nothing above their largest


def test_the_difference_of_quantiles_is_paired() -> None:
    """A design that is always an hour earlier is an hour earlier at each quantile, without doubt."""
    rng = np.random.default_rng(1)
    other = rng.normal(1e6, 1e5, 40)
    found = paired_quantiles(other - 3600.0, other, 0.9, seed=2)
    assert found == pytest.approx((-3600.0, -3600.0, -3600.0))
    assert paired_quantiles(other - 3600.0, other, 0.9, seed=2) == found


def test_the_earliest_date_is_chosen_and_ties_go_to_the_cheapest() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(1e6, 1e4, 40)
    walls = [base, base + 50.0, base + 5e4]
    candidates = [
        Candidate(at, -wall, memory, 0.0, True)
        for at, (wall, memory) in enumerate(zip(walls, [0.2, 0.1, 0.0], strict=True))
    ]
    found = choose(candidates, FINISH.yardstick(1e6))
    assert found.reference == 0
    assert found.tied == (0, 1)  # 50 s of a million are less than 0.05 %
    assert found.best == 1


def test_a_cost_is_what_is_reserved_over_what_is_useful() -> None:
    loaded = small.study(prices={"gpu_hour": "2.50 USD", "power": {}}, objective="cost")
    spec = resolve_point(loaded, {})
    costs = Sought("cost", currency="USD").twin(np.array([0.5, 1.0]), spec, spares=np.array([0, 8]))
    assert costs == pytest.approx([5.0, 2.5 * (256 + 64) / 256])


def test_the_cheapest_useful_hour_holds_fewer_spares_than_the_largest_goodput(tmp_path: Path) -> None:
    variables = {"protection.stripe.m": [0], "protection.replica.every": [1], "cluster.spare_nodes": [2, 16]}
    priced = {"prices": {"gpu_hour": "2.50 USD", "power": {}}, "variables": variables}
    goodput = small.unmoved(tmp_path / "goodput", small.study(**priced), number=4)
    cost = small.unmoved(tmp_path / "cost", small.study(**priced, objective="cost"), number=4)
    assert goodput.choice is not None
    assert cost.choice is not None
    assert cost.choice.design.values["cluster.spare_nodes"] == 2
    assert cost.choice.row["cost_per_useful_gpu_hour"] == pytest.approx(cost.choice.value.value, rel=1e-12)
    assert cost.choice.twin == pytest.approx(cost.choice.row["cost_per_useful_gpu_hour_analytic"], rel=1e-9)


def test_a_finish_date_is_confirmed_by_its_quantile(tmp_path: Path) -> None:
    run = {"steps": 30_000, "replications": 24, "seed": 7}
    found = small.unmoved(tmp_path, small.study(run=run, objective={"finish": 0.9}), number=3)
    assert found.choice is not None
    assert found.choice.design.values["protection.replica.every"] == 1
    assert found.choice.value.value == quantile(found.choice.values, 0.9)
    assert found.choice.twin == pytest.approx(float(found.choice.values.mean()), rel=0.02)
    assert small.said(tmp_path)["objective"] == {"kind": "finish", "probability": 0.9, "unit": "s"}


def test_a_gap_too_small_to_show_is_not_shown_as_none() -> None:
    cost = Sought("cost", currency="USD")
    assert cost.gap(0.0042) == "0.0042 USD / useful GPU h"
    assert cost.gap(-0.00001) == "less than 0.0001 USD / useful GPU h"
    assert Sought("goodput").gap(1e-6) == "less than 0.005 points"
