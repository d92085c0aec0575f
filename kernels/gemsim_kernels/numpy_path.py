"""Encoding by NumPy alone, for machines without numba: the same bytes, an order of magnitude slower.

Rows of ones are XORed, rows of consecutive powers of α go by Horner's rule on 64-bit words, all others by one table
look-up for each byte. Columns are worked in blocks that stay in the L2 cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim_kernels.fields import POLYNOMIAL, Elements, GaloisField, galois_field
from gemsim_kernels.host import HostBackend
from gemsim_kernels.shards import Array

_BLOCK = 1 << 15


def combine(
    matrix: Elements, sources: Sequence[Array], outputs: Sequence[Array], *, bits: int, accumulate: bool
) -> None:
    """outputs[i] = Σ_j matrix[i, j] · sources[j] for uint8 views (stripes, bytes)."""
    gf = galois_field(bits)
    steps = [_horner_step(row, gf) for row in matrix]
    tables = {index: _tables(matrix[index], gf) for index, step in enumerate(steps) if step is None}
    for stripe in range(outputs[0].shape[0]):
        for start in range(0, outputs[0].shape[1], _BLOCK):
            part = slice(start, start + _BLOCK)
            block = [source[stripe, part] for source in sources]
            for index, out in enumerate(outputs):
                step = steps[index]
                total = _looked_up(tables[index], block, bits) if step is None else _horner(step, block, bits)
                if accumulate:
                    total ^= out[stripe, part]
                out[stripe, part] = total


def _horner_step(row: Elements, gf: GaloisField) -> int | None:
    """s with row[j] = α^(s·j) for all j, if s is 0, 1 or 2: few enough doublings to beat the tables."""
    for step in range(3):
        if np.array_equal(row, gf.power(step * np.arange(row.size))):
            return step
    return None


def _horner(step: int, block: list[NDArray[np.uint8]], bits: int) -> NDArray[np.uint8]:
    """Σ_j α^(step·j) block[j], eight bytes at a time: double the sum `step` times, add the next shard from the end."""
    size = block[0].size
    words = (size + 7) // 8
    total = np.zeros(words, dtype=np.uint64)
    carry, spare = np.empty_like(total), np.empty_like(total)
    for shard in reversed(block):
        for _ in range(step):
            _double(total, carry, spare, bits)
        total.view(np.uint8)[:size] ^= shard
    return total.view(np.uint8)[:size]


def _double(total: NDArray[np.uint64], carry: NDArray[np.uint64], spare: NDArray[np.uint64], bits: int) -> None:
    """total = α·total in every symbol, in place."""
    ones = np.uint64(0x0101010101010101 if bits == 8 else 0x0001000100010001)
    reduction = np.uint64(POLYNOMIAL[bits] & ((1 << bits) - 1))
    np.right_shift(total, np.uint64(bits - 1), out=carry)
    np.bitwise_and(carry, ones, out=carry)
    np.multiply(carry, reduction, out=spare)  # no product leaves its symbol
    np.left_shift(carry, np.uint64(bits - 1), out=carry)
    np.bitwise_xor(total, carry, out=total)
    np.left_shift(total, np.uint64(1), out=total)
    np.bitwise_xor(total, spare, out=total)


def _tables(row: Elements, gf: GaloisField) -> NDArray[Any]:
    """For every coefficient the products with all 256 bytes: (k, 1, 256), or (k, 2, 256) for low and high bytes."""
    bytes_of_symbol = np.arange(gf.bits // 8)[:, None]
    return gf.multiply(row[:, None, None], (np.arange(256) << (8 * bytes_of_symbol)).astype(gf.dtype))


def _looked_up(tables: NDArray[Any], block: list[NDArray[np.uint8]], bits: int) -> NDArray[np.uint8]:
    step = bits // 8
    total = np.zeros(block[0].size // step, dtype=tables.dtype)
    product = np.empty_like(total)
    for table, shard in zip(tables, block, strict=True):
        for place in range(step):
            np.take(table[place], shard[place::step], out=product, mode="clip")
            total ^= product
    return _little_endian(total).view(np.uint8)


def _little_endian(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(values.dtype.newbyteorder("<"), copy=False)


def backend(reason: str = "") -> HostBackend:
    """`reason` says why a faster backend was not taken."""
    note = f" ({reason})" if reason else ""
    return HostBackend("numpy", combine, lambda: f"numpy: table look-ups and 64-bit Horner, one thread{note}")
