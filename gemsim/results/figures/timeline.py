"""One run over time: what the job did, where the time went, which failures struck, and what stood by.

Few stops are drawn one by one. Where they are many, most are thinner than a pixel, and only the shares that they take
of equal pieces of the run are drawn; nothing is drawn wider than it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.results.figures.canvas import canvas, png_of, svg_of
from gemsim.results.figures.looks import GRID, INK, LOOKS
from gemsim.results.ledger import LEDGER
from gemsim.results.timeline import WORK, Event, Timeline

Floats = NDArray[np.float64]
Draw = Callable[[Any, Timeline, float], None]
# Okabe and Ito (2008): told apart in the common forms of colour blindness, and here in grey by their order too.
COLOURS = {
    WORK: "#dbe5ee", "overhead": "#f0e442", "detection": "#cc79a7", "wasted": "#d55e00", "recovery": "#009e73",
    "restart": "#e69f00", "waiting": "#0072b2", "degraded": "#56b4e9", "planned": "#999999", "other": "#444444",
}  # fmt: skip
LOST = tuple(name for name in LEDGER if name != "productive")
ONE_BY_ONE = 400  # spans that are still drawn so
PIECES = 90  # of a run, for the shares lost
FINE = 1_800  # points of a line: two for each pixel
MARKS = {  # kinds of events -> how they are drawn: symbol, filled or not, words
    "back": ("v", True, "rolls back"),
    "kept": ("o", False, "stops the job, state kept"),
    "mild": ("|", True, "stops nobody"),
}
_DAY, _HOUR = 86400.0, 3600.0


def timeline_pictures(timeline: Timeline) -> tuple[bytes, bytes]:
    """One run as (SVG, PNG), about 900 px wide."""
    scopes = _scopes(timeline)
    beside = len(timeline.pools) > 1 or bool(timeline.of("out"))
    one_by_one = len(timeline.spans) <= ONE_BY_ONE
    drawn: list[tuple[float, Draw]] = [(0.5, _did)] if one_by_one else []
    drawn += [(1.6, _shares), (0.5 + 0.23 * max(1, len(scopes)), _failures), (1.2, _lost_so_far)]
    drawn += [(0.9, _nodes)] if beside else []
    heights = [height for height, _ in drawn]
    rules = LOOKS | {"axes.grid": False, "axes.titlesize": 8, "font.size": 8}
    with canvas(9.4, 1.9 + 1.15 * sum(heights), **rules) as figure:
        axes = figure.subplots(len(heights), 1, sharex=True, gridspec_kw={"height_ratios": heights})
        unit, name = (_DAY, "days") if timeline.wall > 2 * _DAY else (_HOUR, "hours")
        for one, (_, draw) in zip(axes, drawn, strict=True):
            draw(one, timeline, unit)
        axes[-1].set(xlabel=f"wall time, {name}", xlim=(0.0, timeline.wall / unit))
        _head(figure, timeline)
        return svg_of(figure), png_of(figure)


def _head(figure: Any, timeline: Timeline) -> None:
    row = timeline.row
    title, design = (_short(text) for text in (timeline.title, timeline.design or f"design point {row['point'][:12]}"))
    facts = (
        f"replication {timeline.replication} of seed {timeline.seed}; ETTR {timeline.ettr:.4f}; "
        f"{row['failures']:,} failures, {row['interruptions']:,} stops"
    )
    figure.suptitle("\n".join(filter(None, (title, design, facts))), fontsize=9, x=0.01, ha="left")


def _short(text: str) -> str:
    return text if len(text) <= 130 else text[:129] + "…"


def _doing(timeline: Timeline) -> list[str]:
    return [name for name in COLOURS if any(span.doing == name for span in timeline.spans)]


def _did(axes: Any, timeline: Timeline, unit: float) -> None:
    """The job's state, exactly."""
    for name in _doing(timeline):
        bars = [(span.begin / unit, span.seconds / unit) for span in timeline.spans if span.doing == name]
        axes.broken_barh(bars, (0.0, 1.0), color=COLOURS[name], lw=0, snap=False)
    axes.set_title("what the job did (pale: it works)")
    axes.set(ylim=(0.0, 1.0), yticks=[])


def _shares(axes: Any, timeline: Timeline, unit: float) -> None:
    """What was lost, as shares of equal pieces of the run: where the work was that a roll-back undid, too."""
    edges = np.linspace(0.0, timeline.wall, PIECES + 1)
    parts = {name: share for name in LOST if (share := _lost(timeline, name, edges)).any()}
    _stack(axes, edges / unit, {name: 100.0 * part / np.diff(edges) for name, part in parts.items()}, label=True)
    axes.set_title(f"time lost: share of each {1 / PIECES:.1%} of the run, in %")
    axes.set_ylim(0.0, None)
    if parts:
        _legend_above(axes, columns=len(parts), height=1.0)


def _legend_above(axes: Any, *, columns: int, height: float) -> None:
    """Over the right end of the axes; `height` is its lower edge as a share of theirs."""
    small: dict[str, Any] = {"frameon": False, "fontsize": 8, "handlelength": 1.3, "columnspacing": 1.1}
    axes.legend(ncols=columns, loc="lower right", bbox_to_anchor=(1.0, height), **small)


