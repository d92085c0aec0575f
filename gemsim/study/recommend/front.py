"""Which points meet the bounds, which of them nothing beats at once in time, memory and cost, and which to confirm.

Few pairs of memory and spare nodes occur, and of each only the best point counts, so the front is found among few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsim.results.estimate import Floats
from gemsim.spec.study import Requirement
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.screen import Screened

Mask = NDArray[np.bool_]
STANDS_FOR = {  # a column of the engine to that of the closed form by which it is screened
    "ettr": "ettr_analytic",
    "failures": "failures_analytic",
    "fallback_per_failure": "fallback_per_failure_analytic",
    "wasted_s_per_failure": "wasted_s_per_failure_analytic",
    "cost_s_per_failure": "cost_s_per_failure_analytic",
    "time_overhead": "overhead_analytic",
    "time_productive": "ettr_analytic",
    "unrecoverable_per_run": "unrecoverable_analytic",
    "cost_per_useful_gpu_hour": "value",
}
ALIKE = ("value", "ettr_analytic", "memory_overhead", "step_overhead", "spare_nodes")
STATIC = ("memory_overhead", "step_overhead", "survivable_burst_pages", "spare_nodes", "interval_s")


def screened_by(column: str, sought: Sought) -> str | None:
    """The column of the table that a bound is screened by; None where only the engine can judge it."""
    if column in STATIC or column.endswith("_analytic"):
        return column
    name = STANDS_FOR.get(column)
    return None if name == "value" and sought.kind != "cost" else name


def wanted(require: Mapping[str, Requirement], sought: Sought) -> list[str]:
    """The columns of the closed form that the bounds of a study ask for."""
    names = [screened_by(column, sought) for column in require]
    return list(dict.fromkeys(name for name in names if name and name.endswith("_analytic")))


def met(table: Screened, require: Mapping[str, Requirement], sought: Sought) -> Mask:
    """Which rows meet all bounds that can be screened; a missing number meets none."""
    meets = np.ones(len(table.flat), dtype=bool)
    for column, bound in require.items():
        name = screened_by(column, sought)
        if name is not None:
            meets &= holds(table.columns[name], bound)
    return meets


def holds(numbers: Floats, bound: Requirement) -> Mask:
    """A bound over a whole column."""
    compare = {"<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater}[bound.op]
    return np.asarray(compare(numbers, bound.value))


def scores(table: Screened, sought: Sought) -> Floats:
    """More is better."""
    return sought.sign * table.columns["value"]


def best(rows: Sequence[int] | NDArray[np.int64], table: Screened, sought: Sought) -> int:
    """The row with the best value; of equal ones the first."""
    return int(rows[int(np.argmax(scores(table, sought)[rows]))])


def tied_with_best(rows: NDArray[np.int64], table: Screened, sought: Sought) -> NDArray[np.int64]:
    """The rows that the closed form cannot tell from the best."""
    score = scores(table, sought)[rows]
    near = score >= score.max() - sought.band(abs(float(score.max())))
    return np.asarray(rows[near])


def cheapest(rows: NDArray[np.int64], table: Screened, sought: Sought, *, first: str = "memory_overhead") -> int:
    """The cheapest of rows: by the column `first`, memory, step time, spares, then value.

    With spares first the step time, which longer intervals save, does not come before the value.
    """
    columns = table.columns
    value, step = -scores(table, sought)[rows], _rounded(columns["step_overhead"][rows])
    by = ("memory_overhead", "spare_nodes") if first == "memory_overhead" else ("spare_nodes", "memory_overhead")
    main, other = (_rounded(columns[name][rows]) for name in by)
    keys = (value, other, step, main) if first == "memory_overhead" else (value, other, main)
    return int(rows[np.lexsort(keys)[0]])


def _rounded(values: Floats) -> Floats:
    """Equal shares reached by other arithmetic stay equal."""
    return np.round(values, 12)


def pareto(rows: NDArray[np.int64], table: Screened, sought: Sought) -> list[int]:
    """The rows that no other beats in wasted time without being worse in memory or in cost, cheapest memory first.

    Cost is that of the objective where it is one, else the number of spare nodes. Of equal memory and spares the point
    with the least wasted time is also the cheapest.
    """
    columns = table.columns
    pairs = np.column_stack([_rounded(columns["memory_overhead"][rows]), columns["spare_nodes"][rows]])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -columns["ettr_analytic"][rows]))
    _, firsts = np.unique(pairs[order], axis=0, return_index=True)
    front: list[int] = []
    held: list[tuple[float, float]] = []
    for at in order[np.sort(firsts)]:
        row = int(rows[at])
        pair = (float(pairs[at, 0]), float(columns["value"][row] if sought.kind == "cost" else pairs[at, 1]))
        if not any(m <= pair[0] and c <= pair[1] for m, c in held):
            held.append(pair)
            front.append(row)
    return sorted(front, key=lambda row: (table.columns["memory_overhead"][row], -table.columns["ettr_analytic"][row]))


@dataclass(frozen=True, slots=True)
class Pick:
    """A row of the table to confirm, and what for."""

    row: int
    why: str


def picks(rows: NDArray[np.int64], front: Sequence[int], table: Screened, sought: Sought, *, number: int) -> list[Pick]:
    """At most `number` rows to confirm, the best first; of rows alike in every number the first stands for all.

    The best by the closed form, the cheapest that ties with it, the best of each other variant, then in turn a point of
    the front and the best of the next structure: neighbours along an axis would say the same again, and come last.
    """
    tied = tied_with_best(rows, table, sought)
    others = _best_of_each(rows, table, sought)
    queue = [
        Pick(best(rows, table, sought), "the best by the closed form"),
        Pick(cheapest(tied, table, sought), "the cheapest that ties with it"),
        Pick(cheapest(tied, table, sought, first="spare_nodes"), "the fewest spares that tie with it"),
        *(Pick(row, "the best of another variant") for row in _of_variants(others, table)),
    ]
    thinned = _evenly(front, number)
    for at in range(max(len(others), len(thinned))):
        queue += [Pick(row, "of the front") for row in thinned[at : at + 1]]
        queue += [Pick(row, "the best of another structure") for row in others[at : at + 1]]
    score = scores(table, sought)[rows]
    queue += [Pick(int(row), "the next best") for row in rows[np.argsort(-score, kind="stable")][: number**2]]
    first: dict[tuple[float, ...], Pick] = {}
    for pick in queue:
        if len(first) < number:
            first.setdefault(_numbers(table, pick.row), pick)
    return list(first.values())


def _numbers(table: Screened, row: int) -> tuple[float, ...]:
    """By what two rows are alike."""
    return tuple(round(float(table.columns[name][row]), 9) for name in ALIKE)


def _of_variants(rows: Sequence[int], table: Screened) -> list[int]:
    """The first row of each variant."""
    first: dict[str, int] = {}
    for row in rows:
        first.setdefault(table.structures[table.structure[row]].variant, row)
    return list(first.values())


def _best_of_each(rows: NDArray[np.int64], table: Screened, sought: Sought) -> list[int]:
    """The best row of each structure, best first."""
    score = scores(table, sought)[rows]
    order = np.argsort(-score, kind="stable")
    _, firsts = np.unique(table.structure[rows][order], return_index=True)
    return [int(rows[order[at]]) for at in np.sort(firsts)]


def _evenly(front: Sequence[int], number: int) -> list[int]:
    """Points of the front spread over it, both ends among them."""
    if len(front) <= number:
        return list(front)
    places = np.unique(np.round(np.linspace(0, len(front) - 1, max(number // 2, 2))).astype(int))
    return [front[at] for at in places]
