"""Sentences follow from numbers: each kind of situation gets its own, and none is said where it does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemsim.results.rows import RowStore
from gemsim.results.summary import Point, summarise
from gemsim.spec.study import Requirement
from gemsim.study.advice import Group, advice, cautions, recovered, verdict
from gemsim.study.ceiling import ceiling
from gemsim.study.shares import points_of, range_of
from tests.study.fakes import WALL, row_of

NOISE = np.array([-0.01, 0.01, 0.0, -0.005, 0.005] * 3)
K = "protection.stripe.k"


def group(
    folder: Path, designs: Sequence[Mapping[str, Any]], *, bound: float = 1.0, axis: str = K, noise: float = 0.0
) -> Group:
    """Designs by value, ETTR, memory, burst and touched share of the loss; `noise` is each design's own."""
    rows, points = [], []
    for index, design in enumerate(designs):
        memory, burst = design.get("memory", 0.01), design.get("burst", 0)
        static = {"memory_overhead": memory, "step_overhead": 0.001, "survivable_burst_pages": burst}
        static["outside"] = design.get("outside", ())
        points.append(Point(index, {axis: design["value"]}, "", (), str(index), static=static))
        own = np.random.default_rng(index).normal(0.0, noise, len(NOISE)) if noise else np.zeros(len(NOISE))
        for replication, ettr in enumerate(design["ettr"] + NOISE + own):
            lost = (1.0 - ettr) * WALL
            counts = {"failures": 20, "fallbacks": design.get("fallbacks", 5), "touch_failures": 4}
            spent = {"wasted_s": lost, "cost_failures_s": lost, "touch_lost_s": lost * design.get("touch", 0.0)}
            tiers = {"by_tier": design.get("tiers", "{}")}
            rows.append(row_of(str(index), replication, **counts, **spent, **tiers))
    store = RowStore(folder)
    store.append(rows, seed=1)
    require = {"memory_overhead": Requirement("<=", bound)}
    table = summarise(points, store.read(), replications=len(NOISE), require=require, failed={})
    within = {"": table.within[(), ""]}
    return Group((), points, table.rows, table.choices[()], within, require, {axis: axis.split(".")[-1]})


def text(found: Group) -> str:
    return "\n".join([verdict(found), *advice(found)])


def test_where_all_tie_memory_decides_and_it_is_said(tmp_path: Path) -> None:
    flat = group(tmp_path, [{"value": 8, "ettr": 0.93, "memory": 0.02}, {"value": 16, "ettr": 0.9298}])
    assert "Best: k=16: ETTR 0.9298 (the largest is k=8: 0.9300); 2 of 2 tie, and it costs least" in text(flat)
    assert "ETTR does not decide here: all 2 designs are within 0.02 points" in text(flat)
    assert "ETTR decides" not in text(flat)


def test_where_no_memory_is_best_the_code_is_paid_for_something_else(tmp_path: Path) -> None:
    bare = group(tmp_path / "a", [{"value": 8, "ettr": 0.93, "memory": 0.0}, {"value": 16, "ettr": 0.93}])
    assert "The best spends no memory" in text(bare)
    coded = group(tmp_path / "b", [{"value": 8, "ettr": 0.93, "memory": 0.02}, {"value": 16, "ettr": 0.93}])
    assert "The best spends no memory" not in text(coded)


def test_where_ettr_decides_the_gap_is_named_with_its_interval(tmp_path: Path) -> None:
    apart = group(tmp_path, [{"value": 8, "ettr": 0.93}, {"value": 16, "ettr": 0.91}], noise=0.001)
    assert "Best: k=8: ETTR" in text(apart)
    assert "no other is within the tie band" in text(apart)
    assert "ETTR decides: between the largest and k=16 lie" in text(apart)
    assert "95 %: " in text(apart)
    assert "ETTR does not decide" not in text(apart)


