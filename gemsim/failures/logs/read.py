"""A failure log from a CSV file: the rows asked for, by the names gemsim uses. One pass, block by block.

Nothing is interpreted beyond numbers and times: what the rows mean is the business of `clean`.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.errors import ValueRefused, show
from gemsim.failures.logs.copies import Bools, find_copies
from gemsim.failures.logs.lines import Place, headings, ragged
from gemsim.failures.logs.times import elapsed_hours
from gemsim.files import size_of

Floats = NDArray[np.float64]

NAMES = ("time_h", "start", "node", "component", "downtime_h", "end_h", "end")
LARGEST_BYTES = 4 * 2**30
_BLOCK = 8 * 2**20
_SHOWN = 10  # values of a column in a message
_WANTED = "a CSV file with one line per failure: time_h (or start), node, component, downtime_h"


@dataclass(frozen=True, slots=True)
class Where:
    """Keep the rows whose `column` holds one of `values` (or none of them: `keep` false)."""

    column: str
    values: tuple[str, ...]
    keep: bool = True

    def __str__(self) -> str:
        return f"{self.column}{'=' if self.keep else '!='}{','.join(self.values)}"


@dataclass(frozen=True, slots=True)
class Labels:
    """A column of names: a number for each row, and what each number stands for."""

    codes: NDArray[np.int64]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a log as they stand in the file, hours as floats (nan: empty), in file order."""

    path: Path
    time_h: Floats
    node: Labels | None  # None: the log names no nodes
    component: Labels | None
    downtime_h: Floats
    read: int  # rows in the file, kept or not
    origin: str  # what time 0 is, where the log has absolute times
    foreign: tuple[str, ...]  # columns of the file that are not used
    clock_h: Floats  # the starts as their clock showed them: apart from time_h where offsets change
    copies: Bools  # rows that equal an earlier one in every column; never where no column names nodes
    place: Place


def parse_where(texts: Sequence[str]) -> tuple[Where, ...]:
    """Filters from texts such as `system=18`, `system=18,20` or `component!=experiment`. Raises ValueRefused."""
    found = []
    for text in texts:
        column, equals, values = text.partition("=")
        keep = not column.endswith("!")
        column = column.removesuffix("!").strip()
        if not equals or not column:
            raise ValueRefused(f"--where: not a condition ({show(text)})", "COLUMN=VALUE[,VALUE] or COLUMN!=VALUE")
        found.append(Where(column, tuple(value.strip() for value in values.split(",")), keep))
    return tuple(found)


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Names of the file's columns from texts such as `time_h=T,node=host`. Raises ValueRefused."""
    names: dict[str, str] = {}
    for text in ",".join(texts).split(","):
        if not text.strip():
            continue
        ours, equals, theirs = (part.strip() for part in text.partition("="))
        if not equals or not theirs or ours not in NAMES:
            allowed = f"OURS=COLUMN with OURS one of {', '.join(NAMES)}"
            raise ValueRefused(
                f"--columns: not a pair of names ({show(text)})", allowed, "write e.g. time_h=T,node=host"
            )
        names[ours] = theirs
    return names


def read_log(
    path: Path, *, columns: Mapping[str, str] | None = None, where: Sequence[Where] = (), by: str = "component",
    origin: str | None = None,
) -> Rows:  # fmt: skip
    """Read the rows of `path` that meet all of `where`; `by` is the column whose values are the classes.

    `origin` is the ISO time that becomes 0 where the log has absolute times. Raises ValueRefused.
    """
    names = {name: name for name in NAMES} | dict(columns or {})
    if columns is None or "component" not in columns:
        names["component"] = by
    header = _header(path)
    used = _used(path, header, names, columns or {}, where, by)
    if origin and "start" not in used:
        what = f"{path}: the window is given as ISO times, but {show(used['time_h'])} counts hours"
        raise ValueRefused(what, "a length, or hours of that clock", "e.g. --window '348 d' or '0 h to 348 d'")
    table, rows, at = _table(path, sorted({*used.values(), *(one.column for one in where)}), where)
    if rows == 0:
        raise ValueRefused(f"{path}: no rows below the heading", _WANTED)
    if table.num_rows == 0:
        raise _no_row(path, where, rows)
    text = {name: table.column(column).combine_chunks() for name, column in used.items()}
    place = Place(path, at)
    time_h, down, zero, clock_h = _times(place, text, origin)
    labels = {name: _labels(path, text[name]) for name in ("node", "component") if name in text}
    # Without names of nodes equal rows may be two failures within one tick of the clock.
    copies = find_copies(table, lambda: _table(path, header, where)[0]) if "node" in labels else np.zeros(len(at), bool)
    node, component, foreign = labels.get("node"), labels.get("component"), _foreign(header, used, where)
    return Rows(path, time_h, node, component, down, rows, zero, foreign, clock_h, copies, place)


