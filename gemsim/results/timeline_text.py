"""A timeline as a page of text: the answers first, then what happened, then where the time went and that it closes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from math import fsum

from gemsim.results.ledger import LEDGER
from gemsim.results.timeline import STOPS, Event, Timeline
from gemsim.units import brief

SHOWN, LAST, COSTLIEST = 40, 10, 5
QUIET = ("missed",)  # events that only a full page tells
LABELS = {
    "begins": "the run begins", "failure": "failure", "found": "found", "planned": "planned stop",
    "remap": "stop for row remaps", "catch-up": "catch-up", "unseen": "unseen failure", "outside": "failure outside",
    "spare": "spare fails", "missed": "misses", "asked": "replacement", "retired": "retired", "saved": "saved",
    "out": "out", "in": "back", "runs": "runs again", "end": "end",
}  # fmt: skip
_AT = 12, 13  # widths of d hh:mm:ss and of seconds
_INDENT = " " * (sum(_AT) + 3)


def clock(seconds: float) -> str:
    """Wall seconds as d hh:mm:ss, whole seconds that have passed."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days:,} {hours:02}:{minutes:02}:{rest:02}"


def to_text(timeline: Timeline, *, width: int = 100, full: bool = False) -> str:
    """The page. Unless `full`, of many events the first and the last; and without failures that strike nobody."""
    lines = [*_answers(timeline), ""]
    lines += _events(timeline, width=width, full=full)
    lines += ["", *_costliest(timeline), *_saves(timeline), *_ledger(timeline)]
    return "".join(f"{_fitted(line, width)}\n" for line in lines)


def _fitted(line: str, width: int) -> str:
    return textwrap.fill(line, width, subsequent_indent="    ") if len(line) > width else line


def _answers(timeline: Timeline) -> Iterator[str]:
    row, wall = timeline.row, timeline.wall
    stops = timeline.of(*STOPS)
    yield timeline.title or f"design point {row['point'][:12]}"
    yield f"  design       {timeline.design or 'the study as it stands'}"
    spare = f", {timeline.spares:,} spare" if timeline.spares else ""
    yield f"  job          {timeline.gpus:,} GPUs on {timeline.nodes:,} nodes{spare}"
    yield f"  replication  {timeline.replication} of seed {timeline.seed}"
    yield f"  wall         {clock(wall)} (d hh:mm:ss), {wall:,.1f} s; {row['steps']:,} steps of work"
    yield f"  ETTR         {timeline.ettr:.6f}"
    idle = f"; {row['failures_idle']:,} of idle spares" if row["failures_idle"] else ""
    planned = f"; {row['planned_stops']:,} planned stops" if row["planned_stops"] else ""
    yield f"  failures     {row['failures']:,}, which stopped the job {row['interruptions']:,} times{idle}{planned}"
    worst = max(stops, key=lambda event: event.lost, default=None)
    if worst is not None and worst.lost > 0.0:
        yield f"  most undone  {brief(worst.lost, 'time')} of work, at {clock(worst.at)} ({worst.name})"


def _events(timeline: Timeline, *, width: int, full: bool) -> Iterator[str]:
    yield f"{'d hh:mm:ss':>{_AT[0]}} {'seconds':>{_AT[1]}}  what happens"
    told = [event for event in timeline.events if full or event.kind not in QUIET]
    if full or len(told) <= SHOWN:
        yield from _told(told, width)
    else:
        yield from _told(told[: SHOWN - LAST], width)
        until = clock(told[-LAST].at)
        yield f"{_INDENT}... {len(told) - SHOWN:,} more until {until}; --full tells all"
        yield from _told(told[-LAST:], width)
    hidden = len(timeline.events) - len(told)
    if hidden:
        yield f"{_INDENT}({hidden:,} failures that strike nobody of the job are left out; --full tells all)"


def _told(events: Sequence[Event], width: int) -> Iterator[str]:
    for event in events:
        first, *rest = _words(event)
        head = f"{clock(event.at):>{_AT[0]}} {event.at:>{_AT[1]},.1f}  "
        yield from textwrap.wrap(first, width, initial_indent=head, subsequent_indent=_INDENT + "  ")
        for line in rest:
            yield from textwrap.wrap(line, width, initial_indent=_INDENT + "  ", subsequent_indent=_INDENT + "    ")


