"""A sweep that was stopped: how far it is, and what the replications say that all of its designs already have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from gemsim.results.rows import RowStore, keys_of
from gemsim.results.summary import summarise
from gemsim.study.shares import percent
from gemsim.study.sweep import SweepResult

LEAST = 2  # replications of every design from which a stopped sweep is shown by them


@dataclass(frozen=True, slots=True)
class Halfway:
    """How much of a sweep is there; `common` replications are those that every design has (0: not shown by them)."""

    held: int
    asked: int  # 0 where a rule decides how many
    complete: int
    designs: int
    common: int

    @property
    def text(self) -> str:
        """One paragraph, for the top of the page."""
        share = f" of {self.asked:,} ({percent(self.held / self.asked, 1)})" if self.asked else ""
        far = f"Not finished: {self.held:,}{share} replications are here, {self.complete:,} of {self.designs:,} designs"
        shown = "Only designs that are complete have numbers below"
        if self.common:
            shown = f"All below is of the first {self.common:,} replications, which every design has, and may change"
        return f"{far} are complete. {shown}. The same command as before goes on."


def halfway(result: SweepResult) -> tuple[SweepResult, Halfway | None]:
    """The sweep as it can be shown, and how far it is; of one that is complete itself, and nothing.

    Where each design has some replications, all are compared by the first ones that every design has: the failures
    are the same, so that none gains by what it lacks.
    """
    if not result.incomplete:
        return result, None
    plan, table = result.plan, RowStore(result.folder / "rows").read()
    wanted = {point.id for point in result.points if point.id and point.id not in result.failed}
    first = _unbroken(table, wanted)
    common = min(first.values()) if plan.rule is None else 0
    asked = 0 if plan.rule is not None else plan.replications * len(wanted)
    held = sum(len(numbers) for numbers in _held(table, wanted, None if plan.rule else plan.replications).values())
    shown = common if common >= LEAST else 0
    far = Halfway(held, asked, len(wanted) - len(result.incomplete), len(wanted), shown)
    if not shown:
        return result, far
    summary = summarise(result.points, table, require=plan.require, failed=result.failed, replications=shown)
    return replace(result, summary=summary), far


def _held(table: pa.Table, wanted: set[str], below: int | None) -> Mapping[str, set[int]]:
    """The numbers of the replications that there are of each design."""
    found: dict[str, set[int]] = {id_: set() for id_ in wanted}
    for id_, number in keys_of(table):
        if id_ in found and (below is None or number < below):
            found[id_].add(number)
    return found


def _unbroken(table: pa.Table, wanted: set[str]) -> Mapping[str, int]:
    """How many replications of each design are there from 0 on, without a gap."""
    held = _held(table, wanted, None)
    return {id_: next(n for n in range(len(own) + 1) if n not in own) for id_, own in held.items()}
