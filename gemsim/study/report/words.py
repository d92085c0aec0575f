"""Numbers of a row as text, always with their interval and unit."""

from __future__ import annotations

import math
from typing import Any

from gemsim.results.estimate import CONFIDENCE, Interval
from gemsim.results.summary import Row
from gemsim.study.shares import percent

KINDS = {"exact": "exact", "first_order": "first order", "bound": "bound", "published_linear": "as published"}
LEVEL = f"{100.0 * CONFIDENCE:.0f} %"
UNKNOWN = "–"


def interval(row: Row, name: str) -> Interval:
    """A column with its bounds; NaN where the sample gives none."""
    return Interval(
        *(math.nan if row[f"{name}{end}"] is None else float(row[f"{name}{end}"]) for end in ("", "_lo", "_hi"))
    )


def known(number: Any) -> bool:
    """Whether a cell of the summary holds a number."""
    return number is not None and not (isinstance(number, float) and math.isnan(number))


def under(number: str, beside: str) -> str:
    """A cell of two lines: a number, and below it what goes with it."""
    return f"{number}\n{beside}" if beside else number


def ettr(row: Row) -> str:
    """ETTR with half of its interval."""
    half = "" if not known(row["ettr_lo"]) else f" ± {(row['ettr_hi'] - row['ettr_lo']) / 2:.4f}"
    return f"{row['ettr']:.4f}{half}"


def form(row: Row) -> str:
    """The closed form with its kind below it."""
    if not known(row["ettr_analytic"]):
        return "none"
    return under(f"{row['ettr_analytic']:.4f}", KINDS.get(row["analytic_kind"], str(row["analytic_kind"])))


def range_text(row: Row, name: str, *, scale: float = 1.0, digits: int = 2) -> str:
    """lo to hi of a column, times `scale`; nothing where there is no interval."""
    if not (known(row.get(f"{name}_lo")) and known(row.get(f"{name}_hi"))):
        return ""
    return f"{scale * row[f'{name}_lo']:.{digits}f} to {scale * row[f'{name}_hi']:.{digits}f}"


def share(row: Row, name: str, digits: int = 1) -> str:
    """A share in per cent with its interval below it."""
    span = range_text(row, name, scale=100.0, digits=digits)
    return under(percent(row[name], digits), span if known(row[name]) else "")


def count(row: Row, name: str) -> str:
    """A mean count with its interval below it."""
    if not known(row[name]):
        return UNKNOWN
    low, high = row.get(f"{name}_lo"), row.get(f"{name}_hi")
    span = f"{_plain(low, 3)} to {_plain(high, 3)}" if low is not None and high is not None and known(low) else ""
    return under(_plain(row[name], 4), span)


def _plain(number: float, digits: int) -> str:
    """Significant digits, and whole numbers from a thousand on: no powers of ten."""
    text = f"{number:.{digits}g}"
    return f"{number:,.0f}" if "e+" in text or number >= 1000.0 else text
