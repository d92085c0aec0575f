"""Design points of one structure: those that differ in intervals, steps between saves of replicas and spares alone.

The closed form takes these as arrays, so a structure is resolved, built and enumerated once for all of its points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gemsim.protection.checkpoint import Checkpoint
from gemsim.scenario import Scenario
from gemsim.scenario.tiers.checkpoint import steps_between
from gemsim.spec.protection.checkpoint import CheckpointSpec
from gemsim.spec.protection.replica import ReplicaSpec
from gemsim.spec.study import StudySpec
from gemsim.units import parse

SPARES = "cluster.spare_nodes"
OPTIMAL = "optimal"
CANNOT = "infeasible: "  # before the reason of a point that cannot exist, against one without a form

Ints = NDArray[np.int64]
Texts = NDArray[np.object_]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """A path whose values the closed form takes as an array; `tier` is the label of its tier."""

    path: str
    kind: Literal["interval", "every", "spares"]
    tier: str
    values: tuple[Any, ...]

    @property
    def base(self) -> Any:
        """The value with which the structure is built: one that is never infeasible by itself."""
        return OPTIMAL if self.kind == "interval" else max(self.values)


@dataclass(frozen=True, slots=True)
class Along:
    """Steps between saves by number of the tier and spare nodes, as arrays that broadcast to the points; why a point
    cannot exist ("" where it can)."""

    every: Mapping[int, Ints]
    spares: Ints | None
    cannot: Texts


def may_be_axis(path: str) -> bool:
    """Whether a path looks like one whose values an array may hold."""
    parts = path.split(".")
    return path == SPARES or (len(parts) == 3 and parts[0] == "protection" and parts[2] in ("interval", "every"))


def axis(spec: StudySpec, path: str, values: tuple[Any, ...]) -> Axis | None:
    """The axis that a path is in this study; None where each of its values needs a structure of its own."""
    parts = path.split(".")
    if path == SPARES:
        return Axis(path, "spares", "", values)
    if parts[0] != "protection" or len(parts) != 3:
        return None
    tiers = [one for one in spec.protection if parts[1] in (one.name, one.kind)]
    tier = next((one for one in tiers if one.name == parts[1]), tiers[0] if tiers else None)
    if isinstance(tier, CheckpointSpec) and parts[2] == "interval":
        return Axis(path, "interval", tier.label, values)
    if isinstance(tier, ReplicaSpec) and parts[2] == "every" and tier.keep.seconds is None:
        return Axis(path, "every", tier.label, values)
    return None


def along(spec: StudySpec, scenario: Scenario, axes: Sequence[Axis], lies: Sequence[Shape], shape: Shape) -> Along:
    """The points of a structure; the values of each axis lie in an array reshaped as `lies` says."""
    cannot = np.full(shape, "", dtype=object)
    optimal = [t.label for t in spec.protection if isinstance(t, CheckpointSpec) and t.interval == OPTIMAL]
    every: dict[int, Ints] = {  # to be found anew at each point, as it moves with the axes
        tier.number: np.zeros((1,) * len(shape), dtype=np.int64)
        for tier in scenario.tiers
        if isinstance(tier, Checkpoint) and tier.name in optimal
    }
    spares: Ints | None = None
    for one, lie in zip(axes, lies, strict=True):
        if one.kind == "spares":
            spares = np.array(one.values, dtype=np.int64).reshape(lie)
            continue
        tier = next(t for t in scenario.tiers if isinstance(t, Checkpoint) and t.name == one.tier)
        known = {value: _steps(one, value, tier, spec.workload.step) for value in set(one.values)}
        taken = [known[value] for value in one.values]
        every[tier.number] = np.array([steps for steps, _ in taken], dtype=np.int64).reshape(lie)
        bad = np.array([why for _, why in taken], dtype=object).reshape(lie)
        cannot = np.where(cannot == "", np.broadcast_to(bad, shape), cannot)
    return Along(every, spares, cannot)


def _steps(one: Axis, value: Any, tier: Checkpoint, step: float) -> tuple[int, str]:
    """A value of an axis in steps (0: optimal), and why it cannot be: saves that pile up."""
    piles = f"{CANNOT}saves of tier {tier.name} pile up: the interval is shorter than its write time"
    if one.kind == "every":
        return int(value), piles if tier.lag > int(value) * step + tier.blocked else ""
    if value == OPTIMAL:
        return 0, ""
    interval, running = parse(value, "time"), max(0.0, tier.lag - tier.blocked)
    return steps_between(interval, running, step), piles if interval < running else ""


def beside(
    spec: StudySpec, scenario: Scenario, static: Mapping[str, Any], table: Mapping[str, Any], spares: Ints | None
) -> dict[str, Any]:
    """The columns that need no closed form: overheads by the stalls at each point's intervals, bursts, spares. `static`
    is the description of the structure, `table` what the screen said."""
    per_step = sum(s.seconds / np.asarray(table.get(f"every_{s.tier}", s.every)) for s in scenario.timeline.stalls)
    burst = static["survivable_burst_pages"]
    saves = [t for t in scenario.tiers if isinstance(t, Checkpoint)]
    last = np.asarray(table.get(f"every_{saves[-1].number}", saves[-1].every)) if saves else np.nan
    return {
        "memory_overhead": static["memory_overhead"],
        "step_overhead": (scenario.timeline.step + per_step) / scenario.useful_step - 1.0,
        "survivable_burst_pages": np.nan if burst is None else burst,
        "spare_nodes": scenario.spare_nodes if spares is None else spares,
        "interval_s": last * spec.workload.step,
    }
