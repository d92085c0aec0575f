"""A sweep as it stands in the file, before any model has read it: which values are to be tried, and where each stands.

What is malformed is skipped here: the models refuse it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gemsim.errors import ValueRefused
from gemsim.spec.quick import SAMPLES
from gemsim.spec.sampled import Range, over_of
from gemsim.spec.yaml import Path

Row = list[tuple[str, Any, Path]]  # path, value, and where the value stands in the file
SWEEP: Path = ("sweep",)
BETWEEN = 0.4142  # a share of a range that is tried beside its ends: no round one, which might meet a whole number


def rows_of(sweep: Any, place: Path = SWEEP) -> Iterator[Row]:
    """What is to be tried together: each grid value alone, each row of zip, each listed point, the ends of each range
    and a value between them alone; of a nested block each of these with the paths of its grid that have one value."""
    sweep = sweep if isinstance(sweep, dict) else {}
    for path, values in _lists(sweep, "grid").items():
        for at, value in enumerate(values):
            yield [(path, value, (*place, "grid", path, at))]
    zipped = _lists(sweep, "zip")
    for at in range(min(map(len, zipped.values()), default=0)):
        yield [(path, values[at], (*place, "zip", path, at)) for path, values in zipped.items()]
    for at, point in enumerate(_each(sweep.get("points"))):
        if isinstance(point, dict):
            yield _deep([(str(path), value, (*place, "points", at, path)) for path, value in point.items()])
    for path, values in _samples(sweep, place):
        yield from ([(path, value, source)] for value, source in values)
    for at, block in enumerate(_each(sweep.get("nested"))):
        yield from _block(block, (*place, "nested", at))


def place_of(sweep: Any, path: str, value: Any, place: Path = SWEEP) -> Path | None:
    """Where the sweep puts this value at this path: in a list, at a point, or at the range that it is drawn from."""
    sweep = sweep if isinstance(sweep, dict) else {}
    for kind in ("grid", "zip"):
        values = _lists(sweep, kind).get(path, ())
        if value in values:
            return (*place, kind, path, values.index(value))
    for at, point in enumerate(_each(sweep.get("points"))):
        if isinstance(point, dict) and path in point and point[path] == value:
            return (*place, "points", at, path)
    for kind in SAMPLES:
        over = _over(sweep, kind)
        if path in over:
            given = over[path]
            listed = isinstance(given, list) and value in given
            return (*place, kind, "over", path, *((given.index(value),) if listed else ()))
    blocks = enumerate(_each(sweep.get("nested")))
    found = (place_of(block, path, value, (*place, "nested", at)) for at, block in blocks)
    return next((one for one in found if one is not None), None)


def paths_of(sweep: Any, name: str = "sweep") -> Iterator[tuple[str, str]]:
    """Every swept path, with the name of the design that it stands in."""
    sweep = sweep if isinstance(sweep, dict) else {}
    for kind in ("grid", "zip", *SAMPLES):
        axes = _over(sweep, kind) if kind in SAMPLES else sweep.get(kind)
        yield from ((path, f"{name}.{kind}") for path in (axes if isinstance(axes, dict) else ()))
    points = [point for point in _each(sweep.get("points")) if isinstance(point, dict)]
    yield from ((path, f"{name}.points") for path in dict.fromkeys(path for point in points for path in point))
    for at, block in enumerate(_each(sweep.get("nested"))):
        yield from paths_of(block, f"{name}.nested[{at}]")


def key_of(path: str, source: Path) -> Path:
    """Where a swept path itself is written, by where one of its values is."""
    return source[: len(source) - source[::-1].index(path)] if path in source else source


def _block(block: Any, place: Path) -> Iterator[Row]:
    """The rows of a block of `nested`, each with what the whole block holds fixed."""
    grid = _lists(block if isinstance(block, dict) else {}, "grid")
    fixed: Row = [(path, v[0], (*place, "grid", path, 0)) for path, v in grid.items() if len(v) == 1]
    held = {path for path, _, _ in fixed}
    others = [row for row in rows_of(block, place) if not (len(row) == 1 and row[0][0] in held)]
    yield from (_deep([*fixed, *row]) for row in others or [[]] if fixed or row)


def _deep(row: Row) -> Row:
    """Whole sections before what lies under them."""
    return sorted(row, key=lambda one: one[0].count("."))


def _samples(sweep: dict[str, Any], place: Path) -> Iterator[tuple[str, list[tuple[Any, Path]]]]:
    """The paths that are drawn, each with values to try."""
    for kind in SAMPLES:
        for path, given in _over(sweep, kind).items():
            source = (*place, kind, "over", path)
            try:
                over = over_of(given)
            except ValueRefused:
                continue
            if isinstance(over, Range):
                (first, last), between = over.ends, over.at(BETWEEN)
                yield path, [(first, (*source, "from")), (last, (*source, "to")), (between, source)]
            else:
                yield path, [(value, (*source, at)) for at, value in enumerate(over)]


def _over(sweep: dict[str, Any], kind: str) -> dict[str, Any]:
    sample = sweep.get(kind)
    over = sample.get("over") if isinstance(sample, dict) else None
    return over if isinstance(over, dict) else {}


def _lists(sweep: dict[str, Any], kind: str) -> dict[str, list[Any]]:
    axes = sweep.get(kind)
    return {path: v for path, v in axes.items() if isinstance(v, list)} if isinstance(axes, dict) else {}


def _each(listed: Any) -> list[Any]:
    return listed if isinstance(listed, list) else []
