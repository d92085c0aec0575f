"""The one abstraction behind every protection: can this tier recover this damage now, to which version, in how long?

Tiers are pure. They look at what was lost (`Damage`) and at where the job stood (`Moment`) and return a `Plan`; the
engine spends the plan's seconds, the twin sums its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gemsim.protection.damage import Damage, Grid, Nature
from gemsim.protection.state import CRITICAL, Memory


@dataclass(frozen=True, slots=True)
class Steps:
    """Durations inside one training step, seconds (those of overlapped encodes included in `length`)."""

    length: float  # one step of the running job, without stalls
    update: float  # optimizer update at the end of the step
    skew: float  # between the first and the last rank's update
    microbatch: float
    layer: float
    kernel: float


@dataclass(frozen=True, slots=True)
class Platform:
    """What every tier may look at: the job's shape and memory."""

    grid: Grid
    memory: Memory
    steps: Steps


@dataclass(frozen=True, slots=True)
class Moment:
    """Where the job stood when the failure struck.

    `version`: whole steps of state that the job holds. `within`: running seconds of the step in progress.
    `stall_tier` / `stall_elapsed`: the stall it stood in, if any; `ahead`: tiers whose stall at that boundary is still
    to come. `lives_since`: `version` when GPU memory was last filled (tiers encode then). `saved`: newest finished
    version by tier number. `missing`: hosts lost since that version was written. `out`: blocks of GPUs that the job
    runs on without.
    """

    version: int
    within: float
    lives_since: int
    stall_tier: int = -1
    stall_elapsed: float = 0.0
    saved: Mapping[int, int] = field(default_factory=dict)
    missing: Mapping[int, frozenset[int]] = field(default_factory=dict)
    ahead: frozenset[int] = frozenset()
    out: tuple[range, ...] = ()

    def in_update(self, steps: Steps, skew: float = 0.0) -> bool:
        """Inside the optimizer update (widened by `skew` s): the state is neither the old version nor the new."""
        return self.stall_tier < 0 and self.within >= steps.length - steps.update - skew


@dataclass(frozen=True, slots=True)
class Plan:
    """How one tier recovers: go on from `version` (None: from here, after redoing `redo` s of the step in progress).

    With `out`, those left go on without these units (groups or nodes) after a stall of `stall` s; nobody else restarts.
    """

    tier: str
    version: int | None
    redo: float = 0.0
    seconds: float = 0.0  # decode, fetch, restore: after the restart
    out: frozenset[int] = frozenset()
    stall: float = 0.0


@dataclass(frozen=True, slots=True)
class Overhead:
    """What a tier costs when nothing fails: a stall every `every` steps, or a longer step, and memory on each GPU."""

    every: int = 0
    stall: float = 0.0
    slower: float = 0.0  # seconds added to each step by work that runs beside it
    memory: float = 0.0  # bytes of GPU memory
    lag: float = 0.0  # wall seconds from the end of the stall until the version can be used
    keeps_versions: bool = False  # the stall makes a version that outlives the step


class Tier(Protocol):
    """A tier of protection; `number` is its place in the study's list."""

    @property
    def number(self) -> int:
        """Place in the list."""
        ...

    @property
    def name(self) -> str:
        """What sweeps and results call it."""
        ...

    def survives(self, nature: Nature, platform: Platform) -> bool:
        """The `survives` column: could this kind of tier ever recover such a loss?"""

    def overhead(self) -> Overhead:
        """The steady cost."""

    def recover(self, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        """The plan, or None when this tier cannot recover this damage now."""


HELD = "held"
START = "start"


def state_is_intact(damage: Damage) -> bool:
    """No protected byte lost and the memory held: weights and moments are all there, in whatever version."""
    if damage.memory_lost or damage.corrupt_since is not None:
        return False
    return not any(hit.region in CRITICAL for hit in damage.pages)


def held(damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
    """The state itself, when nothing protected was lost outside the update: credited to the restart mode, to no
    tier."""
    if not state_is_intact(damage):
        return None
    if moment.in_update(platform.steps, 0.0 if damage.alive else platform.steps.skew):
        return None
    return Plan(HELD, None, redo=moment.within)
