"""Where the recommendation meets the model: the closed forms over arrays and of losses, beside what a sweep uses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gemsim.analytic.losses import losses
from gemsim.analytic.screen import screen
from gemsim.errors import Infeasible, NotCovered
from gemsim.results.estimate import Floats
from gemsim.scenario import Scenario, build, describe
from gemsim.scenario.vary import with_every, with_spares
from gemsim.study.recommend.screen import Tools


def lost_per_run(scenario: Scenario) -> float:
    """Unrecoverable losses per run; NaN where no form holds them, which meets no bound."""
    try:
        return losses(scenario).per_run
    except NotCovered:
        return math.nan


def lost_along(scenario: Scenario, every: Mapping[int, Any], spares: Any) -> Floats:
    """The same at each point, by steps between saves (NaN: a point that cannot be) by number of the tier, and by hot
    spares.

    Where it is the same at the ends of all ranges it is the same within.
    """
    steps = np.column_stack([np.asarray(one, dtype=float).ravel() for one in (*every.values(), spares)])
    able = np.isfinite(steps).all(axis=1)
    rows, place = np.unique(steps[able], axis=0, return_inverse=True)
    found = np.full(len(steps), math.nan)
    if len(rows):
        ends = itertools.product(*({column.min(), column.max()} for column in rows.T))
        corners = [_lost(scenario, tuple(every), corner) for corner in ends]
        alike = all(one == corners[0] for one in corners)
        found[able] = corners[0] if alike else np.array([_lost(scenario, tuple(every), row) for row in rows])[place]
    return found


def _lost(scenario: Scenario, numbers: tuple[int, ...], row: Any) -> float:
    *steps, spares = (int(number) for number in row)
    other = with_spares(scenario, spares - scenario.fleet.spares.nodes + scenario.fleet.spares.hot)
    try:
        return lost_per_run(with_every(other, dict(zip(numbers, steps, strict=True))) if numbers else other)
    except Infeasible:
        return math.nan


TOOLS = Tools(build=build, describe=describe, screen=screen, losses=lost_along)
