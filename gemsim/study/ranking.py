"""All designs of one job in the order of their ETTR, each beside the largest, whatever restart mode they assume.

The groups of a sweep hold fixed what is no choice of a protection, such as the restart mode. A published system comes
with the mode that it needs, so a study of systems also asks how they stand to each other on one job.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim.results.choice import Choice
from gemsim.results.estimate import Interval
from gemsim.results.summary import Row, Summary, job_named
from gemsim.study.advice import Group
from gemsim.study.matrix import Block
from gemsim.study.shares import hundredths

HEADINGS = ("design", "restart", "ETTR", "closed form", "points behind", "95 %")


def rankings(groups: Sequence[Group], summary: Summary) -> Iterator[Block]:
    """A block for each job whose designs lie in more than one group."""
    held = {point.index: dict(group.key) for group in groups for point in group.points}
    modes = {index: key.get("restart", key.get("restart.mode", "")) for index, key in held.items()}
    for job, choice in spread(groups, summary).items():
        yield Block(
            f"All of {job}, on the same failures, each with the restart mode that it assumes (points: of ETTR)",
            _table(summary.rows, choice, modes),
        )


def spread(groups: Sequence[Group], summary: Summary) -> dict[str, Choice]:
    """The jobs whose designs lie in more than one group, with how these stand to each other."""
    return {
        job: choice
        for job, choice in summary.jobs.items()
        if choice.reference is not None
        and sum(any(job_named(point.variant) == job for point in group.points) for group in groups) > 1
    }


def ranked(choice: Choice, rows: Sequence[Row]) -> list[int]:
    """The designs of a job by index, the largest ETTR first."""
    return sorted(choice.differences, key=lambda i: -float(rows[i]["ettr"]))


def _table(rows: Sequence[Row], choice: Choice, modes: dict[int, str]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold", justify="left" if heading in ("design", "restart") else "right")
    for index in ranked(choice, rows):
        row, apart = rows[index], choice.differences[index]
        form = "none" if row["ettr_analytic"] is None else f"{row['ettr_analytic']:.4f}"
        name = row["variant"].partition(": ")[2]
        table.add_row(*map(Text, (name, modes[index], f"{row['ettr']:.4f}", form, *behind(apart))))
    return table


def behind(apart: Interval) -> tuple[str, str]:
    """How far behind the largest, and the interval of that, in points; nothing for the largest itself."""
    if apart.value == 0.0 and not apart.half_width > 0.0:
        return "", ""
    lo, hi = (hundredths(-end) for end in (apart.hi, apart.lo))
    return hundredths(-apart.value), "" if math.isnan(apart.lo) else f"{lo} to {hi}"
