"""What names a CUDA kernel: the kind of loop, the field, its rows and how shards are reached; and the one signature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BLOCK = 256  # most threads of a block; every kernel is bounded by it
LOST = 1 << 63  # in a table of addresses: no shard here, count zeros (its sign alone is tested, in one instruction)
ACCUMULATE, EXTRAS = 1, 2  # flags of a launch: add to what the outputs hold; add shard k + r to syndrome r

# One signature for all, so that one launcher serves all. Strides are in bytes, in tables they count entries. Where
# `good` is given, outputs are compared with what stands there and not written: a stripe that differs is set to 0.
ARGUMENTS = (
    ("const u8*", "data"), ("u64", "shard_stride"), ("u64", "stripe_stride"),
    ("const u64*", "table"), ("u64", "table_stride"),
    ("u8*", "out"), ("u64", "out_shard_stride"), ("u64", "out_stripe_stride"),
    ("const u64*", "out_table"), ("u64", "out_table_stride"),
    ("u8*", "good"), ("const u32*", "maps"), ("u32", "k"), ("u32", "outputs"), ("u32", "flags"), ("u32", "stripes"),
    ("u64", "begin"), ("u64", "end"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel. `rows` are the exponents i of its syndromes Σ_j α^(i·j) shard_j, or 0 … M-1 for the generic kind.

    kind: horner (symbols in place; GF(2^8) or GF(2^16)), sliced (bit planes in registers; GF(2^8)), generic (a matrix
    of byte maps). finish: store the syndromes, turn them into parity (the constant matrix of the systematic code), or
    multiply them by the launch's maps (decode). table: shards by a table of addresses, LOST where there is none;
    otherwise by strides. vector: 16 aligned bytes at a time, otherwise by symbols at any address. delta: shards come in
    pairs, old and new, whose sum is added to the outputs.
    """

    kind: Literal["horner", "sliced", "generic"]
    bits: Literal[8, 16]
    rows: tuple[int, ...]
    finish: Literal["store", "parity", "maps"] = "store"
    table: bool = False
    vector: bool = True
    delta: bool = False

    @property
    def name(self) -> str:
        rows = "_".join(str(row).replace("-", "m") for row in self.rows)
        reach = ("table" if self.table else "strided") + ("" if self.vector else "_bytes")
        return f"{self.kind}{self.bits}_{rows}_{self.finish}_{'delta_' if self.delta else ''}{reach}"

    @property
    def vectors(self) -> int:
        """16-byte vectors of a shard that one thread holds."""
        return 2 if self.kind == "sliced" else 1

    @property
    def tile(self) -> int:
        """Bytes of a shard that 32 neighbouring threads cover."""
        return 512 * self.vectors
