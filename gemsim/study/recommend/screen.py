"""The screening: every point of the space by the closed form, as arrays; what cannot exist or has no form is counted.

One table over all points. A point without a number has NaN there and a reason here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.analytic.screen import OneByOne
from gemsim.errors import GemsimError, NotCovered
from gemsim.results.estimate import Floats
from gemsim.scenario import Scenario
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.spec.study import StudySpec
from gemsim.study.along import CANNOT, along, beside
from gemsim.study.points import reason_of
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.space import Structure

Ints = NDArray[np.int64]
Texts = NDArray[np.object_]
Mask = NDArray[np.bool_]
Losses = Callable[[Scenario, Mapping[int, Any], Any], Floats]
OWN = ("value", "memory_overhead", "step_overhead", "spare_nodes", "interval_s", "survivable_burst_pages")
LOSSES = "unrecoverable_analytic"
MOST_OPEN = 64  # points without a form that are kept by name
MOST_ALONE = 20_000  # points that go one by one: some minutes


@dataclass(frozen=True, slots=True)
class Tools:
    """What the screening asks of the model; `losses` gives unrecoverable losses per run at steps between saves by
    tier and spare nodes, if anything asks for them."""

    build: Callable[[StudySpec], Scenario]
    describe: Callable[[Scenario], Mapping[str, Any]]
    screen: Callable[..., Mapping[str, Any]]
    losses: Losses | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of one structure: columns over its flattened axes, or why it has none."""

    number: int
    id: str = ""
    columns: Mapping[str, Any] | None = None
    reasons: Texts | None = None  # by point; "" where there is a number
    infeasible: str = ""
    uncovered: str = ""
    modelled: Mapping[str, bool] | None = None  # profile to whether it is modelled


@dataclass(frozen=True, slots=True)
class Screened:
    """All points that have numbers. `columns` are flat over them; `structure` and `flat` say which point each is."""

    structures: Sequence[Structure]
    columns: Mapping[str, Floats]
    structure: Ints
    flat: Ints
    points: int  # combinations asked for
    joined: int  # that are another point again
    infeasible: Counter[str]  # reason to points
    uncovered: Counter[str]
    open: Sequence[tuple[int, int]]  # (structure, flat) of the first points without closed form
    profiles: Mapping[str, bool]

    def assignments(self, at: int) -> dict[str, Any]:
        """The design point in a row of the table."""
        return self.structures[int(self.structure[at])].assignments(int(self.flat[at]))


def screened(
    loaded: LoadedStudy, structures: Sequence[Structure], tools: Tools, sought: Sought, *, columns: Sequence[str] = ()
) -> Screened:
    """Every point of `structures`; `columns` names those of the closed form wanted beside the objective.

    A fault in building a structure is no reason of infeasibility and is raised. Raises GemsimError where more points
    than MOST_ALONE have no form on arrays.
    """
    found: list[Looked] = []
    alone = 0
    for one in structures:
        try:
            looked = look(loaded, one, tools, sought, losses=LOSSES in columns, one_by_one=False)
        except OneByOne:
            alone += one.points
            if alone > MOST_ALONE:
                raise _too_many_alone(loaded, structures) from None
            looked = look(loaded, one, tools, sought, losses=LOSSES in columns)
        found.append(looked)
    return joined(structures, found, columns)


def _too_many_alone(loaded: LoadedStudy, structures: Sequence[Structure]) -> GemsimError:
    points = sum(one.points for one in structures)
    return GemsimError(
        f"{loaded.tree.where(('decide', 'variables'), key=True)}: decide.variables: too many points ({points}) where "
        f"the closed form goes one by one (a work target; warm, cold or borrowed spares; unlike, drifting or recurring "
        f"failures; replica groups); at most {MOST_ALONE}; take fewer values"
    )


