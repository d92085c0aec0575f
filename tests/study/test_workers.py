"""Workers that die, hang, raise and talk: nothing is lost, nothing is doubled, and who is to blame is named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gemsim.errors import GemsimError, PointFailed
from gemsim.results.rows import RowStore
from gemsim.study.children import Children, Lost, Unanswered
from gemsim.study.executors import WorkerPool
from gemsim.study.runner import Runner
from gemsim.study.sweep import Plan, SweepResult, sweep
from gemsim.study.tasks import Task, in_shard
from tests.study import fakes

ROOT = Path(__file__).parents[2]
ENDS = {
    "dies": "failed: the worker process died (SIGKILL; out of memory, or killed)",
    "exits": "failed: the worker process died (exit code 7)",
    "leaves": "failed: the worker process died (exit code 1)",
    "crashes": "failed: the worker process died (SIGSEGV)",
    "hangs": "failed: no answer within 1 s",
    "raises": "failed; in replication 1: ValueError: replication 1 is odd",
}


def fates(*named: str, replications: int = 2) -> Plan:
    """A plan with one design for each fate."""
    return fakes.plan({"protection.fate": list(named)}, replications=replications)


def run(folder: Path, plan: Plan, **settings: Any) -> SweepResult:
    listener = settings.pop("report", None) or fakes.Listener()
    return sweep(plan, fakes.MODEL, folder, report=listener, **({"jobs": 2, "limit_s": 1.0} | settings))


def keys(folder: Path) -> list[tuple[str, int]]:
    """All rows that are on the disk, also those that stand there twice."""
    parts = [RowStore(folder)._read_part(path) for path in (folder / "rows").glob("part-*.parquet")]
    return sorted(
        key for part in parts for key in zip(part["point"].to_pylist(), part["replication"].to_pylist(), strict=True)
    )


def afflicted(folder: Path, points: int, each: dict[str, int]) -> list[str]:
    """Fates of `points` designs, most of them fine; those who are not stand all over the list."""
    found = [f"fine #{index}" for index in range(points)]
    bad = [f"{kind} #{number}" for kind, count in each.items() for number in range(count)]
    bad = [f"dies once {folder}/{one[-3:]}" if one.startswith("once") else one for one in bad]
    for number, one in enumerate(bad):
        found[(number * 7919 + 13) % points] = one
    assert len(set(found)) == points
    assert sum(not one.startswith("fine") for one in found) == len(bad)
    return found


def check_afflicted(folder: Path, points: int, each: dict[str, int], *, limit_s: float) -> None:
    """Everything that can be had is there once, everybody else is named."""
    plan = fates(*afflicted(folder, points, each))
    result = run(folder / "out", plan, limit_s=limit_s)
    failing = [
        point for point in result.points if any(point.columns["protection.fate"].startswith(end) for end in ENDS)
    ]
    blamed = {id_: result.failed[id_].split(" within")[0] for id_ in result.failed}
    wanted = {
        point.id: ENDS[fate.partition(" #")[0]].split(" within")[0]
        for point in failing
        if not (fate := point.columns["protection.fate"]).startswith("dies once")
    }
    assert blamed == wanted
    got = keys(folder / "out")
    assert len(got) == len(set(got)) == result.added
    raising = {point.id for point in failing if point.columns["protection.fate"].startswith("raises")}
    assert set(got) == {
        (point.id, replication)
        for point in result.points
        for replication in range(2)
        if point.id not in wanted or (point.id in raising and replication == 0)
    }
    assert len(list((folder / "out/errors").glob("*.txt"))) == len(wanted)


def test_300_points_with_deaths_hangs_and_exceptions(tmp_path: Path) -> None:
    each = {"dies": 3, "exits": 3, "leaves": 1, "crashes": 3, "hangs": 2, "raises": 6, "once": 4}
    check_afflicted(tmp_path, 300, each, limit_s=1.0)


@pytest.mark.long
def test_5000_points_with_deaths_hangs_and_exceptions(tmp_path: Path) -> None:
    each = {"dies": 50, "exits": 30, "leaves": 10, "crashes": 30, "hangs": 20, "raises": 100, "once": 50}
    check_afflicted(tmp_path, 5000, each, limit_s=2.0)


def test_a_hang_is_killed_with_one_job_too_and_says_where_it_hung(tmp_path: Path) -> None:
    listener = fakes.Listener()
    result = run(tmp_path, fates("fine", "hangs"), jobs=1, limit_s=0.5, report=listener)
    assert list(result.failed.values()) == ["failed: no answer within 0.5 s"]
    assert result.added == 2
    (path,) = (tmp_path / "errors").glob("*.txt")
    text = path.read_text()
    assert text.startswith("protection.fate=hangs, in replication 0: no answer within 0.5 s\n")
    assert "about to hang" in text
    assert "in _hang" in text  # the stack at the time
    assert [line for line in listener.said if "hangs" in line] == [
        f"failed: {text.splitlines()[0]} (traceback: {path})"
    ]


def test_a_crash_leaves_its_stack_and_what_was_written_below_python(tmp_path: Path) -> None:
    run(tmp_path, fates("fine", "crashes"))
    (path,) = (tmp_path / "errors").glob("*.txt")
    text = path.read_text()
    assert "written below Python" in text
    assert "Segmentation fault" in text
    assert "in _segfault" in text


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_point_leaves_what_it_printed_warned_and_logged(
    tmp_path: Path, jobs: int, capfd: pytest.CaptureFixture[str]
) -> None:
    listener = fakes.Listener()
    run(tmp_path, fates("says", replications=4), jobs=jobs, limit_s=None if jobs == 1 else 5.0, report=listener)
    (path,) = (tmp_path / "errors").glob("*.txt")
    text = path.read_text()
    assert "Traceback" in text
    said = text.partition("What it printed, warned and logged:\n")[2]
    assert said.startswith("printed\n")
    assert "RuntimeWarning: warned of 2" in said
    assert "WARNING:engine: logged" in said
    assert "warned of 1" not in said
    assert capfd.readouterr() == ("", "")
    heard = [line for line in listener.said if " said: printed" in line]
    assert len(heard) == 3  # those of replications that ended well, each thing once


def test_fail_fast_stops_keeps_what_has_ended_and_says_one_line(tmp_path: Path) -> None:
    listener = fakes.Listener()
    with pytest.raises(
        PointFailed, match=r"stopped at the first failure: protection.fate=raises, in replication 1: Val"
    ):
        run(tmp_path, fates("fine", "raises", replications=30), jobs=1, fail_fast=True, report=listener)
    assert listener.said == []
    got = keys(tmp_path)
    assert 3 <= len(got) < 45
    assert len(list((tmp_path / "errors").glob("*.txt"))) == 1
    assert run(tmp_path, fates("fine", "raises", replications=30)).added == 45 - len(got)


def test_fail_fast_stops_at_a_death(tmp_path: Path) -> None:
    with pytest.raises(PointFailed, match=r"SIGKILL"):
        run(tmp_path, fates("dies", "fine", replications=3), fail_fast=True)


def test_shares_are_disjoint_and_together_everything(tmp_path: Path) -> None:
    plan = fates(*(f"fine #{number}" for number in range(7)), replications=5)
    run(tmp_path / "whole", plan, jobs=1, limit_s=None)
    shares = []
    for share in (1, 2, 3):
        run(tmp_path / str(share), plan, jobs=1, limit_s=None, shard=(share, 3))
        shares += keys(tmp_path / str(share))
    assert sorted(shares) == keys(tmp_path / "whole")
    assert all(8 <= len(keys(tmp_path / str(share))) <= 15 for share in (1, 2, 3))


def test_the_replications_of_a_design_go_round_the_shares() -> None:
    tasks = [Task("a", number, None) for number in range(12)]
    assert [sum(in_shard(task, (share, 4)) for task in tasks) for share in (1, 2, 3, 4)] == [3, 3, 3, 3]


@pytest.mark.parametrize("make", [ThreadPoolExecutor, WorkerPool])
def test_any_executor_gives_the_same_and_outlives_a_death(tmp_path: Path, make: Any) -> None:
    plan = fates("fine", "slow", "dies", "raises", replications=8)
    run(tmp_path / "one", fates("fine", "slow", "raises", replications=8), jobs=1, limit_s=None)
    result = run(tmp_path / "any", plan, make_executor=make)
    assert ENDS["dies"] in result.failed.values()
    dead = {point.id for point in result.points if point.columns["protection.fate"] == "dies"}
    assert [key for key in keys(tmp_path / "any") if key[0] not in dead] == keys(tmp_path / "one")


def test_outcomes_are_handed_over_about_once_a_second_not_batch_by_batch() -> None:
    tasks = [Task("a", number, fakes.Scenario(8, 1)) for number in range(3000)]
    runner = Runner(fakes.simulate, seed=1, jobs=1)
    start = time.monotonic()
    lists = list(runner.run(tasks))
    assert sum(map(len, lists)) == 3000
    assert len(lists) <= 2 + (time.monotonic() - start)


def test_children_that_cannot_start_are_one_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(self: Any) -> None:
        raise OSError("Resource temporarily unavailable")

    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", refuse)
    with pytest.raises(GemsimError, match=r"could not be started \(Resource temporarily unavailable\)"):
        run(tmp_path, fates("fine"))


def test_a_script_without_a_guard_is_told_of_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\nfrom tests.study import fakes\nfrom gemsim.study.sweep import sweep\n"
        f"sweep(fakes.plan({{}}), fakes.MODEL, Path({str(tmp_path / 'out')!r}), jobs=2, report=fakes.Listener())\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=ROOT, env=environment())
    assert done.returncode != 0
    assert "must do so under `if __name__ == '__main__':`" in done.stderr


def test_ctrl_c_reaches_no_child_nor_the_server_that_forks_them() -> None:
    """In a process of its own: only the first child of a process starts the server."""
    code = "from tests.study.test_workers import sigint_blocked, Children; print(Children().call(sigint_blocked, ()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment())
    assert (done.stdout, done.stderr) == ("[True, True]\n", "")


def sigint_blocked() -> list[bool]:
    """Of this process and its parent: whether they can be interrupted at a terminal."""
    texts = [Path(f"/proc/{process}/status").read_text() for process in (os.getpid(), os.getppid())]
    blocked = [int(text.partition("SigBlk:")[2].split()[0], 16) for text in texts]
    return [bool(mask >> (signal.SIGINT - 1) & 1) for mask in blocked]


def test_a_child_that_goes_while_idle_is_replaced_and_nobody_is_blamed() -> None:
    children = Children()
    try:
        assert children.call(int, ("7",)) == 7
        (child,) = children._idle
        child._process.kill()
        child._process.join()
        assert children.call(int, ("8",)) == 8
    finally:
        children.end()


def test_a_lost_call_tells_how_far_it_came_and_an_error_comes_back() -> None:
    children = Children()
    try:
        with pytest.raises(Lost, match="exit code 7") as lost:
            children.call(mark_and_leave, (3,))
        assert lost.value.at == 3
        with pytest.raises(ValueError, match="invalid literal"):
            children.call(int, ("seven",))
        with pytest.raises(Unanswered, match=r"no answer within 0\.4 s"):
            children.call(mark_and_hang, (5,), limit_s=0.4)
    finally:
        children.end()


def mark_and_leave(index: int) -> None:
    from gemsim.study.child import mark

    mark(index)
    fakes.ENDS["exits"]()


def mark_and_hang(index: int) -> None:
    from gemsim.study.child import mark

    mark(index)
    fakes.ENDS["hangs"]()


def environment() -> dict[str, str]:
    """For a script elsewhere that uses the tests of this checkout."""
    return os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'kernels'}"}
