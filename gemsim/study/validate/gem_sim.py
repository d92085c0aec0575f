"""GEM's cut as the engine finds it: with GEM and under the baseline on the same failures, beside the closed form."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gemsim.engine.run import simulate
from gemsim.results.estimate import Interval, ratio_interval
from gemsim.scenario import Scenario
from gemsim.study.validate.gem_costs import Cut
from gemsim.study.validate.gem_sets import memory_cut
from gemsim.study.validate.gem_worlds import MEMORY, Assumed, job

SEED = 2026
EVENTS = 72.0  # memory failures expected in a run, as in the 54 days of Llama 3


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulated cut at memory failures and of all lost time, with 95 % intervals, beside the closed form's terms."""

    model: str
    baseline: str
    closed: Cut
    memory: Interval
    everything: Interval
    failures: int


@lru_cache(maxsize=64)
def simulated(model: str, assumed: Assumed, baseline: str, fallback: str, *, replications: int) -> Simulated:
    """Pairs of runs, each on one trace of failures; the horizon is that of 72 memory failures."""
    days = job(model, assumed.plain, fallback, gem=True)
    horizon = EVENTS / sum(kind.rate for kind in days.classes if kind.name == MEMORY)
    ours = job(model, assumed.plain, fallback, gem=True, horizon=horizon)
    base = job(model, assumed.plain, baseline, gem=False, horizon=horizon)
    mine, theirs = (_runs(of, replications) for of in (ours, base))
    return Simulated(
        model=model,
        baseline=baseline,
        closed=memory_cut(model, assumed, baseline, fallback),
        memory=_cut(_at(mine, assumed.classes), _at(theirs, assumed.classes)),
        everything=_cut(_lost(mine), _lost(theirs)),
        failures=sum(_count(row, assumed.classes) for row in mine),
    )


def _runs(of: Scenario, replications: int) -> list[dict[str, Any]]:
    return [simulate(of, seed=SEED, replication=number) for number in range(replications)]


def _by_class(row: dict[str, Any], classes: Collection[str]) -> list[tuple[int, float]]:
    return [(count, lost) for name, (count, lost) in json.loads(row["by_class"]).items() if name in classes]


def _count(row: dict[str, Any], classes: Collection[str]) -> int:
    return sum(count for count, _ in _by_class(row, classes))


def _at(rows: list[dict[str, Any]], classes: Collection[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Seconds lost at failures of these classes in each run; what a run loses goes to the failure that began it."""
    return np.array([sum(lost for _, lost in _by_class(row, classes)) for row in rows])


def _lost(rows: list[dict[str, Any]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """All seconds that were not productive."""
    return np.array([row["wall_s"] - row["productive_s"] for row in rows])


def _cut(ours: np.ndarray[Any, np.dtype[np.float64]], theirs: np.ndarray[Any, np.dtype[np.float64]]) -> Interval:
    """1 - the ratio of the sums, with the jackknife over pairs of runs."""
    ratio = ratio_interval(ours, theirs)
    return Interval(1.0 - ratio.value, 1.0 - ratio.hi, 1.0 - ratio.lo)
