"""Everything to ask of a GPU in about four minutes: are the bytes right, how fast is it, and would variants be faster.

Needs numpy, cupy and pytest alone: `make gpu-check`, or `PYTHONPATH=kernels python kernels/gpu_check.py --out FOLDER`
on a bare machine (FOLDER is $OUT where that is set). `gemsim calibrate --from FOLDER/bench.json` makes a profile of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

from gemsim_kernels import cuda_kernel, cuda_text, gpu, launches
from gemsim_kernels.bench import arm_for, measure, printer, seconds_of
from gemsim_kernels.bench_arms import Arm, places
from gemsim_kernels.bench_gpu import GpuArm
from gemsim_kernels.gpu_reasons import NoGpu

ROOT = Path(__file__).resolve().parents[1]
TESTS = [ROOT / "tests" / "kernels" / name for name in ("test_gpu.py", "test_gpu_state.py")]
# Fractions of the memory bound that a model of instruction counts gave before any GPU run, at 1.8 and 1.98 GHz (H200).
MODEL = {
    4: {4: (0.89, 0.98), 8: (0.97, 1.0), 16: (1.0, 1.0)},
    6: {4: (0.73, 0.81), 8: (0.79, 0.86), 16: (0.84, 0.93), 32: (0.89, 0.98), 64: (0.92, 1.0), 128: (0.94, 1.0)},
    8: {4: (0.59, 0.65), 8: (0.64, 0.70), 16: (0.68, 0.75), 32: (0.73, 0.80), 64: (0.76, 0.84), 128: (0.78, 0.86)},
}  # fmt: skip
# What to change in the text or the launch: name -> (module, attribute, value). A kernel compiled anew is timed.
VARIANTS: dict[str, tuple[Any, str, Any]] = {
    "as shipped": (launches, "BLOCK", cuda_kernel.BLOCK),
    "block 128": (launches, "BLOCK", 128),
    "unroll 1": (cuda_text, "_unroll", lambda kernel: 1),
    "unroll 2": (cuda_text, "_unroll", lambda kernel: 2),
    "unroll 4": (cuda_text, "_unroll", lambda kernel: 4),
    "unroll 8": (cuda_text, "_unroll", lambda kernel: 8),
    "1 block kept": (cuda_text, "_blocks", lambda kernel: 1),
    "2 blocks kept": (cuda_text, "_blocks", lambda kernel: 2),
    "4 blocks kept": (cuda_text, "_blocks", lambda kernel: 4),
}
SHAPES = ((64, 2), (64, 4), (64, 8))
RATES = {
    "LOP3": "x{i} = (x{i} & y) ^ z;",
    "PRMT": "x{i} = __byte_perm(x{i}, y, 0x4321u ^ z);",
    "IMAD": "x{i} = x{i} * y + z;",
}
_ROUNDS, _CHAINS, _THREADS = 2048, 8, 256


def correct(seconds: float) -> str:
    """passed, FAILED or not run: the GPU tests with pytest alone, without this project's plugins and settings."""
    here = [str(path) for path in TESTS if path.is_file()]
    absent = "the GPU tests are not here" if not here else "" if find_spec("pytest") else "pytest is not installed"
    if absent:
        print(f"correctness: {absent}, so only the grid checks bytes")
        return f"not run: {absent}"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "gpu", "-c", os.devnull, "--rootdir", str(ROOT),
               "--noconftest", "--import-mode=importlib", "-p", "no:cacheprovider", "-rs",
               "-W", "ignore::pytest.PytestUnknownMarkWarning", *here]  # fmt: skip
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels"), os.environ.get("PYTHONPATH", "")])
    print("correctness:", flush=True)
    try:
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        print(f"correctness: NOT DONE within {seconds:.0f} s")
        return f"FAILED: not done within {seconds:.0f} s"
    return "FAILED" if done.returncode else "passed"


def variants(arm: Arm) -> Iterator[dict[str, Any]]:
    """Encode 64 + 2, 4 and 8 with each variant: bytes compared with the shipped kernel's, then timed."""
    for k, m in SHAPES:
        n = arm.sizes[0] // (k + m) // 256 * 256
        pairs = list(zip(places(arm.pool, k * n), places(arm.out, m * n), strict=False))
        sets = [(a.reshape(k, n), b.reshape(m, n)) for a, b in pairs]
        expected = None
        for name, (module, attribute, value) in VARIANTS.items():
            with patch.object(module, attribute, value), fresh_kernels():
                code = arm.code(k, m)
                try:
                    calls, weight = arm.batched([partial(code.encode, a, b) for a, b in sets])
                    arm.seconds(calls, 0, 2)
                    found = arm.host(sets[0][1][:, :4096]).copy()
                    expected = found if expected is None else expected
                    seconds = [arm.seconds(calls, 4 * at, 4) / weight for at in range(12)]
                except Exception as error:
                    print(f"  {k}+{m} {name}: {type(error).__name__}: {str(error).splitlines()[0]}")
                    continue
            yield {
                "op": "encode", "field": code.family.field_bits, "family": code.family.name, "k": k, "m": m, "rows": m,
                "shard_bytes": n, "stripes": 1, "layout": f"variant: {name}", "bytes_read": k * n,
                "bytes_written": m * n, "verified": "yes" if np.array_equal(found, expected) else "no",
                "seconds": seconds,
            }  # fmt: skip


def fresh_kernels() -> ExitStack:
    """Kernels compiled inside are compiled anew, and forgotten afterwards."""
    stack = ExitStack()
    gpu.backend.cache_clear()
    stack.callback(gpu.backend.cache_clear)
    return stack


