"""The last results of a costly function, found again by the very objects that it was asked about.

Design points of one study share most of their parts as objects. To look whether they are the same takes no time, while
to hash them, as `lru_cache` does, takes about as long as to work the result out.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """`most` results. They are held beside the objects, so that no other object can come to the place of one."""

    def __init__(self, most: int = 8) -> None:
        self._most = most
        self._kept: list[tuple[tuple[object, ...], object, T]] = []

    def of(self, same: tuple[object, ...], equal: object, make: Callable[[], T]) -> T:
        """What was made of these very objects, and of values equal to these; else it is made. Nobody may change it."""
        for place, entry in enumerate(self._kept):
            if all(map(is_, entry[0], same)) and entry[1] == equal:
                if place:
                    self._kept = [entry, *self._kept[:place], *self._kept[place + 1 :]]
                return entry[2]
        result = make()
        self._kept = [(same, equal, result), *self._kept[: self._most - 1]]
        return result
