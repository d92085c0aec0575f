"""Outcomes that a form of averages cannot tell apart, as one: few are left, whatever the classes of failures are.

One idea: rates add up, and the work of a step that is done again counts in the mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from operator import truediv
from typing import Any

from gemsim.protection.arrays import either
from gemsim.protection.damage import Damage, Nature
from gemsim.protection.decide import first_covering
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario


def merged(scenario: Scenario, found: Sequence[Branch]) -> tuple[Branch, ...]:
    """The branches, those that differ in their class alone as one that bears the first one's name.

    Told apart is all that the renewal form and the columns look at: who recovers and how, how long it takes to see and
    to repair, what is gone beside pages, and whether the damage would have been milder in another phase. Who is
    replaced, and for how long, is not: waits for spares ask for the branches as they were.
    """
    spared = {id(branch.damage) for branch in found if branch.ending != "roll_back"}
    covering: dict[Nature, int | None] = {}
    groups: dict[Hashable, list[Branch]] = {}
    first: dict[Hashable, Damage] = {}
    for branch in found:
        kind, nature = branch.kind, branch.nature
        if nature not in covering:
            covering[nature] = first_covering(scenario.tiers, nature, scenario.platform)
        gone = _gone(branch.damage), id(branch.damage) in spared
        first.setdefault(gone, branch.damage)
        alone = id(kind) if kind.batch is not None or kind.scope == "silent" else 0
        seen = kind.exposure, kind.detect, alone, covering[nature]
        ends = branch.action, branch.number, branch.tier, branch.ending, branch.recovery
        groups.setdefault((gone, seen, ends), []).append(branch)
    return tuple(_one(same, first[key[0]]) for key, same in groups.items())  # type: ignore[index]


def _gone(damage: Damage) -> Hashable:
    """What tells damages apart; pages do where memory or a host is gone too, as tiers are then asked again."""
    whole = damage.lost, damage.hosts, damage.disks
    pages: Hashable = damage.pages if any(whole) else bool(damage.pages)
    flags = damage.all_gpu_memory, damage.alive, damage.restart, damage.replaced, damage.communicator
    return pages, whole, flags, damage.corrupt_since, damage.struck


def _one(same: Sequence[Branch], damage: Damage) -> Branch:
    """All of them, with one damage: who asks which of these share it compares the objects."""
    if len(same) == 1:
        return same[0] if same[0].damage is damage else replace(same[0], damage=damage)
    rate: Any = sum(branch.rate for branch in same)
    redone: Any = sum(branch.rate * branch.redo for branch in same)
    redo = either(rate > 0.0, lambda: truediv(redone, rate), lambda: 0.0)
    return replace(same[0], damage=damage, rate=rate, redo=redo)
