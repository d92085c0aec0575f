"""The variants of `compare:` beside each other: the best design of each against the largest of their group.

All ran on the same failures, so the difference is taken replication by replication and is far surer than the values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim.results.choice import TIE_BAND
from gemsim.results.estimate import Interval
from gemsim.results.summary import Row
from gemsim.study.advice import Group
from gemsim.study.matrix import Block
from gemsim.study.ranking import behind
from gemsim.study.shares import hundredths

HEADINGS = ("variant", "its best design", "ETTR", "points behind", "95 %", "told apart")


def paired(groups: Sequence[Group], titles: Sequence[str]) -> Iterator[Block]:
    """A block for each group that holds several variants."""
    for group, title in zip(groups, titles, strict=True):
        picks = picked(group)
        if len(picks) > 1:
            of = "" if len(groups) == 1 else f" of {title}"
            head = f"The variants{of}, each by its best design, paired on the same failures (points: of ETTR)"
            yield Block(head, _table(group, picks))


def picked(group: Group) -> dict[str, Row]:
    """The design that stands for each variant, the largest ETTR first: its best, or its largest where that is open."""
    found = {}
    for variant, choice in group.within.items():
        index = choice.reference if choice.best is None else choice.best
        if variant and index is not None:
            found[variant] = group.rows[index]
    return dict(sorted(found.items(), key=lambda one: -float(one[1]["ettr"])))


def _table(group: Group, picks: dict[str, Row]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    several = any(len([p for p in group.points if p.variant == variant]) > 1 for variant in picks)
    for heading in HEADINGS:
        if several or heading != HEADINGS[1]:
            left = heading in (*HEADINGS[:2], HEADINGS[-1])
            table.add_column(heading, overflow="fold", justify="left" if left else "right")
    for variant, row in picks.items():
        apart = Interval(row["ettr_diff"], row["ettr_diff_lo"], row["ettr_diff_hi"])
        name = group.label(row).removeprefix(variant).strip() or "as written"
        cells = (variant, *((name,) if several else ()), f"{row['ettr']:.4f}", *behind(apart), told(apart))
        table.add_row(*map(Text, cells))
    return table


def told(apart: Interval) -> str:
    """Whether a difference can be told from none, and whether it matters."""
    if apart.value == 0.0 and not apart.half_width > 0.0:
        return "the largest"
    if math.isnan(apart.lo):
        return "not with one replication"
    if apart.lo <= 0.0 <= apart.hi:
        return "no"
    return "yes" if abs(apart.value) > TIE_BAND else f"yes, by less than {hundredths(TIE_BAND)}"
