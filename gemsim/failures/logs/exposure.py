"""A fleet that varies: which nodes were there, and for how long, from a file of additions and removals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gemsim.errors import ValueRefused, show
from gemsim.failures.logs.read import Where, read_log

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Exposure:
    """Node `i` was there from `joined_h[i]` to `left_h[i]` (the end of the window if it never left)."""

    names: tuple[str, ...]
    joined_h: Floats
    left_h: Floats
    left: NDArray[np.bool_]
    end_h: float  # of the window, on the clock of the file

    @property
    def node_hours(self) -> float:
        """Sum over nodes of the time each was there."""
        return float((self.left_h - self.joined_h).sum())

    def describe(self) -> str:
        """One line for the report."""
        gone = int(self.left.sum())
        return (
            f"the fleet varies: {len(self.names)} nodes were there for {self.node_hours:.1f} node-hours in all;"
            f" {gone} left and never return, each is a life of its own"
        )

    def index(self, names: Sequence[str], path: Path) -> Ints:
        """Position here of each of `names`. Raises ValueRefused for a node that never joined."""
        at = {name: number for number, name in enumerate(self.names)}
        lost = next((name for name in names if name not in at), None)
        if lost is not None:
            raise ValueRefused(f"{path}: node {show(lost)} fails but never joined", "only nodes of the exposure file")
        return np.array([at[name] for name in names], dtype=np.int64)


def read_exposure(path: Path, *, where: Sequence[Where], begin_h: float, end_h: float | None) -> Exposure:
    """The exposure file `time_h,node,event` with event add or remove; filters apply where it has their column.

    Without `end_h` the window ends with the last line of the file.
    Raises ValueRefused.
    """
    with_column = [one for one in where if _has(path, one.column)]
    rows = read_log(path, where=with_column, by="event")
    if rows.node is None or rows.component is None:
        raise ValueRefused(f"{path}: no column node or event", "time_h, node, event (add or remove)")
    strange = sorted(set(rows.component.names) - {"add", "remove"})
    if strange:
        raise ValueRefused(f"{path}: unknown event ({show(strange[0])})", "add or remove")
    adds = np.array([name == "add" for name in rows.component.names])[rows.component.codes]
    joined = np.full(len(rows.node.names), np.nan)
    left = np.full(len(rows.node.names), np.nan)
    for time, who, add in zip(rows.time_h.tolist(), rows.node.codes.tolist(), adds.tolist(), strict=True):
        target = joined if add else left
        if not np.isnan(target[who]):
            name = rows.node.names[who]
            raise ValueRefused(f"{path}: node {show(name)} joins or leaves twice", "a name for each stay")
        target[who] = time
    end_h = float(rows.time_h.max()) if end_h is None else end_h
    joined = np.where(np.isnan(joined), begin_h, joined) - begin_h
    gone = ~np.isnan(left)
    until = np.where(gone, left, end_h) - begin_h
    if (until < joined).any():
        name = rows.node.names[int(np.flatnonzero(until < joined)[0])]
        raise ValueRefused(f"{path}: node {show(name)} leaves before it joins", "times in hours")
    return Exposure(rows.node.names, joined, until, gone, end_h)


def _has(path: Path, column: str) -> bool:
    try:
        with path.open(encoding="utf-8") as stream:
            return column in stream.readline().strip().split(",")
    except (OSError, UnicodeDecodeError):
        return False
