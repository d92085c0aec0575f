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
from gemsim.protection.checkpoint import Checkpoint
from gemsim.results.estimate import Floats
from gemsim.scenario import Scenario
from gemsim.scenario.tiers.checkpoint import steps_between
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.spec.protection.checkpoint import CheckpointSpec
from gemsim.spec.study import StudySpec
from gemsim.study.points import reason_of
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.space import OPTIMAL, SPARES, Axis, Structure
from gemsim.units import parse

Ints = NDArray[np.int64]
Texts = NDArray[np.object_]
Mask = NDArray[np.bool_]
Losses = Callable[[Scenario, Mapping[int, Any], Any], Floats]
OWN = ("value", "memory_overhead", "step_overhead", "spare_nodes", "interval_s", "survivable_burst_pages")
LOSSES = "unrecoverable_analytic"
CANNOT = "infeasible: "  # before the reason of a point that cannot exist, against one without a form
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
    every, spares, cannot = _along(spec, scenario, one)
    try:
        table = dict(tools.screen(scenario, every=every, spares=spares, one_by_one=one_by_one))
    except NotCovered as error:
        return Looked(one.number, scenario.id, uncovered=error.reason, modelled=known)
    shape = one.shape
    reasons = np.broadcast_to(np.asarray(table.pop("reason", ""), dtype=object), shape).copy()
    reasons[cannot != ""] = cannot[cannot != ""]
    numbers = {name: np.asarray(values) for name, values in table.items() if np.asarray(values).dtype.kind in "iuf"}
    columns = {name: np.broadcast_to(values.astype(float), shape).ravel() for name, values in numbers.items()}
    columns |= {name: np.broadcast_to(v, shape).ravel() for name, v in _own(spec, scenario, one, tools, table).items()}
    if losses:
        along = {tier: columns[f"every_{tier}"] for tier in every}
        lost = np.nan if tools.losses is None else tools.losses(scenario, along, columns["spare_nodes"])
        columns[LOSSES] = np.broadcast_to(lost, (one.points,))
    columns["value"] = np.asarray(sought.twin(columns["ettr_analytic"], spec, spares=columns["spare_nodes"]))
    return Looked(one.number, scenario.id, columns, reasons.ravel(), modelled=known)


def _along(spec: StudySpec, scenario: Scenario, one: Structure) -> tuple[dict[int, Ints], Ints | None, Texts]:
    """Steps between saves by tier and spare nodes, as arrays along the axes, and why a point cannot exist."""
    cannot = np.full(one.shape, "", dtype=object)
    optimal = [t.label for t in spec.protection if isinstance(t, CheckpointSpec) and t.interval == OPTIMAL]
    every: dict[int, Ints] = {  # to be found anew at each point, as it moves with the axes
        tier.number: np.zeros((1,) * len(one.axes), dtype=np.int64)
        for tier in scenario.tiers
        if isinstance(tier, Checkpoint) and tier.name in optimal
    }
    spares: Ints | None = None
    for place, axis in enumerate(one.axes):
        lie = tuple(-1 if at == place else 1 for at in range(len(one.axes)))
        if axis.kind == "spares":
            spares = np.array(axis.values, dtype=np.int64).reshape(lie)
            continue
        tier = next(t for t in scenario.tiers if isinstance(t, Checkpoint) and t.name == axis.tier)
        taken = [_steps(axis, value, tier, spec.workload.step) for value in axis.values]
        every[tier.number] = np.array([steps for steps, _ in taken], dtype=np.int64).reshape(lie)
        bad = np.array([why for _, why in taken], dtype=object).reshape(lie)
        cannot = np.where(cannot == "", np.broadcast_to(bad, one.shape), cannot)
    return every, spares, cannot


def _steps(axis: Axis, value: Any, tier: Checkpoint, step: float) -> tuple[int, str]:
    """A value of an axis in steps (0: optimal), and why it cannot be: saves that pile up."""
    piles = f"{CANNOT}saves of tier {tier.name} pile up: the interval is shorter than its write time"
    if axis.kind == "every":
        return int(value), piles if tier.lag > int(value) * step + tier.blocked else ""
    if value == OPTIMAL:
        return 0, ""
    interval, running = parse(value, "time"), max(0.0, tier.lag - tier.blocked)
    return steps_between(interval, running, step), piles if interval < running else ""


def _own(spec: StudySpec, scenario: Scenario, one: Structure, tools: Tools, table: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that need no closed form: overheads by the stalls at each point's intervals, bursts, spares."""
    static = tools.describe(scenario)
    per_step = sum(s.seconds / np.asarray(table.get(f"every_{s.tier}", s.every)) for s in scenario.timeline.stalls)
    burst = static["survivable_burst_pages"]
    saves = [t for t in scenario.tiers if isinstance(t, Checkpoint)]
    last = np.asarray(table.get(f"every_{saves[-1].number}", saves[-1].every)) if saves else np.nan
    spares = next((np.array(axis.values).reshape(_lie(one, axis)) for axis in one.axes if axis.path == SPARES), None)
    return {
        "memory_overhead": static["memory_overhead"],
        "step_overhead": (scenario.timeline.step + per_step) / scenario.useful_step - 1.0,
        "survivable_burst_pages": np.nan if burst is None else burst,
        "spare_nodes": scenario.spare_nodes if spares is None else spares,
        "interval_s": last * spec.workload.step,
    }


def _lie(one: Structure, axis: Axis) -> tuple[int, ...]:
    return tuple(-1 if each is axis else 1 for each in one.axes)
