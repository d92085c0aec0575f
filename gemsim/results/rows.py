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

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gemsim.errors import ResultsError, show
from gemsim.results.folder import sync_folder, whole, writing
from gemsim.results.ledger import FLEET_LEDGER, LEDGER

LOOSE = 256  # small parts of one run before they are united
LARGE = 250_000  # rows from which a part is left alone
TRIES = 50  # readings of a folder whose writer unites parts meanwhile
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


def wrong_in(table: pa.Table) -> str:
    """What in rows that were read cannot be right, as `check_row` has it; "" where nothing is.

    Checksums cover the pages of a part; what says where these lie is not covered.
    """
    columns = {name: table[name].to_numpy() for name in NUMBERS}
    wall, reserved = columns["wall_s"], columns["gpu_s_reserved"]
    rounding = CLOSURE * np.maximum(np.maximum(wall, reserved), 0.0)
    for name, values in columns.items():
        if not np.all(np.isfinite(values) & (values >= -rounding)):
            return f"{name} is negative or no number"
    booked = sum(columns[f"{name}_s"] for name in LEDGER)
    held = sum(columns[name] for name in FLEET_LEDGER)
    if not np.all((wall > 0.0) & (np.abs(booked - wall) <= 2.0 * CLOSURE * wall)):  # twice: sums are rounded here
        return "a ledger does not sum to the wall time"
    return "" if np.all(np.abs(held - reserved) <= 2.0 * CLOSURE * reserved) else "GPU-seconds do not sum to those held"


class RowStore:
    """The parts in one folder. Only the process that holds the folder may write; anyone may read at any time.

    Parts are united as they grow many, new one first, so a kill leaves rows twice at worst; `read` gives each once.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._loose: list[tuple[Path, pa.Table]] = []  # small parts of this process, not united yet
        self._made = False

    def append(self, rows: Sequence[Mapping[str, Any]], *, seed: int) -> None:
        """Write `rows` (checked by `check_row`) as one new part, on the disk before this returns."""
        columns = {name: [seed] * len(rows) if name == "seed" else [row[name] for row in rows] for name in SCHEMA.names}
        self.append_table(pa.table(columns, schema=SCHEMA))

    def append_table(self, table: pa.Table) -> None:
        """`append` of rows that are a table already."""
        if not self._made:  # once: a folder that vanishes later is an error, not a reason to make it again
            with writing(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            self._made = True
        self._loose.append((self._write(table), table))
        if len(self._loose) >= LOOSE:
            self._unite([path for path, _ in self._loose], pa.concat_tables([table for _, table in self._loose]))
            self._loose = []

    def clean(self) -> None:
        """Remove what a killed writer left half-written. Only the process that holds the folder may call this."""
        with writing(self.folder):
            for leftover in self.folder.glob(".part-*.tmp"):
                leftover.unlink(missing_ok=True)

    def compact(self) -> None:
        """Unite all small parts into one, ordered. Only the process that holds the folder may call this."""
        self._loose = []
        with writing(self.folder):
            small = [path for path in self._parts() if self._rows(path) < LARGE]
            if len(small) > 1:
                self._unite(small, each_once([(str(path), self._read_part(path)) for path in small]))

    def read(self) -> pa.Table:
        """All rows, ordered by (point, replication), each pair once; ResultsError where two rows of one pair differ."""
        for _ in range(TRIES):
            try:
                return each_once([(str(path), self._read_part(path)) for path in self._parts()])
            except FileNotFoundError:  # its writer has united it with others since it was listed
                continue
        raise ResultsError(f"{self.folder}: its parts vanish while they are read; try again")

    def keys(self) -> set[tuple[str, int]]:
        """(point, replication) of all rows."""
        for _ in range(TRIES):
            try:
                tables = [self._read_part(path, ["point", "replication"]) for path in self._parts()]
            except FileNotFoundError:
                continue
            return {key for table in tables for key in keys_of(table)}
        raise ResultsError(f"{self.folder}: its parts vanish while they are read; try again")

    def _parts(self) -> list[Path]:
        """The parts at one moment: a listing is none while names come and go, so two in a row must agree."""
        before: list[Path] | None = None
        while True:
            found = sorted(self.folder.glob("part-*.parquet"))
            if found == before:
                return found
            before = found

    def _write(self, table: pa.Table) -> Path:
        path = self.folder / f"part-{uuid.uuid4().hex}.parquet"
        with whole(path) as stream:
            pq.write_table(table, stream, write_page_checksum=True)
        return path

    def _unite(self, paths: Sequence[Path], table: pa.Table) -> None:
        """One part in place of several: it is on the disk before they go."""
        self._write(table.combine_chunks())
        with writing(self.folder):
            for path in paths:
                path.unlink(missing_ok=True)
            sync_folder(self.folder)

    def _rows(self, path: Path) -> int:
        try:
            with _opened(path) as stream:
                return int(pq.read_metadata(stream).num_rows)
        except FileNotFoundError:
            raise
        except (OSError, ValueError, pa.ArrowException) as error:
            raise _unreadable(path, error) from error

    def _read_part(self, path: Path, columns: list[str] | None = None) -> pa.Table:
        try:
            with _opened(path) as stream, pq.ParquetFile(stream, page_checksum_verification=True) as part:
                schema, table = part.schema_arrow, part.read(columns)
                table.validate(full=True)
        except FileNotFoundError:
            raise
        except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names or texts that are not UTF-8
            raise _unreadable(path, error) from error
        if not schema.equals(SCHEMA):
            raise ResultsError(f"{path}: its columns are those of another version; use another folder (--out)")
        wrong = "" if columns else wrong_in(table)
        if wrong:
            raise ResultsError(f"{path}: holds what no run wrote ({wrong}); remove this file and run again")
        return table


def _opened(path: Path) -> pa.NativeFile:
    """A file of Arrow's own: a name with a colon would be taken for an address, and a stream of Python would be let go
    by a thread of Arrow's, which ends the process by a signal if the interpreter is ending just then."""
    return pa.OSFile(os.fsencode(path))


