"""Workers that die, hang, raise and talk: nothing is lost, nothing is doubled, and who is to blame is named."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gemsim.errors import GemsimError, PointFailed
from gemsim.results.rows import RowStore
from gemsim.study.children import Children, Lost, Unanswered
from gemsim.study.executors import WorkerPool
from gemsim.study.runner import Runner
from gemsim.study.sweep import Plan, SweepResult, sweep
from gemsim.study.tasks import Outcome, Task, in_shard
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
    """Everything that can be had is there once, everybody else is named, and another run finds nothing to do but them."""
    plan = fates(*afflicted(folder, points, each))
    result = run(folder / "out", plan, limit_s=limit_s)
    failing = [point for point in result.points if any(point.columns["protection.fate"].startswith(end) for end in ENDS)]
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
