"""How many spares, whether to retire: groups that differ in the fleet alone, side by side, and what follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim.results.families import Family
from gemsim.results.ledger import LOST_TO_FAILURES
from gemsim.results.summary import Row, Summary
from gemsim.study.advice import Group, percent, points_of, range_of
from gemsim.study.ranking import behind
from gemsim.study.titles import said, titles_of

SHOWN_CHEAPER = 4  # values with fewer spares that are named in the sentence
MUCH_WAITING = 0.1  # share of the time from which waiting for nodes is named
LEGEND = "* to take, = not told from the largest, ? too wide to tell"
_COLUMNS: Mapping[str, tuple[str, Callable[[float], str]]] = {  # left out where zero in all
    "waiting": ("time_waiting", percent),
    "degraded": ("time_degraded", percent),
    "planned": ("time_planned", percent),
    "failures": ("failures", "{:.4g}".format),
    "retired": ("retired", "{:.4g}".format),
    "borrowed": ("borrowed", "{:.4g}".format),
}


def shortage(row: Row) -> str:
    """What to look at where waiting for nodes takes most of the time that is lost; else nothing."""
    waiting, lost = row["time_waiting"], sum(row[f"time_{name}"] for name in LOST_TO_FAILURES)
    if waiting < MUCH_WAITING or 2.0 * waiting < lost:
        return ""
    return (
        f"Waiting for nodes takes {percent(waiting, 1)} of the time, most of what is lost: look at spares and repair "
        "(fleet.spares or cluster.spare_nodes, fleet.repair) first; saving more often does not help."
    )


def fleets(groups: Sequence[Group], summary: Summary) -> Iterator[tuple[str, Table, str]]:
    """For each set of groups that differ in the fleet alone a title, the table and the sentence that it comes to."""
    by_key = {group.key: group for group in groups}
    rests = said([dict(one.rest) for one in summary.families])
    for one, rest in zip(summary.families, rests, strict=True):
        titles = titles_of([by_key[key] for key in one.picks])
        names = dict(zip(one.picks.values(), titles, strict=True))
        spares = {i: _spares(by_key[key], i) for key, i in one.picks.items()}
        enough, answer = _answer(one, names, spares, summary.rows)
        where = f", {rest}" if rest else ""
        title = f"The fleet{where}, on the same failures ({LEGEND})"
        yield title, _table(one, names, enough, summary.rows), answer


def _spares(group: Group, index: int) -> int | None:
    """Spare nodes of a design at the start, where known."""
    return next(point.static.get("spare_nodes") for point in group.points if point.index == index)


def _table(one: Family, names: Mapping[int, str], enough: int, rows: Sequence[Row]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    shown = [(title, *how) for title, how in _COLUMNS.items() if any(rows[index][how[0]] for index in names)]
    for heading in ("fleet", "ETTR, 95 %", "points behind", "95 %", *(title for title, _, _ in shown)):
        table.add_column(heading, overflow="fold", justify="left" if heading == "fleet" else "right")
    for index, name in names.items():
        row = rows[index]
        mark = "*" if index == enough else "?" if one.open(index) else "=" if one.alike(index) else " "
        half = "" if row["ettr_lo"] is None else f" ± {(row['ettr_hi'] - row['ettr_lo']) / 2:.4f}"
        cells = [text(row[column]) for _, column, text in shown]
        apart = behind(one.differences[index])
        table.add_row(*map(Text, (f"{mark} {name.replace(' = ', '=')}", f"{row['ettr']:.4f}{half}", *apart, *cells)))
    return table


def _answer(
    one: Family, names: Mapping[int, str], spares: Mapping[int, int | None], rows: Sequence[Row]
) -> tuple[int, str]:
    """The pick to take and the sentence for it: the fewest spares not told from the largest ETTR.

    Of picks with as many spares only the one with the largest ETTR is spoken of. Where all have as many, the largest.
    """
    tops: dict[int | None, int] = {}
    for index in sorted(names, key=lambda i: (-float(rows[i]["ettr"]), i)):
        tops.setdefault(spares[index], index)
    largest = f"{names[one.best]} (ETTR {rows[one.best]['ettr']:.4f})"
    if len(tops) == 1 or None in tops:
        return one.best, _unranked(one, names, largest)
    enough, index = min((count, index) for count, index in tops.items() if count is not None and one.alike(index))
    ranked = sorted(((count or 0, i) for count, i in tops.items()), reverse=True)
    cheaper = [f"{names[i]} {_worse(one, i)}" for count, i in ranked if count < enough]
    apart = one.differences[index]
    bounds = "" if math.isnan(apart.half_width) else f", {range_of(-apart.hi, -apart.lo)}"
    behind_it = f"not told from the largest, {largest}: {points_of(-apart.value)} less{bounds}"
    what = "the largest" if index == one.best else behind_it
    said_first = f"Fewest spares: {names[index]} ({enough} nodes, ETTR {rows[index]['ettr']:.4f}), {what}."
    return index, " ".join([said_first, *_listed(cheaper, "With fewer: ")])


def _unranked(one: Family, names: Mapping[int, str], largest: str) -> str:
    """Where spares do not differ: the largest, and how the others stand to it."""
    others = sorted((i for i in names if i != one.best), key=lambda i: -one.differences[i].value)
    parts = [f"{names[i]} {_worse(one, i)}" for i in others]
    return " ".join([f"Largest: {largest}; spares are the same.", *_listed(parts, "Beside it: ")])


def _listed(parts: Sequence[str], lead: str) -> list[str]:
    more = f", and {len(parts) - SHOWN_CHEAPER} more above" if len(parts) > SHOWN_CHEAPER else ""
    return [f"{lead}{'; '.join(parts[:SHOWN_CHEAPER])}{more}."] if parts else []


def _worse(one: Family, index: int) -> str:
    """How a pick stands to the one with the largest ETTR."""
    apart = one.differences[index]
    bounds = "" if math.isnan(apart.half_width) else f" ({range_of(-apart.hi, -apart.lo)})"
    if one.open(index):
        return f"cannot be told yet{bounds}: run more replications"
    return f"cannot be told from it{bounds}" if one.alike(index) else f"is {points_of(-apart.value)} worse{bounds}"
