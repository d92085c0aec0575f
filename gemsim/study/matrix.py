"""Width against parity at a glance: what each k x m survives, pays and falls back, where a sweep has both axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gemsim.results.summary import Row
from gemsim.study.advice import Group, pages, percent
from gemsim.study.design import PROTECTION

Cells = dict[tuple[Any, Any], str]


def matrices(groups: Sequence[Group]) -> Iterator[tuple[str, Table]]:
    """One k x m matrix (title, table) for each other protection setting; groups that agree in every cell share it."""
    axes = _width_and_parity(groups[0])
    if axes is None:
        return
    shared: dict[tuple[tuple[str, ...], tuple[tuple[Any, str], ...]], list[str]] = {}
    cells_of: dict[Any, Cells] = {}
    for group in groups:
        for setting, cells in _blocks(group, *axes).items():
            key = (setting, tuple(cells.items()))
            shared.setdefault(key, []).append(_where(group))
            cells_of[key] = cells
    for key, names in shared.items():
        where = ", ".join((*key[0], *(name for name in names if name)))
        title = f"burst pages survived / memory / fall-back per failure{f': {where}' if where else ''}"
        yield title, _table(cells_of[key])


def _width_and_parity(group: Group) -> tuple[str, str] | None:
    found = []
    for tail in (".k", ".m"):
        paths = [path for path in group.axes if path.startswith(f"{PROTECTION}.") and path.endswith(tail)]
        if len(paths) != 1:
            return None
        found.append(paths[0])
    return found[0], found[1]


def _where(group: Group) -> str:
    return ", ".join(value for _, value in group.key)


def _blocks(group: Group, width: str, parity: str) -> dict[tuple[str, ...], Cells]:
    """The other settings of a point (those that vary) to its cells by (k, m)."""
    others = [path for path in group.axes if path not in (width, parity)]
    blocks: dict[tuple[str, ...], Cells] = {}
    for point in group.points:
        row = group.rows[point.index]
        setting = tuple(f"{group.names[path]}={row[path]}" for path in others if row[path] != "")
        variant = (point.variant,) if point.variant else ()
        blocks.setdefault(variant + setting, {})[row[width], row[parity]] = _cell(row)
    return {setting: cells for setting, cells in blocks.items() if len(cells) > 1}


def _cell(row: Row) -> str:
    if row["ettr"] is None:
        return "–"
    return f"{pages(row)} / {percent(row['memory_overhead'])} / {percent(row['fallback_per_failure'], 1)}"


def _table(cells: Mapping[tuple[Any, Any], str]) -> Table:
    widths = list(dict.fromkeys(k for k, _ in cells))
    parities = list(dict.fromkeys(m for _, m in cells))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("k", justify="right", no_wrap=True)
    for m in parities:
        table.add_column(f"m = {m}", justify="right", no_wrap=True)
    for k in widths:
        table.add_row(str(k), *[Text(cells.get((k, m), "")) for m in parities])
    return table
