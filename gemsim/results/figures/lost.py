"""Where the time went that was not productive: a waterfall, category by category."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gemsim.results.estimate import Interval
from gemsim.results.figures.looks import INK, SERIES, SOFT, Pictures, panels, saved, sheet, wrapped

LEAST = 0.005  # per cent that two decimals can tell from nothing


@dataclass(frozen=True, slots=True)
class Losses:
    """One design: its name, the share of wall time of each category, in the order of the bars, and of all."""

    title: str
    shares: Mapping[str, Interval]
    total: Interval


def lost_figure(designs: Sequence[Losses]) -> Pictures:
    """A waterfall for each design over the same categories: each bar starts where the one above it ends."""
    names = list(designs[0].shares)
    with sheet(8.6 if len(designs) > 1 else 6.0, 1.5 + 0.34 * len(names)) as figure:
        axes = panels(figure, len(designs), sharex=True, sharey=True)
        for at, design in zip(axes, designs, strict=True):
            _waterfall(at, design)
        most = max(100.0 * sum(one.value for one in design.shares.values()) for design in designs)
        axes[0].set_xlim(0.0, 1.35 * most or 1.0)
        axes[0].locator_params(axis="x", nbins=6, prune="upper")
        axes[0].invert_yaxis()
        figure.set_layout_engine(
            "constrained", wspace=0.05
        )  # so that the last tick of one is not the first of the next
        figure.supxlabel("share of wall time that is not productive, %", fontsize=9, color=INK)
        return saved(figure)


def _waterfall(axes: Any, design: Losses) -> None:
    start = 0.0
    for place, share in enumerate(design.shares.values()):
        value = 100.0 * share.value
        axes.barh(place, value, left=start, height=0.62, color=SERIES[0])
        axes.plot([start + value] * 2, [place, place + 1], color=SOFT, lw=0.7, ls=":")
        axes.annotate(_said(share), (start + value, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
        start += value
    last = len(design.shares)
    axes.barh(last, start, height=0.62, color=SERIES[1], hatch="///", edgecolor=INK, linewidth=0)
    axes.annotate(_said(design.total), (start, last), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(last + 1), [*design.shares, "all that is lost"])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_title(wrapped(design.title, 46))


def _said(share: Interval) -> str:
    half = 100.0 * share.half_width
    if 0.0 < 100.0 * share.value < LEAST:
        return f"less than {LEAST} %"
    return f"{100.0 * share.value:.2f} %" + ("" if math.isnan(half) else f" ± {half:.2f}")
