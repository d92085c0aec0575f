"""A sweep: simulate what the output folder does not hold yet, then summarise what it holds.

The rows are the only state. A run that is stopped, however, is continued by running it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gemsim.errors import GemsimError
from gemsim.results.folder import locked, write_bytes, write_text, writing
from gemsim.results.rows import RowStore
from gemsim.results.summary import Point, Require, Summary
from gemsim.study.collect import Collector, stoppable
from gemsim.study.conclude import conclude, is_error
from gemsim.study.design import DesignPoint
from gemsim.study.executors import local
from gemsim.study.held import held, listed, refuse_foreign
from gemsim.study.points import Model, realise
from gemsim.study.progress import Reporter
from gemsim.study.rounds import Rounds
from gemsim.study.runner import Runner
from gemsim.study.stopping import Rule, groups_of, late_of, plain

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
    rule: Rule | None = None  # when fewer replications are enough
    sampled: tuple[str, ...] = ()  # the paths that are drawn
    jobs: tuple[str, ...] = ()  # those of them that are no protection


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
    with locked(folder) as hold:
        refuse_foreign(folder)
        store = RowStore(folder / "rows")
        table = held(store, folder, plan.seed)  # refused before anything is changed
        judged = plan if shard == (1, 1) else replace(plan, rule=None)  # a share cannot judge by a rule
        rounds = Rounds(groups_of(points), scenarios, table, judged.rule or plain(plan.replications), shard=shard)
        first = rounds.begin()
        run = Collector(store, hold, plan.seed, points, report, fail_fast=fail_fast)
        with (
            stoppable(run, before=len(table), asked=rounds.total - rounds.done),
            listed(facts_asked(plan, points), points, table, store, folder, report, new=bool(first)) as found,
        ):
            _prepare(plan, store, folder)
            report.begin(rounds.total, rounds.done)
            run.note(faults)
            runner = Runner(model.simulate, seed=plan.seed, jobs=jobs, make_executor=make_executor, limit_s=limit_s)
            run.collect(runner, rounds, first)
            summary, incomplete = _concluded(judged, points, run, found, before=len(table))
    if not scenarios and not faults:
        raise GemsimError(f"no design point is feasible; the first is not because: {points[0].reason}")
    return SweepResult(plan, folder, points, summary, run.reasons(), run.added, incomplete)


def _concluded(
    plan: Plan, points: Sequence[Point], run: Collector, found: dict[str, Any], *, before: int
) -> tuple[Summary, Mapping[str, str]]:
    """The summary, and which designs lack replications; what the list of runs says of them goes into `found`."""
    failures = run.reasons()
    found |= {"designs_failed": len(failures)} if failures else {}
    run.hold.check()
    summary, incomplete = conclude(
        points,
        run.store,
        run.hold.folder,
        replications=plan.replications,
        rule=plan.rule,
        require=plan.require,
        failed=failures,
        least=before + run.added,
    )
    late = late_of(summary.rows)
    found |= {"stopped_by_time": sorted({run.names[id_] for id_ in late})} if late else {}
    return summary, incomplete


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


def facts_asked(plan: Plan, points: Sequence[Point]) -> dict[str, Any]:
    """What the provenance says of a run besides when, how and by which software."""
    profiles = sorted({str(point.static["profile"]) for point in points if "profile" in point.static})
    designs = len({point.id for point in points if point.id})
    return {
        "seed": plan.seed,
        "replications": plan.replications,
        **({"stop": str(plan.rule)} if plan.rule else {}),
        "designs": designs,
        "profiles": profiles,
        **plan.facts,
    }


def forget_errors(folder: Path) -> None:
    """What failed is tried again, so its old tracebacks say nothing any more. What is not of a sweep stays."""
    with writing(folder):
        for old in folder.iterdir() if folder.is_dir() else ():
            if is_error(f"{folder.name}/{old.name}"):
                old.unlink()