def joined(structures: Sequence[Structure], found: Sequence[Looked], columns: Sequence[str]) -> Screened:
    """One table of what was found of each structure; of structures that are one design the first stands for all."""
    infeasible, uncovered, open_ = Counter[str](), Counter[str](), list[tuple[int, int]]()
    tables: list[tuple[Structure, Looked, Mask]] = []
    seen: set[str] = set()
    twice = 0
    for one, looked in zip(structures, found, strict=True):
        if looked.infeasible:
            infeasible[looked.infeasible] += one.points
        elif looked.id in seen:
            twice += one.points
        elif looked.uncovered:
            seen.add(looked.id)
            uncovered[looked.uncovered] += one.points
            open_ += [(one.number, flat) for flat in range(one.points)][: MOST_OPEN - len(open_)]
        else:
            seen.add(looked.id)
            kept, without = _count(looked, infeasible, uncovered)
            tables.append((one, looked, kept))
            open_ += [(one.number, int(flat)) for flat in np.flatnonzero(without)][: MOST_OPEN - len(open_)]
    names = dict.fromkeys((*OWN, "ettr_analytic", "analytic_error", *columns))
    return Screened(
        structures=structures,
        columns={
            name: _stacked([look.columns[name][kept] for _, look, kept in tables if look.columns]) for name in names
        },
        structure=_stacked([np.full(int(kept.sum()), one.number) for one, _, kept in tables]).astype(np.int64),
        flat=_stacked([np.flatnonzero(kept) for _, _, kept in tables]).astype(np.int64),
        points=sum(one.points for one in structures),
        joined=twice,
        infeasible=infeasible,
        uncovered=uncovered,
        open=open_,
        profiles={name: kind for look in found for name, kind in (look.modelled or {}).items()},
    )


def _stacked(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts) if parts else np.empty(0)


def _count(looked: Looked, infeasible: Counter[str], uncovered: Counter[str]) -> tuple[Mask, Mask]:
    """Which points of a structure have numbers, and which lack a form alone; those without numbers are counted."""
    assert looked.columns is not None
    assert looked.reasons is not None
    kept = np.isfinite(looked.columns["value"]) & (looked.reasons == "")
    cannot = np.array([reason.startswith(CANNOT) for reason in looked.reasons], dtype=bool)
    for reason, points in Counter(looked.reasons[~kept].tolist()).items():
        text = reason.removeprefix(CANNOT) or "the closed form gives no number"
        (infeasible if reason.startswith(CANNOT) else uncovered)[text] += points
    return np.asarray(kept), ~kept & ~cannot


def look(
    loaded: LoadedStudy, one: Structure, tools: Tools, sought: Sought, *, losses: bool, one_by_one: bool = True
) -> Looked:
    """Build a structure and ask the closed form for all its points at once. Without `one_by_one` raises OneByOne."""
    try:
        spec = resolve_point(loaded, one.base)
        scenario = tools.build(spec)
    except GemsimError as error:
        return Looked(one.number, infeasible=reason_of(error))
    known = {scenario.profile: scenario.modelled}
    asked = along(spec, scenario, one.axes, one.lies, one.shape)
    try:
        table = dict(tools.screen(scenario, every=asked.every, spares=asked.spares, one_by_one=one_by_one))
    except NotCovered as error:
        return Looked(one.number, scenario.id, uncovered=error.reason, modelled=known)
    shape = one.shape
    reasons = np.broadcast_to(np.asarray(table.pop("reason", ""), dtype=object), shape).copy()
    reasons[asked.cannot != ""] = asked.cannot[asked.cannot != ""]
    numbers = {name: np.asarray(values) for name, values in table.items() if np.asarray(values).dtype.kind in "iuf"}
    columns = {name: np.broadcast_to(values.astype(float), shape).ravel() for name, values in numbers.items()}
    own = beside(spec, scenario, tools.describe(scenario), table, asked.spares)
    columns |= {name: np.broadcast_to(values, shape).ravel() for name, values in own.items()}
    if losses:
        steps = {tier: columns[f"every_{tier}"] for tier in asked.every}
        lost = np.nan if tools.losses is None else tools.losses(scenario, steps, columns["spare_nodes"])
        columns[LOSSES] = np.broadcast_to(lost, (one.points,))
    columns["value"] = np.asarray(sought.twin(columns["ettr_analytic"], spec, spares=columns["spare_nodes"]))
    return Looked(one.number, scenario.id, columns, reasons.ravel(), modelled=known)