def _no_row(path: Path, where: Sequence[Where], rows: int) -> ValueRefused:
    """What the columns of `where` hold, and which of it is near what was asked for."""
    allowed, near = [], []
    for one in where:
        held = list(dict.fromkeys(_table(path, [one.column], ())[0].column(one.column).to_pylist()))
        more = f", … ({len(held)} in all)" if len(held) > _SHOWN else ""
        allowed.append(f"{one.column} holds {', '.join(show(value) for value in held[:_SHOWN])}{more}")
        folded = {value.lower(): value for value in held}
        for value in one.values if one.keep else ():
            if value not in held:
                hits = [folded[name] for name in folded if value.lower() in name]
                hits += [folded[name] for name in get_close_matches(value.lower(), folded, n=3)]
                near += [f"{one.column}={hit}" for hit in dict.fromkeys(hits)][:3]
    todo = f"did you mean --where {show(near[0])}?" if near else "check the values"
    if len(near) > 1:
        todo = f"did you mean one of {', '.join(near)}?"
    return ValueRefused(f"{path}: no row of {rows:,} meets --where", "; ".join(allowed), todo)


def _times(place: Place, text: Mapping[str, Any], origin: str | None) -> tuple[Floats, Floats, str, Floats]:
    """Starts and lengths of the outages in hours, the moment that is 0, and the starts as their clock showed them."""
    if "start" in text:
        time_h, zero, clock_h = elapsed_hours(text["start"].to_pylist(), origin, name="start", place=place)
        end = None
        if "end" in text:
            end = elapsed_hours(text["end"].to_pylist(), zero, name="end", place=place, empty=True)[0]
    else:
        time_h, zero = numbers(place, "time_h", text["time_h"]), ""
        clock_h = time_h
        if np.isnan(time_h).any():
            line = place.line(int(np.flatnonzero(np.isnan(time_h))[0]))
            raise ValueRefused(f"{place.path}: time_h is empty or nan in {line}", "a start for every failure")
        end = numbers(place, "end_h", text["end_h"]) if "end_h" in text else None
    if "downtime_h" in text:
        return time_h, numbers(place, "downtime_h", text["downtime_h"]), zero, clock_h
    return time_h, np.full(len(time_h), math.nan) if end is None else end - time_h, zero, clock_h


def _labels(path: Path, column: Any) -> Labels:
    coded = column.dictionary_encode()
    names = tuple(coded.dictionary.to_pylist())
    broken = next((name for name in names if "\n" in name), None)
    if broken is not None:
        raise ValueRefused(
            f"{path}: a name runs over lines ({show(broken)})", "one line per failure", "close the quotes"
        )
    return Labels(coded.indices.to_numpy(zero_copy_only=False).astype(np.int64), names)


