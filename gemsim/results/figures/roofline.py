"""How fast a device codes beside how fast it copies: bytes moved per second over k, under the copy bandwidth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gemsim.results.figures.looks import DASHES, INK, MARKERS, SERIES, SOFT, Pictures, above, panels, saved, sheet


@dataclass(frozen=True, slots=True)
class Speed:
    """One line: bytes read and written per second at each k with its band; `beyond`: not held by the profile there."""

    name: str
    k: Sequence[int]
    speed: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    beyond: Sequence[bool]


def roofline_figure(
    operations: Sequence[tuple[str, Sequence[Speed]]], *, copy: float, swept: Sequence[int]
) -> Pictures:
    """A panel for each operation; the roof is the copy bandwidth (bytes/s), dotted verticals are the widths swept."""
    with sheet(8.6, 3.7) as figure:
        axes = panels(figure, len(operations), sharex=True, sharey=True)
        names = list(dict.fromkeys(one.name for _, lines in operations for one in lines))
        for at, (title, lines) in zip(axes, operations, strict=True):
            _panel(at, lines, names, copy, swept)
            at.set_title(title)
            at.set_xscale("log", base=2)
            ticks = _powers(max(k for one in lines for k in one.k))
            at.set_xticks(ticks, [str(k) for k in ticks])
            at.set_xticks([], minor=True)
        axes[0].set_ylim(0.0, 1.12 * copy / 1e12)
        figure.supxlabel("k, data shards of a stripe", fontsize=9, color=INK)
        figure.supylabel("bytes read and written, TB/s", fontsize=9, color=INK)
        above(figure, *_legend(names))
        return saved(figure)


def _powers(largest: int) -> list[int]:
    """Powers of two up to `largest`, not more than there is room for."""
    step = 1 + int(math.log2(largest)) // 9
    return [2**power for power in range(1, int(math.log2(largest)) + 1, step)]


def _panel(axes: Any, lines: Sequence[Speed], names: Sequence[str], copy: float, swept: Sequence[int]) -> None:
    import pandas as pd
    import seaborn as sns

    axes.axhline(copy / 1e12, color=INK, lw=1.2)
    for k in swept:
        axes.axvline(k, color=SOFT, lw=0.6, ls=":")
    for one in lines:
        place = names.index(one.name) % len(SERIES)
        frame = pd.DataFrame({"k": list(one.k), "speed": [v / 1e12 for v in one.speed], "beyond": list(one.beyond)})
        sns.lineplot(
            frame, x="k", y="speed", ax=axes, color=SERIES[place], linestyle=DASHES[place], errorbar=None, legend=False
        )
        axes.fill_between(
            list(one.k),
            [v / 1e12 for v in one.low],
            [v / 1e12 for v in one.high],
            color=SERIES[place],
            alpha=0.13,
            lw=0,
        )
        for beyond, face in ((False, SERIES[place]), (True, "none")):
            own = frame[frame["beyond"] == beyond]
            axes.plot(own["k"], own["speed"], ls="", marker=MARKERS[place], ms=4.5, mfc=face, mec=SERIES[place])
    axes.set(xlabel="", ylabel="")


def _legend(names: Sequence[str]) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    handles: list[Any] = [
        Line2D([], [], color=SERIES[i % len(SERIES)], marker=MARKERS[i % len(MARKERS)], ls=DASHES[i % len(DASHES)])
        for i in range(len(names))
    ]
    handles.append(Line2D([], [], color=INK, lw=1.2))
    return handles, [*names, "copy bandwidth"]