def _unreadable(path: Path, error: Exception) -> ResultsError:
    return ResultsError(f"{path}: cannot be read ({show(str(error))}); remove this file and run again")


def each_once(named: Sequence[tuple[str, pa.Table]]) -> pa.Table:
    """All rows of the tables, ordered by (point, replication), each pair once.

    Raises ResultsError, with the names of the tables, where two rows of one pair differ.
    """
    if not named:
        return SCHEMA.empty_table()
    table = pa.concat_tables([table for _, table in named])
    table = table.sort_by([("point", "ascending"), ("replication", "ascending")])
    again = _repeats(table)
    if not len(again):
        return table
    rows, others = (table.take(pa.array(at)) for at in (again, again - 1))
    for name in SCHEMA.names:
        same = pc.equal(rows[name], others[name]).to_numpy()
        if not same.all():
            _refuse(named, rows.slice(int(np.argmin(same)), 1), name)
    return table.filter(pa.array(np.isin(np.arange(len(table)), again, invert=True)))


def _repeats(table: pa.Table) -> npt.NDArray[np.int64]:
    """Where an ordered table has the pair of the row before."""
    points, replications = table["point"], table["replication"]
    if len(table) < 2:
        return np.empty(0, np.int64)
    same = pc.and_(pc.equal(points[1:], points[:-1]), pc.equal(replications[1:], replications[:-1]))
    return np.flatnonzero(same.to_numpy()) + 1


def _refuse(named: Sequence[tuple[str, pa.Table]], row: pa.Table, column: str) -> None:
    """Raise ResultsError about the two rows of the replication in `row`, which differ in `column`."""
    ((point, replication),) = keys_of(row)
    holds = pc.and_(pc.equal(_all(named, "point"), point), pc.equal(_all(named, "replication"), replication))
    places = np.repeat(np.arange(len(named)), [len(table) for _, table in named])[holds.to_numpy()]
    where = " and ".join(dict.fromkeys(named[at][0] for at in places))
    what = f"two rows of replication {replication} of point {point[:16]} differ (in {column})"
    why = "the same replication gives the same row, so other versions or processors made them, or one was changed"
    raise ResultsError(f"{where}: {what}; {why}; keep the one you trust, remove the other and run again")


def _all(named: Sequence[tuple[str, pa.Table]], name: str) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for _, table in named for chunk in table[name].chunks])


def keys_of(table: pa.Table) -> list[tuple[str, int]]:
    """(point, replication) of each row."""
    return list(zip(table["point"].to_pylist(), table["replication"].to_pylist(), strict=True))


def other_seeds(table: pa.Table, seed: int) -> list[int]:
    """The seeds in `table` that are not `seed`, smallest first."""
    return sorted(set(table["seed"].unique().to_pylist()) - {seed})
