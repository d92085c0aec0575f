"""A sweep over a fake model: resume, any number of workers, and everything that can go wrong on the way."""

from __future__ import annotations

import csv
import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gemsim.errors import GemsimError, ResultsError
from gemsim.results.rows import RowStore
from gemsim.study.collect import Stopped
from gemsim.study.points import Model
from gemsim.study.progress import Standing
from gemsim.study.sweep import SweepResult, sweep
from gemsim.study.tasks import Task, failed
from tests.study import fakes
from tests.study.processes import wait_until_gone

GRID = {"protection.stripe.k": [8, 16], "protection.stripe.m": [0, 1, 2]}
NEVER = dataclasses.replace(fakes.MODEL, simulate=fakes.never)


def run(folder: Path, grid: Any = None, *, jobs: int = 1, model: Model = fakes.MODEL, **plan: Any) -> SweepResult:
    return sweep(fakes.plan(grid or GRID, **plan), model, folder, jobs=jobs, report=fakes.Listener())


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "summary.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_a_sweep_writes_rows_summary_study_and_provenance(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.added == 5 * 6  # six points, but m = 0 is one design
    assert [row["protection.stripe.k"] for row in table(tmp_path)] == ["8", "8", "8", "16", "16", "16"]
    assert (tmp_path / "study.yaml").read_text() == "title: fake\n"
    (once,) = json.loads((tmp_path / "provenance.json").read_text())["runs"]
    assert once["seed"] == 1
    assert once["rows_added"] == 30


def test_running_again_adds_nothing_and_simulates_nothing(tmp_path: Path) -> None:
    run(tmp_path)
    before = state(tmp_path)
    assert run(tmp_path, model=NEVER).added == 0
    assert state(tmp_path) == before


def test_any_number_of_jobs_gives_the_same_summary(tmp_path: Path) -> None:
    grid = GRID | {"restart": ["in_place", "all_processes"], "protection.fate": ["fine", "raises"]}
    for jobs in (1, 2, 3):
        run(tmp_path / str(jobs), grid, jobs=jobs, replications=20)
    assert (tmp_path / "1/summary.csv").read_bytes() == (tmp_path / "2/summary.csv").read_bytes()
    assert (tmp_path / "1/summary.csv").read_bytes() == (tmp_path / "3/summary.csv").read_bytes()


def test_more_replications_add_to_what_is_there_and_fewer_use_a_part_of_it(tmp_path: Path) -> None:
    run(tmp_path / "few", replications=4)
    run(tmp_path / "many", replications=9)
    run(tmp_path / "grown", replications=4)
    assert run(tmp_path / "grown", replications=9).added == 5 * 5
    assert (tmp_path / "grown/summary.csv").read_bytes() == (tmp_path / "many/summary.csv").read_bytes()
    assert run(tmp_path / "grown", replications=4, model=NEVER).added == 0
    assert (tmp_path / "grown/summary.csv").read_bytes() == (tmp_path / "few/summary.csv").read_bytes()


def test_a_changed_study_simulates_only_the_new_designs(tmp_path: Path) -> None:
    run(tmp_path)
    assert run(tmp_path, GRID | {"protection.stripe.k": [8, 16, 32]}).added == 2 * 6


def changed(folder: Path, grid: Any, *, facts: dict[str, Any]) -> list[str]:
    """What a sweep says when the study is another than before."""
    listener = fakes.Listener()
    plan = fakes.plan(grid)
    plan = dataclasses.replace(plan, facts={**plan.facts, **facts})
    sweep(plan, fakes.MODEL, folder, jobs=1, report=listener)
    return listener.said


def test_a_changed_study_is_said_with_what_is_kept_and_what_is_new(tmp_path: Path) -> None:
    first, second = {"design_hash": "a"}, {"design_hash": "b"}
    assert changed(tmp_path, GRID, facts=first) == []
    assert changed(tmp_path, GRID, facts=first) == []
    other = {"protection.stripe.k": [16, 32], "protection.stripe.m": [1, 2]}
    (line,) = changed(tmp_path, other, facts=second)
    there = "2 of 4 designs are known, 2 are new; rows of 3 others stay"
    assert line == f"the study has changed since the last run here: {there}"
    assert changed(tmp_path, other, facts=second) == []
    assert len(RowStore(tmp_path / "rows").keys()) == (5 + 2) * 6


def test_a_folder_of_another_version_is_said_to_be_that(tmp_path: Path) -> None:
    changed(tmp_path, {"protection.stripe.k": [8]}, facts={"design_hash": "a"})
    (line,) = changed(tmp_path, {"protection.stripe.k": [16, 32]}, facts={"design_hash": "a"})
    said = "the last run here was made by a version of gemsim whose designs are others: "
    assert line == said + "0 of 2 designs are known, 2 are new; rows of 1 others stay"


