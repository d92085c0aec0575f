"""Times the coding kernels on this machine: ceilings first, then a grid of shapes, as far as the seconds given reach.

Needs numpy, and cupy for a GPU, nothing else: `python -m gemsim_kernels.bench --gpu 0 --budget 4m --out bench.json` on
a bare machine, and `gemsim calibrate --from bench.json` anywhere makes a profile of it. Every repeat is kept, and the
bytes of every case are compared with the reference before it is believed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gemsim_kernels.bench_arms import Arm, Call, Ceiling, CpuArm
from gemsim_kernels.bench_checks import prepared
from gemsim_kernels.bench_gpu import GpuArm
from gemsim_kernels.bench_grid import Case, grid
from gemsim_kernels.gpu_reasons import NoGpu, usable_cupy

SCHEMA = "gemsim-bench 1"
PASSES = 3  # visits of every case: what disturbs the machine for a while spoils a third of its times, not all
FEWEST, MOST = 3, 10  # repeats of one visit
LONGEST = 2.0  # seconds for one visit, however much budget is left
HOPELESS = 3  # cases that fail one after another: the device is lost
COPY_EVERY = 12  # visits between two looks at the copy bandwidth, as clocks and neighbours change


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a calibration is, in visits of cases: `left` is the seconds it still needs, by what those so far took."""

    done: int
    planned: int
    label: str
    elapsed: float
    left: float


Report = Callable[[Progress], None]


@dataclass(slots=True)
class _Run:
    """What has been measured so far."""

    arm: Arm
    budget: float
    began: float
    series: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    verified: dict[Case, bool] = field(default_factory=dict)
    kept: set[Case] = field(default_factory=set)
    failed: dict[Case, str] = field(default_factory=dict)

    @property
    def left(self) -> float:
        return self.budget - (time.perf_counter() - self.began)

    def keep(self, head: dict[str, Any], seconds: Sequence[float]) -> None:
        """Add repeats to the series of this shape."""
        one = self.series.setdefault(tuple(head.values()), {**head, "seconds": []})
        one["seconds"] += [float(f"{second:.6g}") for second in seconds]


def measure(
    arm: Arm, budget: float, *, report: Report | None = None, cases: Sequence[Case] | None = None
) -> dict[str, Any]:
    """Measure for about `budget` seconds and return all of it as plain data, also after Ctrl-C.

    `unfinished` says what was left out and why; nothing is said in words that the numbers do not hold.
    """
    run = _Run(arm, budget, time.perf_counter())
    planned = list(grid(arm.sizes, largest_pool=arm.pool.size) if cases is None else cases)
    run.facts.update(arm.facts())
    try:
        reason = _all(run, planned, report)
    except KeyboardInterrupt:
        reason = "it was stopped by hand"
    run.facts.update(arm.state("after"))
    return {
        "schema": SCHEMA,
        "kind": arm.kind,
        "device": arm.device,
        "decode_reads": arm.decode_reads,
        "taken": datetime.now(UTC).isoformat(timespec="seconds"),
        "planned": len(planned),
        "unfinished": _unfinished(run, planned, reason),
        "facts": {**run.facts, "seconds spent": f"{time.perf_counter() - run.began:.0f}"},
        "series": list(run.series.values()),
    }


def _all(run: _Run, planned: Sequence[Case], report: Report | None) -> str:
    """Ceilings, then case by case, pass by pass, until the budget is spent; why a case was left out, if one was."""
    ceilings = list(run.arm.ceilings())
    for ceiling in ceilings:
        name = f"{ceiling.op} bandwidth" if ceiling.read + ceiling.written else ceiling.op
        _tell(run, report, 0, PASSES * len(planned), name)
        _ceiling(run, ceiling, min(0.5, run.budget / 60))
    copy = next(ceiling for ceiling in ceilings if ceiling.op == "copy")
    visits, beside, failures = list(planned) * PASSES, 0.0, 0
    for at, case in enumerate(visits):
        if run.left <= 0:
            return f"the {run.budget:g} s of the budget were spent"
        if case in run.failed:
            continue
        _tell(run, report, at, len(visits), case.label)
        if at % COPY_EVERY == COPY_EVERY - 1:
            _ceiling(run, copy, min(0.2, run.budget / 120))
            run.facts.update(run.arm.state("during"))
        share = run.left / (len(visits) - at)
        allowed = min(LONGEST, max(0.0, share - (beside / at if at else share / 2)))
        began = time.perf_counter()
        failures = 0 if _visited(run, case, allowed) else failures + 1
        if failures == HOPELESS:
            return f"the last {HOPELESS} failed"
        beside += max(0.0, time.perf_counter() - began - allowed)
    _tell(run, report, len(visits), len(visits), "done")
    return ""


def _visited(run: _Run, case: Case, allowed: float) -> bool:
    try:
        _case(run, case, allowed)
    except Exception as error:
        run.failed[case] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        return False
    return True


def _tell(run: _Run, report: Report | None, done: int, planned: int, label: str) -> None:
    if report is not None:
        elapsed = time.perf_counter() - run.began
        needed = elapsed / done * (planned - done) if done else run.left
        report(Progress(done, planned, label, elapsed, max(0.0, min(needed, run.left))))


