"""Figures over swept axes: ETTR along one with a line for each value of the next, and a map over two at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gemsim.results.estimate import Interval
from gemsim.results.figures.curves import Curve, Panel, curves_figure
from gemsim.results.figures.heat import Field, heat_figure
from gemsim.results.summary import Point, meets
from gemsim.study.design import short_names, size_of
from gemsim.study.report import axes
from gemsim.study.report.content import Figure, Left
from gemsim.study.report.view import View
from gemsim.study.report.words import KINDS, LEVEL, interval, known
from gemsim.study.shares import hundredths
from gemsim.study.titles import said

MOST_PANELS = 4
SAME = " Designs of one group ran on the same failures: how far they are apart is known better than the bands tell."
MOST_FLATS = 2  # designs without the axis that are drawn across a panel
LEAST_CELLS, MOST_ROWS, MOST_COLUMNS = 4, 24, 18


def curves(view: View) -> Figure | Left:
    """ETTR over the first numeric axis that makes lines."""
    points, title = view.simulated, "ETTR along the swept axis"
    if not points:
        return Left(title, "nothing was simulated")
    for across in axes.numeric(points):
        hue = axes.series(points, across)
        panels = _panels(view, points, across, hue)
        if any(len(curve.x) > 1 for panel in panels for curve in panel.curves):
            return _curves(view, panels, across, hue)
    return Left(title, "no axis of numbers is swept on which a design has two values")


def _curves(view: View, panels: Sequence[Panel], across: str, hue: str | None) -> Figure:
    names = _names(view)
    x, by = names[across], "" if hue is None else f", a line for each {names[hue]}"
    raws = axes.values(view.simulated, across)
    ticks = sorted({(place, axes.text(raw)) for raw in raws if (place := _place(raw)) is not None})
    pictures = curves_figure(panels[:MOST_PANELS], across=_axis(x), upward="ETTR", ticks=ticks, form=_form(view))
    spread = any(known(view.rows[point.index]["ettr_lo"]) for point in view.simulated)
    band = f"bands: {LEVEL} intervals" if spread else "one replication: no intervals"
    seen = f"ETTR over {x}{by}: filled markers simulated ({band}), hollow ones the {_form(view)}. {_span(panels)}{SAME}"
    left = [seen, *_left_out(view, panels, across)]
    return Figure("ettr", f"ETTR over {x}", " ".join(left), *pictures, wide=len(panels) > 1)


def _form(view: View) -> str:
    """The closed form with its kind, or the kinds that there are."""
    found = [row["analytic_kind"] for row in view.rows if row["ettr"] is not None and known(row["ettr_analytic"])]
    kinds = [KINDS.get(kind, str(kind)) for kind in dict.fromkeys(found)]
    return f"closed form ({' or '.join(kinds)})" if kinds else "closed form (none here)"


def _left_out(view: View, panels: Sequence[Panel], across: str) -> Iterator[str]:
    """What the picture has no room for."""
    if len(panels) > MOST_PANELS:
        yield f"{len(panels) - MOST_PANELS} more panels are left out; summary.csv has them."
    bare = {point.id for point in view.simulated if not known(view.rows[point.index]["ettr_analytic"])}
    if bare:
        yield f"{len(bare)} of all designs have no closed form."
    without = {point.id for point in view.simulated if axes.value(point, across) == ""}
    if without and not any(panel.flats for panel in panels):
        yield f"{len(without)} designs that have no such axis are not drawn here."


def _span(panels: Sequence[Panel]) -> str:
    """The range of what is drawn, so that the sentence says what the picture shows."""
    drawn = [one.value for panel in panels[:MOST_PANELS] for curve in panel.curves for one in curve.y]
    return f"ETTR runs from {min(drawn):.4f} to {max(drawn):.4f}."


def _panels(view: View, points: Sequence[Point], across: str, hue: str | None) -> list[Panel]:
    keys = axes.settings(points, across, hue)
    distinct = list(dict.fromkeys(keys.values()))
    titles = said([dict(key) for key in distinct]) if len(distinct) > 1 else [""]
    panels = []
    shown = None if view.shown is None else next(p for p in points if p.id == view.shown["point"])
    places = sorted(range(len(distinct)), key=lambda i: shown is None or distinct[i] != keys[shown.index])
    for place in places if len(distinct) > MOST_PANELS else range(len(distinct)):
        key, title = distinct[place], titles[place]
        own = [point for point in points if keys[point.index] == key]
        lines, flats = list(_lines(view, own, across, hue)), dict(_flats(view, own, across, hue))
        if lines:
            panels.append(Panel(title, lines, list(flats.items()) if len(flats) <= MOST_FLATS else []))
    return panels


def _lines(view: View, points: Sequence[Point], across: str, hue: str | None) -> Iterator[Curve]:
    for held in axes.values(points, hue) if hue else [""]:
        own = [point for point in points if _place(axes.value(point, across)) is not None]
        own = [point for point in own if not hue or axes.value(point, hue) == held]
        places = {_place(axes.value(point, across)): point for point in own}
        ordered = [places[place] for place in sorted(place for place in places if place is not None)]
        if ordered:
            name = _called(view, hue, held)
            rows = [view.rows[point.index] for point in ordered]
            forms = [float(row["ettr_analytic"]) if known(row["ettr_analytic"]) else math.nan for row in rows]
            where = [_place(axes.value(point, across)) or 0.0 for point in ordered]
            yield Curve(name, where, [interval(row, "ettr") for row in rows], forms)


def _called(view: View, hue: str | None, held: Any) -> str:
    """The name of a line."""
    if hue is None:
        return "simulated"
    return axes.text(held) if hue == axes.VARIANT else f"{_names(view)[hue]} = {axes.text(held)}"


def _flats(view: View, points: Sequence[Point], across: str, hue: str | None) -> Iterator[tuple[str, Interval]]:
    """Designs to which the axis does not apply."""
    for point in points:
        if axes.value(point, across) == "":
            held = axes.value(point, hue) if hue else ""
            yield str(held or point.variant or "without it"), interval(view.rows[point.index], "ettr")


def _place(raw: Any) -> float | None:
    return None if raw == "" else size_of(raw)


def _names(view: View) -> Mapping[str, str]:
    return {**short_names(list(view.result.points[0].columns)), axes.VARIANT: "variant"}


def _axis(name: str) -> str:
    """A swept key as the name of an axis, with its unit where the field has one."""
    units = {
        "k": "k, data shards of a stripe",
        "cadence": "cadence, steps between encodes",
        "gpus": "GPUs of the job",
        "spare_nodes": "spare nodes",
    }
    return units.get(name, name)


def heat(view: View) -> Figure | Left:
    """How far each pair of values stays behind the largest ETTR of its group."""
    title = "Two axes at once"
    pair = _pair(view)
    if pair is None:
        return Left(title, "no two axes of protection with two values or more are swept together")
    down, across = pair
    points = [point for point in view.simulated if known(view.rows[point.index]["ettr_diff"])]
    if not points:
        return Left(title, "no design meets the requirement, so there is none to compare with")
    rows, columns = axes.values(points, down), axes.values(points, across)
    columns = sorted(columns, key=lambda raw: size_of(raw) or 0.0)
    if len(rows) > MOST_ROWS or len(columns) > MOST_COLUMNS:
        return Left(title, f"{len(rows)} x {len(columns)} cells are more than can be read")
    fields = list(_fields(view, points, (down, rows), (across, columns)))
    if not fields:
        return Left(title, "no two of the swept axes have one design for each pair of values")
    names = _names(view)
    pictures = heat_figure(
        fields[:MOST_PANELS], rows=(_axis(names[down]), [axes.text(raw) for raw in rows]),
        columns=(_axis(names[across]), [axes.text(raw) for raw in columns]), what="points of ETTR to the largest",
    )  # fmt: skip
    left = f" {len(fields) - MOST_PANELS} more maps are left out." if len(fields) > MOST_PANELS else ""
    out = ", × does not meet the requirement" if any(" ×" in line for one in fields for line in one.marks) else ""
    low = min(v for field in fields for line in field.values for v in line if not math.isnan(v))
    seen = (
        f"ETTR of each {names[down]} and {names[across]} less the largest of its group, in points (paired, on the same "
        f"failures): from {hundredths(low / 100.0)} to 0.00. * best, = tied with the largest{out}.{left}"
    )
    return Figure("heat", f"ETTR over {names[down]} and {names[across]}", seen, *pictures, wide=True)


def _pair(view: View) -> tuple[str, str] | None:
    """(rows, columns): k x cadence, else k x m, else two numbers with most values, else variants x a number."""
    points = view.simulated
    if not points:
        return None
    found = [path for path in axes.numeric(points) if axes.inside(path)]
    named = {tail: path for path in found for tail in (".k", ".cadence", ".m") if path.endswith(tail)}
    for down, across in ((".k", ".cadence"), (".m", ".k")):
        if down in named and across in named:
            return named[down], named[across]
    if len(found) > 1:
        return found[1], found[0]
    several = len(axes.values(points, axes.VARIANT)) > 1
    return (axes.VARIANT, found[0]) if found and several else None


def _fields(
    view: View, points: Sequence[Point], down: tuple[str, Sequence[Any]], across: tuple[str, Sequence[Any]]
) -> Iterator[Field]:
    keys = axes.settings(points, down[0], across[0])
    distinct = list(dict.fromkeys(keys.values()))
    titles = said([dict(key) for key in distinct]) if len(distinct) > 1 else [""]
    for key, title in zip(distinct, titles, strict=True):
        own = [point for point in points if keys[point.index] == key]
        cells = [[_cell(view, own, (down[0], row), (across[0], column)) for column in across[1]] for row in down[1]]
        filled = sum(not math.isnan(value) for line in cells for value, _ in line)
        if filled >= LEAST_CELLS:
            yield Field(title, [[v for v, _ in line] for line in cells], [[mark for _, mark in line] for line in cells])


def _cell(view: View, points: Sequence[Point], down: tuple[str, Any], across: tuple[str, Any]) -> tuple[float, str]:
    """The value at one pair with its mark; a design to which an axis does not apply fills its row or column."""
    found = {
        point.id: point
        for point in points
        if axes.value(point, down[0]) in (down[1], "") and axes.value(point, across[0]) in (across[1], "")
    }
    if len(found) != 1:
        return math.nan, ""
    index = next(iter(found.values())).index
    row = view.rows[index]
    number = 100.0 * row["ettr_diff"]
    mark = " *" if row["best"] else " =" if row["tied"] else "" if meets(row, view.result.plan.require) else " ×"
    return (0.0 if abs(number) < 0.005 else number), mark
