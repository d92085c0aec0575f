"""`gemsim calibrate` from end to end: measure, read a bench, check, refuse; exit codes and what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gemsim import resources
from gemsim.cli.calibrate import SHOWN
from gemsim.cli.main import ASKED_WRONG, DONE, FAULT, main
from gemsim.costs.calibrate import check
from gemsim_kernels import bench
from gemsim_kernels.bench_arms import CpuArm
from gemsim_kernels.bench_grid import Case
from gemsim_kernels.gpu_reasons import NoGpu
from tests.calibrate import samples

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def bench_file(tmp_path: Path) -> Path:
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(samples.bench(noise=0.05)))
    return path


def test_a_bench_becomes_a_profile_a_table_and_a_picture(tmp_path: Path, bench_file: Path, capsys: Capture) -> None:
    assert main(["calibrate", "--from", str(bench_file), "--out", str(tmp_path)]) == DONE
    folder = tmp_path / "made-up" / "2026-02-03"
    assert {path.name for path in folder.iterdir()} == {"profile.json", "samples.csv", "throughput.svg"}
    shown = capsys.readouterr().out
    assert "GB/s" in shown
    lines = [line.split() for line in shown.splitlines()]
    encode = next(words for words in lines if words[:2] == ["encode", "64+4"])
    assert encode[-2:] == ["0.88", "met"]
    assert ["encode", "64+2"] in [words[:2] for words in lines if words[-1:] == ["MISSED"]]
    assert "worst miss of t = t0 + bytes / B" in shown
    assert f"profile: {folder}" in shown
    assert "one size alone" not in shown
    assert main(["calibrate", "--check", str(folder)]) == DONE
    assert "made-up/2026-02-03: its samples give this profile" in capsys.readouterr().out


def test_an_edited_profile_fails_its_check(tmp_path: Path, bench_file: Path, capsys: Capture) -> None:
    main(["calibrate", "--from", str(bench_file), "--out", str(tmp_path)])
    path = tmp_path / "made-up" / "2026-02-03" / "profile.json"
    path.write_text(path.read_text().replace('"launch": 5e-06', '"launch": 4e-06'))
    capsys.readouterr()
    assert main(["calibrate", "--check", str(path)]) == ASKED_WRONG
    assert "launch: the file says 4e-06, its samples give 5e-06" in capsys.readouterr().err


def test_one_sample_changed_fails_and_what_differs_is_shown_in_part(
    tmp_path: Path, bench_file: Path, capsys: Capture
) -> None:
    main(["calibrate", "--from", str(bench_file), "--out", str(tmp_path)])
    path = tmp_path / "made-up" / "2026-02-03" / "samples.csv"
    lines = path.read_text().splitlines()
    copies = [number for number, line in enumerate(lines) if line.startswith("copy,")]
    for number in copies:
        lines[number] = lines[number].rpartition(",")[0] + ",0.5"
    path.write_text("\n".join(lines) + "\n")
    capsys.readouterr()
    assert main(["calibrate", "--check", str(path.parent)]) == ASKED_WRONG
    said = capsys.readouterr().err.splitlines()
    assert "copy_bandwidth: the file says" in said[1]
    assert len(said) == 1 + SHOWN + 1
    assert said[-1].startswith("  and ")


def test_a_second_measurement_of_a_day_says_that_it_replaces_the_first(
    tmp_path: Path, bench_file: Path, capsys: Capture
) -> None:
    words = ["calibrate", "--from", str(bench_file), "--out", str(tmp_path)]
    assert main(words) == DONE
    assert "is replaced" not in capsys.readouterr().err
    assert main(words) == DONE
    assert "of the same device and day, is replaced" in capsys.readouterr().err


def test_fits_through_one_size_are_counted(tmp_path: Path, capsys: Capture) -> None:
    made = samples.bench()
    made["series"] = [one for one in made["series"] if one["op"] not in ("encode", "decode", "update")]
    made["series"].append(samples.one("encode", 8, 2, 2, samples.LARGE, [1e-3]))
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(made))
    assert main(["calibrate", "--from", str(path), "--out", str(tmp_path)]) == DONE
    assert "1 of 1 fits stand on one size alone" in capsys.readouterr().out


def test_a_modelled_profile_has_no_samples_to_check(capsys: Capture) -> None:
    assert main(["calibrate", "--check", "nvidia-h200/modelled"]) == DONE
    assert "modelled, so there are no samples" in capsys.readouterr().out


def test_the_host_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    cases = [Case("encode", 4, 2, 2, size) for size in (256, 1024, 4096)]
    small = CpuArm(backend="numpy", pool_bytes=1 << 19)
    monkeypatch.setattr(bench, "arm_for", lambda gpu, threads: small)
    monkeypatch.setattr(bench, "grid", lambda sizes, largest_pool: cases)
    words = ["calibrate", "--cpu", "--budget", "5s", "--out", str(tmp_path), "--conditions", "in a test"]
    assert main(words) == DONE
    captured = capsys.readouterr()
    assert f"Measuring {small.device} for about 5s; Ctrl-C keeps what was measured." in captured.err
    assert "9/9" in captured.err
    written = next(tmp_path.glob("*/*/profile.json"))
    assert check(written) == []
    data = json.loads(written.read_text())
    assert (data["source"], data["conditions"]) == ("measured", "in a test")
    assert "GOAL" not in captured.out
    assert "UNFINISHED" not in captured.out


def test_wrong_bytes_are_shouted_and_fail(tmp_path: Path, capsys: Capture) -> None:
    made = samples.bench()
    made["series"].append(samples.one("encode", 8, 2, 2, samples.LARGE, [1e-3], verified="no"))
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(made | {"unfinished": "3 of 9 shapes were not measured"}))
    assert main(["calibrate", "--from", str(path), "--out", str(tmp_path)]) == FAULT
    shown = capsys.readouterr().out
    assert "WRONG BYTES in 1 series" in shown
    assert "UNFINISHED: 3 of 9 shapes were not measured; 1 series with WRONG BYTES left out" in shown


def test_without_a_gpu_the_reason_is_said_and_the_code_is_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    def none(gpu: int, threads: int) -> CpuArm:
        raise NoGpu(f"GPU {gpu} cannot be used:\n  - no NVIDIA driver")

    monkeypatch.setattr(bench, "arm_for", none)
    assert main(["calibrate", "--gpu", "3", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "GPU 3 cannot be used:\n  - no NVIDIA driver\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "one of --cpu, --gpu N, --from FILE.json or --check PROFILE"),
        (["--cpu", "--gpu", "0"], "one of --cpu, --gpu N"),
        (["--cpu", "--budget", "soon"], "--budget: not a time ('soon'); allowed: 90s, 4m or 1h"),
        (["--check", "nvidia-h1000"], "did you mean 'nvidia-h100'"),
        (["--from", "none.json"], "none.json: cannot be read"),
        (["--from", str(resources.profiles() / "nvidia-h200/modelled/profile.json")], "not the output of"),
    ],
)
def test_what_is_asked_wrongly_is_refused(words: list[str], said: str, capsys: Capture) -> None:
    assert main(["calibrate", *words]) == ASKED_WRONG
    assert said in capsys.readouterr().err
