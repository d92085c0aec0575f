"""What a report holds, as plain data: text, tables and pictures in the order of the page. No HTML and no simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.table import Table

NUMERIC = "number"  # a column that is set to the right


@dataclass(frozen=True, slots=True)
class Fact:
    """A number on the first screen: what it is, the number, and what stands beside it (interval, unit, kind)."""

    label: str
    value: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a grid under a heading of their own (empty where the grid has one part only)."""

    title: str
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: caption, headings, for each column whether it holds numbers, rows in parts, and `notes` below it.

    The first cell of a row is its heading. What follows a line break in a cell stands small below the rest.
    """

    caption: str
    headings: Sequence[str]
    kinds: Sequence[str]
    parts: Sequence[Part]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """Lines under a title."""

    title: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture: its file name, title, one sentence on what is seen (also for who cannot see it), and the two files."""

    name: str
    title: str
    seen: str
    svg: bytes = field(repr=False)
    png: bytes = field(repr=False)
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """A picture that is not drawn, and why."""

    title: str
    why: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The first screen: one sentence, what decides, the numbers behind it, and how the groups stand."""

    sentence: str
    about: str  # the group that it is about, where there are several
    why: Sequence[str]
    facts: Sequence[Fact]
    cautions: Sequence[str]
    groups: Grid | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the numbers are from, and how to make them again."""

    facts: Sequence[tuple[str, str]]
    again: str
    typed: str
    study: str
    runs: Grid


@dataclass(frozen=True, slots=True)
class Report:
    """The whole page."""

    title: str
    counted: str
    answer: Answer
    designs: Grid | None
    told: Sequence[Told]
    blocks: Sequence[Grid]
    figures: Sequence[Figure]
    left: Sequence[Left]
    origin: Origin
    missing: Sequence[str] = ()  # what failed, is infeasible or has not run
    halted: str = ""  # how far a sweep is that was stopped
    version: str = ""
    more: Mapping[str, str] = field(default_factory=dict)


def plain(table: Table, caption: str) -> Grid:
    """A table of the terminal as plain data; the words stay the same."""
    headings = [str(column.header) for column in table.columns]
    kinds = [NUMERIC if column.justify == "right" else "" for column in table.columns]
    rows = list(zip(*([str(cell) for cell in column.cells] for column in table.columns), strict=True))
    return Grid(caption, headings, kinds, [Part("", rows)])
