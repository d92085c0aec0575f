"""What a sensitivity analysis asks: one output of one design, from the closed form or from paired replications.

An answer gives one number for each assignment of the inputs, and for a bar the difference to the nominal one with its
interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsim.errors import NotCovered
from gemsim.results.estimate import Interval, mean_interval, paired_interval
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.spec.types import refuse_unknown
from gemsim.study.points import Model

Assignments = Mapping[str, Any]
Floats = NDArray[np.float64]
SIMULATED: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "ettr": lambda row: float(row["productive_s"]) / float(row["wall_s"]),
    "wall_s": lambda row: float(row["wall_s"]),
    "failures": lambda row: float(row["failures"]),
}


class Answer(Protocol):
    """One output of one design under given inputs."""

    output: str
    kind: str  # how the numbers come about, for the reader
    bounded: bool  # whether intervals are stated errors instead of those of a sample

    def value(self, assignments: Assignments) -> float:
        """The number. Raises GemsimError where there is none."""

    def apart(self, assignments: Assignments, base: Assignments) -> Interval:
        """How far the number is from that of `base`; NaN bounds where the difference has no stated error."""


class ClosedForm:
    """The twin; the ends of a difference are its stated errors, which it has for ETTR alone."""

    def __init__(self, loaded: LoadedStudy, model: Model, output: str) -> None:
        self.loaded, self.model, self.kind, self.bounded = loaded, model, "closed form", True
        self.output = output

    def value(self, assignments: Assignments) -> float:
        """The column of the closed form. Raises NotCovered, Infeasible, StudyError, ValueRefused."""
        return self._numbers(assignments)[0]

    def apart(self, assignments: Assignments, base: Assignments) -> Interval:
        """The difference, give or take the stated errors of both."""
        (there, one), (here, other) = self._numbers(assignments), self._numbers(base)
        off = one + other
        return Interval(there - here, there - here - off, there - here + off)

    def _numbers(self, assignments: Assignments) -> tuple[float, float]:
        scenario = self.model.build(resolve_point(self.loaded, assignments))
        found = dict(self.model.predict(scenario))
        name = self.output if self.output in found else f"{self.output}_analytic"
        if name not in found:
            found |= self.model.describe(scenario)
            name = self.output
        known = [
            key for key, number in found.items() if isinstance(number, float | int) and not isinstance(number, bool)
        ]
        number = found[refuse_unknown(name, known, "output")]
        if number is None or math.isnan(number):
            raise NotCovered(f"{self.output} is not known there")
        error = float(found.get("analytic_error", math.nan)) if name == "ettr_analytic" else math.nan
        return float(number), error


class Replications:
    """The engine; every assignment meets the same failures, so that differences are paired."""

    def __init__(self, loaded: LoadedStudy, model: Model, output: str, *, seed: int, replications: int) -> None:
        self.loaded, self.model, self.seed, self.replications = loaded, model, seed, replications
        self.output = refuse_unknown(output, SIMULATED, "output of the engine")
        self.bounded = False
        self.kind = f"{replications} simulated replications each, on the same failures"
        self._held: dict[str, Floats] = {}

    def value(self, assignments: Assignments) -> float:
        """The mean over replications. Raises Infeasible, StudyError."""
        return mean_interval(self._sample(assignments)).value

    def apart(self, assignments: Assignments, base: Assignments) -> Interval:
        """The mean difference, replication by replication, with its t interval."""
        return paired_interval(self._sample(assignments), self._sample(base))

    def _sample(self, assignments: Assignments) -> Floats:
        key = repr(sorted(assignments.items(), key=lambda pair: pair[0]))
        if key not in self._held:
            scenario = self.model.build(resolve_point(self.loaded, assignments))
            runs = (
                self.model.simulate(scenario, seed=self.seed, replication=number) for number in range(self.replications)
            )
            self._held[key] = np.array([SIMULATED[self.output](row) for row in runs])
        return self._held[key]
