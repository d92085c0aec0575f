"""What the coding kernels reached beside what they should: achieved bytes/s over the copy bandwidth of the same run.

The goals are for GPUs. Those of a CPU are ratios to another library on the same machine: `benchmarks/codec_cpu.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gemsim.costs.calibrate import OPS, PLAIN, Series

Verdict = Literal["met", "MISSED", "WRONG BYTES", "-"]


@dataclass(frozen=True, slots=True)
class Achieved:
    """One row of the table: a kernel at its largest size. `data` is bytes of data per second (of loss for decode)."""

    series: Series
    data: float
    ratio: float
    goal: float | None

    @property
    def verdict(self) -> Verdict:
        """Whether the goal was met, to two digits."""
        if self.series.verified == "no":
            return "WRONG BYTES"
        if self.goal is None:
            return "-"
        return "met" if round(self.ratio, 2) >= self.goal else "MISSED"


def goal(op: str, *, k: int, rows: int, bits: int) -> float | None:
    """The least share of copy bandwidth; None where no goal was set."""
    if op == "update":
        return 0.88
    if op == "decode":
        return 0.92 if rows <= 3 else None
    if bits == 16 and rows >= 4:
        return None  # bit-exact first: two passes over the data are allowed there
    if rows <= 3:
        return 0.95 if rows == 1 else 0.92
    narrowest, least = {4: (16, 0.88), 6: (32, 0.75), 8: (32, 0.62)}.get(rows, (0, None))
    return least if k >= narrowest else None


def achieved(series: Sequence[Series], *, copy_bandwidth: float, gpu: bool) -> list[Achieved]:
    """The table's rows: each kernel, width and number of rows at the largest size that was timed."""
    largest: dict[tuple[int, int, int, int, int], Series] = {}
    for one in series:
        if one.op not in OPS or one.layout not in PLAIN:
            continue
        key = (OPS.index(one.op), one.m, one.k, one.rows, one.field)
        held = largest.get(key)
        if held is None or (one.verified != "no", one.moved) > (held.verified != "no", held.moved):
            largest[key] = one
    wrong = [one for one in series if one.verified == "no" and one not in largest.values()]
    return [_row(one, copy_bandwidth, gpu) for one in [*(largest[key] for key in sorted(largest)), *wrong]]


def _row(one: Series, copy_bandwidth: float, gpu: bool) -> Achieved:
    shards = {"encode": one.k, "decode": one.rows, "update": 1}[one.op]
    data = shards * one.shard_bytes * one.stripes / one.median
    least = goal(one.op, k=one.k, rows=one.rows, bits=one.field) if gpu else None
    return Achieved(one, data, one.moved / one.median / copy_bandwidth, least)


def curves(series: Sequence[Series]) -> dict[int, dict[int, float]]:
    """For the picture: m -> k -> bytes of data encoded per second at the largest size."""
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for row in achieved(series, copy_bandwidth=1.0, gpu=False):
        if row.series.op == "encode" and row.series.verified == "yes":
            found[row.series.m][row.series.k] = row.data
    return dict(found)
