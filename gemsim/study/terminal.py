"""A sweep on the terminal: the table, the best point of each group and why, the ceiling, and where the rest is."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim.analytic.optimum import HOPELESS_NOTE
from gemsim.results.summary import Row
from gemsim.scenario.racks import SPARES_NOTE
from gemsim.study.advice import Group, advice, cautions, pages, recovered, verdict
from gemsim.study.ceiling import ceiling
from gemsim.study.certainty import certainty
from gemsim.study.conclude import INCOMPLETE
from gemsim.study.design import short_names
from gemsim.study.drawn import drawn
from gemsim.study.heading import head, sources
from gemsim.study.matrix import matrices
from gemsim.study.money import bills
from gemsim.study.page import TITLE, Page
from gemsim.study.paired import paired
from gemsim.study.ranking import rankings
from gemsim.study.remarks import extrapolated, infeasible, short
from gemsim.study.shares import percent
from gemsim.study.spares import Answer, fleets, shortage
from gemsim.study.sweep import SweepResult
from gemsim.study.titles import titles_of

FULL_TABLE = 24  # rows; a longer table stays in summary.csv and the rows that decide are shown
KINDS = {"exact": "=", "first_order": "~", "bound": "<"}
HEADINGS = ("design", "ETTR, 95 %", "closed form", "apart", "memory", "burst", "fall-back")


def render(result: SweepResult, *, width: int = 100, styled: bool = False) -> str:
    """Everything a reader needs to choose, in an order that can be read from the top."""
    groups = groups_of(result)
    rows = result.summary.rows
    large = len(rows) > FULL_TABLE
    page = Page(width, styled)
    page.say(*head(result), *sources(rows))
    if all(row["ettr"] is None for row in rows):
        page.say("", "Nothing to compare: no design could be simulated.", *infeasible(rows), *short(result))
        return page.text
    if result.plan.jobs:
        for block in drawn(groups, result.plan.jobs, result.plan.sampled):
            page.say("", block.title)
            if block.table is not None:
                page.show(block.table)
        return _ended(page, result, groups)
    titles = titles_of(groups)
    answers = list(fleets(groups, result.summary))
    alone = fleet_decides(groups, answers)
    if alone:
        _say_fleets(page, answers)
        page.say("", "The designs")
    page.show(_table(groups, large=large, marked=not alone), titles=titles)
    page.say(_legend(large=large, total=len(rows), marked=not alone))
    _say_groups(page, groups, titles, {one.taken for one in answers} if alone else None)
    ranked = list(rankings(groups, result.summary)) or list(paired(groups, titles))
    for block in (*ranked, *(matrices(groups, titles) if large else ())):
        page.say("", block.title)
        if block.table is not None:
            page.show(block.table)
    if not alone:
        _say_fleets(page, answers)
    page.say(*bills(groups, titles, result.summary.costs))
    return _ended(page, result, groups)


def _ended(page: Page, result: SweepResult, groups: Sequence[Group]) -> str:
    """What every page ends with: what has no numbers, what stands against the others, and where all of it lies."""
    rows = result.summary.rows
    page.say("", *infeasible(rows), *(f"Caution: {text}." for text in cautions(rows)))
    page.say(*extrapolated(groups), *short(result))
    page.say(f"Files in {result.folder}: summary.csv (all columns), rows/ (every replication), study.yaml.")
    return page.text


def fleet_decides(groups: Sequence[Group], answers: Sequence[Answer]) -> bool:
    """Whether no group has anything to choose from, and each stands in a comparison of fleets."""
    compared = {index for one in answers for index in one.compared}
    simulated = [group for group in groups if group.designs]
    return all(len(group.designs) == 1 and group.choice.reference in compared for group in simulated)


def _say_fleets(page: Page, answers: Sequence[Answer]) -> None:
    for one in answers:
        page.head(one.title)
        page.say(one.text)
        page.show(one.table)


def _say_groups(page: Page, groups: Sequence[Group], titles: Sequence[str], taken: Collection[int] | None) -> None:
    for title, lines in told(groups, titles, taken):
        page.head(title)
        page.say(*lines, indent=2)


def told(
    groups: Sequence[Group], titles: Sequence[str], taken: Collection[int] | None
) -> Iterator[tuple[str, list[str]]]:
    """What is said of each group, by its title; what is said of all, once at the end.

    `taken` are the designs to take where the fleet decides, else None.
    """
    lines = {id(group): _lines(group, taken) for group in groups}
    everywhere = [
        line for line in lines[id(groups[0])] if len(groups) > 1 and all(line in own for own in lines.values())
    ]
    for group, title in zip(groups, titles, strict=True):
        own = [line for line in lines[id(group)] if line not in everywhere]
        if own:
            yield title, own
    if everywhere:
        yield "In each of these groups", everywhere


def _lines(group: Group, taken: Collection[int] | None) -> list[str]:
    """What is said of a group: of one without numbers that alone.

    Where the fleet decides (`taken`: the designs to take) the one design is no verdict, and what is said of its spares
    is said of those to take alone.
    """
    if not group.designs:
        return [verdict(group)]
    short = taken is not None and group.choice.reference not in taken
    judged = [] if taken is not None and group.best is not None else [verdict(group)]
    return [*judged, *certainty(group), *_best_facts(group, spares=not short), *advice(group), ceiling(group)]


def groups_of(result: SweepResult) -> list[Group]:
    """The groups in the order of their first points."""
    members: dict[Any, list[Any]] = {}
    for point in result.points:
        members.setdefault(point.group, []).append(point)
    names = short_names(list(result.points[0].columns))
    found, require = result.summary, result.plan.require
    groups = []
    for key, points in members.items():
        within = {variant: choice for (group, variant), choice in found.within.items() if group == key}
        groups.append(Group(key, points, found.rows, found.choices[key], within, require, names))
    return groups


def _table(groups: Sequence[Group], *, large: bool, marked: bool) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in HEADINGS:
        if heading == "design":
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for number, group in enumerate(groups):
        if len(groups) > 1:
            table.add_row(f"{TITLE}{number}", *[""] * (len(HEADINGS) - 1))
        if group.reference is None and large:
            table.add_row(Text("  none to choose from"), *[""] * (len(HEADINGS) - 1))
        for mark, row in chosen(group) if large else _every(group):
            name = group.name(row) if large else group.label(row)
            table.add_row(*[Text(cell) for cell in (f"{mark if marked else '  '}{name}", *_cells(row))])
    return table


def _every(group: Group) -> Iterator[tuple[str, Row]]:
    for point in group.points:
        row = group.rows[point.index]
        yield ("* " if row["best"] else "= " if row["tied"] else "  "), row


def chosen(group: Group) -> Iterator[tuple[str, Row]]:
    """Best, largest ETTR, the largest of each variant, smallest: each design once."""
    if group.reference is None:
        return
    marked = [] if group.best is None else [("* ", group.best)]
    tops = [("  ", group.rows[one.reference]) for one in group.within.values() if one.reference is not None]
    worst = min(group.allowed, key=lambda row: float(row["ettr"]))
    shown: set[str] = set()
    for mark, row in (*marked, ("> ", group.reference), *tops, ("< ", worst)):
        if row["point"] not in shown:
            shown.add(row["point"])
            yield mark, row


def _empty(row: Row) -> str:
    """What stands in place of the numbers of a design that has none."""
    if not row["feasible"]:
        return "infeasible"
    if row["stopped_by"]:
        return "not run"
    return INCOMPLETE if str(row["reason"]).startswith(INCOMPLETE) else "failed"


def _cells(row: Row) -> tuple[str, ...]:
    if row["ettr"] is None:
        return (_empty(row), *[""] * (len(HEADINGS) - 2))
    half = "" if row["ettr_lo"] is None else f" ± {(row['ettr_hi'] - row['ettr_lo']) / 2:.4f}"
    form, apart = twin(row)
    memory, fallback = percent(row["memory_overhead"]), percent(row["fallback_per_failure"], 1)
    return f"{row['ettr']:.4f}{half}", form, apart, memory, pages(row), fallback


def twin(row: Row) -> tuple[str, str]:
    """The closed form by kind, and how far the simulation is from it: z, or the difference with the stated error."""
    if row["ettr_analytic"] is None:
        return "none", ""
    form = f"{KINDS.get(row['analytic_kind'], '?')} {row['ettr_analytic']:.4f}"
    if row["z_analytic"] is not None:
        return form, f"z {row['z_analytic']:+.1f}"
    stated = row["analytic_error"]
    within = "" if stated is None or math.isnan(stated) else f" ({stated:.1g})"
    return form, f"{signed(row['ettr'] - row['ettr_analytic'])}{within}"


def signed(number: float) -> str:
    """Four decimals with a sign, none for what rounds to nothing."""
    text = f"{number:+.4f}"
    return "0.0000" if float(text) == 0.0 else text


def _legend(*, large: bool, total: int, marked: bool) -> str:
    marks = (
        "* best, > largest ETTR (unmarked: of its variant), < smallest"
        if large
        else "* best, = tied with the largest ETTR"
    )
    table = f" (all {total} points: summary.csv)" if large else ""
    form = "closed form: = exact, ~ first order, < bound"
    apart = "apart: simulated less closed form, in standard errors (z) where exact, else beside (the stated error)"
    burst = "burst: adjacent pages of one GPU surely survived, by its own stripe"
    fallback = (
        "fall-back: failures recovered by a later tier than the first that covers them (m = 0 has none to fall from)"
    )
    what = f"{marks}{table}. " if marked or large else ""
    return f"{what}{form}. {apart}. {burst}. {fallback}."


def _best_facts(group: Group, *, spares: bool) -> Iterator[str]:
    """What goes with the best design: who recovered its failures, losses back to the start with their bound, notes, of
    its spares or without."""
    if group.best is None:
        return
    yield from recovered(group)
    static = next(point.static for point in group.points if point.index == group.choice.best)
    if static.get("interval_note"):
        yield f"Checkpoints: {static['interval_note']}."
    lost, high = group.best["unrecoverable_per_run"], group.best["unrecoverable_per_run_hi"]
    form = group.best["unrecoverable_analytic"]
    beside = f"; closed form {form:.2g}" if form else ""
    yield f"Back to the start of the job: {lost:.3g} per run (95 %: at most {high:.2g}{beside})."
    short = shortage(group.best, static)
    left_out = (*((HOPELESS_NOTE,) if short else ()), *(() if spares else (SPARES_NOTE,)))  # waiting, not saves
    for note in static.get("notes") or ():
        if not note.startswith(left_out):
            yield f"{note}."
    if short and spares:
        yield short
