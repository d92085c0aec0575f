"""Absolute times of a log to hours: ISO 8601, one form and one kind of zone throughout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from gemsim import units
from gemsim.errors import UnitError, ValueRefused, show

_FORM = "ISO 8601 throughout, all with a zone or all without, e.g. 2024-03-30T12:00:00Z"
_SECONDS = 3600.0


def elapsed_hours(
    texts: Sequence[str], origin: str | None, *, where: str, empty: bool = False
) -> tuple[NDArray[np.float64], str]:
    """Hours from `origin` (the earliest of them if None) and that origin as text; `empty` ones are nan.

    Offsets are taken into account; a mixture of times with and without a zone, or with different offsets, is refused:
    it shows two clocks, and nothing says which rows a change of clock falls between. Raises ValueRefused.
    """
    moments: list[datetime | None] = []
    for row, text in enumerate(texts, start=1):
        moments.append(_moment(text, row, where, empty))
    known = [moment for moment in moments if moment is not None]
    _one_zone([*known, *([_origin(origin, where)] if origin else [])], where)
    zero = _origin(origin, where) if origin else min(known)
    hours = [math.nan if one is None else (one - zero).total_seconds() / _SECONDS for one in moments]
    return np.array(hours), zero.isoformat()


def window_hours(text: str) -> tuple[float | None, float, str | None]:
    """(start h or None, length h, origin or None) of a window: "348 d", "201.5 h to 488.65 h" or "ISO to ISO"."""
    first, joined, last = text.partition(" to ")
    if not joined:
        return None, _hours(text), None
    try:
        begin, end = _hours(first), _hours(last)
        origin = None
    except ValueRefused:
        start, stop = _origin(first.strip(), "--window"), _origin(last.strip(), "--window")
        _one_zone([start, stop], "--window")
        begin, end, origin = 0.0, (stop - start).total_seconds() / _SECONDS, start.isoformat()
    if end <= begin:
        raise ValueRefused(f"--window: ends before it begins ({show(text)})", "FROM to TO")
    return begin, end - begin, origin


def _hours(text: str) -> float:
    try:
        hours = units.parse(text.strip(), "time") / _SECONDS
    except UnitError as error:
        if text.strip().replace(".", "", 1).isdigit():
            raise ValueRefused(
                f"--window: a number without a unit ({show(text)})", "a length such as '348 d', or 'FROM to TO'",
                f"write '{text.strip()} d' for days",
            ) from error  # fmt: skip
        raise ValueRefused(f"--window: {error}") from error
    if hours < 0:
        raise ValueRefused(f"--window: negative ({show(text)})", "a length such as '348 d', or 'FROM to TO'")
    return hours


def _moment(text: str, row: int, where: str, empty: bool) -> datetime | None:
    if not text and empty:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueRefused(f"{where}: not an ISO 8601 time in row {row} of those kept ({show(text)})", _FORM) from None


def _origin(text: str, where: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueRefused(f"{where}: neither a time nor ISO 8601 ({show(text)})", _FORM) from None


def _one_zone(moments: list[datetime], where: str) -> None:
    offsets = {moment.strftime("%z") for moment in moments}
    if len(offsets) > 1:
        shown = ", ".join(sorted(one or "none given" for one in offsets))
        raise ValueRefused(f"{where}: times of {len(offsets)} zones ({shown})", _FORM, "convert them to UTC first")
