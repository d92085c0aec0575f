"""A timeline in the Trace Event Format that Perfetto and chrome://tracing open: rows of spans, marks and counters.

Complete events ("X") of one row never overlap: what may, is put into as many rows as it takes. Times are microseconds
of wall time; the seconds behind them are in `args`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from gemsim.results.timeline import Event, Timeline
from gemsim.results.timeline_text import clock

JOB = 1
FAILURES, TIERS, OTHERS = 100, 200, 300  # numbers of rows: the job, failures by scope, recoveries by tier, the rest
STRUCK = ("failure", "found", "planned", "remap", "unseen", "outside", "spare", "missed")
Entry = dict[str, Any]


def to_chrome(timeline: Timeline) -> str:
    """JSON to open at ui.perfetto.dev or chrome://tracing."""
    entries = [*_job(timeline), *_failures(timeline), *_recoveries(timeline), *_outages(timeline), *_counters(timeline)]
    entries.sort(key=lambda entry: (entry["ts"], -entry.get("dur", 0)))
    about = {
        "title": timeline.title, "design": timeline.design, "seed": timeline.seed,
        "replication": timeline.replication, "wall_s": timeline.wall, "ettr": timeline.ettr,
    }  # fmt: skip
    whole = {"traceEvents": [*_names(timeline), *entries], "displayTimeUnit": "ms", "otherData": about}
    return json.dumps(whole, separators=(",", ":"), allow_nan=False) + "\n"


def _names(timeline: Timeline) -> Iterator[Entry]:
    """What the process and its rows are called, and their order."""
    title = " ".join(filter(None, (timeline.title, timeline.design, f"replication {timeline.replication}")))
    yield _meta("process_name", 0, name=title)
    rows = {JOB: "job"}
    rows |= {FAILURES + n: f"failures: {scope}" for n, scope in enumerate(_scopes(timeline))}
    rows |= {TIERS + n: f"recovered by {tier}" for n, tier in enumerate(_tiers(timeline))}
    rows |= {OTHERS + n: f"out of the job {n + 1}" for n in range(_lanes(_out(timeline)))}
    for row, name in rows.items():
        yield _meta("thread_name", row, name=name)
        yield _meta("thread_sort_index", row, sort_index=row)


def _meta(what: str, row: int, **args: Any) -> Entry:
    return {"ph": "M", "name": what, "cat": "__metadata", "pid": 1, "tid": row, "ts": 0, "args": args}


def _complete(row: int, name: str, begin: float, end: float, **args: Any) -> Entry:
    first = _micro(begin)
    return {
        "ph": "X", "name": name, "cat": "job", "pid": 1, "tid": row,
        "ts": first, "dur": _micro(end) - first, "args": args,
    }  # fmt: skip


def _micro(seconds: float) -> int:
    """Whole microseconds, so that what ends where the next begins never overlaps it by a rounding."""
    return round(seconds * 1e6)


def _job(timeline: Timeline) -> Iterator[Entry]:
    for span in timeline.spans:
        booked = {f"{name}_s": seconds for name, seconds in span.booked.items()}
        yield _complete(JOB, span.doing, span.begin, span.end, clock=clock(span.begin), **booked)


def _scopes(timeline: Timeline) -> list[str]:
    return sorted({event.scope for event in timeline.of(*STRUCK)})


def _failures(timeline: Timeline) -> Iterator[Entry]:
    """Marks, one row for each scope."""
    rows = {scope: FAILURES + number for number, scope in enumerate(_scopes(timeline))}
    for event in timeline.of(*STRUCK):
        yield {
            "ph": "i", "name": f"{event.name} ({event.kind})", "cat": "failure", "pid": 1, "tid": rows[event.scope],
            "ts": _micro(event.at), "s": "t", "args": _args(event),
        }  # fmt: skip


def _args(event: Event) -> Entry:
    found: Entry = {"clock": clock(event.at), "what": event.text, "gpu": event.gpu, "node": event.node}
    found["state"] = event.state or None
    found |= {"region": event.region or None, "contained": event.contained, "rows": event.rows or None}
    found |= {"tier": event.tier or None, "version": event.version, "undone_s": event.lost or None}
    found |= {f"not {tier}": reason for tier, reason in event.refused}
    return {name: value for name, value in found.items() if value is not None}


def _tiers(timeline: Timeline) -> list[str]:
    return list(dict.fromkeys(event.tier or "no failure" for event in timeline.of("runs")))


def _recoveries(timeline: Timeline) -> Iterator[Entry]:
    """From the first failure of a stop until the job runs again, one row for each tier that did it."""
    rows = {tier: TIERS + number for number, tier in enumerate(_tiers(timeline))}
    begun = {event.recovery: event for event in reversed(timeline.events) if event.recovery}
    for event in timeline.of("runs"):
        first = begun[event.recovery]
        row = rows[event.tier or "no failure"]
        yield _complete(row, first.name or first.kind, first.at, event.at, down_s=event.down, what=event.text)


def _out(timeline: Timeline) -> list[tuple[float, float, str]]:
    """(from, to, what) of nodes that were asked for and of units that were out."""
    wall = timeline.wall
    found = []
    for event in timeline.of("asked", "out"):
        end = min(event.until if event.until < inf else wall, wall)
        if end > event.at:
            found.append((event.at, end, "replacement" if event.kind == "asked" else f"{event.text} ({event.name})"))
    return found


def _placed(parts: Sequence[tuple[float, float, str]]) -> Iterator[tuple[int, tuple[float, float, str]]]:
    """Each with the first row that is free by then."""
    free: list[float] = []
    for part in parts:
        row = next((number for number, until in enumerate(free) if until <= part[0]), len(free))
        free[row : row + 1] = [part[1]]
        yield row, part


def _lanes(parts: Sequence[tuple[float, float, str]]) -> int:
    return max((row + 1 for row, _ in _placed(parts)), default=0)


def _outages(timeline: Timeline) -> Iterator[Entry]:
    for row, (begin, end, what) in _placed(_out(timeline)):
        yield _complete(OTHERS + row, what, begin, end)


def _counters(timeline: Timeline) -> Iterator[Entry]:
    """Nodes beside the job, and the seconds lost so far."""
    for when, standing, repair in timeline.pools:
        yield _counter("nodes", when, {"standing by": standing, "in repair": repair})
    for when, seconds in timeline.lost():
        yield _counter("lost so far, s", when, {"seconds": seconds})


def _counter(name: str, when: float, values: dict[str, float]) -> Entry:
    return {"ph": "C", "name": name, "pid": 1, "tid": 0, "ts": _micro(when), "args": values}
