"""Every design point of a study by the closed form alone: nothing is simulated, so a grid of thousands takes seconds.

Points that differ in intervals and spares alone are one structure, which is built and enumerated once (study/along).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemsim.analytic.expected import COLUMNS
from gemsim.analytic.screen import screen
from gemsim.errors import GemsimError, NotCovered
from gemsim.results.summary import RESULT_COLUMNS, Row
from gemsim.scenario import Scenario, build, describe
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.spec.study import StudySpec
from gemsim.study.along import CANNOT, OPTIMAL, Axis, along, axis, beside, may_be_axis
from gemsim.study.design import DesignPoint, designs_of
from gemsim.study.points import NO_FORM, reason_of
from gemsim.study.pools import Pools

_FORM = ("ettr_analytic", "analytic_kind", "analytic_error", *COLUMNS)
_OWN = (
    "step_overhead",
    "memory_overhead",
    "survivable_burst_pages",
    "interval_s",
    "spare_nodes",
    "profile",
    "modelled",
)
COMPUTED = ("variant", "feasible", "reason", *_FORM, "analytic_note", *_OWN)  # all other columns of a row are None
_EMPTY: Row = dict.fromkeys(RESULT_COLUMNS)
MANY = 400  # structures: two seconds, and starting processes takes one
PARTS = 4  # for each process, so that none waits long for the last

Known = dict[int, Row]  # by place in the table, without what the design itself says


@dataclass(frozen=True, slots=True)
class _Group:
    """Points that the same values make but for those of `paths`."""

    paths: tuple[str, ...]
    points: Sequence[DesignPoint]

    def values(self, path: str) -> tuple[Any, ...]:
        """Of one of these paths, by point."""
        return tuple(point.assignments[path] for point in self.points)

    @property
    def base(self) -> dict[str, Any]:
        """What the structure is built from: of intervals the optimum, of numbers the largest."""
        given = dict(self.points[0].assignments)
        for path in self.paths:
            values = self.values(path)
            numbers = all(isinstance(value, int) for value in values)
            given[path] = max(values) if numbers else OPTIMAL if path.endswith(".interval") else values[0]
        return given


def closed_forms(loaded: LoadedStudy, *, jobs: int = 1) -> tuple[Row, ...]:
    """A row for each design point, in order, with the columns of the summary; what is not computed is None.

    What cannot exist has its `reason`; what no form holds has `analytic_kind` "none" and an `analytic_note`. Points for
    which the form has no arrays (see analytic/screen) go one by one. Where structures are many, `jobs` processes share
    them; the rows are the same.
    """
    designs = designs_of(loaded)
    groups = _grouped(designs, may_be_axis)
    known = _together(loaded, groups) if jobs == 1 or len(groups) < MANY else _shared(loaded, groups, jobs)
    return tuple(_row(point, known[point.index]) for point in designs)


def _shared(loaded: LoadedStudy, groups: Sequence[_Group], jobs: int) -> Known:
    """As `_together`, by so many processes; neighbours stay together, as they have most in common."""
    size = -(-len(groups) // (PARTS * jobs))
    with Pools(jobs) as pools:
        parts = [groups[at : at + size] for at in range(0, len(groups), size)]
        futures = [pools.held.submit(_together, loaded, part) for part in parts]
        return {index: known for future in futures for index, known in future.result().items()}


def _together(loaded: LoadedStudy, groups: Iterable[_Group]) -> Known:
    """What is known of each point of these groups, by its place in the table."""
    return {index: known for group in groups for index, known in _filled(loaded, group)}


def _grouped(points: Iterable[DesignPoint], free: Callable[[str], bool]) -> list[_Group]:
    """The points apart by the values of all paths that are not free, and by which paths they have."""
    found: dict[tuple[Any, ...], list[DesignPoint]] = {}
    for point in points:
        swept = [path for path in point.assignments if path in point.columns and free(path)]
        held = [(path, repr(value)) for path, value in point.assignments.items() if path not in swept]
        found.setdefault((point.variant, tuple(held), tuple(swept)), []).append(point)
    return [_Group(paths, own) for (_, _, paths), own in found.items()]


def _filled(loaded: LoadedStudy, group: _Group) -> Iterator[tuple[int, Row]]:
    """The points of a group, which is divided further where a path turns out to be no axis of its structure."""
    try:
        spec = resolve_point(loaded, group.base)
        axes = [axis(spec, path, group.values(path)) for path in group.paths]
        known = [one for one in axes if one is not None]
        if len(known) < len(axes):
            taken = {one.path for one in known}
            for part in _grouped(group.points, lambda path: path in taken):
                yield from _filled(loaded, part)
            return
        table = _table(spec, build(spec), known, len(group.points))
    except GemsimError as error:
        yield from ((point.index, {"reason": reason_of(error), "feasible": False}) for point in group.points)
        return
    for at, point in enumerate(group.points):
        yield point.index, {name: values[at] for name, values in table.items()}


def _table(spec: StudySpec, scenario: Scenario, axes: Sequence[Axis], points: int) -> dict[str, list[Any]]:
    """The columns of a structure over its points."""
    asked = along(spec, scenario, axes, [(-1,)] * len(axes), (points,))
    every = asked.every if axes else {}  # a point alone has its optimum already
    try:
        found: Mapping[str, Any] = screen(scenario, every=every, spares=asked.spares)
    except NotCovered as error:
        found = {"reason": error.reason}
    static = describe(scenario)
    own = beside(spec, scenario, static, found, asked.spares)
    why = np.where(asked.cannot == "", np.broadcast_to(np.asarray(found["reason"], dtype=object), points), asked.cannot)
    table = {name: _over(found.get(name), points) for name in _FORM}
    table |= {name: [None if one != one else one for one in _over(values, points)] for name, values in own.items()}
    table |= {name: _over(static[name], points) for name in ("profile", "modelled")}
    return {**table, "reason": _over(why, points)}


def _over(values: Any, points: int) -> list[Any]:
    found: list[Any] = np.broadcast_to(np.asarray(values), (points,)).tolist()
    return found


def _row(point: DesignPoint, known: Row) -> Row:
    """One row of the table: a number, or why there is none."""
    row: Row = {**point.columns, **_EMPTY, "variant": point.variant, "feasible": True, **known}
    why = row["reason"]
    if why.startswith(CANNOT):
        row |= {**dict.fromkeys(known), "feasible": False, "reason": why.removeprefix(CANNOT)}
    elif why and row["feasible"]:
        row |= {**dict.fromkeys(_FORM), "analytic_kind": NO_FORM, "analytic_note": why, "reason": ""}
    return row
