"""CPU encoding beside Intel's ISA-L 2.32, in one process, on the same buffers, in CPU time of one thread.

    python benchmarks/codec_cpu.py [--quick]

Three ratios (ISA-L's time ÷ ours, medians of paired rounds), for three ways to use ISA-L: `ec_encode_data` called once
for whole shards, as its interface invites (the goals are about this one); the same library driven with our tiling; and
its best entry for the code (`xor_gen`, `pq_gen`). Ours is `Code.encode` on buffers that it has seen before, as ISA-L
has its tables and pointers made ready; a first call on new ones takes some 30 µs more. A second table holds both sides
to AVX2, the instructions of the machine on which the goals were set. Needs numba and pyeclib.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import binding
from numpy.typing import NDArray

from gemsim_kernels import cpu
from gemsim_kernels.codec import Code
from gemsim_kernels.matrices import Construction

SHARD = 1 << 20
STRIDE = SHARD + 4096 + 64  # rows that do not begin at the same place of a page
CASES = ((8, 2, 1.0), (8, 4, 0.9), (32, 2, 3.0), (64, 4, 3.0), (256, 1, 3.0), (16, 8, 1.8))
TILES = (1 << 14, 1 << 15, 1 << 16)
Run = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Entries:
    """ISA-L's functions for one kind of CPU."""

    tables: str
    encode: str
    update: str
    xor: str
    pq: str


NATIVE = Entries("ec_init_tables", "ec_encode_data", "ec_encode_data_update", "xor_gen", "pq_gen")
AVX2 = Entries("ec_init_tables_base", "ec_encode_data_avx2", "ec_encode_data_update_avx2", "xor_gen_avx", "pq_gen_avx2")


def isal() -> Any:
    """The library inside pyeclib's wheel."""
    found = find_spec("pyeclib")
    for place in found.submodule_search_locations or () if found else ():
        for file in Path(place).parent.glob("pyeclib.libs/libisal*.so*"):
            return ctypes.CDLL(str(file))
    raise SystemExit("no ISA-L here; install it with: pip install pyeclib (its Linux wheels carry ISA-L 2.32)")


def function(library: Any, name: str, arguments: int) -> Any:
    """An entry that compiled code can call too: every argument a word."""
    return ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_size_t] * arguments)((name, library))


@numba.njit
def by_tiles(call, k, m, tables, rows, sources, outputs, size, tile):  # type: ignore[no-untyped-def]
    """ec_encode_data on one tile of columns after the other."""
    for at in range(0, size, tile):
        for j in range(k):
            rows[j] = sources[j] + np.uint64(at)
        for i in range(m):
            rows[k + i] = outputs[i] + np.uint64(at)
        call(min(tile, size - at), k, m, tables, rows.ctypes.data, rows[k:].ctypes.data)


@numba.njit
def by_updates(call, k, m, tables, rows, sources, outputs, size, tile, zero):  # type: ignore[no-untyped-def]
    """ec_encode_data_update, one source at a time, into a tile of parity that stays in cache."""
    for at in range(0, size, tile):
        for i in range(m):
            rows[k + i] = outputs[i] + np.uint64(at)
            zero[i, at : at + tile] = 0
        for j in range(k):
            call(min(tile, size - at), k, m, j, tables, sources[j] + np.uint64(at), rows[k:].ctypes.data)


class Rival:
    """ISA-L on the same shards as ours."""

    def __init__(self, library: Any, entries: Entries, code: Construction, data: NDArray[np.uint8]) -> None:
        self.library, self.entries, self.code = library, entries, code
        self.room = np.empty((code.m + 1, STRIDE), dtype=np.uint8)
        skip = -self.room.ctypes.data % 64
        flat = self.room.reshape(-1)[skip : skip + code.m * STRIDE]
        self.parity = flat.reshape(code.m, STRIDE)[:, :SHARD]
        self.sources, self.outputs = (
            np.array([row.ctypes.data for row in rows], dtype=np.uint64) for rows in (data, self.parity)
        )
        self.rows = np.concatenate([self.sources, self.outputs])
        self.tables = np.zeros(32 * code.k * code.m, dtype=np.uint8)
        self.matrix = np.ascontiguousarray(code.generator)
        function(library, entries.tables, 4)(code.k, code.m, self.matrix.ctypes.data, self.tables.ctypes.data)

    def plain(self) -> Run:
        call, code = function(self.library, self.entries.encode, 6), self.code
        places = self.tables.ctypes.data, self.sources.ctypes.data, self.outputs.ctypes.data
        return lambda: call(SHARD, code.k, code.m, *places)

    def tiled(self) -> list[Run]:
        encode = function(self.library, self.entries.encode, 6)
        update = function(self.library, self.entries.update, 7)
        rows, code = self.rows.copy(), self.code
        same = code.k, code.m, self.tables.ctypes.data, rows, self.sources, self.outputs, SHARD
        return [
            *((lambda tile=tile: by_tiles(encode, *same, tile)) for tile in TILES),
            *((lambda tile=tile: by_updates(update, *same, tile, self.parity)) for tile in TILES),
        ]

    def best(self) -> Run | None:
        name = {"xor": self.entries.xor, "pq": self.entries.pq}.get(self.code.family.name)
        if name is None:
            return None
        call, count, rows = function(self.library, name, 3), len(self.rows), self.rows.ctypes.data
        return lambda: call(count, SHARD, rows)


