"""Designs side by side, replication by replication: all ran on the same failures, so differences are far surer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from gemsim.api.frames import ROW_UNITS, first_rows, frame, swept_by
from gemsim.api.results import Results, counts_of
from gemsim.api.run import run_in_memory
from gemsim.api.study import Study
from gemsim.errors import GemsimError, ValueRefused, show
from gemsim.results.estimate import (
    Floats,
    Interval,
    mean_interval,
    paired_interval,
    paired_ratio_interval,
    ratio_interval,
)
from gemsim.results.ledger import LEDGER
from gemsim.results.rows import NUMBERS, RowStore
from gemsim.spec.types import closest
from gemsim.study.plan import plan

Run = pd.DataFrame  # the numbers of one design, by replication
Parts = tuple[Floats, Floats]
RATIOS = {  # sums over sums, as in summary.csv
    "wasted_s_per_failure": ("wasted_failures_s", "failures"),
    "cost_s_per_failure": ("cost_failures_s", "failures"),
}
SHARES = {"ettr": "productive_s", **{f"time_{name}": f"{name}_s" for name in LEDGER}}  # of the wall time
UNIT = {**dict.fromkeys(SHARES, "1"), **dict.fromkeys(RATIOS, "s"), **{name: ROW_UNITS[name] for name in NUMBERS}}


@dataclass(frozen=True, slots=True)
class _Design:
    """One design with its replications; `head` is what the frame shows for it, `group` what it competes in."""

    head: Mapping[str, Any]
    point: str
    group: Any
    run: Run


def compare(
    designs: Results | Mapping[str, Study | Results],
    reference: int | str | Mapping[str, Any] | None = None,
    *,
    column: str = "ettr",
) -> pd.DataFrame:
    """Paired differences of a column from a reference, by replication, with 95 % intervals.

    `designs`: the Results of one sweep; or names with a Study or Results of one design each, from any folders, as long
    as they have one seed (a Study is simulated with its own number of replications, here and now). Pairs are made of
    the replications that both have. `column`: `ettr`, `time_CATEGORY`, `wasted_s_per_failure`, `cost_s_per_failure`, or
    a number of a row such as `failures` or `waiting_s`.

    `reference`: of one sweep an index of its `summary`, a variant, or {column: value} that single out one design, or
    one in each group; by default the one of each group with the largest ETTR among those that meet `require:`, as for
    `ettr_diff`. Of named designs a name, by default the first.

    A row for each design: what it varies (or its `name`), `replications` paired, `value`, `reference` (the value of the
    reference over these), `diff`, `diff_lo`, `diff_hi`, all in the unit of `column`. One replication has no interval:
    NaN.

    Raises GemsimError for different seeds, no common replications, several designs under one name, or a reference that
    does not single one out.

    >>> import gemsim as gs
    >>> study = gs.load_study("widths", quick=True).with_({"run.horizon": "10 d"})
    >>> def one(*choice): return study.point("k=16", "mapping=interleaved", "restart=in_place", "lands=used", *choice)
    >>> table = gs.compare({"no code": one("m=0"), "a code": one("m=1")})
    >>> list(table["name"]), float(table["diff"][0])
    (['no code', 'a code'], 0.0)
    """
    if column not in UNIT:
        near = closest(column, UNIT)
        raise ValueRefused(f"no column to compare ({show(column)})", f"one of {', '.join(UNIT)}", near)
    _refuse_others(designs)
    if isinstance(designs, Results):
        found, heads = (
            _of_one(designs),
            {"variant": "text", **swept_by(designs.study.loaded, designs.found.points).units, "point": "scenario id"},
        )
        against = _references(designs, found, reference)
    else:
        found, heads = _of_many(designs), {"name": "text", "point": "scenario id"}
        named = _named(found, reference)
        against = lambda one: named  # noqa: E731
    unit = UNIT[column]
    numbers = {"replications": "1", **dict.fromkeys(("value", "reference", "diff", "diff_lo", "diff_hi"), unit)}
    return frame((_row(one, against(one), column) for one in found), {**heads, **numbers})


def _refuse_others(designs: object) -> None:
    given = list(designs.values()) if isinstance(designs, Mapping) else [designs]
    allowed = Study | Results if isinstance(designs, Mapping) else Results
    wrong = [one for one in given if not isinstance(one, allowed)] if given else [designs]
    if wrong:
        asked = "the Results of a sweep, or a mapping of names to a Study or Results of one design each"
        raise ValueRefused(f"not what is compared ({show(wrong[0])})", asked)


def _row(one: _Design, reference: _Design | None, column: str) -> dict[str, Any]:
    row: dict[str, Any] = {**one.head, "point": one.point, "replications": 0}
    if reference is None:
        return row
    both = one.run.index.intersection(reference.run.index)
    own, other = one.run.loc[both], reference.run.loc[both]
    values = [_value(each, column) for each in (own, other)]
    apart = _apart(own, other, column)
    row |= {"replications": len(both), "value": values[0].value, "reference": values[1].value}
    return row | {"diff": apart.value, "diff_lo": apart.lo, "diff_hi": apart.hi}


def _value(run: Run, column: str) -> Interval:
    if column in RATIOS:
        return ratio_interval(*_parts(run, column))
    return mean_interval(_by_replication(run, column))


def _apart(own: Run, other: Run, column: str) -> Interval:
    if column in RATIOS:
        return paired_ratio_interval(_parts(own, column), _parts(other, column))
    return paired_interval(_by_replication(own, column), _by_replication(other, column))


def _parts(run: Run, column: str) -> Parts:
    top, bottom = RATIOS[column]
    return _column(run, top), _column(run, bottom)


def _by_replication(run: Run, column: str) -> Floats:
    if column in SHARES:
        return _column(run, SHARES[column]) / _column(run, "wall_s")
    return _column(run, column)


def _column(run: Run, name: str) -> Floats:
    return run[name].to_numpy(dtype=np.float64)


def _runs(table: pa.Table, replications: Mapping[str, int]) -> dict[str, Run]:
    """The numbers of each design by replication, of its first replications."""
    found = first_rows(table, replications).set_index("replication")
    return {str(id_): run[list(NUMBERS)] for id_, run in found.groupby("point", sort=False)}


def _of_one(results: Results) -> list[_Design]:
    """The design points of a sweep, in order; those without numbers are left out."""
    runs = _runs(RowStore(results.folder / "rows").read(), counts_of(results.found))
    swept = swept_by(results.study.loaded, results.found.points)
    return [
        _Design({"variant": one.variant, **swept.row(one.columns)}, one.id, one.group, runs[one.id])
        for one in results.found.points
        if one.id in runs
    ]


def _references(
    results: Results, designs: Sequence[_Design], reference: int | str | Mapping[str, Any] | None
) -> Callable[[_Design], _Design | None]:
    """From a design to the one that it is compared with."""
    points = results.found.points
    if reference is None:
        chosen = {key: one.reference for key, one in results.found.summary.choices.items()}
        ids = {key: points[at].id for key, at in chosen.items() if at is not None}
        by_id = {one.point: one for one in designs}
        return lambda one: by_id[ids[one.group]] if one.group in ids else None
    if isinstance(reference, str):
        return _single([one for one in designs if reference in (one.head["variant"], one.point)], reference)
    if isinstance(reference, Mapping):
        return _single([one for one in designs if _holds(one.head, reference)], reference)
    at = index(reference)  # whole numbers of NumPy too
    if not 0 <= at < len(points):
        raise GemsimError(f"no such reference ({at}); an index of the summary, 0 to {len(points) - 1}")
    return _single([one for one in designs if one.point == points[at].id], reference)


def _holds(head: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    unknown = [name for name in wanted if name not in head]
    if unknown:
        near = closest(unknown[0], head)
        raise ValueRefused(f"no such column of the reference ({show(unknown[0])})", f"one of {', '.join(head)}", near)
    return all(head[name] == value for name, value in wanted.items())


def _single(picked: Sequence[_Design], reference: Any) -> Callable[[_Design], _Design | None]:
    """One design for all, or one for each group. Raises GemsimError."""
    groups: dict[Any, dict[str, _Design]] = {}
    for one in picked:
        groups.setdefault(one.group, {})[one.point] = one
    distinct = {id_ for members in groups.values() for id_ in members}
    if not distinct:
        raise GemsimError(f"no design is the reference ({show(reference)}); see the columns and rows of .summary")
    if len(distinct) == 1:
        return lambda one: picked[0]
    several = max(len(members) for members in groups.values())
    if several > 1:
        raise GemsimError(
            f"the reference is not one design ({show(reference)}: {several} in one group); name more columns"
        )
    return lambda one: next(iter(groups.get(one.group, {}).values()), None)


def _of_many(named: Mapping[str, Study | Results]) -> list[_Design]:
    """One design for each name. Raises GemsimError for several, or for unlike seeds."""
    seeds = {name: one.seed for name, one in named.items()}
    if len(set(seeds.values())) > 1:
        shown = ", ".join(f"{name} has seed {seed}" for name, seed in seeds.items())
        raise GemsimError(
            f"designs are paired on the same failures, that is on one seed: {shown}; run them with one seed"
        )
    return [_only(name, one) for name, one in named.items()]


def _only(name: str, given: Study | Results) -> _Design:
    if isinstance(given, Results):
        runs = _runs(RowStore(given.folder / "rows").read(), counts_of(given.found))
    else:
        asked = plan(given.loaded, seed=None, replications=None, quick=given.quick)
        points, table = run_in_memory(asked, jobs=1)
        runs = _runs(table, {point.id: asked.replications for point in points})
    if isinstance(given, Results) and given.found.incomplete and not runs:
        raise GemsimError(f"{name}: {next(iter(given.found.incomplete.values()))}; gs.sweep again makes the others")
    if len(runs) != 1:
        raise GemsimError(f"{name}: holds {len(runs)} designs, and one is compared; take one with study.point(...)")
    ((id_, run),) = runs.items()
    return _Design({"name": name}, id_, None, run)


def _named(designs: Sequence[_Design], reference: Any) -> _Design:
    if reference is None and designs:
        return designs[0]
    for one in designs:
        if one.head["name"] == reference:
            return one
    known = ", ".join(str(one.head["name"]) for one in designs)
    raise GemsimError(f"no such reference ({show(reference)}); one of {known or 'none: there are no designs'}")
