"""The first screen where systems stand beside each other on a job: how they rank, whatever restart they assume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest

from gemsim.results.choice import Choice
from gemsim.results.summary import Row
from gemsim.study.ranking import behind, ranked
from gemsim.study.report.content import NUMERIC, Grid, Part
from gemsim.study.report.words import LEVEL

SHOWN = 12  # places of a ranking on the first screen
SHOWN_TIED = 3
APART = (
    "Each with the restart mode that it assumes, on the same failures. What the platform can do decides before ETTR "
    "does: the best of each restart mode is told below."
)


def name_of(row: Row) -> str:
    """A system without the job that its variant is called by."""
    return str(row["variant"]).partition(": ")[2]


def sentence_of(jobs: Mapping[str, Choice], rows: list[Row]) -> str:
    """The largest of each job, and what is tied with it."""
    return f"The largest ETTR: {'; '.join(_largest(job, choice, rows) for job, choice in jobs.items())}."


def _largest(job: str, choice: Choice, rows: list[Row]) -> str:
    assert choice.reference is not None
    top = rows[choice.reference]
    tied = [name_of(rows[index]) for index in choice.tied if index != choice.reference]
    more = f" and {len(tied) - SHOWN_TIED} more" if len(tied) > SHOWN_TIED else ""
    told = f"; tied with it {', '.join(tied[:SHOWN_TIED])}{more}" if tied else ""
    return f"on {job} {name_of(top)} ({top['ettr']:.4f}{told})"


def grid_of(jobs: Mapping[str, Choice], rows: list[Row]) -> Grid:
    """The rankings side by side, the first places of each."""
    columns = [list(_places(choice, rows)) for choice in jobs.values()]
    shown = list(zip_longest(*(column[:SHOWN] for column in columns), fillvalue=("", "", "")))
    lines = [[str(place), *(cell for part in parts for cell in part)] for place, parts in enumerate(shown, 1)]
    headings = ["", *(heading for job in jobs for heading in (job, "ETTR", "points behind"))]
    left = [f"{len(own) - SHOWN} of {job}" for job, own in zip(jobs, columns, strict=True) if len(own) > SHOWN]
    notes = [f"More are ranked under More tables: {', '.join(left)}."] if left else []
    caption = f"How they rank (points behind the largest: paired, with the {LEVEL} interval; = tied)"
    return Grid(caption, headings, (NUMERIC, *(["", NUMERIC, NUMERIC] * len(jobs))), [Part("", lines)], notes)


def _places(choice: Choice, rows: list[Row]) -> Iterator[tuple[str, str, str]]:
    for index in ranked(choice, rows):
        points, span = behind(choice.differences[index])
        mark = " =" if index in choice.tied and index != choice.reference else ""
        apart = f"{points}{mark} ({span})" if span else f"{points}{mark}" if points else "largest"
        yield name_of(rows[index]), f"{rows[index]['ettr']:.4f}", apart
