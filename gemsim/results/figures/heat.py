"""A number over two swept axes at once, in colours that grow evenly for every eye, with the number in each cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gemsim.results.figures.looks import GRID, INK, SOFT, Pictures, panels, saved, sheet, wrapped

DARK, LIGHT = "#101010", "#f7f7f7"  # of numbers in cells, whose ground does not change with the page


@dataclass(frozen=True, slots=True)
class Field:
    """One map: values by row and column (NaN where there is none) and a mark beside each (best, tied)."""

    title: str
    values: Sequence[Sequence[float]]
    marks: Sequence[Sequence[str]]


def heat_figure(
    fields: Sequence[Field], *, rows: tuple[str, Sequence[str]], columns: tuple[str, Sequence[str]], what: str
) -> Pictures:
    """Maps side by side on one scale; `rows` and `columns` are the names of the axes with their values."""
    known = [v for field in fields for line in field.values for v in line if not math.isnan(v)]
    low, high = min(known), max(known)
    wide, deep = min(len(fields), 2), -(-len(fields) // 2)
    width = 2.2 + 0.09 * max(map(len, rows[1])) + wide * max(2.3, 0.62 * len(columns[1]))
    with sheet(min(max(width, 6.0), 10.0), 0.5 + deep * (0.8 + 0.36 * len(rows[1]))) as figure:
        grid = panels(figure, len(fields), sharex=True, sharey=True)
        for axes, field in zip(grid, fields, strict=True):
            _map(axes, field, rows[1], columns[1], (low, high))
            axes.set_title(wrapped(field.title, 38))
        figure.supxlabel(columns[0], fontsize=9, color=INK)
        figure.supylabel(rows[0], fontsize=9, color=INK)
        bar = figure.colorbar(grid[0].collections[0], ax=list(grid), shrink=0.9, pad=0.02)
        bar.set_label(what)
        bar.outline.set_edgecolor(GRID)
        return saved(figure)


def _map(axes: Any, field: Field, rows: Sequence[str], columns: Sequence[str], span: tuple[float, float]) -> None:
    import numpy as np
    import seaborn as sns

    values = np.array(field.values, dtype=float)
    sns.heatmap(
        values, ax=axes, cmap="viridis", vmin=span[0], vmax=span[1], cbar=False, linewidths=0.8, linecolor=GRID,
        xticklabels=list(columns), yticklabels=list(rows),
    )  # fmt: skip
    axes.tick_params(length=0, labelrotation=0)
    middle = sum(span) / 2.0
    for i, j in np.ndindex(values.shape):
        value = values[i, j]
        if math.isnan(value):
            axes.text(j + 0.5, i + 0.5, "–", ha="center", va="center", color=SOFT, fontsize=8)
            continue
        text, colour = f"{value:.2f}{field.marks[i][j]}".replace("-", "−"), DARK if value > middle else LIGHT
        axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", color=colour, fontsize=8)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.title.set_color(INK)
