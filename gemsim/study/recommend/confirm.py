"""The confirmation: a few designs by the engine, all on the same failures, until the best is told or tied.

It is a sweep of those designs alone, so its rows are kept and a repeat goes on where it was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemsim.results.choice import Candidate, Choice, choose
from gemsim.results.estimate import Floats, Interval, mean_interval
from gemsim.results.rows import RowStore
from gemsim.results.runs import by_design
from gemsim.results.summary import Point, Row, meets
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.study.design import DesignPoint
from gemsim.study.points import Model
from gemsim.study.pools import Pools
from gemsim.study.progress import Reporter
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.space import show
from gemsim.study.sweep import Plan, SweepResult, sweep

RAISE = 2  # replications are raised by this factor
OVERHEADS = ("memory_overhead", "step_overhead")


@dataclass(frozen=True, slots=True)
class Design:
    """A design to confirm: the values of its decision variables, and why it is looked at."""

    variant: str
    values: Mapping[str, Any]
    assignments: Mapping[str, Any]
    why: str
    spares: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Confirmed:
    """A design with its replications. `value` and `ettr` carry intervals, `twin` is the closed form's value or NaN."""

    design: Design
    id: str
    row: Row  # of summary.csv
    values: Floats  # of the objective, by replication
    value: Interval
    ettr: Interval
    twin: float
    meets: bool
    failed: str = ""

    @property
    def deviation(self) -> float:
        """ETTR of the engine less that of the closed form; NaN where one is missing."""
        form = self.row["ettr_analytic"]
        return math.nan if form is None else self.ettr.value - float(form)


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What the engine decides. `choice` and `runner_up` are places in `designs`; `difference` is choice less runner-up.

    `settled`: no tie that more replications could break is left.
    """

    designs: Sequence[Confirmed]
    result: SweepResult
    replications: int
    choice: int | None
    runner_up: int | None
    difference: Interval | None
    tied: tuple[int, ...]
    reference: int | None
    settled: bool
    unsure: bool = False


def confirm(
    loaded: LoadedStudy,
    designs: Sequence[Design],
    model: Model,
    sought: Sought,
    base: Plan,
    folder: Path,
    *,
    most: int,
    pools: Pools,
    report: Reporter,
) -> Verdict:
    """Simulate `designs` with `base.replications`, then with more, up to `most`, until the verdict is settled."""
    ordered = sorted(designs, key=lambda one: one.spares)  # of designs alike in all else, the fewest spares
    paths = list(dict.fromkeys(path for one in ordered for path in one.values))
    points = [_point(at, one, paths) for at, one in enumerate(ordered)]
    replications = base.replications
    while True:
        asked = replace(
            base, designs=points, resolve=partial(resolve_point, loaded), replications=replications, inputs=None
        )
        result = sweep(asked, model, folder, jobs=pools.jobs, report=report, make_executor=pools.lend)
        verdict = judged(loaded, ordered, result, sought, RowStore(folder / "rows"))
        if verdict.settled or replications >= most:
            return verdict
        replications = min(replications * RAISE, most)


def _point(at: int, one: Design, paths: Sequence[str]) -> DesignPoint:
    shown = {path: one.values.get(path, "") for path in paths}
    columns = {path: value if isinstance(value, int | float | str) else show(value) for path, value in shown.items()}
    return DesignPoint(at, columns, one.variant, one.assignments, ())


def judged(
    loaded: LoadedStudy, designs: Sequence[Design], result: SweepResult, sought: Sought, store: RowStore
) -> Verdict:
    """The verdict over the rows of a sweep of `designs`; of designs that are one the first counts."""
    replications = result.plan.replications
    runs = by_design(store.read(), replications)
    found: list[Confirmed] = []
    seen: set[str] = set()
    for one, point, row in zip(designs, result.points, result.summary.rows, strict=True):
        if point.id in seen:
            continue
        seen.update(filter(None, [point.id]))
        found.append(_confirmed(loaded, one, row, runs.get(point.id), sought, result, point))
    return _verdict(found, result, sought)


def _confirmed(
    loaded: LoadedStudy,
    one: Design,
    row: Row,
    run: Mapping[str, Floats] | None,
    sought: Sought,
    result: SweepResult,
    point: Point,
) -> Confirmed:
    id_ = point.id
    nothing = Interval(math.nan, math.nan, math.nan)
    failed = result.failed.get(id_, "") if id_ else f"cannot exist: {row['reason']}"
    spec = resolve_point(loaded, one.assignments)
    form = row["ettr_analytic"]
    twin = math.nan if form is None else float(sought.twin(float(form), spec, spares=one.spares))
    if run is None or failed:
        return Confirmed(one, id_, row, np.empty(0), nothing, nothing, twin, False, failed or "no replication")
    values = sought.values(run, point.bill)
    ettr = mean_interval(run["productive_s"] / run["wall_s"])
    return Confirmed(one, id_, row, values, sought.estimate(values), ettr, twin, meets(row, result.plan.require))


def _verdict(found: Sequence[Confirmed], result: SweepResult, sought: Sought) -> Verdict:
    usable = [at for at, one in enumerate(found) if not one.failed]
    scale = max((abs(found[at].value.value) for at in usable), default=1.0)
    by = sought.yardstick(scale)
    candidates = [_candidate(at, found[at], sought) for at in usable]
    choice = choose(candidates, by)
    best = choice.best if choice.best is not None else choice.unsure
    others = [at for at in usable if at != best and found[at].meets]
    runner = max(others, key=lambda at: (sought.sign * found[at].value.value, -at), default=None)
    apart = None if best is None or runner is None else sought.difference(found[best].values, found[runner].values)
    return Verdict(
        designs=found,
        result=result,
        replications=result.plan.replications,
        choice=best,
        runner_up=runner,
        difference=apart,
        tied=choice.tied,
        reference=choice.reference,
        settled=_settled(choice, by.band),
        unsure=choice.best is None and choice.unsure is not None,
    )


def _candidate(at: int, one: Confirmed, sought: Sought) -> Candidate:
    memory, step = (math.inf if one.row[name] is None else float(one.row[name]) for name in OVERHEADS)
    return Candidate(at, sought.sign * one.values, memory, step, one.meets)


def _settled(choice: Choice, band: float) -> bool:
    """Whether every tie is one of differences that are no reason to pay for anything, not of too few replications."""
    if choice.reference is None:
        return True
    open_ = [choice.differences[at].half_width for at in choice.tied if at != choice.reference]
    return all(half <= band for half in open_)  # one replication has no interval (NaN): not settled
