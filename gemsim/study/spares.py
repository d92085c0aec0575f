"""How many spares, whether to retire: groups that differ in the fleet alone, side by side, and what follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim.results.families import Family
from gemsim.results.ledger import LOST_TO_FAILURES
from gemsim.results.summary import Row, Summary
from gemsim.scenario.waiting import Waits
from gemsim.study.advice import Group
from gemsim.study.design import size_of
from gemsim.study.ranking import behind
from gemsim.study.shares import percent, points_of, range_of
from gemsim.study.titles import said, titles_of

SHOWN_CHEAPER = 4  # values with fewer spares that are named in the sentence
MUCH_WAITING = 0.005  # share of the time from which waiting is named: ten times what is not worth paying for
SPARES_KEYS = "fleet.spares or cluster.spare_nodes, fleet.repair"
TAKE, LARGEST = "* to take", "> largest"
LEGEND = "= not told from the largest, ? too wide to tell"
NODES_ALONE = Waits(nodes=True, devices=0.0)
_COLUMNS: Mapping[str, tuple[str, Callable[[float], str]]] = {  # left out where zero in all
    "waiting": ("time_waiting", percent),
    "degraded": ("time_degraded", percent),
    "planned": ("time_planned", percent),
    "failures": ("failures", "{:.4g}".format),
    "retired": ("retired", "{:.4g}".format),
    "borrowed": ("borrowed", "{:.4g}".format),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Fleets side by side: a title, the sentence that it comes to, the table, and the indices of what is compared.

    `taken` is the design to take, or the one with the largest ETTR where none is known to be enough.
    """

    title: str
    text: str
    table: Table
    taken: int
    compared: frozenset[int]


def shortage(row: Row, static: Mapping[str, Any]) -> str:
    """What to look at where waiting takes most of the time that is lost; else nothing."""
    waiting, lost = row["time_waiting"], sum(row[f"time_{name}"] for name in LOST_TO_FAILURES)
    if waiting < MUCH_WAITING or 2.0 * waiting < lost:
        return ""
    may = static.get("waits", NODES_ALONE)
    devices = min(waiting, may.devices)
    if not may.nodes or 2.0 * devices > waiting:
        share = f"about {percent(devices, 1)}" if may.nodes else percent(waiting, 1)
        return (
            f"Resets and reboots take {share} of the time, most of what is lost: look at how long they take "
            "(restart.reset, restart.reboot) and at the failures that ask for them; spares do not help."
        )
    what = "nodes, their start, resets and reboots" if devices else "nodes and their start"
    return (
        f"Waiting (for {what}) takes {percent(waiting, 1)} of the time, most of what is lost: look at spares and "
        f"repair ({SPARES_KEYS}) first; saving more often does not help."
    )


def fleets(groups: Sequence[Group], summary: Summary) -> Iterator[Answer]:
    """For each set of groups that differ in the fleet alone what it comes to."""
    by_key = {group.key: group for group in groups}
    rests = said([dict(one.rest) for one in summary.families])
    for one, rest in zip(summary.families, rests, strict=True):
        titles = titles_of([by_key[key] for key in one.picks])
        names = dict(zip(one.picks.values(), titles, strict=True))
        static = {i: _static(by_key[key], i) for key, i in one.picks.items()}
        taken, known, text = _answer(one, names, static, summary.rows)
        where = f", {rest}" if rest else ""
        legend = f"{TAKE if known else LARGEST}, {LEGEND}"
        title = f"The fleet{where}, on the same failures ({legend})"
        table = _table(one, names, {taken: "*" if known else ">"}, summary.rows)
        yield Answer(title, text, table, taken, frozenset(names))


def _static(group: Group, index: int) -> Mapping[str, Any]:
    """What is known of a design without running it."""
    return next(point.static for point in group.points if point.index == index)


