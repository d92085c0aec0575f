"""How far each design is from the one with the largest ETTR, with intervals: a forest plot of paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gemsim.results.choice import TIE_BAND
from gemsim.results.estimate import Interval
from gemsim.results.figures.looks import GRID, INK, SERIES, SOFT, Pictures, above, saved, sheet

TIED = "tied"
_LOOKS = {TIED: (SERIES[0], "o"), "not tied": (SERIES[1], "s"), "does not meet the requirement": (SOFT, "x")}


@dataclass(frozen=True, slots=True)
class Apart:
    """One design: its ETTR less that of the reference, whether they are tied, and whether it may be chosen."""

    name: str
    difference: Interval
    tied: bool
    allowed: bool = True


def forest_figure(designs: Sequence[Apart], *, reference: str) -> Pictures:
    """From the nearest to the farthest; a filled circle is tied with the reference, an open square is not.

    A cross does not meet the requirement.
    """
    with sheet(7.6, 1.6 + 0.23 * len(designs)) as figure:
        axes = figure.subplots()
        band = 100.0 * TIE_BAND
        axes.axvspan(-band, band, color=GRID, lw=0, zorder=0)
        axes.axvline(0.0, color=INK, lw=0.8)
        for place, one in enumerate(designs):
            _whisker(axes, place, one)
        axes.set_xlim(*_ends(designs, band))
        axes.set_yticks(range(len(designs)), [one.name for one in designs])
        axes.set_ylim(len(designs) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0, labelsize=8)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"points of ETTR less than {reference}" if len(reference) < 46 else "points of ETTR apart")
        above(figure, *_legend({_kind(one) for one in designs}))
        return saved(figure)


def _kind(one: Apart) -> str:
    tied, told, excluded = _LOOKS
    return excluded if not one.allowed else tied if one.tied else told


def _ends(designs: Sequence[Apart], band: float) -> tuple[float, float]:
    """As far as the data go, and the start of the band on either side."""
    ends = [100.0 * end for one in designs for end in one.difference if not math.isnan(end)]
    low, high = min([*ends, 0.0]), max([*ends, 0.0])
    room = max(0.06 * (high - low), 0.3 * band)
    return low - room, high + room


def _whisker(axes: Any, place: int, one: Apart) -> None:
    colour, sign = _LOOKS[_kind(one)]
    if not math.isnan(one.difference.lo):
        axes.plot([100 * one.difference.lo, 100 * one.difference.hi], [place, place], color=colour, lw=1.4)
    face = colour if one.tied else "none"
    axes.plot(
        [100 * one.difference.value],
        [place],
        marker=sign,
        mfc=face,
        mec=colour,
        ms=5,
        ls="",
        zorder=4,
    )


def _legend(kinds: set[str]) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = [kind for kind in _LOOKS if kind in kinds]
    handles: list[Any] = [
        Line2D([], [], color=_LOOKS[kind][0], marker=_LOOKS[kind][1], mfc=None if kind == TIED else "none", ms=5)
        for kind in shown
    ]
    band = f"worth paying nothing for (± {100 * TIE_BAND:.2f} points)"
    return [*handles, Patch(facecolor=GRID, edgecolor=SOFT, linewidth=0.5)], [*shown, band]
