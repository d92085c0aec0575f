"""Units: exact values, exact round trips, and refusals that say what to write."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim import units
from gemsim.errors import UnitError
from gemsim.units import Dimension, Rate

DIMENSIONS: tuple[Dimension, ...] = ("time", "bytes", "bandwidth", "share", "count", "flops")
FINITE = st.floats(min_value=0, allow_nan=False, allow_infinity=False, max_value=1e20)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("400 Gb/s", "bandwidth", 50e9),
        ("2 TB/s", "bandwidth", 2e12),
        ("1 GiB/s", "bandwidth", 2**30),
        ("8 b", "bytes", 1.0),
        ("141 GiB", "bytes", 141 * 2**30),
        ("80 GiB", "bytes", 85_899_345_920),
        ("80GB", "bytes", 80e9),
        ("3 h", "time", 10_800.0),
        ("0.1 ms", "time", 1e-4),
        ("1e3 us", "time", 1e-3),
        ("54 d", "time", 54 * 86_400.0),
        ("0.5 %", "share", 0.005),
        ("0.005", "share", 0.005),
        (0.005, "share", 0.005),
        (8, "count", 8.0),
        ("1e9", "count", 1e9),
        ("989.4 TFLOP/s", "flops", 989.4e12),
    ],
)
def test_a_text_means_the_nearest_float(text: object, dimension: Dimension, value: float) -> None:
    assert units.parse(text, dimension) == value


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("6.5 / 1000 node d", Rate(6.5 / 1000 / 86_400, "node")),
        ("419 / 54 d", Rate(419 / (54 * 86_400), "job")),
        ("1 / 50677 gpu h", Rate(1 / (50_677 * 3600), "gpu")),
        ("1 / 50677 GPU-h", Rate(1 / (50_677 * 3600), "gpu")),
        ("2.3/1000 nodes d", Rate(2.3 / 1000 / 86_400, "node")),
        ("3 / d", Rate(3 / 86_400, "job")),
        ("1 / 18 job min", Rate(1 / 1080, "job")),
    ],
)
def test_a_rate_says_what_it_is_per(text: str, rate: Rate) -> None:
    read = units.parse(text, "rate")
    assert read.per == rate.per
    assert read.value == pytest.approx(rate.value, rel=1e-15)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@given(value=FINITE)
def test_format_reads_back_exactly(dimension: Dimension, value: float) -> None:
    assert units.parse(units.format(value, dimension), dimension) == value


@given(value=FINITE, per=st.sampled_from(["gpu", "node", "job"]))
def test_a_rate_reads_back_exactly(value: float, per: units.Per) -> None:
    assert units.parse(units.format(Rate(value, per), "rate"), "rate") == Rate(value, per)


@given(count=st.integers(0, 10**6), unit=st.sampled_from(sorted(units.UNITS["bandwidth"])))
def test_a_whole_number_of_units_is_exact(count: int, unit: str) -> None:
    size = units.UNITS["bandwidth"][unit]
    assert units.parse(f"{count} {unit}", "bandwidth") == float(count * size)


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (0.0, "time", "0 s"),
        (3600.0, "time", "1 h"),
        (604_800.0, "time", "7 d"),
        (2.0 * 2**20, "bytes", "2 MiB"),
        (50e9, "bandwidth", "50 GB/s"),
        (0.005, "share", "0.5 %"),
        (405e9, "count", "405000000000"),
    ],
)
def test_format_is_short(value: float, dimension: Dimension, text: str) -> None:
    assert units.format(value, dimension) == text


@pytest.mark.parametrize(
    "text", ["6.5 / 1000 node d", "419 / 54 d", "1 / 88768 gpu h", "2.3 / 1000 node d", "35 / 54 d"]
)
def test_published_rates_print_as_published(text: str) -> None:
    assert units.format(units.parse(text, "rate"), "rate") == text


@pytest.mark.parametrize(
    ("text", "dimension", "fragment"),
    [
        (3600, "time", "has no unit (3600); a time in us, ms, s, min, h or d; write e.g. '3600 s'"),
        ("3600", "time", "write e.g. '3600 s'"),
        (7, "time", "write '7 s', '7 min', '7 h' or '7 d'"),
        ("7 days", "time", "did you mean '7 d'?"),
        ("1 Day", "time", "did you mean '1 d'?"),
        ("2 hours", "time", "did you mean '2 h'?"),
        ("20 m", "time", "did you mean '20 min'?"),
        ("20 secs", "time", "did you mean '20 s'?"),
        ("50", "bandwidth", "write e.g. '50 GB/s'"),
        ("400 gb/s", "bandwidth", "did you mean '400 Gb/s'?"),
        ("400 Gb", "bandwidth", "did you mean '400 Gb/s'?"),
        ("80 KB", "bytes", "did you mean '80 kB'?"),
        ("80 GB/s", "bytes", "did you mean '80 GB'?"),
        ("400 TFLOPS", "flops", "did you mean '400 TFLOP/s'?"),
        ("16,384 s", "time", "write the number without separators: '16384 s'"),
        ("1 024 s", "time", "write the number without separators: '1024 s'"),
        ("", "time", "cannot be read ('')"),
        ("h", "time", "cannot be read ('h')"),
        ("--1 s", "time", "cannot be read"),
        ("1e999 s", "time", "not a finite number"),
        ("1e99999 s", "time", "unknown unit"),
        ("nan s", "time", "cannot be read"),
        (float("nan"), "count", "not a finite number"),
        (10**400, "count", "not a finite number"),
        (True, "count", "not a quantity (true)"),
        (None, "time", "not a quantity (nothing)"),
        ([1, 2], "bytes", "not a quantity ([1, 2])"),
        ("9" * 500, "count", "cannot be read"),
        (5, "rate", "has no unit (5)"),
        ("5", "rate", "cannot be read ('5')"),
        ("5 / 3 parsecs", "rate", "cannot be read"),
        ("5 / 0 d", "rate", "is over no time"),
    ],
)
def test_what_cannot_be_read_is_refused_with_advice(text: object, dimension: Dimension, fragment: str) -> None:
    with pytest.raises(UnitError) as caught:
        units.parse(text, dimension)
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


@given(text=st.text(max_size=80), dimension=st.sampled_from([*DIMENSIONS, "rate"]))
def test_any_text_is_read_or_refused(text: str, dimension: Dimension) -> None:
    with contextlib.suppress(UnitError):
        units.parse(text, dimension)


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (0.0344999, "time", "34.5 ms"),
        (0.0, "time", "0 s"),
        (65_000.0, "time", "18.06 h"),
        (69_838_185_856.0, "bytes", "69.84 GB"),
        (395.5e12, "flops", "395.5 TFLOP/s"),
        (0.01234, "share", "1.234 %"),
        (12345.678, "count", "1.235e+04"),
        (float("inf"), "time", "inf"),
    ],
)
def test_a_text_to_read_has_four_digits(value: float, dimension: Dimension, text: str) -> None:
    assert units.brief(value, dimension) == text
