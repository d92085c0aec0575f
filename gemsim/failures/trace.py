"""The failures of one replication, marks included: exogenous to every design.

A failure is (class, number); its marks (which device, contained?, region, page, repair time, ...) are uniforms of
streams
of their own, indexed by that number and drawn only when asked for. Only devices that fail within the horizon are
drawn, so the cost grows with failures and not with GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.classes import FailureClass
from gemsim.failures.streams import generator, uniforms

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Event:
    """One failure: when its class's exposure clock shows `time` s, failure `number` of class `index` hits `unit`."""

    time: float
    index: int
    number: int
    unit: int  # clock unit that fired; >= the class's `units` on an idle spare


@dataclass(slots=True)
class Trace:
    """All failures up to `horizon` s on each exposure clock, and their marks on demand."""

    classes: tuple[FailureClass, ...]
    seed: int
    replication: int
    wall: list[Event]
    running: list[Event]
    counts: list[int]
    _marks: dict[tuple[int, str], list[float]] = field(default_factory=dict)

    def mark(self, event: Event, name: str) -> float:
        """The uniform `name` of this failure, the same whether or not anything used it before."""
        key = (event.index, name)
        drawn = self._marks.get(key)
        if drawn is None:
            label = self.classes[event.index].name
            drawn = uniforms(self.seed, self.replication, label, name, count=self.counts[event.index])
            self._marks[key] = drawn
        return drawn[event.number]


def draw_trace(
    classes: Sequence[FailureClass], *, horizon: float, seed: int, replication: int, stationary: bool = True
) -> Trace:
    """Draw every failure of every class up to `horizon` s of its exposure clock."""
    wall: list[Event] = []
    running: list[Event] = []
    counts: list[int] = []
    for index, kind in enumerate(classes):
        times, units = _job_and_spares(kind, horizon=horizon, seed=seed, replication=replication, stationary=stationary)
        counts.append(len(times))
        target = wall if kind.exposure == "wall" else running
        pairs = zip(times.tolist(), units.tolist(), strict=True)
        target.extend(Event(time, index, number, int(unit)) for number, (time, unit) in enumerate(pairs))
    wall.sort(key=lambda event: event.time)
    running.sort(key=lambda event: event.time)
    return Trace(tuple(classes), seed, replication, wall, running, counts)


def _job_and_spares(
    kind: FailureClass, *, horizon: float, seed: int, replication: int, stationary: bool
) -> tuple[Floats, NDArray[np.int64]]:
    """Failures on the job's devices, then those on idle spares (streams apart, so that spares never move the job's)."""
    parts = []
    for units, first, use in ((kind.units, 0, "job"), (kind.spare_units, kind.units, "spares")):
        names = (kind.name, use)
        if units == 0:
            continue
        if kind.lifetime.kind == "exponential":
            times, which = _poisson(kind, units, horizon, (seed, replication, names))
        else:
            times, which = _renewals(kind, units, horizon, (seed, replication, names), stationary)
        parts.append((times, which + first))
    if not parts:
        return np.empty(0), np.empty(0, dtype=np.int64)
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


Key = tuple[int, int, tuple[str, ...]]


def _poisson(kind: FailureClass, units: int, horizon: float, key: Key) -> tuple[Floats, NDArray[np.int64]]:
    """Superposed exponential clocks: gaps in sequence, so that a longer horizon only appends."""
    seed, replication, names = key
    rate = units / kind.lifetime.mean
    gaps = generator(seed, replication, *names, "gaps")
    block = max(16, int(rate * horizon * 1.25))
    times = np.cumsum(gaps.exponential(size=block)) / rate
    while times[-1] < horizon:
        times = np.concatenate([times, times[-1] + np.cumsum(gaps.exponential(size=block)) / rate])
    times = times[times < horizon]
    drawn = generator(seed, replication, *names, "device").random(len(times))
    return times, np.minimum((drawn * units).astype(np.int64), units - 1)


def _renewals(
    kind: FailureClass, units: int, horizon: float, key: Key, stationary: bool
) -> tuple[Floats, NDArray[np.int64]]:
    """One ageing clock per device. First failures within the horizon by a binomial count and inverse transform, then
    each device's next lives until none is left within it."""
    seed, replication, names = key
    law = kind.lifetime
    share = float(law.equilibrium_cdf(horizon) if stationary else law.cdf(horizon))
    first = generator(seed, replication, *names, "first")
    count = int(first.binomial(units, share))
    u = first.random(count) * share
    times = np.asarray(law.equilibrium_quantile(u) if stationary else law.quantile(u), dtype=float)
    which = first.choice(units, size=count, replace=False) if count else np.empty(0, dtype=np.int64)
    ages = _ages_at_failure(kind, times, stationary, first)
    all_times, all_units = [times], [which]
    generation = 0
    while len(times):
        generation += 1
        u = generator(seed, replication, *names, f"life{generation}").random(len(times))
        lives = law.residual_quantile(u, ages) if kind.after_repair == "as_old" else law.quantile(u)
        later = times + np.asarray(lives, dtype=float)
        keep = later < horizon
        ages = (ages + np.asarray(lives, dtype=float))[keep]
        times, which = later[keep], which[keep]
        all_times.append(times)
        all_units.append(which)
    merged, devices = np.concatenate(all_times), np.concatenate(all_units)
    order = np.argsort(merged, kind="stable")
    return merged[order], devices[order].astype(np.int64)


def _ages_at_failure(kind: FailureClass, times: Floats, stationary: bool, stream: np.random.Generator) -> Floats:
    """True age of each device when it first fails: in a stationary fleet the time lived before the run counts too.

    Given the residual life r, P(age > a) = S(a + r) / S(r): the inverse is one uniform.
    """
    if not stationary or kind.after_repair == "as_new":
        return times.copy()
    u = stream.random(len(times))
    before: Floats = np.asarray(kind.lifetime.residual_quantile(u, times), dtype=float)
    return times + before
