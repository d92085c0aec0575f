"""The shards of stripes as views of the arrays themselves; only chunks that span arrays are copied together.

Neighbouring stripes that cut through the same arrays come as one run, so that one launch codes them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gemsim_kernels.chunks import Chunks
from gemsim_kernels.shards import Array, library


class StripeViews:
    """`views` are flat uint8, by name. Positions without a chunk are zeros; scratch holds what spans arrays."""

    def __init__(self, views: Mapping[str, Array], chunks: Chunks) -> None:
        self.views, self.chunks = views, chunks
        self.xp = library(next(iter(views.values())))
        self.scratch = self.xp.zeros((self._most_gathered(), chunks.size), dtype="uint8")
        self.zeros = self.xp.zeros(chunks.size, dtype="uint8")
        owners = [None if (piece := chunks.whole(chunk)) is None else piece.name for chunk in range(chunks.count)]
        rows = [self._owners(stripe, owners) for stripe in range(chunks.stripes)]
        self._joins = [
            row is not None and before == row and (chunks.layout == "interleaved" or len(set(row)) == 1)
            for before, row in zip([None, *rows], rows, strict=False)
        ]

    def _owners(self, stripe: int, owners: Sequence[str | None]) -> list[str | None] | None:
        """The arrays that fill the chunks of a stripe, None where it has no chunk; None if any spans arrays."""
        found: list[str | None] = []
        for chunk in self.chunks.members(stripe):
            if chunk is not None and owners[chunk] is None:
                return None
            found.append(None if chunk is None else owners[chunk])
        return found

    def runs(self, stripes: Sequence[int]) -> Iterator[tuple[range, Any]]:
        """Sorted stripes as runs: which they are, and their data as `Code.encode` takes it."""
        at = 0
        while at < len(stripes):
            end = at + 1
            while end < len(stripes) and stripes[end] == stripes[end - 1] + 1 and self._joins[stripes[end]]:
                end += 1
            run = range(stripes[at], stripes[end - 1] + 1)
            yield run, self._run(run) if len(run) > 1 else [view[None] for view in self.shards(run[0])]
            at = end

    def _run(self, run: range) -> Any:
        count, n, k = len(run), self.chunks.size, self.chunks.k
        members = self.chunks.members(run[0])
        if self.chunks.layout == "contiguous":
            return self._stretch(members[0], count * k).reshape(count, k, n)
        none = self.xp.broadcast_to(self.zeros, (count, n))
        return [none if chunk is None else self._stretch(chunk, count).reshape(count, n) for chunk in members]

    def _stretch(self, chunk: int | None, count: int) -> Array:
        """The bytes of `count` chunks one behind another in one array."""
        piece = self.chunks.whole(chunk) if chunk is not None else None
        assert piece is not None
        return self.views[piece.name][piece.start : piece.start + count * self.chunks.size]

    def shards(self, stripe: int, *, only: set[int] | None = None, without: set[int] | None = None) -> list[Array]:
        """The k data shards of a stripe. Positions outside `only`, or in `without`, are not read: zeros stand there.

        Chunks that span arrays are rows of scratch, good until the next call.
        """
        found: list[Array] = []
        gathered = 0
        for position, chunk in enumerate(self.chunks.members(stripe)):
            skipped = (only is not None and position not in only) or (without is not None and position in without)
            if chunk is None or skipped:
                found.append(self.zeros)
                continue
            whole = self.chunks.whole(chunk)
            if whole is not None:
                found.append(self.views[whole.name][whole.start : whole.stop])
                continue
            self.gather(chunk, self.scratch[gathered])
            found.append(self.scratch[gathered])
            gathered += 1
        return found

    def gather(self, chunk: int, row: Array) -> None:
        """Copy a chunk into a row, zeros in its gaps."""
        row[...] = 0
        for piece in self.chunks.pieces(chunk):
            row[piece.at : piece.at + piece.stop - piece.start] = self.views[piece.name][piece.start : piece.stop]

    def _most_gathered(self) -> int:
        """The most chunks of one stripe that span arrays: the first or the last of an array are the only ones."""
        covered = [self.chunks.covering(name) for name in self.chunks.names]
        ends = {chunk for each in covered if each for chunk in (each[0], each[-1])}
        counts = Counter(self.chunks.place(chunk)[0] for chunk in ends if self.chunks.whole(chunk) is None)
        return max(counts.values(), default=0)
