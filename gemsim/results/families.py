"""Groups that differ in the fleet alone, set beside each other: how many spares are enough, whether to retire.

All ran on the same failures, so they are compared replication by replication. The choice within a group is not touched.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from gemsim.results.choice import TOO_WIDE, tie_band
from gemsim.results.estimate import Floats, Interval, mean_interval, paired_interval

GroupKey = tuple[tuple[str, str], ...]  # what a group holds fixed, with its value
SHORT_FORMS = ("cluster.spare_nodes", "cluster.spare_activation")


@dataclass(frozen=True, slots=True)
class Family:
    """Groups that differ in the fleet alone, each with the index of the row that stands for it.

    `picks` are the best design of each group, or its reference where it has no best. `best` is the pick with the
    largest ETTR, and `differences` are paired against it, by index, of every design of the groups.
    """

    rest: GroupKey  # what all of them hold fixed
    picks: Mapping[GroupKey, int]
    best: int
    differences: Mapping[int, Interval]

    def alike(self, index: int) -> bool:
        """Whether a pick cannot be told from the best, by an interval narrow enough to say so."""
        apart = self.differences[index]
        return abs(apart.value) <= tie_band(apart) and not self.open(index)

    def open(self, index: int) -> bool:
        """Whether the interval of a pick is too wide to tell it from the best."""
        apart = self.differences[index]
        return apart.half_width > TOO_WIDE and abs(apart.value) <= apart.half_width


def of_fleet(path: str) -> bool:
    """Whether a path is one of the fleet, or of its short form in the cluster."""
    return path.partition(".")[0] == "fleet" or path in SHORT_FORMS


def kin(groups: Mapping[GroupKey, Hashable]) -> dict[GroupKey, list[GroupKey]]:
    """What is held fixed beside the fleet -> the groups, in order, where there are at least two.

    `groups` gives for each group what competes in it: groups with other protections differ in more than the fleet.
    """
    found: dict[tuple[GroupKey, Hashable], list[GroupKey]] = {}
    for key, protections in groups.items():
        rest = tuple(sorted(held for held in key if not of_fleet(held[0])))
        found.setdefault((rest, protections), []).append(key)
    return {rest: members for (rest, _), members in found.items() if len(members) > 1}


def family(rest: GroupKey, picks: Mapping[GroupKey, int], ettr: Mapping[int, Floats]) -> Family:
    """The comparison of `picks`; `ettr` has the values by replication of every design of their groups, by index."""
    best = max(picks.values(), key=lambda index: (mean_interval(ettr[index]).value, -index))
    return Family(rest, picks, best, {index: paired_interval(own, ettr[best]) for index, own in ettr.items()})
