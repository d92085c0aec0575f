"""The Numba backend at every level of CPU features found here, against the reference, and its machine code."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from gemsim_kernels import Code, backends, reference
from gemsim_kernels.codes import Field
from gemsim_kernels.matrices import construct
from tests.kernels.guarded import Guarded

if isinstance(backends._numba(1), str):
    pytest.skip(f"{backends._numba(1)}: pip install 'gemsim[fast]'", allow_module_level=True)

from gemsim_kernels import cpu
from gemsim_kernels.simd import Shape

LEVELS = [
    pytest.param(
        level,
        id=level.name.replace(" ", "-"),
        marks=pytest.mark.skipif(level not in cpu.levels(), reason=f"this CPU has no {level.name}"),
    )
    for level in cpu.LEVELS
]
# (k, m, field, matrix, add to what is there): each kind of kernel, with rows that do not divide and both ways to start
CASES: list[tuple[int, int, Field, str | None, bool]] = [
    (3, 1, 8, None, False),
    (3, 1, 8, None, True),
    (9, 2, 8, None, False),
    (7, 5, 8, "cauchy", False),
    (7, 3, 8, "cauchy", True),
    (5, 3, 16, None, False),
    (5, 4, 16, "cauchy", False),
    (5, 4, 16, "cauchy", True),
]
LENGTHS = (2, 30, 32, 62, 64, 128, 190, 514, 1_026, 4_130)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("k", "m", "field", "matrix", "add"), CASES)
def test_each_level_gives_the_bytes_of_the_reference(
    level: cpu.Level, k: int, m: int, field: Field, matrix: str | None, add: bool
) -> None:
    code = construct(k, m, field, matrix)
    combine = cpu.backend(1, level).combine
    for n in LENGTHS:
        data, parity = Guarded([n] * k, seed=n), Guarded([n] * m, seed=n + 1)
        expected = [shard.copy()[None] for shard in parity.shards]
        sources = [shard[None] for shard in data.shards]
        reference.combine(code.generator, sources, expected, bits=code.bits, accumulate=add)
        combine(code.generator, sources, [shard[None] for shard in parity.shards], bits=code.bits, accumulate=add)
        data.assert_unchanged()
        parity.assert_canaries()
        assert all(np.array_equal(a, b[0]) for a, b in zip(parity.shards, expected, strict=True)), n


@pytest.mark.parametrize(
    ("k", "n"), [(31, 100), (32, 100), (33, 100), (65, 33), (2, 32_768), (2, 32_770), (40, 65_602)]
)
def test_groups_of_sources_and_tiles_of_columns_join(k: int, n: int) -> None:
    for m, field in ((2, 8), (4, 8), (1, 8), (2, 16)):
        code = Code(k, m, field=field, backend="numba")  # type: ignore[arg-type]
        data = np.random.default_rng(k).integers(0, 256, (k, n - n % code.symbol_bytes), dtype=np.uint8)
        expected = Code(k, m, field=field, backend="numpy").encode(data)  # type: ignore[arg-type]
        assert np.array_equal(code.encode(data), expected)


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_threads_change_no_byte(threads: int) -> None:
    for stripes, n in ((1, 50_001), (4, 5_000), (7, 33), (2, 9_001), (1, 10)):
        data = np.random.default_rng(n).integers(0, 256, (stripes, 6, n), dtype=np.uint8)
        one, many = (Code(6, 2, backend="numba", threads=count).encode(data) for count in (1, threads))
        assert np.array_equal(one, many)
        assert f"{threads} threads" in Code(6, 2, backend="numba", threads=threads).describe()


def test_jobs_cover_every_column_of_every_stripe_once() -> None:
    for stripes, size, threads in ((1, 5, 4), (1, 4096, 2), (1, 100_000, 7), (3, 100, 2), (9, 100, 4), (2, 9000, 3)):
        seen = np.zeros((stripes, size), dtype=np.int64)
        for first, end, low, high in cpu._jobs(stripes, size, threads):
            seen[first:end, low:high] += 1
        assert (seen == 1).all()


# what the inner loops must be made of
INSTRUCTIONS = {
    ("gfni", 64): r"vgf2p8affineqb\s.*%zmm",
    ("gfni", 32): r"vgf2p8affineqb\s.*%ymm",
    ("pshufb", 64): r"vpshufb\s.*%zmm",
    ("pshufb", 32): r"vpshufb\s.*%ymm",
    ("pshufb", 16): r"v?pshufb\s.*%xmm",
    ("masks", 16): r"v?pxor[qd]?\s.*%xmm|vpternlog",
}


@pytest.mark.parametrize("level", LEVELS)
def test_the_inner_loops_are_vectors(level: cpu.Level) -> None:
    for m, matrix in ((2, None), (3, "cauchy"), (1, None)):
        code = construct(9, m, 8, matrix)
        shape = cpu.shape_for(code.generator, 8, False, level)
        run = cpu.kernel(shape)
        data = np.zeros((9, 1, 64), dtype=np.uint8)
        cpu.backend(1, level).combine(
            code.generator, list(data), list(np.zeros((m, 1, 64), dtype=np.uint8)), bits=8, accumulate=False
        )
        text = "\n".join(run.inspect_asm().values())  # type: ignore[attr-defined]
        register = {64: "%zmm", 32: "%ymm", 16: "%xmm"}[level.width]
        if shape.method in ("gfni", "pshufb", "masks"):
            found = re.findall(INSTRUCTIONS[level.method, level.width], text)
            assert len(found) >= (shape.rows - shape.ones) * shape.units, (level.name, m)
        sums = re.findall(rf"v?p(?:xor[qd]?|ternlog[qd])\s.*{register}", text)
        assert len(sums) >= shape.rows * shape.units, (level.name, m)


@pytest.mark.filterwarnings("ignore:numba .* miscompiles")
def test_a_kernel_compiled_wrongly_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    right = cpu.kernel

    def wrong(shape: Shape) -> Any:
        return right(shape) if shape.method == "masks" else lambda *_arguments: None

    monkeypatch.setattr(cpu, "kernel", wrong)
    cpu.proven.cache_clear()
    code, data = construct(6, 4), np.random.default_rng(0).integers(0, 256, (6, 1, 200), dtype=np.uint8)
    found, expected = np.zeros((2, 4, 1, 200), dtype=np.uint8)
    cpu.backend(1).combine(code.generator, list(data), list(found), bits=8, accumulate=False)
    reference.combine(code.generator, list(data), list(expected), bits=8, accumulate=False)
    cpu.proven.cache_clear()
    assert np.array_equal(found, expected)


def test_settings_of_numba_limit_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.config.CPU_NAME", "generic")
    assert cpu.levels()[0].name == "plain vectors"
    monkeypatch.setattr("numba.core.config.CPU_FEATURES", "+ssse3,+avx2,-gfni")
    assert cpu.levels()[0].name == "AVX2"
