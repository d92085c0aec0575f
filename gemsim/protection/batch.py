"""What is struck at one instant: the sets of units of a batch that differ in what their loss does, with their weights.

Where there are few sets, all are looked at. Else, within a domain, one domain of each shape. Over the whole job first
the sets that a stripe or a placement does not survive, with their exact share, then all others as one; what several
tiers lose together is taken from a fixed sample.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from gemsim.failures.classes import Batch, FailureClass
from gemsim.failures.streams import generator
from gemsim.protection.blocks import Keepers
from gemsim.protection.damage import Grid
from gemsim.protection.layouts import MemberStripes
from gemsim.protection.losses import Keeper, harmless
from gemsim.protection.placement import Coded, Copies

Struck = tuple[int, ...]  # first GPUs of the units
Sets = tuple[tuple[float, Struck], ...]  # with the probability of each
Fate = tuple[int, ...]
ALL = 2048  # sets up to which each is looked at
TRIED = 512  # sets of one fate in the fixed sample
LITTLE = 1e-12  # probability that rounding leaves


def events(kind: FailureClass) -> list[tuple[int, float]]:
    """(units struck together, starts of that size per failure): with batches there are fewer starts than failures.

    What recurs follows alone.
    """
    again = 0.0 if kind.recurrence is None else kind.recurrence.again
    if kind.batch is None:
        return [(1, 1.0)]
    shares: dict[int, float] = {1: again}
    for size, share in kind.batch.sizes:
        size = min(size, kind.batch.domain)
        shares[size] = shares.get(size, 0.0) + (1.0 - again) * share / kind.batch.mean
    return [(size, share) for size, share in sorted(shares.items()) if share > 0.0]


def struck_sets(grid: Grid, unit: str, taken: str, *, batch: Batch, size: int, keepers: Keepers) -> Sets:
    """Sets of `size` units of one kind, drawn as the trace draws them: any of all, and others of its domain. Each is
    given by the first GPUs of its units; each unit takes a domain of kind `taken` with it.

    Over the whole job no two of them lie in one such domain: to first order, where these are wider than the units.
    """
    units = grid.count(unit)
    if batch.within == "cluster" or batch.domain >= units:
        wider = grid.widest(unit, taken)
        if comb(grid.count(wider), min(size, grid.count(wider))) > ALL:
            return _over_all(grid, wider, size, keepers)
        return _in_domains(grid, wider, wider, grid.count(wider), size, keepers)
    return _in_domains(grid, unit, taken, batch.domain, size, keepers)


@lru_cache(maxsize=128)
def _in_domains(grid: Grid, unit: str, taken: str, domain: int, size: int, keepers: Keepers) -> Sets:
    """Over domains of so many units, those of one shape by the first of them."""
    units, step = grid.count(unit), grid.size(unit)
    found: dict[Fate, tuple[float, Struck]] = {}
    for weight, block in _shapes(
        [range(i, min(i + domain, units)) for i in range(0, units, domain)], grid, unit, taken, keepers
    ):
        sets = _within(block, min(size, len(block)))
        for numbers in sets:
            struck = tuple(number * step for number in numbers)
            fate = fate_of(struck, grid, taken, keepers)
            share, first = found.get(fate, (0.0, struck))
            found[fate] = (share + weight / units / len(sets), first)
    return tuple(found.values())


def _within(block: range, size: int) -> list[tuple[int, ...]]:
    """All sets of a domain, or a fixed sample of equal weights."""
    if comb(len(block), size) <= ALL:
        return list(combinations(block, size))
    rng = generator(block.start, size, "sets of a domain")
    drawn = (rng.choice(len(block), size=size, replace=False) for _ in range(ALL // 4))
    return [tuple(sorted(block.start + int(i) for i in one)) for one in drawn]


def _shapes(blocks: list[range], grid: Grid, unit: str, taken: str, keepers: Keepers) -> list[tuple[int, range]]:
    """(units in all domains of one shape, the first of them): equal where units meet in the same way."""
    found: dict[Hashable, tuple[int, range]] = {}
    for block in blocks:
        gpus = range(grid.members(unit, block.start).start, grid.members(unit, block.stop - 1).stop)
        shape = (len(block), len(gpus), *(_shape(gpus, grid, taken, keeper) for keeper in keepers))
        units, first = found.get(shape, (0, block))
        found[shape] = (units + len(block), first)
    return list(found.values())


def _shape(gpus: range, grid: Grid, taken: str, keeper: Keeper) -> Hashable:
    """How what can go from a domain shares stripes or sets, whatever these are called."""
    size, names = grid.size(taken), dict[Hashable, int]()
    start, stop = gpus.start // size * size, min(-(-gpus.stop // size) * size, grid.gpus)
    if isinstance(keeper, MemberStripes):
        step = min(size, grid.size(keeper.unit))
        stripes = ((gpu - start, keeper.stripe_of(gpu)) for gpu in range(start, stop, step))
        return gpus.start - start, tuple((at, names.setdefault(one, len(names))) for at, one in stripes)
    hosts = range(start // grid.per_node, -(-stop // grid.per_node))
    found = []
    for host in hosts:
        lane, first, last = keeper.sets.around(host)
        place = host // keeper.sets.stride - first
        found.append((names.setdefault((lane, first), len(names)), place, last - first))
    return gpus.start - start, tuple(found)


def fate_of(struck: Struck, grid: Grid, taken: str, keepers: Keepers) -> Fate:
    """Of each stripe the most members lost (above m all is one), of each placement whether a shard is lost."""
    found = []
    gpus = {gpu for one in struck for gpu in grid.members(taken, one // grid.size(taken))}
    hosts = frozenset(gpu // grid.per_node for gpu in gpus)
    for keeper in keepers:
        if isinstance(keeper, MemberStripes):
            found.append(min(keeper.worst_in_stripe(gpus), keeper.m + 1))
        else:
            found.append(1 - int(keeper.survives(hosts)))
    return tuple(found)


@lru_cache(maxsize=128)
def _over_all(grid: Grid, unit: str, size: int, keepers: Keepers) -> Sets:
    """One keeper after the other, the safest first: its bad fates with their exact shares, less what is counted."""
    bad = {number: dict(_bad(keeper, grid, unit, size)) for number, keeper in enumerate(keepers)}
    rng = generator(size, grid.gpus, "sets of the job")
    found: dict[Fate, tuple[float, Struck]] = {}
    done: dict[int, set[int]] = {}
    for number in sorted(bad, key=lambda one: sum(bad[one].values())):
        for fate, exact in bad[number].items():
            known = sum(weight for other, (weight, _) in found.items() if other[number] == fate)
            left = min(exact - known, 1.0 - sum(weight for weight, _ in found.values()))
            sets = _examples(rng, grid, unit, size, keepers, number, fate, done) if left > LITTLE else []
            for other, one in sets:
                weight, first = found.get(other, (0.0, one))
                found[other] = (weight + left / len(sets), first)
        done[number] = {fate for fate, exact in bad[number].items() if exact > 0.0}
    rest = 1.0 - sum(weight for weight, _ in found.values())
    if rest > LITTLE:
        drawn = [_any(rng, grid, unit, size) for _ in range(TRIED)]
        best = next((one for one in drawn if _good(fate_of(one, grid, unit, keepers), done)), drawn[0])
        fates = fate_of(best, grid, unit, keepers)
        weight, best = found.get(fates, (0.0, best))
        found[fates] = (weight + rest, best)
    return tuple(found.values())


def _examples(
    rng: np.random.Generator,
    grid: Grid,
    unit: str,
    size: int,
    keepers: Keepers,
    number: int,
    fate: int,
    done: dict[int, set[int]],
) -> list[tuple[Fate, Struck]]:
    """Sets with this fate of one keeper, and none of those that are counted: made of neighbours, else from anywhere.

    Where no set is found, the share goes to whatever the rest does.
    """
    near = (_draw(rng, grid, unit, size, keepers[number], fate) for _ in range(TRIED))
    anywhere = (_any(rng, grid, unit, size) for _ in range(TRIED))
    for drawn in (near, anywhere):
        tried = [(fate_of(one, grid, unit, keepers), one) for one in drawn]
        fitting = [(fates, one) for fates, one in tried if fates[number] == fate and _good(fates, done)]
        if fitting:
            return fitting
    return []


def _good(fates: Fate, done: dict[int, set[int]]) -> bool:
    """None of the keepers that are done has a bad fate, whose share is counted already."""
    return all(fates[number] not in bad for number, bad in done.items())


def _bad(keeper: Keeper, grid: Grid, unit: str, size: int) -> Iterator[tuple[int, float]]:
    """(fate, share of all sets) of all fates but the best; exact but where copies lose wider units than hosts."""
    ways = comb(grid.count(unit), size)
    if isinstance(keeper, MemberStripes):
        below = Fraction(0)
        for cap in range(1, keeper.m + 1):
            reached = Fraction(harmless(keeper, grid, size, unit=unit, cap=cap)[size], ways)
            if cap > 1:
                yield cap, float(reached - below)
            below = reached
        yield keeper.m + 1, float(1 - below)
    elif unit == "node":
        yield 1, float(1 - Fraction(harmless(keeper, grid, size)[size], ways))
    elif unit != "gpu":
        rng = generator(size, grid.gpus, "share of the sets")
        yield 1, sum(fate_of(_any(rng, grid, unit, size), grid, unit, (keeper,))[0] for _ in range(ALL)) / ALL


def _any(rng: np.random.Generator, grid: Grid, unit: str, size: int) -> Struck:
    chosen = rng.choice(grid.count(unit), size=size, replace=False)
    return tuple(sorted(int(i) * grid.size(unit) for i in chosen))


def _draw(rng: np.random.Generator, grid: Grid, unit: str, size: int, keeper: Keeper, bad: int) -> Struck:
    """A set with as many units as it takes out of one stripe or set of hosts, and others from anywhere."""
    units, step = grid.count(unit), grid.size(unit)
    one = int(rng.integers(units))
    near, wanted = _near(keeper, grid, unit, one, bad)
    wanted = min(wanted, size, len(near))
    chosen = {near[int(i)] for i in rng.choice(len(near), wanted, replace=False)}
    while len(chosen) < size:
        chosen.add(int(rng.integers(units)))
    return tuple(sorted(number * step for number in chosen))


def _near(keeper: Keeper, grid: Grid, unit: str, one: int, bad: int) -> tuple[list[int], int]:
    """Units that share a stripe, a set or a shard with this one, and how many of them it takes."""
    if isinstance(keeper, MemberStripes):
        return _in_stripe(keeper, grid, unit, one), bad
    hosts = grid.nodes(unit, one)
    host = hosts[0]
    if isinstance(keeper, Copies):
        kept, wanted = list(keeper.holders(host)), keeper.copies
    else:
        assert isinstance(keeper, Coded)
        lane, first, last = keeper.sets.around(host)
        kept, wanted = [keeper.sets.host(lane, place) for place in range(first, last)], keeper.losses + 1
    return sorted({other * grid.per_node // grid.size(unit) for other in kept}), wanted


def _in_stripe(keeper: MemberStripes, grid: Grid, unit: str, one: int) -> list[int]:
    size, step = grid.size(keeper.unit), grid.size(unit)
    gpu = one * step
    group, offset = keeper.stripe_of(gpu)
    members = (domain * size + offset for domain in range(keeper.first(group), keeper.first(group + 1)))
    return sorted({gpu // step for gpu in members if gpu < grid.gpus})
