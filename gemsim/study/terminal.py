"""A sweep on the terminal: the table, the best point of each group and why, the ceiling, and where the rest is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gemsim.results.summary import Row
from gemsim.study.advice import Group, advice, cautions, ceiling, pages, percent, verdict
from gemsim.study.design import short_names
from gemsim.study.matrix import matrices
from gemsim.study.sweep import SweepResult, label

FULL_TABLE = 24  # rows; a longer table stays in summary.csv and the rows that decide are shown
SHOWN_REASONS = 3
HEADINGS = ("design", "ETTR, 95 %", "closed form", "apart", "memory", "burst", "fall-back")


def show(result: SweepResult, console: Console) -> None:
    """Print everything a reader needs to choose, in an order that can be read from the top."""
    groups = groups_of(result)
    rows = result.summary.rows
    large = len(rows) > FULL_TABLE
    _print(console, _heading(result), style="bold")
    for line in _sources(rows):
        _print(console, line)
    console.print(_table(groups, large=large))
    _print(console, _legend(large=large, total=len(rows)))
    if large:
        for title, table in matrices(groups):
            console.print()
            _print(console, title)
            console.print(table)
    for group in groups:
        console.print()
        _print(console, _title(group), style="bold")
        for line in (verdict(group), *_best_facts(group), *advice(group), ceiling(group)):
            _print(console, f"  {line}")
    console.print()
    for line in (*_infeasible(rows), *(f"Caution: {text}." for text in cautions(rows)), *_failed(result)):
        _print(console, line)
    _print(console, f"Files in {result.folder}: summary.csv (all columns), rows/ (every replication), study.yaml")


def groups_of(result: SweepResult) -> list[Group]:
    """The groups in the order of their first points."""
    members: dict[Any, list[Any]] = {}
    for point in result.points:
        members.setdefault(point.group, []).append(point)
    names = short_names(list(result.points[0].columns))
    rows, choices, require = result.summary.rows, result.summary.choices, result.plan.require
    return [Group(key, points, rows, choices[key], require, names) for key, points in members.items()]


def _print(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style))


def _heading(result: SweepResult) -> str:
    plan = result.plan
    designs = len({point.id for point in result.points if point.id})
    counted = (
        f"{len(result.points)} points, {designs} distinct designs, {plan.replications} replications, seed {plan.seed}"
    )
    return f"{plan.facts.get('title', '')}\n{counted}"


def _sources(rows: Sequence[Row]) -> Iterator[str]:
    """Say of each cost profile whether it was measured."""
    profiles = {(row["profile"], row["modelled"]) for row in rows if row["profile"]}
    for profile, modelled in sorted(profiles):
        yield f"Costs: profile {profile}, {'modelled, not measured' if modelled else 'measured'}."


def _title(group: Group) -> str:
    named = [f"{group.names.get(path, path)} = {value}" for path, value in group.key]
    return ", ".join(named) or "All points"


def _table(groups: Sequence[Group], *, large: bool) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "design" else "right", no_wrap=heading != "design")
    for group in groups:
        if len(groups) > 1:
            table.add_row(Text(_title(group), style="bold"), *[""] * (len(HEADINGS) - 1))
        for mark, row in _chosen(group) if large else _every(group):
            table.add_row(*[Text(cell) for cell in (f"{mark}{group.name(row)}", *_cells(row))])
    return table


def _every(group: Group) -> Iterator[tuple[str, Row]]:
    for point in group.points:
        row = group.rows[point.index]
        yield ("* " if row["best"] else "= " if row["tied"] else "  "), row


def _chosen(group: Group) -> Iterator[tuple[str, Row]]:
    """Best, largest ETTR, smallest ETTR: each design once."""
    if group.best is None or group.reference is None:
        return
    worst = min(group.allowed, key=lambda row: float(row["ettr"]))
    shown: set[int] = set()
    for mark, row in (("* ", group.best), ("> ", group.reference), ("< ", worst)):
        if id(row) not in shown:
            shown.add(id(row))
            yield mark, row


def _cells(row: Row) -> tuple[str, ...]:
    if row["ettr"] is None:
        return ("failed" if row["feasible"] else "infeasible", *[""] * (len(HEADINGS) - 2))
    half = "" if row["ettr_lo"] is None else f" ± {(row['ettr_hi'] - row['ettr_lo']) / 2:.4f}"
    form, apart = _twin(row)
    memory, fallback = percent(row["memory_overhead"]), percent(row["fallback_per_failure"], 1)
    return f"{row['ettr']:.4f}{half}", form, apart, memory, pages(row), fallback


def _twin(row: Row) -> tuple[str, str]:
    """The closed form with its kind, and how far the simulation is from it: z, or the deviation of the stated error."""
    if row["ettr_analytic"] is None:
        return "none", ""
    form = f"{row['ettr_analytic']:.4f} {row['analytic_kind'].replace('_', ' ')}"
    if row["z_analytic"] is not None:
        return form, f"z {row['z_analytic']:+.1f}"
    stated = row["analytic_error"]
    within = "" if stated is None or math.isnan(stated) else f" ({stated:.4f})"
    return form, f"{row['ettr'] - row['ettr_analytic']:+.4f}{within}"


def _legend(*, large: bool, total: int) -> str:
    marks = "* best, > largest ETTR, < smallest" if large else "* best, = tied with the largest ETTR"
    table = f"; the table of all {total} points is summary.csv" if large else ""
    apart = "apart: z in standard errors where the form is exact, else the difference (stated error)"
    return f"{marks}{table}. burst: adjacent pages surely survived. {apart}."


def _best_facts(group: Group) -> Iterator[str]:
    """What goes with the best design: the checkpoint interval, and losses back to the start with their bound."""
    if group.best is None:
        return
    static = next(point.static for point in group.points if point.index == group.choice.best)
    if static.get("interval_note"):
        yield f"Checkpoints: {static['interval_note']}."
    lost, high = group.best["unrecoverable_per_run"], group.best["unrecoverable_per_run_hi"]
    yield f"Back to the start of the job: {lost:.3g} per run (95 %: at most {high:.2g})."
    for note in static.get("notes") or ():
        yield f"Note: {note}"


def _infeasible(rows: Sequence[Row]) -> Iterator[str]:
    reasons = Counter(row["reason"] for row in rows if not row["feasible"])
    if reasons:
        yield f"{sum(reasons.values())} points are infeasible:"
    for reason, count in reasons.most_common(SHOWN_REASONS):
        yield f"  {count} × {reason}"
    if len(reasons) > SHOWN_REASONS:
        yield f"  and {len(reasons) - SHOWN_REASONS} other reasons, in summary.csv"


def _failed(result: SweepResult) -> Iterator[str]:
    if result.failed:
        yield f"{len(result.failed)} designs failed (tracebacks in {result.folder / 'errors'}):"
    named: set[str] = set()
    for point in result.points:
        if point.id in result.failed and point.id not in named:
            named.add(point.id)
            yield f"  {label(point)}: {result.failed[point.id]}"
