"""The summary: its columns, what they mean, and how they are written."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gemsim.results.rows import RowStore
from gemsim.results.summary import RESULT_COLUMNS, Point, Summary, summarise
from gemsim.results.table import to_csv
from gemsim.spec.columns import COLUMN_MEASURES
from gemsim.spec.study import Requirement
from tests.study.fakes import WALL, row_of

STATIC = {
    "step_overhead": 0.001,
    "memory_overhead": 0.002,
    "survivable_burst_pages": 4,
    "profile": "p",
    "modelled": True,
}


def rows_in(folder: Path, runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> pa.Table:
    store = RowStore(folder)
    store.append([row_of(id_, i, **one) for id_, many in runs.items() for i, one in enumerate(many)], seed=1)
    return store.read()


def point(index: int, id_: str = "a", **more: Any) -> Point:
    return Point(index, {"protection.stripe.k": 8}, "", (), id_, **({"static": STATIC} | more))


def summary(points: list[Point], table: pa.Table, replications: int = 99, **more: Any) -> Summary:
    settings: dict[str, Any] = {"require": {}, "failed": {}} | more
    return summarise(points, table, replications=replications, **settings)


RUNS: list[dict[str, float]] = [
    {"wasted_s": 1e5, "overhead_s": 5e4, "degraded_s": 2e4, "failures": 10, "fallbacks": 1, "cost_failures_s": 1e5,
     "wasted_failures_s": 1e5, "touch_failures": 4, "touch_lost_s": 5e4},
    {"wasted_s": 3e5, "overhead_s": 5e4, "degraded_s": 0.0, "failures": 30, "fallbacks": 3, "cost_failures_s": 3e5,
     "wasted_failures_s": 3e5, "touch_failures": 8, "touch_lost_s": 5e4},
]  # fmt: skip


def test_the_columns_are_those_that_a_study_may_require_and_more(tmp_path: Path) -> None:
    assert set(COLUMN_MEASURES) <= set(RESULT_COLUMNS)
    (row,) = summary([point(0)], rows_in(tmp_path, {"a": RUNS})).rows
    assert tuple(row) == ("protection.stripe.k", *RESULT_COLUMNS)


def test_the_numbers_by_hand(tmp_path: Path) -> None:
    (row,) = summary([point(0)], rows_in(tmp_path, {"a": RUNS})).rows
    assert row["ettr"] == pytest.approx((0.83 + 0.65) / 2)
    assert row["ettr_hi"] == 1.0  # two replications: t = 12.7, cut to what a share can be
    assert row["ettr_meta"] == pytest.approx((0.85 + 0.65) / 2)
    assert row["failures"] == 20
    assert row["wasted_s_per_failure"] == row["cost_s_per_failure"] == pytest.approx(4e5 / 40)
    assert row["fallback_per_failure"] == pytest.approx(0.1)
    assert row["fallback_per_failure_lo"] < 0.1 < row["fallback_per_failure_hi"]
    assert row["unrecoverable_per_run_hi"] == pytest.approx(-math.log(0.025) / 2)
    assert row["touch_share_failures"] == pytest.approx(12 / 40)
    assert row["touch_share_lost"] == pytest.approx(1e5 / 4e5)
    perfect = [0.83 + 0.05 * 0.83 / 0.88, 0.65 + 0.05 * 0.65 / 0.70]
    assert row["ettr_perfect"] == pytest.approx(sum(perfect) / 2)
    assert row["caution"] == "few replications (2 < 10)"


def test_what_each_tier_recovered_is_summed_over_the_replications_shown(tmp_path: Path) -> None:
    tiers = ['{"held": 1, "near": 7}', '{"near": 2, "remote": 3}', '{"remote": 100}']
    table = rows_in(tmp_path, {"a": [{"by_tier": one} for one in tiers], "b": [{}]})
    one, other = summary([point(0), point(1, "b")], table, replications=2).rows
    assert one["recovered_by"] == '{"near": 9, "remote": 3, "held": 1}'  # of two replications, most first
    assert other["recovered_by"] == "{}"
    (failed,) = summary([point(0)], table, failed={"a": "why"}).rows
    assert failed["recovered_by"] is None


def test_the_time_columns_sum_to_one_and_open_with_ettr(tmp_path: Path) -> None:
    (row,) = summary([point(0)], rows_in(tmp_path, {"a": RUNS})).rows
    assert math.fsum(row[name] for name in row if name.startswith("time_")) == pytest.approx(1.0, abs=1e-12)
    assert row["time_productive"] == row["ettr"]


def test_a_sum_that_comes_to_nothing_is_nothing(tmp_path: Path) -> None:
    """Work that is all lost again leaves rounding of either sign, which is no share of the time."""
    runs = [{"wasted_s": WALL + 1e-9, "failures": 9, "cost_failures_s": WALL}] * 2
    (row,) = summary([point(0)], rows_in(tmp_path, {"a": runs})).rows
    assert math.copysign(1.0, row["ettr"]) == math.copysign(1.0, row["ettr_perfect"]) == 1.0
    assert row["ettr"] == row["time_productive"] == row["ettr_perfect"] == 0.0


def test_only_the_first_replications_count(tmp_path: Path) -> None:
    table = rows_in(tmp_path, {"a": RUNS})
    (row,) = summary([point(0)], table, replications=1).rows
    assert (row["replications"], row["ettr"], row["ettr_lo"]) == (1, pytest.approx(0.83), None)


def test_z_stands_only_beside_an_exact_form(tmp_path: Path) -> None:
    table = rows_in(tmp_path, {"a": RUNS})
    for kind, expected in (("exact", pytest.approx((0.74 - 0.70) / 0.09)), ("first_order", None), ("bound", None)):
        twin = {"ettr_analytic": 0.70, "analytic_kind": kind, "analytic_error": 0.001}
        (row,) = summary([point(0, twin=twin)], table).rows
        assert row["z_analytic"] == expected
        assert (row["ettr_analytic"], row["analytic_kind"], row["analytic_error"]) == (0.70, kind, 0.001)


def test_an_exact_form_without_spread_has_no_z(tmp_path: Path) -> None:
    twin = {"ettr_analytic": 1.0, "analytic_kind": "exact", "analytic_error": 0.0}
    (row,) = summary([point(0, twin=twin)], rows_in(tmp_path, {"a": [{}, {}]})).rows
    assert (row["ettr"], row["z_analytic"]) == (1.0, None)


def test_points_of_one_design_count_once(tmp_path: Path) -> None:
    table = rows_in(tmp_path, {"a": RUNS, "b": [{**run, "waiting_s": 10.0} for run in RUNS]})
    found = summary([point(0), point(1), point(2, "b")], table)
    assert [row["best"] for row in found.rows] == [True, False, False]
    assert [row["tied"] for row in found.rows] == [True, True, True]
    assert found.choices[()].tied == (0, 2)
    assert found.rows[0]["ettr_diff"] == found.rows[1]["ettr_diff"] == 0.0
    assert found.rows[2]["ettr_diff"] == pytest.approx(-10.0 / WALL)


def test_each_group_has_its_own_reference_and_best(tmp_path: Path) -> None:
    table = rows_in(tmp_path, {"a": RUNS, "b": [{**run, "waiting_s": 1e5} for run in RUNS]})
    one, two = (("restart", "in_place"),), (("restart", "holder"),)
    points = [Point(0, {}, "", one, "a", static=STATIC), Point(1, {}, "", two, "b", static=STATIC)]
    found = summary(points, table)
    assert [row["best"] for row in found.rows] == [True, True]
    assert [row["ettr_diff"] for row in found.rows] == [0.0, 0.0]


def test_each_variant_has_its_own_choice_within_the_group(tmp_path: Path) -> None:
    worse = [{**run, "waiting_s": 1e4} for run in RUNS]
    table = rows_in(tmp_path, {"a": RUNS, "b": worse, "c": worse})
    names = (("near", "a"), ("far", "b"), ("far", "c"))
    points = [Point(index, {}, variant, (), id_, static=STATIC) for index, (variant, id_) in enumerate(names)]
    found = summary(points, table)
    assert found.choices[()].tied == (0,)
    assert found.within[(), "far"].tied == (1, 2)
    assert [row["tied"] for row in found.rows] == [True, False, False]


def test_what_is_required_is_judged_by_the_column_and_unknown_does_not_meet_it(tmp_path: Path) -> None:
    table = rows_in(tmp_path, {"a": RUNS, "b": RUNS})
    dear = {**STATIC, "memory_overhead": 0.006}
    found = summary(
        [point(0, static=dear), point(1, "b")], table, require={"memory_overhead": Requirement("<=", 0.005)}
    )
    assert [row["best"] for row in found.rows] == [False, True]
    assert [row["tied"] for row in found.rows] == [False, True]
    nothing = summary([point(0)], table, require={"z_analytic": Requirement("<", 3.0)})
    assert nothing.choices[()].best is None
    assert nothing.rows[0]["ettr_diff"] is None


def test_infeasible_and_failed_points_have_reasons_and_no_numbers(tmp_path: Path) -> None:
    table = rows_in(tmp_path, {"a": RUNS, "b": RUNS[:1]})
    absent = Point(1, {"protection.stripe.k": 9999}, "", (), reason="k is beyond the pages")
    found = summary([point(0), absent, point(2, "b")], table, failed={"b": "failed: it died"})
    assert [row["feasible"] for row in found.rows] == [True, False, True]
    assert [row["reason"] for row in found.rows] == ["", "k is beyond the pages", "failed: it died"]
    assert [row["ettr"] is None for row in found.rows] == [False, True, True]
    assert [row["best"] for row in found.rows] == [True, False, False]


def test_csv_says_true_false_and_nothing(tmp_path: Path) -> None:
    table = rows_in(tmp_path, {"a": [{}, {}]})
    (row,) = csv.DictReader(io.StringIO(to_csv(summary([point(0)], table).rows)))
    assert (row["feasible"], row["best"], row["modelled"]) == ("true", "true", "true")
    assert row["wasted_s_per_failure"] == ""  # no failure: not known, not zero
    assert (row["ettr"], row["failures"], row["interval_s"]) == ("1", "0", "")


def test_csv_quotes_reasons(tmp_path: Path) -> None:
    reason = 'k = 9, "too many", of\npages'
    absent = Point(0, {}, "", (), reason=reason)
    (row,) = csv.DictReader(io.StringIO(to_csv(summary([absent], rows_in(tmp_path, {"a": RUNS})).rows), newline=""))
    assert row["reason"] == reason


def test_an_extrapolated_cost_is_marked_in_the_table(tmp_path: Path) -> None:
    noted = {**STATIC, "notes": ["Tier stripe 512+1: 2 ms per encode; modelled, not measured; EXTRAPOLATED: k = 512"]}
    rows = rows_in(tmp_path, {"a": RUNS, "b": RUNS})
    far, near = summary([point(0, static=noted), point(1, "b")], rows).rows
    assert "costs extrapolated beyond their profile" in far["caution"]
    assert "extrapolated" not in near["caution"]
