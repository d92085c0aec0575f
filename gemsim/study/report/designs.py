"""The table of the designs, with intervals: all of them, or in a large sweep those that decide."""

from __future__ import annotations

from collections.abc import Iterator

from gemsim.results.summary import Row, meets
from gemsim.study.advice import Group, pages
from gemsim.study.report.content import NUMERIC, Grid, Part
from gemsim.study.report.view import View
from gemsim.study.report.words import LEVEL, UNKNOWN, count, form, known, range_text, share, under
from gemsim.study.shares import hundredths, percent
from gemsim.study.terminal import chosen, twin

FULL = 120  # points; of a larger sweep the designs that decide are shown
MOST_GROUPS = 40
HEADINGS = (
    *("design", "ETTR", "closed form", "apart", "points behind", "memory", "step time", "burst, pages"),
    *("fall-back per failure", "failures per run", "repli\u00adcations"),
)
MARKS = {"*": "best", "=": "tied", ">": "largest ETTR", "<": "smallest ETTR"}


def designs_of(view: View) -> Grid:
    """A part for each group; what is not in it is said below."""
    large = len(view.rows) > FULL
    shown = list(zip(view.groups, view.titles, strict=True))
    parts = []
    for group, title in shown[: MOST_GROUPS if large else None]:
        rows = [
            _line(view, group, mark.strip(), row, large=large)
            for mark, row in (chosen(group) if large else _every(group))
        ]
        parts.append(Part(title if len(view.groups) > 1 else "", rows))
    caption, kinds = f"Each design; below a number its {LEVEL} interval", ("", *[NUMERIC] * (len(HEADINGS) - 1))
    return Grid(caption, HEADINGS, kinds, parts, list(_notes(view, large=large)))


def _every(group: Group) -> Iterator[tuple[str, Row]]:
    for point in group.points:
        row = group.rows[point.index]
        yield ("*" if row["best"] else "=" if row["tied"] else ""), row


def _line(view: View, group: Group, mark: str, row: Row, *, large: bool) -> list[str]:
    name = group.name(row) if large else group.label(row)
    excluded = row["ettr"] is not None and not meets(row, group.require)
    told = f" ({MARKS[mark]})" if mark else " (does not meet the requirement)" if excluded else ""
    if row["ettr"] is None:
        return [f"{name}{told}", _without(view, row), *[""] * (len(HEADINGS) - 2)]
    return [
        f"{name}{told}", under(f"{row['ettr']:.4f}", range_text(row, "ettr", digits=4)), form(row),
        twin(row)[1].replace(" (", "\n("),
        _behind(group, row), percent(row["memory_overhead"]), percent(row["step_overhead"], 3), pages(row),
        share(row, "fallback_per_failure"), count(row, "failures"), str(row["replications"]),
    ]  # fmt: skip


def _behind(group: Group, row: Row) -> str:
    """How far behind the reference, with the interval of that."""
    if group.reference is not None and row["point"] == group.reference["point"]:
        return "largest"
    if not known(row["ettr_diff"]):
        return UNKNOWN
    span = (
        f"{hundredths(-row['ettr_diff_hi'])} to {hundredths(-row['ettr_diff_lo'])}"
        if known(row["ettr_diff_lo"])
        else ""
    )
    return under(hundredths(-row["ettr_diff"]), span)


def _without(view: View, row: Row) -> str:
    if not row["feasible"]:
        return "infeasible"
    return "failed" if row["point"] in view.result.failed else "not run yet"


def _notes(view: View, *, large: bool) -> Iterator[str]:
    if large:
        groups = f", of the first {MOST_GROUPS} of {len(view.groups)} groups" if len(view.groups) > MOST_GROUPS else ""
        yield (
            f"The designs that decide{groups}: best, largest ETTR (of each variant), smallest ETTR. All "
            f"{len(view.rows)} points are in summary.csv."
        )
    yield (
        "ETTR: productive time over wall time, mean of the replications (interval: Student t). Closed form: with its "
        "kind (exact, first order, bound). Apart: simulated less closed form, in standard errors (z) where exact, else "
        "with the stated error below it."
    )
    yield (
        "Points behind: paired difference to the largest ETTR of the group, on the same failures, in hundredths of the "
        "wall time. Burst: adjacent pages of one GPU surely survived, by its own stripe. Fall-back: failures recovered "
        "by a later tier than the first that covers them."
    )
