"""Does the model make logs like the one it was fitted to? Simulate it over the same window and nodes, and compare.

What is compared are the statistics of the system, none of which the model was given: MTBF, Weibull shape of the gaps
and Fano factor, for the starts as logged and with joint starts as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.classes import Batch, FailureClass, Frailty, Recurrence
from gemsim.failures.laws import duration, lifetime
from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.model import Model, Source
from gemsim.failures.logs.statistics import fano, gap_shape, joint_starts
from gemsim.failures.streams import generator
from gemsim.failures.trace import Event, Trace, draw_trace

Floats = NDArray[np.float64]

HOUR = 3600.0
FEWEST = 100
LEVEL = 0.95
_ROWS = ("as logged", "joint starts as one")
_NAMES = ("mtbf_h", "gap_shape", "fano_24h")


@dataclass(frozen=True, slots=True)
class Check:
    """One statistic of the data beside the central 95 % of the simulated logs."""

    row: str
    name: str
    data: float
    low: float
    median: float
    high: float
    place: float  # share of the simulated logs below the data

    @property
    def holds(self) -> bool:
        """The data lie within; so does a statistic that the window is too short to have."""
        return math.isnan(self.data) or self.low <= self.data <= self.high


def classes_of(model: Model, *, nodes: int, named: bool = True) -> tuple[FailureClass, ...]:
    """The model as the failure classes of `nodes` nodes (one clock for the job where the log names no nodes)."""
    return tuple(_class(source, nodes, named) for source in model.sources)


def round_trip(log: Log, model: Model, *, replications: int, seed: int) -> tuple[Check, ...]:
    """The checks of `model` against `log` over `replications` simulated logs, at least 100."""
    count = max(replications, FEWEST)
    data = _statistics(log.time_h, log.window_h, model.joint_h)
    drawn = np.array([
        _statistics(simulate(log, model, seed=seed, replication=number), log.window_h, model.joint_h)
        for number in range(count)
    ])  # fmt: skip
    checks = []
    for column, value in enumerate(data):
        values = drawn[:, column]
        values = values[~np.isnan(values)]
        tails = [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2]
        # Values of the sample themselves: a log without an event has an infinite MTBF, which cannot be interpolated.
        low, middle, high = np.quantile(values, tails, method="inverted_cdf") if len(values) else [math.nan] * 3
        place = float((values < value).mean() + (values == value).mean() / 2) if len(values) else math.nan
        checks.append(
            Check(_ROWS[column // 3], _NAMES[column % 3], value, float(low), float(middle), float(high), place)
        )
    return tuple(checks)


def simulate(log: Log, model: Model, *, seed: int, replication: int) -> Floats:
    """Starts in hours of one simulated log: its window, its nodes, its resolution."""
    nodes = log.nodes if log.exposure is None else max(1, round(log.node_hours / log.window_h))
    classes = classes_of(model, nodes=nodes, named=log.named)
    horizon = log.window_h * HOUR
    trace = draw_trace(classes, horizon=horizon, seed=seed, replication=replication)
    events = [*trace.wall, *_followers(trace, horizon)]
    times = np.array([event.time for event in events]) / HOUR
    index = np.array([event.index for event in events], dtype=np.int64)
    for number, source in enumerate(model.sources):
        if source.spread_sigma > 0:
            stream = generator(seed, replication, source.name, "spread")
            times[index == number] = _spread(times[index == number], source, stream)
    if log.tick_h > 0:
        # The log's grid need not begin at its window: starts are rounded on the clock that they were written on.
        times = np.round((times + log.begin_h) / log.tick_h) * log.tick_h - log.begin_h
    inside: Floats = np.sort(times[(times >= 0) & (times <= log.window_h)])
    return inside


def _followers(trace: Trace, horizon: float) -> list[Event]:
    """Failures that follow others on their node, and those that follow these."""
    found: list[Event] = []
    recurring = {index for index, kind in enumerate(trace.classes) if kind.recurrence is not None}
    queue = [event for event in trace.wall if event.index in recurring]
    while queue:
        event = queue.pop()
        after = trace.follower(event, event.unit, event.time)
        if after is not None and after.time < horizon:
            found.append(after)
            queue.append(after)
    return found


def _spread(times: Floats, source: Source, stream: np.random.Generator) -> Floats:
    """Delay all but the first of each joint start."""
    times = np.sort(times)
    first = np.concatenate([[True], np.diff(times) > 0])[: len(times)]
    mu = math.log(source.spread_mean_h) - source.spread_sigma**2 / 2
    delays = np.exp(mu + source.spread_sigma * stream.standard_normal(len(times)))
    later: Floats = np.where(first, times, times + delays)
    return later


def _statistics(times: Floats, window_h: float, joint_h: float) -> list[float]:
    times = np.sort(times)
    groups = joint_starts(times, joint_h)
    starts = times[np.unique(groups, return_index=True)[1]]
    return [
        value
        for one in (times, starts)
        for value in (window_h / len(one) if len(one) else math.inf, gap_shape(one), fano(one, window_h))
    ]


def _class(source: Source, nodes: int, named: bool) -> FailureClass:
    none = duration("fixed", 0.0)
    units = nodes if named else 1
    mean = HOUR / source.rate / (1 if named else nodes)
    gap = lifetime("weibull", source.gap_mean_h * HOUR, source.gap_shape) if source.again else None
    return FailureClass(
        name=source.name, scope="node", lifetime=lifetime("exponential", mean), clock="node" if named else "job",
        units=units, spare_units=0, after_repair="as_new", exposure="wall", detect=none, contained=0.0,
        rows=((1, 1.0),), rows_to_pages="adjacent_pages", lands="used", action="replace", uncontained_action="reset",
        process_survives=False, repair=none, evict_on_detect=True, devices=units,
        frailty=None if math.isinf(source.gamma_shape) else Frailty("gamma", shape=source.gamma_shape),
        drift=tuple((start * HOUR, factor) for start, factor in source.steps),
        batch=Batch(source.sizes, "cluster", units) if source.sizes else None,
        recurrence=Recurrence(source.again, gap) if gap is not None else None,
    )  # fmt: skip
