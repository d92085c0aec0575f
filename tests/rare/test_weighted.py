"""The interval of weighted values: how often it covers, what zero events say, when it stops."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from gemsim.results.estimate import poisson_interval
from gemsim.results.weighted import Mean, Sums, weighted_mean
from tests.faults import must_reject
from tests.faults import replaced as fault
from tests.rare import test_weighted as this
from tests.rare.vector import chance_for, exact, weights

STARTS = 10.0
CASES = [(5, 1, 1e-3), (5, 2, 1e-6), (9, 4, 1e-9), (30, 3, 1e-6)]


def trials(values: NDArray[np.float64]) -> Callable[[int], float]:
    """Independent values; a fault may make them anything else."""
    return lambda number: float(values[number])


def repeat(rng: np.random.Generator, n: int, m: int, chance: float, *, precision: float = 0.2) -> Mean:
    values = weights(rng, 3000, n, m, chance=chance, starts=STARTS)
    return weighted_mean(
        this.trials(values), bound=2 * STARTS, precision=precision, most_seconds=math.inf, most_trials=3000
    )


def covered(n: int, m: int, wanted: float, *, repeats: int, precision: float = 0.2) -> float:
    """Share of intervals that hold the exact value."""
    rng, chance = np.random.default_rng(20261130), chance_for(n, m, wanted, starts=STARTS)
    found = [repeat(rng, n, m, chance, precision=precision) for _ in range(repeats)]
    return sum(one.lo <= wanted <= one.hi for one in found) / repeats


@pytest.mark.long
@pytest.mark.parametrize(("n", "m", "wanted"), CASES)
@pytest.mark.parametrize("precision", [0.2, 0.1])
def test_the_interval_covers_as_often_as_it_says(n: int, m: int, wanted: float, precision: float) -> None:
    """2,000 repeats of the chain in numpy, through the estimator that the engine uses."""
    assert 0.92 <= covered(n, m, wanted, repeats=2000, precision=precision) <= 0.98


def test_the_interval_covers_and_would_not_with_runs_that_share_their_future() -> None:
    """300 repeats: 0.95 +- 0.045 (3.6 standard errors); twenty runs of one future each are one run."""
    must_reject(
        lambda: _between(0.905, covered(9, 4, 1e-9, repeats=300), 0.985),
        fault("tests.rare.test_weighted:trials", lambda real: lambda values: lambda i: float(values[i // 20])),
    )


def _between(low: float, found: float, high: float) -> None:
    assert low <= found <= high, found


@pytest.mark.parametrize(("n", "m", "wanted"), CASES)
def test_the_chain_is_hit_at_its_value(n: int, m: int, wanted: float) -> None:
    chance = chance_for(n, m, wanted, starts=STARTS)
    assert exact(n, m, chance=chance, starts=STARTS) == pytest.approx(wanted, rel=1e-9)


def test_no_event_gives_zero_and_an_upper_bound() -> None:
    found = weighted_mean(lambda number: 0.0, bound=1.0, precision=0.2, most_seconds=math.inf, most_trials=300)
    assert (found.value, found.lo, found.events, found.stopped_by) == (0.0, 0.0, 0, "trials")
    assert found.hi == pytest.approx(1.0 - 0.05 ** (1 / 300))


def test_few_equal_weights_are_poisson_counts() -> None:
    sums = Sums(bound=math.inf)
    for number in range(100):
        sums.add(2.0 if number < 7 else 0.0)
    lo, hi = sums.interval()
    garwood = poisson_interval(7, 100.0)
    assert (lo, hi) == pytest.approx((2 * garwood.lo, 2 * garwood.hi))


def test_light_weights_hardly_count_as_events() -> None:
    sums = Sums(bound=math.inf)
    for value in [1.0] * 3 + [1e-6] * 500:
        sums.add(value)
    assert 3.0 <= sums.events < 3.01


def test_it_stops_by_precision_only_with_thirty_events() -> None:
    found = weighted_mean(lambda i: float(i % 50 == 0), bound=1.0, precision=1e9, most_seconds=math.inf)
    assert found.stopped_by == "precision"
    assert 30 <= found.events <= 40


def test_it_stops_by_time() -> None:
    found = weighted_mean(lambda number: 0.0, bound=1.0, precision=0.2, most_seconds=0.0)
    assert (found.trials, found.stopped_by) == (1, "time")
