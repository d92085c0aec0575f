"""The fit gives back the line that made the times, never a negative part, and the same digits on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.costs.fit import BAND, digits, fit, quantile

SIZES = (1 << 16, 1 << 20, 1 << 24, 1 << 28)


@given(t0=st.floats(0, 1e-3), bandwidth=st.floats(1e9, 5e12))
def test_an_exact_line_is_given_back(t0: float, bandwidth: float) -> None:
    line = fit({size: [t0 + size / bandwidth] * 3 for size in SIZES}, launch=1.0)
    assert line.bandwidth == pytest.approx(bandwidth, rel=6e-6)
    for size in SIZES:
        assert line.seconds(size) == pytest.approx(t0 + size / bandwidth, rel=1e-5)
    assert line.residual < 1e-5
    assert line.quick <= 1 <= line.slow <= 1.0001


def test_small_sizes_count_as_much_as_large_ones() -> None:
    """With absolute errors the start would be lost in the noise of the largest size."""
    times = {size: [2e-5 + size / 1e12] for size in SIZES}
    times[SIZES[-1]][0] *= 1.2
    assert fit(times, launch=0.0).t0 == pytest.approx(2e-5, rel=0.1)


def test_one_size_alone_takes_the_launch_as_its_start_but_not_more_than_half() -> None:
    assert fit({10**6: [3e-6]}, launch=1e-6).t0 == 1e-6
    line = fit({10**6: [3e-6]}, launch=1.0)
    assert line.t0 == 1.5e-6
    assert line.bandwidth == pytest.approx(1e6 / 1.5e-6, rel=1e-5)


@given(st.lists(st.tuples(st.integers(1, 10**9), st.floats(1e-7, 1.0)), min_size=1, max_size=8))
def test_no_part_is_negative_and_the_band_is_around_the_fit(times: list[tuple[int, float]]) -> None:
    line = fit({size: [seconds] for size, seconds in times}, launch=1e-5)
    assert line.t0 >= 0
    assert line.bandwidth > 0
    assert line.quick <= 1 <= line.slow


def test_the_band_holds_nine_of_ten_times(rng: np.random.Generator) -> None:
    times = {size: [(1e-5 + size / 1e10) * float(x) for x in rng.uniform(0.8, 1.25, 400)] for size in SIZES}
    line = fit(times, launch=0.0)
    inside = [line.quick <= t / line.seconds(size) <= line.slow for size, each in times.items() for t in each]
    assert BAND == (0.05, 0.95)
    assert np.mean(inside) == pytest.approx(0.9, abs=0.01)


def test_quantiles_and_digits() -> None:
    assert [quantile([3, 1, 2], share) for share in (0, 0.25, 0.5, 1)] == [1, 1.5, 2, 3]
    assert [digits(value) for value in (0.0, 123456.7, 1.2345678e-9)] == [0.0, 123457.0, 1.23457e-9]
