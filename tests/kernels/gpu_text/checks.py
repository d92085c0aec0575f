"""What every way of running the GPU's kernels must satisfy: the reference's bytes where they belong, and no other byte.

Shards lie in one arena of random bytes, so outputs are poisoned and everything between shards is a canary; a check
compares the whole arena with what it should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsim_kernels import Code

LayoutName = Literal["strided", "scattered", "unaligned"]
LAYOUTS: tuple[LayoutName, ...] = ("strided", "scattered", "unaligned")
Bytes = NDArray[np.uint8]


class Side(Protocol):
    """A way to run kernels: the CPU behind the shim, or a GPU through CuPy."""

    def code(self, k: int, m: int, **options: Any) -> Code: ...

    def put(self, host: Any) -> Any: ...

    def get(self, there: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Case:
    """A code to check. `matrix` is None for the family, or the seed of a random matrix, or "cauchy"."""

    k: int
    m: int
    bits: Literal[8, 16] = 8
    matrix: str | int | None = None

    @property
    def options(self) -> dict[str, Any]:
        if not isinstance(self.matrix, int):
            return {"field": self.bits, "matrix": self.matrix}
        values = np.random.default_rng(self.matrix).integers(0, 1 << self.bits, (self.m, self.k))
        return {"field": self.bits, "matrix": values.astype(np.uint8 if self.bits == 8 else np.uint16)}

    def __str__(self) -> str:
        return f"{self.k}+{self.m}-gf{self.bits}" + ("" if self.matrix is None else f"-{self.matrix}")


GROUPS: dict[int, tuple[int, ...]] = {
    1: (1, 2, 3, 4, 8, 17, 64, 255, 300, 4096),
    2: (1, 2, 5, 8, 32, 100, 255),
    3: (1, 2, 6, 16, 254, 255),
    4: (1, 2, 4, 8, 16, 64, 251),
    5: (1, 2, 3, 12, 40, 250),
    6: (1, 2, 6, 32, 249),
    7: (1, 2, 3, 20, 100, 248),
    8: (1, 2, 8, 16, 32, 64, 247),
    9: (5, 30),
    12: (20,),
}
WIDE: dict[int, tuple[int, ...]] = {
    2: (1, 3, 16, 256, 300),
    3: (1, 2, 9, 256),
    4: (1, 3, 16, 252),
    6: (2, 11),
    8: (1, 9),
}
FAMILIES = [Case(k, m) for m, widths in GROUPS.items() for k in widths] + [
    Case(k, m, 16) for m, widths in WIDE.items() for k in widths
]
CAUCHY = [Case(3, 2, 8, "cauchy"), Case(10, 4, 8, "cauchy"), Case(200, 3, 8, "cauchy"), Case(16, 3, 16, "cauchy")]
GIVEN = [Case(5, 1, 8, 1), Case(12, 2, 8, 2), Case(9, 8, 8, 3), Case(1, 1, 16, 4), Case(6, 4, 16, 5)]
GENERIC = [*CAUCHY, Case(7, 9, 8, "cauchy"), *GIVEN]


class Arena:
    """Shards of n bytes (n for each) in one buffer of random bytes, at the places that a layout gives them."""

    def __init__(self, rng: np.random.Generator, layout: LayoutName, stripes: int, sizes: Sequence[int]) -> None:
        self.stripes, self.sizes = stripes, list(sizes)
        self.offsets, self.steps = _places(rng, layout, stripes, self.sizes)
        end = max(offset + stripes * step for offset, step in zip(self.offsets, self.steps, strict=True))
        self.host = rng.integers(0, 256, end + 96, dtype=np.uint8)

    def views(self, buffer: Any) -> list[Any]:
        """(stripes, n) of every shard in the host's buffer, or in its image on the GPU."""
        cut = zip(self.offsets, self.steps, self.sizes, strict=True)
        return [buffer[at : at + self.stripes * step].reshape(self.stripes, step)[:, :n] for at, step, n in cut]


