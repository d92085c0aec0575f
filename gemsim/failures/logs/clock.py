"""Steps of a rate as a clock: operational time runs as fast as the rate, so that on it events come evenly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.logs.steps import STRICT, Steps, find_steps

Floats = NDArray[np.float64]
Drift = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Clock:
    """Factors on a rate, each from its hour on; () is an even rate. Their mean over the window is 1."""

    drift: Drift
    window_h: float

    @classmethod
    def of(cls, steps: Steps) -> Clock:
        """The clock of found steps; an empty stretch gets the rate of half an event, for no rate is zero."""
        window = math.fsum(steps.lengths_h)
        raw = [max(n, 0.5) / length for n, length in zip(steps.counts, steps.lengths_h, strict=True)]
        return cls(_normal(tuple(zip(steps.starts_h, raw, strict=True)), window), window)

    def factor(self, time_h: Floats) -> Floats:
        """The factor at each time."""
        if not self.drift:
            return np.ones(len(time_h))
        starts, factors = _arrays(self.drift)
        chosen: Floats = factors[np.searchsorted(starts, time_h, side="right") - 1]
        return chosen

    def operational(self, time_h: Floats) -> Floats:
        """The time this clock shows."""
        if not self.drift:
            return time_h
        starts, factors = _arrays(self.drift)
        passed = np.concatenate([[0.0], np.cumsum(np.diff(starts) * factors[:-1])])
        at = np.searchsorted(starts, time_h, side="right") - 1
        shown: Floats = passed[at] + (time_h - starts[at]) * factors[at]
        return shown

    def real(self, shown: float) -> float:
        """The time at which this clock shows `shown` hours."""
        if not self.drift:
            return shown
        starts, factors = _arrays(self.drift)
        passed = np.concatenate([[0.0], np.cumsum(np.diff(starts) * factors[:-1])])
        at = int(np.searchsorted(passed, shown, side="right")) - 1
        return float(starts[at] + (shown - passed[at]) / factors[at])

    def refined(self, time_h: Floats, window_h: float) -> Clock:
        """This clock with the further steps that the events of one class show on it, by the strict penalty."""
        own = Clock.of(find_steps(self.operational(time_h), window_h, strictness=STRICT))
        if not own.drift:
            return self
        knots = sorted({*(start for start, _ in self.drift), *(self.real(start) for start, _ in own.drift)})
        here = np.array(knots)
        both = self.factor(here) * own.factor(self.operational(here) + 1e-9)
        return Clock(_normal(tuple(zip(knots, both.tolist(), strict=True)), window_h), window_h)


def _normal(drift: Drift, window: float) -> Drift:
    """Mean factor 1 over the window; () for a single stretch."""
    if len(drift) <= 1:
        return ()
    starts, factors = _arrays(drift)
    mean = float((np.diff(np.append(starts, window)) * factors).sum()) / window
    return tuple((start, factor / mean) for start, factor in drift)


def _arrays(drift: Drift) -> tuple[Floats, Floats]:
    return np.array([start for start, _ in drift]), np.array([factor for _, factor in drift])
