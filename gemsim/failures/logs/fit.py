"""The whole analysis of one log: the table of the system, each class, the model, and its round trip."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gemsim.failures.logs.at_once import AtOnce, at_once
from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.fleet import Lives, Nodes, hours_of, lives, spread
from gemsim.failures.logs.model import Model, fit_model, starts_of
from gemsim.failures.logs.repair import Repair, repair_of
from gemsim.failures.logs.roundtrip import FEWEST, Check, round_trip
from gemsim.failures.logs.statistics import Row, joint_starts, poisson_interval, row
from gemsim.failures.logs.steps import STRICT, Steps, find_steps
from gemsim.failures.logs.trace import merged

RUNGS = ((STRICT, 24.0), (1.0, 24.0), (0.5, 24.0), (0.5, 6.0), (0.45, 6.0), (0.4, 6.0), (0.35, 6.0))
"""(penalty of a step / ln(bins), hours of a bin): tried in turn until the round trip holds."""

LARGEST = 20_000
"""Events up to which a model is refined and simulated; more would take minutes."""


@dataclass(frozen=True, slots=True)
class ClassFit:
    """One class of the log (or all): how often, on whom, how long."""

    name: str
    events: int
    rate: float  # per node-hour
    rate_low: float  # exact Poisson 95 %
    rate_high: float
    nodes: Nodes | None  # None where the log names no nodes, or each node is one life
    lives: Lives | None
    repair: Repair


@dataclass(frozen=True, slots=True)
class Analysis:
    """All that `gemsim fit` says of a log."""

    log: Log
    rows: tuple[Row, ...]
    classes: tuple[ClassFit, ...]  # all together first
    steps: Steps  # of the starts with joint ones as one, by the strict penalty
    model: Model
    checks: tuple[Check, ...]
    rung: int  # position in RUNGS
    replications: int
    seed: int
    at_once: AtOnce | None  # nodes down at one time


def analyse(log: Log, *, merge_h: float, simultaneous_h: float, replications: int, seed: int) -> Analysis:
    """Fit everything. Classes and model use the log with equal rows once and, with `merge_h` > 0, without repeats;
    simultaneous starts stay in."""
    used = merged(log, merge_h)
    starts = _starts(used, simultaneous_h)
    twice = "" if log.copies is None else ", equal rows once"
    rows = (
        row("as logged", log.time_h, log.window_h, _counts(log)),
        row(f"same-node repeats merged ({_span(merge_h)}){twice}", used.time_h, log.window_h, _counts(used)),
        row(f"simultaneous starts merged ({_span(simultaneous_h, 'exactly equal')})", starts, log.window_h),
    )
    parts = [("all", used)]
    if len(log.kinds) > 1:
        parts += [(name, used.only(used.kind == number)) for number, name in enumerate(log.kinds)]
    classes = [_class(name, part) for name, part in parts if len(part.time_h)]
    model, checks, rung = _round_trip(used, replications, seed)
    return Analysis(
        log=used, rows=rows, classes=(classes[0], *sorted(classes[1:], key=lambda one: -one.events)),
        steps=find_steps(starts_of(used), log.window_h), model=model, checks=checks, rung=rung,
        replications=max(replications, FEWEST), seed=seed, at_once=at_once(used),
    )  # fmt: skip


def _counts(log: Log) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """Events of each node, where they say how unlike nodes are: not of one that is gone for good at its first."""
    countable = log.named and log.exposure is None and log.nodes > 1 and len(log.time_h) > 1
    return np.bincount(log.node, minlength=log.nodes) if countable else None


def _starts(log: Log, within_h: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """First start of each group of simultaneous ones."""
    groups = joint_starts(log.time_h, within_h)
    chosen: np.ndarray[tuple[int], np.dtype[np.float64]] = log.time_h[np.unique(groups, return_index=True)[1]]
    return chosen


def _span(hours: float, zero: str = "off") -> str:
    if hours <= 0:
        return zero
    return f"{hours * 60:g} min" if hours < 1 else f"{hours:g} h"


def _class(name: str, part: Log) -> ClassFit:
    count = len(part.time_h)
    low, high = poisson_interval(count)
    counts = _counts(part)
    nodes = spread(counts, hours_of(part)) if counts is not None else None
    hours = part.node_hours
    return ClassFit(
        name,
        count,
        count / hours,
        low / hours,
        high / hours,
        nodes,
        lives(part) if part.named else None,
        repair_of(part),
    )


def _round_trip(log: Log, replications: int, seed: int) -> tuple[Model, tuple[Check, ...], int]:
    """The first model whose logs are like this one, from few steps of the rate to many; else the one that misses least.

    Refining stops at the data's own statistics, so that a round trip that holds is a calibration, not a forecast.
    """
    if len(log.time_h) > LARGEST:
        return fit_model(log, recurring=False), (), 0
    best: tuple[tuple[int, int, float], int, Model] | None = None
    for number, (strictness, bin_h) in enumerate(RUNGS):
        model = fit_model(log, strictness=strictness, bin_h=bin_h)
        if best is not None and model.drift == best[2].drift:
            continue
        missed = _missed(round_trip(log, model, replications=FEWEST, seed=seed + 1))
        if best is None or missed < best[0]:
            best = (missed, number, model)
        if missed[:2] == (0, 0):
            break
    assert best is not None
    return best[2], round_trip(log, best[2], replications=replications, seed=seed), best[1]


def _missed(checks: tuple[Check, ...]) -> tuple[int, int, float]:
    """Statistics outside the central 90 % as logged, of all rows, and how far from the middle the worst as logged
    lies. Stricter than the final 95 %, so that the noise of 100 logs does not decide."""
    out = [abs(check.place - 0.5) for check in checks if not math.isnan(check.data)]
    logged = [abs(check.place - 0.5) for check in checks[:3] if not math.isnan(check.data)]
    return sum(one > 0.45 for one in logged), sum(one > 0.45 for one in out), max(logged, default=0.0)


def misses(analysis: Analysis) -> tuple[Check, ...]:
    """The statistics of the data that the simulated logs do not have."""
    return tuple(check for check in analysis.checks if not check.holds)
