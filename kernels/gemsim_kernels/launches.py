"""From a code and the addresses of its shards to kernel launches: which kernels, tables and maps, without any GPU.

`gpu` executes them on a stream; the tests execute the same launches on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from gemsim_kernels.cuda_kernel import ACCUMULATE, ARGUMENTS, BLOCK, EXTRAS, LOST, Kernel
from gemsim_kernels.cuda_planes import parity_matrix
from gemsim_kernels.fields import Elements, galois_field

Place = tuple[int, int]  # address of a shard in the first stripe, and the bytes from there to the next stripe
Table = NDArray[np.uint64]
Maps = NDArray[np.uint32]


@dataclass(frozen=True, eq=False, slots=True)
class Packed:
    """A launch's uploads as one block of bytes: where each starts in it, and a digest to know it by."""

    blob: NDArray[np.uint8]
    starts: dict[str, int]
    digest: bytes


@dataclass(frozen=True, eq=False)
class Launch:
    """One launch: its scalars by name, and the host arrays to put where the GPU can read them (`uploads`)."""

    kernel: Kernel
    scalars: dict[str, int]
    uploads: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def grid(self) -> tuple[int, int]:
        """Blocks along a shard, and stripes (each block walks on to further ones where the limit is passed)."""
        return -(-self._threads // self.block), min(self.scalars["stripes"], 65_535)

    @property
    def block(self) -> int:
        """Threads of a block: no more than a short shard has work for."""
        return min(BLOCK, self._threads)

    @cached_property
    def packed(self) -> Packed:
        """The uploads, each at a multiple of 256 bytes."""
        parts = {name: np.ascontiguousarray(array).view(np.uint8).reshape(-1) for name, array in self.uploads.items()}
        starts, size = {}, 0
        for name, part in parts.items():
            starts[name] = size
            size += -(-part.size // 256) * 256
        blob = np.zeros(size, dtype=np.uint8)
        for name, part in parts.items():
            blob[starts[name] : starts[name] + part.size] = part
        return Packed(blob, starts, blake2b(blob.data, digest_size=16).digest())

    def arguments(self, addresses: dict[str, int]) -> list[int]:
        """The kernel's arguments in order, given where the uploads lie; what a launch does not use is 0."""
        return [addresses.get(name, self.scalars.get(name, 0)) for _, name in ARGUMENTS]

    @property
    def _threads(self) -> int:
        return -(-(self.scalars["end"] - self.scalars["begin"]) // self.kernel.tile) * 32


def byte_maps(coefficients: Elements, bits: int) -> Maps:
    """For each coefficient, in order, its product with every byte as tables of 3 + 3 + 2 bits, 32 bytes a map.

    Over GF(2^16) four maps: into the low byte of the product from the low and the high byte, then into its high byte.
    """
    gf = galois_field(bits)
    few, four = np.arange(8), np.arange(4)
    points = np.concatenate([few, few << 4, (four & 1) << 3 | (four >> 1) << 7])
    found = np.zeros((coefficients.size, bits // 8, bits // 8, 32), dtype=np.uint8)
    for source in range(bits // 8):
        products = gf.multiply(coefficients.reshape(-1, 1), points << 8 * source)
        for target in range(bits // 8):
            found[:, target, source, :20] = products >> 8 * target & 255
    return found.reshape(-1).view(np.uint32)


def spread(
    kernel: Kernel,
    reads: Sequence[Place | None],
    writes: Sequence[Place],
    stripes: int,
    size: int,
    *,
    maps: Elements | None = None,
    **scalars: int,
) -> list[Launch]:
    """Launches of a kernel over `size` bytes of every shard: 16 bytes at a time where all is aligned, then the rest.

    `maps` holds the coefficients of the launch, in the order of the kernel's loops.
    """
    places = [place for place in (*reads, *writes) if place is not None]
    aligned = all(address % 16 == 0 and (stripes == 1 or step % 16 == 0) for address, step in places)
    middle = size - size % 16 if aligned else 0
    launches = []
    for begin, end, vector in ((0, middle, True), (middle, size, False)):
        if begin == end:
            continue
        chosen, coefficients = _at_any_address(kernel, maps) if not vector else (kernel, maps)
        ranged = {**scalars, "stripes": stripes, "begin": begin, "end": end, "outputs": len(writes)}
        uploads: dict[str, NDArray[Any]] = {}
        if coefficients is not None:
            uploads["maps"] = byte_maps(coefficients, kernel.bits)
        table = chosen.table or chosen.delta or not _even(reads, stripes)
        _locate(reads, stripes, ("data", "shard_stride", "stripe_stride", "table"), table, ranged, uploads)
        out = ("out", "out_shard_stride", "out_stripe_stride", "out_table")
        _locate(writes, stripes, out, not _even(writes, stripes), ranged, uploads)
        launches.append(Launch(replace(chosen, table=table), ranged, uploads))
    return launches


def _at_any_address(kernel: Kernel, maps: Elements | None) -> tuple[Kernel, Elements | None]:
    """The kernel that reads symbol by symbol. The parity matrix becomes maps: its planes written out compile slowly."""
    slow = replace(kernel, vector=False, table=True)
    if kernel.finish != "parity":
        return slow, maps
    return replace(slow, finish="maps"), np.array(parity_matrix(len(kernel.rows)), dtype=np.uint8)


def _even(places: Sequence[Place | None], stripes: int) -> bool:
    """Whether strides alone reach all these shards."""
    if any(place is None for place in places):
        return False
    given = cast("Sequence[Place]", places)
    steps = {step for _, step in given} if stripes > 1 else set()
    gaps = {after[0] - before[0] for before, after in pairwise(given)}
    return len(steps) <= 1 and len(gaps) <= 1


def _locate(
    places: Sequence[Place | None],
    stripes: int,
    names: tuple[str, str, str, str],
    table: bool,
    scalars: dict[str, int],
    uploads: dict[str, NDArray[Any]],
) -> None:
    """Write down where shards lie: by strides, or by a table with one row for all stripes where they step alike."""
    base, shard_stride, stripe_stride, table_name = names
    given = [place for place in places if place is not None]
    steps = {step for _, step in given} if stripes > 1 else {0}
    if not table:
        scalars[base] = given[0][0]
        scalars[shard_stride] = given[1][0] - given[0][0] if len(given) > 1 else 0
        scalars[stripe_stride] = steps.pop()
        return
    row = np.array([LOST if place is None else place[0] for place in places], dtype=np.uint64)
    if len(steps) <= 1:
        scalars[stripe_stride] = steps.pop() if steps else 0
        uploads[table_name] = row
        return
    moves = np.array([0 if place is None else place[1] for place in places], dtype=np.int64)
    rows = row[None, :] + (np.arange(stripes, dtype=np.int64)[:, None] * moves[None, :]).astype(np.uint64)
    scalars[f"{table_name}_stride"] = len(places)
    uploads[table_name] = rows


def matrix_launches(
    matrix: Elements,
    bits: Literal[8, 16],
    reads: Sequence[Place],
    writes: Sequence[Place],
    stripes: int,
    size: int,
    *,
    delta: bool = False,
    good: int = 0,
) -> list[Launch]:
    """writes[i] = Σ_j matrix[i, j] · reads[j]. delta: reads are pairs (old, new), and the sums are added to the writes.

    Eight rows a pass, or four over GF(2^16), where a coefficient takes four maps.
    """
    launches = []
    flags, most = ACCUMULATE if delta else 0, 8 if bits == 8 else 4
    for first in range(0, len(writes), most):
        part = matrix[first : first + most]
        kernel = Kernel("generic", bits, tuple(range(len(part))), table=delta, delta=delta)
        launches += spread(
            kernel, reads, writes[first : first + most], stripes, size,
            maps=np.ascontiguousarray(part.T), k=part.shape[1], flags=flags, good=good,
        )  # fmt: skip
    return launches


def syndrome_launches(
    rows: Sequence[int],
    matrix: Elements,
    bits: Literal[8, 16],
    reads: Sequence[Place | None],
    writes: Sequence[Place],
    stripes: int,
    size: int,
    *,
    extras: Sequence[Place | None] = (),
) -> list[Launch]:
    """writes = matrix · (Σ_j α^(i·j) reads[j] + extras[i])_i over the exponents i in rows, None counting as zeros.

    GF(2^8): three rows on symbols or up to eight on bit planes, in one pass. GF(2^16): four rows a pass, added up.
    """
    most = 8 if bits == 8 else 4
    kind: Literal["horner", "sliced"] = "sliced" if bits == 8 and len(rows) > 3 else "horner"
    launches = []
    for first in range(0, len(rows), most):
        part = tuple(rows[first : first + most])
        columns = matrix[:, first : first + most]
        simple = kind == "horner" and columns.shape[0] == len(rows) and bool((matrix == np.eye(len(rows))).all())
        plain = simple and not extras and len(rows) <= most
        kernel = Kernel(kind, bits, part, "store" if plain else "maps", table=bool(extras))
        flags = (ACCUMULATE if first else 0) | (EXTRAS if extras else 0)
        launches += spread(
            kernel, [*reads, *extras], writes, stripes, size,
            maps=None if plain else np.ascontiguousarray(columns), k=len(reads), flags=flags,
        )  # fmt: skip
    return launches
