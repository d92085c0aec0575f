"""Words, numbers and tables as `gemsim fit` prints them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence

from gemsim.failures.logs.laws import Fit

WIDTH = 120


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as they need: the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def wrapped(items: Sequence[str]) -> Iterator[str]:
    """Items on as many lines as they need, set in by two."""
    line = " "
    for item in items:
        if len(line) + len(item) > WIDTH - 2:
            yield line.rstrip()
            line = " "
        line += f" {item};"
    yield line.rstrip(";")


def wrapped_text(text: str) -> Iterator[str]:
    """A long sentence on lines of their own, those after the first set in by two."""
    yield from textwrap.wrap(text, WIDTH, subsequent_indent="    " if text.startswith(" ") else "")


def counted(count: int, one: str, many: str) -> str:
    """A number with the words for one or for many."""
    return f"{count:,} {one if count == 1 else many}"


def best(fits: Sequence[Fit]) -> str:
    """The name of the first fit."""
    return fits[0].kind if fits else "–"


def show(value: float) -> str:
    """Three digits, or whole with commas; a dash for nan."""
    if math.isnan(value):
        return "–"
    value += 0.0  # no minus before a zero
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def short(name: str) -> str:
    """At most 30 characters of a name."""
    return name if len(name) <= 30 else name[:29] + "…"


def hours(hours: float) -> str:
    """Hours, and days from two on."""
    return f"{hours:,.5g} h" + (f" ({hours / 24:.4g} d)" if hours >= 48 else "")


def four(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}"


def span(low: float, high: float, form: Callable[[float], str] = four) -> str:
    """An interval; a dash where there is none."""
    if math.isnan(low):
        return "–"
    return f"{form(low)} or more" if math.isinf(high) else f"{form(low)}–{form(high)}"


def within_interval(value: float, low: float, high: float) -> str:
    """A value with its interval; a dash where there is none."""
    return "–" if math.isnan(value) else show(value) + ("" if math.isnan(low) else f" ({show(low)}–{show(high)})")


def clock(hours: float) -> str:
    """A length of time in the unit that suits it."""
    for unit, many in (("h", 1.0), ("min", 60.0)):
        if hours * many >= 0.999:
            return f"{hours * many:.3g} {unit}"
    return f"{hours * 3600.0:.3g} s"


def within(hours: float) -> str:
    """How near to each other starts are."""
    return f"within {clock(hours)}" if hours else "at one instant"