def test_a_tie_too_wide_to_choose_by_is_no_choice(tmp_path: Path) -> None:
    """The cheaper design may be as good or four points worse: nothing is called best."""
    rivals = [{"value": 8, "ettr": 0.86, "memory": 0.02}, {"value": 16, "ettr": 0.84, "memory": 0.01}]
    open_ = group(tmp_path, rivals, noise=0.06)
    said = text(open_)
    assert said.startswith("No choice: run more replications. The largest is k=")
    assert "costs less, and how far it is behind" in said
    assert "Best:" not in said
    assert (open_.best, recovered(open_)) == (None, [])
    assert not any(row["best"] for row in open_.rows)


def test_what_each_tier_of_the_best_recovered_is_said(tmp_path: Path) -> None:
    tiers = '{"near": 96, "remote": 3, "held": 1}'
    two = group(tmp_path / "a", [{"value": 8, "ettr": 0.93, "tiers": tiers}, {"value": 16, "ettr": 0.9}])
    assert recovered(two) == [
        "Its failures were recovered by: near 96.0 %, remote 3.0 %, the state of living processes 1.0 %."
    ]
    lost = group(tmp_path / "b", [{"value": 8, "ettr": 0.93, "tiers": '{"near": 2, "start": 1}'}])
    assert recovered(lost) == ["Its failures were recovered by: near 66.7 %, nothing (from the start) 33.3 %."]


def test_a_tier_that_recovered_one_of_many_is_not_said_to_have_recovered_none(tmp_path: Path) -> None:
    rare = group(tmp_path, [{"value": 8, "ettr": 0.93, "tiers": '{"near": 20000, "remote": 1}'}])
    assert "near more than 99.9 %, remote less than 0.1 %" in recovered(rare)[0]


def test_without_failures_nobody_recovered_any(tmp_path: Path) -> None:
    assert recovered(group(tmp_path, [{"value": 8, "ettr": 0.93, "tiers": "{}"}])) == []


def test_what_a_requirement_costs_is_said(tmp_path: Path) -> None:
    designs = [{"value": 8, "ettr": 0.95, "memory": 0.02}, {"value": 16, "ettr": 0.93}]
    strict = group(tmp_path / "a", designs, bound=0.015)
    assert "excludes 1 of 2 designs; they offer at most 2.00 points more ETTR" in text(strict)
    designs[0]["ettr"] = 0.93
    assert "none would be better" in text(group(tmp_path / "b", designs, bound=0.015))


def test_nothing_that_meets_the_requirement_is_no_advice(tmp_path: Path) -> None:
    none = group(tmp_path, [{"value": 8, "ettr": 0.95, "memory": 0.02}], bound=0.001)
    assert verdict(none) == "No best: none of 1 simulated designs meets the requirement on memory_overhead."
    assert advice(none) == []


def test_the_price_of_the_largest_recorded_burst(tmp_path: Path) -> None:
    designs = [
        {"value": 8, "ettr": 0.93, "memory": 0.02, "burst": 200},
        {"value": 16, "ettr": 0.93, "memory": 0.01, "burst": 63},
        {"value": 32, "ettr": 0.93, "memory": 0.005, "burst": 62},
    ]
    assert "takes 1.000 % of memory: k=16" in text(group(tmp_path / "a", designs))
    assert "No allowed design survives a burst of 63" in text(group(tmp_path / "b", designs, bound=0.006))
    assert "the most is 62." in text(group(tmp_path / "c", designs, bound=0.006))
    alike = [{**design, "burst": 5} for design in designs]
    assert "burst of 63" not in text(group(tmp_path / "d", alike))


