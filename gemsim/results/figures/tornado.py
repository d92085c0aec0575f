"""A tornado: what each input does to the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gemsim.results.estimate import Interval
from gemsim.results.figures.canvas import canvas, svg_of

_DATA, _HIGH, _LOW = "#1b1b1b", "#c1440e", "#2f6f9f"
_MOST_BARS = 16


def tornado_figure(
    bars: Sequence[tuple[str, Interval | None, Interval | None]], *, title: str, output: str, nominal: float
) -> bytes:
    """SVG of a tornado: for each input the change of the output at its low and its high quantile, with whiskers where
    the change has an interval. The largest come first; those beyond 16 are counted in the title."""
    drawn = list(bars[:_MOST_BARS])
    left = f" ({len(bars) - len(drawn)} smaller ones left out)" if len(bars) > len(drawn) else ""
    with canvas(8.0, 1.2 + 0.32 * len(drawn)) as figure:
        axes = figure.subplots()
        for at, (_, low, high) in enumerate(drawn):
            for end, color in ((low, _LOW), (high, _HIGH)):
                _bar(axes, at, end, color)
        axes.axvline(0.0, color=_DATA, lw=0.8)
        axes.set_yticks(range(len(drawn)), [label for label, _, _ in drawn])
        axes.invert_yaxis()
        axes.set(xlabel=f"{output} less its nominal {nominal:.5g}; blue: input at its 5 % quantile, red: at 95 %")
        axes.set_title(f"{title}{left}", fontsize=8)
        return svg_of(figure)


def _bar(axes: Any, at: int, end: Interval | None, color: str) -> None:
    """One end of an input; a cross at 0 where that run has no number."""
    if end is None:
        axes.plot([0.0], [at], marker="x", color=color)
        return
    axes.barh(at, end.value, height=0.6, color=color, alpha=0.8)
    if math.isfinite(end.lo) and math.isfinite(end.hi):
        axes.plot([end.lo, end.hi], [at, at], color=_DATA, lw=0.8, marker="|", markersize=4)
