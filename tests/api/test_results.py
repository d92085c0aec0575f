"""A sweep from a program is the sweep of the command: same files, same numbers, opened again the same."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gemsim as gs
from gemsim.cli.main import main
from gemsim.errors import GemsimError, PointFailed, ResultsError, ValueRefused
from gemsim.study.plan import MODEL
from tests.api.small import K, M, one, small


def test_a_folder_opened_again_has_the_same_frames_and_page(swept: gs.Results) -> None:
    again = gs.load_results(swept.folder)
    for name in ("summary", "rows", "costs", "best"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(swept, name))
        assert getattr(again, name).attrs == getattr(swept, name).attrs
    assert again.answer == swept.answer
    assert (again.seed, again.replications) == (2026, 3)
    assert again.study.title == swept.study.title


def test_the_command_says_the_same_of_the_folder(
    swept: gs.Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "swept"
    shutil.copytree(swept.folder, folder)
    assert main(["sweep", str(folder / "source.yaml"), "--out", str(folder), "--jobs", "1"]) == 0
    printed = capsys.readouterr().out.split()
    assert printed == swept.answer.replace(str(swept.folder), str(folder)).split()  # where it wraps hangs on the path
    assert gs.load_results(folder).summary.equals(swept.summary)


def test_a_quick_form_reopened_is_the_quick_form(tmp_path: Path) -> None:
    study = gs.load_study("retry", quick=True).with_({"run.horizon": "1 d", "run.replications": 1})
    results = gs.sweep(study, out=tmp_path / "out", jobs=1, quiet=True)
    again = gs.load_results(results.folder)
    assert len(again.summary) == len(study.points)
    assert again.found.plan.facts["quick"] is True


def test_a_folder_without_a_sweep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="holds no sweep"):
        gs.load_results(tmp_path)


def test_rows_are_a_row_for_each_point_and_replication(swept: gs.Results) -> None:
    rows = swept.rows
    assert len(rows) == len(swept.summary) * 3
    means = (rows["productive_s"] / rows["wall_s"]).groupby([rows[K], rows[M], rows["restart"], rows["failures.lands"]])
    found = means.mean()
    for _, row in swept.summary.iterrows():
        assert found[row[K], row[M], row["restart"], row["failures.lands"]] == pytest.approx(row["ettr"], rel=1e-12)
    without = rows[(rows[M] == 0) & (rows["restart"] == "holder")]
    assert set(without[K]) == {16, 32}
    assert without["point"].nunique() == 1  # one design, twice in the table


def test_replications_beyond_those_asked_for_are_left_out(swept: gs.Results, tmp_path: Path) -> None:
    folder = tmp_path / "swept"
    shutil.copytree(swept.folder, folder)
    fewer = gs.sweep(small(), out=folder, jobs=1, replications=2, quiet=True)
    assert len(fewer.rows) == len(fewer.summary) * 2
    assert fewer.found.added == 0


def test_the_best_are_those_of_the_groups(swept: gs.Results) -> None:
    assert len(swept.best) == len(swept.found.summary.choices)
    assert swept.best["best"].all()


def test_a_notebook_sees_the_answer_and_the_intervals(swept: gs.Results) -> None:
    page = swept._repr_html_()
    assert "Best: " in page or "nothing to choose" in page
    assert "modelled, not measured" in page
    first = swept.summary.iloc[0]
    assert f"{first['ettr_lo']:.4f} to {first['ettr_hi']:.4f}" in page
    assert "(first order)" in page
    assert "first_order" not in page
    assert "= tied with the largest ETTR" in page
    assert "modelled, not measured" in repr(swept)
    assert str(swept.folder) in repr(swept)


def test_text_of_a_study_is_escaped_in_a_notebook(tmp_path: Path) -> None:
    study = one("k=16", "m=1").with_({"title": "<b>x</b>", "run.replications": 1})
    page = gs.sweep(study, out=tmp_path, jobs=1, quiet=True)._repr_html_()
    assert "<b>x</b>" not in page
    assert "&lt;b&gt;x" in page


def test_results_go_where_those_of_the_command_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = one("k=16", "m=1").set("run.replications", 1)
    assert gs.sweep(study, jobs=1, quiet=True).folder == Path("out/widths-quick")


def test_the_report_is_that_of_the_command(tmp_path: Path) -> None:
    page = gs.sweep(one("k=16", "m=1"), out=tmp_path / "a", jobs=1, replications=2, quiet=True).report()
    assert page == tmp_path / "a" / "report.html"
    assert "ETTR" in page.read_text()


def test_progress_is_plain_lines_or_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = one("k=16", "m=1").set("run.replications", 1)
    gs.sweep(study, out=tmp_path / "a", jobs=1, quiet=True)
    quiet = capsys.readouterr()
    gs.sweep(study, out=tmp_path / "b", jobs=1)
    loud = capsys.readouterr()
    assert (quiet.out, quiet.err) == ("", "")
    assert loud.out == ""
    assert loud.err.startswith("widths: 1 replications\nwidths: 1 replications in ")
    assert loud.err.endswith("; 1 of 1 points done\n")


@pytest.mark.parametrize("given", [{"jobs": 0}, {"replications": 0}, {"seed": -1}, {"seed": 2**63}, {"jobs": 1.5}])
def test_a_number_out_of_range_is_one_line(given: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueRefused, match=rf"^{next(iter(given))}: not such a number .*; a whole number"):
        gs.sweep(one("k=16", "m=1"), out=tmp_path / "none", **given)
    assert not (tmp_path / "none").exists()


def test_another_executor_finds_the_same(tmp_path: Path) -> None:
    study = one("k=16", "m=1")
    alone = gs.sweep(study, out=tmp_path / "one", jobs=1, replications=4, quiet=True)
    threads = gs.sweep(
        study, out=tmp_path / "any", jobs=2, replications=4, quiet=True, executor=ThreadPoolExecutor, limit="5 min"
    )
    pd.testing.assert_frame_equal(threads.summary, alone.summary)
    pd.testing.assert_frame_equal(threads.rows, alone.rows)


def test_a_limit_holds_and_the_first_failure_may_end_the_sweep(tmp_path: Path) -> None:
    with pytest.raises(PointFailed, match=r"stopped at the first failure: .*no answer within"):
        gs.sweep(small(), out=tmp_path, jobs=1, limit="0.01 ms", fail_fast=True, quiet=True)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"limit": "0 s"}, "^limit: '0 s' leaves no time"),
        ({"limit": "10"}, "^limit: has no unit"),
        ({"dask": "tcp://127.0.0.1:9", "jobs": 2}, "dask beside executor or jobs"),
        ({"dask": "tcp://127.0.0.1:9", "executor": ThreadPoolExecutor}, "dask beside executor or jobs"),
    ],
)
def test_ways_to_run_that_make_no_sense_are_refused(given: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(gs.GemsimError, match=why):
        gs.sweep(one("k=16", "m=1"), out=tmp_path / "none", **given)
    assert not (tmp_path / "none").exists()


def test_another_seed_in_the_folder_is_refused(swept: gs.Results) -> None:
    with pytest.raises(ResultsError, match="holds rows of seed 2026, not of seed 1"):
        gs.sweep(small(), out=swept.folder, jobs=1, seed=1, quiet=True)


def test_the_closed_form_is_that_of_the_sweep(swept: gs.Results) -> None:
    alone = gs.predict(small())
    both = [name for name in alone.columns if name in swept.summary.columns]
    assert both == list(alone.columns)
    pd.testing.assert_frame_equal(alone, swept.summary[both])


def test_the_screen_is_the_closed_form_of_fewer_columns() -> None:
    every = ["20 min", "2 h", "optimal", "1 s"]
    study = small().set("sweep.grid.protection.checkpoint.interval", every).set(f"sweep.grid.{K}", [16, 4000])
    fully, screened = gs.predict(study), gs.predict(study, screen=True)
    assert set(screened.columns) < set(fully.columns)
    assert 0 < screened["feasible"].sum() < len(screened)
    left = ["reason", "analytic_note"]  # a reason names the value at its place in the study, or the steps
    shown = fully[screened.columns.drop(left)]
    pd.testing.assert_frame_equal(screened.drop(columns=left), shown, rtol=1e-9, check_dtype=False)
    assert ((screened["reason"] == "") == (fully["reason"] == "")).all()


def test_processes_have_nothing_to_share_without_the_screen() -> None:
    with pytest.raises(ValueRefused, match=r"^jobs=2 without screen; jobs with screen=True"):
        gs.predict(small(), jobs=2)


def test_the_closed_form_has_what_uncertain_inputs_leave_open(tmp_path: Path) -> None:
    study = gs.load_study("uncertain", quick=True).point(index=0).with_({"run.horizon": "1 d", "run.replications": 1})
    alone = gs.predict(study).iloc[0]
    assert alone["ettr_input_lo"] < alone["ettr_analytic"] < alone["ettr_input_hi"]
    swept = gs.sweep(study, out=tmp_path, jobs=1, quiet=True).summary.iloc[0]
    assert alone["ettr_input_lo"] == swept["ettr_input_lo"]


def test_a_point_that_cannot_be_has_its_reason() -> None:
    table = gs.predict(small().set(f"sweep.grid.{K}", [16, 4000]))
    coded = table[table[M] == 1]  # without parity no stripe is made
    wrong = coded[coded[K] == 4000]
    assert not wrong["feasible"].any()
    assert wrong["reason"].str.contains("more than the .* pages").all()
    assert wrong["ettr_analytic"].isna().all()
    assert coded[coded[K] == 16]["feasible"].all()


def test_simulate_gives_the_rows_of_a_sweep_and_writes_nothing(
    swept: gs.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = gs.simulate(small())
    assert rows.attrs["infeasible"] == {}
    pd.testing.assert_frame_equal(rows, swept.rows)
    assert list(tmp_path.iterdir()) == []


def test_simulate_says_which_points_cannot_be() -> None:
    rows = gs.simulate(small().with_({f"sweep.grid.{K}": [16, 4000], M: 1, "run.replications": 1}))
    assert set(rows[K]) == {16}
    assert len(rows.attrs["infeasible"]) == 4
    with pytest.raises(GemsimError, match="no design point is feasible; the first is not because: k = 4000"):
        gs.simulate(small().with_({K: 4000, M: 1}))


def test_a_replication_that_fails_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(scenario: Any, *, seed: int, replication: int) -> Mapping[str, Any]:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("gemsim.api.run.MODEL", replace(MODEL, simulate=broken))
    with pytest.raises(GemsimError, match=r"^failed: .*, in replication 0: ZeroDivisionError: planted$"):
        gs.simulate(one("k=16", "m=1"))


def test_a_design_that_fails_does_not_stop_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def frail(scenario: Any, *, seed: int, replication: int) -> Mapping[str, Any]:
        if scenario.restart.mode == "holder":
            raise ZeroDivisionError("planted")
        return MODEL.simulate(scenario, seed=seed, replication=replication)

    monkeypatch.setattr("gemsim.api.run.MODEL", replace(MODEL, simulate=frail))
    results = gs.sweep(small(), out=tmp_path, jobs=1, quiet=True)
    assert len(results.failed) == 3  # with parity at two widths, and without
    assert np.isnan(results.summary.loc[results.summary["restart"] == "holder", "ettr"]).all()
    assert "3 designs failed" in repr(results)


def test_stopping_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swept: gs.Results) -> None:
    ran: list[int] = []

    def stopped(scenario: Any, *, seed: int, replication: int) -> Mapping[str, Any]:
        if len(ran) == 20:
            raise KeyboardInterrupt
        ran.append(replication)
        return MODEL.simulate(scenario, seed=seed, replication=replication)

    with monkeypatch.context() as patch:
        patch.setattr("gemsim.api.run.MODEL", replace(MODEL, simulate=stopped))
        with pytest.raises(KeyboardInterrupt, match="the same command again goes on from there"):
            gs.sweep(small(), out=tmp_path, jobs=1, quiet=True)
    rest = gs.sweep(small(), out=tmp_path, jobs=1, quiet=True)
    assert 0 < rest.found.added < 36
    pd.testing.assert_frame_equal(rest.rows, swept.rows)
