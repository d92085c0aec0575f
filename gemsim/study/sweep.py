"""A sweep: simulate what the output folder does not hold yet, then summarise what it holds.

The rows are the only state. A run that is stopped, however, is continued by running it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gemsim.errors import GemsimError
from gemsim.results.folder import Hold, locked, write_bytes, write_text, writing
from gemsim.results.rows import RowStore, keys_of
from gemsim.results.summary import Point, Require, Summary
from gemsim.study.conclude import conclude, error_file
from gemsim.study.design import DesignPoint
from gemsim.study.executors import Outcome, Runner, Task, failed, local
from gemsim.study.held import held, listed
from gemsim.study.points import Model, realise
from gemsim.study.progress import Reporter, Standing


class Stopped(KeyboardInterrupt):
    """Ctrl-C during a sweep; the message says what is kept and how to go on."""


AS_IT_STANDS = "the study as it stands"
SOURCE = "source.yaml"  # the study as written: what study.yaml resolves


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
    incomplete: Mapping[str, str] = field(default_factory=dict)  # scenario id to how much of it is there


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
    points, scenarios, faults = realise(plan.designs, plan.resolve, model)
    if plan.inputs is not None:
        report.say("what the inputs leave open: the closed form over draws of them")
        points = plan.inputs(points, plan.designs)
    with locked(folder) as hold:
        store = RowStore(folder / "rows")
        table = held(store, folder, plan.seed)  # refused before anything is changed
        tasks = _missing(points, scenarios, set(keys_of(table)), plan.replications)
        run = _Run(store, hold, plan.seed, points, report)
        facts = facts_asked(plan, points)
        with (
            _stoppable(run, before=len(table), asked=len(tasks)),
            listed(facts, points, table, store, folder, report, new=bool(tasks)) as found,
        ):
            _prepare(plan, store, folder)
            report.begin(len(scenarios) * plan.replications, len(scenarios) * plan.replications - len(tasks))
            run.note(faults)
            runner = Runner(model.simulate, seed=plan.seed, jobs=jobs, make_executor=make_executor)
            run.collect(runner, tasks)
            failures = {id_: run.reason(id_) for id_ in run.failures}
            found |= {"designs_failed": len(failures)} if failures else {}
            hold.check()
            kept = len(table) + run.added
            summary, incomplete = conclude(
                points,
                store,
                folder,
                replications=plan.replications,
                require=plan.require,
                failed=failures,
                least=kept,
            )
    if not scenarios and not faults:
        raise GemsimError(f"no design point is feasible; the first is not because: {points[0].reason}")
    return SweepResult(plan, folder, points, summary, failures, run.added, incomplete)


def _prepare(plan: Plan, store: RowStore, folder: Path) -> None:
    """Clear away what a killed run left, and put the study beside the rows."""
    store.clean()
    store.compact()
    forget_errors(folder / "errors")
    write_study(plan, folder)


def write_study(plan: Plan, folder: Path) -> None:
    """The study as it is resolved and as it was written."""
    write_text(folder / "study.yaml", plan.study_text)
    if plan.source:
        write_bytes(folder / SOURCE, plan.source)


@contextmanager
def _stoppable(run: _Run, *, before: int, asked: int) -> Iterator[None]:
    """Ctrl-C becomes Stopped: what is kept, and how to go on. `before` counts the rows that were there."""
    try:
        yield
    except KeyboardInterrupt as stop:
        again = "the same command again goes on from there"
        if run.collected:
            what = f"stopped at the summary; every replication is in {run.hold.folder}"
        else:
            added = len(run.store.keys()) - before  # as the disk has it: the signal may have come between the two
            what = f"stopped; {added} of {asked} replications were added to {run.hold.folder}"
        raise Stopped(f"{what}; {again}") from stop


def facts_asked(plan: Plan, points: Sequence[Point]) -> dict[str, Any]:
    """What the provenance says of a run besides when, how and by which software."""
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


def _missing(
    points: Sequence[Point], scenarios: Mapping[str, Any], kept: set[tuple[str, int]], replications: int
) -> list[Task]:
    """What is to be run, replication by replication over all designs of a group: they share the failure trace."""
    groups: dict[Any, list[str]] = {}
    for id_, point in _first(points).items():
        if id_ in scenarios:
            groups.setdefault(point.group, []).append(id_)
    order = [id_ for members in groups.values() for id_ in members]
    return [
        Task(id_, replication, scenarios[id_])
        for replication in range(replications)
        for id_ in order
        if (id_, replication) not in kept
    ]


def forget_errors(folder: Path) -> None:
    """What failed is tried again, so its old tracebacks say nothing any more."""
    with writing(folder):
        for old in (*folder.glob("*.txt"), *folder.glob("*.json")):
            old.unlink()


class _Run:
    """Takes outcomes as they come: rows to the store, failures to the reader and to files."""

    def __init__(self, store: RowStore, hold: Hold, seed: int, points: Sequence[Point], report: Reporter) -> None:
        self.store = store
        self.hold = hold
        self.seed = seed
        self.names = labels(points)
        self.report = report
        self.added = 0
        self.collected = False
        self.failures: dict[str, list[tuple[Outcome, str]]] = {}
        self._open: Counter[str] = Counter()  # replications that a design still lacks
        self._points = Counter(point.id for point in points)  # of the table, by design; "" cannot exist

    def collect(self, runner: Runner, tasks: Sequence[Task]) -> None:
        """Run `tasks` to the end; on Ctrl-C everything that had ended is kept."""
        self._open.update(task.point for task in tasks)
        self._stand()
        batches = runner.run(tasks)
        try:
            for outcomes in batches:
                self._take(outcomes)
        finally:
            batches.close()
        self.collected = True

    def _stand(self) -> None:
        total, infeasible = self._points.total(), self._points[""]
        failed = sum(self._points[id_] for id_ in self.failures)
        open_ = sum(self._points[id_] for id_, left in self._open.items() if left and id_ not in self.failures)
        self.report.stand(Standing(total, total - infeasible - failed - open_, failed, infeasible))

    def note(self, faults: Mapping[str, Exception]) -> None:
        """Take what went wrong before anything could run."""
        for id_, error in faults.items():
            self._fail(failed(Task(id_, 0, None), error), "before it ran")

    def _take(self, outcomes: Sequence[Outcome]) -> None:
        rows = [outcome.row for outcome in outcomes if outcome.row is not None]
        if rows:
            self.hold.check()
            self.store.append(rows, seed=self.seed)
            self.added += len(rows)
        for outcome in outcomes:
            if outcome.row is None:
                self._fail(outcome, f"in replication {outcome.task.replication}")
        self._open.subtract(outcome.task.point for outcome in outcomes)
        self.report.advance(len(outcomes))
        self._stand()

    def _fail(self, outcome: Outcome, when: str) -> None:
        """Say and write down the first failure of a point; keep the others."""
        id_ = outcome.task.point
        if id_ not in self.failures:
            self.hold.check()
            path = self.hold.folder / error_file(id_)
            what = f"{self.names[id_]}, {when}: {outcome.error}"
            write_text(path, f"{what}\n{outcome.traceback}")
            self.report.say(f"failed: {what} (traceback: {path})", error=True)
        self.failures.setdefault(id_, []).append((outcome, when))

    def reason(self, id_: str) -> str:
        """The same words for any order in which the replications ended."""
        found = self.failures[id_]
        first, when = min(found, key=lambda one: (not one[0].died, one[0].task.replication))
        if first.died:
            return f"failed: {first.error}"
        counted = f" in {len(found)} replications" if len(found) > 1 else ""
        return f"failed{counted}; {when}: {first.error}"
