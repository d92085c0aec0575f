"""Protects a set of arrays by parity kept beside them, and rebuilds lost bytes in place, bit for bit.

The arrays stay where they are and are taken as bytes: only their parity, m/k of their size, is new memory. On a GPU all
work goes to CuPy's current stream.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gemsim_kernels.backends import BackendName
from gemsim_kernels.byte_views import BadState, byte_views
from gemsim_kernels.chunks import Chunks, Layout, split
from gemsim_kernels.codec import Code
from gemsim_kernels.codes import Field
from gemsim_kernels.matrices import TooManyLost
from gemsim_kernels.shards import Array
from gemsim_kernels.stripe_views import StripeViews

Lost = tuple[str, int, int]  # name, first byte, the byte past the last


class StaleParity(RuntimeError):
    """The parity of a stripe does not belong to its data as it stands: nothing was written."""


@dataclass(frozen=True, slots=True)
class Overhead:
    """Bytes that the protection takes beside the state. `share` is parity over state."""

    state: int
    parity: int
    scratch: int
    stripes: int
    chunk_bytes: int

    @property
    def share(self) -> float:
        return self.parity / self.state if self.state else 0.0

    def __str__(self) -> str:
        return (
            f"{self.parity:,} bytes of parity for {self.state:,} bytes of state ({self.share:.2%}) in "
            f"{self.stripes:,} stripes of {self.chunk_bytes:,}-byte chunks, {self.scratch:,} bytes of scratch"
        )


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild did."""

    stripes: tuple[int, ...]
    chunks: int
    bytes: int


