"""When the devices of one class fail: Poisson and renewal processes of places, what single devices have beyond them,
batches that start together, and rates that step in time.

Only what fails within the horizon is drawn, so the cost grows with failures and not with devices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.classes import Batch, FailureClass
from gemsim.failures.streams import generator

Floats = NDArray[np.float64]
Drawn = tuple[Floats, NDArray[np.int64]]
Key = tuple[int, int, tuple[str, ...]]
NOTHING: Drawn = (np.empty(0), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Draw:
    """The failures of one class in one replication, drawn in operational time: the clock on which its rate is even."""

    kind: FailureClass
    horizon: float
    seed: int
    replication: int
    stationary: bool

    def of_places(self, use: str, units: int, first: int) -> Drawn:
        """What all devices have in common, by place: those of the job, or those of idle spares (streams apart, so that
        spares never move the job's)."""
        kind = self.kind
        share = 1.0 if kind.frailty is None else kind.frailty.common
        if units == 0 or share == 0.0:
            return NOTHING
        key = (self.seed, self.replication, (kind.name, use))
        if kind.lifetime.kind == "exponential":
            times, which = self._poisson(units, share, key)
        else:
            times, which = _renewals(kind, units, self._even(self.horizon), key, self.stationary)
        return self._real(times), which + first

    def parts(self) -> tuple[tuple[Drawn, bool], ...]:
        """All failures in the order in which they are numbered: more spares only append, so that marks stay. The flag
        says that units are devices, not places."""
        kind = self.kind
        return (
            (self.of_places("job", kind.units, 0), False),
            (self.pending(), True),
            (self.of_devices(), True),
            (self.of_places("spares", kind.spare_units, kind.units), False),
        )

    def of_devices(self) -> Drawn:
        """What single devices have beyond that: one clock after the other on one line, so that more devices append."""
        kind = self.kind
        if kind.frailty is None:
            return NOTHING
        alone = 1.0 if kind.recurrence is None else 1.0 - kind.recurrence.again
        excess = (device_multiples(kind, self.seed, self.replication) - kind.frailty.common) * alone
        span = self._even(self.horizon)
        ends = np.cumsum(excess) * span
        places = _line(ends[-1] / kind.lifetime.mean, self._generator("bound")) * kind.lifetime.mean
        which = np.searchsorted(ends, places, side="right")
        times = (places - ends[which] + excess[which] * span) / excess[which]
        return self._real(times), which.astype(np.int64)

    def pending(self) -> Drawn:
        """Failures that follow one from before the run began: without them a stationary fleet would start too quiet."""
        law = self.kind.recurrence
        if law is None or not self.stationary:
            return NOTHING
        stream = self._generator("pending")
        alike = self.kind.frailty is None
        of_job = device_multiples(self.kind, self.seed, self.replication)[: self.kind.units]
        multiples = np.cumsum(of_job)
        total = float(self.kind.units if alike else multiples[-1])
        share = float(law.gap.equilibrium_cdf(self.horizon))
        count = int(stream.poisson(total / self.kind.lifetime.mean * law.again * law.gap.mean * share))
        times = np.sort(np.asarray(law.gap.equilibrium_quantile(stream.random(count) * share), dtype=float))
        if alike:
            return times, stream.integers(self.kind.units, size=count)
        return times, np.searchsorted(multiples, stream.random(count) * total, side="right").astype(np.int64)

    def _generator(self, use: str) -> np.random.Generator:
        return generator(self.seed, self.replication, self.kind.name, use)

    def _poisson(self, units: int, share: float, key: Key) -> Drawn:
        """Superposed exponential clocks; those that start together are several failures at one time."""
        kind, span = self.kind, self._even(self.horizon)
        again = 0.0 if kind.recurrence is None else kind.recurrence.again
        alone = share * (1.0 - again) / kind.lifetime.mean
        batch = kind.batch
        if batch is None:
            times, u = _arrivals(units * alone, span, key)
            return times, np.minimum((u * units).astype(np.int64), units - 1)
        # A domain that is not full has smaller batches, so that more of them start for each of its units.
        full = units // batch.domain * batch.domain
        starts = full / batch.mean
        rest = (units - full) / batch.mean_of(units - full) if units > full else 0.0
        times, u = _arrivals((starts + rest) * alone, span, key)
        at = u * (starts + rest)
        in_full = at * batch.mean if full else np.full(len(at), float(units))
        which = np.where(at < starts, in_full, full + (at - starts) / max(rest, 1e-300) * (units - full))
        return _together(times, np.minimum(which.astype(np.int64), units - 1), units, batch, key)

    def _even(self, real: float) -> float:
        """Operational time at `real` s."""
        if not self.kind.drift:
            return real
        knots, passed = self._clock()
        last = len(knots) - 1
        number = min(int(np.searchsorted(knots, real, side="right")) - 1, last)
        return float(passed[number] + (real - knots[number]) * self.kind.drift[number][1])

    def _real(self, times: Floats) -> Floats:
        """Seconds of the clock at operational times."""
        if not self.kind.drift or not len(times):
            return times
        knots, passed = self._clock()
        number = np.searchsorted(passed, times, side="right") - 1
        factors = np.array([factor for _, factor in self.kind.drift])
        real: Floats = knots[number] + (times - passed[number]) / factors[number]
        return real

    def _clock(self) -> tuple[Floats, Floats]:
        """Where the factor steps, in seconds and in operational time."""
        knots = np.array([start for start, _ in self.kind.drift])
        factors = np.array([factor for _, factor in self.kind.drift])
        return knots, np.concatenate([[0.0], np.cumsum(np.diff(knots) * factors[:-1])])


def device_multiples(kind: FailureClass, seed: int, replication: int) -> Floats:
    """The multiple of the class's rate at which each device of the fleet fails; a larger fleet begins with the same."""
    law = kind.frailty
    if law is None:
        return np.ones(kind.devices)
    stream = generator(seed, replication, kind.name, "frailty")
    if law.kind == "gamma":
        return stream.standard_gamma(law.shape, kind.devices) / law.shape
    return np.where(stream.random(kind.devices) < law.share, law.good * law.multiplier, law.good)


def _line(length: float, stream: np.random.Generator) -> Floats:
    """A Poisson process of rate 1 up to `length`: gaps in sequence, so that a longer one only appends."""
    block = max(16, int(length * 1.25))
    times = np.cumsum(stream.exponential(size=block))
    while times[-1] < length:
        times = np.concatenate([times, times[-1] + np.cumsum(stream.exponential(size=block))])
    return times[times < length]


def _arrivals(rate: float, span: float, key: Key) -> tuple[Floats, Floats]:
    """A Poisson process up to `span`, and a uniform for each of its events."""
    seed, replication, names = key
    gaps = generator(seed, replication, *names, "gaps")
    block = max(16, int(rate * span * 1.25))
    times = np.cumsum(gaps.exponential(size=block)) / rate
    while times[-1] < span:
        times = np.concatenate([times, times[-1] + np.cumsum(gaps.exponential(size=block)) / rate])
    times = times[times < span]
    return times, generator(seed, replication, *names, "device").random(len(times))


def _together(times: Floats, which: NDArray[np.int64], units: int, batch: Batch, key: Key) -> Drawn:
    """Each start with all that it strikes: the unit drawn, and others of its domain, each as likely."""
    seed, replication, names = key
    u = generator(seed, replication, *names, "batch").random(len(times))
    sizes = np.array([batch.size(one) for one in u.tolist()], dtype=np.int64)
    if len(sizes) == 0 or sizes.max() == 1:
        return times, which
    struck: list[tuple[int, list[int]]] = []
    for number in np.flatnonzero(sizes > 1).tolist():
        unit = int(which[number])
        begin = unit // batch.domain * batch.domain
        room = min(batch.domain, units - begin)
        stream = generator(seed, replication, *names, f"batch{number}")
        if room > 1:
            others = stream.choice(room - 1, size=min(int(sizes[number]), room) - 1, replace=False)
            struck.append((number, [begin + (unit - begin + 1 + int(one)) % room for one in others]))
    more_times = np.array([times[number] for number, others in struck for _ in others])
    more = np.array([unit for _, others in struck for unit in others], dtype=np.int64)
    all_times, all_units = np.concatenate([times, more_times]), np.concatenate([which, more])
    order = np.argsort(all_times, kind="stable")
    return all_times[order], all_units[order]


def _renewals(kind: FailureClass, units: int, horizon: float, key: Key, stationary: bool) -> Drawn:
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