def seconds(run: Run, repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        start = time.thread_time()
        run()
        taken.append(time.thread_time() - start)
    return statistics.median(taken)


def measure(k: int, m: int, level: cpu.Level, entries: Entries, library: Any, rounds: int) -> tuple[float, list[float]]:
    """Our GB/s of data, and the three ratios (nan where ISA-L has no such entry), verified before they are timed."""
    code = Code(k, m)
    room = np.empty(k * STRIDE + 64, dtype=np.uint8)
    data = room[-room.ctypes.data % 64 :][: k * STRIDE].reshape(k, STRIDE)
    data[...] = np.random.default_rng(k).integers(0, 256, data.shape, dtype=np.uint8)
    parity = np.empty((m, STRIDE), dtype=np.uint8)
    backend = cpu.backend(1, level)
    code._backend = lambda on_gpu: backend  # type: ignore[method-assign]
    rival = Rival(library, entries, code.construction, data)
    ours: Run = lambda: code.encode(data[:, :SHARD], parity[:, :SHARD])  # noqa: E731
    ours()
    ways = [rival.plain(), *rival.tiled()]
    best = rival.best()
    for way in [*ways, *([best] if best else [])]:
        rival.parity[...] = 0
        way()
        if not np.array_equal(rival.parity, parity[:, :SHARD]):
            raise SystemExit(f"{k} + {m}: ISA-L and gemsim disagree")
    repeats = max(1, 64 // k)
    tiled = min(ways[1:], key=lambda way: min(seconds(way, repeats) for _ in range(2)))
    contest = [ours, ways[0], tiled, *([best] if best else [])]
    times = [[seconds(run, repeats) for run in contest] for _ in range(rounds)]
    ratios = [statistics.median(row[way] / row[0] for row in times) for way in range(1, len(contest))]
    speed = k * SHARD / 1e9 / statistics.median(row[0] for row in times)
    return speed, [*ratios, float("nan")][:3]


def table(title: str, level: cpu.Level, entries: Entries, library: Any, rounds: int) -> None:
    print(f"\n{title}")
    print(f"{'code':>8}{'GB/s':>8}{'÷ plain':>10}{'÷ tiled':>10}{'÷ best':>10}{'goal':>8}  verdict   worst")
    for k, m, goal in CASES:
        speed, ratios = measure(k, m, level, entries, library, rounds)
        shown = "".join(f"{ratio:10.2f}" if ratio == ratio else f"{'–':>10}" for ratio in ratios)
        worst = min(ratio for ratio in ratios if ratio == ratio)
        verdict = "met" if ratios[0] >= goal else "missed"
        print(f"{k:>5}+{m:<2}{speed:8.1f}{shown}{goal:8.1f}  {verdict:<8}{worst:7.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="3 rounds instead of 11")
    rounds = 3 if parser.parse_args().quick else 11
    library, best = isal(), cpu.levels()[0]
    named = sorted(cpu.features() & {"ssse3", "avx2", "avx512bw", "avx512vl", "gfni"})
    print(f"CPU: {binding.get_host_cpu_name()}, {', '.join(named)}; shards of 1 MiB, rows padded, 1 thread")
    table(f"Ours: {best.name}; ISA-L: what it picks on this CPU", best, NATIVE, library, rounds)
    for level in cpu.levels():
        if level.name == "AVX2" and level != best:
            table("Both held to AVX2", level, AVX2, library, rounds)


if __name__ == "__main__":
    main()
