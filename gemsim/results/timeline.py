"""One run over time, as plain values: what happened when, and what the job was doing in between.

Spans tile the run and hold the ledger's seconds as they were first booked; what a roll-back moves from productive to
wasted stands at the failure that caused it, so that both together are the row.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import fsum
from typing import Any

from gemsim.results.ledger import LEDGER

Piece = tuple[float, float, float]  # from, to (wall seconds), seconds of work
WORK = "work"  # what a running job does; a job that stands still does what a column of the ledger is called
KINDS = {
    "begins": "the run begins short of nodes",
    "failure": "a failure strikes the job",
    "found": "a failure that struck unseen is found",
    "planned": "a planned stop",
    "remap": "a stop on purpose for row remaps",
    "catch-up": "the job stands still for those who come back",
    "unseen": "a failure strikes the job, and nobody notices yet",
    "outside": "a failure strikes only what is out already",
    "spare": "a node that stands by fails",
    "missed": "a failure strikes nobody of the job",
    "asked": "nodes are taken out, and others asked for",
    "retired": "nodes are given up for good",
    "saved": "the state is saved on notice",
    "out": "a part of the job is out, and the rest runs on",
    "in": "that part contributes again",
    "runs": "the job runs again",
    "end": "the run ends",
}
STOPS = ("begins", "failure", "found", "planned", "remap", "catch-up")  # after which the job stands still


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens at wall time `at` (seconds); see `KINDS`. Numbers of GPUs and nodes are places in the job.

    A failure has its class in `name`, `rows` lost together where it is a memory error, and the `state` in which it
    found the job. `tier` then recovers, to `version` (steps; None: the state as it is), after `refused` of the earlier
    tiers, each with its reason; `lost` seconds of work are to be done again, since `since` (wall seconds; nan where
    that is no one time), and the job is to stand still for `down` more seconds, as known then.
    """

    at: float
    kind: str
    text: str
    name: str = ""
    scope: str = ""
    gpu: int | None = None
    node: int | None = None
    region: str = ""
    contained: bool | None = None
    rows: int = 0
    state: str = ""
    tier: str = ""
    version: int | None = None
    refused: tuple[tuple[str, str], ...] = ()
    lost: float = 0.0
    since: float = float("nan")
    down: float = 0.0
    until: float = float("nan")  # wall seconds at which what this began is over, as known then
    recovery: int = 0  # number of the stop that it belongs to, from 1; 0 for none


@dataclass(frozen=True, slots=True)
class Span:
    """From wall time `begin` to `end` (seconds) the job did one thing: `WORK`, or a column of the ledger.

    `booked`: the ledger's seconds in it, by column, before any roll-back; `overhead`: those of its protection by tier.
    """

    begin: float
    end: float
    doing: str
    booked: Mapping[str, float]
    overhead: Mapping[str, float] = field(default_factory=dict)
    recovery: int = 0  # number of the stop that it belongs to; 0 while the job runs

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Saves:
    """What one tier saved or encoded without a word in the events: every `every` steps, `seconds` s each."""

    tier: str
    count: int
    every: int
    apart: float  # running seconds from one to the next
    seconds: float  # that the job stands still for one


