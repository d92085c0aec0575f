"""Our bytes against two libraries that share no line with ours: Intel's ISA-L (in pyeclib's wheel) and galois."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gemsim_kernels import Code
from gemsim_kernels.fields import POLYNOMIAL, galois_field
from gemsim_kernels.matrices import recovery
from tests.kernels.guarded import random_shards


def _isal() -> Any:
    found = find_spec("pyeclib")
    places = [Path(place) for place in (found.submodule_search_locations or ())] if found else []
    files = [file for place in places for file in place.parent.glob("pyeclib.libs/libisal*.so*")]
    return ctypes.CDLL(str(files[0])) if files else None


ISAL = _isal()
needs_isal = pytest.mark.skipif(ISAL is None, reason="no ISA-L: pip install pyeclib (Linux wheels carry it)")
Matrix = NDArray[np.uint8]


def _encoded(generator: Matrix, data: Matrix) -> Matrix:
    """ISA-L's ec_encode_data with any generator."""
    (m, k), n = generator.shape, data.shape[1]
    tables, parity = ctypes.create_string_buffer(32 * k * m), np.zeros((m, n), dtype=np.uint8)
    ISAL.ec_init_tables(k, m, np.ascontiguousarray(generator).tobytes(), tables)
    sources, targets = ((ctypes.c_void_p * len(rows))(*[row.ctypes.data for row in rows]) for rows in (data, parity))
    ISAL.ec_encode_data(n, k, m, tables, sources, targets)
    return parity


def _isal_rows(maker: str, k: int, m: int) -> Matrix:
    whole = np.zeros((k + m, k), dtype=np.uint8)
    getattr(ISAL, maker)(ctypes.c_void_p(whole.ctypes.data), k + m, k)
    return whole[k:]


@needs_isal
@pytest.mark.parametrize("k", [1, 2, 8, 21, 100, 254])
def test_generator_rows_are_those_of_isal(k: int) -> None:
    for m in (1, 2, 3):
        assert np.array_equal(Code(k, m, field=8).generator, _isal_rows("gf_gen_rs_matrix", k, m))
    for m in (1, 2, 4, 8):
        if k + m <= 256:
            cauchy = Code(k, m, field=8, matrix="cauchy").generator
            assert np.array_equal(cauchy, _isal_rows("gf_gen_cauchy1_matrix", k, m))


@needs_isal
@pytest.mark.parametrize("backend", ["auto", "numpy", "reference"])
@pytest.mark.parametrize("matrix", [None, "cauchy"])
@pytest.mark.parametrize("m", range(1, 9))
def test_parity_is_that_of_isal(m: int, matrix: str | None, backend: Any) -> None:
    for k in (1, 2, 7, 16, 33, 100, 247) if backend == "auto" else (1, 5, 40):
        code = Code(k, m, field=8, matrix=matrix, backend=backend)
        data = random_shards(k, 333, k + m)
        assert np.array_equal(code.encode(data), _encoded(code.generator, data))


@needs_isal
@pytest.mark.parametrize(("k", "m"), [(6, 2), (10, 4), (20, 8)])
def test_what_isal_encodes_we_decode_and_the_other_way_round(k: int, m: int) -> None:
    code = Code(k, m, field=8)
    data = random_shards(k, 200, k)
    lost = list(range(1, m + 1))
    left = [None if index in lost else row for index, row in enumerate([*data, *_encoded(code.generator, data)])]
    assert np.array_equal(np.stack(code.decode(left, lost)), data[lost])
    matrix, sources = recovery(code.construction, lost, lost)
    survivors = np.concatenate([data, code.encode(data)])[sources]
    assert np.array_equal(_encoded(matrix, survivors), data[lost])


@needs_isal
def test_p_and_q_are_those_of_isals_raid() -> None:
    for k in (2, 8, 30):
        room = np.zeros((k + 3) * 512, dtype=np.uint8)
        start = -room.ctypes.data % 64
        shards = room[start : start + (k + 2) * 512].reshape(k + 2, 512)
        shards[:k] = random_shards(k, 512, k)
        rows = (ctypes.c_void_p * (k + 2))(*[row.ctypes.data for row in shards])
        assert ISAL.pq_gen(k + 2, 512, rows) == 0
        assert np.array_equal(Code(k, 2).encode(shards[:k].copy()), shards[k:])
        assert ISAL.xor_gen(k + 1, 512, rows) == 0
        assert np.array_equal(Code(k, 1).encode(shards[:k].copy())[0], shards[k])


@pytest.mark.parametrize("bits", [8, 16])
def test_galois_agrees_on_products_and_parity(bits: int) -> None:
    galois = pytest.importorskip("galois", reason="galois is not installed: pip install galois")
    oracle = galois.GF(2**bits, irreducible_poly=POLYNOMIAL[bits], primitive_element=2, verify=False)
    gf = galois_field(bits)
    a, b = np.random.default_rng(bits).integers(0, 1 << bits, (2, 3_000)).astype(gf.dtype)
    assert np.array_equal(gf.multiply(a, b), np.asarray(oracle(a) * oracle(b)))
    nonzero = a[a > 0]
    assert np.array_equal(gf.inverse(nonzero), np.asarray(oracle(1) / oracle(nonzero)))
    for k, m, matrix in ((9, 2, None), (9, 4, None), (5, 8, None), (6, 3, "cauchy")):
        code = Code(k, m, field=bits, matrix=matrix)  # type: ignore[arg-type]
        data = random_shards(k, 64, k)
        words = data.view("<u2") if bits == 16 else data
        expected = np.asarray(oracle(code.generator.astype(gf.dtype)) @ oracle(words)).astype(gf.dtype)
        assert np.array_equal(code.encode(data), expected.view(np.uint8))
