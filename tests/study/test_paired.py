"""Variants beside each other, and sweeps over drawn jobs: what the page says of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gemsim.results.estimate import Interval
from gemsim.study.design import expand
from gemsim.study.drawn import rank_correlation
from gemsim.study.paired import told
from gemsim.study.stopping import Rule
from gemsim.study.sweep import SweepResult, sweep
from gemsim.study.terminal import render
from tests import statcheck
from tests.study import fakes

K, M = "protection.stripe.k", "protection.stripe.m"
COMPARE = {"bare": {M: 0}, "coded": {M: 1}, "coded twice": {M: 2}}


def run(
    folder: Path,
    grid: Mapping[str, Sequence[Any]],
    *,
    compare: Mapping[str, Mapping[str, Any]] | None = None,
    lists: Sequence[Sequence[Mapping[str, Any]]] = (),
    **plan: Any,
) -> SweepResult:
    designs = expand(grid=grid, zipped={}, lists=lists, compare=compare or {})
    asked = replace(fakes.plan({}, replications=12), designs=designs, **plan)
    return sweep(asked, fakes.MODEL, folder, jobs=1, report=fakes.Listener())


def lines(result: SweepResult, after: str) -> list[str]:
    """What the page has below a line that begins so."""
    shown = render(result).splitlines()
    (start,) = [at for at, line in enumerate(shown) if line.startswith(after)]
    return shown[start:]


def test_each_variant_stands_by_its_best_design_with_its_paired_difference(tmp_path: Path) -> None:
    result = run(tmp_path, {K: [8, 16]}, compare=COMPARE)
    table = lines(result, "The variants, each by its best design")
    coded, twice, bare = table[4:7]
    assert coded.split()[0] == "coded"
    assert coded.endswith("the largest")
    row = next(row for row in result.summary.rows if row["variant"] == "bare")
    gap, low, high = (f"{-100 * row[name]:.2f}" for name in ("ettr_diff", "ettr_diff_hi", "ettr_diff_lo"))
    assert f"{gap}" in bare
    assert f"{low} to {high}" in bare
    assert bare.endswith("yes")
    assert "coded twice" in twice


def test_a_study_without_variants_has_no_such_table(tmp_path: Path) -> None:
    assert "The variants" not in render(run(tmp_path, {K: [8, 16], M: [0, 1]}))


@pytest.mark.parametrize(
    ("apart", "said"),
    [
        (Interval(0.0, 0.0, 0.0), "the largest"),
        (Interval(-0.01, -0.02, 0.001), "no"),
        (Interval(-0.01, -0.02, -0.001), "yes"),
        (Interval(-0.0003, -0.0004, -0.0002), "yes, by less than 0.05"),
        (Interval(-0.01, math.nan, math.nan), "not with one replication"),
    ],
)
def test_whether_a_difference_can_be_told_from_none(apart: Interval, said: str) -> None:
    assert told(apart) == said


JOBS = [[{"restart": f"mode {number}", M: number % 2} for number in range(30)]]


def test_drawn_jobs_are_counted_and_not_judged_one_by_one(tmp_path: Path) -> None:
    result = run(tmp_path, {}, lists=JOBS, sampled=("restart", M), jobs=("restart",))
    shown = " ".join(render(result).split())
    assert "30 jobs are drawn (restart)" in shown
    assert "Each has one design, so there is no best." in shown
    assert "Best:" not in shown
    assert "The least: ETTR" in shown


def test_designs_that_compete_in_drawn_jobs_are_counted_over_them(tmp_path: Path) -> None:
    lists: list[list[dict[str, Any]]] = [[{"restart": f"mode {number}"} for number in range(9)], [{M: 0}, {M: 1}]]
    table = lines(run(tmp_path, {}, lists=lists, sampled=("restart",), jobs=("restart",)), "Designs, over the jobs")
    assert [line.split()[:4] for line in table[4:6]] == [["m=0", "9", "9", "9"], ["m=1", "0", "9", "9"]]


SLOW: Mapping[str, Sequence[Any]] = {K: [8, 16], M: [1], "protection.fate": ["slow"]}


def test_what_a_rule_has_ended_is_in_the_heading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fakes.SLEEP, "yes")
    shown = " ".join(render(run(tmp_path, SLOW, rule=Rule({}, 30, 200, 1e-3))).split())
    assert "replications each (at most 200 replications, at most 1 ms for each run)" in shown
    assert "Stopped by time, so another run may end elsewhere: protection.stripe.k=8" in shown


def test_what_time_left_no_replication_is_not_called_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fakes.SLEEP, "yes")
    result = run(tmp_path, {**SLOW, K: list(range(1, 100)), M: [1, 2]}, rule=Rule({}, 30, 12, 1e-3))
    assert {row["stopped_by"] for row in result.summary.rows} == {"time"}
    assert result.summary.rows[0]["ettr"] is None
    assert "failed" not in render(result)


def test_the_interval_of_a_rank_correlation_covers() -> None:
    import numpy as np

    covered = 0
    for seed in range(1_000):
        first, noise = np.random.default_rng(seed).normal(size=(2, 40))
        found = rank_correlation(first.tolist(), (first + noise).tolist())
        covered += found.lo <= 6.0 / math.pi * math.asin(math.sqrt(0.5) / 2.0) <= found.hi  # of two normals
    statcheck.binomial_count(covered, 1_000, 0.95, detect=0.06)
