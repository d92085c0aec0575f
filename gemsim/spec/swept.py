"""The design points of a study: lists of values, points and samples whose combinations are swept.

One idea: each design is a list of rows (path to value), and a sweep is every combination of one row of each. A block of
`nested` is a sweep of its own, so an axis may stand under one value of another and nowhere else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from gemsim.errors import ValueRefused, show
from gemsim.spec.sampled import SampleSpec, SobolSpec
from gemsim.spec.types import Model, SelfRead

MOST_POINTS = 1_000_000
Row = dict[str, Any]


class _Values(SelfRead):
    """A list of values of a swept path: at least one, none twice."""

    def read(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise ValueRefused(
                f"not a list ({show(value)})", "a list of values", f"write [{value}]" if len(str(value)) < 40 else ""
            )
        if not value:
            raise ValueRefused("an empty list", "at least one value", "remove the path or give values")
        return tuple(value)

    def form(self) -> dict[str, Any]:
        return {"type": "array", "minItems": 1}


class _Point(SelfRead):
    """One point of a list: at least one path with its value."""

    def read(self, value: Any) -> Row:
        if not isinstance(value, dict):
            raise ValueRefused(
                f"not a point ({show(value)})", "paths with their values", "write e.g. {restart: holder}"
            )
        if not value:
            raise ValueRefused("a point that says nothing", "at least one path with its value", "remove it")
        return {str(path): one for path, one in value.items()}

    def form(self) -> dict[str, Any]:
        return {"type": "object", "minProperties": 1}


SweptValues = Annotated[tuple[Any, ...], _Values()]


class SweepSpec(Model):
    """Design points: every combination of `grid`, a row of `zip` (whose lists run together), one of `points`, a draw of
    `latin_hypercube`, a draw of `sobol` and a point of one block of `nested`."""

    grid: dict[str, SweptValues] = Field(default_factory=dict)
    zip: dict[str, SweptValues] = Field(default_factory=dict)
    points: tuple[Annotated[Row, _Point()], ...] = ()
    latin_hypercube: SampleSpec | None = None
    sobol: SobolSpec | None = None
    nested: tuple[SweepSpec, ...] = ()

    @model_validator(mode="after")
    def _shape(self) -> Self:
        lengths = {path: len(values) for path, values in self.zip.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{path} has {n}" for path, n in lengths.items())
            raise ValueRefused(f"zip lists differ in length ({shown})", "lists of one length", at=("zip",))
        self._refuse_shared()
        for path, values in self.grid.items():
            if len({repr(value) for value in values}) < len(values):
                raise ValueRefused(f"a value twice ({show(list(values))})", "each value once", at=("grid", path))
        if self.count > MOST_POINTS:
            raise ValueRefused(f"too many design points ({self.count})", f"at most {MOST_POINTS}")
        self._refuse_twice()
        return self

    def _refuse_shared(self) -> None:
        """Raises ValueRefused where a path is in two designs, whose values would go over each other."""
        taken: dict[str, str] = {}
        for kind, paths in self._paths().items():
            for path in paths:
                if path in taken:
                    at = (kind,) if kind in ("points", "nested") else (*_OVER.get(kind, (kind,)), path)
                    what = f"{path} is in {taken[path]} and in {kind}"
                    raise ValueRefused(what, "each path once", "remove one", at=at)
            taken |= dict.fromkeys(paths, kind)

    def _refuse_twice(self) -> None:
        """Raises ValueRefused where a point is listed twice, or two blocks have one in common."""
        for kind, parts in (("points", [[one] for one in self.points]), ("nested", [b.rows() for b in self.nested])):
            seen: dict[str, int] = {}
            for number, rows in enumerate(parts):
                for row in rows:
                    if (before := seen.setdefault(_key(row), number)) != number:
                        what = f"a point that {kind}[{before}] has ({show(row)})"
                        raise ValueRefused(what, "each point once", "remove one", at=(kind, number))

    def _paths(self) -> dict[str, tuple[str, ...]]:
        """The paths of each design."""
        listed = dict.fromkeys(path for row in self.points for path in row)
        below = dict.fromkeys(path for block in self.nested for path in block.paths)
        drawn = {kind: tuple(one.over) if one else () for kind, one in self._samples().items()}
        return {"grid": (*self.grid,), "zip": (*self.zip,), "points": (*listed,), **drawn, "nested": (*below,)}

    def _samples(self) -> dict[str, SampleSpec | None]:
        return {"latin_hypercube": self.latin_hypercube, "sobol": self.sobol}

    @property
    def paths(self) -> tuple[str, ...]:
        """Every swept path, in the order of the designs."""
        return tuple(path for paths in self._paths().values() for path in paths)

    @property
    def sampled(self) -> tuple[str, ...]:
        """The paths that are drawn, in blocks too."""
        own = [path for one in self._samples().values() if one for path in one.over]
        return tuple(dict.fromkeys([*own, *(path for block in self.nested for path in block.sampled)]))

    @property
    def notes(self) -> list[str]:
        """What to say of the samples."""
        own = [self.sobol.uneven] if self.sobol and self.sobol.uneven else []
        return [*own, *(note for block in self.nested for note in block.notes)]

    @property
    def count(self) -> int:
        """Combinations, before those that are one design are joined."""
        sizes = [len(values) for values in self.grid.values()]
        sizes += [len(next(iter(self.zip.values())))] if self.zip else []
        sizes += [one.number for one in self._samples().values() if one]
        sizes += [len(self.points)] if self.points else []
        return math.prod(sizes) * (sum(block.count for block in self.nested) or 1)

    def listed(self) -> Iterator[Row]:
        """Every written value: as a point where it stands in one, else alone; of ranges none."""
        drawn = [one.over for one in self._samples().values() if one]
        written: list[Mapping[str, Any]] = [self.grid, self.zip, *drawn]
        for axes in written:
            yield from ({path: v} for path, values in axes.items() if isinstance(values, tuple) for v in values)
        yield from self.points
        for block in self.nested:
            yield from block.listed()

    def lists(self) -> list[list[Row]]:
        """The rows of each design but grid and zip."""
        found: list[Iterator[Row]] = [iter(self.points), *(one.rows() for one in self._samples().values() if one)]
        found.append(row for block in self.nested for row in block.rows())
        return [rows for rows in map(list, found) if rows]

    def rows(self) -> Iterator[Row]:
        """Every combination."""
        axes = [[{path: value} for value in values] for path, values in self.grid.items()]
        together = [dict(zip(self.zip, row, strict=True)) for row in zip(*self.zip.values(), strict=True)]
        for rows in itertools.product(*axes, *([together] if together else []), *self.lists()):
            yield {path: value for row in rows for path, value in row.items()}

    def without(self, paths: frozenset[str]) -> SweepSpec:
        """The same without these paths."""
        grid, moving = ({p: v for p, v in axes.items() if p not in paths} for axes in (self.grid, self.zip))
        listed = [{p: v for p, v in row.items() if p not in paths} for row in self.points]
        samples = {
            kind: one.model_copy(update={"over": {p: v for p, v in one.over.items() if p not in paths}})
            for kind, one in self._samples().items()
            if one
        }
        kept = {kind: one if one.over else None for kind, one in samples.items()}
        points = tuple({_key(row): row for row in listed if row}.values())
        nested = tuple({repr(one): one for one in (b.without(paths) for b in self.nested) if one.paths}.values())
        return self.model_copy(update={"grid": grid, "zip": moving, "points": points, "nested": nested, **kept})


_OVER = {"latin_hypercube": ("latin_hypercube", "over"), "sobol": ("sobol", "over")}


def in_depth(row: Mapping[str, Any]) -> Row:
    """A row with whole sections before what lies under them, which would be lost the other way round."""
    return dict(sorted(row.items(), key=lambda one: one[0].count(".")))


def under(row: Mapping[str, Any], path: str) -> Row:
    """What a row puts at the sections above a path."""
    return {above: value for above, value in row.items() if path.startswith(f"{above}.")}


def _key(row: Mapping[str, Any]) -> str:
    return repr(sorted((path, repr(value)) for path, value in row.items()))
