"""A number over one swept axis, a line for each value of the next, with bands and the closed form beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gemsim.results.estimate import Interval
from gemsim.results.figures.looks import (
    INK,
    MARKERS,
    SERIES,
    SOFT,
    Pictures,
    above,
    panels,
    saved,
    sheet,
    wrapped,
)

TITLE = 52  # characters of a panel's title in one line
FORM = (0, (3, 2))  # dashes of the closed form
ALIKE = 1.3  # range of all panels over that of the widest, up to which they share one scale
MUCH = 7.9  # largest over smallest value of an axis from which it is drawn in powers


@dataclass(frozen=True, slots=True)
class Curve:
    """One line: its name, places on the axis, estimates, and the closed form at each place (NaN where none)."""

    name: str
    x: Sequence[float]
    y: Sequence[Interval]
    form: Sequence[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes. `flats` do not depend on the axis."""

    title: str
    curves: Sequence[Curve]
    flats: Sequence[tuple[str, Interval]] = ()


def curves_figure(
    drawn: Sequence[Panel], *, across: str, upward: str, ticks: Sequence[tuple[float, str]], form: str
) -> Pictures:
    """Panels side by side: solid lines, filled markers and 95 % bands are simulated.

    Dashed lines with hollow markers are the closed form, called `form`; its markers have the shape of their line's, so
    that they are told apart without colour too.
    """
    names = list(dict.fromkeys(curve.name for panel in drawn for curve in panel.curves))
    flats = list(dict.fromkeys(name for panel in drawn for name, _ in panel.flats))
    rows = -(-len(drawn) // 2)
    with sheet(
        6.4 if len(drawn) == 1 else 8.6, (3.5 if rows == 1 else 2.5 * rows) + 0.2 * (1 + len(names) // 4)
    ) as figure:
        axes = panels(figure, len(drawn), sharex=True, sharey=_alike(drawn))
        for at, panel in zip(axes, drawn, strict=True):
            _panel(at, panel, names, flats)
            _scale(at, ticks)
            at.set_title(wrapped(panel.title, TITLE))
        figure.supxlabel(across, fontsize=9, color=INK)
        figure.supylabel(upward, fontsize=9, color=INK)
        above(figure, *_legend(names, flats, form if _formed(drawn) else ""))
        return saved(figure)


def _alike(drawn: Sequence[Panel]) -> bool:
    """Whether one scale serves all panels."""
    spans = []
    for panel in drawn:
        ends = [end for curve in panel.curves for one in curve.y for end in one if not math.isnan(end)]
        spans.append((min(ends), max(ends)))
    widest = max(high - low for low, high in spans)
    return max(high for _, high in spans) - min(low for low, _ in spans) <= ALIKE * widest


def _panel(axes: Any, panel: Panel, names: Sequence[str], flats: Sequence[str]) -> None:
    import pandas as pd
    import seaborn as sns

    for curve in panel.curves:
        place = names.index(curve.name) % len(SERIES)
        frame = pd.DataFrame({"x": list(curve.x), "y": [one.value for one in curve.y]})
        sns.lineplot(
            frame, x="x", y="y", ax=axes, color=SERIES[place], marker=MARKERS[place], markersize=5,
            linewidth=1.3, errorbar=None, legend=False, markeredgewidth=0,
        )  # fmt: skip
        lows, highs = [one.lo for one in curve.y], [one.hi for one in curve.y]
        axes.fill_between(list(curve.x), lows, highs, color=SERIES[place], alpha=0.13, lw=0)
        axes.plot(
            list(curve.x), list(curve.form), color=SERIES[place], lw=0.9, ls=FORM, zorder=3,
            marker=MARKERS[place], mfc="none", mew=0.8, ms=8,
        )  # fmt: skip
    for name, flat in panel.flats:
        shade = [SOFT, INK][flats.index(name) % 2]
        axes.axhline(flat.value, color=shade, lw=1, ls=(0, (6, 2, 1, 2)))
    axes.set(xlabel="", ylabel="")


def _scale(axes: Any, ticks: Sequence[tuple[float, str]]) -> None:
    places = [place for place, _ in ticks]
    if min(places) > 0.0 and max(places) / min(places) >= MUCH:
        axes.set_xscale("log", base=2)
    shown = _spread(places)
    axes.set_xticks([places[i] for i in shown], [ticks[i][1] for i in shown])
    axes.set_xticks([], minor=True)


def _spread(places: Sequence[float], most: int = 9) -> list[int]:
    """At most so many places of an axis, evenly through their order, both ends among them."""
    if len(places) <= most:
        return list(range(len(places)))
    return sorted({math.floor(i * (len(places) - 1) / (most - 1)) for i in range(most)})


def _formed(drawn: Sequence[Panel]) -> bool:
    """Whether any design has a closed form."""
    return any(not math.isnan(value) for panel in drawn for curve in panel.curves for value in curve.form)


def _legend(names: Sequence[str], flats: Sequence[str], form: str) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    handles: list[Any] = [
        Line2D([], [], color=SERIES[i % len(SERIES)], marker=MARKERS[i % len(MARKERS)]) for i in range(len(names))
    ]
    handles += [Line2D([], [], color=[SOFT, INK][i % 2], ls=(0, (6, 2, 1, 2))) for i in range(len(flats))]
    if form:
        handles.append(Line2D([], [], color=INK, lw=0.9, ls=FORM, marker="o", mfc="none", mew=0.8, ms=8))
    return handles, [*names, *flats, *([form] if form else [])]