def _table(one: Family, names: Mapping[int, str], marks: Mapping[int, str], rows: Sequence[Row]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    shown = [(title, *how) for title, how in _COLUMNS.items() if any(rows[index][how[0]] for index in names)]
    for heading in ("fleet", "ETTR, 95 %", "points behind", "95 %", *(title for title, _, _ in shown)):
        table.add_column(heading, overflow="fold", justify="left" if heading == "fleet" else "right")
    for index, name in names.items():
        row = rows[index]
        mark = marks.get(index, "?" if one.open(index) else "=" if one.alike(index) else " ")
        half = "" if row["ettr_lo"] is None else f" ± {(row['ettr_hi'] - row['ettr_lo']) / 2:.4f}"
        cells = [text(row[column]) for _, column, text in shown]
        apart = behind(one.differences[index])
        table.add_row(*map(Text, (f"{mark} {name.replace(' = ', '=')}", f"{row['ettr']:.4f}{half}", *apart, *cells)))
    return table


def _answer(
    one: Family, names: Mapping[int, str], static: Mapping[int, Mapping[str, Any]], rows: Sequence[Row]
) -> tuple[int, bool, str]:
    """The pick to take, whether it is known to be enough, and the sentence: the fewest spares as good as the largest.

    Nothing is enough where the most spares of the sweep are needed, or where the job still mostly waits for nodes. Of
    picks with as many spares only the one with the largest ETTR is taken. Where all have as many, the largest.
    """
    spares = {i: static[i].get("spare_nodes") for i in names}
    if len(set(spares.values())) == 1 or None in spares.values():
        return one.best, True, _unranked(one, names, rows)
    counts = {i: int(count or 0) for i, count in spares.items()}
    order = sorted(names, key=lambda i: (-counts[i], -float(rows[i]["ettr"]), i))
    enough = min(counts[i] for i in names if one.alike(i))
    index = next(i for i in order if counts[i] == enough and one.alike(i))
    edge = enough == max(counts.values())
    if edge or SPARES_KEYS in shortage(rows[one.best], static[one.best]):
        return one.best, False, _not_enough(one, names, counts, order, rows)
    apart = one.differences[index]
    bounds = "" if math.isnan(apart.half_width) else f", {range_of(-apart.hi, -apart.lo)}"
    largest = f"{names[one.best]} (ETTR {rows[one.best]['ettr']:.4f})"
    behind_it = f"not told from the largest, {largest}: {points_of(-apart.value)} less{bounds}"
    what = "the largest" if index == one.best else behind_it
    said_first = f"Fewest spares: {names[index]} ({enough} nodes, ETTR {rows[index]['ettr']:.4f}), {what}."
    return index, True, " ".join([said_first, *_fewer(one, names, counts, order, enough)])


def _not_enough(
    one: Family, names: Mapping[int, str], counts: Mapping[int, int], order: Sequence[int], rows: Sequence[Row]
) -> str:
    """The largest of the sweep, where more spares than it has might be better."""
    row, nodes = rows[one.best], counts[one.best]
    edge = ", at the edge of the sweep" if nodes == max(counts.values()) else ""
    waiting = f" Waiting still takes {percent(row['time_waiting'])} of the time." if row["time_waiting"] else ""
    largest = f"{names[one.best]} ({nodes} nodes, ETTR {row['ettr']:.4f})"
    said_first = f"No number of spares here is known to be enough: the largest ETTR is {largest}{edge}.{waiting}"
    more = "More spares might be better: sweep more."
    return " ".join([said_first, more, *_fewer(one, names, counts, order, nodes)])


def _fewer(
    one: Family, names: Mapping[int, str], counts: Mapping[int, int], order: Sequence[int], than: int
) -> list[str]:
    """How all picks with fewer spares stand to the largest."""
    return _listed([f"{names[i]} {_worse(one, i)}" for i in order if counts[i] < than], "With fewer: ")


def _unranked(one: Family, names: Mapping[int, str], rows: Sequence[Row]) -> str:
    """Where spares do not differ: the largest, and how the others stand to it."""
    others = sorted((i for i in names if i != one.best), key=lambda i: -one.differences[i].value)
    parts = [f"{names[i]} {_worse(one, i)}" for i in others]
    largest = f"Largest: {names[one.best]} (ETTR {rows[one.best]['ettr']:.4f}); spares are the same."
    return " ".join([largest, *_edges(one), *_listed(parts, "Beside it: ")])


def _edges(one: Family) -> list[str]:
    """The swept numbers of the best that lie at an end of their axis, where no other value is as good."""
    keys = {index: dict(key) for key, index in one.picks.items()}
    best, found = keys[one.best], []
    for path in best:
        sizes = {index: size_of(_plain(key.get(path, ""))) for index, key in keys.items()}
        numbers = [size for size in sizes.values() if size is not None]
        own = sizes[one.best]
        if own is None or len(numbers) < len(sizes) or min(numbers) == max(numbers) or own == 0.0:
            continue
        alike = any(sizes[index] != own and (one.alike(index) or one.open(index)) for index in keys)
        if own in (min(numbers), max(numbers)) and not alike:
            name = path.rpartition(".")[2]
            found.append(f"{name} = {best[path]} is the edge of the sweep: values beyond it might be better.")
    return found


def _plain(text: str) -> float | str:
    """The value of a group: numbers stand there as text."""
    try:
        return float(text)
    except ValueError:
        return text


def _listed(parts: Sequence[str], lead: str) -> list[str]:
    more = f", and {len(parts) - SHOWN_CHEAPER} more in the table" if len(parts) > SHOWN_CHEAPER else ""
    return [f"{lead}{'; '.join(parts[:SHOWN_CHEAPER])}{more}."] if parts else []


def _worse(one: Family, index: int) -> str:
    """How a pick stands to the one with the largest ETTR."""
    apart = one.differences[index]
    bounds = "" if math.isnan(apart.half_width) else f" ({range_of(-apart.hi, -apart.lo)})"
    if one.open(index):
        return f"cannot be told yet{bounds}: run more replications"
    return f"cannot be told from it{bounds}" if one.alike(index) else f"is {points_of(-apart.value)} worse{bounds}"
