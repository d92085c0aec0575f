"""Width against parity at a glance: what each k x m survives and pays, and what falls back, where both are swept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim.results.summary import Row
from gemsim.study.advice import Group, pages
from gemsim.study.design import PROTECTION
from gemsim.study.shares import percent

STEADY = 0.005  # a share that varies by less over all k and m is said in a line

Cells = dict[tuple[Any, Any], Row]


@dataclass(frozen=True, slots=True)
class Block:
    """One part of what is shown: a matrix under its title, or a title that says it all."""

    title: str
    table: Table | None = None


def matrices(groups: Sequence[Group], titles: Sequence[str]) -> Iterator[Block]:
    """Burst and memory for each other setting of the protection, where a burst applies; then fall-backs, for each group
    (called by its title) too."""
    axes = _width_and_parity(groups[0])
    if axes is None:
        return
    settings = [
        (title, setting, cells)
        for group, title in zip(groups, titles, strict=True)
        for setting, cells in _blocks(group, *axes).items()
    ]
    static = [("", setting, cells) for _, setting, cells in settings if _has_burst(cells)]
    for title, cells in _merged("Burst survived (pages) at what share of memory", static, _static):
        yield Block(title, _table(cells, _static))
    for title, cells in _merged("Fall-back per failure", settings, _fallback):
        yield _fallbacks(title, cells)


def _merged(
    what: str, settings: Sequence[tuple[str, str, Cells]], text: Callable[[Row], str]
) -> Iterator[tuple[str, Cells]]:
    """Settings of one group that read the same in every cell share one matrix."""
    shared: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    cells_of: dict[tuple[str, tuple[str, ...]], Cells] = {}
    for where, setting, cells in settings:
        key = (where, tuple(text(row) for row in cells.values()))
        names = shared.setdefault(key, [])
        if setting not in names:
            names.append(setting)
        cells_of.setdefault(key, cells)
    for key, names in shared.items():
        named = [name for name in names if name]
        span = " and ".join(named) if len(named) < 3 else f"{named[0]} to {named[-1]}"
        title = ", ".join(filter(None, (what, key[0], span)))
        yield title, cells_of[key]


def _fallbacks(title: str, cells: Cells) -> Block:
    coded = [row["fallback_per_failure"] for (_, m), row in cells.items() if m and row["ettr"] is not None]
    bare = next((_fallback(row) for (_, m), row in cells.items() if not m and row["ettr"] is not None), "")
    if not coded or max(coded) - min(coded) > STEADY:
        return Block(title, _table(cells, _fallback))
    span = sorted({percent(min(coded), 1), percent(max(coded), 1)})
    return Block(f"{title}: {' to '.join(span)} at any k{f' and m > 0, {bare} at m = 0' if bare else ''}.")


def _static(row: Row) -> str:
    return "–" if not row["feasible"] else f"{pages(row)} at {percent(row['memory_overhead'])}"


def _fallback(row: Row) -> str:
    return percent(row["fallback_per_failure"], 1)


def _width_and_parity(group: Group) -> tuple[str, str] | None:
    found = []
    for tail in (".k", ".m"):
        paths = [path for path in group.axes if path.startswith(f"{PROTECTION}.") and path.endswith(tail)]
        if len(paths) != 1:
            return None
        found.append(paths[0])
    return found[0], found[1]


def _has_burst(cells: Cells) -> bool:
    return any(row["survivable_burst_pages"] is not None for row in cells.values())


def _blocks(group: Group, width: str, parity: str) -> dict[str, Cells]:
    """The other settings of the protection (those that vary) to the rows by (k, m)."""
    others = [path for path in group.axes if path not in (width, parity)]
    blocks: dict[str, Cells] = {}
    for point in group.points:
        row = group.rows[point.index]
        setting = [point.variant] if point.variant else []
        setting += [f"{group.names[path]}={row[path]}" for path in others if row[path] != ""]
        blocks.setdefault(" ".join(setting), {})[row[width], row[parity]] = row
    return {setting: cells for setting, cells in blocks.items() if len(cells) > 1}


def _table(cells: Mapping[tuple[Any, Any], Row], text: Callable[[Row], str]) -> Table:
    widths = list(dict.fromkeys(k for k, _ in cells))
    parities = list(dict.fromkeys(m for _, m in cells))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("k", justify="right", no_wrap=True)
    for m in parities:
        table.add_column(f"m = {m}", justify="right", no_wrap=True)
    for k in widths:
        table.add_row(str(k), *[Text(text(cells[k, m])) if (k, m) in cells else "" for m in parities])
    return table
