"""The tables of a recommendation: what was confirmed, the front, how far inputs can move."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from gemsim.study.recommend.answer import Answer
from gemsim.study.recommend.breakeven import BreakEven
from gemsim.study.recommend.constraints import value_of
from gemsim.study.recommend.words import cell, common, heading_of, named, plain, short_number

SHOWN_FRONT = 10


def _grid(*headings: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="left" if at in (0, len(headings)) else "right", overflow="fold")
    return table


def confirmed(answer: Answer) -> Table:
    verdict = answer.verdict
    assert verdict is not None
    form = "mean (closed form)" if answer.sought.kind == "finish" else "closed form"
    table = _grid("design", heading_of(answer), form, "memory", "step", "spares")
    choice = answer.choice
    assert choice is not None
    shared = common([one.design.values for one in verdict.designs])
    for at in _best_first(answer):
        one = verdict.designs[at]
        mark = "*" if one is choice else "=" if at in verdict.tied else " "
        own = {path: value for path, value in one.design.values.items() if path not in shared}
        name = named(answer, one.design.variant, own)
        numbers = ["failed" if one.failed else short_number(answer, one.value), plain(answer, one.twin)]
        static = [cell("memory_overhead", one.row), cell("step_overhead", one.row), cell("spare_nodes", one.row)]
        table.add_row(f"{mark} {name}{'' if one.meets or one.failed else ' (misses a bound)'}", *numbers, *static)
    return table


def _best_first(answer: Answer) -> list[int]:
    """Places of the confirmed: the choice, what ties with it, the others, each best first; failed ones last."""
    verdict, sign = answer.verdict, answer.sought.sign
    assert verdict is not None

    def place(at: int) -> tuple[bool, bool, bool, bool, float]:
        one = verdict.designs[at]
        score = 0.0 if one.failed else sign * one.value.value
        return bool(one.failed), at != verdict.choice, at not in verdict.tied, not one.meets, -score

    return sorted(range(len(verdict.designs)), key=place)


def front(answer: Answer) -> Table:
    table, columns = answer.table, answer.table.columns
    last = "done in the mean" if answer.sought.kind == "finish" else heading_of(answer)
    shown = _grid("design", "lost time", "memory", "step", "spares", last)
    rows = list(answer.front)
    every = max(1, math.ceil(len(rows) / SHOWN_FRONT))
    picked = [*rows[:-1:every], rows[-1]]
    designs = [table.structures[table.structure[row]] for row in picked]
    values = [one.values(int(table.flat[row])) for one, row in zip(designs, picked, strict=True)]
    shared = common(values) if len(values) > 1 else set()
    for row, structure, all_ in zip(picked, designs, values, strict=True):
        name = named(answer, structure.variant, {path: v for path, v in all_.items() if path not in shared})
        lost = f"{100 * (1 - columns['ettr_analytic'][row]):.2f} %"
        static = [value_of(c, float(columns[c][row])) for c in ("memory_overhead", "step_overhead", "spare_nodes")]
        shown.add_row(name, lost, *static, plain(answer, float(columns["value"][row])))
    return shown


def moves(answer: Answer, moved: Sequence[BreakEven]) -> Table:
    table = _grid("input", "value", "changes at", "factor", "to")
    verdict, choice = answer.verdict, answer.choice
    assert verdict is not None
    assert choice is not None
    for one in moved:
        change = one.nearest
        assert change is not None
        factor = "" if change.factor is None else f"×{change.factor:.3g}"
        to = "none of them: each misses a bound or cannot be"
        if change.to is not None:
            other = verdict.designs[change.to].design
            to = named(answer, other.variant, other.values, choice.design.values)
            to += " (the choice misses a bound or cannot be)" if change.forced else ""
        table.add_row(one.input.path, one.input.show(one.input.value), one.input.show(change.value), factor, to)
    return table


def closeness(one: BreakEven) -> tuple[bool, float]:
    change = one.nearest
    assert change is not None
    return one.input.dimension == "share", one.distance(change.value)


def folded(some: Sequence[BreakEven], every: Sequence[BreakEven]) -> list[str]:
    """Paths; those of one key in most failure classes in one, with the classes that are not among them."""
    paths, of_classes = [one.input.path for one in some], [one.input.path for one in every if _of_class(one.input.path)]
    folded: dict[str, None] = {}
    for path in paths:
        key = path.rpartition(".")[2]
        alike = [other for other in of_classes if other.endswith(f".{key}")]
        but = [other.split(".")[1] for other in alike if other not in paths]
        whole = _of_class(path) and 2 * len(but) < len(alike)
        left = f" (all but {' and '.join(but)})" if but else ""
        folded[f"failures.*.{key}{left}" if whole else path] = None
    return list(folded)


def _of_class(path: str) -> bool:
    return path.startswith("failures.") and path.count(".") == 2
