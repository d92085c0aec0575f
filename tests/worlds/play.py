"""Worlds played by the engine, beside what the closed form says of them, as claims to be judged together.

Each world has a seed of its own. What was played is kept, so that a planted fault in the closed form is judged on the
same runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.analytic.run import predict
from gemsim.engine import run as engine
from gemsim.errors import GemsimError, NotCovered
from gemsim.scenario import Scenario
from gemsim.study.validate.simulate import WARM_UP, ettr_sample
from tests.statcheck import Claim
from tests.worlds import make

SEED = 6_000_000
SKEW = 0.1  # skewness over the root of the number of runs, above which a mean is not judged
EVENTS = 30  # starts of the job from nothing in all runs together, below which what they cost is not judged
USELESS = 0.05  # stated error above which the other columns are not judged
POWER = 7.5  # standard errors that the two-stage check sees, at its part of the alarm

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Size:
    """How long a world is played: runs, and failures in each; `sees`: the error, as a share of the time lost, that each
    world then shows."""

    runs: int
    failures: int
    sees: float


QUICK, FULL = Size(60, 40, 0.4), Size(120, 100, 0.25)
QUICK_EXACT, FULL_EXACT = Size(60, 50, 0.3), Size(60, 250, 0.15)


def _built(number: int) -> Scenario | str:
    try:
        return make.scenario(number)
    except GemsimError as error:
        return f"infeasible: {error}"


@cache
def world(number: int, size: Size) -> Scenario:
    """The world with a horizon for so many failures."""
    built = make.scenario(number)
    rate = sum(kind.rate for kind in built.classes if kind.scope != "planned")
    return replace(built, horizon=size.failures / rate / (1.0 - WARM_UP))


@cache
def kinds() -> dict[int, str]:
    """exact, first_order, or why there is no number, for each world."""
    found = {}
    for number in make.WORLDS:
        built = _built(number)
        if isinstance(built, str):
            found[number] = built
            continue
        try:
            found[number] = predict(built)["analytic_kind"]
        except NotCovered as error:
            found[number] = f"no form: {error}"
    return found


def of_kind(kind: str) -> list[int]:
    """The worlds whose form is of this kind."""
    return [number for number, found in kinds().items() if found == kind]


@cache
def exact_sample(number: int, size: Size, stage: int) -> Floats:
    """Unbiased draws of the long-run ETTR."""
    seed = SEED + 1000 * stage + number
    return ettr_sample(world(number, size), replications=size.runs, seed=seed)


@cache
def rows(number: int, size: Size, stage: int) -> tuple[dict[str, Any], ...]:
    """Whole runs, what is judged of them."""
    seed = SEED + 1000 * stage + number
    played = (engine.simulate(world(number, size), seed=seed, replication=run) for run in range(size.runs))
    wanted = ("failures", "wall_s", *PER_FAILURE.values(), *SHARES.values())
    return tuple({name: row[name] for name in wanted} for row in played)


def exact_claims(numbers: Iterable[int], size: Size) -> Iterator[Claim]:
    """That the engine's long-run ETTR is the exact form's."""
    for number in numbers:
        said = predict(world(number, size))
        assert said["analytic_kind"] == "exact"
        seen = said["analytic_error"] + size.sees * (1.0 - said["ettr_analytic"])
        draw = partial(exact_sample, number, size)
        yield Claim(f"world {number}", draw, said["ettr_analytic"], seen, said["analytic_error"])


def ettr_claims(numbers: Iterable[int], size: Size) -> Iterator[Claim]:
    """That the engine's ETTR lies within the stated error; a run's beginning and end add what one failure costs."""
    for number in numbers:
        said = predict(world(number, size))
        within = said["analytic_error"] + (1.0 - said["ettr_analytic"]) / size.failures
        yield _claim(number, size, "ettr", said["ettr_analytic"], within)


def can_be_judged(claim: Claim, size: Size) -> bool:
    """Whether the mean is near enough to normal, and does not hang on a few starts of the job from nothing."""
    from scipy.stats import skew

    sample = np.asarray(claim.draw(0))
    number = int(claim.name.split()[1])
    few = 1e-3 < starts(number, size) * size.runs < EVENTS
    return not few and (sample.std() == 0.0 or abs(float(skew(sample))) <= SKEW * len(sample) ** 0.5)


@cache
def starts(number: int, size: Size) -> float:
    """Starts from nothing in a run, as the closed form has them: by how much less is left of a longer run."""
    whole = world(number, size)
    if not whole.tiers or any(kind.drift for kind in whole.classes):
        return 0.0
    short = predict(replace(whole, horizon=whole.horizon / 1e3))["ettr_analytic"]
    left = predict(whole)["ettr_analytic"] / short if short else 1.0
    low, high = 0.0, 1e6
    for _ in range(60):  # the x for which (1 - e^-x) / x is left
        middle = (low + high) / 2.0
        low, high = (middle, high) if -np.expm1(-middle) / middle > left else (low, middle)
    return high if left < 1.0 - 1e-6 else 0.0


def _claim(number: int, size: Size, column: str, expected: float, within: float) -> Claim:
    draw = partial(_sample, number, size, column, expected)
    sample = draw(0)
    seen = within + POWER * float(np.std(sample, ddof=1)) / len(sample) ** 0.5
    target = 0.0 if column in PER_FAILURE else expected
    return Claim(f"world {number} {column}", draw, target, seen * (1.0 + 1e-9) + 1e-12, within)


PER_FAILURE = {
    "fallback_per_failure": "fallbacks",
    "wasted_s_per_failure": "wasted_failures_s",
    "cost_s_per_failure": "cost_failures_s",
}
SHARES = {"ettr": "productive_s", "overhead": "overhead_s"}


def _sample(number: int, size: Size, column: str, expected: float, stage: int) -> Floats:
    """Of each run a share of time, a count, or by how much what its failures cost differs from `expected` for each."""
    played = rows(number, size, stage)
    if column == "failures":
        return np.array([row["failures"] for row in played], dtype=float)
    if column in SHARES:
        return np.array([row[SHARES[column]] / row["wall_s"] for row in played])
    return np.array([row[PER_FAILURE[column]] - expected * row["failures"] for row in played]) / size.failures


ORDER = {  # relative, absolute: what first order means for each column
    "failures": (0.02, 1.0),
    "fallback_per_failure": (0.15, 0.01),
    "wasted_s_per_failure": (0.1, 0.5),
    "cost_s_per_failure": (0.05, 0.5),
    "overhead": (0.05, 0.001),
}


def column_claims(numbers: Iterable[int], size: Size) -> Iterator[Claim]:
    """That each other column is right to its order; the stated error of the ETTR is one of the time lost, so of what a
    failure costs too."""
    for number in numbers:
        said = predict(world(number, size))
        if said["analytic_error"] > USELESS or starts(number, size) > 1.0:
            continue
        lost = said["analytic_error"] * world(number, size).horizon / said["failures_analytic"]
        for column, (relative, absolute) in ORDER.items():
            expected = said.get(f"{column}_analytic", 0.0)
            within = relative * expected + absolute
            if column.endswith("_s_per_failure"):
                within += lost
            yield _claim(number, size, column, expected, within)
