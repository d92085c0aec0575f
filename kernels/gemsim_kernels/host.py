"""A backend on the host out of one operation: `combine`, a matrix over the field times the shards.

Reference, NumPy and Numba differ in that operation alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsim_kernels.fields import Elements
from gemsim_kernels.matrices import Construction, recovery
from gemsim_kernels.shards import Array, Views

_VERIFY_BYTES = 1 << 18  # of each parity encoded at a time while comparing, so that it stays in cache


class Combine(Protocol):
    """outputs[i] = Σ_j matrix[i, j] · sources[j], or ^= it; even lengths where bits is 16; any alignment."""

    def __call__(
        self, matrix: Elements, sources: Sequence[Array], outputs: Sequence[Array], *, bits: int, accumulate: bool
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class HostBackend:
    """Encode, rebuild, update and verify through `combine`; the calls block, so streams mean nothing here.

    `prepare(code, data, parity)`, where a backend has it, gives an encoding to run again on the same addresses.
    """

    name: str
    combine: Combine
    describe: Callable[[], str]
    prepare: Callable[[Construction, Views, Views], Callable[[], None]] | None = None

    def encode(self, code: Construction, data: Views, parity: Views, *, stream: Any = None) -> None:
        self.combine(code.generator, data, parity, bits=code.bits, accumulate=False)

    def rebuild(
        self,
        code: Construction,
        shards: Sequence[Array | None],
        lost: Sequence[int],
        missing: Sequence[int],
        out: Views,
        *,
        stream: Any = None,
    ) -> None:
        matrix, sources = recovery(code, lost, missing)
        self.combine(matrix, [shards[index] for index in sources], out, bits=code.bits, accumulate=False)

    def update(
        self, code: Construction, index: Sequence[int], old: Views, new: Views, parity: Views, *, stream: Any = None
    ) -> None:
        columns = code.generator[:, list(index)]
        twice = np.concatenate([columns, columns], axis=1)  # g·old ^ g·new: no room needed for the difference
        self.combine(twice, [*old, *new], parity, bits=code.bits, accumulate=True)

    def verify(self, code: Construction, data: Views, parity: Views, *, stream: Any = None) -> NDArray[np.bool_]:
        stripes, size = parity[0].shape
        good = np.ones(stripes, dtype=np.bool_)
        wide = min(size, _VERIFY_BYTES)
        scratch = np.empty((code.m, 1, wide), dtype=np.uint8)
        for stripe in range(stripes):
            for start in range(0, size, wide):
                part = slice(start, min(start + wide, size))
                expected = [row[:, : part.stop - start] for row in scratch]
                pieces = [view[stripe : stripe + 1, part] for view in data]
                self.combine(code.generator, pieces, expected, bits=code.bits, accumulate=False)
                found = (view[stripe : stripe + 1, part] for view in parity)
                if not all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True)):
                    good[stripe] = False
                    break
        return good