def test_a_refused_seed_leaves_study_and_tracebacks_as_they_were(tmp_path: Path) -> None:
    run(tmp_path, {"protection.fate": ["raises"]})
    before = state(tmp_path)
    other = dataclasses.replace(fakes.plan({"protection.fate": ["raises"]}, seed=2), study_text="seed: 2\n")
    with pytest.raises(ResultsError, match="holds rows of seed 1"):
        sweep(other, fakes.MODEL, tmp_path, jobs=1, report=fakes.Listener())
    assert state(tmp_path) == before


def test_points_are_counted_as_they_end(tmp_path: Path) -> None:
    listener = fakes.Listener()
    grid: dict[str, list[Any]] = {**GRID, "protection.stripe.k": [8, 128], "protection.fate": ["fine", "raises"]}
    sweep(fakes.plan(grid), fakes.MODEL, tmp_path, jobs=1, report=listener)
    assert listener.standing == Standing(12, done=3, failed=3, infeasible=6)
    assert str(listener.standing) == "3 of 12 points done, 3 failed, 6 infeasible"
    again = fakes.Listener()
    sweep(fakes.plan(grid), fakes.MODEL, tmp_path, jobs=1, report=again)
    assert again.standing == listener.standing
    assert again.total == again.done


def test_a_line_of_progress_counts_points_and_replications_of_one_moment(tmp_path: Path) -> None:
    class Watch(fakes.Listener):
        def advance(self, count: int) -> None:
            super().advance(count)
            assert self.done < self.total or self.standing.done == self.standing.total

    sweep(fakes.plan(GRID), fakes.MODEL, tmp_path, jobs=1, report=Watch())


def test_an_error_that_says_nothing_is_its_name() -> None:
    assert failed(Task("a", 0, None), MemoryError()).error == "MemoryError"
    assert failed(Task("a", 0, None), ValueError("odd:")).error == "ValueError: odd:"


