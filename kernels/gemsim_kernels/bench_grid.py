"""What a calibration times, the most telling first, so that a grid cut short by its budget is coarse, not lopsided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gemsim_kernels.codes import CodeLimit, family

WIDTHS = (8, 64, 512, 4, 16, 32, 128, 247, 1024, 256)  # from a coarse net to a fine one; 256: GF(2^16) begins
ROWS = (2, 1, 4, 8, 3, 6)
COARSE_WIDTHS, COARSE_ROWS = 3, 4
SHARDS = (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22)  # of the sweep over shard bytes and stripes, at 64 + 4
STRIPES = (1, 4, 16, 64)
# Shards of a state are chunks of pages, whose distance is a multiple of 4 KiB: the worst for a cache with sets.
_PAGE, _ALIGN = 4096, 256  # shard bytes are a multiple of a page, or of this where they are less than a few pages


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel at one shape. `rows` is m, or the lost shards of a decode; an update changes one shard."""

    op: str  # encode | decode | update
    k: int
    m: int
    rows: int
    shard_bytes: int
    stripes: int = 1

    @property
    def label(self) -> str:
        """As progress shows it."""
        lost = f", {self.rows} lost" if self.op == "decode" else ""
        many = f" × {self.stripes} stripes" if self.stripes > 1 else ""
        return f"{self.op} {self.k}+{self.m}{lost}, {self.shard_bytes / 1024:.4g} KiB shards{many}"

    def moved(self, decode_reads: str) -> tuple[int, int]:
        """Bytes read and bytes written by one call."""
        size = self.shard_bytes * self.stripes
        if self.op == "encode":
            return self.k * size, self.m * size
        if self.op == "update":
            return (2 + self.m) * size, self.m * size
        by_checks = decode_reads == "survivors" and family(self.k, self.m).name == "rs"
        return (self.k + self.m - self.rows if by_checks else self.k) * size, self.rows * size


def grid(sizes: Sequence[int], *, largest_pool: int) -> list[Case]:
    """All cases in the order of their worth. `sizes` are bytes of one stripe, k + m shards, the largest first."""
    found: dict[Case, None] = {}
    for case in (*_levels(sizes[0], sizes[-1]), *_sweep(largest_pool), *_between(sizes[1:-1])):
        found.setdefault(case)
    return list(found)


def _levels(large: int, small: int) -> Iterator[Case]:
    """Each kernel at two sizes, as the fit needs: the coarse net, every width of it, every m, few lost of many."""
    coarse_k, coarse_m = WIDTHS[:COARSE_WIDTHS], ROWS[:COARSE_ROWS]
    for widths, rows in ((coarse_k, coarse_m), (WIDTHS[COARSE_WIDTHS:], coarse_m), (WIDTHS, ROWS[COARSE_ROWS:])):
        for k in widths:
            for m in rows:
                yield from _both("encode", k, m, m, large, small)
                yield from _both("decode", k, m, m, large, small)
        for m in rows:
            yield from _both("update", 64, m, m, large, small)  # of any width in its field
            yield from _both("update", 512, m, m, large, small)
    for k in WIDTHS:
        for m, lost in ((4, 1), (4, 2), (2, 1)):
            yield from _both("decode", k, m, lost, large, small)


def _both(op: str, k: int, m: int, rows: int, *sizes: int) -> Iterator[Case]:
    try:
        family(k, m)
    except CodeLimit:
        return
    shards = 2 * (m + 1) if op == "update" else k + m
    for size in sizes:
        align = _PAGE if size // shards >= 4 * _PAGE else _ALIGN
        yield Case(op, k, m, rows, max(_ALIGN, size // shards // align * align))


def _sweep(largest_pool: int) -> Iterator[Case]:
    """Shard bytes and stripes per launch at 64 + 4, as far as four sets of buffers fit into `largest_pool` bytes."""
    for shard in SHARDS:
        for stripes in STRIPES:
            if 68 * shard * stripes * 4 <= largest_pool:
                yield Case("encode", 64, 4, 4, shard, stripes)


def _between(sizes: Sequence[int]) -> Iterator[Case]:
    """Sizes between the largest and the smallest: they show whether the line of the fit is straight."""
    for k in WIDTHS:
        for m in ROWS:
            yield from _both("encode", k, m, m, *sizes)
