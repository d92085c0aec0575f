"""Seconds of coding kernels: the bytes by hand, the table's goals, interpolation, and what is marked extrapolated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.costs.kernels import BEYOND_TABLE, decode_seconds, encode_seconds, update_seconds
from gemsim.costs.profiles import Point, Profile, load_profile
from gemsim.errors import ProfileError
from gemsim_kernels import CodeLimit

H200 = load_profile("nvidia-h200/modelled")
LAUNCH = H200.launch


def made(*points: tuple[str, int, int | None, int, float]) -> Profile:
    """A profile with a copy bandwidth of 1 byte/s, no launch time and bands of ± 0.1."""
    entries = [
        Point.model_validate(
            {"op": op, "field": bits, "k": k, "rows": rows, "ratio": ratio, "low": ratio - 0.1, "high": ratio + 0.1}
        )
        for op, bits, k, rows, ratio in points
    ]
    return Profile(
        format=1, device="d", date="2026-01-31", source="measured", copy_bandwidth=1.0, launch=0.0,
        provenance={"ratio": "made up"}, points=tuple(entries),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("k", "m", "must"), [(8, 1, 0.93), (64, 2, 0.90), (200, 3, 0.90), (16, 4, 0.85), (32, 6, 0.75), (247, 8, 0.62)]
)
def test_encode_moves_data_and_parity_at_the_goal(k: int, m: int, must: float) -> None:
    cost = encode_seconds(H200, k=k, m=m, data_bytes=6.6e9)
    assert cost.seconds == pytest.approx(LAUNCH + 6.6e9 * (k + m) / k / (must * 4.3e12))
    assert cost.lo < cost.seconds < cost.hi
    assert cost.note == "modelled, not measured"


def test_decode_reads_the_other_chunks_and_writes_the_lost() -> None:
    page = 2.0 * 2**20
    cost = decode_seconds(H200, k=64, m=4, lost=2, chunk_bytes=page)
    assert cost.seconds == pytest.approx(LAUNCH + 68 * page / (0.90 * 4.3e12))
    assert cost.seconds < 1e-3
    assert decode_seconds(H200, k=64, m=4, lost=0, chunk_bytes=page).seconds == 0.0
    with pytest.raises(ValueError, match="at most m"):
        decode_seconds(H200, k=64, m=4, lost=5, chunk_bytes=page)


def test_update_moves_old_new_and_twice_the_parity() -> None:
    cost = update_seconds(H200, k=64, m=2, touched=3, chunk_bytes=1e9)
    assert cost.seconds == pytest.approx(LAUNCH + (2 * 3 + 2 * 2) * 1e9 / (0.85 * 4.3e12))
    assert update_seconds(H200, k=64, m=2, touched=0, chunk_bytes=1e9).seconds == 0.0
    with pytest.raises(ValueError, match="touched"):
        update_seconds(H200, k=4, m=2, touched=5, chunk_bytes=1e9)


@given(k=st.integers(1, 500), m=st.integers(0, 4), touched=st.integers(0, 500))
def test_update_moves_less_than_an_encode_where_the_rule_says(k: int, m: int, touched: int) -> None:
    even = made(("encode", 1, None, 1, 0.5), ("update", 1, None, 1, 0.5), ("encode", 8, None, 2, 0.5),
                ("encode", 8, None, 4, 0.5), ("update", 8, None, 2, 0.5), ("update", 8, None, 4, 0.5))  # fmt: skip
    touched = min(touched, k)
    if m == 0 or touched == 0:
        return
    update = update_seconds(even, k=k, m=m, touched=touched, chunk_bytes=1.0, field=8 if k + m <= 255 else "auto")
    encode = encode_seconds(even, k=k, m=m, data_bytes=k, field=8 if k + m <= 255 else "auto")
    assert (update.seconds < encode.seconds - 1e-9) == (2 * touched + m < k)


def test_nothing_to_code_costs_nothing() -> None:
    assert encode_seconds(H200, k=10**6, m=0, data_bytes=1e12).seconds == 0.0
    assert encode_seconds(H200, k=8, m=2, data_bytes=0.0).seconds == 0.0


@pytest.mark.parametrize(
    ("k", "m", "words"),
    [
        (512, 1, "k = 512 is beyond the table's 247"),
        (512, 2, "k = 512 is beyond the table's 247"),
        (252, 4, "beyond the table's 247"),
        (8, 4, "k = 8 is below the table's 16"),
        (2, 2, "k = 2 is below the table's 4"),
    ],
)
def test_widths_beyond_the_table_are_marked_and_trusted_less(k: int, m: int, words: str) -> None:
    cost = encode_seconds(H200, k=k, m=m, data_bytes=1e12)
    inside = encode_seconds(H200, k=64, m=m, data_bytes=1e12)
    assert "modelled, not measured; EXTRAPOLATED: " in cost.note
    assert words in cost.note
    assert cost.hi / cost.lo > 1.9 * inside.hi / inside.lo


def test_wide_pq_costs_per_byte_what_narrow_pq_does() -> None:
    narrow = encode_seconds(H200, k=100, m=2, data_bytes=1e12, field=8)
    wide = encode_seconds(H200, k=100, m=2, data_bytes=1e12, field=16)
    assert wide == narrow


def test_a_field_without_entries_takes_the_other_and_says_so() -> None:
    profile = made(("encode", 8, 4, 4, 0.8), ("encode", 8, 400, 4, 0.8))
    cost = encode_seconds(profile, k=300, m=4, data_bytes=1.0)
    assert cost.note == "measured; EXTRAPOLATED: no entry over GF(2^16), GF(2^8) taken"
    assert cost.hi == pytest.approx(304 / 300 / (0.7 * BEYOND_TABLE))


def test_between_entries_the_ratio_is_interpolated_and_the_band_covers_both() -> None:
    profile = made(
        ("encode", 8, 4, 4, 0.4), ("encode", 8, 16, 4, 0.6), ("encode", 8, 4, 6, 0.2), ("encode", 8, 16, 6, 0.4)
    )
    over_k = encode_seconds(profile, k=8, m=4, data_bytes=8.0)
    assert over_k.seconds == pytest.approx(12 / 0.5)
    assert over_k.lo == pytest.approx(12 / 0.7)
    assert over_k.hi == pytest.approx(12 / 0.3)
    over_both = encode_seconds(profile, k=8, m=5, data_bytes=8.0)
    assert over_both.seconds == pytest.approx(13 / 0.4)
    assert over_both.note == "measured"
    assert encode_seconds(profile, k=16, m=4, data_bytes=16.0).seconds == pytest.approx(20 / 0.6)


@given(k=st.integers(1, 70_000), m=st.integers(0, 8), exponent=st.floats(0, 13))
def test_every_cost_has_a_band_around_it(k: int, m: int, exponent: float) -> None:
    try:
        cost = encode_seconds(H200, k=k, m=m, data_bytes=10**exponent)
    except CodeLimit:
        assert k + m > 65_535
        return
    assert 0 <= cost.lo <= cost.seconds <= cost.hi


def test_what_a_profile_does_not_hold_is_refused() -> None:
    with pytest.raises(ProfileError, match="no entry for encode with 9 parity shards"):
        encode_seconds(H200, k=64, m=9, data_bytes=1.0)
    with pytest.raises(ProfileError, match="no entry for decode with 2 lost chunks"):
        decode_seconds(made(("encode", 8, 4, 2, 0.5)), k=4, m=2, lost=2, chunk_bytes=1.0)
    with pytest.raises(CodeLimit):
        encode_seconds(H200, k=70_000, m=2, data_bytes=1.0)
