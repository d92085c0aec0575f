"""What the failures of one class can do to a job: shares by region, burst, containment and place, with their damage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from gemsim.failures.classes import FailureClass
from gemsim.protection.batch import events, struck_sets
from gemsim.protection.blocks import Keepers, Places, places
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import UNITS, Damage, Nature, PageHit, consequence, nature_of, served, together
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
    beside: tuple[Tier, ...] = ()  # other placements of the same state, whose fates are told apart too
    groups: tuple[ReplicaGroup, ...] = field(init=False, compare=False)  # those among the tiers
    keepers: Keepers = field(init=False, compare=False)  # who is in which stripe, which hosts hold whose shards
    spread: tuple[str, ...] = field(init=False, compare=False)  # domains that members or copies are spread over

    def __post_init__(self) -> None:
        tiers = (*self.tiers, *self.beside)
        hosts = self.platform.grid.count("node")
        stripes = [t.stripes for t in tiers if isinstance(t, MemberStripe)]
        held = [t.where(hosts) for t in tiers if isinstance(t, Checkpoint) and t.target != "remote"]
        object.__setattr__(self, "groups", tuple(t for t in tiers if isinstance(t, ReplicaGroup)))
        keepers = list(dict.fromkeys([*stripes, *held]))
        if self.beside:  # in one order, whichever of the two is asked
            keepers.sort(key=repr)
        object.__setattr__(self, "keepers", tuple(keepers))
        object.__setattr__(self, "spread", (*(s.unit for s in stripes), *("node" for _ in held)))


def kinds_of(job: Job, kind: FailureClass) -> Iterator[tuple[float, Nature, Damage, str]]:
    """(share, nature, damage, action) of a class: contained or not, by region, burst and place.

    Shares are of failures. They add up to the stops that a failure makes: 1, and less where several units are struck at
    one instant, which is one stop. Of a batch of memory failures all are contained or none, in one region and burst.
    """
    if kind.scope != "memory":
        action = kind.action_of(contained=False)
        nature = nature_of(kind.scope, contained=False, region="", action=action)
        for weight, gpus in _struck(job, kind, nature, action):
            damage = _damage(job, kind, nature, action, None, gpus)
            if kind.scope == "silent":
                damage = damage.join(Damage(alive=False, corrupt_since=0.0))
            yield weight, nature, damage, action
        return
    for region, share in job.platform.memory.landing(kind.lands):
        if region == "free":
            continue
        nature = Nature("pages", region)
        struck = _struck(job, kind, nature, kind.action)
        for rows, chance in _bursts(job, kind, region):
            for weight, place in _places(job, region):
                hit = PageHit(0, region, rows, kind.rows_to_pages, place)
                for part, gpus in struck:
                    damage = _damage(job, kind, nature, kind.action, hit, gpus)
                    yield kind.contained * share * chance * weight * part, nature, damage, kind.action
        nature = Nature("gpu", region)
        action = kind.uncontained_action
        for weight, gpus in _struck(job, kind, nature, action):
            yield (1 - kind.contained) * share * weight, nature, _damage(job, kind, nature, action, None, gpus), action


def _damage(
    job: Job, kind: FailureClass, nature: Nature, action: str, hit: PageHit | None, gpus: tuple[int, ...]
) -> Damage:
    """What is left when the failure strikes at all of these GPUs at once."""
    if len(gpus) > 1:
        return together(_damage(job, kind, nature, action, hit, (gpu,)) for gpu in gpus)
    (gpu,) = gpus
    damage = _consequence(
        mode="all_processes" if kind.scope == "planned" else job.mode,  # a planned stop ends the job in good order
        nature=nature,
        action=action,
        gpu=gpu,
        grid=job.platform.grid,
        hit=hit if hit is None or hit.gpu == gpu else replace(hit, gpu=gpu),
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


def _struck(job: Job, kind: FailureClass, nature: Nature, action: str) -> list[tuple[float, tuple[int, ...]]]:
    """(share, GPUs at which failures strike at once), each place or set standing for all that end alike."""
    hit = [served(action, job.replace_unit), nature.kind, *([kind.scope] if job.groups else ())]  # a dead switch too
    taken = job.platform.grid.widest(*(unit for unit in hit if unit in UNITS))
    alone: list[tuple[float, tuple[int, ...]]] = [(weight, (gpu,)) for weight, gpu in _positions(job, taken)]
    if kind.batch is None:
        return alone
    found: list[tuple[float, tuple[int, ...]]] = []
    unit = kind.clock if kind.clock in UNITS else taken
    for size, share in events(kind):
        if size == 1:
            found += [(share * weight, struck) for weight, struck in alone]
        else:
            sets = struck_sets(job.platform.grid, unit, taken, batch=kind.batch, size=size, keepers=job.keepers)
            found += [(share * weight, struck) for weight, struck in sets]
    return found


def _positions(job: Job, taken: str) -> Places:
    """One place, unless the domain that goes is wider than the one that members are spread over."""
    grid = job.platform.grid
    wide = grid.size(taken) > grid.gpus / 2  # else it cannot hold all copies of a part
    if (
        not wide
        and all(grid.within(taken, unit) for unit in job.spread)
        and all(t.group_size(grid) % grid.size(taken) == 0 for t in job.groups)
    ):
        return ((1.0, 0),)
    regions = job.platform.memory.regions if wide else ()
    copies = tuple(sorted({r.copies for r in regions if r.critical and r.bytes > 0}))
    return places(grid, taken, keepers=job.keepers, groups=job.groups, copies=copies)
