"""Groups that differ in the fleet alone, set beside each other: how many spares are enough, whether to retire.

All ran on the same failures, so they are compared replication by replication. The choice within a group is not touched.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from gemsim.results.choice import TOO_WIDE, Choice, tie_band
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


def families(
    competing: Mapping[GroupKey, Hashable],
    choices: Mapping[GroupKey, Choice],
    ettr: Mapping[GroupKey, Mapping[int, Floats]],
) -> list[Family]:
    """The groups that differ in the fleet alone, where a design of at least two of them meets what is required.

    `competing` gives for each group what competes in it: groups with other protections differ in more than the fleet.
    `ettr` has the values by replication of every design of a group, by index.
    """
    kin: dict[tuple[GroupKey, Hashable], list[GroupKey]] = {}
    for key, protections in competing.items():
        rest = tuple(sorted(held for held in key if not of_fleet(held[0])))
        kin.setdefault((rest, protections), []).append(key)
    found = []
    for (rest, _), keys in kin.items():
        stands_for = {key: choices[key].reference if choices[key].best is None else choices[key].best for key in keys}
        picks = {key: index for key, index in stands_for.items() if index is not None}
        if len(picks) > 1:
            values = {index: own for key in keys for index, own in ettr[key].items()}
            found.append(_family(rest, picks, values))
    return found


def _family(rest: GroupKey, picks: Mapping[GroupKey, int], ettr: Mapping[int, Floats]) -> Family:
    best = max(picks.values(), key=lambda index: (mean_interval(ettr[index]).value, -index))
    return Family(rest, picks, best, {index: paired_interval(own, ettr[best]) for index, own in ettr.items()})
