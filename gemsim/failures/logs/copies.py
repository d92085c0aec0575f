"""Rows that stand in a log twice: equal in every column of the file, those that nobody asked for among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]


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
