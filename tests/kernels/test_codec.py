"""The codec on the host: every loss of small codes, random losses of wide ones, every layout, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gemsim_kernels
from gemsim_kernels import BadShards, Code, backends, reference
from gemsim_kernels.backends import BackendName
from gemsim_kernels.codes import Field
from tests.kernels.guarded import POISON, Guarded, random_shards

needs_numba = pytest.mark.skipif(isinstance(backends._numba(1), str), reason="numba is not installed")
HOST = ["reference", "numpy", pytest.param("numba", marks=needs_numba)]
FAST: BackendName = "numpy" if isinstance(backends._numba(1), str) else "numba"
SMALL = [(1, 0), (1, 1), (4, 1), (1, 2), (5, 2), (4, 3), (1, 4), (4, 4), (3, 5), (3, 6), (2, 7), (2, 8)]


def _lost_of(code: Code) -> list[tuple[int, ...]]:
    return [lost for count in range(code.m + 1) for lost in combinations(range(code.k + code.m), count)]


@pytest.mark.parametrize("backend", HOST)
@pytest.mark.parametrize("field", [8, 16])
@pytest.mark.parametrize(("k", "m"), SMALL)
def test_every_loss_of_small_codes(k: int, m: int, field: Field, backend: BackendName) -> None:
    code = Code(k, m, field=field, backend=backend)
    n = 37  # odd: over GF(2^16) the last symbol is padded
    shards = [*random_shards(k, n, 1)]
    shards += list(code.encode(shards))
    patterns = _lost_of(code)
    for lost in patterns if backend != "reference" else patterns[::7]:
        left = [None if index in lost else shard for index, shard in enumerate(shards)]
        out = [np.full_like(shards[index], POISON) for index in lost]
        for index, found in zip(lost, code.decode(left, lost, out), strict=True):
            assert np.array_equal(found, shards[index]), lost


@pytest.mark.parametrize("matrix", ["cauchy", None])
@pytest.mark.parametrize(
    ("k", "m", "n"),
    [(64, 4, 130), (200, 3, 66), (247, 8, 64), (333, 2, 129), (400, 4, 98), (1000, 8, 40), (4096, 4, 6)],
)
def test_random_losses_of_wide_codes(k: int, m: int, n: int, matrix: str | None) -> None:
    code = Code(k, m, matrix=matrix, backend=FAST)
    random = np.random.default_rng(k)
    shards = [*random_shards(k, n, 2)]
    shards += list(code.encode(shards))
    for _ in range(6):
        lost = random.choice(k + m, size=int(random.integers(1, m + 1)), replace=False).tolist()
        left = [None if index in lost else shard for index, shard in enumerate(shards)]
        found = code.decode(left, lost)
        plain = reference.decode(code.construction, left, lost) if k <= 64 else [shards[index] for index in lost]
        for index, one, other in zip(lost, found, plain, strict=True):
            assert np.array_equal(one, shards[index])
            assert np.array_equal(one, other[: one.size])


def test_a_wide_code_against_the_reference() -> None:
    for k, m, field in ((4096, 4, 16), (300, 3, 16), (255, 3, 8), (700, 1, 8)):
        data = random_shards(k, 10, 5)
        fast, slow = (Code(k, m, field=field, backend=name).encode(data) for name in (FAST, "reference"))  # type: ignore[arg-type]
        assert np.array_equal(fast, slow)


@settings(max_examples=60, deadline=None)
@given(
    k=st.integers(1, 20), m=st.integers(0, 8), n=st.integers(0, 300), field=st.sampled_from([8, 16]),
    cauchy=st.booleans(), seed=st.integers(0, 1 << 30), stripes=st.integers(1, 3),
)  # fmt: skip
def test_any_shape_round_trips_within_its_bytes(
    k: int, m: int, n: int, field: Field, cauchy: bool, seed: int, stripes: int
) -> None:
    code = Code(k, m, field=field, matrix="cauchy" if cauchy else None, backend=FAST)
    plain = Code(k, m, field=field, matrix="cauchy" if cauchy else None, backend="reference")
    data, parity = Guarded([n] * k, seed), Guarded([code.parity_bytes(n)] * m)
    code.encode(data.shards, parity.shards)
    data.assert_unchanged()
    parity.assert_canaries()
    for one, other in zip(parity.shards, plain.encode(data.shards), strict=True):
        assert np.array_equal(one, other)
    random = np.random.default_rng(seed)
    lost = random.choice(k + m, size=int(random.integers(0, m + 1)), replace=False).tolist()
    whole = [*data.shards, *parity.shards]
    out = Guarded([whole[index].size for index in lost])
    left = [np.full_like(shard, POISON) if index in lost else shard for index, shard in enumerate(whole)]
    code.decode(left, lost, out.shards)
    out.assert_canaries()
    data.assert_unchanged()
    for index, found in zip(lost, out.shards, strict=True):
        assert np.array_equal(found, whole[index])
    many = np.broadcast_to(np.stack(data.shards), (stripes, k, n))
    again = code.encode(many)
    assert all(np.array_equal(again[s, i], parity.shards[i]) for s in range(stripes) for i in range(m))


@settings(max_examples=40, deadline=None)
@given(
    k=st.integers(1, 12), m=st.integers(1, 8), n=st.integers(1, 200), field=st.sampled_from([8, 16]),
    seed=st.integers(0, 1 << 30),
)  # fmt: skip
def test_an_update_equals_encoding_anew(k: int, m: int, n: int, field: Field, seed: int) -> None:
    code = Code(k, m, field=field, backend=FAST)
    random = np.random.default_rng(seed)
    before = random_shards(k, n, seed)
    changed = random.choice(k, size=int(random.integers(1, k + 1)), replace=False).tolist()
    after = before.copy()
    after[changed] = random_shards(len(changed), n, seed + 1)
    parity = Guarded([code.parity_bytes(n)] * m)
    code.encode(list(before), parity.shards)
    code.update(parity.shards, changed, before[changed], list(after[changed]))
    parity.assert_canaries()
    assert code.verify(list(after), parity.shards)
    assert all(np.array_equal(a, b) for a, b in zip(parity.shards, code.encode(list(after)), strict=True))


@pytest.mark.parametrize("backend", HOST)
def test_one_shard_is_updated_by_its_number(backend: BackendName) -> None:
    for field in (8, 16):
        code = Code(5, 3, field=field, backend=backend)
        data = np.random.default_rng(0).integers(0, 256, (2, 5, 64), dtype=np.uint8)
        parity = code.encode(data)
        old = data[:, 3].copy()
        data[:, 3] = 255 - old
        code.update(parity, 3, old, data[:, 3])
        assert code.verify(data, parity).tolist() == [True, True]


@pytest.mark.parametrize("backend", HOST)
@pytest.mark.parametrize(("k", "m", "field"), [(6, 2, 8), (6, 4, 8), (5, 2, 16), (5, 5, 16), (7, 1, 8)])
def test_verify_finds_the_stripe_and_any_single_changed_byte(
    k: int, m: int, field: Field, backend: BackendName
) -> None:
    code = Code(k, m, field=field, backend=backend)
    data = np.random.default_rng(4).integers(0, 256, (3, k, 70), dtype=np.uint8)
    parity = code.encode(data)
    assert code.verify(data, parity).all()
    for array, column in ((data, 0), (data, 69), (parity, 33), (parity, 69)):
        array[1, -1, column] ^= 64
        assert code.verify(data, parity).tolist() == [True, False, True]
        array[1, -1, column] ^= 64
    one = code.verify(data[0], parity[0])
    assert one.shape == ()
    assert one


def test_layouts_give_the_same_bytes_in_their_own_layout() -> None:
    code = Code(4, 2, backend=FAST)
    data = np.random.default_rng(6).integers(0, 256, (3, 4, 48), dtype=np.uint8)
    stacked = code.encode(data)
    assert stacked.shape == (3, 2, 48)
    assert all(np.array_equal(code.encode(data[s]), stacked[s]) for s in range(3))
    as_list = code.encode([data[:, j] for j in range(4)])  # any stride between stripes
    assert [part.shape for part in as_list] == [(3, 48), (3, 48)]
    assert np.array_equal(np.stack(as_list, axis=1), stacked)
    backwards = code.encode(data[::-1])
    assert np.array_equal(backwards, stacked[::-1])
    wide = np.zeros((3, 8, 100), dtype=np.uint8)
    wide[:, ::2, 13:61] = data
    assert np.array_equal(code.encode(wide[:, ::2, 13:61]), stacked)
    shards = np.concatenate([data, stacked], axis=1)
    rebuilt = code.decode(shards, [5, 0])
    assert np.array_equal(rebuilt, shards[:, [5, 0]])
    expected = shards.copy()
    shards[:, [0, 3]] = POISON
    code.decode(shards, [3, 0], [shards[:, 3], shards[:, 0]])  # in place
    assert np.array_equal(shards, expected)


def test_an_encoding_seen_before_reads_the_new_bytes_and_checks_what_changed() -> None:
    code = Code(4, 2, backend=FAST)
    data, parity = random_shards(4, 100, 1), np.empty((2, 100), dtype=np.uint8)
    for seed in range(4):
        data[...] = random_shards(4, 100, seed)
        parity[...] = POISON
        assert code.encode(data, parity) is parity
        assert np.array_equal(parity, Code(4, 2, backend="numpy").encode(data))
    room = random_shards(8, 100, 9)
    for data in (room[:4], room[::2]):  # from one address on, with another stride
        code.encode(data, parity)
        assert np.array_equal(parity, Code(4, 2, backend="numpy").encode(data))
    parity.flags.writeable = False
    with pytest.raises(BadShards, match="read-only"):
        code.encode(data, parity)
    with pytest.raises(BadShards, match="shares bytes"):
        code.encode(data, data[1:3])
    with pytest.raises(BadShards, match="7 bytes"):
        code.encode(data, np.empty((2, 7), dtype=np.uint8))


def test_any_dtype_is_taken_as_bytes() -> None:
    code = Code(3, 2, backend=FAST)
    values = np.random.default_rng(1).standard_normal((3, 11))
    for dtype in (np.float64, np.float16, np.complex64, np.bool_, np.int8):
        data = values.astype(dtype)
        parity = code.encode(data)
        assert np.array_equal(parity, code.encode(np.ascontiguousarray(data).view(np.uint8).reshape(3, -1)))
        out = np.empty((1, 11), dtype=dtype)
        code.decode([None, *data[1:], *parity], [0], out)
        assert np.array_equal(out[0], data[0])


def test_an_absent_shard_that_is_not_wanted_stays_absent() -> None:
    code = Code(4, 3, backend=FAST)
    data = random_shards(4, 20, 3)
    parity = code.encode(data)
    (found,) = code.decode([None, data[1], None, data[3], parity[0], None, parity[2]], [2])
    assert np.array_equal(found, data[2])


def test_empty_shards_and_no_parity() -> None:
    assert Code(3, 2).encode(np.empty((3, 0), dtype=np.uint8)).shape == (2, 0)
    assert Code(3, 2).encode(np.empty((0, 3, 8), dtype=np.uint8)).shape == (0, 2, 8)
    assert len(Code(3, 0).encode(random_shards(3, 8, 0))) == 0
    assert Code(3, 0).verify(random_shards(3, 8, 0), [])
    assert len(Code(3, 0).decode(random_shards(3, 8, 0), [])) == 0


def test_all_data_lost_over_gf_65536_with_an_odd_length() -> None:
    code = Code(2, 3, field=16, backend=FAST)
    data = random_shards(2, 9, 1)
    parity = code.encode(list(data))
    assert [part.size for part in parity] == [10, 10, 10]
    out = np.empty((2, 9), dtype=np.uint8)
    code.decode([None, None, *parity], [0, 1], out)
    assert np.array_equal(out, data)
    padded = code.decode([None, None, *parity], [0, 1])
    assert [part.tolist() for part in padded] == [[*row, 0] for row in data.tolist()]


WITHOUT_NUMBA = """
import sys, warnings, zlib
sys.modules["numba"] = None
import numpy as np
from gemsim_kernels import Code, NoBackend
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for k, m, field in {cases}:
        code = Code(k, m, field=field)
        data = np.random.default_rng(k).integers(0, 256, (k, 515), dtype=np.uint8)
        parity = code.encode(list(data))
        rebuilt = code.decode([None, *data[1:], *parity], [0])
        assert np.array_equal(rebuilt[0], data[0])
        print(zlib.crc32(b"".join(map(bytes, parity))))
assert len([w for w in seen if "ten times slower, with the same bytes" in str(w.message)]) == 1, seen
assert "numpy" in code.describe() and "numba cannot be imported" in code.describe()
try:
    Code(2, 1, backend="numba").encode(data[:2])
except NoBackend as error:
    assert "pip install" in str(error)
else:
    raise AssertionError
"""
CASES: list[tuple[int, int, Field]] = [(5, 1, 8), (8, 2, 8), (9, 3, 8), (10, 4, 8), (6, 8, 8), (20, 2, 16), (8, 5, 16)]


def test_without_numba_no_byte_changes() -> None:
    folder = str(Path(gemsim_kernels.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA.format(cases=CASES)],
        env={**os.environ, "PYTHONPATH": folder}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for (k, m, field), printed in zip(CASES, done.stdout.split(), strict=True):
        data = np.random.default_rng(k).integers(0, 256, (k, 515), dtype=np.uint8)
        parity = Code(k, m, field=field, backend=FAST).encode(list(data))
        assert zlib.crc32(b"".join(map(bytes, parity))) == int(printed)
