"""Rows that stand in a log twice: equal in every column of the file, those that nobody asked for among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.logs.wording import counted

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TWICE = 0.01  # chance of so many equal rows of independent failures below which they are copies


def find_copies(table: Any, whole: Callable[[], Any]) -> Bools:
    """Which rows equal an earlier one in every column. `table` holds the columns in use, `whole` reads all of them: it
    is called only where some rows are equal in those in use."""
    alike = _alike(table)
    copies = np.zeros(table.num_rows, dtype=bool)
    if not len(alike):
        return copies
    seen: set[tuple[str, ...]] = set()
    every = whole().take(alike)
    for at, row in zip(
        alike.tolist(), zip(*(column.to_pylist() for column in every.columns), strict=True), strict=True
    ):
        copies[at] = row in seen
        seen.add(row)
    return copies


def _alike(table: Any) -> NDArray[np.int64]:
    """Positions, in order, of the rows that have an equal in this table."""
    codes = [
        column.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False) for column in table.columns
    ]
    order = np.lexsort(codes)
    same = np.ones(max(len(order) - 1, 0), dtype=bool)
    for one in codes:
        same &= np.diff(one[order]) == 0
    either = np.concatenate([same, [False]]) | np.concatenate([[False], same]) if len(order) else np.array([], bool)
    found: NDArray[np.int64] = np.sort(order[either])
    return found


def written_twice(
    time_h: Floats, node: Ints, copies: Bools | None, tick: float, window: float, *, told: bool
) -> tuple[Bools | None, list[str]]:
    """The rows equal in every column that are one record written twice: all, or none where chance makes as many on a
    coarse clock. And what is said of them and, if `told`, of other events of one node and instant."""
    from scipy.special import pdtrc

    order = np.lexsort((time_h, node))
    again = int(((np.diff(time_h[order]) == 0) & (np.diff(node[order]) == 0)).sum())
    equal = 0 if copies is None else int(copies.sum())
    chance = _meeting(node, tick, window)
    twice = equal > 0 and float(pdtrc(equal - 1, chance)) < _TWICE
    lines = []
    if equal:
        why = (
            "one record written twice, counted once but in the first row of the table"
            if twice
            else f"chance makes as many on this clock and these nodes (up to {chance:.3g}), so all are counted"
        )
        lines.append(f"{counted(equal, 'row equals', 'rows equal')} another in every column: {why}")
    if again > equal and told:
        lines.append(
            f"{counted(again - equal, 'event starts', 'events start')} at the instant of another of the same node, and"
            " not all columns are written alike: counted; --merge '1 s' counts each instant once, or remove them"
        )
    return copies if twice else None, lines


def _meeting(node: Ints, tick: float, window: float) -> float:
    """Pairs of independent failures of one node that start on one tick of the clock."""
    counts = np.bincount(node).astype(float)
    return float((counts * (counts - 1.0)).sum()) / 2.0 * tick / window
