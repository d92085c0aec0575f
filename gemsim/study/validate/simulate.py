"""The engine's long-run ETTR of a scenario, to set beside its exact renewal form.

One idea: what a run gains between the end of a warm-up and its horizon, less what its own number of failures explains.
So neither the new start nor unsaved work at the end count, and most of the noise is gone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.analytic.run import predict
from gemsim.engine import run as engine
from gemsim.failures.laws import lifetime
from gemsim.failures.trace import draw_trace
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point
from gemsim.study.validate.checks import Engine

WARM_UP = 0.25  # share of the horizon
SEED = 20_231
QUICK, FULL = (40, 30), (60, 240)  # replications, failures in each


def scenario_of(text: str, changes: dict[str, Any] | None = None) -> Scenario:
    """The scenario of the text of a study, with some keys (dotted paths) changed."""
    return build(resolve_point(parse_study(text.encode(), "validate.yaml"), changes or {}))


def long_run(scenario: Scenario, *, quick: bool, seed: int = SEED) -> Engine:
    """Simulate long enough to tell, and set the exact form beside it (None where the twin's is not exact)."""
    said = predict(scenario)
    replications, failures = QUICK if quick else FULL
    rate = sum(kind.rate for kind in scenario.classes)
    sample = ettr_sample(
        replace(scenario, horizon=failures / rate / (1.0 - WARM_UP)), replications=replications, seed=seed
    )
    error = float(sample.std(ddof=1)) / math.sqrt(replications)
    exact = float(said["ettr_analytic"]) if said["analytic_kind"] == "exact" else None
    return Engine(float(sample.mean()), error, exact)


def ettr_sample(scenario: Scenario, *, replications: int, seed: int) -> NDArray[np.float64]:
    """Unbiased draws of the long-run ETTR, one for each replication of a job of exponential classes.

    The number of failures of each class after the warm-up, whose mean is known, is a control variate with the closed
    form's slope. (Rates are therefore not judged here.) Of classes that fail in running time alone it is not known.
    """
    slopes = _slopes(scenario)
    warm_up = WARM_UP * scenario.horizon
    early = replace(scenario, horizon=warm_up)
    span = scenario.horizon - warm_up
    means = np.array([kind.rate * span for kind in scenario.classes])
    values = []
    for number in range(replications):
        late = engine.simulate(scenario, seed=seed, replication=number)["productive_s"]
        gained = late - engine.simulate(early, seed=seed, replication=number)["productive_s"]
        trace = draw_trace(scenario.classes, horizon=scenario.horizon, seed=seed, replication=number)
        counts = np.zeros(len(means))
        for event in trace.wall:
            counts[event.index] += event.time >= warm_up and event.unit < scenario.classes[event.index].units
        values.append(gained / span - float(slopes @ (counts - means)))
    return np.array(values)


def _slopes(scenario: Scenario) -> NDArray[np.float64]:
    """Change of the predicted ETTR by one failure more of each class."""
    base = predict(scenario)["ettr_analytic"]
    slopes = []
    for index, kind in enumerate(scenario.classes):
        if kind.exposure == "running":
            slopes.append(0.0)
            continue
        law = lifetime("exponential", kind.lifetime.mean / 1.02)
        more = (*scenario.classes[:index], replace(kind, lifetime=law), *scenario.classes[index + 1 :])
        changed = predict(replace(scenario, classes=more))["ettr_analytic"]
        slopes.append((changed - base) / (0.02 * kind.rate * (1.0 - WARM_UP) * scenario.horizon))
    return np.array(slopes)
