"""How the figures of a report look: one palette for colour-blind readers, and a marker and a dash beside each colour.

Ink, paper and grid have colours of their own that nothing else uses, so that a page can exchange them in the dark.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gemsim.results.figures.canvas import canvas, png_of, svg_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, SOFT, GRID, PAPER = "#17191c", "#5b616a", "#dcdfe4", "#fdfdfe"
# seaborn's palette "colorblind" without its yellow and its pale pink, which white paper swallows
SERIES = ("#0173b2", "#d55e00", "#029e73", "#cc78bc", "#de8f05", "#56b4e9", "#ca9161", "#949494")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (3, 1, 1, 1)), (0, (1, 1)), "-", (0, (5, 1.5)), (0, (1, 1)), "-")
LETTER, SIGN = 4.6, 46.0  # points that a letter of a legend takes, and its sign with the gap
MOST = len(SERIES)  # series that can be told apart

LOOKS: dict[str, Any] = {
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "font.size": 9,
    "axes.formatter.useoffset": False,
}

Pictures = tuple[bytes, bytes]  # SVG, PNG


@contextmanager
def sheet(width: float, height: float) -> Iterator[Figure]:
    """A figure of `width` x `height` inches in the looks of a report; draw and save it within."""
    with canvas(width, height, **LOOKS) as figure:
        yield figure


def saved(figure: Figure) -> Pictures:
    """The figure as SVG and as PNG."""
    return svg_of(figure), png_of(figure)


def above(figure: Figure, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """A legend above the axes, where it covers no data and no name of an axis, in as many columns as have room."""
    if handles:
        room = figure.get_figwidth() * 72.0
        columns = next((n for n in range(len(labels), 1, -1) if _width(labels, n) < room), 1)
        figure.legend(handles, labels, loc="outside upper center", ncols=columns, fontsize=8)


def _width(labels: Sequence[str], columns: int) -> float:
    """Points that a legend in so many columns is about as wide as; each column is as wide as its longest label."""
    rows = -(-len(labels) // columns)
    return sum(LETTER * max(map(len, labels[i : i + rows])) + SIGN for i in range(0, len(labels), rows))


def wrapped(title: str, width: int) -> str:
    """A title over as many lines as it takes, so that it does not run into its neighbour's."""
    return textwrap.fill(title, width, break_long_words=False)


def panels(figure: Figure, count: int, *, columns: int = 2, **how: Any) -> list[Any]:
    """`count` axes in rows of at most `columns`; the places that are left over stay empty."""
    wide = min(count, columns)
    grid = figure.subplots(-(-count // wide), wide, squeeze=False, **how)
    axes = list(grid.flat)
    for empty in axes[count:]:
        empty.set_axis_off()
    return axes[:count]
