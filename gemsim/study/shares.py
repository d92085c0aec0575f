"""Shares of time as text: as percentages, and their differences in percentage points."""

from __future__ import annotations

import math

from gemsim.results.estimate import CONFIDENCE


def percent(share: float | None, digits: int = 2) -> str:
    """A share as text; a dash where it is not known."""
    if share is None or math.isnan(share):
        return "–"
    return f"{100.0 * share:.{digits}f} %"


def points_of(difference: float) -> str:
    """A difference of shares in percentage points."""
    text = f"{hundredths(difference)} points"
    return "less than 0.01 points" if text == "0.00 points" else text


def hundredths(share: float) -> str:
    """A share times 100, to two decimals; what rounds to nothing has no sign."""
    text = f"{100.0 * share:.2f}"
    return "0.00" if text == "-0.00" else text


def range_of(lo: float, hi: float) -> str:
    """An interval of a difference of shares, in points."""
    return f"{100.0 * CONFIDENCE:.0f} %: {hundredths(lo)} to {hundredths(hi)}"
