"""Interruptions by the length they begin with: what becomes of each, from a linear recursion over lengths.

One idea: a hit during an interruption never shortens it, so the recursion goes from the longest down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gemsim.protection.arrays import anywhere, exp, expm1, is_array, least, total

Classes = Sequence[tuple[float, float]]
"""Failure classes as (rate per second, seconds the job then stands still)."""


class Rung(NamedTuple):
    """Interruptions that begin with one length: rates (per second) of the classes that begin them, and what becomes of
    them."""

    seconds: float
    restarting: float
    keeping: float
    in_place: float
    exposure: float
    """(1 - e^(-total seconds)) / total: mean seconds until the next failure, or to the end."""
    standing: float
    """Mean seconds from the first failure until the job runs again."""
    rolled: float
    """P(one that is no roll-back is struck by one)."""
    saved: float
    """P(a kept restart ends as one)."""
    kept: float
    """P(one in place ends as a kept restart)."""
    still: float
    """P(one in place ends as one)."""
    running: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Rates (restarting, keeping, in place) of those that begin here and fail in running time alone: they hit none."""

    @property
    def begins(self) -> tuple[float, float, float]:
        """All that begin with this length: restarting, keeping, in place."""
        b, k, a = self.running
        return self.restarting + b, self.keeping + k, self.in_place + a


def ladder(
    *,
    restarting: Classes,
    in_place: Classes = (),
    keeping: Classes = (),
    running: Mapping[str, Classes] | None = None,
) -> list[Rung]:
    """Interruptions by the length they begin with, longest first, from a linear recursion over classes.

    Each class is (rate, seconds standing still). Every class keeps firing while the job stands still: a hit by a class
    with time d turns an interruption of length D into one of length max(D, d) from its beginning, and into the graver
    of the two kinds (in place < keep < roll-back). Lengths only grow, so the recursion is triangular; nothing is
    subtracted. A class whose length is random over a few values is several classes. Kind: exact, exponential classes.
    """
    for classes in (restarting, in_place, keeping):
        check_classes(classes)
    restarting, in_place, keeping = (
        [c for c in group if anywhere(c[0] > 0.0)] for group in (restarting, in_place, keeping)
    )
    milder = [*in_place, *keeping]
    every = [*restarting, *milder]
    aside = [list((running or {}).get(name, ())) for name in ("restarting", "keeping", "in_place")]
    for classes in aside:
        check_classes(classes)
    levels = {seconds for _, seconds in (*every, *aside[0], *aside[1], *aside[2])}
    steps = _Ladder(sorted(levels, reverse=True), total(rate for rate, _ in every))
    roll_rate = total(rate for rate, _ in restarting)
    keep_rate = total(rate for rate, _ in keeping)

    standing = steps.solve(every, 0.0, lambda level: steps.exposure[level])
    rolled = steps.solve(milder, roll_rate, lambda level: steps.exposure[level] * roll_rate)
    saved = steps.solve(milder, roll_rate, lambda level: steps.survive[level])
    kept = steps.solve(
        in_place,
        roll_rate + keep_rate,
        lambda level: steps.exposure[level] * total(rate * saved[max(level, d)] for rate, d in keeping),
    )
    still = steps.solve(in_place, roll_rate + keep_rate, lambda level: steps.survive[level])
    rungs = []
    for d in steps.levels:
        begins = [total(rate for rate, seconds in group if seconds == d) for group in (restarting, keeping, in_place)]
        ends = steps.exposure[d], standing[d], rolled[d], saved[d], kept[d], still[d]
        beside = [total(rate for rate, seconds in group if seconds == d) for group in aside]
        rungs.append(Rung(d, begins[0], begins[1], begins[2], *ends, (beside[0], beside[1], beside[2])))
    return rungs


class _Ladder:
    """Linear recursion over interruption lengths: a hit moves to the longer of two lengths and starts it again."""

    def __init__(self, levels: Sequence[float], total: float) -> None:
        self.levels = levels
        self.survive = {level: exp(-total * level) for level in levels}
        ends = anywhere(total > 0.0)
        self.exposure = {level: -expm1(-total * level) / total if ends else level for level in levels}

    def solve(self, movers: Classes, others: float, base: Callable[[float], float]) -> dict[float, float]:
        """x(D) = base(D) + (1 - e^(-total D)) / total * sum over movers of rate * x(max(D, d)), longest D first.

        `others` = the total rate of the classes that do not move but end the recursion.
        """
        rates = {level: total(rate for rate, d in movers if d == level) for level in {d for _, d in movers}}
        solved: dict[float, float] = {}
        onward, leave = 0.0, others  # what the longer ones lead to, and all that ends the stay at this length
        for level in self.levels:
            value = base(level) + self.exposure[level] * onward
            gone = self.survive[level] + self.exposure[level] * leave  # 0: a stay without end, inf or nan in arrays
            solved[level] = value / gone if is_array(gone) or gone else math.inf if value else 0.0
            if level in rates:
                onward, leave = onward + rates[level] * solved[level], leave + rates[level]
        return solved


def check(**values: float) -> None:
    for name, value in values.items():
        if not least(value) >= 0.0 or (not is_array(value) and math.isinf(value)):
            raise ValueError(f"{name} must be a finite number >= 0, not {value!r}")


def check_classes(classes: Classes) -> None:
    for rate, seconds in classes:
        check(rate=rate, seconds=seconds)
