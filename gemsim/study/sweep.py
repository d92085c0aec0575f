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

from gemsim.errors import GemsimError, ResultsError
from gemsim.results import provenance
from gemsim.results.folder import locked, write_text, writing
from gemsim.results.rows import RowStore, other_seeds
from gemsim.results.summary import Point, Require, Summary, summarise, to_csv
from gemsim.study.design import DesignPoint
from gemsim.study.executors import Outcome, Runner, Task, local
from gemsim.study.points import Model, realise
from gemsim.study.progress import Reporter


class Stopped(KeyboardInterrupt):
    """Ctrl-C during a sweep; the message says what is kept and how to go on."""


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
) -> SweepResult:
    """Run `plan` into `folder` and return the summary, which is also written there.

    ResultsError if the folder is held by another run, belongs to another seed or cannot be written; GemsimError if no
    point is feasible. A point whose simulation fails is reported, and the rest goes on.
    """
    points, scenarios = realise(plan.designs, plan.resolve, model)
    with locked(folder):
        store = RowStore(folder / "rows")
        store.clean()
        _forget_errors(folder / "errors")
        write_text(folder / "study.yaml", plan.study_text)
        kept = _kept(store, folder, plan.seed)
        tasks = _missing(points, scenarios, kept, plan.replications)
        report.begin(len(scenarios) * plan.replications, len(scenarios) * plan.replications - len(tasks))
        runner = Runner(model.simulate, seed=plan.seed, jobs=jobs, make_executor=make_executor)
        run = _Run(store, folder, plan.seed, labels(points), report)
        run.collect(runner, tasks)
        facts = {"seed": plan.seed, "replications": plan.replications, "designs": len(scenarios), **plan.facts}
        provenance.record(folder / "provenance.json", facts, added=run.added)
        failed = {id_: run.reason(id_) for id_ in run.failures}
        summary = summarise(points, store.read(), replications=plan.replications, require=plan.require, failed=failed)
        write_text(folder / "summary.csv", to_csv(summary.rows))
    if not scenarios:
        raise GemsimError(f"no design point is feasible; the first is not because: {points[0].reason}")
    return SweepResult(plan, folder, points, summary, failed, run.added)


def labels(points: Sequence[Point]) -> dict[str, str]:
    """Scenario id to the swept values of its first point, for messages."""
    return {id_: label(point) for id_, point in _first(points).items()}


def label(point: Point) -> str:
    """What a point varies, in one line."""
    swept = [f"{path}={value}" for path, value in point.columns.items()]
    return " ".join(([point.variant] if point.variant else []) + swept) or "the study as it stands"


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


def _missing(
    points: Sequence[Point], scenarios: Mapping[str, Any], kept: set[tuple[str, int]], replications: int
) -> list[Task]:
    """What is to be run, replication by replication over all designs of a group: they share the failure trace."""
    groups: dict[Any, list[str]] = {}
    for id_, point in _first(points).items():
        groups.setdefault(point.group, []).append(id_)
    order = [id_ for members in groups.values() for id_ in members]
    return [
        Task(id_, replication, scenarios[id_])
        for replication in range(replications)
        for id_ in order
        if (id_, replication) not in kept
    ]


def _forget_errors(folder: Path) -> None:
    """What failed is tried again, so its old tracebacks say nothing any more."""
    with writing(folder):
        for old in folder.glob("*.txt"):
            old.unlink()


class _Run:
    """Takes outcomes as they come: rows to the store, failures to the reader and to files."""

    def __init__(self, store: RowStore, folder: Path, seed: int, names: Mapping[str, str], report: Reporter) -> None:
        self.store = store
        self.folder = folder
        self.seed = seed
        self.names = names
        self.report = report
        self.added = 0
        self.failures: dict[str, list[Outcome]] = {}

    def collect(self, runner: Runner, tasks: Sequence[Task]) -> None:
        """Run `tasks` to the end; Ctrl-C becomes Stopped, with everything that had ended kept."""
        batches = runner.run(tasks)
        try:
            for outcomes in batches:
                self._take(outcomes)
        except KeyboardInterrupt as stop:
            kept = f"stopped; {self.added} of {len(tasks)} replications were added to {self.folder}"
            raise Stopped(f"{kept}; the same command again goes on from there") from stop
        finally:
            batches.close()

    def _take(self, outcomes: Sequence[Outcome]) -> None:
        rows = [outcome.row for outcome in outcomes if outcome.row is not None]
        if rows:
            self.store.append(rows, seed=self.seed)
            self.added += len(rows)
        for outcome in outcomes:
            if outcome.row is None:
                self._fail(outcome)
        self.report.advance(len(outcomes))

    def _fail(self, outcome: Outcome) -> None:
        """Say and write down the first failure of a point; count the others."""
        id_ = outcome.task.point
        if id_ not in self.failures:
            path = self.folder / "errors" / f"{id_[:16]}.txt"
            place = f"{self.names[id_]}, replication {outcome.task.replication}"
            write_text(path, f"{place}: {outcome.error}\n{outcome.traceback}")
            self.report.say(f"failed: {place}: {outcome.error} (traceback: {path})")
        self.failures.setdefault(id_, []).append(outcome)

    def reason(self, id_: str) -> str:
        """The same words for any order in which the replications ended."""
        failures = sorted(self.failures[id_], key=lambda outcome: (not outcome.died, outcome.task.replication))
        first = failures[0]
        if first.died:
            return f"failed: {first.error}"
        return f"failed in {len(failures)} replications; in replication {first.task.replication}: {first.error}"
