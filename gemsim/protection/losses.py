"""How many sets of units lost at one instant leave every stripe and shard: counted exactly, as products of polynomials.

Units lost in different stripes or sets do not meet, so the number of harmless sets of j units is the coefficient of x^j
in a product with one factor for each group of units that do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb

from gemsim.protection.damage import Grid
from gemsim.protection.layouts import MemberStripes
from gemsim.protection.placement import Coded, Copies, Placement

Poly = list[int]
Keeper = MemberStripes | Placement


def survival(keeper: Keeper, grid: Grid, lost: int, *, unit: str = "node", within: str = "cluster") -> Fraction:
    """P(all is left when so many units are lost at once): any of the job, or all in the domain of a unit drawn first.

    A domain with fewer units loses all of them. Exact. Raises ValueError for what `harmless` does not count.
    """
    units = grid.count(unit)
    if within == "cluster":
        return Fraction(harmless(keeper, grid, lost, unit=unit)[lost], comb(units, lost)) if lost <= units else _none()
    total = Fraction(0)
    for number in range(grid.count(within)):
        block = units_of(grid, unit, within, number)
        gone = min(lost, len(block))
        good = harmless(keeper, grid, gone, unit=unit, of=block)[gone]
        total += Fraction(len(block) * good, units * comb(len(block), gone))
    return total


def _none() -> Fraction:
    raise ValueError("more units are lost than the job has")


def units_of(grid: Grid, unit: str, within: str, number: int) -> range:
    """The units of one kind in one domain of a wider kind."""
    block, size = grid.members(within, number), grid.size(unit)
    return range(block.start // size, -(-block.stop // size))


def harmless(
    keeper: Keeper, grid: Grid, most: int, *, unit: str = "node", of: range | None = None, cap: int | None = None
) -> Poly:
    """Number of sets of 0, 1, ... `most` units, out of those in `of` (all), whose loss leaves every stripe or shard.

    `cap`: members that a stripe may lose in place of its m. Raises ValueError where a placement over hosts is asked for
    losses of another unit than the node.
    """
    of = range(grid.count(unit)) if of is None else of
    if isinstance(keeper, MemberStripes):
        cap = keeper.m if cap is None else cap
        if grid.within(unit, keeper.unit):
            return _capped(Counter(bucket(keeper, grid, one, unit) for one in of).values(), cap, most)
        return _chained(keeper, grid, of, cap, most, unit)
    if unit != "node":
        raise ValueError(f"copies lie on hosts, so losses are counted in nodes, not in {unit}s")
    if isinstance(keeper, Coded):
        return _capped(Counter(keeper.sets.around(host)[:2] for host in of).values(), keeper.losses, most)
    if isinstance(keeper, Copies):
        return _rings(keeper, of, most)
    raise ValueError(f"unknown placement {keeper!r}")


def bucket(keeper: MemberStripes, grid: Grid, number: int, unit: str) -> Hashable:
    """Units of one bucket have their members in the same stripes; units of different buckets share none."""
    return keeper.stripe_of(number * grid.size(unit))


def _capped(sizes: Iterable[int], cap: int, most: int) -> Poly:
    """At most `cap` out of each bucket."""
    poly = [1] + [0] * most
    for size, number in Counter(sizes).items():
        factor = [comb(size, j) for j in range(min(cap, size, most) + 1)]
        poly = _times(poly, _power(factor, number, most), most)
    return poly


def _chained(keeper: MemberStripes, grid: Grid, of: range, cap: int, most: int, unit: str) -> Poly:
    """Units that take several members of a stripe: one unit after the other, with what the last stripe lost so far."""
    state: dict[tuple[int, int], Poly] = {(-1, 0): [1] + [0] * most}  # (group, lost of it) -> sets by size
    for number in of:
        parts = _parts(keeper, grid.members(unit, number))
        after: dict[tuple[int, int], Poly] = defaultdict(lambda: [0] * (most + 1))
        for (group, lost), poly in state.items():
            first, last = parts[0][0], parts[-1][0]
            before = lost if group == first else 0
            _add(after[last, before if first == last else 0], poly)
            taken = [count + (before if one == first else 0) for one, count in parts]
            if max(taken) <= cap:
                _add(after[last, taken[-1]], [0, *poly[:-1]])
        state = after
    return [sum(column) for column in zip(*state.values(), strict=True)]


def _parts(keeper: MemberStripes, block: range) -> list[tuple[int, int]]:
    """(group, members of one stripe of it) that a block of GPUs takes, in order."""
    size = keeper.grid.size(keeper.unit)
    start, stop = block.start // size, -(-block.stop // size)
    low, high = (d * keeper.groups // keeper.domains for d in (start, stop - 1))
    return [
        (group, min(stop, keeper.first(group + 1)) - max(start, keeper.first(group))) for group in range(low, high + 1)
    ]


def _rings(keeper: Copies, of: range, most: int) -> Poly:
    """No `copies` neighbours of a set, which closes to a ring, are lost together."""
    places: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for host in of:
        places[keeper.sets.around(host)].append(host // keeper.sets.stride)
    patterns = Counter((last - first, tuple(p - first for p in held)) for (_, first, last), held in places.items())
    poly = [1] + [0] * most
    for (size, held), number in patterns.items():
        factor = _ring(size, held, keeper.copies, most)
        poly = _times(poly, _power(factor, number, most), most)
    return poly


def _ring(size: int, held: Sequence[int], copies: int, most: int) -> Poly:
    """Subsets of the places `held` of a ring without `copies` places in a row, by size."""
    if len(held) == size and size > copies:
        return [_round(size, j, copies) for j in range(min(most, size - 1) + 1)]
    if size == copies:
        return [comb(len(held), j) for j in range(min(most, len(held), copies - 1) + 1)]
    total = [0] * (most + 1)
    free = set(held)
    for head in range(copies):  # lost places in a row from place 0 on; then one that is not
        if head < size and all(place in free for place in range(head)):
            _add(total, _line(size, free, copies, most, head))
    return total


def _line(size: int, free: set[int], copies: int, most: int, head: int) -> Poly:
    """Of these, the sets whose first `head` places are lost and the next is not; the last run joins the first."""
    if head > most:
        return [0] * (most + 1)
    runs: dict[int, Poly] = {0: [int(j == head) for j in range(most + 1)]}
    for place in range(head + 1, size):
        after: dict[int, Poly] = defaultdict(lambda: [0] * (most + 1))
        for run, poly in runs.items():
            _add(after[0], poly)
            if place in free and run + 1 < copies:
                _add(after[run + 1], [0, *poly[:-1]])
        runs = after
    return [sum(column) for column in zip(*(p for run, p in runs.items() if run + head < copies), strict=True)]


def _round(size: int, lost: int, copies: int) -> int:
    """Subsets of a whole ring: the runs of lost places after each of those left are below `copies`, and each set is met
    once for each of those left, from all `size` places to begin at."""
    left = size - lost
    runs = _power([1] * copies, left, lost)
    return size * runs[lost] // left if lost < len(runs) else 0


def _times(one: Poly, other: Poly, most: int) -> Poly:
    found = [0] * (most + 1)
    for i, a in enumerate(one[: most + 1]):
        if a:
            for j, b in enumerate(other[: most + 1 - i]):
                found[i + j] += a * b
    return found


def _power(poly: Poly, number: int, most: int) -> Poly:
    found, base = [1], poly
    while number:
        if number & 1:
            found = _times(found, base, most)
        base = _times(base, base, most)
        number >>= 1
    return found


def _add(total: Poly, more: Poly) -> None:
    for j, count in enumerate(more):
        total[j] += count


def displaced(keeper: Keeper, grid: Grid, at: Mapping[int, int], *, apart: str) -> tuple[tuple[int, int, int], ...]:
    """(slot, slot, domain) for each two nodes of one stripe or set that stand in one domain of kind `apart`, in order.

    A node of the job is a slot; `at` says on which physical node a slot runs where that is not its own number, as after
    a spare took over. Physical nodes are numbered through racks as the job's are, spares among or after them. Copies
    count as a set only with those that hold a shard together.
    """
    size = grid.size(apart) // grid.per_node
    found = set[tuple[int, int, int]]()
    for slot in range(grid.count("node")):
        for other in partners(keeper, grid, slot):
            here, there = (at.get(one, one) // size for one in (slot, other))
            if other != slot and here == there:
                found.add((min(slot, other), max(slot, other), here))
    return tuple(sorted(found))


def partners(keeper: Keeper, grid: Grid, slot: int) -> Iterable[int]:
    """Slots that share a stripe, a set with parity, or a shard with this one."""
    if isinstance(keeper, Copies):
        return keeper.holders(slot)
    if isinstance(keeper, Coded):
        lane, first, last = keeper.sets.around(slot)
        return (keeper.sets.host(lane, place) for place in range(first, last))
    assert isinstance(keeper, MemberStripes)
    per, size = grid.per_node, grid.size(keeper.unit)
    found = set[int]()
    for gpu in grid.members("node", slot):
        group, offset = keeper.stripe_of(gpu)
        members = (d * size + offset for d in range(keeper.first(group), keeper.first(group + 1)))
        found.update(member // per for member in members if member < grid.gpus)
    return found
