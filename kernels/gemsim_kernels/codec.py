"""Encode, decode, update and verify stripes: one API for NumPy arrays (host) and CuPy arrays (GPU).

A `Code` picks the family for (k, m) and a backend for the arrays that it is given; all backends give the same bytes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from gemsim_kernels import backends
from gemsim_kernels.backends import Backend, BackendName
from gemsim_kernels.codes import Family, Field
from gemsim_kernels.fields import Elements
from gemsim_kernels.host import HostBackend
from gemsim_kernels.matrices import TooManyLost, construct, too_many
from gemsim_kernels.shards import (
    BadShards,
    Rows,
    Shards,
    Views,
    layout_key,
    library,
    like,
    one_side,
    refuse_overlap,
    same_shape,
    shards,
)
from gemsim_kernels.tails import halves

_KEPT = 64  # encodings remembered


def _whole(name: str, number: SupportsIndex) -> int:
    """A count of shards; NumPy's integers serve too."""
    if isinstance(number, bool | np.bool_) or not hasattr(number, "__index__"):
        raise TypeError(f"{name} = {number!r}; allowed: a whole number of shards")
    return operator.index(number)


class Code:
    """A stripe of k data and m parity shards: data shard j is shard j, parity i is shard k + i.

    `field` is auto, 8 or 16 bits; `matrix` is None (the family of `codes.family`), "cauchy" or an m x k array. Shards
    are given as an array (k, n), many stripes as (stripes, k, n), or a list of k arrays of equal length; any dtype is
    taken as bytes, and any stride that leaves the bytes of a shard side by side. Answers come in the same layout, as
    uint8. Over GF(2^16) symbols are 16-bit little-endian: a parity shard for an odd n holds n + 1 bytes
    (`parity_bytes`). `threads` counts those of the host backend. Raises CodeLimit.
    """

    def __init__(
        self,
        k: SupportsIndex,
        m: SupportsIndex,
        *,
        field: Field = "auto",
        matrix: str | NDArray[Any] | None = None,
        backend: BackendName = "auto",
        threads: int = 1,
    ) -> None:
        if threads < 1:
            raise ValueError(f"threads = {threads}; allowed: 1 or more")
        if backend not in backends.NAMES:
            raise backends.NoBackend(f"no such backend ({backend!r}); allowed: {', '.join(backends.NAMES)}")
        self.k, self.m, self.threads, self.backend = _whole("k", k), _whole("m", m), threads, backend
        self.construction = construct(self.k, self.m, field, matrix)
        self._seen: dict[Any, Callable[[], None]] = {}

    @property
    def family(self) -> Family:
        return self.construction.family

    @property
    def generator(self) -> Elements:
        """m x k, read-only: parity i = Σ_j generator[i, j] · data j."""
        return self.construction.generator

    @property
    def symbol_bytes(self) -> int:
        return self.construction.symbol_bytes

    def __repr__(self) -> str:
        return f"Code({self.k}, {self.m}: {self.family.name}, GF(2^{self.construction.bits}))"

    def describe(self) -> str:
        """The code, its limit, and what executes it for NumPy arrays."""
        kind = self.family
        over = f" over GF(2^{kind.field_bits})" if kind.field_bits > 1 else ""
        runs = "CuPy arrays only" if self.backend == "cuda" else self._backend(on_gpu=False).describe()
        return f"{self.k} + {self.m}: {kind.name}{over}, {kind.generator}; {kind.limit}; {runs}"

    def parity_bytes(self, n: int) -> int:
        """Bytes of a parity shard for data shards of n bytes: n, made even over GF(2^16)."""
        return n + n % self.symbol_bytes

    def encode(self, data: Any, parity: Any = None, *, stream: Any = None) -> Any:
        """The m parity shards of `data`, written to `parity` if given. Raises BadShards."""
        key = layout_key(data, parity)
        if key is not None and key in self._seen:
            self._seen[key]()
            return parity
        sources = self._complete(shards(data, self.k, "data"), "data")
        stripes, n = same_shape(sources.views, None, "data")
        size = self.parity_bytes(n)
        if parity is None:
            parity = like(sources, stripes, [size] * self.m)
        targets = self._complete(shards(parity, self.m, "parity"), "parity")
        same_shape(targets.views, (stripes, size), "parity")
        refuse_overlap(targets.views, sources.views)
        backend = self._backend(one_side(sources, targets))
        with _on(stream):
            for data_part, parity_part in halves(n, self.symbol_bytes, sources.views, targets.views):
                if self.m and stripes:
                    backend.encode(self.construction, data_part.views, parity_part.views, stream=stream)
        again = backend.prepare if isinstance(backend, HostBackend) and self.m and stripes and n and size == n else None
        if key is not None and again is not None:
            self._remember(key, again(self.construction, sources.views, targets.views))
        return parity

    def decode(self, given: Any, lost: Iterable[int], out: Any = None, *, stream: Any = None) -> Any:
        """The shards `lost`, in that order, rebuilt from the rest of k + m shards, into `out` if given.

        What stands in a lost place is not read (it may be None, or the very memory to write to). A None elsewhere is
        absent too, but is not rebuilt. Where every data shard is lost over GF(2^16), only `out` tells that n is odd.
        Raises TooManyLost, naming the shards, before anything is written; BadShards.
        """
        wanted = self._indices(lost, self.k + self.m, "lost")
        whole = shards(given, self.k + self.m, "shards")
        absent = {*wanted, *(i for i, view in enumerate(whole.views) if view is None)}
        missing = sorted(absent)
        if len(missing) > self.m:
            raise TooManyLost(too_many(self.construction, missing))
        views = [None if i in absent else view for i, view in enumerate(whole.views)]
        stripes, n = self._lengths(whole, views, wanted, out)
        sizes = [n if index < self.k else self.parity_bytes(n) for index in wanted]
        if out is None:
            out = like(whole, stripes, sizes)
        targets = self._complete(shards(out, len(wanted), "out"), "out")
        for index, view, size in zip(wanted, targets.views, sizes, strict=True):
            same_shape([view], (stripes, size), f"out for shard {index}")
        present = [view for view in views if view is not None]
        refuse_overlap(targets.views, present)
        backend = self._backend(one_side(Shards(present, 0), targets))
        with _on(stream):
            for left, rebuilt in halves(n, self.symbol_bytes, views, targets.views):
                if wanted and stripes:
                    backend.rebuild(self.construction, left.views, wanted, missing, rebuilt.views, stream=stream)
                rebuilt.copy_back()
        return out

    def update(self, parity: Any, index: int | Sequence[int], old: Any, new: Any, *, stream: Any = None) -> None:
        """Bring `parity` up to date in place after data shard(s) `index` changed from `old` to `new`.

        One index takes 1-D arrays, or (stripes, n); several take any layout of `encode`. Raises BadShards.
        """
        single = isinstance(index, int | np.integer)
        which = self._indices([index] if single else index, self.k, "index")  # type: ignore[list-item, arg-type]
        before, after = (
            self._complete(shards([given] if single else given, len(which), name), name)
            for given, name in ((old, "old"), (new, "new"))
        )
        stripes, n = same_shape([*before.views, *after.views], None, "old and new")
        targets = self._complete(shards(parity, self.m, "parity"), "parity")
        same_shape(targets.views, (stripes, self.parity_bytes(n)) if which else None, "parity")
        refuse_overlap(targets.views, [*before.views, *after.views])
        backend = self._backend(one_side(before, after, targets))
        with _on(stream):
            for was, now, part in halves(n, self.symbol_bytes, before.views, after.views, targets.views):
                if self.m and which and stripes:
                    backend.update(self.construction, which, was.views, now.views, part.views, stream=stream)

    def verify(self, data: Any, parity: Any, *, stream: Any = None) -> Any:
        """Whether the parity belongs to the data: one bool, or a bool array, one for each stripe. Raises BadShards."""
        sources = self._complete(shards(data, self.k, "data"), "data")
        stripes, n = same_shape(sources.views, None, "data")
        targets = self._complete(shards(parity, self.m, "parity"), "parity")
        same_shape(targets.views, (stripes, self.parity_bytes(n)), "parity")
        backend = self._backend(one_side(sources, targets))
        with _on(stream):
            good: Any = library(sources.views[0]).ones(stripes, dtype=np.bool_)
            for data_part, parity_part in halves(n, self.symbol_bytes, sources.views, targets.views):
                if self.m and stripes:
                    good &= backend.verify(self.construction, data_part.views, parity_part.views, stream=stream)
        return good if sources.axes in (1, 3) else good[0]

    def _remember(self, key: Any, run: Callable[[], None]) -> None:
        """Keep an encoding for the next step of training: checks and addresses depend on its key alone."""
        if len(self._seen) >= _KEPT:
            self._seen.clear()
        self._seen[key] = run

    def _backend(self, on_gpu: bool) -> Backend:
        return backends.for_arrays(self.backend, on_gpu, self.threads)

    @staticmethod
    def _complete(found: Shards, what: str) -> Shards:
        for index, view in enumerate(() if isinstance(found.views, Rows) else found.views):
            if view is None:
                raise BadShards(f"{what}[{index}] is None; allowed: an array (only decode takes absent shards)")
        return found

    @staticmethod
    def _indices(given: Iterable[int], end: int, what: str) -> list[int]:
        found = [int(index) for index in given]
        for index in found:
            if not 0 <= index < end:
                raise IndexError(f"{what}: no shard {index}; allowed: 0 to {end - 1}")
        if len(set(found)) < len(found):
            raise ValueError(f"{what}: a shard is named twice ({found}); name each once")
        return found

    def _lengths(self, whole: Shards, views: Views, wanted: list[int], out: Any) -> tuple[int, int]:
        """(stripes, bytes of a data shard), the survivors checked against it."""
        data = [view for view in views[: self.k] if view is not None]
        parity = [view for view in views[self.k :] if view is not None]
        if whole.axes >= 2 and whole.views[0].shape[1] % self.symbol_bytes:
            raise BadShards(
                f"shards: {whole.views[0].shape[1]} bytes each, but a parity over GF(2^16) holds an even number; "
                "pass a list of k data shards of n bytes and m parities of n + 1"
            )
        if data:
            stripes, n = same_shape(data, None, "data")
        else:
            stripes, n = same_shape(parity, None, "parity")
            if out is not None and any(index < self.k for index in wanted):
                target = shards(out, len(wanted), "out").views[[i < self.k for i in wanted].index(True)]
                n = target.shape[1] if self.parity_bytes(target.shape[1]) == n else n
        same_shape(parity, (stripes, self.parity_bytes(n)), "parity")
        return stripes, n


def _on(stream: Any) -> AbstractContextManager[Any]:
    """CuPy's current stream for the work of this codec outside the kernels; nothing on the host."""
    return stream if hasattr(stream, "__enter__") else nullcontext()
