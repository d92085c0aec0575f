"""What the making of any tier needs."""

from __future__ import annotations

from dataclasses import dataclass, field

from gemsim.costs.profiles import Profile
from gemsim.protection.damage import Grid
from gemsim.protection.state import Memory
from gemsim.spec.study import StudySpec


@dataclass(frozen=True, slots=True)
class Workshop:
    """What the making of a tier needs."""

    spec: StudySpec
    memory: Memory
    grid: Grid
    profile: Profile
    notes: list[str] = field(default_factory=list)
