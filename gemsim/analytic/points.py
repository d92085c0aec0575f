"""The design points that a screen is asked for: which of them are worked out together, and what came of each.

One idea: intervals lie in a row of places and numbers of spares in a column, so that what depends on one alone is
worked out once for all of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsim.analytic.expected import COLUMNS

Array = NDArray[Any]
NUMBERS = ("ettr_analytic", "analytic_error", *COLUMNS)


@dataclass(frozen=True, slots=True)
class Points:
    """`every`: steps between saves by tier, one for each of `size` places; `counts`: the distinct numbers of spares;
    `rows`: which of these belong to the places, in a column where each goes with each; `back`: where in the result
    each point lies that was asked for."""

    every: dict[int, Array]
    size: int
    counts: tuple[int, ...]
    rows: Array
    back: tuple[Array, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what is worked out."""
        return np.broadcast_shapes(self.rows.shape, (self.size,))


def points(every: Mapping[int, ArrayLike], spares: ArrayLike) -> Points:
    """Each interval with each number of spares; pair by pair where few of these are asked for. Raises ValueError."""
    steps = dict(zip(every, np.broadcast_arrays(*map(_whole, every.values())), strict=True))
    nodes = _whole(spares)
    inner = next((one.shape for one in steps.values()), ())
    shape = np.broadcast_shapes(nodes.shape, inner)
    counts, which = np.unique(nodes, return_inverse=True)
    which = np.broadcast_to(which.reshape(nodes.shape), shape)
    asked, size = int(np.prod(shape, dtype=int)), int(np.prod(inner, dtype=int))
    if size * len(counts) > 2 * asked:
        flat = {number: np.broadcast_to(one, shape).ravel() for number, one in steps.items()}
        return Points(flat, asked, tuple(counts.tolist()), which.ravel(), (np.arange(asked).reshape(shape),))
    place = np.broadcast_to(np.arange(size).reshape(inner), shape)
    flat = {number: one.ravel() for number, one in steps.items()}
    return Points(flat, size, tuple(counts.tolist()), np.arange(len(counts))[:, None], (which, place))


def _whole(values: ArrayLike) -> Array:
    given = np.asarray(values)
    if given.dtype.kind not in "iu" or (given < 0).any():
        raise ValueError(f"steps between saves and spare nodes are whole numbers >= 0, not {values!r}")
    return given.astype(np.int64)


class Found:
    """What came of the points: NaN and a reason until a number is there."""

    def __init__(self, asked: Points) -> None:
        self.asked = asked
        self.every = {number: steps.copy() for number, steps in asked.every.items()}
        self.numbers = {name: np.full(asked.shape, np.nan) for name in NUMBERS}
        self.kind = np.full(asked.shape, "", dtype="<U11")
        self.reason = np.full(asked.shape, "", dtype=object)

    def put(self, places: Array, said: Mapping[str, Any], rows: Array | None = None) -> None:
        """What `predict` says at these places, where `rows` (all) have the number of spares that it is said of."""
        for name, kept in (*self.numbers.items(), ("analytic_kind", self.kind)):
            if name not in said:
                continue
            if rows is None:
                kept[..., places] = said[name]
            else:
                kept[..., places] = np.where(rows, said[name], kept[..., places])

    def refuse(self, places: Array, reason: str, rows: Array | None = None) -> None:
        """No number there, and why; the first reason stays."""
        at = np.zeros(self.asked.shape, dtype=bool)
        at[..., places] = True if rows is None else rows
        for kept in self.numbers.values():
            kept[at] = np.nan
        self.kind[at] = ""
        self.reason[at & (self.reason == "")] = reason

    def columns(self) -> dict[str, Array]:
        """All of it in the shape that was asked for."""
        back = self.asked.back
        found = {name: kept[back] for name, kept in self.numbers.items()}
        steps = {f"every_{number}": one[back[-1]] for number, one in self.every.items()}
        return {**found, **steps, "analytic_kind": self.kind[back], "reason": self.reason[back]}


def patterns(truths: Iterable[Any], places: Array) -> list[tuple[tuple[bool, ...], Array]]:
    """The places, apart by which of the truths (each for all, or one for each place) hold there."""
    rows = [np.broadcast_to(truth, places.shape) for truth in truths]
    if not rows or all((row == row[:1]).all() for row in rows):
        return [(tuple(bool(row[0]) for row in rows), places)] if len(places) else []
    kinds, which = np.unique(np.stack(rows), axis=1, return_inverse=True)
    which = which.ravel()
    return [(tuple(kinds[:, number].tolist()), places[which == number]) for number in range(kinds.shape[1])]
