"""Copies outside GPU memory: which hosts keep what of which host's shard, and which losses leave every shard.

One idea: hosts are cut into sets; within a set each shard lies on its own host and the next ones round, or beside a
code over the whole set.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

KINDS = ("single", "ring", "group", "mixed", "partner", "xor", "rs")


class Placement(Protocol):
    """Where copies lie."""

    @property
    def sets(self) -> Sets:
        """Which hosts keep each other's shards."""
        ...

    def __hash__(self) -> int: ...

    def survives(self, gone: frozenset[int]) -> bool:
        """Whether every shard can be had when these hosts have lost what they kept."""

    def storage(self, shard: float) -> float:
        """Bytes that one host keeps at most, for shards of `shard` bytes."""


@dataclass(frozen=True, slots=True)
class Sets:
    """Sets of hosts. `stride` hosts lie between neighbours of a set (the hosts of a rack: all in different racks).

    The hosts of one place in their racks form a lane, and each lane is cut by itself into floor(n / size) sets. Hosts
    left over join the last set (`even` false: GEMINI's Algorithm 1), or the sets are of equal size as far as possible.
    """

    hosts: int
    size: int
    stride: int
    even: bool

    def around(self, host: int) -> tuple[int, int, int]:
        """(lane, first place, place after the last) of this host's set."""
        lane, place = host % self.stride, host // self.stride
        return lane, *self._bounds(place, self._lane(lane))

    def host(self, lane: int, place: int) -> int:
        """The host at a place of a lane."""
        return lane + self.stride * place

    def smallest(self) -> int:
        """Hosts in the smallest set of even sets."""
        lanes = {self._lane(lane) for lane in (0, self.stride - 1)}
        return min(hosts // max(1, hosts // self.size) for hosts in lanes)

    def _lane(self, lane: int) -> int:
        return -(-(self.hosts - lane) // self.stride)

    def _bounds(self, place: int, hosts: int) -> tuple[int, int]:
        """First place of the set around `place` in a lane of so many hosts, and the place after its last."""
        sets = max(1, hosts // self.size)
        if self.even:
            number = place * sets // hosts
            return -(-number * hosts // sets), -(-(number + 1) * hosts // sets)
        number = min(place // self.size, sets - 1)
        return number * self.size, hosts if number == sets - 1 else (number + 1) * self.size


@dataclass(frozen=True, slots=True)
class Copies:
    """Each shard on its own host and on the next `copies` - 1 of its set, round."""

    sets: Sets
    copies: int

    def holders(self, host: int) -> tuple[int, ...]:
        """Hosts that keep this host's shard, its own first."""
        lane, first, last = self.sets.around(host)
        place, size = host // self.sets.stride - first, last - first
        return tuple(self.sets.host(lane, first + (place + i) % size) for i in range(self.copies))

    def survives(self, gone: frozenset[int]) -> bool:
        """Some holder of every shard is there."""
        return not any(all(holder in gone for holder in self.holders(host)) for host in gone)

    def storage(self, shard: float) -> float:
        """All copies: B for one, 2 B for a partner."""
        return self.copies * shard


@dataclass(frozen=True, slots=True)
class Coded:
    """Each shard on its own host, and parity rotated over its set that makes up for `losses` lost hosts."""

    sets: Sets
    losses: int

    def survives(self, gone: frozenset[int]) -> bool:
        """No set has lost more hosts than its parity makes up for."""
        lost = Counter(self.sets.around(host)[:2] for host in gone)
        return all(count <= self.losses for count in lost.values())

    def storage(self, shard: float) -> float:
        """B n / (n - losses) in a set of n hosts. Source: SCR user guide, redundancy schemes."""
        size = self.sets.smallest()
        return shard * size / (size - self.losses)


def beside(where: Placement, host: int) -> list[int]:
    """Hosts whose loss with this one can make a shard go: its set, and in a wide ring those that keep one with it."""
    sets = where.sets
    lane, first, last = sets.around(host)
    size, place = last - first, host // sets.stride - first
    reach = range(size)
    if isinstance(where, Copies) and size > 2 * where.copies:
        reach = range(place - where.copies + 1, place + where.copies)
    return [sets.host(lane, first + one % size) for one in reach]


@lru_cache(maxsize=256)
def placement(kind: str, hosts: int, *, copies: int = 2, size: int = 8, losses: int = 1, stride: int = 1) -> Placement:
    """The placement of a kind over `hosts` hosts.

    single: the shard on its own host. group, ring, mixed: `copies` copies on groups of that many hosts (they must
    divide the hosts of each lane), round all hosts, or on groups whose last one takes the hosts left over and is a
    ring; sources: Wang et al. (GEMINI, SOSP 2023), Algorithm 1. partner, xor, rs: sets of `size` hosts; one copy on
    the next host of the set, a code that makes up for one lost host, or for `losses` of them; sources: SCR and FTI.
    Raises ValueError where this cannot be.
    """
    if kind not in KINDS:
        raise ValueError(f"placement must be one of {', '.join(KINDS)}, not {kind!r}")
    if hosts < 1 or stride < 1 or copies < 1 or losses < 1:
        raise ValueError(f"need hosts, stride, copies, losses >= 1, not {hosts}, {stride}, {copies}, {losses}")
    if kind == "single":
        return Copies(Sets(hosts, 1, 1, False), 1)
    lane = hosts // stride
    if kind in ("ring", "group", "mixed"):
        return _copies(kind, hosts, lane, copies, stride)
    least = 2 if kind in ("partner", "xor") else losses + 1
    if not least <= size <= lane:
        raise ValueError(f"a set of {size} hosts must have at least {least}, and {lane} can be in one")
    sets = Sets(hosts, size, stride, True)
    return Copies(sets, 2) if kind == "partner" else Coded(sets, losses if kind == "rs" else 1)


def _copies(kind: str, hosts: int, lane: int, copies: int, stride: int) -> Copies:
    if copies > lane:
        raise ValueError(f"{copies} copies are more than the {lane} hosts that can hold them")
    if kind == "group" and (hosts % stride or lane % copies):
        raise ValueError(f"groups of {copies} copies do not come out even over {lane} hosts; mixed placement does")
    size = hosts if kind == "ring" else copies
    return Copies(Sets(hosts, size, stride, False), copies)
