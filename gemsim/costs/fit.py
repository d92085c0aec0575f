"""Seconds over bytes: t = t0 + bytes / bandwidth through the medians of what was timed, with what the line misses.

Plain arithmetic with exact sums, rounded to six digits, so that a refit on another machine gives the same text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, fsum

BAND = (0.05, 0.95)  # the band of a fit holds the times between these quantiles


@dataclass(frozen=True, slots=True)
class Line:
    """The fit. `quick` and `slow` times the fitted seconds are the band; `residual` is of the medians, relative."""

    t0: float
    bandwidth: float
    quick: float
    slow: float
    residual: float
    samples: int

    def seconds(self, moved: float) -> float:
        """The fitted time of `moved` bytes."""
        return self.t0 + moved / self.bandwidth


def fit(timed: Mapping[int, Sequence[float]], *, launch: float) -> Line:
    """The line through `timed`: bytes moved -> seconds of every repeat.

    Least squares of the relative error, so that small sizes count as much as large ones. With one size alone t0 is
    `launch`, at most half of the time.
    """
    points = [(moved, quantile(seconds, 0.5)) for moved, seconds in sorted(timed.items())]
    t0, per_byte = _coefficients(points, launch)
    t0, bandwidth = digits(t0), digits(1.0 / per_byte)
    misses = [second / (t0 + moved / bandwidth) for moved, seconds in timed.items() for second in seconds]
    return Line(
        t0,
        bandwidth,
        digits(min(1.0, quantile(misses, BAND[0]))),
        digits(max(1.0, quantile(misses, BAND[1]))),
        digits(max(abs(median / (t0 + moved / bandwidth) - 1.0) for moved, median in points)),
        len(misses),
    )


def _coefficients(points: Sequence[tuple[int, float]], launch: float) -> tuple[float, float]:
    """t0 and seconds per byte, neither negative: where the best line has one below 0, the best without it."""
    if len(points) == 1:
        moved, median = points[0]
        t0 = min(launch, median / 2)
        return t0, (median - t0) / moved
    weights = [1.0 / median**2 for _, median in points]
    total = fsum(weights)
    mean_x = fsum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    mean_y = fsum(w * y for w, (_, y) in zip(weights, points, strict=True)) / total
    spread = fsum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    slope = fsum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points, strict=True)) / spread
    t0 = mean_y - slope * mean_x
    if slope > 0 and t0 >= 0:
        return t0, slope
    through_zero = fsum(w * x * y for w, (x, y) in zip(weights, points, strict=True))
    return 0.0, through_zero / fsum(w * x * x for w, (x, _) in zip(weights, points, strict=True))


def quantile(values: Sequence[float], share: float) -> float:
    """The `share` quantile, linear between the sorted values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low, high = floor(place), ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def digits(value: float, count: int = 6) -> float:
    """Rounded to `count` significant digits."""
    return float(f"{value:.{count}g}")
