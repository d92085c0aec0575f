"""R16, R17 and R19: memory errors of two fleets, as the failure injector draws them and the row remapper takes them.

Delta's counts are inputs, so its rows test the injector, and whether the remap budget explains the failed remaps. Of
Summit's, some are what its mix was fitted to and the others are judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.memory import Geometry, RemapBook, strike_rows
from gemsim.failures.trace import Event, Trace, draw_trace
from gemsim.scenario import Scenario
from gemsim.spec import catalog
from gemsim.spec.published import Inputs
from gemsim.study.validate.checks import Engine, Ours, Rows
from gemsim.study.validate.fleet_jobs import job, seconds
from gemsim.study.validate.simulate import SEED

HOUR = 3600.0
CENTRAL = (0.025, 0.975)
DELTA = {"R16": ("delta-h100-memory", "h100-80gb"), "R17": ("delta-a100-memory", "a100-40gb")}
Floats = NDArray[np.float64]


def rows(inputs: Inputs, *, quick: bool) -> Rows:
    """Delta and Summit; `quick` takes fewer replications."""
    found: Rows = {}
    for (name, (mix, gpu)), gpus, window in zip(DELTA.items(), inputs.delta_gpus, inputs.delta_window, strict=True):
        scenario = job(gpus=int(gpus), failures=f"{{mix: {mix}}}", run__horizon=seconds(window))
        found |= {f"{name}.{key}": one for key, one in _delta(scenario, catalog.gpu(gpu).geometry, quick).items()}
    return found | {f"R19.{key}": one for key, one in _summit(inputs, quick).items()}


def _delta(scenario: Scenario, geometry: Geometry, quick: bool) -> Rows:
    replications = 200 if quick else 1000
    sample = np.array([_errors(scenario, geometry, number) for number in range(replications)], dtype=float)
    (kind,) = scenario.classes
    events = kind.rate * scenario.horizon
    full = RemapBook(geometry).budget.bank
    refused = events * sum(share for rows, share in kind.rows if rows > full)
    drawn = sample[:, 0].sum()
    contained = Engine(
        float(sample[:, 1].sum() / drawn), sqrt(kind.contained * (1.0 - kind.contained) / drawn), kind.contained
    )
    budget = f"refused is a burst of more than {full} rows, the spares of a bank (NVIDIA, RMA policy thresholds)"
    return {
        "count": Ours(events, engine=_engine(sample[:, 0], events), note="the input is the count"),
        "contained": Ours(kind.contained, engine=contained, note="the input is the share"),
        "remapped": Ours(events - refused, _interval(sample[:, 0] - sample[:, 2])),
        "refused": Ours(refused, _interval(sample[:, 2]), engine=_engine(sample[:, 2], refused), note=budget),
    }


def _errors(scenario: Scenario, geometry: Geometry, number: int) -> tuple[int, int, int]:
    """Errors, contained ones and those with a row that no spare was left for, in one window. Each GPU is reset before
    its next error."""
    trace = draw_trace(scenario.classes, horizon=scenario.horizon, seed=SEED, replication=number)
    book = RemapBook(geometry)
    contained = refused = 0
    for event in trace.wall:
        kind, mark = scenario.classes[event.index], partial(trace.mark, event)
        contained += mark("contained") < kind.contained
        refused += strike_rows(book, event.unit, kind.rows_hit(mark("rows")), mark).refused > 0
        if book.serve(event.unit):
            book.replaced(event.unit)
    return len(trace.wall), contained, refused


def _summit(inputs: Inputs, quick: bool) -> Rows:
    """Counts by GPU and gaps of one GPU, each in windows of the fitted mix."""
    gpus = int(inputs.summit_gpus)
    scenario = job(
        gpus=8,
        failures="{mix: summit-dbe}",
        cluster__gpus=gpus,
        cluster__gpus_per_node=6,
        workload__parallel={"tensor": 6, "data": gpus // 6, "shard": "optimizer"},
        run__horizon=seconds(inputs.summit_window),
    )
    replications = 100 if quick else 400
    sample = np.array([_clusters(scenario, inputs.summit_apart, number) for number in range(replications)])
    total = sum(kind.rate for kind in scenario.classes) * scenario.horizon
    names = ("errors", "gpus", "several", "worst", "gap", "apart")
    found = {
        name: Ours(float(column.mean()), _interval(column), engine=_engine(column, None))
        for name, column in zip(names, sample.T, strict=True)
    }
    found["errors"] = Ours(total, _interval(sample[:, 0]), engine=_engine(sample[:, 0], total))
    return found


def _clusters(scenario: Scenario, apart: float, number: int) -> tuple[float, ...]:
    """One window: errors, GPUs with any, GPUs with several, share of the worst, median gap of one GPU (s), and errors
    that no other of the same GPU precedes within `apart` s."""
    trace = draw_trace(scenario.classes, horizon=scenario.horizon, seed=SEED, replication=number)
    found = sorted((event.unit, event.time) for event in with_followers(trace, scenario.horizon))
    counts = Counter(gpu for gpu, _ in found)
    gaps = [later[1] - one[1] for one, later in pairwise(found) if one[0] == later[0]]
    independent = len(counts) + sum(gap > apart for gap in gaps)
    several = sum(count > 1 for count in counts.values())
    gap = float(np.median(gaps)) if gaps else scenario.horizon
    return len(found), len(counts), several, max(counts.values()) / len(found), gap, independent


def with_followers(trace: Trace, horizon: float) -> Iterator[Event]:
    """All failures of a trace and those that follow them on the same device, if none is ever replaced."""
    for event in trace.wall:
        following: Event | None = event
        while following is not None and following.time < horizon:
            yield following
            following = trace.follower(following, following.unit, following.time)


def _engine(sample: Floats, exact: float | None) -> Engine:
    return Engine(float(sample.mean()), float(sample.std(ddof=1)) / sqrt(len(sample)), exact)


def _interval(sample: Floats) -> tuple[float, float]:
    low, high = np.quantile(sample, CENTRAL, method="inverted_cdf")
    return float(low), float(high)
