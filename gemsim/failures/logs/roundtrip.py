"""Does the model make logs like the one it was fitted to? Simulate it over the same window and nodes, and compare.

What is compared are the statistics of the system, none of which the model was given: MTBF, Weibull shape of the gaps
and Fano factor, for the starts as logged and with joint starts as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.classes import Batch, FailureClass, Frailty, Recurrence
from gemsim.failures.laws import Duration, duration, lifetime
from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.model import Model, Source
from gemsim.failures.logs.repair import Repair
from gemsim.failures.logs.statistics import fano, gap_shape, joint_starts
from gemsim.failures.streams import generator
from gemsim.failures.trace import Event, Trace, draw_trace

Floats = NDArray[np.float64]

HOUR = 3600.0
FEWEST = 100
LEVEL = 0.95
JOINED = "joint starts as one"
_ROWS = ("as logged", JOINED)
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
    events = struck(trace, horizon)
    times = np.array([event.time for event in events]) / HOUR
    index = np.array([event.index for event in events], dtype=np.int64)
    for number, source in enumerate(model.sources):
        if source.spread_sigma > 0:
            stream = generator(seed, replication, source.name, "spread")
            times[index == number] = _spread(times[index == number], source, stream)
    if log.tick_h > 0:
        # The log's grid need not begin at its window: starts are rounded to the grid that its first start lies on.
        times = np.round((times - log.time_h[0]) / log.tick_h) * log.tick_h + log.time_h[0]
    inside: Floats = np.sort(times[(times >= 0) & (times <= log.window_h)])
    return inside


def struck(trace: Trace, horizon: float) -> list[Event]:
    """All failures up to `horizon` s where every node comes back to its place, with those that follow others. As in the
    engine, what is bound to a node in repair does not strike it, and a failure that follows waits out its repairs."""
    found: list[Event] = []
    back = dict.fromkeys(range(max(kind.units for kind in trace.classes)), 0.0)  # when each node is in use again
    out = dict.fromkeys(back, 0.0)  # s in repair, to the end of the last one
    queue = [(event.time, number, event, 0.0) for number, event in enumerate(trace.wall)]
    heapify(queue)
    while queue:
        now, _, event, before = heappop(queue)
        node = event.unit
        late = out[node] - before if event.again else 0.0
        if late > 0.0:
            event = event._replace(time=event.time + late)
            heappush(queue, (event.time, len(trace.wall) + len(found), event, out[node]))
            continue
        if event.bound and now < back[node]:
            continue
        kind = trace.classes[event.index]
        found.append(event)
        length = kind.repair.quantile(trace.mark(event, "repair")) if kind.repair.mean else 0.0
        after = trace.follower(event, node, now)
        if after is not None and after.time < horizon:
            heappush(queue, (after.time, len(trace.wall) + len(found), after, out[node]))
        out[node] += max(0.0, now + length - max(now, back[node]))
        back[node] = max(back[node], now + length)
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


def _down(repair: Repair) -> Duration:
    """The law of a source's down times; none where nothing is known."""
    if not repair.kind or repair.mean_h <= 0:
        return duration("fixed", 0.0)
    return duration(repair.kind, repair.mean_h * HOUR, repair.sigma if repair.kind == "lognormal" else None)


def _class(source: Source, nodes: int, named: bool) -> FailureClass:
    none = duration("fixed", 0.0)
    units = nodes if named else 1
    mean = HOUR / source.rate / (1 if named else nodes)
    gap = lifetime("weibull", source.gap_mean_h * HOUR, source.gap_shape) if source.again else None
    return FailureClass(
        name=source.name, scope="node", lifetime=lifetime("exponential", mean), clock="node" if named else "job",
        units=units, spare_units=0, after_repair="as_new", exposure="wall", detect=none, contained=0.0,
        rows=((1, 1.0),), rows_to_pages="adjacent_pages", lands="used", action="replace", uncontained_action="reset",
        process_survives=False, repair=_down(source.repair) if named else none, evict_on_detect=True, devices=units,
        frailty=None if math.isinf(source.gamma_shape) else Frailty("gamma", shape=source.gamma_shape),
        drift=tuple((start * HOUR, factor) for start, factor in source.steps),
        batch=Batch(source.sizes, "cluster", units) if source.sizes else None,
        recurrence=Recurrence(source.again, gap) if gap is not None else None,
    )  # fmt: skip
