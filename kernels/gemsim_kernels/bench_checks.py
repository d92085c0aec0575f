"""The calls of one case over all its sets of buffers, and the proof that they give the right bytes.

What is compared with the reference are columns at the start, the middle and the end of the first and last stripe; a
rebuilt shard is compared whole with what was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from gemsim_kernels.bench_arms import Arm, Call, places
from gemsim_kernels.bench_grid import Case
from gemsim_kernels.codec import Code

_CHECKED = 512  # bytes of each column block


def prepared(arm: Arm, code: Code, case: Case) -> tuple[list[Call], Callable[[], bool]]:
    """The calls over all sets of buffers, and a check of what the first of them writes."""
    k, m, n, lead = case.k, case.m, case.shard_bytes, ((case.stripes,) if case.stripes > 1 else ())
    size = case.stripes * n
    if case.op == "encode":
        pairs = _pairs(arm, k * size, m * size)
        views = [(a.reshape(*lead, k, n), b.reshape(*lead, m, n)) for a, b in pairs]
        return [partial(code.encode, a, b) for a, b in views], partial(_encoded, arm, code, *views[0])
    if case.op == "update":
        pairs = _pairs(arm, 2 * size, m * size)
        changes = [(a.reshape(2, n), b.reshape(m, n)) for a, b in pairs]
        at = k // 2
        calls: list[Call] = [partial(code.update, b, at, a[0], a[1]) for a, b in changes]
        return calls, partial(_updated, arm, code, at, *changes[0])
    lost = _lost(k, m, case.rows)
    pairs = _pairs(arm, (k + m) * size, case.rows * size)
    whole = [(a.reshape(*lead, k + m, n), b.reshape(*lead, case.rows, n)) for a, b in pairs]
    return [partial(code.decode, a, lost, b) for a, b in whole], partial(_decoded, arm, code, lost, *whole[0])


def _pairs(arm: Arm, source: int, target: int) -> list[tuple[Any, Any]]:
    return list(zip(places(arm.pool, source, arm.reach), places(arm.out, target, arm.reach), strict=False))


def _lost(k: int, m: int, count: int) -> list[int]:
    """Which shards a timed decode has lost: data, spread over the stripe, and parity only where k is less."""
    data = min(k, count)
    return sorted({place * k // data for place in range(data)}) + [k + row for row in range(count - data)]


def _columns(n: int) -> list[slice]:
    """Where a shard is compared with the reference; starts are even, as symbols of GF(2^16) need."""
    middle = n // 2 // 2 * 2
    return [slice(at, min(at + _CHECKED, n)) for at in dict.fromkeys((0, middle, max(0, (n - _CHECKED) // 2 * 2)))]


@cache
def _reference(k: int, m: int) -> Code:
    return Code(k, m, backend="reference")


def _first_and_last(array: Any) -> Iterator[Any]:
    """The first and the last stripe of (stripes, shards, bytes), or the one that there is."""
    yield from (array[0], array[-1]) if array.ndim == 3 else (array,)


def _encoded(arm: Arm, code: Code, data: Any, parity: Any) -> bool:
    parity[...] = 0xA5
    code.encode(data, parity)
    return _is_parity(arm, code, data, parity)


def _is_parity(arm: Arm, code: Code, data: Any, parity: Any) -> bool:
    reference = _reference(code.k, code.m)
    return all(
        np.array_equal(reference.encode(np.ascontiguousarray(arm.host(a[:, part]))), arm.host(b[:, part]))
        for a, b in zip(_first_and_last(data), _first_and_last(parity), strict=True)
        for part in _columns(a.shape[1])
    )


def _updated(arm: Arm, code: Code, at: int, change: Any, parity: Any) -> bool:
    before = arm.host(parity).copy()
    code.update(parity, at, change[0], change[1])
    reference, good = _reference(code.k, code.m), True
    for part in _columns(parity.shape[1]):
        expected = np.ascontiguousarray(before[:, part])
        old, new = (np.ascontiguousarray(arm.host(change[i, part])) for i in (0, 1))
        reference.update(expected, at, old, new)
        good &= np.array_equal(expected, arm.host(parity[:, part]))
    return good


def _decoded(arm: Arm, code: Code, lost: Sequence[int], shards: Any, out: Any) -> bool:
    """The whole of what was lost comes back, from a parity that is the reference's; the lost places are not read."""
    data, parity = shards[..., : code.k, :], shards[..., code.k :, :]
    code.encode(data, parity)
    good = _is_parity(arm, code, data, parity)
    original = shards[..., lost, :].copy()
    shards[..., lost, :] = 0xA5
    code.decode(shards, lost, out)
    shards[..., lost, :] = original
    return good and bool((out == original).all())
