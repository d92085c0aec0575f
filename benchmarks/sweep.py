"""What a sweep costs beyond its replications: `python benchmarks/sweep.py`.

Each sweep is set beside the same replications in plain loops, one in each of as many processes, which stand ready. The
overhead is the CPU time of all processes beyond that of the loops, as a share of the time that the replications take.
Wall time is told beside it, and means something on an idle machine only.
"""

from __future__ import annotations

import gc
import hashlib
import os
import platform
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from gemsim.engine.run import simulate
from gemsim.results.rows import RowStore
from gemsim.spec.loading import load_study
from gemsim.study import runner
from gemsim.study.executors import local
from gemsim.study.plan import MODEL, plan
from gemsim.study.points import realise
from gemsim.study.runner import Runner
from gemsim.study.tasks import Task

GOAL = 0.05  # of the time of bare replications
SHORT_S = 0.05  # for a batch, which is what the goal is for: in a sweep they grow to more than a second
REPEATS = 3
ROOT = Path(__file__).parents[1]
STUDY = ROOT / "studies/widths.yaml"


@dataclass(frozen=True)
class Fake:
    """A replication that takes `seconds`, asleep or at work, and answers with the row of a real one."""

    seconds: float
    busy: bool
    row: Mapping[str, Any]


def take_time(scenario: Fake, *, seed: int, replication: int) -> dict[str, Any]:
    """As `simulate`."""
    if scenario.busy:
        stop = time.thread_time() + scenario.seconds
        digest = hashlib.sha256()
        while time.thread_time() < stop:
            digest.update(b"work")
    else:
        time.sleep(scenario.seconds)
    return {**scenario.row, "replication": replication}


def loop(tasks: Sequence[Task], call: Any) -> None:
    """Replications, and nothing else."""
    for task in tasks:
        call(task.scenario, seed=1, replication=task.replication)


def bare(tasks: Sequence[Task], call: Any, kept: Kept) -> tuple[float, float]:
    """Wall and CPU seconds of plain loops, one in each process."""
    spent, wall = kept.spent(), time.perf_counter()
    for future in [kept.pool.submit(loop, tasks[start :: kept.jobs], call) for start in range(kept.jobs)]:
        future.result()
    return time.perf_counter() - wall, kept.spent() - spent


def used(scenario: None, *, seed: int, replication: int) -> tuple[int, float]:
    """Which worker this is, and the CPU seconds it has used; a moment later, so that each is asked."""
    time.sleep(0.3)
    return os.getpid(), time.process_time()


class Kept:
    """A pool that outlives a run, so that its workers can be asked what they have used."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.pool = local(jobs)

    def __call__(self, jobs: int) -> Executor:
        return _Lent(self.pool)

    def spent(self) -> float:
        """CPU seconds of this process and of the workers."""
        asked = [self.pool.submit(partial(used, None, seed=0, replication=0)) for _ in range(self.jobs)]
        workers = dict(future.result() for future in asked)
        workers.pop(os.getpid(), None)
        return time.process_time() + sum(workers.values())


class _Lent(Executor):
    def __init__(self, pool: Executor) -> None:
        self.pool = pool

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """As Executor.submit."""
        return self.pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """The pool stays."""


def swept(tasks: Sequence[Task], call: Any, kept: Kept) -> tuple[float, float]:
    """Wall and CPU seconds from tasks to rows on the disk."""
    make = local if kept.jobs == 1 else kept
    with tempfile.TemporaryDirectory() as folder:
        store = RowStore(Path(folder))
        spent = kept.spent()
        wall = time.perf_counter()
        run = Runner(call, seed=1, jobs=kept.jobs, make_executor=make)
        for outcomes in run.run(tasks):
            store.append([outcome.row for outcome in outcomes if outcome.row is not None], seed=1)
        wall = time.perf_counter() - wall
        spent = kept.spent() - spent
    return wall, spent


def compare(what: str, tasks: Sequence[Task], call: Any, jobs: int, nominal_s: float | None = None) -> None:
    """One row of the table; `nominal_s` is the time of all replications where it is no CPU time."""
    kept, cpu, wall = Kept(jobs), [], []
    bare(tasks[: 4 * jobs], call, kept)
    swept(tasks[: 4 * jobs], call, kept)
    for _ in range(REPEATS):
        gc.collect()
        bare_wall, bare_cpu = bare(tasks, call, kept)
        swept_wall, swept_cpu = swept(tasks, call, kept)
        cpu.append((swept_cpu - bare_cpu) / (nominal_s or bare_cpu))
        wall.append(swept_wall / bare_wall - 1.0)
    kept.pool.shutdown(cancel_futures=True)
    share = median(cpu)
    print(
        f"{what:<58} {100 * share:>7.2f} % {100 * GOAL:>5g} % {share / GOAL:>7.2f} {100 * median(wall):>8.1f} %",
        flush=True,
    )


def real() -> list[Task]:
    """Replications of a shipped study, by the engine."""
    asked = plan(load_study(STUDY), seed=None, replications=None)
    points, scenarios, _ = realise(asked.designs[:12], asked.resolve, MODEL)
    assert points
    return [Task(id_, number, scenario) for number in range(5) for id_, scenario in scenarios.items()]


def fakes(seconds: float, busy: bool, count: int) -> list[Task]:
    """As many replications that take `seconds`."""
    one = real()[0]
    fake = Fake(seconds, busy, dict(simulate(one.scenario, seed=1, replication=0)))
    return [Task(fake.row["point"], number, fake) for number in range(count)]


def rows_per_second(jobs: int) -> float:
    """How many rows one process takes in from workers that need no time for them."""
    tasks, kept = fakes(0.0, False, 20_000), Kept(jobs)
    swept(tasks[:100], take_time, kept)
    wall, _ = swept(tasks, take_time, kept)
    kept.pool.shutdown(cancel_futures=True)
    return len(tasks) / wall


def main() -> None:
    """Print the table."""
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    print(f"{'a sweep over bare replications':<58} {'CPU':>9} {'goal':>7} {'/ goal':>7} {'wall':>10}")
    asleep, working, engine = fakes(0.005, False, 600), fakes(0.005, True, 300), real()
    for batch_s in (SHORT_S, runner.BATCH_S):
        runner.BATCH_S = batch_s
        for jobs in (1, 2):
            where = f"batches of {1000 * batch_s:g} ms, jobs {jobs}"
            compare(f"asleep for 5 ms each, {where}", asleep, take_time, jobs, nominal_s=3.0)
            compare(f"at work for 5 ms each, {where}", working, take_time, jobs)
            compare(f"engine, {STUDY.name}, {where}", engine, simulate, jobs)
    print(f"rows that one process takes in from 2 workers: {rows_per_second(2):,.0f} in a second of wall time")


if __name__ == "__main__":
    main()