def _lost(timeline: Timeline, column: str, edges: Floats) -> Floats:
    """Seconds of one column in each piece; undone work from when it was done."""
    if column != "wasted":
        return binned([(span.begin, span.end, span.booked.get(column, 0.0)) for span in timeline.spans], edges)
    return binned(timeline.undone(), edges)


def binned(parts: list[tuple[float, float, float]], edges: Floats) -> Floats:
    """Amounts spread evenly from their begin to their end, summed over the pieces between the edges."""
    found = np.zeros(len(edges) - 1)
    for begin, end, amount in parts:
        if not amount:
            continue
        first = min(int(np.searchsorted(edges, begin, side="right")) - 1, len(found) - 1)
        last = min(int(np.searchsorted(edges, end, side="left")) - 1, len(found) - 1)
        if last <= first:
            found[first] += amount
            continue
        inside = np.clip(
            np.minimum(edges[first + 1 : last + 2], end) - np.maximum(edges[first : last + 1], begin), 0, None
        )
        found[first : last + 1] += amount * inside / inside.sum()
    return found


def _stack(axes: Any, edges: Floats, parts: dict[str, Floats], *, label: bool = False) -> None:
    floor = np.zeros(len(edges) - 1)
    for name, part in parts.items():
        axes.stairs(floor + part, edges, baseline=floor, fill=True, color=COLOURS[name], label=name if label else None)
        floor = floor + part


def _scopes(timeline: Timeline) -> list[str]:
    return sorted({event.scope for event in timeline.events if event.scope and event.kind != "missed"}, reverse=True)


def _mark(event: Event) -> str:
    """What a failure did, as one of `MARKS`."""
    if event.kind in ("unseen", "outside", "spare"):
        return "mild"
    return "back" if event.version is not None or event.tier == "start" else "kept"


def _failures(axes: Any, timeline: Timeline, unit: float) -> None:
    """A row for each scope; what became of it by the symbol."""
    scopes = _scopes(timeline)
    struck = [event for event in timeline.events if event.scope in scopes and event.kind != "missed"]
    size = 26.0 if len(struck) <= 100 else 12.0 if len(struck) <= 600 else 5.0
    for kind, (symbol, filled, words) in MARKS.items():
        some = [event for event in struck if _mark(event) == kind]
        if not some:
            continue
        pixel = timeline.wall / FINE  # of many marks in one pixel one is drawn
        places = {(round(event.at / pixel), scopes.index(event.scope)): event.at / unit for event in some}
        x, y = list(places.values()), [scope for _, scope in places]
        face = {"back": COLOURS["wasted"], "kept": COLOURS["recovery"], "mild": INK}[kind]
        colour = {"c": face} if filled else {"facecolors": "none", "edgecolors": face}
        axes.scatter(x, y, marker=symbol, s=size, lw=0.8, label=f"{words} ({len(some):,})", **colour)
    axes.set_title("failures, by what they strike" if struck else "no failures")
    axes.set(yticks=range(len(scopes)), yticklabels=scopes, ylim=(-0.6, max(0.6, len(scopes) - 0.4)))
    axes.grid(axis="y", lw=0.3, color=GRID)
    if struck:
        _legend_above(axes, columns=3, height=0.98)


def _lost_so_far(axes: Any, timeline: Timeline, unit: float) -> None:
    when, seconds = np.array(timeline.lost()).T
    if len(when) > FINE:
        even = np.linspace(0.0, timeline.wall, FINE)
        when, seconds = even, np.interp(even, when, seconds)
    axes.plot(when / unit, seconds / _HOUR, color=INK, lw=1.0)
    axes.fill_between(when / unit, 0.0, seconds / _HOUR, color=COLOURS[WORK], lw=0)
    axes.set_title("lost so far, hours: all that is not productive")
    axes.set_ylim(0.0, None)


def _nodes(axes: Any, timeline: Timeline, unit: float) -> None:
    """Nodes beside the job, as seen at each event, and units that were out of it."""
    standing = [(at, count) for at, count, _ in timeline.pools]
    repair = [(at, count) for at, _, count in timeline.pools]
    moves = sorted([(e.at, 1) for e in timeline.of("out")] + [(e.at, -1) for e in timeline.of("in")])
    out, count = [(0.0, 0)], 0
    for at, step in moves:
        count += step
        out.append((at, count))
    lines = [
        ("nodes that stand by", standing, "-", COLOURS["recovery"]),
        ("nodes in repair", repair, "--", COLOURS["waiting"]),
        ("units out of the job", out if moves else [], ":", COLOURS["wasted"]),
    ]
    for label, points, style, colour in lines:
        if points:
            x, y = [at / unit for at, _ in points], [count for _, count in points]
            axes.step(
                [*x, timeline.wall / unit], [*y, y[-1]], where="post", lw=1.0, ls=style, color=colour, label=label
            )
    axes.set_title("beside the job")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_ylim(0.0, None)
    _legend_above(axes, columns=3, height=0.98)
