"""The design points of a study: compare variants x grid x zip x points x samples x blocks, in the order in which they
are written."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gemsim import units
from gemsim.errors import UnitError
from gemsim.spec.loading import LoadedStudy, applies
from gemsim.spec.swept import in_depth, under

PROTECTION = "protection"
QUANTITIES: tuple[units.Dimension, ...] = ("time", "bytes", "bandwidth", "share")  # what a swept text may be
Applies = Callable[[Mapping[str, Any], str], bool]


@dataclass(frozen=True, slots=True)
class DesignPoint:
    """One point: what the table shows for it, what it assigns to the study, and the group it is judged in.

    `group` holds (name, value) of everything it varies that is not protection; points of one group compete.
    `protection` holds the rest.
    """

    index: int
    columns: Mapping[str, Any]
    variant: str
    assignments: Mapping[str, Any]
    group: tuple[tuple[str, str], ...]
    protection: tuple[tuple[str, str], ...] = ()


def expand(
    *,
    grid: Mapping[str, Sequence[Any]],
    zipped: Mapping[str, Sequence[Any]],
    compare: Mapping[str, Mapping[str, Any]],
    lists: Sequence[Sequence[Mapping[str, Any]]] = (),
    has: Applies = lambda sections, path: True,
    base: Mapping[str, Any] | None = None,
) -> list[DesignPoint]:
    """All points, variants outermost, then the grid (its last axis fastest), then the lists that move together, then
    each of `lists`, whose rows need not have the same paths.

    A path that does not apply to a variant (it has no such tier) does not multiply its points; its column stays empty.
    `base` holds what the study itself has where some variant or row has something else, so that a variant that leaves a
    section as it is and one that writes the same value are judged together.
    """
    listed = dict.fromkeys(path for rows in lists for row in rows for path in row)
    empty = dict.fromkeys((*grid, *zipped, *listed), "")
    written = {path: value for path, value in (base or {}).items() if path not in empty}
    left = {path: value for path, value in (base or {}).items() if path in listed}  # of rows without the path
    points: list[DesignPoint] = []
    for name, sections in (compare or {"": {}}).items():
        axes = {path: values for path, values in grid.items() if has(sections, path)}
        moving = {path: values for path, values in zipped.items() if has(sections, path)}
        cells = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
        rows = [dict(zip(moving, values, strict=True)) for values in zip(*moving.values(), strict=True)] or [{}]
        more = [_fitting(rows, sections, has) for rows in lists]
        for cell, row, *others in itertools.product(cells, rows, *more):
            swept = {path: value for part in (cell, row, *others) for path, value in part.items()}
            points.append(
                _point(len(points), name, sections, in_depth(swept) if lists else swept, empty, written, left)
            )
    return points


def _fitting(rows: Sequence[Mapping[str, Any]], sections: Mapping[str, Any], has: Applies) -> list[Mapping[str, Any]]:
    """The rows without the paths that a variant has not got, each once."""
    fit = [{path: one for path, one in row.items() if has({**sections, **under(row, path)}, path)} for row in rows]
    if all(len(own) == len(row) for own, row in zip(fit, rows, strict=True)):
        return list(rows)
    return list({show(row): row for row in fit}.values())


def designs_of(loaded: LoadedStudy) -> list[DesignPoint]:
    """The design points of a study that has been read."""
    sweep = loaded.spec.sweep
    compare = loaded.spec.compare
    base = {
        path: found for one in compare.values() for path in one if (found := _written(loaded.raw, path)) is not None
    }
    lists = sweep.lists()
    listed = dict.fromkeys(path for rows in lists for row in rows for path in row)
    base |= {path: found for path in listed if (found := _written(loaded.raw, path)) is not None}
    has = partial(applies, loaded)
    return expand(grid=sweep.grid, zipped=sweep.zip, lists=lists, compare=compare, has=has, base=base)


def sampled_jobs(loaded: LoadedStudy) -> tuple[str, ...]:
    """The drawn paths that are not protection: each of their draws is a job of its own, and no two compete."""
    return tuple(path for path in loaded.spec.sweep.sampled if not _is_protection(path))


def _written(raw: Mapping[str, Any], path: str) -> Any:
    """What a study has at a path, as its file has it; None where it leaves it out."""
    found: Any = raw
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _point(
    index: int,
    variant: str,
    sections: Mapping[str, Any],
    swept: Mapping[str, Any],
    empty: Mapping[str, str],
    written: Mapping[str, Any],
    left: Mapping[str, Any],
) -> DesignPoint:
    held, full = {**written, **sections}, {**left, **swept}
    pairs = [*((path, full[path]) for path in empty if path in full), *held.items()]
    varied = [(path, show(value)) for path, value in pairs]
    group = tuple(one for one in varied if not _is_protection(one[0]))
    protection = tuple(one for one in varied if _is_protection(one[0]))
    columns = {path: value if isinstance(value, int | float | str) else show(value) for path, value in swept.items()}
    return DesignPoint(index, {**empty, **columns}, variant, {**sections, **swept}, group, protection)


def _is_protection(path: str) -> bool:
    return path.split(".")[0] == PROTECTION


def show(value: Any) -> str:
    """A swept value as text: itself, or compact JSON where it is a section."""
    return value if isinstance(value, str) else json.dumps(value, default=str, separators=(", ", ": "))


def size_of(value: Any) -> float | None:
    """A swept value as a number to order by: a quantity in SI; None for a word."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    for dimension in QUANTITIES:
        try:
            return units.parse(value, dimension)
        except UnitError:
            continue
    return None


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """The shortest tail of each path that no other path ends in."""
    names = {}
    for path in paths:
        parts = path.split(".")
        tails = [".".join(parts[-n:]) for n in range(1, len(parts) + 1)]
        others = [f".{other}" for other in paths if other != path]
        names[path] = next((tail for tail in tails if not any(o.endswith(f".{tail}") for o in others)), path)
    return names
