"""The study: all parts together, what is swept and compared, and what the best point must meet."""

from __future__ import annotations

import re
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, model_validator

from gemsim import units
from gemsim.errors import UnitError, ValueRefused, show
from gemsim.spec.across import refuse_batches, refuse_remaps, refuse_repairs, refuse_spares, refuse_unknown_repairs
from gemsim.spec.beside import folder_of_study, refuse_outside
from gemsim.spec.cluster import ClusterSpec
from gemsim.spec.columns import COLUMN_MEASURES, JUDGED
from gemsim.spec.decide import DecideSpec, refuse_objective
from gemsim.spec.failures import FailuresSpec
from gemsim.spec.fleet import FleetSpec
from gemsim.spec.prices import PricesSpec
from gemsim.spec.protection.kinds import TierSpec, read_tier, refuse_labels
from gemsim.spec.restart import RestartSpec
from gemsim.spec.run import RunSpec
from gemsim.spec.swept import SweepSpec
from gemsim.spec.systems import expand, names_system
from gemsim.spec.types import Label, Model, SelfRead, closest, sourced
from gemsim.spec.uncertain import Law
from gemsim.spec.uncertain_text import Laws
from gemsim.spec.workload import ParallelSpec, WorkloadSpec

_OPERATORS = ("<=", ">=", "<", ">")
_OFTEN = ("ettr", "memory_overhead", "step_overhead", "unrecoverable_per_run_hi", "cost_per_useful_gpu_hour")


class Requirement(NamedTuple):
    """A bound on a summary column: `op` is one of <=, >=, <, >; `value` is in SI units (a share for a share)."""

    op: str
    value: float

    def met(self, number: float) -> bool:
        """Whether a number meets the bound; a missing one (NaN) does not."""
        checks = {
            "<=": number <= self.value,
            ">=": number >= self.value,
            "<": number < self.value,
            ">": number > self.value,
        }
        return checks[self.op]


def _requirement(column: str, bound: Any) -> Requirement:
    numeric = [name for name, measure in COLUMN_MEASURES.items() if measure != "text" and name not in JUDGED]
    if column not in numeric:  # there are too many to name
        allowed = f"a number of summary.csv, such as {', '.join(_OFTEN)}; docs/model.md has all"
        raise ValueRefused(f"unknown summary column ({show(column)})", allowed, closest(str(column), numeric))
    if isinstance(bound, Requirement):
        return bound
    match = re.fullmatch(r"\s*(<=|>=|<|>)\s*(.+)", bound) if isinstance(bound, str) else None
    if match is None:
        raise ValueRefused(
            f"{column}: not a bound ({show(bound)})",
            f"one of {' '.join(_OPERATORS)} and a value",
            'write e.g. "<= 0.5 %"',
        )
    try:
        return Requirement(match[1], units.parse(match[2], _measure(column)))
    except UnitError as error:
        raise ValueRefused(f"{column}: {error.what}", error.allowed, error.todo) from error


def _measure(column: str) -> units.Dimension:
    measure = COLUMN_MEASURES[column]
    return "count" if measure == "text" or measure == "money" else measure


class _Requirements(SelfRead):
    """Bounds by summary column."""

    def read(self, value: Any) -> dict[str, Requirement]:
        if not isinstance(value, dict):
            raise ValueRefused(
                f"not a mapping ({show(value)})",
                "summary columns with bounds",
                'write e.g. {memory_overhead: "<= 0.5 %"}',
            )
        return {column: _requirement(column, bound) for column, bound in value.items()}

    def write(self, value: dict[str, Requirement]) -> dict[str, str]:
        return {name: f"{op} {units.format(bound, _measure(name))}" for name, (op, bound) in value.items()}

    def form(self) -> dict[str, Any]:
        columns = (name for name, measure in COLUMN_MEASURES.items() if measure != "text" and name not in JUDGED)
        bound = {"type": "string", "pattern": r"^\s*(?:<=|>=|<|>)\s*.+$", "examples": ["<= 0.5 %"]}
        return {"type": "object", "additionalProperties": False, "properties": dict.fromkeys(columns, bound)}


def _default_profile(data: dict[str, Any]) -> str:
    """The profile family of the GPU type: h100-80gb is timed by nvidia-h100."""
    cluster = data.get("cluster")
    return f"nvidia-{cluster.gpu.split('-')[0]}" if isinstance(cluster, ClusterSpec) else ""


def _inside(name: str) -> str:
    """A name of a profile. Raises ValueRefused for a path out of the study's folder."""
    refuse_outside(name)
    return name


def refuse_layout(gpus: int, parallel: ParallelSpec) -> None:
    """Raises ValueRefused unless the parallel layout uses all GPUs of the cluster."""
    if parallel.gpus != gpus:
        shown = f"tensor {parallel.tensor} × pipeline {parallel.pipeline} × data {parallel.data} = {parallel.gpus}"
        rest, over = divmod(gpus, parallel.tensor * parallel.pipeline)
        todo = f"data: {rest} would fit" if not over and rest else "change the degrees or cluster.gpus"
        raise ValueRefused(
            f"the layout uses other than all GPUs ({shown}, cluster.gpus is {gpus})",
            "a product equal to cluster.gpus",
            todo,
            at=("workload", "parallel"),
        )


def _named(value: Any) -> Any:
    """The tiers of a named system. Raises ValueRefused when there is no such system or it lacks what is changed."""
    return expand(value) if names_system(value) else value


Tiers = Annotated[tuple[Annotated[TierSpec, BeforeValidator(read_tier)], ...], BeforeValidator(_named)]


class StudySpec(Model):
    """One study, or one design point of it (then without sweep, compare, decide, quick and uncertain)."""

    title: str
    notes: str = ""
    cluster: ClusterSpec
    workload: WorkloadSpec
    restart: RestartSpec = sourced("NVIDIA: every rank exits", default_factory=RestartSpec)
    failures: FailuresSpec
    fleet: FleetSpec = sourced("cluster.spare_nodes; nothing else", default_factory=FleetSpec)
    protection: Tiers = sourced("nothing is protected", ())
    uncertain: Annotated[dict[str, Law], Laws()] = Field(default_factory=dict)
    sweep: SweepSpec = Field(default_factory=SweepSpec)
    compare: dict[Annotated[str, Label()], dict[str, Any]] = Field(default_factory=dict)
    decide: DecideSpec | None = None
    require: Annotated[dict[str, Requirement], _Requirements()] = Field(default_factory=dict)
    prices: PricesSpec | None = None
    profile: Annotated[str, AfterValidator(_inside)] = sourced("by GPU type", default_factory=_default_profile)
    run: RunSpec
    quick: dict[str, Any] = Field(default_factory=dict)
    _folder: str = PrivateAttr(default_factory=folder_of_study)

    @property
    def folder(self) -> str:
        """The folder of the study, where the relative names of files in it start."""
        return self._folder

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_layout(self.cluster.gpus, self.workload.parallel)
        refuse_labels(self.protection)
        refuse_spares(self.fleet.spares, self.cluster)
        refuse_batches(self.failures.classes, self.cluster)
        refuse_remaps(self.failures, self.fleet)
        refuse_repairs(self.failures.classes, self.fleet)
        refuse_unknown_repairs(self.failures, self.fleet)
        refuse_objective(self.decide, self.run, self.prices)
        return self
