"""The plain table: a CSV file with the columns time, event and step, one line for each event."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gemsim.errors import show
from gemsim.failures.logs.lines import headings
from gemsim.spec.types import closest
from gemsim.study.backtest.events import KINDS, Event, RunLog, refuse

COLUMNS = ("time", "event", "step")
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


def read_table(path: Path, lines: Sequence[str]) -> RunLog:
    """The log of a plain table. Raises ValueRefused, which names the line."""
    rows = _rows(path, lines)
    events: list[Event] = []
    for line, row in rows:
        event = Event(_time(path, line, row["time"]), _kind(path, line, row["event"]), *_step(path, line, row), line)
        if events and event.time < events[-1].time:
            before = f"after {events[-1].time:.12g} on line {events[-1].line}"
            raise refuse(path, line, f"time goes back ({row['time']}, {before})", "times in order", "sort the log")
        events.append(event)
    if not events:
        raise refuse(path, 1, "no rows below the heading", "a row for each event")
    return RunLog(path, tuple(events))


def _rows(path: Path, lines: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, cells by name) of each row; empty lines and comments are none."""
    told = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    head = [cell.strip() for cell in next(csv.reader([told[0][1]]))]
    for name in COLUMNS[:2]:
        if name not in head:
            what = f"no column {name} ({headings(head)})"
            raise refuse(path, told[0][0], what, f"columns {', '.join(COLUMNS)}")
    for number, line in told[1:]:
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if len(cells) != len(head):
            raise refuse(path, number, f"{len(cells)} columns ({show(line)})", f"{len(head)}, as in the heading")
        yield number, dict(zip(head, cells, strict=True))


def _time(path: Path, line: int, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = _date(text)
    if math.isfinite(number):
        return number
    raise refuse(path, line, f"not a time ({show(text)})", "seconds, or ISO 8601", "write e.g. 2026-03-01T12:00:00Z")


def _date(text: str) -> float:
    """Seconds since 1970 of an ISO time, in UTC unless it says otherwise; nan where it is none."""
    try:
        read = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return math.nan
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - EARLIEST).total_seconds()


def _kind(path: Path, line: int, text: str) -> str:
    if text in KINDS:
        return text
    raise refuse(path, line, f"unknown event ({show(text)})", f"one of {', '.join(KINDS)}", closest(text, KINDS))


def _step(path: Path, line: int, row: dict[str, str]) -> tuple[int | None]:
    text = row.get("step", "")
    if text.isdecimal():
        return (int(text),)
    if text or row["event"] == "step":
        raise refuse(path, line, f"not a step number ({show(text)})", "a whole number from 0")
    return (None,)