def _ceiling(run: _Run, ceiling: Ceiling, seconds: float) -> None:
    head = _head(ceiling.op, ceiling.read, ceiling.written)
    run.keep(head, _repeat(run.arm, ceiling.calls, 1, seconds))


def _head(op: str, read: int, written: int, **more: Any) -> dict[str, Any]:
    plain = {"op": op, "field": 0, "family": "", "k": 0, "m": 0, "rows": 0, "shard_bytes": 0, "stripes": 0,
             "layout": "", "bytes_read": read, "bytes_written": written, "verified": "-"}  # fmt: skip
    return plain | more


def _repeat(arm: Arm, calls: Sequence[Call], weight: int, seconds: float) -> list[float]:
    """Time the calls, each of which does `weight`, for about so many seconds, after one that may compile."""
    arm.seconds(calls, 0, 1)
    once = arm.seconds(calls, 1, 1)
    found: list[float] = []
    inner, place = arm.inner(once), 2
    stop = time.perf_counter() + seconds
    while len(found) < FEWEST or (len(found) < MOST and time.perf_counter() < stop):
        found.append(arm.seconds(calls, place, inner) / weight)
        place += inner
    return found


def _case(run: _Run, case: Case, seconds: float) -> None:
    """Check the bytes of one case at its first visit, then time it; one with wrong bytes is kept, and marked."""
    arm, code = run.arm, run.arm.code(case.k, case.m)
    calls, check = prepared(arm, code, case)
    if case not in run.verified:
        run.verified[case] = check()
    family = code.family
    read, written = case.moved(arm.decode_reads)
    head = _head(
        case.op, read, written, field=family.field_bits, family=family.name, k=case.k, m=case.m, rows=case.rows,
        shard_bytes=case.shard_bytes, stripes=case.stripes, layout="array" if case.stripes == 1 else "stripes",
        verified="yes" if run.verified[case] else "no",
    )  # fmt: skip
    run.keep(head, _repeat(arm, *arm.batched(calls), seconds))
    run.kept.add(case)


def _unfinished(run: _Run, planned: Sequence[Case], reason: str) -> str:
    """Which part of the grid is missing and why, in a line; nothing if all is there."""
    parts = [f"{case.label} failed ({error})" for case, error in list(run.failed.items())[:HOPELESS]]
    if len(run.failed) > HOPELESS:
        parts.append(f"and {len(run.failed) - HOPELESS} more failed")
    there = {*run.kept, *run.failed}
    missing = Counter((case.op, case.m) for case in planned if case not in there)
    if missing:
        shown = ", ".join(f"{count} {op} with m = {m}" for (op, m), count in missing.most_common(6))
        more = ", …" if len(missing) > 6 else ""
        parts.append(f"{missing.total()} of {len(planned)} shapes were not measured, as {reason}: {shown}{more}")
    return "; ".join(parts)


def seconds_of(text: str) -> float:
    """A time as "240", "240s", "4m", "4 min" or "1h". Raises ValueError."""
    match = re.fullmatch(r"\s*(\d+\.?\d*)\s*(s|m|min|h|)\s*", text)
    if not match or not float(match[1]):
        raise ValueError(f"not a time ({text!r}); allowed: 90s, 4m or 1h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}[match[2]]


def arm_for(gpu: int | None, *, threads: int = 1) -> Arm:
    """The machine to measure. Raises NoGpu with the reason and what to install."""
    if gpu is None:
        return CpuArm(threads=threads)
    cupy = usable_cupy(gpu)
    cupy.cuda.Device(gpu).use()
    return GpuArm(cupy, gpu)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of a bare machine."""
    parser = argparse.ArgumentParser(prog="gemsim_kernels.bench", description=(__doc__ or "").partition("\n")[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--cpu", action="store_true", help="measure the host")
    which.add_argument("--gpu", type=int, metavar="N", help="measure GPU number N")
    parser.add_argument("--threads", type=int, default=1, help="threads of the host kernels")
    parser.add_argument("--budget", type=seconds_of, default=240.0, help="about how long, such as 90s or 4m")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    asked = parser.parse_args(arguments)
    try:
        arm = arm_for(asked.gpu, threads=asked.threads)
    except NoGpu as error:
        print(error, file=sys.stderr)
        return 1
    result = measure(arm, asked.budget, report=printer(sys.stderr))
    asked.out.write_text(json.dumps(result) + "\n")
    print(f"{len(result['series'])} series in {asked.out}. {result['unfinished']}".rstrip())
    return int(any(one["verified"] == "no" for one in result["series"]))


def printer(stream: Any) -> Report:
    """Progress in lines, one every two seconds at most."""
    last = -9.0

    def _print(progress: Progress) -> None:
        nonlocal last
        if progress.elapsed - last >= 2 or progress.done == progress.planned:
            last = progress.elapsed
            share = f"{progress.done}/{progress.planned}"
            print(f"{share:>9}  {progress.left:4.0f} s left  {progress.label}", file=stream, flush=True)

    return _print


if __name__ == "__main__":
    sys.exit(main())
