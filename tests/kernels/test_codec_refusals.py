"""What the codec refuses, in words that say what is wrong and what is allowed, before a byte is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gemsim_kernels import BadShards, Code, NoBackend, TooManyLost
from tests.kernels.guarded import random_shards

D = random_shards(3, 8, 0)
P = np.zeros((2, 8), dtype=np.uint8)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.encode(D[:2]), BadShards, r"data: an array of shape \(2, 8\); allowed: \(3, n\)"),
        (lambda c: c.encode(D[0]), BadShards, r"shape \(8,\)"),
        (lambda c: c.encode([*D[:2], D[2, :5]]), BadShards, "shard 2: 1 stripes of 5 bytes; allowed here: 1 of 8"),
        (lambda c: c.encode([*D[:2], None]), BadShards, r"data\[2\] is None"),
        (lambda c: c.encode([*D[:2], "abc"]), BadShards, r"data\[2\]: a str"),
        (lambda c: c.encode([*D[:2], D[2:]]), BadShards, "1-D and 2-D arrays mixed"),
        (lambda c: c.encode(iter(D)), BadShards, "list of 3 arrays"),
        (lambda c: c.encode(D[:, ::2]), BadShards, "stand 2 bytes apart.*pass a copy"),
        (lambda c: c.encode(np.array([[None]] * 3)), BadShards, "Python objects"),
        (lambda c: c.encode(D, P[:1]), BadShards, r"parity: an array of shape \(1, 8\)"),
        (lambda c: c.encode(D, P[:, :7]), BadShards, "parity, shard 0: 1 stripes of 7 bytes"),
        (lambda c: c.encode(D, D[:2]), BadShards, "output 0 shares bytes with input 0"),
        (lambda c: c.encode(D, [P[0], P[0]]), BadShards, "output 0 shares bytes with output 1"),
        (lambda c: c.encode(D, np.broadcast_to(P[0], (2, 8))), BadShards, "output 0 is read-only"),
        (lambda c: c.decode([*D, *P], [0, 1, 2]), TooManyLost, r"3 shards are lost \(0, 1, 2\)"),
        (lambda c: c.decode([None, *D[1:], None, P[1]], [1]), TooManyLost, r"\(0, 1, 3\)"),
        (lambda c: c.decode([*D, *P], [5]), IndexError, "no shard 5; allowed: 0 to 4"),
        (lambda c: c.decode([*D, *P], [1, 1]), ValueError, "named twice"),
        (lambda c: c.decode([*D, *P], [1], [D[2]]), BadShards, "shares bytes with input"),
        (lambda c: c.update(P, [0, 0], D[:2], D[:2]), ValueError, "named twice"),
        (lambda c: c.update(P, 3, D[0], D[1]), IndexError, "index: no shard 3"),
        (lambda c: c.update(P, 0, D[0], D[1, :7]), BadShards, "old and new, shard 1"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], words: str) -> None:
    before = P.copy()
    with pytest.raises(error, match=words):
        call(Code(3, 2, backend="numpy"))
    assert np.array_equal(P, before)


def test_outputs_that_overlap_between_stripes_are_refused() -> None:
    code = Code(2, 1, backend="numpy")
    room = np.zeros((3, 3, 8), dtype=np.uint8)
    code.encode(room[:, :2], room[:, 2:])  # side by side within each stripe: nothing shared
    one_row = np.lib.stride_tricks.as_strided(np.zeros(8, dtype=np.uint8), (3, 1, 8), (0, 8, 1))
    with pytest.raises(BadShards, match="output 0 shares bytes from stripe to stripe"):
        code.encode(room[:, :2], one_row)
    overlapping = np.lib.stride_tricks.as_strided(np.zeros(12, dtype=np.uint8), (2, 8), (4, 1))
    with pytest.raises(BadShards, match="output 0 shares bytes with output 1"):
        Code(2, 2, backend="numpy").encode(room[0, :2], overlapping)
    with pytest.raises(BadShards, match="output 0 shares bytes with input 1"):
        code.encode(room[:, :2], room[:, 1:2])


def test_an_odd_length_over_gf_65536_needs_a_list() -> None:
    with pytest.raises(BadShards, match="holds an even number; pass a list of k data shards of n bytes"):
        Code(2, 2, field=16, backend="numpy").decode(np.zeros((4, 7), dtype=np.uint8), [0])


@pytest.mark.parametrize("backend", ["cuda", "openmp"])
def test_a_backend_that_cannot_serve_is_refused(backend: Any) -> None:
    with pytest.raises(NoBackend, match="allowed: auto, "):
        Code(2, 2, backend=backend).encode(random_shards(2, 8, 0))


def test_a_code_describes_itself() -> None:
    assert Code(8, 2, backend="numpy").describe() == (
        "8 + 2: pq over GF(2^8), rows (1), (α^j); k <= 255 in GF(2^8); "
        "numpy: table look-ups and 64-bit Horner, one thread"
    )
    assert repr(Code(300, 4)) == "Code(300, 4: rs, GF(2^16))"
    assert Code(3, 2).symbol_bytes == 1
    assert not Code(3, 2).generator.flags.writeable
    with pytest.raises(ValueError, match="threads = 0"):
        Code(3, 2, threads=0)


@pytest.mark.parametrize(("k", "m"), [(4.0, 2), (True, 1), ("4", 2), (4, None), (np.float64(4), 2)])
def test_a_number_of_shards_is_a_whole_number(k: Any, m: Any) -> None:
    with pytest.raises(TypeError, match="allowed: a whole number of shards"):
        Code(k, m)


def test_numpy_integers_are_whole_numbers() -> None:
    assert Code(np.int64(4), np.uint8(2)).k == 4
