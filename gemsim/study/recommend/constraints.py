"""What each bound costs, and how near one comes where nothing meets them all: the table solved again without it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from gemsim import units
from gemsim.results.estimate import Floats
from gemsim.spec.columns import COLUMN_MEASURES
from gemsim.spec.study import Requirement
from gemsim.study.recommend.front import best, met, screened_by
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.screen import Screened


@dataclass(frozen=True, slots=True)
class Shadow:
    """One bound: what the objective would be without it, by which row of the table; None where only the engine can
    judge it."""

    column: str
    bound: str
    without: float = math.nan
    costs: float = math.nan  # of the objective, never negative
    row: int | None = None
    judged: str = "screened"  # or: by the engine alone


@dataclass(frozen=True, slots=True)
class Miss:
    """By how much a row misses a bound."""

    column: str
    bound: str
    value: float


@dataclass(frozen=True, slots=True)
class Nearest:
    """The row that comes nearest where nothing meets every bound, and what it misses."""

    row: int
    misses: tuple[Miss, ...]


def text_of(column: str, bound: Requirement) -> str:
    """A bound as a reader would write it."""
    return f"{column} {bound.op} {value_of(column, bound.value)}"


def value_of(column: str, value: float) -> str:
    """A number of a column with its unit."""
    measure = COLUMN_MEASURES.get(column, "count")
    if measure in ("text", "money") or not math.isfinite(value):
        return f"{value:g}"
    return units.brief(value, cast(units.Dimension, measure))


def shadows(table: Screened, require: Mapping[str, Requirement], sought: Sought) -> list[Shadow]:
    """What each bound costs: the best value without it, less the best with all of them. Some row meets them all."""
    rows = np.flatnonzero(met(table, require, sought))
    held = sought.sign * float(table.columns["value"][best(rows, table, sought)])
    found = []
    for column, bound in require.items():
        said = text_of(column, bound)
        if screened_by(column, sought) is None:
            found.append(Shadow(column, said, judged="by the engine alone"))
            continue
        rest = {name: one for name, one in require.items() if name != column}
        row = best(np.flatnonzero(met(table, rest, sought)), table, sought)
        value = float(table.columns["value"][row])
        found.append(Shadow(column, said, value, max(0.0, sought.sign * value - held), row))
    return found


def nearest(table: Screened, require: Mapping[str, Requirement], sought: Sought) -> Nearest | None:
    """The row whose largest miss is least, each measured by how far its column reaches over the space; of equal ones
    the best. None without rows."""
    if not len(table.flat):
        return None
    worst = np.zeros(len(table.flat))
    for column, bound in require.items():
        name = screened_by(column, sought)
        if name is not None:
            worst = np.maximum(worst, _missed(table.columns[name], bound))
    score = sought.sign * table.columns["value"]
    row = int(np.lexsort((-score, np.round(worst, 12)))[0])
    by = {column: screened_by(column, sought) for column in require}
    numbers = {column: float(table.columns[name][row]) for column, name in by.items() if name is not None}
    return Nearest(row, missed_in(numbers, {column: require[column] for column in numbers}))


def missed_in(row: Mapping[str, Any], require: Mapping[str, Requirement]) -> tuple[Miss, ...]:
    """The bounds that a row of summary.csv misses; a number that is not known misses all."""
    numbers = {column: math.nan if row.get(column) is None else float(row[column]) for column in require}
    return tuple(
        Miss(column, text_of(column, bound), numbers[column])
        for column, bound in require.items()
        if not bound.met(numbers[column])
    )


def _missed(numbers: Floats, bound: Requirement) -> Floats:
    """How far beyond a bound, as a share of the reach of the column over the space with the bound in it; a number that
    is not known is farther than any."""
    beyond = numbers - bound.value if bound.op in ("<=", "<") else bound.value - numbers
    known = numbers[np.isfinite(numbers)]
    reach = max(known.max(initial=bound.value) - known.min(initial=bound.value), 1e-12)
    short = np.where(np.isnan(numbers), np.inf, np.maximum(beyond, 0.0) / reach)
    strict = (bound.op in ("<", ">")) & (beyond == 0.0)
    return np.asarray(np.where(strict, 1e-12, short))