def _places(
    rng: np.random.Generator, layout: LayoutName, stripes: int, sizes: list[int]
) -> tuple[list[int], list[int]]:
    """Offset and step of every shard. strided: as rows of one array; otherwise in any order, each with its own step."""
    if layout == "strided":
        row = -(-max(sizes) // 16) * 16 + 16
        return [64 + index * row for index in range(len(sizes))], [row * len(sizes)] * len(sizes)
    grain = 16 if layout == "scattered" else 1
    offsets, steps, at = [0] * len(sizes), [0] * len(sizes), 64
    for index in rng.permutation(len(sizes)):
        steps[index] = (-(-sizes[index] // grain) + int(rng.integers(1, 4))) * grain
        offsets[index] = at
        at += stripes * steps[index] + int(rng.integers(1, 5)) * grain
    return offsets, steps


def size_of(case: Case, layout: LayoutName) -> int:
    """Bytes a shard: several blocks and a tail for narrow codes, little more than one tile for wide ones."""
    size = 9 * 1024 + 33 * 16 if case.k * case.m <= 64 else 1024 + 48
    return size + (38 if layout != "scattered" else 0)


def _arena(
    rng: np.random.Generator, case: Case, layout: LayoutName, stripes: int, n: int | None = None
) -> tuple[Code, Arena]:
    """A reference code, and an arena with a consistent stripe of it, data first."""
    reference = Code(case.k, case.m, backend="reference", **case.options)
    n = size_of(case, layout) if n is None else n
    arena = Arena(rng, layout, stripes, [n] * case.k + [reference.parity_bytes(n)] * case.m)
    views = arena.views(arena.host)
    reference.encode(views[: case.k], views[case.k :])
    return reference, arena


def _poisoned(arena: Arena, rng: np.random.Generator, indices: Sequence[int]) -> Bytes:
    """The arena with other bytes in the places that are to be written."""
    buffer = arena.host.copy()
    views = arena.views(buffer)
    for index in indices:
        views[index][...] = rng.integers(0, 256, views[index].shape, dtype=np.uint8)
    return buffer


def check_encode(
    side: Side, case: Case, layout: LayoutName, rng: np.random.Generator, *, stripes: int = 2, n: int | None = None
) -> None:
    """Parity as the reference's, and nothing else touched."""
    _, arena = _arena(rng, case, layout, stripes, n)
    there = side.put(_poisoned(arena, rng, range(case.k, case.k + case.m)))
    views = arena.views(there)
    side.code(case.k, case.m, **case.options).encode(views[: case.k], views[case.k :])
    np.testing.assert_array_equal(side.get(there), arena.host)


def check_decode(
    side: Side,
    case: Case,
    layout: LayoutName,
    rng: np.random.Generator,
    lost: Sequence[int],
    *,
    absent: Sequence[int] = (),
    stripes: int = 2,
    n: int | None = None,
) -> None:
    """The shards `lost` rebuilt where they were, those `absent` neither read nor rebuilt."""
    _, arena = _arena(rng, case, layout, stripes, n)
    expected = _poisoned(arena, rng, absent)
    good = arena.views(arena.host)
    poisoned = _poisoned(arena, rng, lost)
    for index in absent:
        arena.views(poisoned)[index][...] = arena.views(expected)[index]
    there = side.put(poisoned)
    views = arena.views(there)
    given = [None if index in {*lost, *absent} else view for index, view in enumerate(views)]
    side.code(case.k, case.m, **case.options).decode(given, lost, [views[index] for index in lost])
    for index in lost:
        arena.views(expected)[index][...] = good[index]
    np.testing.assert_array_equal(side.get(there), expected, err_msg=f"lost {list(lost)}, absent {list(absent)}")


def check_update(
    side: Side,
    case: Case,
    layout: LayoutName,
    rng: np.random.Generator,
    index: Sequence[int],
    *,
    stripes: int = 2,
    n: int | None = None,
) -> None:
    """Parity after a change of some shards as if encoded anew; old and new lie in an arena of their own."""
    reference, arena = _arena(rng, case, layout, stripes, n)
    size = arena.sizes[0]
    old_new = Arena(rng, layout, stripes, [size] * (2 * len(index)))
    before = arena.views(arena.host)
    changed = old_new.views(old_new.host)
    data = [view.copy() for view in before[: case.k]]
    for place, shard in enumerate(index):
        changed[place][...] = before[shard]
        data[shard] = changed[len(index) + place].copy()
    there, also = side.put(arena.host), side.put(old_new.host)
    parity, moved = arena.views(there)[case.k :], old_new.views(also)
    side.code(case.k, case.m, **case.options).update(parity, list(index), moved[: len(index)], moved[len(index) :])
    reference.encode(data, before[case.k :])
    np.testing.assert_array_equal(side.get(there), arena.host)
    np.testing.assert_array_equal(side.get(also), old_new.host)


def check_verify(side: Side, case: Case, layout: LayoutName, rng: np.random.Generator, *, stripes: int = 4) -> None:
    """Every stripe good; then one flipped bit in a parity of one stripe, and in a data shard of another, are found."""
    _, arena = _arena(rng, case, layout, stripes)
    code = side.code(case.k, case.m, **case.options)
    there = side.put(arena.host)
    views = arena.views(there)
    assert side.get(code.verify(views[: case.k], views[case.k :])).tolist() == [True] * stripes
    host = arena.views(arena.host)
    host[case.k + int(rng.integers(case.m))][1, int(rng.integers(arena.sizes[0]))] ^= 1
    host[0][3, arena.sizes[0] - 1] ^= 128
    there = side.put(arena.host)
    views = arena.views(there)
    found = side.get(code.verify(views[: case.k], views[case.k :])).tolist()
    weight = code.generator[:, 0].any()
    assert found == [True, False, True, not weight]
    np.testing.assert_array_equal(side.get(there), arena.host)
