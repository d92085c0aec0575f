"""A sweep: simulate what the output folder does not hold yet, then summarise what it holds.

The rows are the only state. A run that is stopped, however, is continued by running it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from gemsim.errors import GemsimError, PointFailed, ResultsError
from gemsim.results import provenance
from gemsim.results.folder import json_text, locked, write_bytes, write_text, writing
from gemsim.results.rows import RowStore, other_seeds
from gemsim.results.summary import Point, Require, Summary, summarise, to_csv
from gemsim.study.design import DesignPoint
from gemsim.study.executors import local
from gemsim.study.points import Model, realise
from gemsim.study.progress import Reporter
from gemsim.study.runner import Runner
from gemsim.study.tasks import Outcome, Task, failed, in_shard


class Stopped(KeyboardInterrupt):
    """Ctrl-C during a sweep; the message says what is kept and how to go on."""


AS_IT_STANDS = "the study as it stands"
SOURCE = "source.yaml"  # the study as written: what study.yaml resolves
HEARD = 5  # things that replications said are passed on; beyond that only those of points that fail
FAILED = "errors/failed.json"  # scenario id to what went wrong


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run, free of how it was written: points, how to resolve one, and what the folder records."""

    designs: Sequence[DesignPoint]
    resolve: Callable[[Mapping[str, Any]], Any]
    seed: int
    replications: int
    require: Require
    study_text: str  # the resolved study, canonical
    facts: Mapping[str, Any] = field(default_factory=dict)  # for the provenance
    source: bytes = field(default=b"", repr=False)  # the study file as it was read
    inputs: Callable[[Sequence[Point], Sequence[DesignPoint]], list[Point]] | None = None  # over the uncertain inputs


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep found; `failed` maps scenario id to what went wrong, `added` counts new rows."""

    plan: Plan
    folder: Path
    points: Sequence[Point]
    summary: Summary
    failed: Mapping[str, str]
    added: int


def sweep(
    plan: Plan,
    model: Model,
    folder: Path,
    *,
    jobs: int,
    report: Reporter,
    make_executor: Callable[[int], Executor] = local,
    limit_s: float | None = None,
    fail_fast: bool = False,
    shard: tuple[int, int] = (1, 1),
) -> SweepResult:
    """Run `plan` into `folder` and return the summary, which is also written there.

    `limit_s` bounds one replication, in seconds of wall time (see Runner). With `fail_fast` the first point that fails
    ends the run with PointFailed. `shard` (i, n) runs share i of n only, from 1, to be joined with the others later.

    ResultsError if the folder is held by another run, belongs to another seed or cannot be written; GemsimError if no
    point is feasible. A point whose simulation fails is reported, and the rest goes on.
    """
    points, scenarios, faults = realise(plan.designs, plan.resolve, model)
    if plan.inputs is not None:
        report.say("what the inputs leave open: the closed form over draws of them")
        points = plan.inputs(points, plan.designs)
    with locked(folder):
        store = RowStore(folder / "rows")
        store.clean()
        _forget_errors(folder / "errors")
        write_text(folder / "study.yaml", plan.study_text)
        if plan.source:
            write_bytes(folder / SOURCE, plan.source)
        kept = _kept(store, folder, plan.seed)
        wanted = [task for task in _asked(points, scenarios, plan.replications) if in_shard(task, shard)]
        tasks = [task for task in wanted if task.key not in kept]
        report.begin(len(wanted), len(wanted) - len(tasks))
        runner = Runner(model.simulate, seed=plan.seed, jobs=jobs, make_executor=make_executor, limit_s=limit_s)
        run = _Run(store, folder, plan.seed, labels(points), report, fail_fast=fail_fast)
        run.note(faults)
        run.collect(runner, tasks)
        provenance.record(folder / "provenance.json", _facts(plan, points), added=run.added)
        failures = {id_: run.reason(id_) for id_ in run.failures}
        if failures:
            write_text(folder / FAILED, json_text(failures))
        summary = summarise(points, store.read(), replications=plan.replications, require=plan.require, failed=failures)
        write_text(folder / "summary.csv", to_csv(summary.rows))
        write_text(folder / "costs.csv", to_csv(summary.costs))
    if not scenarios and not faults:
        raise GemsimError(f"no design point is feasible; the first is not because: {points[0].reason}")
    return SweepResult(plan, folder, points, summary, failures, run.added)


def _facts(plan: Plan, points: Sequence[Point]) -> dict[str, Any]:
    profiles = sorted({str(point.static["profile"]) for point in points if "profile" in point.static})
    designs = len({point.id for point in points if point.id})
    return {
        "seed": plan.seed,
        "replications": plan.replications,
        "designs": designs,
        "profiles": profiles,
        **plan.facts,
    }


def labels(points: Sequence[Point]) -> dict[str, str]:
    """Scenario id to the swept values of its first point, for messages."""
    return {id_: label(point) for id_, point in _first(points).items()}


def label(point: Point | DesignPoint) -> str:
    """What a point varies, in one line."""
    swept = [f"{path}={value}" for path, value in point.columns.items()]
    return " ".join(([point.variant] if point.variant else []) + swept) or AS_IT_STANDS


def _first(points: Sequence[Point]) -> dict[str, Point]:
    """Scenario id to its first point, without those that are infeasible."""
    first: dict[str, Point] = {}
    for point in points:
        if point.id:
            first.setdefault(point.id, point)
    return first


def _kept(store: RowStore, folder: Path, seed: int) -> set[tuple[str, int]]:
    table: pa.Table = store.read()
    others = other_seeds(table, seed)
    if others:
        held = f"{folder}: holds rows of seed {others[0]}, not of seed {seed}"
        raise ResultsError(f"{held}; give --seed {others[0]} to go on there, or --out another folder")
    return set(zip(table["point"].to_pylist(), table["replication"].to_pylist(), strict=True))


def _asked(points: Sequence[Point], scenarios: Mapping[str, Any], replications: int) -> list[Task]:
    """What the plan asks for, replication by replication over all designs of a group: they share the failure trace."""
    groups: dict[Any, list[str]] = {}
    for id_, point in _first(points).items():
        if id_ in scenarios:
            groups.setdefault(point.group, []).append(id_)
    order = [id_ for members in groups.values() for id_ in members]
    return [Task(id_, replication, scenarios[id_]) for replication in range(replications) for id_ in order]


def _forget_errors(folder: Path) -> None:
    """What failed is tried again, so its old tracebacks say nothing any more."""
    with writing(folder):
        for old in (*folder.glob("*.txt"), *folder.glob("*.json")):
            old.unlink()


class _Run:
    """Takes outcomes as they come: rows to the store, failures to the reader and to files."""

    def __init__(
        self,
        store: RowStore,
        folder: Path,
        seed: int,
        names: Mapping[str, str],
        report: Reporter,
        *,
        fail_fast: bool = False,
    ) -> None:
        self.store = store
        self.folder = folder
        self.seed = seed
        self.names = names
        self.report = report
        self.added = 0
        self.failures: dict[str, list[tuple[Outcome, str]]] = {}
        self.fail_fast = fail_fast
        self._heard: set[str] = set()

    def collect(self, runner: Runner, tasks: Sequence[Task]) -> None:
        """Run `tasks` to the end; Ctrl-C becomes Stopped, with everything that had ended kept."""
        batches = runner.run(tasks)
        try:
            self._stop_if_failed(len(tasks))
            for outcomes in batches:
                self._take(outcomes)
                self._stop_if_failed(len(tasks))
        except KeyboardInterrupt as stop:
            kept = f"stopped; {self.added} of {len(tasks)} replications were added to {self.folder}"
            raise Stopped(f"{kept}; the same command again goes on from there") from stop
        finally:
            batches.close()

    def _stop_if_failed(self, asked: int) -> None:
        if self.fail_fast and self.failures:
            id_, found = next(iter(self.failures.items()))
            what = f"stopped at the first failure: {self.names[id_]}, {found[0][1]}: {found[0][0].error}"
            kept = f"{self.added} of {asked} replications were added to {self.folder}"
            raise PointFailed(
                f"{what} (traceback: {self._errors(id_)}); {kept}; the same command again goes on from there"
            )

    def note(self, faults: Mapping[str, Exception]) -> None:
        """Take what went wrong before anything could run."""
        for id_, error in faults.items():
            self._fail(failed(Task(id_, 0, None), error), "before it ran")

    def _take(self, outcomes: Sequence[Outcome]) -> None:
        rows = [outcome.row for outcome in outcomes if outcome.row is not None]
        if rows:
            self.store.append(rows, seed=self.seed)
            self.added += len(rows)
        for outcome in outcomes:
            if outcome.row is None:
                self._fail(outcome, f"in replication {outcome.task.replication}")
            elif outcome.log:
                self._hear(outcome)
        self.report.advance(len(outcomes))

    def _fail(self, outcome: Outcome, when: str) -> None:
        """Say and write down the first failure of a point; keep the others."""
        id_ = outcome.task.point
        if id_ not in self.failures:
            what = f"{self.names[id_]}, {when}: {outcome.error}"
            write_text(self._errors(id_), f"{what}\n{outcome.account}")
            if not self.fail_fast:  # which says it when it stops
                self.report.say(f"failed: {what} (traceback: {self._errors(id_)})")
        self.failures.setdefault(id_, []).append((outcome, when))

    def _errors(self, id_: str) -> Path:
        return self.folder / "errors" / f"{id_[:16]}.txt"

    def _hear(self, outcome: Outcome) -> None:
        """Pass on what a replication said that ended well, each thing once."""
        said = " ".join(outcome.log.split())
        if said not in self._heard and len(self._heard) < HEARD:
            self._heard.add(said)
            where = f"{self.names[outcome.task.point]}, in replication {outcome.task.replication}"
            self.report.say(f"{where}, said: {said[:500]}")

    def reason(self, id_: str) -> str:
        """The same words for any order in which the replications ended."""
        found = self.failures[id_]
        first, when = min(found, key=lambda one: (not one[0].died, one[0].task.replication))
        if first.died:
            return f"failed: {first.error}"
        counted = f" in {len(found)} replications" if len(found) > 1 else ""
        return f"failed{counted}; {when}: {first.error}"
