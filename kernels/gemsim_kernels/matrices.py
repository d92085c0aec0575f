"""From (k, m) to the numbers of a code: its generator, and the combination of survivors that rebuilds what is lost.

Every backend works from a `Construction`, so that all give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim_kernels.codes import CodeLimit, Family, Field, cauchy_family, family
from gemsim_kernels.fields import Elements, GaloisField, galois_field


class TooManyLost(ValueError):
    """More shards of a stripe are lost than its parity can rebuild."""


@dataclass(frozen=True, eq=False, slots=True)
class Construction:
    """A code in numbers. `generator` is m x k: parity i = Σ_j generator[i, j] · data j, read-only, uint8 or uint16."""

    k: int
    m: int
    family: Family
    bits: int  # of a symbol: 8 or 16; XOR counts in bytes
    generator: Elements

    @property
    def field(self) -> GaloisField:
        return galois_field(self.bits)

    @property
    def symbol_bytes(self) -> int:
        return self.bits // 8


def first_check_row(m: int) -> int:
    """B0: the checks of the Reed-Solomon family are rows B0 … B0 + m - 1, chosen about 0 so that α^i stays cheap."""
    return -(m - 1) // 2


def check_rows(m: int) -> range:
    """The exponents i of the checks Σ_x α^(i·position) · shard = 0; parity l stands at l and data j at m + j."""
    return range(first_check_row(m), first_check_row(m) + m)


def construct(k: int, m: int, field: Field = "auto", matrix: str | NDArray[Any] | None = None) -> Construction:
    """The code for k data and m parity shards: by family, "cauchy", or an m x k matrix given. Raises CodeLimit."""
    if isinstance(matrix, str):
        if matrix != "cauchy":
            raise CodeLimit(f"no such matrix ({matrix!r}); allowed: 'cauchy', an m x k array, or None for the family")
        kind = cauchy_family(k, m, field)
        generator = _generator(k, m, kind)
    elif matrix is not None:
        kind, generator = _given(k, m, field, np.asarray(matrix))
    else:
        kind = family(k, m, field)
        generator = _generator(k, m, kind)
    generator.flags.writeable = False
    return Construction(k, m, kind, max(8, kind.field_bits), generator)


def _generator(k: int, m: int, kind: Family) -> Elements:
    gf = galois_field(max(8, kind.field_bits))
    if kind.name == "rs":
        return _reed_solomon(k, m, gf)
    if kind.name == "cauchy":
        rows = np.arange(k, k + m, dtype=gf.dtype)[:, None]
        return gf.inverse(rows ^ np.arange(k, dtype=gf.dtype)[None, :])  # as ISA-L's gf_gen_cauchy1_matrix
    return gf.power(np.arange(m)[:, None] * np.arange(k)[None, :])


def _reed_solomon(k: int, m: int, gf: GaloisField) -> Elements:
    """V⁻¹ V_D: the parities that make every check vanish (Vandermonde columns, hence MDS for k + m <= order)."""
    rows = np.array(check_rows(m))[:, None]
    return gf.solve(gf.power(rows * np.arange(m)), gf.power(rows * np.arange(m, m + k)))


def _given(k: int, m: int, field: Field, matrix: NDArray[Any]) -> tuple[Family, Elements]:
    if matrix.shape != (m, k) or matrix.dtype.kind not in "ui":
        raise CodeLimit(f"matrix: {matrix.dtype} of shape {matrix.shape}; allowed: whole numbers of shape ({m}, {k})")
    if field not in ("auto", 8, 16):
        raise CodeLimit(f"no such field ({field!r}); allowed: auto, 8 or 16 (bits of the field)")
    bits = field if field != "auto" else 16 if matrix.dtype == np.uint16 else 8
    if matrix.size and (matrix.min() < 0 or matrix.max() >> bits):
        entries = f"entries {matrix.min()} to {matrix.max()}"
        raise CodeLimit(f"matrix: {entries}; allowed: 0 to {(1 << bits) - 1} in GF(2^{bits})")
    kind = Family("matrix", bits, "as given", "not checked: what a loss leaves solvable is found when it is rebuilt")
    return kind, matrix.astype(galois_field(bits).dtype)


def recovery(code: Construction, wanted: Sequence[int], missing: Sequence[int]) -> tuple[Elements, list[int]]:
    """How to rebuild: a matrix (len(wanted) x len(sources)) and the numbers of the survivors that it multiplies.

    Data shards count from 0, parities from k. `missing` names every shard that cannot be read, `wanted` those of them
    to rebuild. Reads k shards at most. Raises TooManyLost, naming them, and for a matrix that is not MDS when what is
    left does not determine the data.
    """
    absent = set(missing) | set(wanted)
    if len(absent) > code.m:
        raise TooManyLost(too_many(code, sorted(absent)))
    gf, generator = code.field, code.generator
    lost = [j for j in range(code.k) if j in absent]
    here = [j for j in range(code.k) if j not in absent]
    rows = _parities(code, lost, absent)
    known = np.concatenate([generator[np.ix_(rows, here)], np.eye(len(rows), dtype=gf.dtype)], axis=1)
    solved = gf.solve(generator[np.ix_(rows, lost)], known)
    position = {j: index for index, j in enumerate(lost)}
    matrix = np.empty((len(wanted), known.shape[1]), dtype=gf.dtype)
    for place, shard in enumerate(wanted):
        if shard < code.k:
            matrix[place] = solved[position[shard]]
        else:
            row = generator[shard - code.k]
            matrix[place] = gf.matmul(row[None, lost], solved)[0]
            matrix[place, : len(here)] ^= row[here]
    return matrix, here + [code.k + row for row in rows]


def _parities(code: Construction, lost: list[int], absent: set[int]) -> list[int]:
    """Parity rows that determine the lost data shards; the lowest, as row 0 is often a plain XOR."""
    rows = [i for i in range(code.m) if code.k + i not in absent]
    if code.family.name != "matrix":
        return rows[: len(lost)]
    chosen = code.field.independent_rows(code.generator[np.ix_(rows, lost)])
    if len(chosen) < len(lost):
        raise TooManyLost(f"the matrix given is not MDS: shards {sorted(absent)} lost leave data {lost} undetermined")
    return [rows[index] for index in chosen]


def too_many(code: Construction, absent: list[int]) -> str:
    """The message of TooManyLost."""
    shown = ", ".join(str(shard) for shard in absent[:12]) + (", …" if len(absent) > 12 else "")
    return f"{len(absent)} shards are lost ({shown}); allowed: at most m = {code.m} of the {code.k} + {code.m}"
