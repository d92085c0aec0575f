"""Designs and numbers of a recommendation in words, with their units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gemsim import units
from gemsim.results.estimate import Interval
from gemsim.study.along import OPTIMAL
from gemsim.study.design import short_names
from gemsim.study.recommend.answer import Answer
from gemsim.study.recommend.confirm import Confirmed
from gemsim.study.recommend.constraints import value_of
from gemsim.study.recommend.space import show

UNIT_OF = {  # of a decision variable without one in its value, by the last part of its path
    "k": "data members", "m": "parity members", "spare_nodes": "nodes", "every": "steps", "cadence": "steps",
    "copies": "copies", "buckets": "buckets", "hot": "nodes", "warm": "nodes", "cold": "nodes", "set": "hosts",
    "losses": "hosts", "readers": "replicas",
}  # fmt: skip


def with_unit(answer: Answer, one: Confirmed, path: str, value: Any) -> str:
    tier, last = path.split(".")[-2:] if "." in path else ("", path)
    seconds = answer.intervals.get(one.id, {}).get(tier)
    if value == OPTIMAL:
        return "optimal: never needed" if seconds is None else f"optimal: each {units.brief(seconds, 'time')} of work"
    shown = show(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and last in UNIT_OF:
        unit = UNIT_OF[last]
        shown = f"{value} {unit.removesuffix('s') if value == 1 and unit.endswith('s') else unit}"
    if last == "every" and seconds is not None:
        shown += f", each {units.brief(seconds, 'time')} of work"
    return shown


def names(answer: Answer) -> dict[str, str]:
    decide: Sequence[str] = list(dict.fromkeys(path for one in answer.table.structures for path in one.values(0)))
    return short_names(decide)


def named(answer: Answer, variant: str, values: Mapping[str, Any], beside: Mapping[str, Any] | None = None) -> str:
    """A design in one line: all its values, or those in which it differs from another."""
    short = names(answer)
    own = {path: v for path, v in values.items() if beside is None or beside.get(path) != v} or values
    said = ", ".join(f"{short[path]} = {show(value)}" for path, value in own.items())
    return ": ".join(filter(None, (variant, said))) or "the study as it stands"


def number_of(answer: Answer, value: Interval) -> str:
    name = {"goodput": "ETTR ", "cost": "", "finish": "Done after "}[answer.sought.kind]
    shown = answer.sought.show
    bounds = "no interval" if math.isnan(value.lo) else f"95 %: {shown(value.lo)} to {shown(value.hi)}"
    return f"{name}{shown(value.value)} ({bounds})"


def range_of(answer: Answer, apart: Interval) -> str:
    if math.isnan(apart.lo):
        return "no interval"
    if answer.sought.kind == "goodput":
        return f"95 %: {100 * apart.lo:+.3f} to {100 * apart.hi:+.3f} points"
    if answer.sought.kind == "cost":
        return f"95 %: {apart.lo:+.4f} to {apart.hi:+.4f} {answer.sought.unit}"
    return f"95 %: {apart.lo / 3600:+.2f} to {apart.hi / 3600:+.2f} h"


def or_none(answer: Answer, twin: float) -> str:
    if math.isnan(twin):
        return "none"
    return answer.sought.show(twin) + (" in the mean" if answer.sought.kind == "finish" else "")


def short_number(answer: Answer, value: Interval) -> str:
    half = value.half_width
    if answer.sought.kind == "cost":
        return f"{value.value:.4f} ± {half:.4f}"
    shown = answer.sought.show(value.value)
    return shown if math.isnan(half) or answer.sought.kind == "finish" else f"{shown} ± {100 * half:.2f}"


def plain(answer: Answer, value: float) -> str:
    """A value of the closed form in a column whose heading has the unit."""
    if math.isnan(value):
        return "none"
    return f"{value:.4f}" if answer.sought.kind == "cost" else answer.sought.show(value)


def cell(column: str, row: Mapping[str, Any]) -> str:
    return "–" if row[column] is None else value_of(column, float(row[column]))


def common(values: Sequence[Mapping[str, Any]]) -> set[str]:
    """The variables that have one value in all designs."""
    paths = set.union(*(set(one) for one in values))
    return {path for path in paths if len({repr(one.get(path)) for one in values}) == 1}


def heading_of(answer: Answer) -> str:
    return {"goodput": "ETTR", "cost": answer.sought.unit, "finish": "done after"}[answer.sought.kind]


def third(answer: Answer) -> str:
    return "cost" if answer.sought.kind == "cost" else "spares"


def settings(answer: Answer, one: Confirmed) -> Iterator[str]:
    """Each decision variable on a line, with its unit."""
    if one.design.variant:
        yield f"variant: {one.design.variant}"
    for path, value in one.design.values.items():
        yield f"{path}: {with_unit(answer, one, path, value)}"


def of_what(answer: Answer) -> str:
    return " of ETTR" if answer.sought.kind == "goodput" else ""
