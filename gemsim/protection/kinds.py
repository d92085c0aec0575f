"""What the failures of one class can do to a job: shares by region, burst, containment and place, with their damage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from gemsim.failures.classes import FailureClass
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import UNITS, Damage, Nature, PageHit, consequence, nature_of
from gemsim.protection.replica_group import ReplicaGroup, struck_by
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import Platform, Tier
from gemsim.protection.timeline import Timeline

_consequence = lru_cache(maxsize=4096)(consequence)  # a few kinds of damage, met again at every design point


@dataclass(frozen=True, slots=True)
class Job:
    """What the enumeration looks at."""

    platform: Platform
    timeline: Timeline
    tiers: tuple[Tier, ...]
    classes: tuple[FailureClass, ...]
    mode: str
    replace_unit: str
    groups: tuple[ReplicaGroup, ...] = field(init=False, compare=False)  # those among the tiers

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", tuple(t for t in self.tiers if isinstance(t, ReplicaGroup)))


def kinds_of(job: Job, kind: FailureClass) -> Iterator[tuple[float, Nature, Damage, str]]:
    """(share, nature, damage, action) of a class: contained or not, by region, burst and place."""
    if kind.scope != "memory":
        action = kind.action_of(contained=False)
        nature = nature_of(kind.scope, contained=False, region="", action=action)
        for weight, gpu in _positions(job, nature, action):
            damage = _damage(job, kind, nature, action, None, gpu)
            if kind.scope == "silent":
                damage = damage.join(Damage(alive=False, corrupt_since=0.0))
            yield weight, nature, damage, action
        return
    for region, share in job.platform.memory.landing(kind.lands):
        if region == "free":
            continue
        for rows, chance in _bursts(job, kind, region):
            for weight, place in _places(job, region):
                hit = PageHit(0, region, rows, kind.rows_to_pages, place)
                nature = Nature("pages", region)
                damage = _damage(job, kind, nature, kind.action, hit, 0)
                yield kind.contained * share * chance * weight, nature, damage, kind.action
        nature = Nature("gpu", region)
        action = kind.uncontained_action
        for weight, gpu in _positions(job, nature, action):
            yield (1 - kind.contained) * share * weight, nature, _damage(job, kind, nature, action, None, gpu), action


def _damage(job: Job, kind: FailureClass, nature: Nature, action: str, hit: PageHit | None, gpu: int) -> Damage:
    damage = _consequence(
        mode=job.mode,
        nature=nature,
        action=action,
        gpu=gpu,
        grid=job.platform.grid,
        hit=hit,
        survives=kind.process_survives,
        replace_unit=job.replace_unit,
    )
    if not job.groups:
        return damage
    return replace(damage, struck=struck_by(kind.scope, damage, gpu, job.platform.grid))


def _bursts(job: Job, kind: FailureClass, region: str) -> Sequence[tuple[int, float]]:
    """Only where pages are coded does the length of a burst matter."""
    coded = any(isinstance(tier, PageStripe) and region in tier.regions for tier in job.tiers)
    return kind.rows if coded else ((1, 1.0),)


def _places(job: Job, region: str) -> list[tuple[float, float]]:
    """(weight, place) of one hit in the middle of each update bucket."""
    buckets = [t.cadence.buckets for t in job.tiers if isinstance(t, PageStripe) and region in t.regions]
    count = max(buckets, default=1)
    return [(1 / count, (i + 0.5) / count) for i in range(count)]


def _positions(job: Job, nature: Nature, action: str) -> list[tuple[float, int]]:
    """(weight, GPU) to try: one, unless the domain that goes is wider than the one that members are spread over."""
    grid = job.platform.grid
    unit = {"reset": "gpu", "reboot": "node", "replace": job.replace_unit}.get(action, "gpu")
    unit = "node" if unit == "tray" else unit
    widest = max((u for u in (unit, nature.kind) if u in UNITS), key=UNITS.index, default="gpu")
    spread = [t.stripes.unit for t in job.tiers if isinstance(t, MemberStripe)]
    spread += ["node" for t in job.tiers if isinstance(t, Checkpoint) and t.target != "remote"]
    if all(UNITS.index(widest) <= UNITS.index(u) for u in spread) and all(
        t.group_size(grid) % grid.size(widest) == 0 for t in job.groups
    ):
        return [(1.0, 0)]
    count = grid.count(widest)
    tried = min(count, 32)
    return [(1 / tried, (i * count // tried) * grid.size(widest)) for i in range(tried)]