@dataclass(frozen=True, slots=True)
class Timeline:
    """One replication of one design point, event by event; `row` is what `simulate` returns for it."""

    row: Mapping[str, Any]
    seed: int
    spans: tuple[Span, ...]
    events: tuple[Event, ...]
    saves: tuple[Saves, ...] = ()
    pools: tuple[tuple[float, int, int], ...] = ()  # (from when, nodes that stand by, in repair), at each event
    gpus: int = 0
    nodes: int = 0
    spares: int = 0
    title: str = ""  # of the study
    design: str = ""  # what distinguishes the design point

    @property
    def wall(self) -> float:
        """Seconds of the run."""
        return float(self.row["wall_s"])

    @property
    def ettr(self) -> float:
        """Productive share of the run."""
        return float(self.row["productive_s"]) / self.wall

    @property
    def replication(self) -> int:
        """Its number, from 0."""
        return int(self.row["replication"])

    def of(self, *kinds: str) -> list[Event]:
        """The events of these kinds, in order."""
        return [event for event in self.events if event.kind in kinds]

    def ledger(self) -> dict[str, float]:
        """Seconds by column of the ledger, from spans and roll-backs: equal to the row's, as `off` says."""
        found = {name: fsum(span.booked.get(name, 0.0) for span in self.spans) for name in LEDGER}
        moved = fsum(event.lost for event in self.events)
        return {**found, "productive": found["productive"] - moved, "wasted": found["wasted"] + moved}

    @property
    def off(self) -> float:
        """The largest difference between a column from the spans and that of the row, and of all from the wall time;
        seconds."""
        found = self.ledger()
        columns = [abs(found[name] - float(self.row[f"{name}_s"])) for name in LEDGER]
        return max(*columns, abs(fsum(span.seconds for span in self.spans) - self.wall))

    def lost(self) -> list[tuple[float, float]]:
        """(wall time, seconds lost so far): all that is not productive, with what a roll-back undoes at its failure."""
        steps = [(event.at, event.lost) for event in self.events if event.lost]
        found, total, number = [(0.0, 0.0)], 0.0, 0
        for span in self.spans:
            while number < len(steps) and steps[number][0] <= span.begin:
                when, lost = steps[number]
                found += [(when, total), (when, total + lost)]
                total, number = total + lost, number + 1
            total += fsum(seconds for name, seconds in span.booked.items() if name != "productive")
            found.append((span.end, total))
        for when, lost in steps[number:]:
            found.append((when, total + lost))
            total += lost
        return found

    def undone(self) -> list[Piece]:
        """(from, to, seconds) of the work that roll-backs undid, in wall seconds of when it was done.

        A roll-back undoes what was done last of all that then still counted, so that no work is undone twice. A second
        failure may need less of it undone; that counts again.
        """
        kept: list[Piece] = []
        found: list[Piece] = []
        number = 0
        for event in self.events:
            if not event.lost:
                continue
            while number < len(self.spans) and self.spans[number].begin < event.at:
                span = self.spans[number]
                kept.append((span.begin, span.end, span.booked.get("productive", 0.0)))
                number += 1
            if event.lost > 0.0:
                _move(kept, found, event.lost, late=True)
            else:
                _move(found, kept, -event.lost, late=False)
        return [piece for piece in found if piece[2] > 0.0]


def _move(source: list[Piece], target: list[Piece], seconds: float, *, late: bool) -> None:
    """Take so many seconds of work from the end of one list to that of the other, of a piece its late or early part."""
    while seconds > 0.0 and source:
        begin, end, held = source.pop()
        if held > seconds:
            part = (end - begin) * seconds / held
            cut = end - part if late else begin + part
            first, last = (
                (begin, cut, held - seconds if late else seconds),
                (cut, end, seconds if late else held - seconds),
            )
            source.append(first if late else last)
            begin, end, held = last if late else first
        target.append((begin, end, held))
        seconds -= held


_EVENT = [one.name for one in fields(Event)]
_SPAN = ("begin_s", "end_s", "doing", *(f"{name}_s" for name in LEDGER), "overhead_by_tier", "recovery")


def events_csv(timeline: Timeline) -> str:
    """The events as CSV: one a line, times in wall seconds, the reasons of earlier tiers as TIER: REASON; ..."""
    seconds = ("at", "lost", "since", "down", "until")
    head = [f"{name}_s" if name in seconds else name for name in _EVENT]
    return _table(head, ([_cell(getattr(event, name)) for name in _EVENT] for event in timeline.events))


def spans_csv(timeline: Timeline) -> str:
    """The spans as CSV: one a line, with the seconds of each column as first booked."""
    lines = (
        [
            repr(span.begin),
            repr(span.end),
            span.doing,
            *(repr(span.booked.get(name, 0.0)) for name in LEDGER),
            json.dumps(dict(span.overhead), sort_keys=True),
            span.recovery,
        ]
        for span in timeline.spans
    )
    return _table(list(_SPAN), lines)


def _table(head: list[str], lines: Any) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return out.getvalue()


def _cell(value: Any) -> Any:
    """As it stands in a cell: nothing for what is unknown."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, tuple):
        return "; ".join(f"{tier}: {reason}" for tier, reason in value)
    return repr(value) if isinstance(value, float) else value
