"""A study run from a program: swept into a folder, simulated in memory, or asked for its closed form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from gemsim.api.frames import FORESEEN, rows_frame, summary_frame, swept_by
from gemsim.api.given import jobs_of, seconds_of, seed_of, whole
from gemsim.api.progress import reporting
from gemsim.api.results import Results
from gemsim.api.study import Study, as_study
from gemsim.errors import GemsimError, ValueRefused
from gemsim.results.rows import SCHEMA
from gemsim.results.summary import Point, summarise
from gemsim.study.analytic import COMPUTED, closed_forms
from gemsim.study.design import designs_of
from gemsim.study.executors import here_or_there
from gemsim.study.labels import label, labels
from gemsim.study.plan import MODEL, default_folder, plan
from gemsim.study.points import realise
from gemsim.study.runner import Runner
from gemsim.study.sweep import Plan
from gemsim.study.sweep import sweep as run
from gemsim.study.tasks import Task

AnyStudy = Study | str | PathLike[str]


def sweep(
    study: AnyStudy,
    *,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    replications: int | None = None,
    seed: int | None = None,
    limit: str | None = None,
    fail_fast: bool = False,
    dask: str | None = None,
    executor: Callable[[int], Executor] | None = None,
    quiet: bool = False,
) -> Results:
    """Simulate every design point of a study, as `gemsim sweep` does, and return what was found.

    `study`: a Study, a file or the name of a shipped one. `out`: the folder of the results (default: `out/STUDY` in the
    current folder, `out/STUDY-quick` for a quick form, as for the command). What it holds already is not run again.
    `jobs`: worker processes (default: one for each CPU); a script that uses more than one must be guarded by
    `if __name__ == "__main__":`, a notebook needs no guard. `replications`, `seed`: instead of the study's. A `decide:`
    section is for `recommend` and is left aside.

    `limit`: the longest time of a replication ("10 min"), after which its worker is killed. `fail_fast`: the first
    design point that fails ends the sweep with PointFailed. `dask`: the address or file of the scheduler whose workers
    run it. `executor`: in its place whatever makes a `concurrent.futures.Executor` for so many jobs, such as
    `ThreadPoolExecutor`: each replication has a watched process of its own anyway.

    Ctrl-C, or the stop button of a notebook, raises KeyboardInterrupt and keeps what is done: the same call goes on
    from there. Raises StudyError, ValueRefused for a number out of range, ResultsError for a folder that cannot be
    used, GemsimError where no point is feasible. A point that fails does not stop the others: see `Results.failed`.

    >>> import gemsim as gs, tempfile
    >>> study = gs.load_study("widths", quick=True).point(
    ...     "k=16", "m=1", "mapping=interleaved", "restart=in_place", "lands=used")
    >>> results = gs.sweep(study, out=tempfile.mkdtemp(), jobs=1, replications=2, quiet=True)
    >>> results.summary[["ettr", "ettr_lo", "ettr_hi"]].shape
    (1, 3)
    >>> results.summary.attrs["units"]["wall_s"]
    's'
    """
    asked = as_study(study)
    limit_s = seconds_of("limit", limit)
    if dask is not None and (executor is not None or jobs is not None):
        raise ValueRefused("dask beside executor or jobs", "one of them: the cluster says how many workers it has")
    folder = Path(out) if out is not None else default_folder(asked.path, quick=asked.quick)
    with reporting(asked.path.stem, quiet=quiet) as report:
        wanted = _plan(asked, seed=seed, replications=replications)
        with here_or_there(dask, say=report.say) as make:
            found = run(
                *(wanted, MODEL, folder),
                jobs=jobs_of(jobs),
                report=report,
                make_executor=executor or make,
                limit_s=limit_s,
                fail_fast=fail_fast,
            )
        return Results(asked, found)


def predict(study: AnyStudy, *, screen: bool = False, jobs: int = 1) -> pd.DataFrame:
    """The closed form of every design point, without simulation: a row for each, in the order of `Study.points`.

    Columns: the swept paths in SI, then those of summary.csv that need no simulation: `feasible` and `reason`,
    `ettr_analytic` with `analytic_kind` (exact, first_order, bound, none) and its stated `analytic_error`, the other
    `_analytic` columns, memory and step overhead, the profile and whether it is modelled. What no closed form covers is
    NaN, and `analytic_note` says why; a point that cannot exist has `feasible` False and its `reason`.

    With `screen` only the columns of `gemsim sweep --analytic`, the same to rounding, and without what uncertain inputs
    leave open: for grids of thousands, which are worked out as arrays where points differ in intervals and spares
    alone; `jobs` processes share what is left.

    Raises StudyError, ValueRefused for a number of jobs that is none, or without `screen`.

    >>> import gemsim as gs
    >>> table = gs.predict(gs.load_study("widths", quick=True))
    >>> len(table), round(float(table["ettr_analytic"].max()), 3)
    (72, 0.956)
    """
    asked, processes = as_study(study), jobs_of(jobs)
    if processes > 1 and not screen:
        raise ValueRefused(f"jobs={processes} without screen", "jobs with screen=True, which alone has work to share")
    if screen:
        rows = closed_forms(asked.loaded, jobs=processes)
        return summary_frame(rows, swept_by(asked.loaded, designs_of(asked.loaded)), "", COMPUTED)
    wanted = _plan(asked)
    points, _, faults = realise(wanted.designs, wanted.resolve, MODEL)
    for fault in faults.values():
        raise fault
    if wanted.inputs is not None:
        points = wanted.inputs(points, wanted.designs)
    empty = SCHEMA.empty_table()
    found = summarise(points, empty, replications=0, require={}, failed={}).rows
    return summary_frame(found, swept_by(asked.loaded, points), _currency(asked), FORESEEN)


def simulate(
    study: AnyStudy, *, replications: int | None = None, seed: int | None = None, jobs: int = 1
) -> pd.DataFrame:
    """The rows of the replications of every design point, in memory: nothing is written, nothing kept.

    One row for each point and replication: `variant`, the swept paths in SI, `point` (one for points that are one
    design), `seed`, `replication`, then the ledger in seconds, the fleet in GPU-seconds and counts (docs/model.md). All
    points meet the same failures. Points that cannot exist are left out, and `attrs["infeasible"]` has their reasons.

    Raises StudyError, and GemsimError where no point is feasible or a replication fails.

    >>> import gemsim as gs
    >>> study = gs.load_study("widths", quick=True).point(
    ...     "k=16", "m=1", "mapping=interleaved", "restart=in_place", "lands=used")
    >>> rows = gs.simulate(study, replications=3)
    >>> len(rows), bool((rows["productive_s"] / rows["wall_s"] < 1).all())
    (3, True)
    """
    asked = as_study(study)
    wanted = _plan(asked, seed=seed, replications=replications)
    points, table = run_in_memory(wanted, jobs=jobs_of(jobs))
    counts = {point.id: wanted.replications for point in points}
    found = rows_frame(points, table, swept_by(asked.loaded, points), replications=counts)
    found.attrs["infeasible"] = {label(point): point.reason for point in points if not point.id}
    return found


def run_in_memory(wanted: Plan, *, jobs: int) -> tuple[list[Point], pa.Table]:
    """The points of a plan and the rows of its replications, by point and replication. Raises GemsimError."""
    points, scenarios, faults = realise(wanted.designs, wanted.resolve, MODEL)
    for fault in faults.values():
        raise fault
    if not scenarios:
        raise GemsimError(f"no design point is feasible; the first is not because: {points[0].reason}")
    tasks = [Task(id_, number, scenarios[id_]) for number in range(wanted.replications) for id_ in scenarios]
    rows: list[Mapping[str, Any]] = []
    batches = Runner(MODEL.simulate, seed=wanted.seed, jobs=jobs).run(tasks)
    try:
        for outcome in (one for batch in batches for one in batch):
            if outcome.row is None:
                where = f"{labels(points)[outcome.task.point]}, in replication {outcome.task.replication}"
                raise GemsimError(f"failed: {where}: {outcome.error}")
            rows.append(outcome.row)
    finally:
        batches.close()
    seeded = [{**row, "seed": wanted.seed} for row in rows]
    table = pa.Table.from_pylist(seeded, schema=SCHEMA)
    return points, table.sort_by([("point", "ascending"), ("replication", "ascending")])


def _plan(study: Study, *, seed: int | None = None, replications: int | None = None) -> Plan:
    asked = whole("replications", replications)
    return plan(study.loaded, seed=seed_of(seed), replications=asked, quick=study.quick)


def _currency(study: Study) -> str:
    prices = study.loaded.spec.prices
    return "" if prices is None else prices.currency
