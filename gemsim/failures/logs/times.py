"""Absolute times of a log to hours: ISO 8601, all with a zone or all without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from gemsim import units
from gemsim.errors import UnitError, ValueRefused, show
from gemsim.failures.logs.lines import Place

_FORM = "ISO 8601 throughout, all with a zone or all without, e.g. 2024-03-30T12:00:00Z"
_WINDOW = "a length such as '348 d', or 'FROM to TO'"
_SECONDS = 3600.0


def elapsed_hours(
    texts: Sequence[str], origin: str | None, *, name: str, place: Place, empty: bool = False
) -> tuple[NDArray[np.float64], str, NDArray[np.float64]]:
    """Hours from `origin` (the earliest of them if None), that origin as text, and the hours as the clock on the wall
    showed them; `empty` ones are nan.

    Offsets are taken into account, so they may change, as with daylight saving. A mixture of times with and without
    a zone is refused: nothing says what those without it mean. Raises ValueRefused.
    """
    where = f"{place.path}: {name}"
    moments: list[datetime | None] = []
    for row, text in enumerate(texts):
        moments.append(_moment(text, row, where, place, empty))
    known = [moment for moment in moments if moment is not None]
    _all_or_none([*known, *([_origin(origin, where)] if origin else [])], where)
    zero = _origin(origin, where) if origin else min(known)
    hours = [math.nan if one is None else (one - zero).total_seconds() / _SECONDS for one in moments]
    midnight = zero.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    shown = [
        math.nan if one is None else (one.replace(tzinfo=None) - midnight).total_seconds() / _SECONDS for one in moments
    ]
    return np.array(hours), zero.isoformat(), np.array(shown)


def window_hours(text: str) -> tuple[float | None, float, str | None]:
    """(start h or None, length h, origin or None) of a window: "348 d", "-10 h to 488.65 h" or "ISO to ISO"."""
    first, joined, last = text.partition(" to ")
    if not joined:
        length = _hours(text)
        if length < 0:
            raise ValueRefused(f"--window: negative ({show(text)})", _WINDOW)
        return None, length, None
    origin = None
    if _is_number(first) or _is_number(last):
        begin, end = _hours(first), _hours(last)
    else:
        start, stop = _origin(first.strip(), "--window"), _origin(last.strip(), "--window")
        _all_or_none([start, stop], "--window")
        begin, end, origin = 0.0, (stop - start).total_seconds() / _SECONDS, start.isoformat()
    if end <= begin:
        raise ValueRefused(f"--window: ends before it begins ({show(text)})", "FROM to TO")
    return begin, end - begin, origin


def _is_number(text: str) -> bool:
    """A number with or without a unit, and no ISO time."""
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return text.strip().removeprefix("-")[:1].isdigit()
    return False


def _hours(text: str) -> float:
    bare = text.strip()
    try:
        return units.parse(bare, "time") / _SECONDS
    except UnitError as error:
        if bare.removeprefix("-").replace(".", "", 1).isdigit():
            what, todo = f"--window: a number without a unit ({show(text)})", "'{0} h' for hours, '{0} d' for days"
            raise ValueRefused(what, _WINDOW, f"write {todo.format(bare)}") from error
        raise ValueRefused(f"--window: {error}") from error


def _moment(text: str, row: int, where: str, place: Place, empty: bool) -> datetime | None:
    if not text and empty:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueRefused(f"{where}: not an ISO 8601 time in {place.line(row)} ({show(text)})", _FORM) from None


def _origin(text: str, where: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueRefused(f"{where}: neither a time nor ISO 8601 ({show(text)})", _FORM) from None


def _all_or_none(moments: list[datetime], where: str) -> None:
    bare = [moment for moment in moments if moment.utcoffset() is None]
    if bare and len(bare) < len(moments):
        zoned = next(moment for moment in moments if moment.utcoffset() is not None)
        shown = f"{zoned.isoformat()} and {bare[0].isoformat()}"
        raise ValueRefused(f"{where}: times with and without a zone ({shown})", _FORM, "write the zone of each")
