"""Which swept axes a figure runs along: k and m before others, then the numeric axis of protection with most values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gemsim.results.figures.looks import MOST
from gemsim.results.summary import Point
from gemsim.study.design import PROTECTION, size_of

VARIANT = "variant"  # of `compare:`, an axis of words
Key = tuple[tuple[str, str], ...]


def value(point: Point, path: str) -> Any:
    """What a point has on an axis; "" where the axis does not apply to it."""
    return point.variant if path == VARIANT else point.columns.get(path, "")


def values(points: Sequence[Point], path: str) -> list[Any]:
    """The values of an axis in the order in which they were written."""
    return list(dict.fromkeys(found for point in points if (found := value(point, path)) != ""))


def numeric(points: Sequence[Point]) -> list[str]:
    """The axes of two or more numbers or quantities: width first, then those of protection, longest first."""
    found = []
    for path in points[0].columns:
        held = values(points, path)
        if len(held) > 1 and all(size_of(one) is not None for one in held):
            found.append(path)
    return sorted(found, key=lambda path: (not path.endswith(".k"), not inside(path), -len(values(points, path))))


def inside(path: str) -> bool:
    """Whether designs of one group differ on the axis."""
    return path == VARIANT or path.split(".")[0] == PROTECTION


def series(points: Sequence[Point], across: str) -> str | None:
    """The axis of which each value gets a line of its own beside the axis `across`."""
    candidates = [path for path in (*points[0].columns, VARIANT) if 1 < len(values(points, path)) <= MOST]
    free = [path for path in candidates if path != across and not follows(points, path, across)]
    free.sort(key=lambda path: (not path.endswith(".m"), path != VARIANT, not inside(path), -len(values(points, path))))
    return free[0] if free else None


def follows(points: Sequence[Point], path: str, *others: str | None) -> bool:
    """Whether the value on one axis is known from those on others: they move together."""
    seen: dict[tuple[str, ...], str] = {}
    for point in points:
        key, own = tuple(str(value(point, other)) for other in others if other), str(value(point, path))
        if "" in key:
            continue
        if seen.setdefault(key, own) != own:
            return False
    return True


def settings(points: Sequence[Point], *taken: str | None) -> Mapping[int, Key]:
    """By index of each point, all that it varies beside the axes `taken` and what moves with them."""
    paths = [path for path in (VARIANT, *points[0].columns) if path not in taken]
    rest = [path for path in paths if len(values(points, path)) > 1 and not follows(points, path, *taken)]
    known = _held_by(points, *taken)
    keys = {}
    for point in points:
        own = [(path, str(value(point, path))) for path in rest if value(point, path) != ""]
        held = [one for one in point.group if one[0] not in point.columns and one[0] not in (*taken, *known)]
        keys[point.index] = tuple(own + [one for one in held if one[0] not in rest])
    return keys


def _held_by(points: Sequence[Point], *others: str | None) -> set[str]:
    """What groups hold that is no axis, and that is known from the values on others: a variant that writes it."""
    paths = {path for point in points for path, _ in point.group}
    seen: dict[str, dict[tuple[str, ...], set[str]]] = {path: {} for path in paths}
    for point in points:
        key, group = tuple(str(value(point, other)) for other in others if other), dict(point.group)
        for path in paths:
            seen[path].setdefault(key, set()).add(group.get(path, ""))
    return {path for path, own in seen.items() if all(len(held) == 1 for held in own.values())}


def text(raw: Any) -> str:
    """A value on an axis as short as it can be written."""
    return raw if isinstance(raw, str) else f"{raw:g}"