@pytest.mark.parametrize(
    ("ettr", "said"),
    [
        ([0.93, 0.9301, 0.93, 0.9299], "cadence: ETTR is flat from 1 to 8."),
        (
            [0.90, 0.93, 0.9302, 0.91],
            "cadence: ETTR has its optimum inside, 0.9302 at 4 (0.9000 at 1, 0.9100 at 8; tied from 2 to 4).",
        ),
        ([0.90, 0.92, 0.93, 0.9301], "cadence: ETTR is best from 4 up (0.9000 at 1, 0.9301 at 8)."),
        (
            [0.90, 0.91, 0.92, 0.93],
            "cadence: ETTR is best at its end, 8, the edge of the sweep: values beyond it might be better "
            "(0.9000 at 1, 0.9300 at 8).",
        ),
        ([0.93, 0.92, 0.91, 0.90], "cadence: ETTR is best at its start, 1 (0.9300 at 1, 0.9000 at 8)."),
        ([0.93, 0.9299, 0.91, 0.90], "cadence: ETTR is best up to 2 (0.9300 at 1, 0.9000 at 8)."),
        ([0.93, 0.90, 0.90, 0.93], "cadence: ETTR has no single optimum along it (0.9300 at 1, 0.9300 at 8)."),
    ],
)
def test_the_run_of_ettr_along_an_axis(tmp_path: Path, ettr: list[float], said: str) -> None:
    designs = [{"value": 2**i, "ettr": one} for i, one in enumerate(ettr)]
    assert said in advice(group(tmp_path, designs, axis="protection.stripe.cadence"))


def test_the_run_along_quantities_is_in_their_order(tmp_path: Path) -> None:
    """As text 1 h comes before 10 min."""
    designs = [{"value": v, "ettr": e} for v, e in (("1 h", 0.90), ("10 min", 0.93), ("30 min", 0.92), ("2 min", 0.91))]
    said = advice(group(tmp_path, designs, axis="protection.checkpoint.interval"))
    assert "interval: ETTR has its optimum inside, 0.9300 at 10 min (0.9100 at 2 min, 0.9000 at 1 h)." in said


def test_named_settings_and_pairs_have_no_run(tmp_path: Path) -> None:
    names = [{"value": name, "ettr": 0.93} for name in ("interleaved", "contiguous", "other")]
    assert not any(
        line.startswith("mapping:") for line in advice(group(tmp_path / "a", names, axis="protection.mapping"))
    )
    pair = [{"value": value, "ettr": 0.93} for value in (1, 2)]
    assert not any(line.startswith("k:") for line in advice(group(tmp_path / "b", pair)))


def test_the_ceiling_is_read_against_the_design_that_saves_least(tmp_path: Path) -> None:
    designs = [{"value": 8, "ettr": 0.93, "touch": 0.01}, {"value": 16, "ettr": 0.90, "touch": 0.3}]
    said = ceiling(group(tmp_path, designs))
    assert "can touch at most 20.0 % of failures and 30.7 % of the time lost" in said
    assert "ETTR would be at most 0.9307 (here 0.9300)" in said


def test_the_ceiling_does_not_credit_a_better_fallback_to_gpu_memory(tmp_path: Path) -> None:
    """Saves each 30 min lose more than saves each 7; what the interval gains no code can."""
    often, seldom = (("remote", 420.0),), (("remote", 1800.0),)
    designs = [
        {"value": 8, "ettr": 0.93, "touch": 0.01, "outside": often},
        {"value": 16, "ettr": 0.90, "touch": 0.3, "outside": seldom},
    ]
    assert "1.0 % of the time lost" in ceiling(group(tmp_path / "a", designs))
    designs[1]["outside"] = (("remote", 450.0),)
    assert "30.7 % of the time lost" in ceiling(group(tmp_path / "b", designs))
    designs[1]["outside"] = (("cpu_memory", 420.0),)
    assert "1.0 % of the time lost" in ceiling(group(tmp_path / "c", designs))


def test_cautions_are_said_once() -> None:
    rows = [{"caution": "few replications (3 < 10); few failures (2 < 30)"}, {"caution": "few replications (3 < 10)"}]
    assert cautions([*rows, {"caution": ""}, {"caution": None}]) == [
        "few failures (2 < 30)",
        "few replications (3 < 10)",
    ]


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert points_of(-1e-12) == points_of(1e-12) == "less than 0.01 points"
    assert range_of(-1e-12, 0.01) == "95 %: 0.00 to 1.00"