def numbers(place: Place, name: str, column: Any) -> Floats:
    """Floats of a column of texts; empty ones are nan. Raises ValueRefused with the line."""
    import pyarrow as pa
    from pyarrow import compute

    filled = compute.if_else(compute.equal(column, ""), "nan", column)
    try:
        values: Floats = compute.cast(filled, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        values = np.array([_number(place, name, text, row) for row, text in enumerate(filled.to_pylist())])
    if np.isinf(values).any():
        line = place.line(int(np.flatnonzero(np.isinf(values))[0]))
        raise ValueRefused(f"{place.path}: {name} is not finite in {line}", "hours, e.g. 93.5")
    return values


def _number(place: Place, name: str, text: str, row: int) -> float:
    try:
        return float(text)
    except ValueError:
        todo = "name a column of absolute times with --columns start=COLUMN" if name == "time_h" else ""
        what = f"{place.path}: {name} is not a number in {place.line(row)} ({show(text)})"
        raise ValueRefused(what, "hours, e.g. 93.5", todo) from None


def _header(path: Path) -> list[str]:
    """The names in the first line, without spaces around them. Refuses what is no text file."""
    names = [name.strip() for name in _headings(path)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueRefused(f"{path}: two columns are called {show(twice[0])}", "a name of its own for each column")
    return names


def _headings(path: Path) -> list[str]:
    """The names as they are written."""
    try:
        size_of(path, most=LARGEST_BYTES)
        with path.open("rb") as stream:
            head = stream.read(65536)
    except OSError as error:
        todo = "cut the log by time or system" if error.errno == errno.EFBIG else ""
        raise ValueRefused(f"{path}: cannot be read ({error.strerror})", _WANTED, todo) from error
    if not head:
        raise ValueRefused(f"{path}: the file is empty", _WANTED)
    if b"\0" in head:
        raise ValueRefused(f"{path}: not a text file (it holds zero bytes)", _WANTED)
    import csv

    try:
        line = head.decode("utf-8-sig", errors="strict" if len(head) < 65536 else "ignore").splitlines()[0]
        return next(csv.reader([line]))
    except (UnicodeDecodeError, csv.Error, IndexError, StopIteration):
        raise ValueRefused(f"{path}: not a text file in UTF-8", _WANTED) from None


def _used(
    path: Path, header: list[str], names: Mapping[str, str], given: Mapping[str, str], where: Sequence[Where], by: str
) -> dict[str, str]:
    """Which column of the file serves each of our names."""
    present = {ours: theirs for ours, theirs in names.items() if theirs in header}
    wanted = [*given.values(), *(one.column for one in where)] + ([by] if by != "component" else [])
    lost = next((column for column in wanted if column not in header), None)
    if lost is not None:
        raise ValueRefused(f"{path}: no column {show(lost)}", headings(header))
    if "start" in given or "time_h" not in present:
        present.pop("time_h", None)
    else:
        present.pop("start", None)
        present.pop("end", None)
    if "time_h" not in present and "start" not in present:
        raise ValueRefused(
            f"{path}: no column of times ('time_h' in hours or 'start' as ISO 8601)", headings(header),
            "name it, e.g. --columns time_h=COLUMN or --columns start=COLUMN",
        )  # fmt: skip
    return present


def _foreign(header: list[str], used: Mapping[str, str], where: Sequence[Where]) -> tuple[str, ...]:
    known = {*used.values(), *(one.column for one in where)}
    return tuple(name for name in header if name and name not in known)


def _reading(path: Path) -> Any:
    """How the file is cut: its own headings, or those without the spaces around them."""
    from pyarrow import csv

    written = _headings(path)
    names = [name.strip() for name in written]
    if written == names:
        return csv.ReadOptions(block_size=_BLOCK)
    return csv.ReadOptions(block_size=_BLOCK, column_names=names, skip_rows_after_names=1)


def _table(path: Path, columns: Sequence[str], where: Sequence[Where]) -> tuple[Any, int, NDArray[np.int64]]:
    """The rows kept of the named columns, as text, the number of all rows, and which of them were kept; read a few
    megabytes at a time."""
    import pyarrow as pa
    from pyarrow import compute, csv

    types = {name: pa.string() for name in columns}
    options = csv.ConvertOptions(column_types=types, include_columns=columns, strings_can_be_null=False)
    kept: list[Any] = []
    at, rows = [np.empty(0, dtype=np.int64)], 0
    try:
        for batch in csv.open_csv(path, read_options=_reading(path), convert_options=options):
            trimmed = [compute.utf8_trim_whitespace(column) for column in batch.columns]
            table, chosen = pa.table(trimmed, names=batch.schema.names), np.ones(batch.num_rows, dtype=bool)
            for one in where:
                among = compute.is_in(table.column(one.column), value_set=pa.array(one.values))
                chosen &= among.to_numpy() == one.keep
            kept.append(table.filter(pa.array(chosen)) if where else table)
            at.append(rows + np.flatnonzero(chosen))
            rows += batch.num_rows
    except pa.ArrowInvalid as error:
        what = ragged(path) or " ".join(str(error).split())[:120]
        raise ValueRefused(f"{path}: not a table ({what})", _WANTED) from error
    empty = pa.table({name: pa.array([], pa.string()) for name in columns})
    return pa.concat_tables(kept) if kept else empty, rows, np.concatenate(at)
