"""A log file to events: which format it has, and whether the events can follow each other."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from gemsim import units
from gemsim.errors import ValueRefused
from gemsim.files import read_file
from gemsim.study.backtest.events import Event, RunLog, refuse
from gemsim.study.backtest.goodput import is_goodput, read_goodput
from gemsim.study.backtest.table import read_table

LARGEST = 2 * 2**30
LONG_STEP, SHORT_GAP = 100.0, 600.0  # a step this many times as long as others, and of so many seconds, is doubted
WORKING = ("step", "run", "save_end", "pause_end")  # after these the job works
FOLLOWS = {  # what may come before
    "save_start": WORKING,
    "save_end": ("save_start",),
    "pause_start": WORKING,
    "pause_end": ("pause_start",),
    "restore_start": ("restart", "restore_end"),
    "restore_end": ("restore_start",),
}


def read_run(path: Path) -> RunLog:
    """The log of a run, in one of two formats (docs/decide.md). Raises ValueRefused, which names the line."""
    try:
        lines = read_file(path, most=LARGEST).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueRefused(f"{path}: not UTF-8 text (byte {error.start})", "UTF-8", "save it as UTF-8") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueRefused(
            f"{path}: cannot be read ({reason})", "a log as CSV or JSON lines", "check the name"
        ) from error
    told = [line for line in lines if line.strip() and not line.startswith("#")]
    if not told:
        raise ValueRefused(f"{path}: is empty", "a log as CSV or JSON lines")
    if is_goodput(told[0]):
        return _lenient(read_goodput(path, lines))
    log = read_table(path, lines)
    _strict(log)
    _whole(log)
    return _gap(log)


def _strict(log: RunLog) -> None:
    """Refuse an event that cannot follow the one before it."""
    before: Event | None = None
    newest = -1
    for event in log.events:
        allowed = FOLLOWS.get(event.kind)
        if allowed is not None and (before is None or before.kind not in allowed):
            after = "at the beginning" if before is None else f"after {before.kind} on line {before.line}"
            raise refuse(log.path, event.line, f"{event.kind} {after}", f"{event.kind} after {' or '.join(allowed)}")
        if event.step is not None and event.kind == "step":
            _forward(log, event, before, newest)
            newest = event.step
        if before is not None and before.kind == "end":
            raise refuse(log.path, event.line, f"{event.kind} after end on line {before.line}", "nothing after end")
        before = event


def _forward(log: RunLog, event: Event, before: Event | None, newest: int) -> None:
    """Steps go on while the job works."""
    if before is None or before.kind not in WORKING or event.step is None or event.step > newest:
        return
    what = f"step {event.step} after step {newest} without a stop between"
    raise refuse(log.path, event.line, what, "larger numbers while the job works", "add the failure or restart row")


def _lenient(log: RunLog) -> RunLog:
    """Leave out marks that cannot be placed, such as a save while the job stands, and say how many."""
    kept: list[Event] = []
    left = 0
    for event in log.events:
        allowed = FOLLOWS.get(event.kind)
        if allowed is not None and (not kept or kept[-1].kind not in allowed):
            left += 1
        else:
            kept.append(event)
    note = (f"{left} marks of saves, restores or pauses cannot be placed and are left out",) if left else ()
    found = RunLog(log.path, tuple(kept), (*log.notes, *note))
    _strict(found)
    _whole(found)
    return _gap(found)


def _gap(log: RunLog) -> RunLog:
    """Say where one step took so long that the job may have stood without a row that says so."""
    pairs = [(before, event) for before, event in pairwise(log.events) if before.kind == event.kind == "step"]
    if len(pairs) < 2:
        return log
    lengths = [(after.time - before.time) / ((after.step or 0) - (before.step or 0)) for before, after in pairs]
    usual, longest = median(lengths), max(lengths)
    if longest <= max(SHORT_GAP, LONG_STEP * usual):
        return log
    before, after = pairs[lengths.index(longest)]
    number = sum(one > max(SHORT_GAP, LONG_STEP * usual) for one in lengths)
    others = " (and others)" if number > 1 else ""
    lines = f"lines {before.line} and {after.line}{others}"
    note = (
        f"{units.brief(after.time - before.time, 'time')} between {lines} count as "
        f"work, though a step takes {units.brief(usual, 'time')}; if the job stood, a failure, planned or pause row is "
        "missing"
    )
    return replace(log, notes=(*log.notes, note))


def _whole(log: RunLog) -> None:
    """Refuse a log that says nothing of work or has no length."""
    if not log.has("step", "run"):
        raise refuse(log.path, log.events[0].line, "no step", "step rows, or run rows in a log without step numbers")
    if log.has("step") and log.has("run"):
        line = next(event.line for event in log.events if event.kind == "run")
        raise refuse(log.path, line, "run in a log that has steps", "step rows alone, or run rows alone")
    if log.seconds <= 0.0:
        raise refuse(log.path, log.events[-1].line, "all events at one time", "times that go on")
