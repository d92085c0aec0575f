"""From rows to a log that can be counted: sorted, within its window, healthy nodes included; every repair is told.

The traps are those of real logs: healthy nodes are missing from the file, empty down time is unknown and 0 is real,
outages overlap or outlive the window, rows are unsorted, the first days are thin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemsim.errors import ValueRefused
from gemsim.failures.logs.copies import written_twice
from gemsim.failures.logs.exposure import Exposure
from gemsim.failures.logs.read import Rows
from gemsim.failures.logs.statistics import MINUTES_10_H, joint_starts
from gemsim.failures.logs.ticks import resolution, rounded
from gemsim.failures.logs.wording import counted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STRETCH = 0.01  # a window this much shorter than its log was rounded; more is a wrong window
_THIN = 0.01  # chance of so late a first event at a constant rate below which it is told
LONGEST_H = 100 * 8766.0  # of an outage, or of what is observed


@dataclass(frozen=True, slots=True)
class Log:
    """Failures of `nodes` nodes in a window of `window_h` hours, sorted by start; hours count from its beginning."""

    time_h: Floats
    node: Ints  # below `nodes`; all 0 where the log names no nodes
    kind: Ints  # position in `kinds`
    kinds: tuple[str, ...]
    downtime_h: Floats  # nan: not known
    window_h: float
    nodes: int
    node_hours: float
    named: bool  # the log says which node failed
    tick_h: float  # resolution of the starts; 0 if none is seen
    begin_h: float
    source: str
    exposure: Exposure | None = None
    notes: tuple[str, ...] = ()
    copies: NDArray[np.bool_] | None = None  # rows that equal an earlier one in every column; None: none do

    def only(self, kept: NDArray[np.bool_] | Ints) -> Log:
        """The same window and nodes with some of the events."""
        from dataclasses import replace

        copies = None if self.copies is None else self.copies[kept]
        return replace(
            self, time_h=self.time_h[kept], node=self.node[kept], kind=self.kind[kept],
            downtime_h=self.downtime_h[kept], copies=copies,
        )  # fmt: skip

    def once(self) -> Log:
        """The log with rows that are equal in every column counted once."""
        return self if self.copies is None else self.only(~self.copies)


@dataclass(slots=True)
class _Notes:
    lines: list[str] = field(default_factory=list)

    def add(self, count: float, line: str) -> None:
        if count:
            self.lines.append(line)


def clean(
    rows: Rows, *, nodes: int | None, begin_h: float | None, window_h: float | None, exposure: Exposure | None = None,
    merge_h: float = 0.0,
) -> Log:  # fmt: skip
    """The log of these rows. Raises ValueRefused for what cannot be counted: negative times, too few nodes, a window
    that ends before the last event, one event alone."""
    notes = _Notes()
    begin, window = _window(rows, begin_h, window_h, notes)
    count = len(rows.time_h)
    if count < 2:
        raise ValueRefused(
            f"{rows.path}: one event", "two or more: one says nothing of how often or how regular", "take a longer log"
        )
    if (rows.downtime_h > LONGEST_H).any():
        row = int(np.flatnonzero(rows.downtime_h > LONGEST_H)[0])
        what = f"{rows.path}: an outage of {rows.downtime_h[row]:.3g} h ({rows.place.line(row)})"
        raise ValueRefused(what, "at most 100 years", "times are in hours; leave it empty where it is not known")
    if (rows.downtime_h < 0).any():
        row = int(np.flatnonzero(rows.downtime_h < 0)[0])
        what = f"{rows.path}: a down time is negative ({rows.downtime_h[row]:g} h, {rows.place.line(row)})"
        raise ValueRefused(what, "0 or more hours")
    order = np.argsort(rows.time_h, kind="stable")
    time_h = rows.time_h[order] - begin
    notes.add(bool((np.diff(rows.time_h) < 0).any()), "rows out of time order: sorted")
    down = rows.downtime_h[order]
    node, names, total = _nodes(rows, nodes, exposure, notes)
    node = node[order]
    _downtimes(down, time_h, node, window, notes)
    copies = rows.copies[order] if names and rows.copies.any() else None
    if copies is not None and count - int(copies.sum()) < 2:
        raise ValueRefused(
            f"{rows.path}: one event, written {count} times",
            "two or more: one says nothing of how often or how regular", "take a longer log",
        )  # fmt: skip
    _thin_start(time_h, window, notes)
    kinds = rows.component.names if rows.component is not None else ("all",)
    kind = rows.component.codes[order] if rows.component is not None else np.zeros(count, dtype=np.int64)
    notes.add(
        len(rows.foreign), f"columns not used: {', '.join(rows.foreign[:8])}{' …' if len(rows.foreign) > 8 else ''}"
    )
    tick = resolution(rows.clock_h)
    notes.add(bool(uneven := rounded(rows.clock_h, tick)), uneven)
    _repeats(time_h, node, names, merge_h, notes)
    copies, said = written_twice(time_h, node, copies, tick, window, told=merge_h == 0)
    notes.lines += said if names else []
    hours = exposure.node_hours if exposure is not None else total * window
    return Log(
        time_h, node, kind, tuple(name or "(empty)" for name in kinds), down, window, total, hours,
        names, tick, begin, rows.path.name, exposure, tuple(notes.lines), copies,
    )  # fmt: skip


def _window(rows: Rows, begin_h: float | None, window_h: float | None, notes: _Notes) -> tuple[float, float]:
    first, last = float(rows.time_h.min()), float(rows.time_h.max())
    begin = 0.0 if begin_h is None else begin_h
    if window_h is None:
        raise ValueRefused(
            f"{rows.path}: the observed window is not known", "the time during which every failure was logged",
            "give --window \"348 d\" (or 'FROM to TO'), or obs_start_h and obs_end_h in a meta.json beside the log",
        )  # fmt: skip
    if window_h <= 0:
        raise ValueRefused(f"{rows.path}: the window is empty ({window_h:g} h)", "a positive length")
    if first < begin - 1e-9:
        line = rows.place.line(int(rows.time_h.argmin()))
        what = "a negative time" if begin == 0 else f"an event before the window begins at {begin:g} h"
        raise ValueRefused(
            f"{rows.path}: {what} ({first:g} h, {line})", "starts within the window",
            "shift them, or give --window 'FROM to TO', e.g. '-10 h to 348 d'",
        )  # fmt: skip
    beyond = last - begin - window_h
    if beyond > _STRETCH * window_h:
        raise ValueRefused(
            f"{rows.path}: the last event ({last:g} h) lies after the window ends ({begin + window_h:g} h)",
            "a window that holds every event", "give a longer --window, or cut the log",
        )  # fmt: skip
    if beyond > 0:
        late = int((rows.time_h > begin + window_h).sum())
        notes.lines.append(
            f"{counted(late, 'outage starts', 'outages start')} up to {beyond:.4g} h after the window ends: counted,"
            f" and the window is stretched from {window_h:g} to {window_h + beyond:g} h"
        )
        window_h += beyond
    notes.add(
        bool(rows.origin) and begin_h is None,
        f"time 0 is the first event ({rows.origin}); --window 'ISO to ISO' sets it",
    )
    return begin, window_h


def _nodes(rows: Rows, nodes: int | None, exposure: Exposure | None, notes: _Notes) -> tuple[Ints, bool, int]:
    """The node of each row, whether the log names nodes at all, and how many there are with the healthy ones."""
    count = len(rows.time_h)
    if rows.node is not None and "" in rows.node.names and len(rows.node.names) > 1:
        nameless = np.flatnonzero(rows.node.codes == rows.node.names.index(""))
        first = rows.place.line(int(nameless[0]))
        raise ValueRefused(
            f"{rows.path}: {len(nameless)} of {count} events name no node (first in {first})",
            "a node for every event, or for none",
            "leave them out with --where node!=, or the column with --columns node=OTHER",
        )  # fmt: skip
    if exposure is not None:
        if rows.node is None:
            raise ValueRefused(f"{rows.path}: no column node, which --exposure needs", "the names of the exposure file")
        notes.lines.append(exposure.describe())
        return exposure.index(rows.node.names, rows.path)[rows.node.codes], True, len(exposure.names)
    if nodes is None:
        raise ValueRefused(
            f"{rows.path}: the number of nodes is not known",
            "all nodes observed, the healthy ones too, which no log shows",
            "give --nodes N, nodes in a meta.json beside the log, or --exposure ADD_REMOVE.csv",
        )  # fmt: skip
    seen = 0 if rows.node is None else len(rows.node.names)
    named = rows.node is not None and not (seen == 1 and nodes > 1 and (rows.node.names[0] in ("job", "")))
    if not named or rows.node is None:
        notes.lines.append(
            "the log names no nodes: the rates are those of the job, and nothing is said of single nodes"
        )
        return np.zeros(count, dtype=np.int64), False, nodes
    if seen > nodes:
        raise ValueRefused(
            f"{rows.path}: {seen} nodes appear in the log, more than --nodes {nodes}",
            "all nodes observed",
            "give the right N",
        )
    healthy = nodes - seen
    notes.add(healthy, f"{healthy} of {nodes} nodes do not appear in the log: counted as healthy throughout")
    return rows.node.codes, True, nodes


def _downtimes(down: Floats, time_h: Floats, node: Ints, window: float, notes: _Notes) -> None:
    count, unknown, zero = len(down), int(np.isnan(down).sum()), int((down == 0).sum())
    if unknown == count:
        notes.lines.append("no down time is known: no repair law, no unavailability")
        return
    notes.add(unknown, f"{unknown} of {count} down times are empty: not known, left out of the repair law, never 0")
    notes.add(zero, f"{counted(zero, 'down time is', 'down times are')} 0 h: kept as real")
    past = int((time_h + down > window).sum())
    notes.add(
        past,
        f"{counted(past, 'outage outlives', 'outages outlive')} the window: clipped for unavailability,"
        " whole in the repair law",
    )
    lapped = overlapping(time_h, np.nan_to_num(down), node)
    notes.add(
        lapped,
        f"{counted(lapped, 'outage begins', 'outages begin')} before the last one of the node ended:"
        " that time is counted once",
    )


def overlapping(time_h: Floats, down: Floats, node: Ints) -> int:
    """Outages that begin while their node is still out; starts sorted."""
    ends: dict[int, float] = {}
    count = 0
    for start, length, who in zip(time_h.tolist(), down.tolist(), node.tolist(), strict=True):
        count += start < ends.get(who, -math.inf) - 1e-9
        ends[who] = max(ends.get(who, -math.inf), start + length)
    return count


def _thin_start(time_h: Floats, window: float, notes: _Notes) -> None:
    """A first event later than a constant rate explains: nobody may have logged yet."""
    first, count = float(time_h[0]), len(np.unique(joint_starts(time_h, MINUTES_10_H)))
    notes.add(
        first > 0 and (1.0 - first / window) ** count < _THIN,
        f"thin start: the first event comes at {first:.4g} h, {first * count / window:.1f} mean gaps into the window"
        " (starts within 10 min as one); if logging began later, give --window 'FROM to TO'",
    )


def _repeats(time_h: Floats, node: Ints, named: bool, merge_h: float, notes: _Notes) -> None:
    same = int(((np.diff(np.sort(time_h))) == 0).sum())
    notes.add(
        same,
        f"{counted(same, 'gap is', 'gaps are')} zero (starts at one time): left out of gap fits, shown in the table",
    )
    if named and merge_h == 0:
        notes.lines.append(
            "same-node repeats are not merged (--merge is off: outages that have an end are events of their own)"
        )