def rates(arm: GpuArm) -> dict[str, str]:
    """Instructions per clock and multiprocessor, if the clock NVML shows after the run is the one it ran at."""
    facts: dict[str, str] = {}
    blocks = arm.multiprocessors * 8
    for name, line in RATES.items():
        chains = range(_CHAINS)
        text = (
            f'extern "C" __global__ void __launch_bounds__({_THREADS}) rate(unsigned* out, unsigned y, unsigned z) {{\n'
            + "".join(f"unsigned x{i} = threadIdx.x + {i}u;\n" for i in chains)
            + f"#pragma unroll 16\nfor (int r = 0; r < {_ROUNDS}; ++r) {{ "
            + " ".join(line.format(i=i) for i in chains)
            + " }\nunsigned s = 0;\n"
            + "".join(f"s ^= x{i};\n" for i in chains)
            + "if (s == 0x12345677u) out[0] = s;\n}\n"
        )
        try:
            module = arm.xp.RawModule(code=text, options=("-std=c++17",), backend="nvrtc")
            function, arguments = module.get_function("rate"), (arm.out, np.uint32(0x9E3779B9), np.uint32(0))
            calls = [partial(function, (blocks,), (_THREADS,), arguments)]
            arm.seconds(calls, 0, 2)
            seconds = median(arm.seconds(calls, 0, 4) for _ in range(5))
        except Exception as error:
            facts[f"{name} rate"] = f"not measured: {type(error).__name__}"
            continue
        count = blocks * _THREADS * _ROUNDS * _CHAINS / seconds
        facts[f"{name} rate"] = f"{count:.4g} per second, {count / arm.multiprocessors / 1e9:.4g} per ns and SM"
    return facts


def table(series: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The encode speeds beside what the model predicted for an H200, and the variants."""
    copies = [one for one in series if one["op"] == "copy"]
    copy = max(_speed(one) for one in copies if one["bytes_read"] == max(c["bytes_read"] for c in copies))
    yield f"copy {copy / 1e12:.3f} TB/s (bytes read plus written)"
    yield f"{'':8}{'code':>8}{'lost':>6}{'TB/s of data':>14}{'÷ copy':>8}  bytes  {'model, upper bound':<20}"
    largest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in series:
        key = (one["layout"].startswith("variant"), one["op"], one["m"], one["k"], one["rows"], one["layout"])
        if one["k"] and _moved(one) >= _moved(largest.get(key, {})):
            largest[key] = one
    for key in sorted(largest):
        one = largest[key]
        k, m = one["k"], one["m"]
        lost = str(one["rows"]) if one["op"] == "decode" else ""
        shards = {"encode": k, "decode": one["rows"], "update": 1}[one["op"]]
        data = shards * one["shard_bytes"] * one["stripes"] / median(one["seconds"])
        low, high = _model(k, m)
        bound = copy * k / (k + m) / 1e12
        model = f"{bound * low:.2f} to {bound * high:.2f} TB/s" if one["op"] == "encode" and low else ""
        name = one["layout"] if key[0] else ""
        yield (
            f"{one['op']:8}{f'{k}+{m}':>8}{lost:>6}{data / 1e12:>14.3f}{_speed(one) / copy:>8.3f}  "
            f"{'right' if one['verified'] == 'yes' else 'WRONG'}  {model:<20}{name}"
        )


def _moved(one: dict[str, Any]) -> int:
    return int(one.get("bytes_read", 0)) + int(one.get("bytes_written", 0))


def _speed(one: dict[str, Any]) -> float:
    return float(_moved(one) / median(one["seconds"]))


def _model(k: int, m: int) -> tuple[float, float]:
    """The fractions at the nearest width of the model that is not wider; none where it says nothing."""
    if m <= 3:
        return 1.0, 1.0
    widths = [width for width in MODEL.get(m, {}) if width <= k <= 255 - m]
    return MODEL[m][max(widths)] if widths else (0.0, 0.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where all bytes were right, else 1."""
    parser = argparse.ArgumentParser(prog="gpu_check", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gpu", type=int, default=0, metavar="N")
    parser.add_argument("--budget", type=seconds_of, default=240.0, help="for all of it (default: 4m)")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "out/gpu-check")))
    asked = parser.parse_args(arguments)
    began = time.perf_counter()
    try:
        arm = arm_for(asked.gpu)
    except NoGpu as error:
        print(f"{error}\nNothing was checked on a GPU. The same kernels run on the CPU in `make test`.")
        return 1
    assert isinstance(arm, GpuArm)
    asked.out.mkdir(parents=True, exist_ok=True)
    tests = correct(asked.budget * 0.5)
    left = asked.budget - (time.perf_counter() - began)
    result = measure(arm, max(10.0, left - asked.budget * 0.15), report=printer(sys.stdout))
    _write(asked.out, result)  # what is there survives a variant that hangs
    print("variants and instruction rates", flush=True)
    result["facts"].update(rates(arm))
    result["series"] += list(variants(arm))
    result["facts"]["GPU tests"] = tests
    _write(asked.out, result)
    print("\n".join(table(result["series"])))
    for name, value in result["facts"].items():
        print(f"{name}: {value}")
    print(result["unfinished"] or "the whole grid was measured")
    right = not tests.startswith("FAILED") and all(one["verified"] != "no" for one in result["series"])
    print(f"{'all bytes right' if right else 'WRONG BYTES or failed tests'}; written: {asked.out / 'bench.json'}")
    return int(not right)


def _write(folder: Path, result: dict[str, Any]) -> None:
    (folder / "bench.json").write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    sys.exit(main())
