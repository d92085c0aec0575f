"""The mean of independent values of which most are zero: its interval, and when a rare event has been seen enough.

One idea: each value is an unbiased weight of one trial, so the mean is unbiased whatever the weights, and only their
spread decides how sure it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

from scipy.special import chdtri

from gemsim.results.estimate import CONFIDENCE, FEW_EVENTS, t_quantile

BLOCK = 250  # trials between two looks at the interval
GROWTH = 0.25  # of all trials so far, where that is more: few looks, so that stopping early flatters little


class Mean(NamedTuple):
    """A mean with its 95 % interval, the trials behind it, those that were not zero, and what ended them."""

    value: float
    lo: float
    hi: float
    events: float  # effective number of those
    trials: int
    stopped_by: str  # precision | time | trials


@dataclass(slots=True)
class Sums:
    """Running sums over trials; `bound`: the most that one can be."""

    bound: float
    trials: int = 0
    total: float = 0.0
    squares: float = 0.0
    largest: float = 0.0

    def add(self, value: float) -> None:
        """One trial."""
        self.trials += 1
        if value:
            self.total += value
            self.squares += value * value
            self.largest = max(self.largest, value)

    @property
    def events(self) -> float:
        """Values that are not zero, as if all weighed the same: (sum)^2 / sum of squares. Light ones hardly count."""
        return self.total**2 / self.squares if self.squares else 0.0

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Interval of the mean.

        No event: 0 and what would have shown one with that confidence, were each as heavy as it can be. Fewer than 30:
        the gamma interval of Fay and Feuer (Statistics in Medicine 16, 1997) for a weighted sum of Poisson counts with
        the largest weight seen, which is that of Garwood for equal weights. From 30 on Student's t on the logarithm of
        the mean, by the spread of all trials. A cause that was never met is in none of the last two.
        """
        n, tail = self.trials, (1.0 - confidence) / 2.0
        if n == 0:
            return 0.0, self.bound
        if not self.total:
            return 0.0, self.bound * -math.expm1(math.log(1.0 - confidence) / n)
        if self.events >= FEW_EVENTS:
            mean = self.total / n
            spread = max(0.0, self.squares - self.total * mean) / (n - 1)
            factor = math.exp(t_quantile(n, confidence) * math.sqrt(spread / n) / mean)
            return mean / factor, min(mean * factor, self.bound)
        lo = self.squares / (2.0 * self.total) * float(chdtri(2.0 * self.events, 1.0 - tail))
        total, squares = self.total + self.largest, self.squares + self.largest**2
        hi = squares / (2.0 * total) * float(chdtri(2.0 * total**2 / squares, tail))
        return lo / n, min(hi / n, self.bound)


def weighted_mean(
    draw: Callable[[int], float],
    *,
    bound: float,
    precision: float,
    most_seconds: float,
    most_trials: int = 10**9,
) -> Mean:
    """The mean of `draw(0)`, `draw(1)`, ..., independent values from 0 to `bound`.

    Goes on until the interval's half-width is at most `precision` of the value and at least 30 values are not zero
    (`Sums.events`), or for `most_seconds` of wall time. By precision, or by `most_trials`, the result is the same on
    every machine; by time it is not.
    """
    sums, begun = Sums(bound), monotonic()
    look = BLOCK
    stopped_by = "trials"
    while sums.trials < most_trials:
        sums.add(draw(sums.trials))
        if sums.trials >= look:
            look = sums.trials + max(BLOCK, int(GROWTH * sums.trials))
            if enough(sums, precision):
                stopped_by = "precision"
                break
        if monotonic() - begun > most_seconds:
            stopped_by = "time"
            break
    lo, hi = sums.interval()
    value = sums.total / sums.trials if sums.trials else math.nan
    return Mean(value, lo, hi, sums.events, sums.trials, stopped_by)


def enough(sums: Sums, precision: float) -> bool:
    """Both conditions: an interval alone looks narrow by chance when few events have been met."""
    lo, hi = sums.interval()
    return sums.events >= FEW_EVENTS and (hi - lo) / 2.0 <= precision * sums.total / sums.trials
