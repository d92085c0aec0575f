"""Which tier recovers how often: the probability that a failure of each kind reaches each tier, and what it costs then.

A failure strikes at a uniformly distributed phase of step, encode and save; the phases fall into a few cells within
which the outcome is the same. Each cell's outcome is asked of the tiers themselves. First order in (rate x step). The
steps between saves may be arrays, and so are rates then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import truediv

from gemsim.failures.classes import FailureClass
from gemsim.protection.arrays import anywhere, either
from gemsim.protection.cells import Cell, Place, cells_of
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage, Nature
from gemsim.protection.decide import decide
from gemsim.protection.held import still_held
from gemsim.protection.kinds import Job, kinds_of
from gemsim.protection.occupancy import decodable_share
from gemsim.protection.recent import Recent
from gemsim.protection.retry import GRANULES, Retry, granule_seconds
from gemsim.protection.stripe import PageStripe
from gemsim.protection.tier import Plan, Tier


@dataclass(frozen=True, slots=True)
class Branch:
    """Failures of one kind with one outcome: `rate` per second, recovered by `tier`.

    `ending`: in_place (the same life goes on), go_on (of those left, without a group), keep (restart at the current
    version) or roll_back (to an older version, of tier `number`; -1 the start). Seconds: `recovery` after the restart,
    `redo` mean work of the step done again.
    """

    rate: float
    kind: FailureClass
    nature: Nature
    damage: Damage
    action: str
    tier: str
    number: int
    ending: str
    recovery: float
    redo: float


Key = tuple[str, int, str, float]  # tier, number, ending, recovery
Outcomes = dict[Key, tuple[float, float]]
"""Share of failures, and that share times the mean redo."""
Asked = tuple[tuple[int, ...], Damage]  # tiers by number, and what they are asked to recover


@dataclass(frozen=True, slots=True)
class _Decided:
    """What tiers decide, by damage: `fates` of a burst; by bad copies and place of the cell the outcome and the seconds
    of the step done again."""

    fates: dict[Damage, list[tuple[float, tuple[int, ...], Damage]]] = field(default_factory=dict)
    plans: dict[Damage, dict[tuple[frozenset[int], Place], tuple[Key, float]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of this job so far: outcomes over all phases, and, with their mean redo, over bursts too."""

    cells: Sequence[Cell]
    decided: dict[tuple[int, ...], _Decided]
    outcomes: dict[Asked, Outcomes]
    ends: dict[Asked, list[tuple[Key, float, float]]]


_ENDS: Recent[list[list[tuple[float, Nature, Damage, str]]]] = Recent()
_DECIDED: Recent[_Decided] = Recent()


def branches(job: Job) -> tuple[Branch, ...]:
    """All outcomes of all classes, with their rates."""
    known = _Known(cells_of(job), {}, {}, {})  # most classes leave one of a few kinds of damage
    found: list[Branch] = []
    for kind, ends in zip(job.classes, _ends(job), strict=True):
        held = [
            (chance, replace(job, tiers=tiers) if tiers is not job.tiers else job)
            for chance, tiers in still_held(job, kind)
        ]
        for share, nature, damage, action in ends:
            rate = kind.rate * share
            if rate > 0.0:
                for chance, one in held:
                    here = rate * chance
                    found += [
                        Branch(here * part, kind, nature, damage, action, tier, number, ending, recovery, redo)
                        for (tier, number, ending, recovery), part, redo in _shares(one, damage, known)
                    ]
    return tuple(found)


def _ends(job: Job) -> list[list[tuple[float, Nature, Damage, str]]]:
    """What the failures of each class can do, the same at all design points with the same stripes and places of copies
    but for their codes."""
    coded = tuple((t.regions, t.cadence.buckets) for t in job.tiers if isinstance(t, PageStripe))
    values = (job.platform.grid, job.mode, job.replace_unit, coded, job.groups, job.keepers, job.spread)
    same = (job.classes, job.platform.memory)
    return _ENDS.of(same, values, lambda: [list(kinds_of(job, kind)) for kind in job.classes])


def _decided(job: Job, numbers: tuple[int, ...], known: _Known) -> _Decided:
    """Decisions of these tiers, the same whatever the intervals of saves are."""
    if numbers not in known.decided:
        tiers = tuple(
            replace(tier, every=0) if isinstance(tier, Checkpoint) else tier
            for tier in job.tiers
            if tier.number in numbers
        )
        values = (job.platform.grid, job.platform.steps, tiers)
        known.decided[numbers] = _DECIDED.of((job.platform.memory,), values, _Decided)
    return known.decided[numbers]


def _shares(job: Job, damage: Damage, known: _Known) -> list[tuple[Key, float, float]]:
    """Outcomes of one damage with their shares and mean redo; `known` is added to."""
    asked = (tuple(tier.number for tier in job.tiers), damage)
    if asked not in known.ends:
        known.ends[asked] = [
            (key, share, either(share > 0.0, partial(truediv, redo, share), float))
            for key, (share, redo) in _outcomes(job, damage, known).items()
            if anywhere(share > 0.0)
        ]
    return known.ends[asked]


