"""From samples to a profile and back: what is fitted, what a changed file is caught at, what a cost says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gemsim import resources
from gemsim.costs import calibrate
from gemsim.costs.goals import achieved, curves, goal
from gemsim.costs.kernels import BEYOND_TABLE, decode_seconds, encode_seconds, update_seconds
from gemsim.costs.picture import picture
from gemsim.costs.profiles import Profile, load_profile, profile_names
from gemsim.errors import Infeasible, NotMeasured, ProfileError
from tests.calibrate import samples

PLACE = Path("made-up/2026-02-03/profile.json")


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return load_profile(str(calibrate.write_profile(tmp_path, samples.bench())))


def test_the_fit_gives_back_what_made_the_samples(profile: Profile) -> None:
    assert profile.copy_bandwidth == pytest.approx(samples.COPY, rel=1e-5)
    assert profile.launch == samples.LAUNCH
    assert set(profile.ceilings) == {"copy", "read", "launch"}
    assert len(profile.points) == 2 * 9 + 3
    for point in profile.points:
        assert point.ratio == pytest.approx(0.9, rel=1e-4)
        assert point.t0 == pytest.approx(2e-5, rel=1e-3)
        assert (point.k is None) == (point.op == "update")
        assert point.residual is not None
        assert point.residual < 1e-4


def test_a_measured_cost_has_its_own_start_and_says_measured(profile: Profile) -> None:
    cost = encode_seconds(profile, k=16, m=2, data_bytes=16 * 2**20)
    assert cost.seconds == pytest.approx(2e-5 + 18 * 2**20 / (0.9 * samples.COPY), rel=1e-4)
    assert cost.note == "measured"
    four = encode_seconds(profile, k=16, m=2, data_bytes=16 * 2**20, launches=4)
    assert four.seconds - cost.seconds == pytest.approx(6e-5, rel=1e-3)
    decode = decode_seconds(profile, k=16, m=4, lost=2, chunk_bytes=2**20)
    assert decode.seconds == pytest.approx(2e-5 + 20 * 2**20 / (0.9 * samples.COPY), rel=1e-4)
    update = update_seconds(profile, k=500, m=1, touched=1, chunk_bytes=2**20)
    assert update.note == "measured"


def test_a_device_that_reads_k_shards_is_charged_for_k(tmp_path: Path) -> None:
    made = load_profile(str(calibrate.write_profile(tmp_path, samples.bench(decode_reads="k"))))
    cost = decode_seconds(made, k=16, m=4, lost=2, chunk_bytes=2**20)
    assert cost.seconds == pytest.approx(2e-5 + 18 * 2**20 / (0.9 * samples.COPY), rel=1e-4)


def test_xor_and_pq_read_k_shards_on_every_device(profile: Profile) -> None:
    cost = decode_seconds(profile, k=16, m=3, lost=2, chunk_bytes=2**20)
    assert cost.seconds == pytest.approx(2e-5 + 18 * 2**20 / (0.9 * samples.COPY), rel=1e-4)


def test_noise_becomes_a_band_around_whole_times(tmp_path: Path) -> None:
    made = load_profile(str(calibrate.write_profile(tmp_path, samples.bench(noise=0.2), conditions="a busy machine")))
    cost = encode_seconds(made, k=32, m=2, data_bytes=32 * 2.0**10)  # mostly start
    assert cost.lo < 0.9 * cost.seconds
    assert cost.hi > 1.1 * cost.seconds
    assert cost.note == "measured (a busy machine)"
    assert encode_seconds(made, k=16, m=2, data_bytes=1e12).note.endswith("linear beyond the 1.21e+09 bytes measured")


def test_beyond_the_grid_is_marked_or_refused_as_the_user_says(tmp_path: Path) -> None:
    folder = str(calibrate.write_profile(tmp_path, samples.bench()))
    loose, strict = load_profile(folder), load_profile(f"{folder} strict")
    cost = encode_seconds(loose, k=128, m=2, data_bytes=1e6)
    assert "EXTRAPOLATED: k = 128 is beyond the table's 64" in cost.note
    assert cost.hi == pytest.approx(cost.seconds / BEYOND_TABLE, rel=1e-3)
    with pytest.raises(NotMeasured, match=r"is strict and does not hold encode at 128 \+ 2: k = 128 is beyond"):
        encode_seconds(strict, k=128, m=2, data_bytes=1e6)
    assert issubclass(NotMeasured, Infeasible)  # so a sweep reports the point and goes on
    assert encode_seconds(strict, k=32, m=3, data_bytes=1e6).note == "measured"
    assert strict.id != loose.id


@pytest.mark.parametrize("name", profile_names())
def test_every_shipped_profile_follows_from_its_samples(name: str) -> None:
    assert calibrate.check(resources.profiles() / name / "profile.json") == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.update(launch=1e-9), "launch: the file says 1e-09, its samples give 5e-06"),
        (lambda data: data["ceilings"].update({"x" * 5000: 1.0}), "ceilings: the file says {'"),
        (lambda data: data["points"][0].update(t0=1e-9), "encode, field 1, k = 4, rows 1: t0 is 1e-09"),
        (lambda data: data["points"].pop(), "update, field 8, any k, rows 4: in the samples, not in the file"),
        (lambda data: data["points"][0].update(k=5), "encode, field 1, k = 5, rows 1: no samples"),
    ],
)
def test_a_profile_edited_by_hand_is_caught(tmp_path: Path, change: Any, words: str) -> None:
    path = calibrate.write_profile(tmp_path, samples.bench(noise=0.1)) / "profile.json"
    assert calibrate.check(path) == []
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    found = calibrate.check(path)
    assert words in "\n".join(found)
    assert all(len(line) < 600 for line in found)


def test_samples_edited_by_hand_are_caught(tmp_path: Path) -> None:
    folder = calibrate.write_profile(tmp_path, samples.bench(noise=0.1))
    lines = (folder / "samples.csv").read_text().splitlines(keepends=True)
    (folder / "samples.csv").write_text("".join(line for line in lines if not line.startswith("decode,8,pq,16")))
    assert "decode, field 8, k = 16, rows 2: no samples" in "\n".join(calibrate.check(folder / "profile.json"))
    (folder / "samples.csv").write_text("a,b\n")
    with pytest.raises(ProfileError, match="the first line is not op,field"):
        calibrate.check(folder / "profile.json")
    (folder / "samples.csv").write_text("".join([lines[0], lines[1].replace("copy,0", "copy,x")]))
    with pytest.raises(ProfileError, match="a line that cannot be read"):
        calibrate.check(folder / "profile.json")
    (folder / "samples.csv").unlink()
    with pytest.raises(ProfileError, match="cannot be read"):
        calibrate.check(folder / "profile.json")


def test_samples_read_back_as_they_were_written(tmp_path: Path) -> None:
    series = calibrate.series_of(samples.bench(noise=0.3))
    path = tmp_path / "samples.csv"
    path.write_text(calibrate.samples_text(series))
    assert calibrate.read_samples(path) == series


def test_wrong_bytes_and_variants_stay_out_of_the_fit(tmp_path: Path) -> None:
    bench = samples.bench()
    before = calibrate.fitted(calibrate.series_of(bench))
    bad = samples.one("encode", 4, 2, 2, samples.LARGE, [1.0], verified="no")
    variant = samples.one("encode", 4, 2, 2, samples.LARGE, [1.0], layout="variant: unroll 2")
    bench["series"] += [bad, variant]
    assert calibrate.fitted(calibrate.series_of(bench)) == before
    assert "1 series with WRONG BYTES left out" in calibrate.profile_data(bench)["unfinished"]
    rows = achieved(calibrate.series_of(bench), copy_bandwidth=samples.COPY, gpu=True)
    assert [row.verdict for row in rows].count("WRONG BYTES") == 1


@pytest.mark.parametrize(
    ("bench", "words"),
    [
        ({"schema": "other"}, "not the output of gemsim_kernels.bench"),
        ({"schema": calibrate.SCHEMA, "series": [{"op": "copy"}]}, "a broken bench file"),
        ({**samples.bench(), "series": samples.bench()["series"][3:]}, "the copy bandwidth was not measured"),
        ({**samples.bench(), "series": samples.bench()["series"][:4]}, "no kernel was timed with verified bytes"),
        (samples.bench(ratio=9.0), "the measurement makes no profile"),
    ],
)
def test_a_bench_that_makes_no_profile_is_refused(tmp_path: Path, bench: dict[str, Any], words: str) -> None:
    with pytest.raises(ProfileError, match=words):
        calibrate.write_profile(tmp_path, bench)
    assert list(tmp_path.iterdir()) == []


def test_goals_are_the_ones_set_and_judged_by_the_largest_size() -> None:
    assert [goal("encode", k=64, rows=m, bits=8) for m in (1, 2, 3, 4, 6, 8)] == [0.95, 0.92, 0.92, 0.88, 0.75, 0.62]
    assert [goal("encode", k=8, rows=m, bits=8) for m in (1, 4, 6, 8)] == [0.95, None, None, None]
    assert [goal("decode", k=8, rows=e, bits=8) for e in (1, 3, 4)] == [0.92, 0.92, None]
    assert (goal("update", k=8, rows=8, bits=8), goal("encode", k=400, rows=4, bits=16)) == (0.88, None)
    rows = achieved(calibrate.series_of(samples.bench(t0=0.0)), copy_bandwidth=samples.COPY, gpu=True)
    verdicts = {(row.series.op, row.series.k, row.series.rows): row.verdict for row in rows}
    assert verdicts["encode", 64, 2] == "MISSED"
    assert verdicts["encode", 64, 4] == "met"
    assert verdicts["encode", 4, 4] == "-"
    assert all(row.series.shard_bytes == samples.LARGE for row in rows)
    host = achieved(calibrate.series_of(samples.bench()), copy_bandwidth=1.0, gpu=False)
    assert {row.verdict for row in host} == {"-"}


def test_the_picture_shows_every_curve_under_its_roof() -> None:
    drawn = curves(calibrate.series_of(samples.bench()))
    text = picture(drawn, copy_bandwidth=samples.COPY, title="Encoding on <made up>", note="measured")
    assert text.count("<circle") == 9
    assert text.count("<polyline") == 6
    for words in ("Encoding on &lt;made up&gt;", "m = 4", "roofline", "TB/s", "k, data shards of a stripe"):
        assert words in text
    one = picture({2: {8: 3e9}}, copy_bandwidth=1e10, title="t", note="")
    assert one.count("<circle") == 1
    assert "GB/s" in one
