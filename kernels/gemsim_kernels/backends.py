"""Which backend executes a code: the protocol that all of them follow, and the choice by arrays and installed tools."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Literal, Protocol, cast

from gemsim_kernels import numpy_path, reference
from gemsim_kernels.matrices import Construction
from gemsim_kernels.shards import Array, Views

BackendName = Literal["auto", "reference", "numpy", "numba", "cuda"]
NAMES = ("auto", "reference", "numpy", "numba", "cuda")


class NoBackend(RuntimeError):
    """The backend asked for cannot run here: the message says why and what to install."""


class Backend(Protocol):
    """What executes a code. Views are uint8 (stripes, bytes), all checked; bytes are even where code.bits is 16.

    `missing` names every shard that cannot be read (its entry in `shards` must not be touched) and `lost` those of them
    to rebuild, in the order of `out`. `verify` answers one truth value for each stripe. Nothing here may synchronise a
    stream; the current stream already is `stream` where that is given.
    """

    @property
    def name(self) -> str: ...

    @property
    def describe(self) -> Any: ...

    def encode(self, code: Construction, data: Views, parity: Views, *, stream: Any = None) -> None: ...

    def rebuild(
        self,
        code: Construction,
        shards: Sequence[Array | None],
        lost: Sequence[int],
        missing: Sequence[int],
        out: Views,
        *,
        stream: Any = None,
    ) -> None: ...

    def update(
        self, code: Construction, index: Sequence[int], old: Views, new: Views, parity: Views, *, stream: Any = None
    ) -> None: ...

    def verify(self, code: Construction, data: Views, parity: Views, *, stream: Any = None) -> Array: ...


def for_arrays(name: BackendName, on_gpu: bool, threads: int) -> Backend:
    """The backend called `name`, or the fastest that can read these arrays. Raises NoBackend."""
    if name not in NAMES:
        raise NoBackend(f"no such backend ({name!r}); allowed: {', '.join(NAMES)}")
    if on_gpu and name not in ("auto", "cuda"):
        raise NoBackend(f"backend {name!r} reads NumPy arrays, these are CuPy's; allowed: auto or cuda")
    if name == "cuda" and not on_gpu:
        raise NoBackend("backend 'cuda' reads CuPy arrays, these are NumPy's; allowed: auto, numba, numpy, reference")
    if on_gpu:
        return cast(Backend, import_module("gemsim_kernels.gpu").backend())
    if name == "reference":
        return reference.backend()
    if name == "numpy":
        return numpy_path.backend()
    found = _numba(threads)
    if isinstance(found, str):
        if name == "numba":
            raise NoBackend(f"backend 'numba': {found}; install it with: pip install 'gemsim[fast]'")
        _warn_slow(found)
        return numpy_path.backend(found)
    return found


@cache
def _numba(threads: int) -> Backend | str:
    """The Numba backend, or why there is none."""
    try:
        return cast(Backend, import_module("gemsim_kernels.cpu").backend(threads))
    except ImportError as error:
        return f"numba cannot be imported ({error})"


@cache
def _warn_slow(reason: str) -> None:
    warnings.warn(
        f"{reason}: stripes on the host are coded by NumPy, some ten times slower, with the same bytes; "
        "install it with: pip install 'gemsim[fast]'",
        RuntimeWarning,
        stacklevel=4,
    )
