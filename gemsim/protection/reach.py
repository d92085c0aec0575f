"""Which tier recovers how often: the probability that a failure of each kind reaches each tier, and what it costs then.

A failure strikes at a uniformly distributed phase of step, encode and save; the phases fall into a few cells within
which the outcome is the same. Each cell's outcome is asked of the tiers themselves. First order in (rate x step).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import lcm

from gemsim.failures.classes import FailureClass
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage, Nature
from gemsim.protection.decide import decide
from gemsim.protection.kinds import Job, kinds_of
from gemsim.protection.occupancy import decodable_share
from gemsim.protection.retry import GRANULES, Retry, granule_seconds
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import Moment, Plan, Tier
from gemsim.protection.timeline import Phase


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


@dataclass(frozen=True, slots=True)
class Cell:
    """A set of phases with one outcome: its share of running time and a moment in its middle."""

    share: float
    moment: Moment
    within_step: bool


Outcomes = dict[tuple[str, int, str, float], tuple[float, float]]
"""(tier, number, ending, recovery) -> share of failures, and that share times the mean redo."""
Known = dict[tuple[tuple[int, ...], Damage], Outcomes]
"""(the tiers that are asked, damage) -> outcomes."""


def branches(job: Job) -> tuple[Branch, ...]:
    """All outcomes of all classes, with their rates."""
    cells = _cells(job)
    known: Known = {}  # most classes leave one of a few kinds of damage
    found: list[Branch] = []
    for kind in job.classes:
        for share, nature, damage, action in kinds_of(job, kind):
            rate = kind.rate * share
            if rate > 0.0:
                for chance, tiers in _still_held(job, kind):
                    held = job if tiers is job.tiers else replace(job, tiers=tiers)
                    outcomes = _outcomes(held, damage, cells, known)
                    found += _branches(kind, rate * chance, nature, damage, action, outcomes)
    return tuple(found)


def _still_held(job: Job, kind: FailureClass) -> list[tuple[float, tuple[Tier, ...]]]:
    """(probability, tiers that still hold a version from before the failure): all, but for silent corruption.

    A tier that keeps versions for a span s has one if the corruption was found within s.
    """
    if kind.scope != "silent":
        return [(1.0, job.tiers)]
    spans = {tier.number: _span(job, tier) for tier in job.tiers if isinstance(tier, Checkpoint)}
    found, later = [], 1.0
    for span in sorted(set(spans.values())):
        beyond = kind.detect.longer(span)
        found.append((later - beyond, tuple(t for t in job.tiers if spans.get(t.number, span) >= span)))
        later = beyond
    found.append((later, tuple(t for t in job.tiers if t.number not in spans)))
    return [(chance, tiers) for chance, tiers in found if chance > 0.0]


def _span(job: Job, tier: Checkpoint) -> float:
    """Mean age in seconds of the oldest version that a tier holds; half an interval has passed since the newest."""
    if not tier.keep_count or not tier.every:
        return tier.keep_seconds
    pace = job.timeline.step + sum(s.seconds / s.every for s in job.timeline.stalls if s.every)
    return min(tier.keep_seconds, (tier.keep_count - 0.5) * tier.every * pace)


def _cells(job: Job) -> tuple[Cell, ...]:
    """Phases of a running step and of each stall, at each residue of the cadences of in-place stripes."""
    timeline = job.timeline
    stripes = [t for t in job.tiers if isinstance(t, (PageStripe, MemberStripe)) and t.cadence.copy == "in_place"]
    period = lcm(*(t.cadence.every for t in stripes)) if stripes else 1
    if period > 256:
        period = max(t.cadence.every for t in stripes)
    pace = timeline.step + sum(s.seconds / s.every for s in timeline.stalls if s.every)
    saved = {t.number: 0 for t in job.tiers if t.overhead().keeps_versions}
    cells = []
    for residue in range(period):
        edges = _edges(stripes, job)
        for low, high in pairwise(edges):
            moment = Moment(residue + period, (low + high) / 2, 0, saved=saved)
            cells.append(Cell((high - low) / pace / period, moment, True))
    for number, stall in enumerate(timeline.stalls):
        if stall.seconds <= 0.0 or not stall.every:
            continue
        parts = max((t.cadence.buckets for t in stripes if t.number == stall.tier), default=1)
        turns = lcm(stall.every, period) // stall.every  # a save can fall on a boundary without an encode
        for part in range(parts):
            elapsed = (part + 0.5) / parts * stall.seconds
            for turn in range(turns):
                boundary = (turn + 1) * stall.every
                ahead = timeline.ahead(Phase(boundary, 0.0, number, elapsed))
                moment = Moment(boundary, 0.0, 0, stall.tier, elapsed, saved=saved, ahead=ahead)
                cells.append(Cell(stall.seconds / stall.every / pace / parts / turns, moment, False))
    return tuple(cells)


def _edges(stripes: Sequence[PageStripe | MemberStripe], job: Job) -> list[float]:
    """Where the outcome can change within a step, in seconds from its start."""
    steps = job.platform.steps
    length = steps.length
    edges = {0.0, length, length - steps.update, max(0.0, length - steps.update - steps.skew)}
    for stripe in stripes:
        cadence = stripe.cadence
        if cadence.overlap:
            edges.add(min(cadence.encode, length))
        window = steps.update + cadence.encode
        for bucket in range(1, cadence.buckets):
            into = window * bucket / cadence.buckets
            if into < steps.update:
                edges.add(length - steps.update + into)
            elif cadence.overlap:
                edges.add(min(into - steps.update, length))
    return sorted(edges)


def _branches(
    kind: FailureClass, rate: float, nature: Nature, damage: Damage, action: str, outcomes: Outcomes
) -> list[Branch]:
    return [
        Branch(rate * share, kind, nature, damage, action, tier, number, ending, recovery, redo / share)
        for (tier, number, ending, recovery), (share, redo) in outcomes.items()
        if share > 0.0
    ]


def _outcomes(job: Job, damage: Damage, cells: Sequence[Cell], known: Known) -> Outcomes:
    """Outcomes of one damage over whether its burst is decodable, and over all phases; `known` is added to."""
    total: Outcomes = {}
    for weight, tiers, shown in _fates(job, damage):
        if weight <= 0.0:
            continue
        place = (tuple(tier.number for tier in tiers), shown)
        if place not in known:
            known[place] = _over_cells(job, tiers, shown, cells)
        if weight == 1.0:
            return known[place]
        for key, (share, redo) in known[place].items():
            _add(total, key, weight * share, weight * redo)
    return total


def _over_cells(job: Job, tiers: tuple[Tier, ...], damage: Damage, cells: Sequence[Cell]) -> Outcomes:
    """Outcomes of one damage over all phases and over whether copies are bad."""
    found: Outcomes = {}
    for chance, bad in _bad_copies(tiers):
        for cell in cells:
            decision = decide(tiers, damage, cell.moment, job.platform, _named(bad))
            plan = decision.plan
            ending = _ending(plan, damage)
            number = next((t.number for t in tiers if t.name == plan.tier), -1)
            redo = _redo(job, plan, damage, cell) if ending in ("in_place", "go_on") else 0.0
            share = cell.share * chance
            _add(found, (plan.tier, number, ending, decision.failed + plan.seconds), share, share * redo)
    return found


def _ending(plan: Plan, damage: Damage) -> str:
    if plan.version is not None:
        return "roll_back"
    return "go_on" if plan.out else "in_place" if damage.alive else "keep"


def _add(found: Outcomes, key: tuple[str, int, str, float], share: float, redo: float) -> None:
    old = found.get(key, (0.0, 0.0))
    found[key] = (old[0] + share, old[1] + redo)


def _fates(job: Job, damage: Damage) -> list[tuple[float, tuple[Tier, ...], Damage]]:
    """(weight, tiers, damage) with a page stripe taken out where the burst is not decodable."""
    hits = damage.pages
    stripe = next((t for t in job.tiers if isinstance(t, PageStripe) and hits and hits[0].region in t.regions), None)
    if stripe is None:
        return [(1.0, job.tiers, damage)]
    hit = hits[0]
    good = decodable_share(stripe.stripes, hit.rows, hit.to_pages)
    shown = replace(damage, pages=(replace(hit, rows=1, to_pages="same_page"),))
    without = tuple(t for t in job.tiers if t is not stripe)
    return [(good, job.tiers, shown), (1.0 - good, without, shown)]


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
