"""Which launches encode, rebuild, update and verify a code: kernels without coefficients for the families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import numpy as np

from gemsim_kernels.cuda_kernel import Kernel
from gemsim_kernels.fields import Elements
from gemsim_kernels.launches import Launch, Place, matrix_launches, spread, syndrome_launches
from gemsim_kernels.matrices import Construction, check_rows, recovery

MOST_CHECKS = 8  # rows of a Reed-Solomon code up to which its checks have kernels; beyond, its generator matrix serves


def encode(
    code: Construction, data: Sequence[Place], parity: Sequence[Place], stripes: int, size: int, *, good: int = 0
) -> list[Launch]:
    """Write the parity; or, with the address of one byte for each stripe, set it to 0 where the parity differs."""
    bits = _bits(code)
    if code.family.name in ("xor", "pq", "pqr"):
        kernel = Kernel("horner", bits, tuple(range(code.m)))
        return spread(kernel, data, parity, stripes, size, k=code.k, good=good)
    if not _by_checks(code) or (bits == 16 and good):
        return matrix_launches(code.generator, bits, data, parity, stripes, size, good=good)
    rows = tuple(check_rows(code.m))
    if bits == 8:
        return spread(Kernel("sliced", 8, rows, "parity"), data, parity, stripes, size, k=code.k, good=good)
    return syndrome_launches(rows, _parity_matrix(code), bits, data, parity, stripes, size)


def rebuild(
    code: Construction,
    shards: Sequence[Place | None],
    lost: Sequence[int],
    missing: Sequence[int],
    out: Sequence[Place],
    stripes: int,
    size: int,
) -> list[Launch]:
    """Write the shards `lost`, in that order, where `missing` names all that cannot be read."""
    left = [None if i in set(missing) else place for i, place in enumerate(shards)]
    if code.family.name in ("xor", "pq", "pqr"):
        return _rebuild_horner(code, left, lost, missing, out, stripes, size)
    if _by_checks(code):
        return _rebuild_checks(code, left, lost, missing, out, stripes, size)
    matrix, sources = recovery(code, lost, missing)
    reads = [cast(Place, left[index]) for index in sources]
    return matrix_launches(matrix, _bits(code), reads, out, stripes, size)


def update(
    code: Construction,
    index: Sequence[int],
    old: Sequence[Place],
    new: Sequence[Place],
    parity: Sequence[Place],
    stripes: int,
    size: int,
) -> list[Launch]:
    """Add the generator's columns times (old + new) to the parity."""
    pairs = [place for pair in zip(old, new, strict=True) for place in pair]
    columns = code.generator[:, list(index)]
    return matrix_launches(columns, _bits(code), pairs, parity, stripes, size, delta=True)


def _bits(code: Construction) -> Literal[8, 16]:
    return 16 if code.bits == 16 else 8


def _by_checks(code: Construction) -> bool:
    return code.family.name == "rs" and code.m <= MOST_CHECKS


def _parity_matrix(code: Construction) -> Elements:
    """V⁻¹ · diag(α^(i·m)), as Horner's rule counts data shard j at j instead of m + j."""
    gf, rows = code.field, np.array(check_rows(code.m))
    return gf.solve(gf.power(rows[:, None] * np.arange(code.m)), np.diag(gf.power(rows * code.m)))


def _rebuild_checks(
    code: Construction,
    left: Sequence[Place | None],
    lost: Sequence[int],
    missing: Sequence[int],
    out: Sequence[Place],
    stripes: int,
    size: int,
) -> list[Launch]:
    """Reed-Solomon: as many checks as shards are missing, those next to exponent 0, over all k + m positions."""
    gf, count = code.field, len(missing)
    first = min(max(-((count - 1) // 2), check_rows(code.m).start), check_rows(code.m).stop - count)
    rows = np.arange(first, first + count)
    places = np.array([shard + code.m if shard < code.k else shard - code.k for shard in missing])
    inverse = gf.solve(gf.power(rows[:, None] * places), np.eye(count, dtype=gf.dtype))
    matrix = inverse[[list(missing).index(shard) for shard in lost]]
    ordered = [*left[code.k :], *left[: code.k]]
    if count == 1:  # the check of exponent 0 is a plain sum
        ordered = [place for place in ordered if place is not None]
    return syndrome_launches(rows.tolist(), matrix, _bits(code), ordered, out, stripes, size)


def _rebuild_horner(
    code: Construction,
    left: Sequence[Place | None],
    lost: Sequence[int],
    missing: Sequence[int],
    out: Sequence[Place],
    stripes: int,
    size: int,
) -> list[Launch]:
    """XOR, P+Q(+R): syndromes of the data left, with their parity added the sum that the lost data contribute."""
    gf = code.field
    data = [shard for shard in missing if shard < code.k]
    alive = [row for row in range(code.m) if left[code.k + row] is not None]
    used = alive[: len(data)]
    rows = sorted({*used, *(shard - code.k for shard in lost if shard >= code.k)})
    if rows == [0] and data:
        sources = [place for place in (*left[: code.k], left[code.k]) if place is not None]
        return spread(Kernel("horner", _bits(code), (0,)), sources, out, stripes, size, k=len(sources))
    powers = gf.power(np.array(rows, dtype=np.int64)[:, None] * np.array(data, dtype=np.int64))
    at = [rows.index(row) for row in used]
    solved = np.zeros((len(data), len(rows)), dtype=gf.dtype)
    solved[:, at] = gf.solve(powers[at], np.eye(len(data), dtype=gf.dtype))
    matrix = np.zeros((len(lost), len(rows)), dtype=gf.dtype)
    for place, shard in enumerate(lost):
        if shard < code.k:
            matrix[place] = solved[data.index(shard)]
        else:
            row = rows.index(shard - code.k)
            matrix[place] = gf.matmul(powers[row : row + 1], solved)[0]
            matrix[place, row] ^= 1
    extras = [left[code.k + row] if row in used else None for row in rows] if data else []
    return syndrome_launches(rows, matrix, _bits(code), left[: code.k], out, stripes, size, extras=extras)
