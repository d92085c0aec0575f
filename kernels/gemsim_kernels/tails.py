"""Shards of odd length over GF(2^16): the even part, then the last byte as a symbol whose high byte is 0.

Backends thus see whole symbols only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gemsim_kernels.shards import Array, Views, library


@dataclass(slots=True)
class Parts:
    """Views of equal, whole length; `padded` holds (the shard, its padded copy) where there was a byte too few."""

    views: Views
    padded: list[tuple[Array, Array]] = field(default_factory=list)

    def copy_back(self) -> None:
        """Move what was written to padded copies to the shards they stand for."""
        for shard, copy in self.padded:
            shard[:, -1] = copy[:, 0]


def halves(n: int, symbol_bytes: int, *groups: Views) -> Iterator[tuple[Parts, ...]]:
    """Each group of shards cut to whole symbols of data shards of n bytes: once, or twice for an odd n."""
    even = n - n % symbol_bytes
    if even == n:
        if n:
            yield tuple(Parts(views) for views in groups)
        return
    if even:
        yield tuple(Parts([None if view is None else view[:, :even] for view in views]) for views in groups)
    yield tuple(_last(views, n) for views in groups)


def _last(views: Sequence[Array], n: int) -> Parts:
    whole: list[Array] = []
    padded: list[tuple[Array, Array]] = []
    for view in views:
        if view is None or view.shape[1] > n:
            whole.append(None if view is None else view[:, n - 1 :])
            continue
        copy = library(view).zeros((view.shape[0], 2), dtype=np.uint8)
        copy[:, 0] = view[:, -1]
        whole.append(copy)
        padded.append((view, copy))
    return Parts(whole, padded)
