"""Any array as one row of its own bytes, without a copy: NumPy, CuPy, and whatever speaks DLPack, such as torch.

What cannot be seen as bytes in place is refused with the line to write, as a copy would protect something else.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from gemsim_kernels.shards import Array, address, is_array, is_cupy

_ON_HOST, _ON_GPU = (1, 3), (2, 13)  # DLPack's device types: CPU, pinned; CUDA, CUDA managed


class BadState(ValueError):
    """An array that cannot be protected in place: the message says which, why, and what to write."""


def byte_views(arrays: Mapping[str, Any]) -> dict[str, Array]:
    """One flat uint8 view for each array, in order; all on one device and none sharing memory. Raises BadState."""
    if not arrays:
        raise BadState("no arrays were given; pass a dict of names and arrays")
    views = {name: flat_bytes(name, array) for name, array in arrays.items()}
    places = {name: _place(view) for name, view in views.items()}
    first = next(iter(places))
    for name, place in places.items():
        if place != places[first]:
            raise BadState(f"{first} is on {places[first]}, {name} on {place}; make one ProtectedState for each device")
    _refuse_shared(views)
    return views


def flat_bytes(name: str, array: Any) -> Array:
    """The bytes of one array in the order of its memory. Raises BadState."""
    found = array if is_array(array) else _by_dlpack(name, array)
    if found.dtype.hasobject:
        raise BadState(f"{name}: holds Python objects ({found.dtype}); only plain numbers can be protected")
    if not found.flags.c_contiguous:
        if not found.flags.f_contiguous:
            raise BadState(
                f"{name}: its bytes are not side by side (shape {found.shape}, strides {found.strides}); protect the "
                f"array that it is a view of, or write: {name} = {name}.copy()"
            )
        found = found.T
    if isinstance(found, np.ndarray) and not found.flags.writeable:
        old = "" if found is array else " (or take NumPy 2.1 or later: older ones see DLPack's arrays as read-only)"
        raise BadState(f"{name}: is read-only, so it cannot be rebuilt in place; write: {name} = {name}.copy(){old}")
    flat = found.reshape(-1)
    try:
        return flat.view(np.uint8)
    except (TypeError, ValueError) as error:
        raise BadState(f"{name}: {found.dtype} cannot be seen as bytes ({error}); {_line_to_write(name)}") from error


def _by_dlpack(name: str, array: Any) -> Array:
    if not hasattr(array, "__dlpack__") or not hasattr(array, "__dlpack_device__"):
        raise BadState(f"{name}: a {type(array).__name__}, not an array; write: {name} = numpy.asarray({name})")
    try:
        return _imported(array)
    except BadState as error:
        raise BadState(f"{name}: {error}") from error
    except Exception as error:
        seen = _torch_bytes(array)
        if seen is None:
            reason = f"{type(error).__name__}: {error}"
            raise BadState(f"{name}: DLPack does not hand it over ({reason}); {_line_to_write(name)}") from error
        return _imported(seen)


def _imported(array: Any) -> Array:
    device = int(array.__dlpack_device__()[0])
    if device in _ON_HOST:
        return np.from_dlpack(array)
    if device not in _ON_GPU:
        raise BadState(f"is on a device of DLPack type {device}; allowed: host memory and CUDA")
    return importlib.import_module("cupy").from_dlpack(array)


def _torch_bytes(array: Any) -> Any:
    """A torch tensor of a type that DLPack's readers do not know (bfloat16, float8) as uint8; None for all else."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor):
        return None
    try:
        return array.detach().view(torch.uint8)
    except RuntimeError:
        return None


def _line_to_write(name: str) -> str:
    return f"write: {name} = {name}.detach().contiguous().view(torch.uint8), or .view(numpy.uint8) for an array"


def _place(view: Array) -> str:
    return f"GPU {view.device.id}" if is_cupy(view) else "the host"


def _refuse_shared(views: Mapping[str, Array]) -> None:
    """Tied weights under two names would be rebuilt twice and their updates counted twice."""
    spans = sorted((address(view), view.size, name) for name, view in views.items() if view.size)
    for (start, size, name), (after, _, other) in pairwise(spans):
        if after < start + size:
            raise BadState(f"{name} and {other} share memory (tied arrays?); give it under one name")
