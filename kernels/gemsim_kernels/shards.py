"""Arrays of any dtype and layout seen as shards: one (stripes, bytes) uint8 view for each, without a copy.

NumPy and CuPy arrays pass through the same code, which only slices and views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any  # a NumPy or a CuPy array
Views = Sequence[Any]  # uint8 (stripes, bytes), the bytes of a row side by side; None where a shard is absent


class BadShards(ValueError):
    """Shards that do not fit the code or each other: the message says which, what is allowed and what to do."""


class Rows(Sequence[Array]):
    """Views that are the rows of one array `stack` (stripes, shards, bytes), where much can be settled at once.

    `begin` is its address and `end` the one past its last byte; `tidy` says that no two rows share a byte.
    """

    __slots__ = ("begin", "end", "stack", "tidy")

    def __init__(self, stack: Array) -> None:
        stripes, count, size = stack.shape
        by_stripe, by_shard, _ = stack.strides
        row = (count - 1) * by_shard + size
        self.stack, self.begin = stack, address(stack)
        self.tidy = (count <= 1 or by_shard >= size) and (stripes <= 1 or by_stripe >= row)
        self.end = self.begin + (stripes - 1) * by_stripe + row

    def __len__(self) -> int:
        return int(self.stack.shape[1])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self.stack[:, each] for each in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self.stack[:, index]


class Loose(list[Any]):
    """Views of arrays given one by one; `begin` keeps their addresses, dear to ask for, once known."""

    begin: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Shards:
    """Views of the shards given, None where one is absent. `axes` is the layout to answer in.

    0: a list of 1-D arrays; 1: a list of 2-D arrays (stripes, bytes); 2: one array (shards, bytes);
    3: one array (stripes, shards, bytes).
    """

    views: Views
    axes: int

    @property
    def present(self) -> Iterator[Array]:
        return (view for view in self.views if view is not None)


def is_cupy(array: Any) -> bool:
    return not isinstance(array, np.ndarray) and type(array).__module__.split(".")[0] == "cupy"


def library(array: Array) -> Any:
    """The module that made this array: numpy or cupy."""
    return import_module("cupy") if is_cupy(array) else np


def is_array(array: Any) -> bool:
    return isinstance(array, np.ndarray) or is_cupy(array)


def shards(given: Any, count: int, what: str) -> Shards:
    """`count` shards out of an array or a sequence of arrays. Raises BadShards; `what` names them in its message."""
    if is_array(given):
        if given.ndim not in (2, 3) or given.shape[-2] != count:
            raise BadShards(
                f"{what}: an array of shape {given.shape}; allowed: ({count}, n) or (stripes, {count}, n), or a list"
            )
        stack = _bytes(given, what)[None] if given.ndim == 2 else _bytes(given, what)
        return Shards(Rows(stack), given.ndim)
    if not isinstance(given, Sequence) or len(given) != count:
        size = f" of {len(given)}" if isinstance(given, Sequence) else ""
        raise BadShards(f"{what}: a {type(given).__name__}{size}; allowed: an array, or a list of {count} arrays")
    return _from_list(given, what)


def _from_list(given: Sequence[Any], what: str) -> Shards:
    views = Loose()
    dimensions = set()
    for index, one in enumerate(given):
        if one is None:
            views.append(None)
            continue
        if not is_array(one) or one.ndim not in (1, 2):
            kind = f"{one.ndim}-D array" if is_array(one) else type(one).__name__
            raise BadShards(f"{what}[{index}]: a {kind}; allowed: 1-D arrays, or 2-D (stripes, n), or None if lost")
        dimensions.add(one.ndim)
        view = _bytes(one, f"{what}[{index}]")
        views.append(view[None] if one.ndim == 1 else view)
    if len(dimensions) > 1:
        raise BadShards(f"{what}: 1-D and 2-D arrays mixed; allowed: one or the other")
    return Shards(views, 1 if dimensions == {2} else 0)


def _bytes(array: Array, what: str) -> Array:
    """The array as uint8, its last axis scaled to bytes."""
    if array.dtype.hasobject:
        raise BadShards(f"{what}: holds Python objects; allowed: any dtype made of plain bytes")
    if not array.size:
        return library(array).empty((*array.shape[:-1], array.shape[-1] * array.itemsize), dtype=np.uint8)
    if array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
        raise BadShards(
            f"{what}: elements of {array.itemsize} bytes stand {array.strides[-1]} bytes apart; allowed: the bytes of "
            "a shard side by side (any stride between shards); pass a copy"
        )
    try:
        return array.view(np.uint8)
    except ValueError as error:
        raise BadShards(f"{what}: {array.dtype} cannot be seen as bytes ({error}); pass x.view(numpy.uint8)") from error


def like(model: Shards, stripes: int, sizes: Sequence[int]) -> Any:
    """New uint8 shards of these sizes in the layout and memory of `model`; as one array only where sizes agree."""
    make = library(next(model.present, None)).empty
    if model.axes >= 2 and len(set(sizes)) <= 1:
        size = sizes[0] if sizes else 0
        shape = (len(sizes), size) if model.axes == 2 else (stripes, len(sizes), size)
        return make(shape, dtype=np.uint8)
    return [make((stripes, size) if model.axes in (1, 3) else size, dtype=np.uint8) for size in sizes]


def one_side(*groups: Shards) -> bool:
    """True for the GPU, False for the host. Raises BadShards for a mixture."""
    sides = {on_gpu for group in groups for on_gpu in _sides(group.views)}
    if len(sides) > 1:
        raise BadShards("NumPy and CuPy arrays mixed; allowed: all on the host or all on one GPU; copy one side")
    return True in sides


def _sides(views: Views) -> set[bool]:
    if isinstance(views, Rows):
        return {is_cupy(views.stack)}
    return {is_cupy(view) for view in views if view is not None}


def same_shape(views: Sequence[Array], expected: tuple[int, int] | None, what: str) -> tuple[int, int]:
    """(stripes, bytes) that all these share, and `expected` if given. Raises BadShards."""
    for index, view in enumerate(views[:1] if isinstance(views, Rows) else views):
        if expected is None:
            expected = view.shape
        if view.shape != expected:
            raise BadShards(
                f"{what}, shard {index}: {view.shape[0]} stripes of {view.shape[1]} bytes; "
                f"allowed here: {expected[0]} of {expected[1]}"
            )
    return (1, 0) if expected is None else (int(expected[0]), int(expected[1]))


def refuse_overlap(outputs: Sequence[Array], inputs: Sequence[Array]) -> None:
    """Refuse outputs that cannot be written, or share bytes with each other or with an input."""
    if _clearly_apart(outputs, inputs):
        return
    for index, view in enumerate(outputs):
        if isinstance(view, np.ndarray) and not view.flags.writeable:
            raise BadShards(f"output {index} is read-only; pass an array that can be written")
        if view.shape[0] > 1 and abs(view.strides[0]) < view.shape[1]:
            raise BadShards(f"output {index} shares bytes from stripe to stripe; pass an array without overlaps")
    ends = [_bounds(views) for views in (outputs, inputs)]
    low, high = (np.concatenate(pair) for pair in zip(*ends, strict=True))
    everything = [*outputs, *inputs]
    for index, view in enumerate(outputs):
        for other in np.flatnonzero((low < high[index]) & (high > low[index])):
            if other != index and _overlap(view, everything[other]):
                kind = "output" if other < len(outputs) else "input"
                place = other if other < len(outputs) else other - len(outputs)
                raise BadShards(f"output {index} shares bytes with {kind} {place}; pass arrays that do not overlap")


def _clearly_apart(outputs: Sequence[Array], inputs: Sequence[Array]) -> bool:
    """True, at little cost, for two arrays that lie apart and outputs in which no rows overlap."""
    if not isinstance(outputs, Rows) or not isinstance(inputs, Rows) or not outputs.tidy or not inputs.tidy:
        return False
    if isinstance(outputs.stack, np.ndarray) and not outputs.stack.flags.writeable:
        return False
    return bool(outputs.end <= inputs.begin or inputs.end <= outputs.begin)


def layout_key(data: Any, parity: Any) -> Any:
    """All that the checks of two NumPy arrays look at: addresses, whether written to, shapes, strides and dtypes."""
    if type(data) is not np.ndarray or type(parity) is not np.ndarray:
        return None
    places = data.__array_interface__["data"], parity.__array_interface__["data"]
    return places, data.shape, parity.shape, data.strides, parity.strides, data.dtype, parity.dtype


def starts(views: Sequence[Array]) -> NDArray[np.int64]:
    """The address of each view's first byte."""
    if isinstance(views, Rows):
        return np.asarray(views.begin + views.stack.strides[1] * np.arange(len(views)))
    if isinstance(views, Loose) and views.begin is not None:
        return views.begin
    found = np.fromiter((address(view) for view in views), dtype=np.int64, count=len(views))
    if isinstance(views, Loose):
        views.begin = found
    return found


