"""The bench: every shape is checked before it is believed, a budget cuts the fine end, a stop keeps what there is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpu_check
from gemsim.costs import calibrate
from gemsim_kernels import bench, bench_facts, bench_grid, codec
from gemsim_kernels.bench_arms import CpuArm, places
from gemsim_kernels.bench_checks import prepared
from gemsim_kernels.bench_gpu import GpuArm
from gemsim_kernels.bench_grid import Case
from gemsim_kernels.gpu_reasons import NoGpu
from tests.kernels import fake_cupy

ROOT = Path(__file__).parents[2]
FEW = [
    Case("encode", 4, 2, 2, 1024),
    Case("encode", 4, 1, 1, 512, stripes=3),
    Case("encode", 300, 2, 2, 256),
    Case("decode", 4, 2, 2, 1024),
    Case("decode", 3, 4, 4, 512, stripes=2),
    Case("update", 64, 4, 4, 2048),
]


def arm() -> CpuArm:
    return CpuArm(backend="numpy", pool_bytes=1 << 20)


def test_every_shape_is_measured_with_right_bytes_and_makes_a_profile(tmp_path: Path) -> None:
    found = json.loads(json.dumps(bench.measure(arm(), 60.0, cases=FEW)))
    kernels = [one for one in found["series"] if one["k"]]
    assert [(one["op"], one["k"], one["m"]) for one in kernels] == [(case.op, case.k, case.m) for case in FEW]
    assert {one["verified"] for one in kernels} == {"yes"}
    assert all(len(one["seconds"]) >= bench.FEWEST and min(one["seconds"]) > 0 for one in found["series"])
    assert {one["op"] for one in found["series"]} == {"copy", "read", "write", "launch", "encode", "decode", "update"}
    assert len([one for one in found["series"] if one["op"] == "copy"]) == 3
    assert found["unfinished"] == ""
    assert calibrate.check(calibrate.write_profile(tmp_path, found) / "profile.json") == []
    for name in ("python", "numpy", "os", "kernel sources sha256", "cpu flags", "device name", "backend", "clock"):
        assert found["facts"][name]


@pytest.mark.parametrize("op", ["encode", "decode", "update"])
def test_wrong_bytes_are_found_and_marked(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(codec.Code, op)

    def wrong(self: codec.Code, *given: Any, **more: Any) -> Any:
        result = right(self, *given, **more)
        if self.backend != "reference":
            target = given[0] if op == "update" else given[-1]
            target[..., -1, -1] ^= 1  # the last byte of the last shard
        return result

    monkeypatch.setattr(codec.Code, op, wrong)
    case = next(case for case in FEW if case.op == op)
    found = bench.measure(arm(), 30.0, cases=[case])
    assert [one["verified"] for one in found["series"] if one["k"]] == ["no"]


def test_an_encode_that_writes_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, case = arm(), FEW[0]
    _, check = prepared(machine, machine.code(4, 2), case)
    assert check()
    reference = codec.Code.encode
    monkeypatch.setattr(
        codec.Code, "encode", lambda self, *a, **b: reference(self, *a, **b) if self.backend == "reference" else None
    )
    assert not check()


def test_a_stop_by_hand_keeps_what_was_measured() -> None:
    def report(progress: bench.Progress) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    found = bench.measure(arm(), 60.0, cases=FEW, report=report)
    assert len([one for one in found["series"] if one["k"]]) == 2
    assert found["unfinished"].startswith("4 of 6 shapes were not measured, as it was stopped by hand: ")
    assert calibrate.fitted(calibrate.series_of(found))["points"]


def test_a_case_that_fails_is_named_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    right = codec.Code.decode

    def broken(self: codec.Code, *given: Any, **more: Any) -> Any:
        if self.m == 2:
            raise RuntimeError("launch failed\nand more")
        return right(self, *given, **more)

    monkeypatch.setattr(codec.Code, "decode", broken)
    found = bench.measure(arm(), 60.0, cases=FEW)
    assert found["unfinished"] == "decode 4+2, 2 lost, 1 KiB shards failed (RuntimeError: launch failed)"
    assert len([one for one in found["series"] if one["k"]]) == len(FEW) - 1


def test_a_lost_device_ends_the_run_and_keeps_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("device lost")

    monkeypatch.setattr(codec.Code, "decode", broken)
    cases = [FEW[0], *(Case("decode", k, 2, 2, 256) for k in range(4, 12)), FEW[1]]
    found = bench.measure(arm(), 60.0, cases=cases)
    assert len([one for one in found["series"] if one["k"]]) == 1
    assert "6 of 10 shapes were not measured, as the last 3 failed" in found["unfinished"]


def test_a_spent_budget_leaves_the_fine_end_and_says_so() -> None:
    told: list[bench.Progress] = []
    found = bench.measure(arm(), 0.3, report=told.append)
    assert "shapes were not measured, as the 0.3 s of the budget were spent" in found["unfinished"]
    assert found["planned"] == told[0].planned // bench.PASSES > len([one for one in found["series"] if one["k"]])
    assert all(0 <= progress.left <= 0.3 for progress in told)


def test_the_grid_goes_from_coarse_to_fine_and_each_shape_comes_once() -> None:
    sizes = (64 << 20, 8 << 20, 1 << 20)
    cases = bench_grid.grid(sizes, largest_pool=256 << 20)
    assert len(set(cases)) == len(cases)
    assert {case.m for case in cases if case.op == "encode"} == {1, 2, 3, 4, 6, 8}
    assert {case.k for case in cases} >= {4, 8, 16, 32, 64, 128, 247, 256, 512}
    lost = {case.rows for case in cases if case.op == "decode" and case.k == 64}
    assert lost == {1, 2, 3, 4, 6, 8}
    first = cases[:56]
    assert {case.k for case in first} == {8, 64, 512}
    assert {case.m for case in first} == {1, 2, 4, 8}
    timed = Counter((case.op, case.k, case.m, case.rows) for case in cases)
    assert min(timed.values()) >= 2
    for case in cases:
        shards = 2 * (case.m + 1) if case.op == "update" else case.k + case.m
        assert case.shard_bytes * case.stripes * shards <= max(sizes) or case.shard_bytes == 256


def test_bytes_are_counted_as_the_costs_count_them() -> None:
    assert Case("encode", 8, 2, 2, 100).moved("k") == (800, 200)
    assert Case("update", 8, 2, 2, 100).moved("k") == (400, 200)
    assert Case("decode", 8, 4, 1, 100).moved("k") == (800, 100)
    assert Case("decode", 8, 4, 1, 100).moved("survivors") == (1100, 100)
    assert Case("decode", 8, 2, 1, 100, stripes=2).moved("survivors") == (1600, 200)


def test_places_do_not_overlap_and_reach_over_the_pool() -> None:
    pool = np.arange(10_000) % 251
    for size in (1, 64, 999, 10_000):
        found = places(pool, size)
        starts = [(piece.__array_interface__["data"][0] - pool.__array_interface__["data"][0]) // 8 for piece in found]
        assert all(piece.size == size for piece in found)
        assert all(b - a >= size for a, b in pairwise(starts))
    assert len(places(pool, 1)) >= 64
    assert [len(places(pool, 100, reach)) for reach in (1, 350, 1000, 10**6)] == [4, 4, 10, 100]
    with pytest.raises(ValueError, match="do not fit"):
        places(pool, 10_001)


@pytest.mark.parametrize(("text", "seconds"), [("240", 240), ("90s", 90), ("4m", 240), ("1.5 min", 90), ("1h", 3600)])
def test_times(text: str, seconds: float) -> None:
    assert bench.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "4 parsecs", "-1s", "m"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a time"):
        bench.seconds_of(text)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("NVIDIA H200", "nvidia-h200"),
        ("NVIDIA H100 80GB HBM3", "nvidia-h100"),
        ("NVIDIA A100-SXM4-80GB", "nvidia-a100"),
        ("NVIDIA H100 PCIe", "nvidia-h100-pcie"),
        ("NVIDIA GeForce RTX 4090", "nvidia-rtx-4090"),
    ],
)
def test_a_gpu_is_found_under_the_name_that_studies_use(name: str, slug: str) -> None:
    assert bench_facts.gpu_slug(name) == slug


def test_the_gpu_arm_runs_from_end_to_end_on_a_stand_in() -> None:
    machine = GpuArm(fake_cupy.make(), 0, pool_bytes=1 << 19)
    found = bench.measure(machine, 30.0, cases=FEW)
    assert (found["kind"], found["device"], found["decode_reads"]) == ("gpu", "nvidia-h100", "survivors")
    assert {one["verified"] for one in found["series"] if one["k"]} == {"yes"}
    ceilings = {one["op"] for one in found["series"] if not one["k"]}
    assert ceilings == {"copy", "copy_kernel", "read", "write", "launch", "python_launch", "graph_launch"}
    assert int(found["facts"]["graphs captured"]) > len(FEW)
    assert found["facts"]["L2 bytes"] == str(1 << 17)
    assert found["facts"]["nvml"].startswith("not read: ")
    assert np.unique(machine.pool[: 1 << 16]).size == 256


def test_the_gpu_check_runs_from_end_to_end_on_a_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu_check, "arm_for", lambda _: GpuArm(fake_cupy.make(), 0, pool_bytes=1 << 19))
    monkeypatch.setattr(gpu_check, "measure", lambda arm, budget, report: bench.measure(arm, budget, cases=FEW))
    monkeypatch.setattr(gpu_check, "correct", lambda seconds: "passed")
    assert gpu_check.main(["--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "bench.json").read_text())
    timed = [one["layout"] for one in found["series"] if one["layout"].startswith("variant: ")]
    assert len(timed) == len(gpu_check.VARIANTS) * len(gpu_check.SHAPES)
    assert set(gpu_check.RATES) == {name.removesuffix(" rate") for name in found["facts"] if name.endswith(" rate")}
    shown = capsys.readouterr().out
    assert "all bytes right; written: " in shown
    assert "unroll 2" in shown


@pytest.mark.parametrize(
    ("here", "plugin", "said"),
    [(False, True, "not run: the GPU tests are not here"), (True, False, "not run: pytest is not installed")],
)
def test_gpu_tests_that_cannot_run_are_not_said_to_have_passed(
    here: bool, plugin: bool, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not here:
        monkeypatch.setattr(gpu_check, "TESTS", [tmp_path / "absent.py"])
    monkeypatch.setattr(gpu_check, "find_spec", lambda name: plugin or None)
    assert gpu_check.correct(10.0) == said


def test_without_a_gpu_the_check_and_the_bench_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise NoGpu("GPU 0 cannot be used:\n  - made up")

    monkeypatch.setattr(gpu_check, "arm_for", none)
    assert gpu_check.main(["--out", str(tmp_path)]) == 1
    assert "made up\nNothing was checked on a GPU" in capsys.readouterr().out
    monkeypatch.setattr(bench, "arm_for", none)
    assert bench.main(["--gpu", "0", "--out", str(tmp_path / "b.json")]) == 1
    assert "made up" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_bench_needs_numpy_alone(tmp_path: Path) -> None:
    """On a bare machine nothing else is installed: no import of it may reach further."""
    text = (
        "import sys\n"
        "from gemsim_kernels import bench\n"
        "from gemsim_kernels.bench_arms import CpuArm\n"
        "found = bench.measure(CpuArm(backend='numpy', pool_bytes=1 << 18), 0.2)\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names & {'gemsim', 'pydantic', 'click', 'scipy', 'simpy', 'rich', 'cupy'}), len(found['series']))"
    )
    path = str(ROOT / "kernels")
    done = subprocess.run(
        [sys.executable, "-c", text], env={"PYTHONPATH": path}, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("[] ")


def test_the_model_is_set_beside_what_it_predicted() -> None:
    assert gpu_check._model(64, 2) == (1.0, 1.0)
    assert gpu_check._model(64, 6) == (0.92, 1.0)
    assert gpu_check._model(100, 8) == (0.76, 0.84)
    assert gpu_check._model(512, 8) == (0.0, 0.0)  # it says nothing of GF(2^16)
