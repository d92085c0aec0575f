"""The code written out slowly and plainly: what every fast path must equal, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim_kernels.fields import Elements, galois_field
from gemsim_kernels.host import HostBackend
from gemsim_kernels.matrices import Construction, check_rows
from gemsim_kernels.shards import Array


def symbols(shard: Array, bits: int) -> Elements:
    """The bytes of a shard as symbols of the field, 16-bit ones little-endian; a shard of odd length ends in 0."""
    raw = np.asarray(shard, dtype=np.uint8)
    if bits == 8:
        return raw
    even = np.zeros((*raw.shape[:-1], raw.shape[-1] + raw.shape[-1] % 2), dtype=np.uint8)
    even[..., : raw.shape[-1]] = raw
    return even[..., 0::2].astype(np.uint16) | (even[..., 1::2].astype(np.uint16) << 8)


def to_bytes(values: Elements, bits: int) -> NDArray[np.uint8]:
    """Symbols back to bytes."""
    if bits == 8:
        return values.astype(np.uint8)
    pairs = np.stack([values & 255, values >> 8], axis=-1).astype(np.uint8)
    return pairs.reshape(*values.shape[:-1], 2 * values.shape[-1])


def combine(
    matrix: Elements, sources: Sequence[Array], outputs: Sequence[Array], *, bits: int, accumulate: bool
) -> None:
    """outputs[i] = Σ_j matrix[i, j] · sources[j], by logarithms, one product at a time."""
    gf = galois_field(bits)
    data = [symbols(source, bits) for source in sources]
    for row, out in zip(matrix, outputs, strict=True):
        total = symbols(out, bits).copy() if accumulate else np.zeros_like(symbols(out, bits))
        for coefficient, values in zip(row, data, strict=True):
            total ^= gf.multiply(coefficient, values)
        out[...] = to_bytes(total, bits)


def decode(code: Construction, shards: Sequence[Array | None], lost: Sequence[int]) -> list[NDArray[np.uint8]]:
    """Rebuilt by inverting the whole k x k system of the first k shards left: no code in common with `recovery`."""
    gf = code.field
    system = np.concatenate([np.eye(code.k, dtype=gf.dtype), code.generator])
    left = [index for index in range(code.k + code.m) if index not in lost and shards[index] is not None]
    rows = [left[index] for index in gf.independent_rows(system[left])]
    inverse = gf.solve(system[rows], np.eye(code.k, dtype=gf.dtype))
    values = np.stack([symbols(shards[index], code.bits).reshape(-1) for index in rows])
    data = gf.matmul(inverse, values)
    everything = gf.matmul(system, data)
    return [to_bytes(everything[index], code.bits) for index in lost]


def syndromes(code: Construction, shards: Sequence[Array]) -> list[Elements]:
    """The checks of a Reed-Solomon stripe by Horner's rule; all vanish for a consistent stripe.

    S_i = Σ_x α^(i·x) shard_x over i in `check_rows(m)`, where parity l stands at x = l and data j at x = m + j.
    """
    gf = code.field
    ordered = [symbols(shard, code.bits) for shard in [*shards[code.k :], *shards[: code.k]]]
    found = []
    for exponent in check_rows(code.m):
        total = np.zeros_like(ordered[0])
        for values in reversed(ordered):
            total = gf.multiply(gf.power(exponent), total) ^ values
        found.append(total)
    return found


def backend() -> HostBackend:
    return HostBackend("reference", combine, lambda: "reference: NumPy, one product at a time, for checking only")


__all__: list[Any] = ["backend", "combine", "decode", "symbols", "syndromes", "to_bytes"]