def _outcomes(job: Job, damage: Damage, known: _Known) -> Outcomes:
    """Outcomes of one damage over whether its burst is decodable, and over all phases."""
    total: Outcomes = {}
    fates = _decided(job, tuple(tier.number for tier in job.tiers), known).fates
    if damage not in fates:
        fates[damage] = _fates(job, damage)
    for weight, numbers, shown in fates[damage]:
        if weight <= 0.0:
            continue
        seen = (numbers, shown)
        if seen not in known.outcomes:
            tiers = tuple(tier for tier in job.tiers if tier.number in numbers)
            plans = _decided(job, numbers, known).plans.setdefault(shown, {})
            known.outcomes[seen] = _over_cells(job, tiers, shown, known.cells, plans)
        if weight == 1.0:
            return known.outcomes[seen]
        for key, (share, redo) in known.outcomes[seen].items():
            _add(total, key, weight * share, weight * redo)
    return total


def _over_cells(
    job: Job,
    tiers: tuple[Tier, ...],
    damage: Damage,
    cells: Sequence[Cell],
    decided: dict[tuple[frozenset[int], Place], tuple[Key, float]],
) -> Outcomes:
    """Outcomes of one damage over all phases and over whether copies are bad; `decided` is added to."""
    found: Outcomes = {}
    for chance, bad in _bad_copies(tiers):
        for cell in cells:
            where = (bad, cell.place)
            if where not in decided:
                decided[where] = _at(job, tiers, damage, cell, bad)
            key, redo = decided[where]
            share = cell.share if chance == 1.0 else cell.share * chance
            _add(found, key, share, share * redo if redo else 0.0)
    return found


def _at(job: Job, tiers: tuple[Tier, ...], damage: Damage, cell: Cell, bad: frozenset[int]) -> tuple[Key, float]:
    """The outcome at one moment, and the seconds of the step done again."""
    decision = decide(tiers, damage, cell.moment, job.platform, _named(bad))
    plan = decision.plan
    ending = _ending(plan, damage)
    number = next((t.number for t in tiers if t.name == plan.tier), -1)
    redo = _redo(job, plan, damage, cell) if ending in ("in_place", "go_on") else 0.0
    return (plan.tier, number, ending, decision.failed + plan.seconds), redo


def _ending(plan: Plan, damage: Damage) -> str:
    if plan.version is not None:
        return "roll_back"
    return "go_on" if plan.out else "in_place" if damage.alive else "keep"


def _add(found: Outcomes, key: Key, share: float, redo: float) -> None:
    old = found.get(key, (0.0, 0.0))
    found[key] = (old[0] + share, old[1] + redo)


def _fates(job: Job, damage: Damage) -> list[tuple[float, tuple[int, ...], Damage]]:
    """(weight, tiers by number, damage) with a page stripe taken out where the burst is not decodable."""
    hits, every = damage.pages, tuple(tier.number for tier in job.tiers)
    stripe = next((t for t in job.tiers if isinstance(t, PageStripe) and hits and hits[0].region in t.regions), None)
    if stripe is None:
        return [(1.0, every, damage)]
    hit = hits[0]
    good = decodable_share(stripe.stripes, hit.rows, hit.to_pages)
    shown = replace(damage, pages=(replace(hit, rows=1, to_pages="same_page"),))
    without = tuple(number for number in every if number != stripe.number)
    return [(good, every, shown), (1.0 - good, without, shown)]


def _named(bad: frozenset[int]) -> Callable[[Tier], bool]:
    return lambda tier: tier.number in bad


def _bad_copies(tiers: Sequence[Tier]) -> list[tuple[float, frozenset[int]]]:
    """(probability, tiers whose copy is bad) over all combinations."""
    fates: list[tuple[float, frozenset[int]]] = [(1.0, frozenset())]
    for tier in tiers:
        if isinstance(tier, Checkpoint) and tier.invalid > 0.0:
            bad = [(p * tier.invalid, b | {tier.number}) for p, b in fates]
            fates = [(p * (1 - tier.invalid), b) for p, b in fates] + bad
    return fates


def _redo(job: Job, plan: Plan, damage: Damage, cell: Cell) -> float:
    """Mean seconds of the step done again: half a granule, or what has passed of the step."""
    if not cell.within_step:
        return 0.0
    retries = [t for t in job.tiers if isinstance(t, Retry)]
    if retries and damage.pages and not plan.out:
        granule = max((retries[0].granule(hit.region) for hit in damage.pages), key=GRANULES.index)
        if granule != "step":
            return granule_seconds(granule, job.platform) / 2
    return plan.redo