class ProtectedState:
    """k + m stripes over `arrays` (name -> NumPy or CuPy array, or any with DLPack), encoded on creation.

    Chunks of `chunk_bytes` are dealt to stripes "interleaved" (neighbours to different stripes) or "contiguous".
    After the arrays change, call `encode`, or change them inside `updating`. Raises BadState for an array that cannot
    be protected in place, CodeLimit where no code covers k + m.
    """

    def __init__(
        self,
        arrays: Mapping[str, Any],
        k: int,
        m: int,
        *,
        chunk_bytes: int = 2 << 20,
        layout: Layout = "interleaved",
        field: Field = "auto",
        backend: BackendName = "auto",
        threads: int = 1,
    ) -> None:
        self.code = Code(k, m, field=field, backend=backend, threads=threads)
        if chunk_bytes < 1 or chunk_bytes % self.code.symbol_bytes:
            raise BadState(f"chunk_bytes = {chunk_bytes}; allowed: multiples of {self.code.symbol_bytes} above 0")
        if layout not in ("interleaved", "contiguous"):
            raise BadState(f"no such layout ({layout!r}); allowed: interleaved or contiguous")
        self._views = byte_views(arrays)
        self.chunks = Chunks({name: int(view.size) for name, view in self._views.items()}, k, chunk_bytes, layout)
        self._stripes = StripeViews(self._views, self.chunks)
        self.parity = self._stripes.xp.zeros((self.chunks.stripes, m, chunk_bytes), dtype="uint8")
        self._open: set[int] = set()  # chunks inside `updating`
        self._stale: set[int] = set()  # stripes whose parity may be half written
        self.encode()

    @property
    def overhead(self) -> Overhead:
        """Memory taken beside the state; `updating` takes more while it is open (`staging_bytes`)."""
        state = sum(int(view.size) for view in self._views.values())
        scratch = int(self._stripes.scratch.size + self._stripes.zeros.size)
        return Overhead(state, int(self.parity.size), scratch, self.chunks.stripes, self.chunks.size)

    def staging_bytes(self, names: Iterable[str]) -> int:
        """Bytes that `updating(names)` keeps of the old state."""
        return len(self._chunks_of(names)) * self.chunks.size

    def encode(self, names: Iterable[str] | None = None) -> int:
        """Compute the parity of all stripes, or of those that hold any byte of `names`; how many they were."""
        stripes = self._stripes_of(names)
        self._refuse_open(stripes, "encode")
        for run, data in self._stripes.runs(stripes):
            self._stale.update(run)
            self.code.encode(data, self.parity[run.start : run.stop])
            self._stale.difference_update(run)
        return len(stripes)

    def verify(self, names: Iterable[str] | None = None) -> list[int]:
        """The stripes, of all or of those that hold `names`, whose parity does not belong to their data."""
        stripes = self._stripes_of(names)
        self._refuse_open(stripes, "verify")
        bad: list[int] = []
        for run, data in self._stripes.runs(stripes):
            good = self.code.verify(data, self.parity[run.start : run.stop])
            bad += [stripe for stripe, fine in zip(run, good.tolist(), strict=True) if not fine]
        return bad

    @contextmanager
    def updating(self, names: Iterable[str]) -> Iterator[None]:
        """Keep the old bytes of `names`, and bring the parity up to date by the difference at the end.

        What other arrays suffered meanwhile does not get into the parity, and it stays right when the block raises.
        Only the named arrays may change inside. Blocks may not be nested over the same chunks.
        """
        chunks = self._chunks_of(names)
        if self._open.intersection(chunks):
            raise RuntimeError("updating: these arrays, or neighbours in their chunks, are being updated already")
        stale = sorted(self._stale.intersection(self.chunks.place(chunk)[0] for chunk in chunks))
        if stale:
            raise StaleParity(f"stripe {stale[0]}: its parity may be half written; call encode() first")
        old = self._stripes.xp.empty((len(chunks), self.chunks.size), dtype="uint8")
        for row, chunk in zip(old, chunks, strict=True):
            self._stripes.gather(chunk, row)
        self._open.update(chunks)
        try:
            yield
        finally:
            self._open.difference_update(chunks)
            self._apply_difference(chunks, old)

    def _apply_difference(self, chunks: Sequence[int], old: Array) -> None:
        touched: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for row, chunk in enumerate(chunks):
            stripe, position = self.chunks.place(chunk)
            touched[stripe].append((position, row))
        self._stale.update(touched)
        for stripe, changed in touched.items():
            positions = [position for position, _ in changed]
            new = self._stripes.shards(stripe, only=set(positions))
            olds = [old[row] for _, row in changed]
            self.code.update(self.parity[stripe], positions, olds, [new[position] for position in positions])
            self._stale.discard(stripe)

    def rebuild(self, lost: Iterable[Lost], *, lost_parity: Iterable[tuple[int, int]] = ()) -> Rebuilt:
        """Rebuild bytes `start` to `stop` of named arrays in place, and parity shards (stripe, row).

        All is checked before a byte is written. Raises TooManyLost, naming the stripe, where more than m of its chunks
        are hit, and StaleParity where the parity does not fit what is left: bytes of a hit chunk beside the lost ones
        are compared with what is rebuilt.
        """
        ranges, shards = self._lost_shards(lost, lost_parity)
        self._refuse_lost(shards)
        writes: list[tuple[Array, Array]] = []
        for stripe, indices in sorted(shards.items()):
            writes += self._rebuilt(stripe, sorted(indices), ranges)
        for target, source in writes:
            target[...] = source
        hit = sum(len(indices) for indices in shards.values())
        return Rebuilt(tuple(sorted(shards)), hit, sum(int(target.size) for target, _ in writes))

    def _lost_shards(
        self, lost: Iterable[Lost], lost_parity: Iterable[tuple[int, int]]
    ) -> tuple[dict[str, list[tuple[int, int]]], dict[int, set[int]]]:
        """The lost ranges by array, and the shards hit by stripe. Raises BadState for what does not exist."""
        ranges: dict[str, list[tuple[int, int]]] = defaultdict(list)
        shards: dict[int, set[int]] = defaultdict(set)
        for name, start, stop in lost:
            size = self._size(name)
            if not 0 <= start <= stop <= size:
                raise BadState(f"{name}: no bytes {start} to {stop}; allowed: within 0 to {size}")
            ranges[name].append((start, stop))
            for chunk in self.chunks.covering(name, start, stop):
                stripe, position = self.chunks.place(chunk)
                shards[stripe].add(position)
        for stripe, row in lost_parity:
            if not (0 <= stripe < self.chunks.stripes and 0 <= row < self.code.m):
                raise BadState(f"no parity shard {row} of stripe {stripe}; there are {self.parity.shape[:2]}")
            shards[stripe].add(self.code.k + row)
        return ranges, shards

    def _refuse_lost(self, shards: Mapping[int, set[int]]) -> None:
        stripes = sorted(shards)
        self._refuse_open(stripes, "rebuild")
        over = [stripe for stripe in stripes if len(shards[stripe]) > self.code.m]
        if over:
            first = over[0]
            more = f", and so are {len(over) - 1} other stripes" if len(over) > 1 else ""
            raise TooManyLost(
                f"stripe {first}: {len(shards[first])} of its chunks are lost ({self._said(first, shards[first])}), "
                f"more than m = {self.code.m}{more}; nothing was written: reload from a checkpoint"
            )
        stale = [stripe for stripe in stripes if stripe in self._stale]
        if stale:
            raise StaleParity(f"stripe {stale[0]}: its parity may be half written; nothing was written to the state")

    def _said(self, stripe: int, indices: Iterable[int]) -> str:
        """Which arrays the lost chunks hold, for a message."""
        members = self.chunks.members(stripe)
        held: dict[str, None] = {}
        for index in sorted(indices):
            chunk = members[index] if index < self.code.k else None
            names = [piece.name for piece in self.chunks.pieces(chunk)] if chunk is not None else ["parity"]
            held.update(dict.fromkeys(names))
        shown = list(held)[:6]
        return ", ".join(shown) + (", …" if len(held) > 6 else "")

    def _rebuilt(
        self, stripe: int, indices: list[int], ranges: Mapping[str, list[tuple[int, int]]]
    ) -> list[tuple[Array, Array]]:
        """What to write where for one stripe: targets in the state or the parity, and the bytes for them."""
        k = self.code.k
        members = self.chunks.members(stripe)
        shards: list[Array | None] = [*self._stripes.shards(stripe, without=set(indices)), *self.parity[stripe]]
        for index in indices:
            shards[index] = None
        writes: list[tuple[Array, Array]] = []
        for index, row in zip(indices, self.code.decode(shards, indices), strict=True):
            if index >= k:
                writes.append((self.parity[stripe, index - k], row))
                continue
            chunk = members[index]
            if chunk is None:
                continue
            for piece in self.chunks.pieces(chunk):
                view = self._views[piece.name]
                for start, stop, hit in split(piece.start, piece.stop, ranges.get(piece.name, ())):
                    source = row[start - piece.start + piece.at : stop - piece.start + piece.at]
                    if hit:
                        writes.append((view[start:stop], source))
                    elif not bool((view[start:stop] == source).all()):
                        raise StaleParity(
                            f"stripe {stripe}: bytes {start} to {stop} of {piece.name}, said to be whole, are not what "
                            "its parity gives: they changed since the last encode, or more is lost; nothing was written"
                        )
        return writes

    def _size(self, name: str) -> int:
        if name not in self._views:
            raise BadState(f"no array '{name}'; there are {', '.join(list(self._views)[:12])}")
        return int(self._views[name].size)

    def _chunks_of(self, names: Iterable[str]) -> list[int]:
        found: set[int] = set()
        for name in [names] if isinstance(names, str) else names:
            self._size(name)
            found.update(self.chunks.covering(name))
        return sorted(found)

    def _stripes_of(self, names: Iterable[str] | None) -> list[int]:
        if names is None:
            return list(range(self.chunks.stripes))
        return sorted({self.chunks.place(chunk)[0] for chunk in self._chunks_of(names)})

    def _refuse_open(self, stripes: Iterable[int], what: str) -> None:
        inside = {self.chunks.place(chunk)[0] for chunk in self._open}
        hit = sorted(inside.intersection(stripes))
        if hit:
            raise RuntimeError(f"{what}: stripe {hit[0]} holds arrays that are being updated; leave `updating` first")
