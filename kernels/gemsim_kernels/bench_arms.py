"""Where a calibration runs: buffers, clock and ceilings of a machine, and those of the host.

A machine keeps a pool of random bytes of 8 caches or more, from which every call takes the next place, so that no call
finds its data in a cache, and times calls back to back where one alone is too short for the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from gemsim_kernels import bench_facts
from gemsim_kernels.backends import BackendName
from gemsim_kernels.codec import Code

Call = Callable[[], object]
CACHES = 8  # the pool is this many times the last cache
FEWEST_SETS, _MOST_SETS = 4, 512


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A limit of the machine: bytes that one call reads and writes, none for the time of a launch."""

    op: str
    read: int
    written: int
    calls: Sequence[Call]


class Arm(Protocol):
    """A machine under test.

    `device` is the folder of its profiles, `decode_reads` (k | survivors) how many shards its kernels read for a
    rebuild of Reed-Solomon, `pool` random bytes, `out` bytes to write to, `reach` the bytes after which a call may come
    back to the same place, `sizes` the bytes of one stripe, the largest first.
    """

    @property
    def kind(self) -> str: ...

    @property
    def decode_reads(self) -> str: ...

    device: str
    pool: Any
    out: Any
    reach: int
    sizes: tuple[int, ...]

    def code(self, k: int, m: int) -> Code: ...

    def seconds(self, calls: Sequence[Call], start: int, inner: int) -> float: ...

    def inner(self, seconds: float) -> int: ...

    def batched(self, calls: Sequence[Call]) -> tuple[Sequence[Call], int]:
        """The calls as they are best timed, and how many of the given ones each of them stands for."""
        ...

    def ceilings(self) -> Iterator[Ceiling]: ...

    def host(self, array: Any) -> Any: ...

    def facts(self) -> dict[str, str]: ...

    def state(self, when: str) -> dict[str, str]: ...


def places(pool: Any, size: int, reach: int | None = None) -> list[Any]:
    """Disjoint pieces of `size` bytes spread over the pool: at least 4 and `reach` bytes, as far as it holds them."""
    enough = _MOST_SETS if reach is None else max(FEWEST_SETS, -(-reach // size))
    count = min(pool.size // size, enough, _MOST_SETS)
    if not count:
        raise ValueError(f"{size} bytes do not fit into a pool of {pool.size}")
    step = pool.size // count // 64 * 64
    step = max(step, size) if count > 1 else 0
    return [pool[at * step : at * step + size] for at in range(count) if at * step + size <= pool.size]


class CpuArm:
    """The host, one thread unless more are asked for."""

    kind, decode_reads = "cpu", "k"

    def __init__(self, *, threads: int = 1, backend: BackendName = "auto", pool_bytes: int | None = None) -> None:
        self.threads, self.backend = threads, backend
        wanted = CACHES * bench_facts.last_level_cache() if pool_bytes is None else pool_bytes
        size = min(wanted, bench_facts.memory_bytes() // 8) // 4096 * 4096
        self.device = bench_facts.cpu_slug() + (f"-{threads}-threads" if threads > 1 else "")
        self.pool = np.frombuffer(np.random.default_rng(20260101).bytes(size), dtype=np.uint8).copy()
        self.out = np.ones(size // 2, dtype=np.uint8)
        self.reach = size
        large = size // FEWEST_SETS
        self.sizes: tuple[int, ...] = (large, large // 8, large // 64)
        # One thread's own time is what a busy machine leaves comparable; the time of several is that on the wall.
        self.clock = time.thread_time if threads == 1 else time.perf_counter

    def code(self, k: int, m: int) -> Code:
        return Code(k, m, backend=self.backend, threads=self.threads)

    def seconds(self, calls: Sequence[Call], start: int, inner: int) -> float:
        began = self.clock()
        for at in range(start, start + inner):
            calls[at % len(calls)]()
        return (self.clock() - began) / inner

    def inner(self, seconds: float) -> int:
        return max(1, min(64, round(1e-4 / max(seconds, 1e-7))))

    def batched(self, calls: Sequence[Call]) -> tuple[Sequence[Call], int]:
        return calls, 1

    def ceilings(self) -> Iterator[Ceiling]:
        for size in self.sizes:
            half = size // 2
            pairs = list(zip(places(self.pool, half), places(self.out, half), strict=False))
            yield Ceiling("copy", half, half, [partial(np.copyto, b, a) for a, b in pairs])
        large = self.sizes[0]
        yield Ceiling("read", large, 0, [piece.view(np.uint64).max for piece in places(self.pool, large)])
        wide = large // 2
        yield Ceiling("write", 0, wide, [partial(piece.fill, 90) for piece in places(self.out, wide)])
        code = self.code(2, 1)
        yield Ceiling("launch", 0, 0, [lambda: code.encode(self.pool[:128].reshape(2, 64), self.out[None, :64])])

    def host(self, array: Any) -> Any:
        return array

    def facts(self) -> dict[str, str]:
        kind = "CPU time of the thread" if self.threads == 1 else "wall time"
        return {
            **bench_facts.cpu_facts(),
            **bench_facts.software_facts(),
            "threads": str(self.threads),
            "backend": self.code(8, 2).describe(),
            "buffers": f"{self.pool.size} random bytes, {self.pool.size / bench_facts.last_level_cache():.2g} caches",
            "clock": f"{kind}, back-to-back calls where one is under 0.1 ms",
        }

    def state(self, when: str) -> dict[str, str]:
        return bench_facts.load(when)
