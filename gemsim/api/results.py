"""What a sweep found, as frames and as the page of the terminal; a folder of results opened again is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import pandas as pd

from gemsim.api import html
from gemsim.api.frames import Swept, cost_frame, rows_frame, summary_frame, swept_by
from gemsim.api.study import Study
from gemsim.results.rows import RowStore
from gemsim.results.summary import RESULT_COLUMNS, Row
from gemsim.spec.loading import parse_study
from gemsim.study.advice import Group, verdict
from gemsim.study.reopen import reopen
from gemsim.study.report.page import report_of
from gemsim.study.report.write import write_report
from gemsim.study.shares import percent
from gemsim.study.sweep import SOURCE, SweepResult
from gemsim.study.terminal import groups_of, render
from gemsim.study.titles import titles_of

WIDTH = 100  # of the page
SHOWN = 24  # rows of the table in a notebook
HEADS = ("", "design", "ETTR", "95 %", "closed form", "memory")


@dataclass(frozen=True, repr=False, eq=False)
class Results:
    """A sweep that has been run: `sweep` and `load_results` make one. Frames say their units in `attrs["units"]`."""

    study: Study
    found: SweepResult

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row for each design point: the swept paths in SI, then the columns of summary.csv (docs/model.md)."""
        return summary_frame(self.found.summary.rows, self._swept, self._currency, RESULT_COLUMNS)

    @cached_property
    def rows(self) -> pd.DataFrame:
        """A row for each design point and replication: `variant`, the swept paths, then the row of the ledger.

        Points that are one design (m = 0 for every k) each have their rows, under one `point`. Designs without numbers
        (infeasible, failed) have none.
        """
        table = RowStore(self.folder / "rows").read()
        return rows_frame(self.found.points, table, self._swept, replications=counts_of(self.found))

    @cached_property
    def costs(self) -> pd.DataFrame:
        """A row for each design and category, as in costs.csv; GPU-hours alone where the study has no prices."""
        return cost_frame(self.found.summary.costs, self._swept, self._currency)

    @property
    def best(self) -> pd.DataFrame:
        """Of `summary` the best design of each group; a group in which none can be called best has no row."""
        return self.summary[self.summary["best"]].reset_index(drop=True)

    @property
    def answer(self) -> str:
        """The page that `gemsim sweep` prints."""
        return render(self.found, width=WIDTH)

    def report(self) -> Path:
        """Write the sweep as one page for the browser, with its figures, into its folder; where the page is."""
        return write_report(report_of(self.folder), self.folder)

    @property
    def failed(self) -> Mapping[str, str]:
        """Designs that could not be simulated, by `point`, with what went wrong."""
        return self.found.failed

    @property
    def folder(self) -> Path:
        """Where the results lie."""
        return self.found.folder

    @property
    def seed(self) -> int:
        """Of the failures that all designs met."""
        return self.found.plan.seed

    @property
    def replications(self) -> int:
        """Runs of each design."""
        return self.found.plan.replications

    @cached_property
    def _swept(self) -> Swept:
        return swept_by(self.study.loaded, self.found.points)

    @property
    def _currency(self) -> str:
        prices = self.study.loaded.spec.prices
        return "" if prices is None else prices.currency

    def __repr__(self) -> str:
        title = self.found.plan.facts.get("title", "")
        failed = f", {len(self.failed)} designs failed" if self.failed else ""
        counted = f"{len(self.found.points)} design points, {self.replications} replications, seed {self.seed}{failed}"
        return f"Results(title: {title}, {counted}, {'; '.join(self._sources())}, folder: {self.folder})"

    def _repr_html_(self) -> str:
        """The question, where the costs are from, the answer of each group, and the designs with their intervals."""
        groups = groups_of(self.found)
        titles = titles_of(groups)
        body = [html.head(self.study.title), html.lines([f"{self.folder}: {self._count()}", *self._sources()])]
        for title, group in zip(titles, groups, strict=True):
            named = f"{title}. " if len(groups) > 1 else ""
            body.append(html.lines([f"{named}{verdict(group)}"]))
        shown = [(title if len(groups) > 1 else "", group) for title, group in zip(titles, groups, strict=True)]
        cells = [cells for title, group in shown for cells in _designs(title, group)]
        body.append(html.table(HEADS, cells[:SHOWN]))
        more = len(cells) - SHOWN
        left = f"… and {more} more rows: .summary has all. " if more > 0 else ""
        body.append(html.lines([f"{left}* best, = tied with the largest ETTR"]))
        return "".join(body)

    def _count(self) -> str:
        return f"{len(self.found.points)} design points, {self.replications} replications each, seed {self.seed}"

    def _sources(self) -> list[str]:
        """Which profiles the costs are from, and whether they were measured."""
        known = {(row["profile"], row["modelled"]) for row in self.found.summary.rows if row["profile"]}
        return [
            f"costs: profile {name}, {'modelled, not measured' if guess else 'measured'}"
            for name, guess in sorted(known)
        ]


def counts_of(found: SweepResult) -> dict[str, int]:
    """Design to the replications that its row of the summary is made of."""
    return {str(row["point"]): int(row["replications"]) for row in found.summary.rows if row["point"]}


def _designs(title: str, group: Group) -> Iterator[tuple[str, ...]]:
    """A row for each design of a group: mark, name, ETTR with its interval, closed form, memory."""
    for row in group.designs:
        mark = "*" if row["best"] else "=" if row["tied"] else ""
        name = ": ".join(filter(None, (title, group.name(row))))
        yield mark, name, f"{row['ettr']:.4f}", _bounds(row), _form(row), percent(row["memory_overhead"])


def _bounds(row: Row) -> str:
    return "" if row["ettr_lo"] is None else f"{row['ettr_lo']:.4f} to {row['ettr_hi']:.4f}"


def _form(row: Row) -> str:
    if row["ettr_analytic"] is None:
        return "none"
    return f"{row['ettr_analytic']:.4f} ({row['analytic_kind'].replace('_', ' ')})"


def load_results(folder: str | PathLike[str]) -> Results:
    """The sweep that an output folder holds, as `sweep` returned it; nothing is simulated.

    Raises ResultsError where there is none, or one that this version of gemsim would build otherwise.
    """
    place = Path(folder)
    found = reopen(place)
    quick = bool(found.plan.facts.get("quick"))
    loaded = parse_study(found.plan.source or (place / SOURCE).read_bytes(), place / SOURCE, quick=quick)
    return Results(Study(loaded, quick), found)
