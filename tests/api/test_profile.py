"""A profile says whether it was measured, and gives back what its file and its samples hold."""

from __future__ import annotations

import pytest

import gemsim as gs
from gemsim.costs.calibrate import read_samples
from gemsim.costs.kernels import decode_seconds, encode_seconds
from gemsim.costs.profiles import load_profile, profile_names, profile_path
from gemsim.errors import ProfileError

MEASURED = "cpu-amd-epyc-26-2"


@pytest.mark.parametrize("name", profile_names())
def test_it_says_modelled_or_measured(name: str) -> None:
    profile = gs.load_profile(name)
    word = "measured" if profile.kind == "measured" else "modelled, not measured"
    assert f"kind: {word}" in repr(profile)
    assert word in profile._repr_html_()
    assert profile.kind == ("modelled" if name.endswith("modelled") else "measured")
    assert len(profile.points) == len(load_profile(name).points)


def test_speeds_are_shares_of_the_copy_bandwidth() -> None:
    profile = gs.load_profile("nvidia-h100")
    points = profile.points
    assert points["throughput"].tolist() == [
        one.ratio * profile.copy_bandwidth for one in load_profile("nvidia-h100").points
    ]
    assert (points["throughput_lo"] <= points["throughput"]).all()
    assert points["samples"].isna().all()  # nothing was timed


def test_samples_are_every_repeat() -> None:
    samples = gs.load_profile(MEASURED).samples
    held = read_samples(profile_path(MEASURED).parent / "samples.csv")
    assert len(samples) == sum(len(one.seconds) for one in held)
    assert samples["seconds"].tolist() == [second for one in held for second in one.seconds]


def test_a_modelled_profile_has_no_samples_and_says_so() -> None:
    with pytest.raises(ProfileError, match="is modelled, not measured, so there are no samples"):
        _ = gs.load_profile("nvidia-h100").samples


def test_costs_are_those_of_a_study_with_their_note() -> None:
    profile, inside = gs.load_profile("nvidia-h100"), load_profile("nvidia-h100")
    table = profile.cost(k=32, m=2, bytes=6.4e9, lost=1)
    encode = encode_seconds(inside, k=32, m=2, data_bytes=6.4e9)
    decode = decode_seconds(inside, k=32, m=2, lost=1, chunk_bytes=2e8)
    assert table["op"].tolist() == ["encode", "decode"]
    assert table["seconds"].tolist() == [encode.seconds, decode.seconds]
    assert table["seconds_hi"].tolist() == [encode.hi, decode.hi]
    assert "EXTRAPOLATED" in profile.cost(k=1000, m=2, bytes=1e9)["note"][0]


def test_a_strict_profile_refuses_what_it_does_not_hold() -> None:
    with pytest.raises(ProfileError, match="is strict and does not hold encode at 1000"):
        gs.load_profile("nvidia-h100 strict").cost(k=1000, m=2, bytes=1e9)


def test_an_unknown_one_is_answered_with_the_nearest() -> None:
    with pytest.raises(ProfileError, match=r"no calibration profile 'nvidia-h20'; .*did you mean 'nvidia-h200'\?"):
        gs.load_profile("nvidia-h20")
