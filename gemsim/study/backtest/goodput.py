"""Logs of ml-goodput-measurement (github.com/AI-Hypercomputer): its entries, as JSON lines or as CSV.

Keys of its goodput.py and of the checkpoint entries that go with them (checkpoint_badput_calculator.py). It records no
failures: a job that starts again has stopped some time after its last step began.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gemsim.errors import show
from gemsim.study.backtest.events import Event, RunLog, refuse

STEP, STEP_TIME, JOB = "step_count", "step_start_time", "job_name"
ONE_TIME = {  # key -> event; None: what it marks is part of the restart, or hidden behind work
    "job_start_time": "restart",
    "job_end_time": "end",
    **dict.fromkeys(("tpu_init_start_time", "tpu_init_end_time"), None),
    **dict.fromkeys(("training_prep_start_time", "training_prep_end_time"), None),
    **dict.fromkeys(("data_loading_start_time", "data_loading_end_time"), None),
    "custom_badput_event_start_time": "pause_start",
    "custom_badput_event_end_time": "pause_end",
}
SPANS = {  # event_type -> (start, duration, events)
    "save": ("checkpoint_manager_blocking_start_time", "checkpoint_manager_blocking_duration_secs", "save"),
    "restore": ("checkpoint_manager_start_time", "checkpoint_manager_duration_secs", "restore"),
}
KNOWN = (*ONE_TIME, STEP_TIME, "event_type")


def is_goodput(first: str) -> bool:
    """Whether the first line of a file is one of such a log."""
    return first.lstrip().startswith(("{", "[")) or any(name in KNOWN for name in next(csv.reader([first]), []))


def read_goodput(path: Path, lines: Sequence[str]) -> RunLog:
    """The log of its entries, sorted by time. Raises ValueRefused, which names the line."""
    events: list[Event] = []
    jobs: dict[str, int] = {}
    for line, entry in _entries(path, lines):
        jobs.setdefault(str(entry.get(JOB, "")), line)
        events += _events(path, line, entry)
    if len(jobs) > 1:
        names = ", ".join(show(name) for name in jobs)
        raise refuse(path, max(jobs.values()), f"a second job ({names})", "the entries of one job", "split the log")
    if not events:
        raise refuse(path, 1, "no entry tells a time", f"one of {', '.join(KNOWN)}")
    events.sort(key=lambda event: (event.time, not event.kind.endswith("_end")))  # what ends makes room for a step
    once = list({(event.time, event.kind, event.step): event for event in reversed(events)}.values())[::-1]
    twice = len(events) - len(once)
    note = (f"{twice} marks that stand there twice are counted once",) if twice else ()
    return RunLog(path, tuple(_ends(once)), note)


def _entries(path: Path, lines: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if lines[0].lstrip().startswith("["):
        for number, entry in enumerate(_json(path, 1, "\n".join(lines)), 1):
            yield number, _payload(path, number, entry)
    elif lines[0].lstrip().startswith("{"):
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, _payload(path, number, _json(path, number, line))
    else:
        head = next(csv.reader([lines[0]]))
        for number, line in enumerate(lines[1:], 2):
            cells = next(csv.reader([line]), [])
            if cells and len(cells) != len(head):
                raise refuse(path, number, f"{len(cells)} columns ({show(line)})", f"{len(head)}, as in the heading")
            yield number, {name: cell for name, cell in zip(head, cells, strict=False) if cell.strip()}


def _json(path: Path, line: int, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refuse(path, line, f"not JSON ({error})", "one object on a line") from error


def _payload(path: Path, line: int, entry: Any) -> Mapping[str, Any]:
    """An entry, or what an export of Cloud Logging wraps."""
    found = entry.get("jsonPayload", entry) if isinstance(entry, dict) else entry
    if not isinstance(found, dict):
        raise refuse(path, line, f"not an object ({show(found)})", "one object on a line")
    return found


def _events(path: Path, line: int, entry: Mapping[str, Any]) -> Iterator[Event]:
    if not entry:
        return
    if STEP_TIME in entry:
        step = _number(path, line, entry, STEP)
        if step < 0 or step != int(step):
            raise refuse(path, line, f"{STEP}: not a step number ({show(step)})", "a whole number from 0")
        yield Event(_number(path, line, entry, STEP_TIME), "step", int(step), line)
        return
    span = SPANS.get(str(entry.get("event_type")))
    if span is not None:
        start, seconds, name = span
        begin, length = _number(path, line, entry, start), _number(path, line, entry, seconds)
        if length < 0.0:
            raise refuse(path, line, f"{seconds}: negative ({length:g})", "seconds")
        if length > 0.0:
            yield Event(begin, f"{name}_start", None, line)
            yield Event(begin + length, f"{name}_end", None, line)
        return
    known = [key for key in ONE_TIME if key in entry]
    if not known:
        raise refuse(path, line, f"an entry that is not known ({show(', '.join(entry))})", f"one of {', '.join(KNOWN)}")
    for key in known:
        kind = ONE_TIME[key]
        when = _number(path, line, entry, key)
        if kind is not None:
            yield Event(when, kind, None, line)


def _number(path: Path, line: int, entry: Mapping[str, Any], key: str) -> float:
    value = entry.get(key)
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isfinite(number):
        return number
    raise refuse(path, line, f"{key}: not a number ({show(value)})", "seconds since 1970, as the recorder writes them")


def _ends(events: Sequence[Event]) -> Iterator[Event]:
    """A job that has ended and starts again was stopped on purpose."""
    for number, event in enumerate(events):
        later = any(one.kind == "restart" for one in events[number + 1 :]) if event.kind == "end" else False
        yield event._replace(kind="planned") if later else event
