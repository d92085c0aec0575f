"""A sweep to a report: every part in the order in which it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import gemsim
from gemsim.study.heading import counted, stopped_late
from gemsim.study.labels import label
from gemsim.study.matrix import Block, matrices
from gemsim.study.money import bills
from gemsim.study.ranking import rankings
from gemsim.study.remarks import extrapolated, infeasible
from gemsim.study.report.answer import answer_of, drawn_blocks, groups_of
from gemsim.study.report.content import Figure, Grid, Left, Report, Told, plain
from gemsim.study.report.course import course
from gemsim.study.report.designs import designs_of
from gemsim.study.report.origin import origin_of
from gemsim.study.report.over import curves, heat
from gemsim.study.report.speeds import roofline
from gemsim.study.report.standing import apart, front, lost
from gemsim.study.report.view import View, view_of
from gemsim.study.terminal import told

FIGURES = (curves, lost, front, apart, heat, course, roofline)  # in the order of the page
MOST_TOLD = 12  # groups of which everything is said
MOST_BLOCKS = 12
MOST_GROUPS = 40
MOST_FAILED = 20


def report_of(folder: Path) -> Report:
    """The report of a folder. Raises ResultsError where it holds no sweep of this version."""
    view = view_of(folder)
    drawn = [draw(view) for draw in FIGURES]
    return Report(
        title=str(view.result.plan.facts.get("title", "A sweep")),
        counted=counted(view.result),
        answer=answer_of(view),
        halted="" if view.far is None else view.far.text,
        designs=designs_of(view) if view.lead is not None else None,
        told=list(_told(view)),
        blocks=list(_blocks(view)),
        figures=_paired([one for one in drawn if isinstance(one, Figure)]),
        left=[one for one in drawn if isinstance(one, Left)],
        origin=origin_of(view),
        missing=list(_missing(view)),
        version=gemsim.__version__,
    )


def _paired(figures: Sequence[Figure]) -> list[Figure]:
    """Two narrow figures stand side by side; one that is left over takes the width of both."""
    narrow = [figure for figure in figures if not figure.wide]
    alone = narrow[-1] if len(narrow) % 2 else None
    return [replace(figure, wide=True) if figure is alone else figure for figure in figures]


def _told(view: View) -> Iterator[Told]:
    """What the terminal says of each group, and of money."""
    if view.lead is None or view.result.plan.jobs:  # no verdict on single draws
        return
    taken = {one.taken for one in view.fleets} if view.fleet_decides else None
    said = list(told(view.groups, view.titles, taken))
    everywhere = said.pop() if said and said[-1][0] not in view.titles else None
    for title, lines in said[:MOST_TOLD]:
        yield Told(title, lines)
    if len(said) > MOST_TOLD:
        yield Told("Other groups", [f"{len(said) - MOST_TOLD} more: summary.csv has their numbers."])
    if everywhere is not None:
        yield Told(*everywhere)
    spent = [line.strip() for line in bills(view.groups, view.titles, view.result.summary.costs) if line.strip()]
    if spent:
        yield Told(spent[0], spent[1:])


def _blocks(view: View) -> Iterator[Grid]:
    """Tables beside the main one: fleets, rankings of all designs of a job, width against parity."""
    if view.lead is None:
        return
    if view.result.plan.jobs:  # the first table of these is on the first screen
        yield from [plain(one.table, one.title) for one in drawn_blocks(view) if one.table is not None][1:]
        return
    found = [_with_text(one.title, one.text, plain(one.table, one.title)) for one in view.fleets]
    stand = groups_of(view, MOST_GROUPS) if view.jobs else None
    found += [] if stand is None else [stand]
    blocks: list[Block] = [*rankings(view.groups, view.result.summary), *matrices(view.groups, view.titles)]
    found += [plain(block.table, block.title) for block in blocks if block.table is not None]
    yield from found[:MOST_BLOCKS]
    lines = [block.title for block in blocks if block.table is None]
    if len(found) > MOST_BLOCKS:
        lines.append(f"{len(found) - MOST_BLOCKS} more tables of other groups are left out: summary.csv.")
    if lines:
        yield Grid("", (), (), (), lines)


def _with_text(title: str, text: str, grid: Grid) -> Grid:
    """A table with the sentence that it comes to below it."""
    return Grid(title, grid.headings, grid.kinds, grid.parts, [text])


def _missing(view: View) -> Iterator[str]:
    """What is not in the numbers: points that failed, cannot exist or have not run; and costs beyond a profile."""
    result = view.result
    yield from (line.strip() for line in infeasible(view.rows))
    named: set[str] = set()
    for point in result.points:
        if point.id in result.failed and point.id not in named:
            named.add(point.id)
            if len(named) <= MOST_FAILED:
                yield f"Failed: {label(point)}: {result.failed[point.id]} (traceback in errors/)"
    if len(named) > MOST_FAILED:
        yield f"{len(named) - MOST_FAILED} more designs failed: errors/ has them."
    without = {p.id: view.rows[p.index]["reason"] for p in result.points if p.id and view.rows[p.index]["ettr"] is None}
    for reason, count in Counter(why for id_, why in without.items() if id_ not in named).most_common(MOST_FAILED):
        yield f"{count} designs without numbers: {reason or 'not run yet; the same command as before goes on'}"
    yield from stopped_late(result)
    yield from (line.strip() for line in extrapolated(view.groups))