def steps(views: Sequence[Array]) -> NDArray[np.int64]:
    """Bytes from one stripe of each view to the next."""
    if isinstance(views, Rows):
        return np.full(len(views), views.stack.strides[0])
    return np.fromiter((view.strides[0] for view in views), dtype=np.int64, count=len(views))


def _bounds(views: Sequence[Array]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First address of each view and the one past its last."""
    begin = starts(views)
    stripes, size = views[0].shape if views else (0, 0)
    if not stripes or not size:
        return begin, begin  # nothing lies there
    reach = (stripes - 1) * steps(views) if stripes > 1 else np.zeros_like(begin)
    sizes = size if isinstance(views, Rows) else [view.shape[1] for view in views]
    return begin + np.minimum(0, reach), begin + np.maximum(0, reach) + sizes


def address(view: Array) -> int:
    """Where the first byte lies in its memory."""
    if isinstance(view, np.ndarray):
        return int(view.__array_interface__["data"][0])
    return int(view.data.ptr)


def _overlap(a: Array, b: Array) -> bool:
    """Exact where both step alike from stripe to stripe, else as far as NumPy can tell."""
    apart = abs(address(a) - address(b))
    if a.strides[0] == b.strides[0] and a.strides[0]:
        step, size = abs(a.strides[0]), max(a.shape[1], b.shape[1])
        return bool(apart % step < size or step - apart % step < size)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.shares_memory(a, b))
    return True
