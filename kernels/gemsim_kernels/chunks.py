"""Which bytes of which array lie in which stripe: arithmetic only.

The arrays stand one behind another in one row of bytes, each start rounded up so that chunks of an aligned array are
aligned; the row is cut into chunks of equal size and dealt to stripes of k. Gaps and the end count as zeros.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Layout = Literal["interleaved", "contiguous"]
_ALIGN = 256  # as GPU allocators align


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes start … stop of an array, which stand at `at` in their chunk."""

    name: str
    start: int
    stop: int
    at: int


class Chunks:
    """The chunks of a state. Interleaved: neighbours go to different stripes, as damage hits neighbours together."""

    def __init__(self, sizes: Mapping[str, int], k: int, chunk_bytes: int, layout: Layout) -> None:
        self.k, self.size, self.layout = k, chunk_bytes, layout
        align = min(_ALIGN, chunk_bytes & -chunk_bytes)
        self.names = list(sizes)
        self.starts: dict[str, int] = {}
        end = 0
        for name, size in sizes.items():
            self.starts[name] = -(-end // align) * align
            end = self.starts[name] + size
        self.sizes = dict(sizes)
        self.count = -(-end // chunk_bytes)
        self.stripes = -(-self.count // k)
        self._order = [self.starts[name] for name in self.names]

    def place(self, chunk: int) -> tuple[int, int]:
        """Stripe and position of a chunk."""
        if self.layout == "interleaved":
            return chunk % self.stripes, chunk // self.stripes
        return chunk // self.k, chunk % self.k

    def members(self, stripe: int) -> list[int | None]:
        """The k chunks of a stripe; None where it has none, which counts as zeros."""
        step, first = (self.stripes, stripe) if self.layout == "interleaved" else (1, stripe * self.k)
        chunks = [first + position * step for position in range(self.k)]
        return [chunk if chunk < self.count else None for chunk in chunks]

    def covering(self, name: str, start: int = 0, stop: int | None = None) -> range:
        """The chunks that hold any of bytes start … stop of an array."""
        stop = self.sizes[name] if stop is None else stop
        if start >= stop:
            return range(0)
        base = self.starts[name]
        return range((base + start) // self.size, (base + stop - 1) // self.size + 1)

    def pieces(self, chunk: int) -> Iterator[Piece]:
        """What a chunk holds, in order."""
        begin, end = chunk * self.size, (chunk + 1) * self.size
        for place in range(max(0, bisect_right(self._order, begin) - 1), len(self.names)):
            name = self.names[place]
            base = self.starts[name]
            if base >= end:
                return
            start, stop = max(begin, base), min(end, base + self.sizes[name])
            if start < stop:
                yield Piece(name, start - base, stop - base, start - begin)

    def whole(self, chunk: int) -> Piece | None:
        """The one piece that fills a chunk; None where it is put together from several or has gaps."""
        first = next(self.pieces(chunk), None)
        return first if first is not None and first.stop - first.start == self.size else None


def split(start: int, stop: int, lost: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    """Cut start … stop where lost ranges begin and end: parts, and whether each is lost."""
    cuts = sorted({start, stop, *(edge for pair in lost for edge in pair if start < edge < stop)})
    for low, high in pairwise(cuts):
        yield low, high, any(a <= low and high <= b for a, b in lost)
