"""Encoding on the host with Numba: vector kernels of `simd` over tiles of columns, chosen by what the CPU can do.

A tile of all outputs stays in the cache while sources are added a few at a time, so that a wide stripe is not read as
hundreds of streams at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numba
import numpy as np
from llvmlite import binding
from numba.core import config
from numpy.typing import NDArray

from gemsim_kernels import numpy_path
from gemsim_kernels.fields import Elements, galois_field
from gemsim_kernels.host import HostBackend
from gemsim_kernels.matrices import Construction
from gemsim_kernels.shards import Array, Views, starts, steps
from gemsim_kernels.simd import Shape, block

_TILE = 1 << 15  # bytes of a shard
_GROUP = 32  # sources read side by side
_PLANS = 64
_PIECE = 1 << 12  # threads share a stripe in multiples of this many bytes


@dataclass(frozen=True, slots=True)
class Level:
    """How products are made, and how wide a vector is, for a kind of CPU."""

    name: str
    method: str
    width: int
    needs: frozenset[str]


LEVELS = (
    Level("AVX-512 and GFNI", "gfni", 64, frozenset({"avx512bw", "avx512vl", "gfni"})),
    Level("AVX2 and GFNI", "gfni", 32, frozenset({"avx2", "gfni"})),
    Level("AVX-512", "pshufb", 64, frozenset({"avx512bw", "avx512vl"})),
    Level("AVX2", "pshufb", 32, frozenset({"avx2"})),
    Level("SSSE3", "pshufb", 16, frozenset({"ssse3"})),
    Level("plain vectors", "masks", 16, frozenset()),
)


def features() -> frozenset[str]:
    """The CPU features that numba compiles for: the host's, less what numba's settings switch off."""
    if config.CPU_FEATURES is not None:
        return frozenset(one[1:] for one in config.CPU_FEATURES.split(",") if one.startswith("+"))
    if config.CPU_NAME == "generic":
        return frozenset()
    host = binding.get_host_cpu_features()
    return frozenset(name for name, on in host.items() if on and (config.ENABLE_AVX or "avx" not in name))


def levels() -> list[Level]:
    """What this machine can run, best first."""
    return [level for level in LEVELS if level.needs <= features()]


def shape_for(matrix: Elements, bits: int, accumulate: bool, level: Level) -> Shape:
    """The kernel for this matrix: as few instructions for a byte as its rows and the CPU allow."""
    rows, k = matrix.shape
    gf = galois_field(bits)
    ones = int(bool((matrix[0] == 1).all()))
    if rows == 1 and ones:
        return Shape("xor", level.width, 8, 1, 1, 8 if level.width == 64 else 4)
    powers = rows <= 3 and all((matrix[i] == gf.power(i * np.arange(k))).all() for i in range(rows))
    if powers and not accumulate and level.method != "gfni":
        return Shape("horner", level.width, bits, rows, 1, 4 if rows == 2 else 2)
    wide = level.method == "gfni" and level.width == 64  # 32 registers, and few needed for products
    halves = 2 if bits == 16 and level.method != "masks" else 1
    groups = -(-rows * halves // (8 if wide else 4))
    together = -(-rows // groups)
    sums = 16 if wide and (together > 2 or k <= 16) else 8  # wide stripes of few rows do better in smaller blocks
    units = max(1, sums // halves // together)
    return Shape(level.method, level.width, bits, together, ones if groups == 1 else 0, units)


def tables(matrix: Elements, shape: Shape) -> NDArray[np.uint8]:
    """(k, rows, bytes): what each coefficient's linear map needs in the kernel."""
    gf = galois_field(shape.bits)
    images = gf.images(matrix.T)  # (k, rows, bits): bit b of the symbol becomes images[..., b]
    if shape.method == "masks":
        return np.ascontiguousarray(images).view(np.uint8).reshape(*matrix.T.shape, -1)
    shifts = (8 * np.arange(shape.bits // 8)).astype(images.dtype)
    columns = images[..., None, :] >> shifts[:, None] & 255  # output byte, input bit
    maps = columns.reshape(*matrix.T.shape, -1, 8).astype(np.uint8)  # (k, rows, output byte x input byte, 8)
    made = _affine(maps) if shape.method == "gfni" else _nibbles(maps)
    return np.ascontiguousarray(made).reshape(*matrix.T.shape, -1)


def _affine(maps: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Row r of the bit matrix, the input bits that feed output bit r, in byte 7 - r of a 64-bit word."""
    bits = maps[..., None, :] >> np.arange(7, -1, -1, dtype=np.uint8)[:, None] & 1
    return np.packbits(bits, axis=-1, bitorder="little")[..., 0]


def _nibbles(maps: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The images of the 16 low nibbles, then of the 16 high ones."""
    made = np.zeros((*maps.shape[:-1], 2, 16), dtype=np.uint8)
    for value in range(16):
        for bit in range(4):
            if value >> bit & 1:
                made[..., 0, value] ^= maps[..., bit]
                made[..., 1, value] ^= maps[..., 4 + bit]
    return made


@cache
def kernel(shape: Shape) -> Callable[..., None]:
    """Compiled at its first call: run(addresses (stripes, k), addresses (stripes, m), tables, stripes begin to end,
    columns low to high, bytes of a tile, sources at a time, whether to add to what the outputs hold)."""
    single = replace(shape, units=1)
    many, one, rest = block(shape), block(single), block(single, rest=True)
    rows, step, size = shape.rows, shape.step, shape.table_bytes
    wide = step * shape.units

    @numba.njit(nogil=True)
    def run(addresses, into, maps, begin, end, low, high, tile, group, accumulate):  # type: ignore[no-untyped-def]
        k, m = addresses.shape[1], into.shape[1]
        table = np.int64(maps.ctypes.data)  # signed throughout: numba makes floats of mixtures
        for stripe in range(begin, end):
            inputs = np.int64(addresses.ctypes.data) + 8 * k * stripe
            for left in range(low, high, tile):
                right = min(left + tile, high)
                for row in range(0, m, rows):
                    first = min(row, m - rows)  # the last rows again where they do not divide: same bytes
                    outputs = np.int64(into.ctypes.data) + 8 * (m * stripe + first)
                    for last in range(k, 0, -group):
                        until = max(last - group, 0)
                        fresh = last == k and not accumulate
                        at = left
                        while at + wide <= right:
                            many(inputs, outputs, table + first * size, m * size, last, until, at, 0, fresh)
                            at += wide
                        while at + step <= right:
                            one(inputs, outputs, table + first * size, m * size, last, until, at, 0, fresh)
                            at += step
                        if at < right:
                            rest(inputs, outputs, table + first * size, m * size, last, until, at, right - at, fresh)

    return run  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False, slots=True)
class _Plan:
    """A matrix made ready: its kernel and what that reads. `matrix` is held so that no other can take its identity."""

    matrix: Elements
    rows: int
    run: Callable[..., None]
    table: NDArray[np.uint8]


def _plan(matrix: Elements, bits: int, accumulate: bool, level: Level) -> _Plan:
    """At this level, or at the best below it whose kernel proves right on this machine."""
    for each in LEVELS[LEVELS.index(level) :]:
        shape = shape_for(matrix, bits, accumulate, each)
        if each.needs <= features() and proven(shape):
            return _Plan(matrix, shape.rows, kernel(shape), _table(matrix, shape))
    raise RuntimeError(f"numba {numba.__version__} compiles no kernel rightly here; pass backend='numpy'")


def _table(matrix: Elements, shape: Shape) -> NDArray[np.uint8]:
    return tables(matrix, shape).reshape(-1) if shape.table_bytes else np.zeros(1, dtype=np.uint8)


@cache
def proven(shape: Shape) -> bool:
    """Whether the kernel, as compiled here, equals NumPy on random bytes: old LLVMs (numba 0.60) get GFNI wrong."""
    gf, k, random = galois_field(shape.bits), 5, np.random.default_rng(shape.rows)
    matrix = random.integers(2, gf.order, (shape.rows, k)).astype(gf.dtype)
    matrix[: shape.ones] = 1
    if shape.method == "horner":
        matrix = gf.power(np.arange(shape.rows)[:, None] * np.arange(k))
    size = shape.step * (2 * shape.units + 1) + 6
    data = list(random.integers(0, 256, (k, 1, size), dtype=np.uint8))
    for accumulate in (False, True) if shape.method != "horner" else (False,):
        found, expected = (list(np.full((shape.rows, 1, size), 77, dtype=np.uint8)) for _ in range(2))
        plan = _Plan(matrix, shape.rows, kernel(shape), _table(matrix, shape))
        _prepared(plan, data, found, accumulate, 1, None)()
        numpy_path.combine(matrix, data, expected, bits=shape.bits, accumulate=accumulate)
        if not np.array_equal(found, expected):
            warnings.warn(f"numba {numba.__version__} miscompiles {shape}; a slower kernel is taken", stacklevel=2)
            return False
    return True


class _Plans:
    """The plans last used. A generator, which is read-only, is known by its identity; others are made anew."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self.known: dict[tuple[int, int, bool], _Plan] = {}

    def of(self, matrix: Elements, bits: int, accumulate: bool) -> _Plan:
        key = id(matrix), bits, accumulate
        found = self.known.get(key)
        if found is None:
            found = _plan(matrix, bits, accumulate, self.level)
            if not matrix.flags.writeable:
                if len(self.known) >= _PLANS:
                    self.known.clear()
                self.known[key] = found
        return found


def _addresses(views: Sequence[Array]) -> NDArray[np.int64]:
    """(stripes, shards): where each row of each view begins."""
    begin = starts(views)
    stripes = views[0].shape[0]
    if stripes == 1:
        return begin.reshape(1, -1)
    return np.asarray(begin + np.arange(stripes)[:, None] * steps(views), dtype=np.int64)


def _jobs(stripes: int, size: int, threads: int) -> list[tuple[int, int, int, int]]:
    """(first stripe, end, low, high) for each thread: whole stripes where there are enough, columns otherwise."""
    if stripes >= threads:
        edges = [stripes * index // threads for index in range(threads + 1)]
        return [(a, b, 0, size) for a, b in pairwise(edges) if b > a]
    pieces = -(-size // _PIECE)
    cuts = [min(size, pieces * index // threads * _PIECE) for index in range(threads + 1)]
    return [(0, stripes, a, b) for a, b in pairwise(cuts) if b > a]


def backend(threads: int = 1, level: Level | None = None) -> HostBackend:
    """Numba's backend with so many threads, at this machine's best level unless one is named."""
    chosen = level or levels()[0]
    pool = ThreadPoolExecutor(threads, thread_name_prefix="gemsim-codec") if threads > 1 else None

    plans = _Plans(chosen)

    def combine(
        matrix: Elements, sources: Sequence[Array], outputs: Sequence[Array], *, bits: int, accumulate: bool
    ) -> None:
        plan = plans.of(matrix, bits, accumulate)
        rows = matrix.shape[0]
        if not accumulate or plan.rows == rows:
            _prepared(plan, sources, outputs, accumulate, threads, pool)()
            return
        for first in range(0, rows, plan.rows):  # apart, as a row done twice would be added twice
            part = slice(first, first + plan.rows)
            _prepared(plans.of(matrix[part], bits, True), sources, outputs[part], True, threads, pool)()

    def prepare(code: Construction, data: Views, parity: Views) -> Callable[[], None]:
        return _prepared(plans.of(code.generator, code.bits, False), data, parity, False, threads, pool)

    unit = "thread" if threads == 1 else "threads"
    return HostBackend("numba", combine, lambda: f"numba: {chosen.name}, {threads} {unit}", prepare)


def _prepared(
    plan: _Plan, sources: Views, outputs: Views, accumulate: bool, threads: int, pool: ThreadPoolExecutor | None
) -> Callable[[], None]:
    """The work, its addresses looked up. It holds no array: whoever runs it sees to it that they are still there."""
    inputs, into = _addresses(sources), _addresses(outputs)
    stripes, size = outputs[0].shape
    run, table = plan.run, plan.table
    if pool is None:
        return lambda: run(inputs, into, table, 0, stripes, 0, size, _TILE, _GROUP, accumulate)

    def one(job: tuple[int, int, int, int]) -> None:
        run(inputs, into, table, *job, _TILE, _GROUP, accumulate)

    jobs = _jobs(stripes, size, threads)
    return lambda: list(pool.map(one, jobs)).clear()
