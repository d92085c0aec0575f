"""Rows as tidy pandas frames: a row for each observation, a column for each variable, its unit in `attrs["units"]`.

Units come from where the columns are declared: spec.columns for summary.csv, the Parquet schema for replications, and
the field of the study for what is swept. Numbers are in SI.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from gemsim import units
from gemsim.errors import UnitError
from gemsim.results.costs import MEASURES
from gemsim.results.rows import SCHEMA
from gemsim.results.summary import RESULT_COLUMNS, Point, Row
from gemsim.spec.columns import unit_of
from gemsim.spec.lifting import dimension_at
from gemsim.spec.loading import LoadedStudy

UNITS = "units"
AS_WRITTEN = "as written"
WORDS = ("text", "JSON", "scenario id", "true or false", AS_WRITTEN)  # units of columns that hold no numbers
OF_DIMENSION = {
    "time": "s",
    "bytes": "B",
    "bandwidth": "B/s",
    "share": "1",
    "count": "1",
    "flops": "FLOP/s",
    "power": "W",
    "carbon": "kg/J",
    "rate": "1/s",
    "price": "currency of prices",
}
ROW_UNITS = {field.name: field.metadata[b"unit"].decode() for field in SCHEMA}
COST_UNITS = {"gpu_h": "GPU h", "energy_kwh": "kWh", "co2_kg": "kg"}
ANALYTIC = tuple(name for name in RESULT_COLUMNS if "analytic" in name and name not in ("z_analytic",))
FORESEEN = (  # of summary.csv, what needs no simulation
    *("variant", "feasible", "reason"),
    *ANALYTIC,
    *("unrecoverable_note", "ettr_input_lo", "ettr_input_hi", "input_draws", "input_failures", "input_note"),
    *("step_overhead", "memory_overhead", "survivable_burst_pages", "blind_falls_per_run"),
    *("interval_s", "optimum_ettr", "spare_nodes", "profile", "modelled", "point"),
)

Convert = Callable[[Any], Any]


def frame(rows: Iterable[Mapping[str, Any]], unit_by_column: Mapping[str, str]) -> pd.DataFrame:
    """The rows as a frame with exactly these columns; a number that is not known is NaN."""
    table = pd.DataFrame.from_records(list(rows), columns=list(unit_by_column))
    for name, unit in unit_by_column.items():
        if unit not in WORDS and (table[name].dtype == object or table.empty):
            table[name] = table[name].astype("float64")
    return with_units(table, unit_by_column)


def with_units(table: pd.DataFrame, unit_by_column: Mapping[str, str]) -> pd.DataFrame:
    """The same frame, which says the unit of each of its columns."""
    table.attrs[UNITS] = {str(name): unit_by_column[str(name)] for name in table.columns}
    return table


class Swept:
    """The swept paths of a study as columns: quantities in SI, and words as they are written."""

    def __init__(self, loaded: LoadedStudy, values: Mapping[str, Sequence[Any]]) -> None:
        self.units: dict[str, str] = {}
        self._convert: dict[str, Convert] = {}
        for path, found in values.items():
            dimension = dimension_at(loaded.raw, path)
            convert = _converter(dimension, found)
            self.units[path] = AS_WRITTEN if convert is None else OF_DIMENSION[str(dimension)]
            if convert is not None:
                self._convert[path] = convert

    def row(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """The values of one design point; None where the path does not apply to it."""
        return {path: self._one(path, columns.get(path, "")) for path in self.units}

    def _one(self, path: str, value: Any) -> Any:
        if value == "":
            return None
        return self._convert[path](value) if path in self._convert else value


def swept_by(loaded: LoadedStudy, points: Sequence[Any]) -> Swept:
    """What the design points of a study sweep."""
    paths = list(points[0].columns) if points else []
    return Swept(loaded, {path: [point.columns[path] for point in points] for path in paths})


def _converter(dimension: str | None, values: Sequence[Any]) -> Convert | None:
    """How each of the values becomes a number in SI; None where one is a word (optimal) or a rate of each device."""
    if dimension not in OF_DIMENSION or dimension == "price":
        return None

    def convert(value: Any) -> Any:
        number: Any = units.parse(value, dimension)  # type: ignore[call-overload]
        if isinstance(number, units.Rate):
            if number.per != "job":
                raise UnitError("a rate for each device")
            number = number.value
        return int(number) if isinstance(value, int) else number

    try:
        for value in values:
            if value != "":
                convert(value)
    except UnitError:
        return None
    return convert


def summary_frame(rows: Sequence[Row], swept: Swept, currency: str, columns: Sequence[str]) -> pd.DataFrame:
    """Rows of a summary: what is swept, then these columns."""
    known = {name: unit_of(name, currency) for name in columns}
    return frame(({**row, **swept.row(row)} for row in rows), {**swept.units, **known})


def cost_frame(rows: Sequence[Row], swept: Swept, currency: str) -> pd.DataFrame:
    """Rows of costs.csv: one for each design and category."""
    money = currency or OF_DIMENSION["price"]
    spent = {f"{name}_per_{per}": COST_UNITS.get(name, money) for per in ("run", "failure") for name in MEASURES}
    known = {"variant": "text", "category": "text", **spent, "currency": "text", "point": "scenario id"}
    return frame(({**row, **swept.row(row)} for row in rows), {**swept.units, **known})


def first_rows(table: pa.Table, replications: Mapping[str, int]) -> pd.DataFrame:
    """The rows of the first replications of each design, by id; a folder may hold more, and other designs."""
    found: pd.DataFrame = table.to_pandas()
    return found[found["replication"] < found["point"].map(lambda id_: replications.get(id_, 0)).astype("int64")]


def rows_frame(
    points: Sequence[Point], table: pa.Table, swept: Swept, *, replications: Mapping[str, int]
) -> pd.DataFrame:
    """A row for each design point and replication, of the first of each design: what it varies, then its ledger row.

    Points that are one design (m = 0 for every k) each have their rows, under one `point`.
    """
    kept = first_rows(table, replications)
    heads = [{"variant": one.variant, **swept.row(one.columns), "point": one.id, "_": one.index} for one in points]
    head_units = {"variant": "text", **swept.units, "point": "scenario id", "_": "1"}
    joined = frame((head for head in heads if head["point"]), head_units).merge(kept, on="point", how="inner")
    joined = joined.sort_values(["_", "replication"], kind="stable", ignore_index=True).drop(columns="_")
    return with_units(joined, {**head_units, **ROW_UNITS})


def units_of(table: pd.DataFrame) -> dict[str, str]:
    """Column to unit."""
    found: dict[str, str] = table.attrs[UNITS]
    return found
