"""Shards at odd addresses with canary bytes on both sides, poisoned where they are to be written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CANARY = 0xA5
POISON = 0xEE
_MARGIN = 67  # so that shards start at every alignment


class Guarded:
    """`count` shards of these sizes in one buffer, each between canaries."""

    def __init__(self, sizes: Sequence[int], seed: int | None = None) -> None:
        self.buffer = np.full(sum(sizes) + _MARGIN * (len(sizes) + 1), CANARY, dtype=np.uint8)
        self.shards: list[NDArray[np.uint8]] = []
        self._inside = np.zeros(self.buffer.size, dtype=np.bool_)
        at = _MARGIN
        for size in sizes:
            self._inside[at : at + size] = True
            self.shards.append(self.buffer[at : at + size])
            at += size + _MARGIN
        random = None if seed is None else np.random.default_rng(seed)
        for shard in self.shards:
            shard[...] = POISON if random is None else random.integers(0, 256, shard.size, dtype=np.uint8)
        self._before = self.buffer.copy()

    def assert_canaries(self) -> None:
        assert (self.buffer[~self._inside] == CANARY).all(), "bytes outside the shards were written"

    def assert_unchanged(self) -> None:
        assert np.array_equal(self.buffer, self._before), "an input was written"


def random_shards(k: int, n: int, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (k, n), dtype=np.uint8)
