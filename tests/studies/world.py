"""Design points of the shipped studies, and paired runs of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim import scenario
from gemsim.analytic.run import predict
from gemsim.engine.run import simulate
from gemsim.scenario import Scenario
from gemsim.spec.loading import LoadedStudy, load_study, resolve_point
from gemsim.spec.study import StudySpec
from gemsim.study.design import DesignPoint, designs_of

FOLDER = Path(__file__).parents[2] / "studies"
NAMES = ("widths", "layouts", "cadence", "retry", "zero3", "gem", "uncertain")


@cache
def study(name: str) -> LoadedStudy:
    """A shipped study in full, read once."""
    return load_study(FOLDER / f"{name}.yaml")


@cache
def designs(name: str) -> tuple[DesignPoint, ...]:
    """All its design points."""
    return tuple(designs_of(study(name)))


def matching(name: str, variant: str, swept: Mapping[str, Any]) -> Iterator[DesignPoint]:
    """The points of a variant ("" for any) whose swept paths, named by their last parts, have these values."""
    for design in designs(name):
        named = {path: value for path, value in design.columns.items() if value != ""}
        has = all(
            any(f".{path}".endswith(f".{tail}") and named[path] == v for path in named) for tail, v in swept.items()
        )
        if has and variant in ("", design.variant):
            yield design


def spec(name: str, design: DesignPoint) -> StudySpec:
    """One point, resolved."""
    return resolve_point(study(name), design.assignments)


def point(name: str, variant: str = "", **swept: Any) -> Scenario:
    """The scenario of the first matching point. Raises Infeasible when it cannot exist."""
    return scenario.build(spec(name, next(matching(name, variant, swept))))


def twin(built: Scenario) -> float:
    """ETTR in closed form."""
    value = predict(built)["ettr_analytic"]
    assert isinstance(value, float)
    return value


def rows(built: Scenario, replications: int, *, seed: int) -> list[dict[str, Any]]:
    """One row for each replication; equal seeds meet equal failures."""
    return [simulate(built, seed=seed, replication=number) for number in range(replications)]


def ettr(found: list[dict[str, Any]]) -> NDArray[np.float64]:
    """ETTR by replication."""
    return np.array([row["productive_s"] / row["wall_s"] for row in found])


def standard_error(values: NDArray[np.float64]) -> float:
    """Of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def surely_above(better: NDArray[np.float64], worse: NDArray[np.float64]) -> bool:
    """The paired difference is positive by more than four of its standard errors."""
    gain = better - worse
    return float(gain.mean()) > 4.0 * standard_error(gain)
