"""Statistical checks that first prove that they could fail.

Each check takes a false-alarm rate `alarm` (the chance that correct code is rejected, a proven bound unless the check
says otherwise) and the smallest error it must `detect`. It raises Underpowered when the sample could miss that error
with more than a 5 % chance, then Rejected when the sample contradicts the claim, and books its alarm; the suite fails
when the sum passes BUDGET.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

BUDGET = 1e-4
ALARM = 5e-7  # of one check: all of the long suite together stay within the budget
MISS = 0.05
"""Largest chance of missing an error of the stated size."""

Sample = Sequence[float] | npt.NDArray[np.float64]


class Underpowered(Exception):
    """The sample is too small to see the stated error: take more, or claim less."""


class Rejected(AssertionError):
    """The sample contradicts the claim."""


class _Tally:
    """Alarm booked so far in this process; `booking` is off while a planted fault is judged."""

    def __init__(self) -> None:
        self.alarm = 0.0
        self.booking = True


_tally = _Tally()


def booked() -> float:
    """False-alarm rate that the checks of this process add up to so far."""
    return _tally.alarm


@contextmanager
def unbooked() -> Iterator[None]:
    """Checks inside book nothing: for checks that are expected to reject, and for tests of the checks themselves."""
    before, _tally.booking = _tally.booking, False
    try:
        yield
    finally:
        _tally.booking = before


def poisson_count(observed: int, mean: float, *, detect: float = 0.05, alarm: float = ALARM) -> None:
    """A count is Poisson(mean); sees a mean off by the share `detect` either way. Exact two-sided tails."""
    from scipy.stats import poisson

    low, high = int(poisson.ppf(alarm / 2, mean)), int(poisson.isf(alarm / 2, mean))
    for shifted in (mean * (1 - detect), mean * (1 + detect)):
        power = poisson.cdf(low - 1, shifted) + poisson.sf(high, shifted)
        _need_power(power, f"a mean of {shifted:.6g}, not {mean:.6g}")
    _judge(low <= observed <= high, alarm, f"count {observed} outside [{low}, {high}] for Poisson({mean:.6g})")


def binomial_count(observed: int, trials: int, share: float, *, detect: float, alarm: float = ALARM) -> None:
    """`observed` of `trials` is binomial(share); sees a share off by `detect` (absolute). Exact two-sided tails."""
    from scipy.stats import binom

    low, high = int(binom.ppf(alarm / 2, trials, share)), int(binom.isf(alarm / 2, trials, share))
    shifts = [shifted for shifted in (share - detect, share + detect) if 0.0 <= shifted <= 1.0]
    if not shifts:
        raise Underpowered(f"no share differs from {share} by {detect}")
    for shifted in shifts:
        power = binom.cdf(low - 1, trials, shifted) + binom.sf(high, trials, shifted)
        _need_power(power, f"a share of {shifted:.6g}, not {share:.6g}")
    _judge(low <= observed <= high, alarm, f"{observed} of {trials} outside [{low}, {high}] for a share of {share:.6g}")


def mean_bounded(
    sample: Sample, expected: float, *, low: float, high: float, detect: float, alarm: float = ALARM
) -> None:
    """The mean of independent values in [low, high] is `expected`; sees it off by `detect` (absolute), for any law.

    The better of Hoeffding (1963) and empirical Bernstein (Maurer and Pontil 2009, theorem 4), each at half the alarm.
    """
    values = np.asarray(sample, dtype=float)
    if values.min() < low or values.max() > high:
        raise Rejected(f"values in [{values.min()}, {values.max()}] leave [{low}, {high}]")
    n, spread = len(values), high - low
    hoeffding = spread * math.sqrt(math.log(4 / alarm) / (2 * n))
    log_term = math.log(8 / alarm)
    bernstein = math.sqrt(2 * values.var(ddof=1) * log_term / n) + 7 * spread * log_term / (3 * (n - 1))
    radius = min(hoeffding, bernstein)
    _need_radius(radius, detect, n)
    off = values.mean() - expected
    _judge(abs(off) <= radius, alarm, f"mean is {off:+.3g} from {expected:.8g}, radius {radius:.3g}")


def ks_uniform(sample: Sample, *, detect: float = 0.05, alarm: float = ALARM) -> None:
    """Values are uniform on [0, 1] (a probability-integral transform); sees a CDF off by `detect` anywhere.

    Dvoretzky-Kiefer-Wolfowitz with Massart's (1990) constant: valid at every sample size.
    """
    values = np.sort(np.asarray(sample, dtype=float))
    n = len(values)
    radius = _dkw(n, alarm)
    _need_radius(radius, detect, n)
    steps = np.arange(n + 1) / n
    gap = float(max((steps[1:] - values).max(), (values - steps[:-1]).max()))
    inside = bool(values[0] >= 0.0 and values[-1] <= 1.0)
    _judge(inside and gap <= radius, alarm, f"CDF off by {gap:.4g}, radius {radius:.4g}, n = {n}")


def same_law(first: Sample, second: Sample, *, detect: float = 0.1, alarm: float = ALARM) -> None:
    """Two independent samples have one law; sees CDFs apart by `detect` anywhere. DKW for each at half the alarm."""
    a, b = np.sort(np.asarray(first, dtype=float)), np.sort(np.asarray(second, dtype=float))
    radius = _dkw(len(a), alarm / 2) + _dkw(len(b), alarm / 2)
    _need_radius(radius, detect, min(len(a), len(b)))
    places = np.concatenate([a, b])
    gap = np.abs(np.searchsorted(a, places, "right") / len(a) - np.searchsorted(b, places, "right") / len(b)).max()
    _judge(bool(gap <= radius), alarm, f"CDFs apart by {gap:.4g}, radius {radius:.4g}")


def mean_two_stage(
    draw: Callable[[int], Sample],
    expected: float,
    *,
    detect: float,
    alarm: float = ALARM,
    slack: float = 10.0,
    within: float = 0.0,
) -> None:
    """The mean of values without bounds is `expected`, or no further from it than `within`; sees it off by `detect`
    (absolute).

    `draw(0)` and, only if that one looks wrong, `draw(1)` give independent samples; rejected when both lie on the same
    side beyond Student's quantile of sqrt(alarm) / `slack`. A tail of 1e-4 can be trusted within a small factor where
    one of 1e-7 cannot: the alarm holds while no one-sided tail at that quantile is heavier than Student's by more than
    slack / sqrt(2) = 7. For exponential values it is 16 times heavier at n = 100, 6 times at 300, 2.5 times at 1,000;
    so skewness / sqrt(n) above 0.12 is refused. An approximation, not a proof: prefer `mean_bounded` where it serves.
    """
    from scipy.stats import norm, skew, t

    scores = []
    for stage in range(2):
        values = np.asarray(draw(stage), dtype=float)
        n = len(values)
        error = float(values.std(ddof=1)) / math.sqrt(n)
        if n < 50 or abs(float(skew(values))) / math.sqrt(n) > 0.12:
            raise Underpowered(f"the mean of {n} values with skewness {skew(values):.2g} is not near enough to normal")
        quantile = float(t.isf(math.sqrt(alarm) / slack, n - 1))
        if detect < within + (quantile + float(norm.isf(MISS / 2))) * error:
            raise Underpowered(f"standard error {error:.3g} is too large to see an error of {detect:.3g}")
        off = float(values.mean()) - expected
        off = math.copysign(max(0.0, abs(off) - within), off)
        scores.append(off / error if error > 0.0 else math.copysign(math.inf, off) if off else 0.0)
        if abs(scores[-1]) <= quantile:
            break
    both = len(scores) == 2 and min(abs(s) for s in scores) > quantile and scores[0] * scores[1] > 0.0
    _judge(not both, alarm, f"mean is {scores} standard errors from {expected:.8g} (limit {quantile:.2f})")


class Claim(NamedTuple):
    """That a mean is `expected` to `within`: `draw(stage)` gives independent samples; sees it off by `detect`."""

    name: str
    draw: Callable[[int], Sample]
    expected: float
    detect: float
    within: float = 0.0


def means_two_stage(claims: Sequence[Claim], *, alarm: float = ALARM) -> None:
    """All these claims at once, each by `mean_two_stage` at its part of the alarm (Bonferroni); tells all that fail."""
    wrong = []
    for claim in claims:
        try:
            mean_two_stage(
                claim.draw, claim.expected, detect=claim.detect, within=claim.within, alarm=alarm / len(claims)
            )
        except Rejected as error:
            wrong.append(f"{claim.name}: {error}")
        except Underpowered as error:
            raise Underpowered(f"{claim.name}: {error}") from None
    if wrong:
        raise Rejected("; ".join(wrong))


def _dkw(n: int, alarm: float) -> float:
    return math.sqrt(math.log(2 / alarm) / (2 * n))


def _need_power(power: float, error: str) -> None:
    if power < 1.0 - MISS:
        raise Underpowered(f"sees {error} with probability {power:.3f} only; {1.0 - MISS} is needed")


def _need_radius(radius: float, detect: float, n: int) -> None:
    """An estimate within `radius` of the truth, with the alarm's confidence, shows any error of twice that."""
    if detect < 2 * radius:
        raise Underpowered(f"{n} values see errors of {2 * radius:.4g} at best, not {detect:.4g}")


def _judge(holds: bool, alarm: float, what: str) -> None:
    if _tally.booking:
        _tally.alarm += alarm
    if not holds:
        raise Rejected(f"{what} (false-alarm rate {alarm:g})")
