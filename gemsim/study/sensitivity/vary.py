"""Laws for a study that gives none: every number in it that is an assumption, a given share up and down.

What is marked is taken from the defaults of the models and from the comments in the file, so that the choice is the
study's own. Rates as a whole and P(contained) are always among them.
"""

from __future__ import annotations

import re
from typing import Any

from gemsim.errors import ValueRefused
from gemsim.spec.implied import Explained
from gemsim.spec.lifting import nominal, slot_at
from gemsim.spec.loading import LoadedStudy
from gemsim.spec.paths import locate, normalised
from gemsim.spec.printing import explain
from gemsim.spec.types import Keep
from gemsim.spec.uncertain import Law, Slot, bound
from gemsim.spec.uncertain_text import read_law

MARK = "assumption"
ALWAYS = ("failures.scale", "failures.contained")
_LEFT = ("run", "profile", "title", "notes", "uncertain")  # no inputs of the model
_LAW = re.compile(r"(fixed|exponential|lognormal) (.+?)( \(sigma .*)?")


def varied(loaded: LoadedStudy, share: float) -> tuple[dict[str, Law], list[str]]:
    """Laws for the assumed numbers of a study, ± `share` of each, and a line for each that can have none.

    Swept inputs, whole numbers and inputs with a law of their own are left as they are.
    """
    raw = normalised(loaded.raw)
    marked = _marked(loaded)
    taken = {*loaded.spec.uncertain, *loaded.spec.sweep.paths}
    laws, left = {}, []
    for row in _rows(loaded):
        if row.path in taken or row.path.split(".")[0] in _LEFT:
            continue
        if not (row.path in ALWAYS or MARK in row.origin or row.path in marked):
            continue
        try:
            path, slot, value = _number(raw, row)
            if slot is not None and value is not None and not slot.whole:
                laws[path] = _around(slot, value, share)
        except ValueRefused as refused:
            left.append(f"{row.path} ({row.value}): {refused.what}")
    return laws, left


def _rows(loaded: LoadedStudy) -> list[Explained]:
    """All values of the study; P(contained) as the memory classes have it, where they agree."""
    spec = loaded.spec
    shares = {one.contained for one in spec.failures.resolved() if one.scope == "memory"}
    agreed = str(shares.pop()) if len(shares) == 1 else ""
    return [
        row._replace(value=agreed) if row.path == "failures.contained" and agreed else row for row in explain(loaded)
    ]


def _number(raw: dict[str, Any], row: Explained) -> tuple[str, Slot | None, Any]:
    """The path, the field and the value in SI of a row; no field or no value where it is no number."""
    try:
        slot, path, text = slot_at(raw, row.path), row.path, row.value
    except ValueRefused:
        return row.path, None, None
    if slot is None:
        return path, None, None
    if slot.dimension == "time" and (match := _LAW.fullmatch(text)):
        path, text = (path if match[1] == "fixed" else f"{path}.mean"), match[2]
    try:
        value = slot.reader.read(float(text) if slot.dimension in ("share", "count") else text)
    except ValueError:
        return path, slot, None
    return path, slot, value.seconds if isinstance(value, Keep) else value


def _around(slot: Slot, value: Any, share: float) -> Law:
    """± `share` of a value, cut where the field ends. Raises ValueRefused where that is no range."""
    number = float(getattr(value, "value", value))
    if number == 0.0:
        raise ValueRefused("nothing to vary")
    plain = Law("", "uniform", (number, number), slot.dimension, "", getattr(value, "per", "job"))
    low, high = number * (1.0 - share), number * (1.0 + share)
    if slot.dimension == "share":
        high = min(high, 1.0)
    ends = [str(nominal(_fixed(plain, end))) for end in (low, high)]
    return bound(read_law(f"{ends[0]} .. {ends[1]}"), slot, value)


def _fixed(law: Law, number: float) -> Law:
    return Law("", "uniform", (number, number), law.dimension, "", law.per)


def _marked(loaded: LoadedStudy) -> set[str]:
    """The paths of values beside which the file says that they are assumed."""
    try:
        lines = loaded.path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return set()
    raw, found = normalised(loaded.raw), set()
    for row in explain(loaded):
        try:
            at = loaded.positions.get(locate(raw, row.path))
        except ValueRefused:
            continue
        if at is not None and MARK in lines[at[0] - 1].partition(" #")[2]:
            found.add(row.path)
    return found
