"""A sweep whose jobs are drawn (a step time, a rate): what holds over all of them, since no two of them compete.

How often each design is best, and which of the drawn inputs moves the ETTR, by rank correlation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim.results.estimate import Interval
from gemsim.results.summary import Row
from gemsim.study.advice import Group
from gemsim.study.design import short_names, size_of
from gemsim.study.matrix import Block
from gemsim.study.shares import percent, points_of

FEWEST = 8  # jobs for a rank correlation


def drawn(groups: Sequence[Group], jobs: Sequence[str], sampled: Sequence[str]) -> Iterator[Block]:
    """What is said in place of a verdict for each job."""
    simulated = [group for group in groups if group.designs]
    names = short_names(list(groups[0].points[0].columns))
    over = ", ".join(names[path] for path in jobs)
    several = any(len(group.designs) > 1 for group in simulated)
    why = (
        f"{len(groups)} jobs are drawn ({over}): designs compete within a job alone, and no job is better than another."
    )
    yield Block(f"{why} {'' if several else 'Each has one design, so there is no best. '}All of them: summary.csv.")
    if several:
        yield Block("Designs, over the jobs in which they were simulated", _designs(simulated))
    found = list(_moves([_standing(group) for group in simulated], sampled))
    if found:
        yield Block(
            "What moves ETTR over the jobs, by rank correlation (-1 to 1; 0: nothing seen)", _table(found, names)
        )
    yield from _ends(simulated, names)


@dataclass(slots=True)
class _Tally:
    """One design over the jobs."""

    jobs: int = 0
    best: int = 0
    tied: int = 0
    gaps: list[float] = field(default_factory=list)
    ettr: list[float] = field(default_factory=list)
    memory: float = 0.0


def winner(groups: Sequence[Group]) -> str:
    """Which design is best most often, in one sentence."""
    simulated = [group for group in groups if group.designs]
    name, one = _tallied(simulated)[0]
    if not any(len(group.designs) > 1 for group in simulated):
        return f"Nothing to choose: each of the {len(simulated)} drawn jobs has one design."
    return f"{name} is best in {one.best} of {one.jobs} drawn jobs, and no worse than the largest in {one.tied}."


def _tallied(groups: Sequence[Group]) -> list[tuple[str, _Tally]]:
    """How often each design is best, or no worse than the largest; the most frequent first."""
    tallies: dict[str, _Tally] = {}
    for group in groups:
        for row in group.designs:
            one = tallies.setdefault(group.name(row), _Tally())
            one.jobs, one.best, one.tied = one.jobs + 1, one.best + bool(row["best"]), one.tied + bool(row["tied"])
            one.ettr.append(float(row["ettr"]))
            one.memory = row["memory_overhead"]
            if row["ettr_diff"] is not None:
                one.gaps.append(-float(row["ettr_diff"]))
    return sorted(tallies.items(), key=lambda pair: (-pair[1].best, -pair[1].tied))


def _designs(groups: Sequence[Group]) -> Table:
    """How often each design is best, or no worse than the largest, and how far it is behind on average."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("design", "best in", "tied in", "of jobs", "ETTR, mean", "behind, mean", "memory"):
        table.add_column(heading, overflow="fold", justify="left" if heading == "design" else "right")
    for name, one in _tallied(groups):
        gap = points_of(float(np.mean(one.gaps))) if one.gaps else "–"
        counts = (str(one.best), str(one.tied), str(one.jobs))
        table.add_row(*map(Text, (name, *counts, f"{np.mean(one.ettr):.4f}", gap, percent(one.memory))))
    return table


def _standing(group: Group) -> Row:
    """The row that stands for a job: its best design, else its largest, else its first."""
    return group.best or group.reference or group.designs[0]


def _moves(rows: Sequence[Row], paths: Sequence[str]) -> Iterator[tuple[str, Interval]]:
    """The rank correlation of each drawn number with the ETTR, the strongest first; of words there is none."""
    found = []
    for path in paths:
        pairs = [(size_of(row[path]), float(row["ettr"])) for row in rows if row[path] != ""]
        sizes = [size for size, _ in pairs if size is not None]
        if len(sizes) == len(pairs) >= FEWEST and len(set(sizes)) > 1:
            found.append((path, rank_correlation(sizes, [ettr for _, ettr in pairs])))
    return iter(sorted(found, key=lambda one: -abs(one[1].value)))


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Spearman's, with the interval of Bonett and Wright (2000) in Fisher's z."""
    from scipy.stats import spearmanr

    if len(set(second)) < 2:
        return Interval(math.nan, math.nan, math.nan)
    rho = float(spearmanr(first, second).statistic)
    if abs(rho) >= 1.0:
        return Interval(rho, math.nan, math.nan)
    half = 1.959964 * math.sqrt((1.0 + rho**2 / 2.0) / (len(first) - 3))
    return Interval(rho, math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half))


def _table(found: Sequence[tuple[str, Interval]], names: Any) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("drawn", "with ETTR", "95 %", ""):
        table.add_column(heading, justify="left" if heading in ("drawn", "") else "right")
    for path, one in found:
        span = "" if math.isnan(one.lo) else f"{one.lo:+.2f} to {one.hi:+.2f}"
        unseen = "cannot be told from none" if one.lo <= 0.0 <= one.hi else ""
        table.add_row(*map(Text, (names[path], f"{one.value:+.2f}", span, unseen)))
    return table


def _ends(groups: Sequence[Group], names: Any) -> Iterator[Block]:
    """The jobs with the least and the most, by what was drawn."""
    rows = sorted((_standing(group) for group in groups), key=lambda row: float(row["ettr"]))
    for word, row in (("least", rows[0]), ("most", rows[-1])):
        said = ", ".join(f"{name} = {row[path]}" for path, name in names.items() if row[path] != "")
        yield Block(f"The {word}: ETTR {row['ettr']:.4f} at {said}.")
