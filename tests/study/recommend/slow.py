"""The screening point by point: each point a scenario of its own, for tests that need no speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gemsim.analytic.run import predict
from gemsim.errors import NotCovered
from gemsim.protection.checkpoint import Checkpoint
from gemsim.scenario import Scenario
from gemsim.scenario.intervals import timeline


def screen(
    scenario: Scenario, *, every: Mapping[int, Any], spares: Any = None, one_by_one: bool = True
) -> dict[str, Any]:
    """As `analytic.screen.screen`; 0 keeps the interval that the structure was built with."""
    nodes = np.asarray(scenario.spare_nodes if spares is None else spares)
    names = list(every)
    *steps, count = np.broadcast_arrays(*(np.asarray(every[name]) for name in names), nodes)
    found: dict[str, Any] = {"reason": np.full(count.shape, "", dtype=object)}
    for place in np.ndindex(count.shape):
        given = {name: int(one[place]) for name, one in zip(names, steps, strict=True)}
        one = _varied(scenario, given, int(count[place]))
        try:
            numbers: dict[str, Any] = {k: v for k, v in predict(one).items() if isinstance(v, float)}
        except NotCovered as error:
            found["reason"][place], numbers = error.reason, {}
        numbers |= {f"every_{t.number}": float(t.every) for t in one.tiers if isinstance(t, Checkpoint)}
        for name, value in numbers.items():
            found.setdefault(name, np.full(count.shape, np.nan))[place] = value
    return found


def _varied(scenario: Scenario, every: Mapping[int, int], spares: int) -> Scenario:
    tiers = tuple(
        replace(t, every=every[t.number]) if isinstance(t, Checkpoint) and every.get(t.number) else t
        for t in scenario.tiers
    )
    plan = replace(scenario.fleet, spares=replace(scenario.fleet.spares, hot=spares))
    return replace(scenario, tiers=tiers, timeline=timeline(scenario.platform, tiers), fleet=plan)
