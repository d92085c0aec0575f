"""What happened beside what was predicted, and which input has changed.

Each number has its own 95 % prediction interval. All of them together are judged by intervals of 1 - 0.05 / number
(Bonferroni), of which all hold it with at least 95 % when the prediction is right. An input has changed where its two
parts differ at 0.05 / number of inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from scipy.stats import binomtest, mannwhitneyu

from gemsim.study.backtest.account import STANDS, Account
from gemsim.study.backtest.predict import Prediction, interval

LEVEL = 0.05
ROUNDING = 1e-9  # share of the wall time


@dataclass(frozen=True, slots=True)
class Line:
    """One number: as a share of the wall time (or a count), predicted with intervals, and as it was."""

    name: str
    predicted: float
    lo: float
    hi: float
    lo_all: float  # of the wider interval by which all are judged together
    hi_all: float
    actual: float

    @property
    def inside(self) -> bool:
        """Whether it lies in its own 95 % interval."""
        return self.lo - ROUNDING <= self.actual <= self.hi + ROUNDING

    @property
    def inside_all(self) -> bool:
        """Whether it lies in the interval by which all are judged."""
        return self.lo_all - ROUNDING <= self.actual <= self.hi_all + ROUNDING


@dataclass(frozen=True, slots=True)
class Change:
    """One input in the first part and in the rest; `p`: of a difference as large as this one by chance."""

    name: str
    unit: str
    before: float
    after: float
    p: float
    found: bool

    @property
    def ratio(self) -> float:
        """After over before."""
        return self.after / self.before if self.before else math.nan


def judge(predicted: Prediction, actual: Account, groups: dict[str, tuple[str, ...]]) -> list[Line]:
    """Goodput, number of failures, and the groups of categories that happened or were predicted."""
    shares = {name: _sum(predicted.seconds, group) / predicted.wall for name, group in groups.items()}
    judged = actual.judged
    seen = {name: math.fsum(judged[one] for one in group) / predicted.wall for name, group in groups.items()}
    told = [name for name in groups if seen[name] > ROUNDING or shares[name].max() > 0.0]
    numbers = [(name, shares[name], seen[name]) for name in told]
    numbers.append(("failures", predicted.failures, float(len(actual.failures))))
    return [_line(name, values, was, 1.0 - LEVEL / len(numbers)) for name, values, was in numbers]


def _sum(seconds: object, group: Sequence[str]) -> np.ndarray:
    assert isinstance(seconds, dict)
    found: np.ndarray = np.sum([seconds[name] for name in group], axis=0)
    return found


def _line(name: str, values: np.ndarray, actual: float, share: float) -> Line:
    lo, hi = interval(values, 1.0 - LEVEL)
    return Line(name, float(values.mean()), lo, hi, *interval(values, share), actual)


def changes(before: Account, after: Account) -> list[Change]:
    """Each input of the two parts, beside each other, the surest difference first."""
    tests = [_rates(before, after)]
    stops = [[stop for stop in one.failures if stop.over] for one in (before, after)]
    tests.append(_times("time of a stop", "s", *([stop.stood for stop in one] for one in stops)))
    tests += [_times(_STAGES[name], "s", *([stop.seconds[name] for stop in one] for one in stops)) for name in STANDS]
    tests.append(_times("work lost at a failure", "s", *([stop.lost for stop in one] for one in stops)))
    tests.append(_times("time of a save", "s", before.saves, after.saves))
    tests.append(_times("steps from save to save", "", before.every, after.every))
    tests.append(_times("step", "s", *([s / n for n, s in one.steps] for one in (before, after))))
    known = [one for one in tests if one is not None]
    bound = LEVEL / len(known) if known else LEVEL
    judged = [Change(name, unit, was, now, p, p < bound) for name, unit, was, now, p in known]
    return sorted(judged, key=lambda one: one.p)


_STAGES = {"detection": "from failure to restart", "restart": "restart", "recovery": "restore"}
_Test = tuple[str, str, float, float, float]


def _rates(before: Account, after: Account) -> _Test | None:
    """Two Poisson counts: given their sum, the second is binomial (Przyborowski and Wilenski 1940)."""
    first, second = len(before.failures), len(after.failures)
    if first + second == 0 or before.up <= 0.0 or after.up <= 0.0:
        return None
    p = binomtest(second, first + second, after.up / (before.up + after.up)).pvalue
    return "failures per day of work", "", 86400 * first / before.up, 86400 * second / after.up, float(p)


def _times(name: str, unit: str, before: Sequence[float], after: Sequence[float]) -> _Test | None:
    """Two samples by ranks (Mann and Whitney 1947), with their means; medians where a few long ones rule the mean."""
    if len(before) < 2 or len(after) < 2 or max(*before, *after) == 0.0:
        return None
    rounded = [np.round(np.asarray(one, dtype=np.float64), 6) for one in (before, after)]
    if np.ptp(np.concatenate(rounded)) <= 1e-6 * float(np.abs(rounded[0]).max()):
        return name, unit, float(np.mean(before)), float(np.mean(after)), 1.0
    p = float(mannwhitneyu(*rounded, alternative="two-sided").pvalue)
    middle = median if max(*before, *after) > 10.0 * float(np.mean(np.concatenate(rounded))) else np.mean
    return name, unit, float(middle(before)), float(middle(after)), p
