"""What memory buys: wasted time over the memory that a design costs, and the front of those that none beats in both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gemsim.results.estimate import Interval
from gemsim.results.figures.looks import INK, MARKERS, SERIES, Pictures, above, saved, sheet

MANY = 300  # designs above which those off the front have no whiskers


@dataclass(frozen=True, slots=True)
class Cost:
    """One design: memory as a share of the GPU's, wasted time as a share of wall time, the series it belongs to."""

    series: str
    memory: float
    wasted: Interval
    on_front: bool
    best: bool


def front_figure(designs: Sequence[Cost]) -> Pictures:
    """Each series with a marker of its own; those on the front of their series are joined."""
    names = list(dict.fromkeys(one.series for one in designs))
    with sheet(6.4, 3.9 + 0.18 * -(-len(names) // 3)) as figure:
        axes = figure.subplots()
        for place, name in enumerate(names):
            _series(axes, [one for one in designs if one.series == name], place % len(SERIES), len(designs))
        best = [one for one in designs if one.best]
        axes.scatter(
            [100 * one.memory for one in best], [100 * one.wasted.value for one in best], s=130, facecolors="none",
            edgecolors=INK, linewidths=1.1, zorder=5,
        )  # fmt: skip
        axes.set(xlabel="memory overhead, % of the GPU's memory", ylabel="wasted time (1 − ETTR), % of wall time")
        axes.margins(0.06)
        above(figure, *_legend(names, bool(best)))
        return saved(figure)


def _series(axes: Any, own: Sequence[Cost], place: int, total: int) -> None:
    import pandas as pd
    import seaborn as sns

    frame = pd.DataFrame({"x": [100 * one.memory for one in own], "y": [100 * one.wasted.value for one in own]})
    for one in own:
        if not math.isnan(one.wasted.lo) and (one.on_front or total <= MANY):
            ends = [100 * one.wasted.lo, 100 * one.wasted.hi]
            axes.plot([100 * one.memory] * 2, ends, color=SERIES[place], lw=0.8, alpha=0.45)
    sns.scatterplot(
        frame, x="x", y="y", ax=axes, color=SERIES[place], marker=MARKERS[place], s=34, linewidth=0, legend=False
    )
    front = sorted((100 * one.memory, 100 * one.wasted.value) for one in own if one.on_front)
    if len(front) > 1:
        axes.step(*zip(*front, strict=True), where="post", color=SERIES[place], lw=1.1)


def _legend(names: Sequence[str], best: bool) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    handles: list[Any] = [
        Line2D([], [], color=SERIES[i % len(SERIES)], marker=MARKERS[i % len(MARKERS)], lw=1.1)
        for i in range(len(names))
    ]
    if best:
        handles.append(Line2D([], [], color=INK, marker="o", mfc="none", ms=10, ls=""))
    return handles, [*names, *(["best of its group"] if best else [])]
