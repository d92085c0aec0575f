"""When replications are enough: asked at fixed numbers, of the rows alone, of a group as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemsim.results.estimate import Floats, mean_interval
from gemsim.results.provenance import runs_of
from gemsim.results.rows import RowStore
from gemsim.spec.precision import PRECISE, Precision
from gemsim.spec.run import RunSpec
from gemsim.study.conclude import incomplete
from gemsim.study.points import realise
from gemsim.study.stopping import METRICS, NEEDED, Rule, ends_of, precise, rule_of, settle
from gemsim.study.sweep import Plan, SweepResult, sweep
from tests import statcheck
from tests.study import fakes

GRID: Mapping[str, Sequence[Any]] = {
    "protection.stripe.k": [8, 16],
    "protection.stripe.m": [0, 1],
    "restart": ["in_place", "holder"],
}


def rule(most: int = 400, events: int = 30, time: float | None = None, **bounds: float | str) -> Rule:
    """Bounds as numbers, or as shares of the value in percent."""
    found = {
        name: Precision(float(bound[:-2]) / 100.0, True) if isinstance(bound, str) else Precision(bound, False)
        for name, bound in bounds.items()
    }
    return Rule(found, events, most, time)


def planned(rule: Rule | None, most: int = 400) -> Plan:
    return replace(fakes.plan(GRID, replications=most), rule=rule)


def run(folder: Path, rule: Rule | None, *, jobs: int = 1, most: int = 400, model: Any = fakes.MODEL) -> SweepResult:
    return sweep(planned(rule, most), model, folder, jobs=jobs, report=fakes.Listener())


def columns(number: int, **given: Any) -> dict[str, Floats]:
    """The columns that precision is asked of."""
    return {name: np.broadcast_to(np.asarray(given.get(name, 1.0), dtype=float), number) for name in NEEDED}


def test_it_is_asked_at_numbers_that_grow_by_half() -> None:
    assert rule(most=60, ettr=0.001).checkpoints == (10, 15, 22, 33, 49, 60)
    assert rule(most=8, ettr=0.001).checkpoints == (8,)
    assert rule(most=60).checkpoints == (60,)


def test_every_column_of_a_study_has_a_metric() -> None:
    assert set(METRICS) == set(PRECISE)


def test_a_plain_study_has_no_rule() -> None:
    assert rule_of(RunSpec(horizon="1 d")) is None  # type: ignore[arg-type]
    assert rule_of(RunSpec.model_validate({"horizon": "1 d", "at_most": "2 min"})) == Rule({}, 30, 16, 120.0)


def test_half_the_width_is_held_against_the_bound_absolute_or_relative() -> None:
    values = np.random.default_rng(1).uniform(90.0, 110.0, 40)
    half = mean_interval(values).half_width
    many = columns(40, wall_s=values, failures=2.0)
    assert precise(many, rule(wall_s=half * 1.001))
    assert not precise(many, rule(wall_s=half * 0.999))
    assert precise(many, rule(wall_s=f"{100 * half / values.mean() * 1.001} %"))
    assert not precise(many, rule(wall_s=f"{100 * half / values.mean() * 0.999} %"))


def test_few_failures_are_not_enough_however_narrow_the_interval() -> None:
    assert not precise(columns(29, wall_s=5.0), rule(wall_s=1.0))
    assert precise(columns(30, wall_s=5.0), rule(wall_s=1.0))


def test_a_relative_precision_of_rare_events_needs_events_and_an_absolute_one_does_not() -> None:
    rare = np.zeros(4000)
    rare[:29] = 1.0
    many = columns(4000, unrecoverable=rare)
    assert not precise(many, rule(unrecoverable_per_run="60 %"))
    assert precise(many, rule(unrecoverable_per_run=0.01))
    rare[100] = 1.0
    assert precise(columns(4000, unrecoverable=rare), rule(unrecoverable_per_run="60 %"))
    assert not precise(columns(4000, unrecoverable=0.0), rule(unrecoverable_per_run="99 %"))


def test_a_group_goes_on_until_each_of_its_designs_is_precise() -> None:
    steady, wide = np.full(400, 5.0), np.random.default_rng(2).uniform(0.0, 10.0, 400)
    runs = {"a": columns(400, wall_s=steady, failures=9.0), "b": columns(400, wall_s=wide, failures=9.0)}
    alone, both = (settle(ids, runs, (), rule(wall_s=0.6)) for ids in (["a"], ["a", "b"]))
    assert alone == (10, "precision")
    assert both.why == "precision"
    assert both.replications > 49


def test_who_has_failed_is_not_waited_for_and_has_its_say_as_far_as_it_came() -> None:
    runs = {"a": columns(22, wall_s=5.0, failures=9.0), "b": columns(12, wall_s=np.arange(12) * 50.0, failures=9.0)}
    assert settle(["a", "b"], runs, (), rule(wall_s=1.0)) == (15, "")
    assert settle(["a", "b"], runs, ("b",), rule(wall_s=1.0)) == (15, "precision")


def test_the_rows_alone_decide_whatever_the_jobs_the_stops_and_what_is_there_already(tmp_path: Path) -> None:
    asked = rule(ettr=0.0016)
    one = run(tmp_path / "one", asked)
    run(tmp_path / "two", asked, jobs=2)
    run(tmp_path / "resumed", None, most=12)
    again = run(tmp_path / "resumed", asked)
    run(tmp_path / "longer", None, most=90)
    never = run(tmp_path / "longer", asked, model=replace(fakes.MODEL, simulate=fakes.never))
    tables = [(tmp_path / name / "summary.csv").read_text() for name in ("one", "two", "resumed", "longer")]
    assert tables[1:] == tables[:1] * 3
    assert never.added == 0
    assert again.added < one.added == RowStore(tmp_path / "one" / "rows").read().num_rows
    assert 10 < one.summary.rows[0]["replications"] < 90
    stopped = {row["stopped_by"] for row in one.summary.rows}
    assert stopped == {"precision"}


def test_groups_end_apart_and_the_designs_of_one_together(tmp_path: Path) -> None:
    found = run(tmp_path, rule(wasted_s_per_failure=3.0))
    ends = {(row["restart"], row["replications"]) for row in found.summary.rows}
    assert ends == {("in_place", 109), ("holder", 10)}
    assert found.added == RowStore(tmp_path / "rows").read().num_rows == 3 * 10 + 3 * 109


def test_what_is_never_precise_has_all_replications(tmp_path: Path) -> None:
    found = run(tmp_path, rule(most=22, ettr=1e-9), most=22)
    assert {(row["replications"], row["stopped_by"]) for row in found.summary.rows} == {(22, "replications")}


def test_time_ends_a_run_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fakes.SLEEP, "yes")
    plan = fakes.plan({"protection.stripe.k": [8, 16], "protection.fate": ["slow"]}, replications=400)
    late = replace(plan, rule=rule(time=1e-3))
    found = sweep(late, fakes.MODEL, tmp_path, jobs=1, report=fakes.Listener())
    assert 0 < found.added < 400
    assert {row["stopped_by"] for row in found.summary.rows} == {"time"}
    assert len({row["replications"] for row in found.summary.rows}) == 1
    assert runs_of(tmp_path / "provenance.json")[0]["found"]["stopped_by_time"]
    monkeypatch.delenv(fakes.SLEEP)
    on = sweep(replace(plan, rule=rule(most=40, time=600.0)), fakes.MODEL, tmp_path, jobs=1, report=fakes.Listener())
    assert {(row["replications"], row["stopped_by"]) for row in on.summary.rows} == {(40, "replications")}


def test_shares_of_a_sweep_leave_the_rule_to_who_joins_them(tmp_path: Path) -> None:
    for share in (1, 2):
        asked = planned(rule(most=90, ettr=0.0016), most=90)
        sweep(asked, fakes.MODEL, tmp_path, jobs=1, report=fakes.Listener(), shard=(share, 2))
    whole = run(tmp_path, rule(most=90, ettr=0.0016), most=90, model=replace(fakes.MODEL, simulate=fakes.never))
    alone = run(tmp_path / "alone", rule(most=90, ettr=0.0016), most=90)
    assert whole.added == 0
    assert whole.summary.rows == alone.summary.rows
    assert {row["stopped_by"] for row in whole.summary.rows} == {"precision"}


def test_a_failing_design_does_not_keep_its_group_waiting(tmp_path: Path) -> None:
    grid: Mapping[str, Sequence[Any]] = {"protection.stripe.k": [8], "protection.fate": ["fine", "raises"]}
    plan = replace(fakes.plan(grid, replications=400), rule=rule(ettr=0.001))
    found = sweep(plan, fakes.MODEL, tmp_path, jobs=1, report=fakes.Listener())
    fine, raises = found.summary.rows
    assert (fine["stopped_by"], raises["stopped_by"]) == ("precision", None)
    assert fine["replications"] < 400


COVERS = 0.94  # of 0.95: what asking more than once costs, from 10 replications on


def stops(seed: int, bound: Rule, spread: float) -> tuple[bool, bool]:
    """Whether the interval of one stopped sample covers the mean, and whether it was stopped by precision."""
    values = 1.0 - spread * np.random.default_rng(seed).uniform(0.0, 1.0, bound.most) ** 2  # bounded, not symmetric
    runs = {"a": columns(bound.most, productive_s=values, failures=9.0)}
    found = settle(["a"], runs, (), bound)
    interval = mean_interval(values[: found.replications])
    return interval.lo <= 1.0 - spread / 3.0 <= interval.hi, found.why == "precision"


@pytest.mark.parametrize("bound", [{"ettr": 0.002}, {"ettr": "0.2 %"}], ids=["absolute", "relative"])
def test_an_interval_after_stopping_still_covers(bound: dict[str, Any]) -> None:
    asked = rule(**bound)
    found = [stops(seed, asked, 0.03) for seed in range(2_000)]
    assert np.mean([precision for _, precision in found]) > 0.99
    statcheck.binomial_count(sum(covers for covers, _ in found), len(found), COVERS, detect=0.04)


def rare(seed: int, bound: Rule) -> bool:
    """The same of a law in which one run of twenty fails, once, and loses half its time."""
    lost: Floats = (np.random.default_rng(seed).uniform(0.0, 1.0, bound.most) < 0.05).astype(np.float64)
    runs = {"a": columns(bound.most, productive_s=1.0 - 0.5 * lost, failures=lost)}
    interval = mean_interval(1.0 - 0.5 * lost[: settle(["a"], runs, (), bound).replications])
    return interval.lo <= 0.975 <= interval.hi


def test_an_interval_of_what_seldom_happens_covers_since_events_are_waited_for() -> None:
    asked = rule(most=2_000, ettr=0.01)
    covered = sum(rare(seed, asked) for seed in range(1_000))
    statcheck.binomial_count(covered, 1_000, COVERS, detect=0.06)
    early = sum(rare(seed, replace(asked, min_events=0)) for seed in range(1_000))  # the planted fault: 0.38
    with statcheck.unbooked(), pytest.raises(statcheck.Rejected):
        statcheck.binomial_count(early, 1_000, COVERS, detect=0.06)


def test_a_folder_that_a_rule_has_not_ended_is_incomplete_and_no_verdict(tmp_path: Path) -> None:
    run(tmp_path, None, most=12)
    table = RowStore(tmp_path / "rows").read()
    points, _, _ = realise(planned(None).designs, dict, fakes.MODEL)
    ends = ends_of(points, table, (), replications=400, rule=rule(ettr=1e-9))
    lacking = incomplete(points, table, ends, but={})
    assert set(ends.stopped_by.values()) == {"stopped"}
    assert len(lacking) == 6
    assert all("12 replications are here, and its group goes on" in why for why in lacking.values())
