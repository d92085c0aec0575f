"""Made-up measurements that follow t = t0 + bytes / B exactly, or with noise: what a bench would have written."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemsim_kernels.codes import family

COPY, LAUNCH = 4e12, 5e-6
LARGE = 1 << 26  # bytes of the largest shards


def one(op: str, k: int, m: int, rows: int, shard: int, seconds: list[float], **more: Any) -> dict[str, Any]:
    """One series of a kernel."""
    code = family(k, m)
    shards = {"encode": (k, m), "decode": (k, rows), "update": (2 + m, m)}[op]
    return {
        "op": op, "field": code.field_bits, "family": code.name, "k": k, "m": m, "rows": rows, "shard_bytes": shard,
        "stripes": 1, "layout": "array", "bytes_read": shards[0] * shard, "bytes_written": shards[1] * shard,
        "verified": "yes", "seconds": seconds,
    } | more  # fmt: skip


def ceiling(op: str, moved: int, seconds: list[float]) -> dict[str, Any]:
    """One series of a ceiling."""
    return {
        "op": op, "field": 0, "family": "", "k": 0, "m": 0, "rows": 0, "shard_bytes": 0, "stripes": 0, "layout": "",
        "bytes_read": moved // 2, "bytes_written": moved - moved // 2, "verified": "-", "seconds": seconds,
    }  # fmt: skip


def bench(
    *,
    ratio: float = 0.9,
    t0: float = 2e-5,
    noise: float = 0.0,
    widths: tuple[int, ...] = (4, 16, 64),
    rows: tuple[int, ...] = (1, 2, 4),
    **more: Any,
) -> dict[str, Any]:
    """A whole bench whose kernels reach `ratio` of the copy bandwidth, ± `noise` relative."""
    rng = np.random.default_rng(7)

    def timed(moved: int, speed: float, start: float) -> list[float]:
        return [(start + moved / speed) * (1 + noise * float(x)) for x in rng.uniform(-1, 1, 9)]

    series = [ceiling("copy", size, timed(size, COPY, 0.0)) for size in (1 << 24, 1 << 27, 1 << 30)]
    series += [ceiling("launch", 0, [LAUNCH] * 5), ceiling("read", 1 << 30, timed(1 << 30, 4.4e12, 0.0))]
    for k in widths:
        for m in rows:
            for op in ("encode", "decode", "update"):
                for shard in (1 << 14, 1 << 20, LARGE):
                    made = one(op, k, m, m, shard, [])
                    made["seconds"] = timed(made["bytes_read"] + made["bytes_written"], ratio * COPY, t0)
                    series.append(made)
    return {
        "schema": "gemsim-bench 1", "kind": "gpu", "device": "made-up", "decode_reads": "survivors",
        "taken": "2026-02-03T04:05:06+00:00", "planned": len(series), "unfinished": "",
        "facts": {"device name": "Made Up 1"}, "series": series,
    } | more  # fmt: skip