def _words(event: Event) -> Iterator[str]:
    """What happened; then, of a stop, why earlier tiers could not, and what it comes to."""
    what = [LABELS[event.kind]]
    if event.scope or event.name:
        what.append(f"{event.name}{_of(event)}")
    elif event.kind not in STOPS and event.tier and event.kind != "saved":
        what.append(event.tier)
    if event.state:
        what.append(f"while {event.state if event.state == 'running' else f'in {event.state}'}")
    if event.kind in ("failure", "found", "planned", "remap"):
        yield ", ".join(what)
        for reason in dict.fromkeys(reason for _, reason in event.refused):
            yield f"not {', '.join(tier for tier, why in event.refused if why == reason)}: {reason}"
        yield f"-> {event.text}"
    else:
        yield f"{', '.join(what)}: {event.text}"


def _of(event: Event) -> str:
    """Scope, place and memory of a failure, in brackets."""
    found = [event.scope] if event.scope and event.scope not in event.name else []
    if event.gpu is not None:
        found.append(f"GPU {event.gpu:,}" + (f" on node {event.node:,}" if event.node is not None else ""))
    if event.region:
        held = "" if event.contained is None else ", contained" if event.contained else ", not contained"
        rows = f"{event.rows:,} rows of " if event.rows > 1 else ""
        found.append(f"{rows}{event.region}{held}")
    return f" ({'; '.join(found)})" if found else ""


def _costliest(timeline: Timeline) -> Iterator[str]:
    """The stops that took most: seconds down, and of work to be done again."""
    down, again, first = dict[int, float](), dict[int, float](), dict[int, Event]()
    for span in timeline.spans:
        if span.recovery:
            down[span.recovery] = down.get(span.recovery, 0.0) + fsum(span.booked.values())
    for event in timeline.events:
        if event.recovery:
            again[event.recovery] = again.get(event.recovery, 0.0) + event.lost
            first.setdefault(event.recovery, event)
    cost = {number: down.get(number, 0.0) + again.get(number, 0.0) for number in first}
    worst = sorted(cost, key=lambda number: -cost[number])[:COSTLIEST]
    if len(cost) <= 1:
        return
    yield f"The costliest of {len(cost):,} stops"
    yield f"  {'d hh:mm:ss':>{_AT[0]}} {'down, s':>{_AT[1]}} {'undone, s':>{_AT[1]}}  began by"
    for number in worst:
        began = first[number]
        seconds = f"{down.get(number, 0.0):>{_AT[1]},.1f} {again[number]:>{_AT[1]},.1f}"
        yield f"  {clock(began.at):>{_AT[0]}} {seconds}  {began.name or LABELS[began.kind]}"
    yield ""


def _saves(timeline: Timeline) -> Iterator[str]:
    """What tiers did in between, found by arithmetic."""
    if not timeline.saves:
        return
    yield "Saves and encodes, which are not told one by one (found by arithmetic)"
    for one in timeline.saves:
        every = "every step" if one.every == 1 else f"every {one.every:,} steps"
        yield (
            f"  {one.tier}: {one.count:,} times, {every} ({brief(one.apart, 'time')} of running), "
            f"{brief(one.seconds, 'time')} each"
        )
    yield ""


def _ledger(timeline: Timeline) -> Iterator[str]:
    """The ledger from the spans, and how far that is from the row."""
    found = timeline.ledger()
    yield f"{'Where the time went':<22}{'seconds':>18}{'share':>11}"
    for name in LEDGER:
        if found[name] or name == "productive":
            yield f"  {name:<20}{found[name]:>18,.3f}{found[name] / timeline.wall:>11.4%}"
    yield f"  {'wall':<20}{timeline.wall:>18,.3f}{1:>11.4%}"
    yield (
        f"The spans and the roll-backs add up to the ledger of the run's row within {timeline.off:.1g} s "
        f"({timeline.off / timeline.wall:.1g} of the wall time)."
    )
