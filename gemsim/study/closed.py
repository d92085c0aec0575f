"""What `gemsim sweep --analytic` says: the best design of each group by the closed form, and what has none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim.results.choice import TIE_BAND
from gemsim.results.families import GroupKey
from gemsim.results.summary import Require, Row
from gemsim.spec.loading import LoadedStudy
from gemsim.study.analytic import COMPUTED
from gemsim.study.design import DesignPoint, short_names
from gemsim.study.page import TITLE, Page
from gemsim.study.points import NO_FORM
from gemsim.study.remarks import most_frequent
from gemsim.study.shares import percent
from gemsim.study.terminal import KINDS
from gemsim.study.titles import said

NOTHING_RUN = "Closed form only; nothing was simulated."
SHOWN_GROUPS = 24  # more are in the file


def render_closed(loaded: LoadedStudy, designs: Sequence[DesignPoint], rows: Sequence[Row], *, width: int) -> str:
    """The page, without where its file is."""
    spec, page = loaded.spec, Page(width, styled=False)
    numbers = sum(row["ettr_analytic"] is not None for row in rows)
    page.say(spec.title, f"{len(rows):,} points, {numbers:,} with a number. {NOTHING_RUN}")
    judged = {column: bound for column, bound in spec.require.items() if column in COMPUTED}
    groups = _groups(designs)
    best = {key: _best([rows[point.index] for point in members], judged) for key, members in groups.items()}
    page.show(_table(groups, best), titles=said([dict(key) for key in groups]) if len(groups) > 1 else ())
    page.say(
        f"Best: the cheapest in memory within {TIE_BAND} of the largest ETTR. closed form: = exact, ~ first order, "
        "< bound; in brackets its stated error."
    )
    page.say(*_beyond(groups, best), *_unjudged(spec.require, judged), *_without(rows))
    return page.text


Groups = Mapping[GroupKey, Sequence[DesignPoint]]
Best = Mapping[GroupKey, Row | None]


def _groups(designs: Sequence[DesignPoint]) -> Groups:
    found: dict[GroupKey, list[DesignPoint]] = {}
    for design in designs:
        found.setdefault(design.group, []).append(design)
    return found


def _best(rows: Sequence[Row], require: Require) -> Row | None:
    """Of those that meet what can be judged the cheapest that is as good as the largest ETTR, as in a sweep."""
    allowed = [row for row in rows if row["ettr_analytic"] is not None and not math.isnan(row["ettr_analytic"])]
    allowed = [row for row in allowed if all(_meets(row, name, bound) for name, bound in require.items())]
    most = max((row["ettr_analytic"] for row in allowed), default=0.0)
    tied = [row for row in allowed if most - row["ettr_analytic"] <= TIE_BAND]
    return min(tied, key=lambda row: (row["memory_overhead"], row["step_overhead"]), default=None)


def _meets(row: Row, column: str, bound: object) -> bool:
    value = row[column]
    return value is not None and bound.met(float(value))  # type: ignore[attr-defined]


def _table(groups: Groups, best: Best) -> Table:
    """A line for each group: its best design, of how many."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("best by closed form", overflow="fold")
    for heading in ("closed form", "memory", "step", "of points"):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, (key, members) in enumerate(list(groups.items())[:SHOWN_GROUPS]):
        row = best[key]
        if len(groups) > 1:
            table.add_row(f"{TITLE}{number}", *[""] * 4)
        cells = [""] * 3 if row is None else _cells(row)
        name = "none to choose from" if row is None else _name(row, members)
        table.add_row(Text(f"  {name}"), *cells, f"{len(members):,}")
    return table


def _name(row: Row, members: Sequence[DesignPoint]) -> str:
    """What tells a design from the others of its group."""
    names = short_names(list(members[0].columns))
    differing = [p for p in names if len({str(point.columns[p]) for point in members}) > 1 and row[p] != ""]
    parts = [row["variant"]] if row["variant"] else []
    return " ".join([*parts, *(f"{names[path]}={row[path]}" for path in differing)]) or "the study as it stands"


def _cells(row: Row) -> list[str]:
    stated = row["analytic_error"]
    within = "" if stated is None or math.isnan(stated) else f" ({stated:.1g})"
    form = f"{KINDS.get(row['analytic_kind'], '?')} {row['ettr_analytic']:.4f}{within}"
    return [form, percent(row["memory_overhead"]), percent(row["step_overhead"])]


def _beyond(groups: Groups, best: Best) -> Iterator[str]:
    """What is said of groups that the table leaves out."""
    if len(groups) > SHOWN_GROUPS:
        found = [row["ettr_analytic"] for row in best.values() if row is not None]
        span = f"; the best of each has {min(found):.4f} to {max(found):.4f}" if found else ""
        yield f"And {len(groups) - SHOWN_GROUPS:,} other groups{span}."


def _unjudged(require: Require, judged: Require) -> Iterator[str]:
    left = [column for column in require if column not in judged]
    if left:
        yield f"Not judged here, for want of a closed form in this table: {', '.join(left)}."


def _without(rows: Sequence[Row]) -> Iterator[str]:
    """What cannot exist and what no form holds, by reason."""
    cannot = Counter(row["reason"] for row in rows if not row["feasible"])
    none = Counter(row["analytic_note"] for row in rows if row["analytic_kind"] == NO_FORM)
    for what, reasons in (("infeasible", cannot), ("without a closed form", none)):
        if reasons:
            yield f"{reasons.total():,} points are {what}:"
        yield from most_frequent(reasons)
