"""One row per replication, kept as append-only Parquet parts.

A part appears under its name only once it is complete and on the disk, so a kill at any moment leaves whole parts.
"""

from __future__ import annotations

import json
import math
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gemsim.errors import ResultsError, show
from gemsim.results.folder import replace_durably, writing
from gemsim.results.ledger import FLEET_LEDGER, LEDGER

CLOSURE = 1e-9  # the ledger sums to the wall time within this share of it
_SECONDS = ("wall_s", *(f"{name}_s" for name in LEDGER), "at_risk_s")
_LOSSES = ("wasted_failures_s", "cost_failures_s", "touch_lost_s")
FLEET = ("planned_stops", "found_early", "joins_failed", "selections", "borrowed", "retired")
_COUNTS = (
    *("steps", "failures", "interruptions", "failures_idle", "fallbacks", "rollbacks", "unrecoverable"),
    *("touch_failures", *FLEET),
)
_TEXTS = ("by_class", "lost_by_class", "by_tier", "overhead_by_tier")
GPU_SECONDS = (*FLEET_LEDGER, "gpu_s_reserved")
NUMBERS = (*_SECONDS, *_LOSSES, *GPU_SECONDS, *_COUNTS)
ROW_COLUMNS = ("point", "replication", *NUMBERS, *_TEXTS)


def _field(name: str, kind: pa.DataType, unit: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"unit": unit})


SCHEMA = pa.schema(
    [
        _field("point", pa.string(), "scenario id"),
        _field("seed", pa.int64(), "1"),
        _field("replication", pa.int64(), "1"),
    ]
    + [_field(name, pa.float64(), "s") for name in (*_SECONDS, *_LOSSES)]
    + [_field(name, pa.float64(), "GPU s") for name in GPU_SECONDS]
    + [_field(name, pa.int64(), "1") for name in _COUNTS]
    + [_field(name, pa.string(), "JSON") for name in _TEXTS]
)


def check_row(row: Mapping[str, Any]) -> None:
    """Raise ResultsError unless `row` has exactly the columns of a replication, finite, with a closed ledger."""
    missing = [name for name in ROW_COLUMNS if name not in row]
    extra = [name for name in row if name not in ROW_COLUMNS]
    if missing or extra:
        raise ResultsError(f"a row of a replication has wrong columns: missing {missing}, unknown {extra}")
    rounding = CLOSURE * max(row["wall_s"], row["gpu_s_reserved"], 0.0)
    bad = [name for name in NUMBERS if not math.isfinite(row[name]) or row[name] < -rounding]
    if bad:
        raise ResultsError(f"a row of a replication has numbers that are negative or not finite: {bad}")
    for name in _TEXTS:
        json.loads(row[name])
    wall = float(row["wall_s"])
    booked = math.fsum(row[f"{name}_s"] for name in LEDGER)
    if wall <= 0.0 or abs(booked - wall) > CLOSURE * wall:
        raise ResultsError(f"the ledger of a replication sums to {booked!r} s; it must be the wall time, {wall!r} s")
    reserved, held = float(row["gpu_s_reserved"]), math.fsum(row[name] for name in FLEET_LEDGER)
    if abs(held - reserved) > CLOSURE * reserved:
        raise ResultsError(f"the fleet ledger of a replication sums to {held!r} GPU-s; {reserved!r} were reserved")


class RowStore:
    """The parts in one folder. Only one process may write; readers see whole parts only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def append(self, rows: Sequence[Mapping[str, Any]], *, seed: int) -> None:
        """Write `rows` (checked by `check_row`) as one new part, on the disk before this returns."""
        columns = {name: [seed] * len(rows) if name == "seed" else [row[name] for row in rows] for name in SCHEMA.names}
        name = f"part-{uuid.uuid4().hex}.parquet"
        temporary = self.folder / f".{name}.tmp"
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as stream:
                pq.write_table(pa.table(columns, schema=SCHEMA), stream)
                stream.flush()
                os.fsync(stream.fileno())
            replace_durably(temporary, self.folder / name)

    def clean(self) -> None:
        """Remove what a killed writer left half-written. Only the process that holds the folder may call this."""
        with writing(self.folder):
            for leftover in self.folder.glob(".part-*.tmp"):
                leftover.unlink(missing_ok=True)

    def read(self) -> pa.Table:
        """All rows, ordered by (point, replication), each pair once."""
        tables = [self._read_part(path) for path in sorted(self.folder.glob("part-*.parquet"))]
        if not tables:
            return SCHEMA.empty_table()
        table = pa.concat_tables(tables).sort_by([("point", "ascending"), ("replication", "ascending")])
        keys = list(zip(table["point"].to_pylist(), table["replication"].to_pylist(), strict=True))
        return table.filter(pa.array([i == 0 or key != keys[i - 1] for i, key in enumerate(keys)], pa.bool_()))

    def _read_part(self, path: Path) -> pa.Table:
        try:
            table = pq.ParquetFile(path).read()
            table.validate(full=True)
        except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names or texts that are not UTF-8
            what = show(str(error))
            raise ResultsError(f"{path}: cannot be read ({what}); remove this file and run again") from error
        if not table.schema.equals(SCHEMA):
            raise ResultsError(f"{path}: its columns are those of another version; use another folder (--out)")
        return table


def other_seeds(table: pa.Table, seed: int) -> list[int]:
    """The seeds in `table` that are not `seed`, smallest first."""
    return sorted(set(table["seed"].unique().to_pylist()) - {seed})