def test_a_stop_between_a_part_and_its_count_tells_what_the_disk_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = RowStore.append

    def then_stopped(self: RowStore, *given: Any, **named: Any) -> None:
        usual(self, *given, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(RowStore, "append", then_stopped)
    with pytest.raises(Stopped) as stopped:
        run(tmp_path)
    kept = len(RowStore(tmp_path / "rows").keys())
    assert kept > 0
    assert f"stopped; {kept} of 30 replications were added to {tmp_path}; the same" in str(stopped.value)


def test_points_of_one_design_are_simulated_once_and_shown_in_every_row(tmp_path: Path) -> None:
    run(tmp_path)
    nothing = [row for row in table(tmp_path) if row["protection.stripe.m"] == "0"]
    assert len(nothing) == 2
    assert nothing[0]["ettr"] == nothing[1]["ettr"] != ""
    assert nothing[0]["point"] == nothing[1]["point"]
    assert sum(row["best"] == "true" for row in table(tmp_path)) == 1


def test_an_infeasible_point_keeps_its_row_and_the_rest_goes_on(tmp_path: Path) -> None:
    run(tmp_path, {"protection.stripe.k": [8, 128]})
    possible, impossible = table(tmp_path)
    assert (possible["feasible"], possible["reason"]) == ("true", "")
    assert (impossible["feasible"], impossible["ettr"], impossible["best"]) == ("false", "", "false")
    assert impossible["reason"] == "k = 128 is more than the 100 pages of the state"


def test_a_study_without_a_feasible_point_is_an_error_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(GemsimError, match=r"no design point is feasible.*k = 128"):
        run(tmp_path, {"protection.stripe.k": [128]})
    assert [row["feasible"] for row in table(tmp_path)] == ["false"]


def test_a_failing_point_is_said_at_once_kept_with_its_traceback_and_stops_nothing(tmp_path: Path) -> None:
    grid = {"protection.fate": ["raises", "fine"]}
    listener = fakes.Listener()
    result = sweep(fakes.plan(grid), fakes.MODEL, tmp_path, jobs=1, report=listener)
    (id_,) = result.failed
    assert listener.said[0].startswith(
        "failed: protection.fate=raises, in replication 1: ValueError: replication 1 is odd"
    )
    assert "Traceback" in (tmp_path / "errors" / f"{id_[:16]}.txt").read_text()
    failed, fine = table(tmp_path)
    assert failed["reason"] == "failed in 3 replications; in replication 1: ValueError: replication 1 is odd"
    assert (failed["feasible"], failed["ettr"], failed["replications"]) == ("true", "", "0")
    assert (fine["replications"], fine["best"]) == ("6", "true")


def test_a_fault_before_the_simulation_stops_one_point_only(tmp_path: Path) -> None:
    def describe(scenario: fakes.Scenario) -> dict[str, Any]:
        if scenario.k == 8:
            raise KeyError("a fault of ours")
        return fakes.describe(scenario)

    model = dataclasses.replace(fakes.MODEL, describe=describe)
    result = run(tmp_path, {"protection.stripe.k": [8, 16]}, model=model)
    assert result.failed == {"fault-0": "failed; before it ran: KeyError: 'a fault of ours'"}
    assert "Traceback" in (tmp_path / "errors/fault-0.txt").read_text()
    assert [row["replications"] for row in table(tmp_path)] == ["0", "6"]
    assert len(run(tmp_path, {"protection.stripe.k": [8]}, model=model).failed) == 1


def test_a_failing_point_that_is_mended_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = {"protection.fate": ["raises"]}
    run(tmp_path, grid)
    monkeypatch.setattr(fakes, "_suffer", lambda fate, replication: None)
    assert run(tmp_path, grid).added == 3
    assert not list((tmp_path / "errors").iterdir())


def test_a_point_that_kills_its_worker_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    result = run(tmp_path, {"protection.fate": ["fine", "dies", "slow"]}, jobs=2, replications=10)
    fine, dead, slow = table(tmp_path)
    assert dead["reason"] == "failed: the worker process died (SIGKILL; out of memory, or killed)"
    assert (fine["replications"], slow["replications"]) == ("10", "10")
    assert len(result.failed) == 1


def test_a_worker_that_dies_by_chance_costs_nothing(tmp_path: Path) -> None:
    fate = f"dies once {tmp_path / 'marker'}"
    result = run(tmp_path / "out", {"protection.fate": [fate, "fine"]}, jobs=2)
    assert (tmp_path / "marker").exists()
    assert not result.failed
    assert result.added == 12


def test_workers_that_die_whatever_they_run_are_one_error(tmp_path: Path) -> None:
    grid = {"protection.fate": ["dies"], "protection.stripe.k": [8, 16, 32, 64]}
    with pytest.raises(GemsimError, match="worker processes die whatever they run"):
        run(tmp_path, grid, jobs=2)


def test_a_scenario_that_cannot_travel_fails_alone(tmp_path: Path) -> None:
    result = run(tmp_path, {"protection.fate": ["fine", "cannot travel"]}, jobs=2)
    assert [row["replications"] for row in table(tmp_path)] == ["6", "0"]
    assert len(result.failed) == 1


def test_rows_that_do_not_add_up_fail_the_point(tmp_path: Path) -> None:
    def leaky(scenario: fakes.Scenario, *, seed: int, replication: int) -> dict[str, Any]:
        return fakes.simulate(scenario, seed=seed, replication=replication) | {"waiting_s": 1.0}

    result = run(tmp_path, model=dataclasses.replace(fakes.MODEL, simulate=leaky))
    assert result.added == 0
    assert all("ledger" in reason for reason in result.failed.values())


def test_a_folder_of_another_seed_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    before = state(tmp_path)
    with pytest.raises(ResultsError, match=r"holds rows of seed 1, not of seed 2.*--seed 1.*--out"):
        run(tmp_path, seed=2)
    assert state(tmp_path) == before


def test_leftovers_of_a_killed_writer_are_cleaned_and_never_read(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    leftover = tmp_path / "rows/.part-0.parquet.tmp"
    leftover.write_bytes(b"half")
    run(tmp_path)
    assert not leftover.exists()


def test_a_full_disk_is_one_clear_line_and_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    store = RowStore(tmp_path / "rows")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResultsError, match="No space left on device"):
        store.append([fakes.row_of("a", 0)], seed=1)
    assert not list((tmp_path / "rows").glob("part-*"))


def start(folder: Path, jobs: int) -> subprocess.Popen[bytes]:
    """A slow sweep in a process of its own, once it has written its first rows."""
    command = [sys.executable, "-m", "tests.study.fakes", str(folder), str(jobs)]
    environment = os.environ | {fakes.SLEEP: "yes"}
    process = subprocess.Popen(
        command, cwd=Path(__file__).parents[2], start_new_session=True, preexec_fn=fakes.at_a_terminal, env=environment
    )
    deadline = time.monotonic() + 60.0
    while not list(folder.glob("rows/part-*")):
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def test_a_folder_in_use_is_refused_with_the_process_that_holds_it(tmp_path: Path) -> None:
    process = start(tmp_path, 1)
    try:
        with pytest.raises(ResultsError, match=f"another gemsim run \\(process {process.pid}\\) is writing here"):
            run(tmp_path)
    finally:
        process.kill()
        process.wait()


def test_ctrl_c_keeps_what_has_ended_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = start(tmp_path, 2)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=30) != 0
    wait_until_gone(process.pid)
    assert 0 < RowStore(tmp_path / "rows").read().num_rows < 240
    assert not (tmp_path / "summary.csv").exists()
