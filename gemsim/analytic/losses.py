"""How often a run loses everything, so that the job starts again from zero: in closed form, with its kind and error.

One idea: a loss is begun by one failure. Either no tier recovers that one, or others follow before the redundancy that
it took is back; the chances of these are products along a chain whose recovery starts again at each failure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from gemsim.analytic.chain import Hit, chance_of_loss
from gemsim.analytic.evened import is_even
from gemsim.analytic.expected import outcomes, standing_still
from gemsim.analytic.hosts import hosts_lost
from gemsim.analytic.planned import failures_of
from gemsim.analytic.refusals import refuse
from gemsim.analytic.run import interrupted, lacking_seconds
from gemsim.analytic.unseen import piled_up
from gemsim.analytic.waiting import waiting
from gemsim.errors import NotCovered
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.damage import Grid
from gemsim.protection.pairs import Seconds
from gemsim.protection.reach import Branch
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.stripe import MemberStripe
from gemsim.protection.tier import START, Tier
from gemsim.protection.undo_log import UndoLog
from gemsim.scenario import Scenario

AFTER = "one after another"  # what a part is called that several failures make
ALONE = "one failure"
CROWDED = 0.1  # share of the time standing still from which first order ends
NEVER_SEEN = 1e-15  # losses per run that count as none, such as the far tail of a detection
UNSURE = 0.5  # of a number that hangs on how random waits for repairs overlap
CUT = 0.02  # of a first-order number: phases taken as even, wholes of steps, sets taken as alike


@dataclass(frozen=True, slots=True)
class Losses:
    """`per_run`: mean count of losses; `probability` of at least one, as if they were a Poisson stream.

    `kind` exact or first_order; `error`: by how much `per_run` may be off (absolute). `parts`: per run, by what makes
    them.
    """

    per_run: float
    probability: float
    kind: str
    error: float
    parts: Mapping[str, float] = field(default_factory=dict)


def losses(scenario: Scenario) -> Losses:
    """Unrecoverable losses per run. Raises NotCovered with the reason where no form applies."""
    refuse(scenario)
    for one in scenario.classes:
        if not is_even(one):
            raise NotCovered(f"{one.name}: unlike, recurring or drifting failures are not in the form of losses")
    if scenario.shrunk is not None or any(isinstance(tier, ReplicaGroup) for tier in scenario.tiers):
        raise NotCovered("groups that are out while the job runs on are not in the form of losses")
    found, _ = piled_up(scenario, failures_of(outcomes(scenario)))
    if not _chained(scenario) and all(branch.tier != START for branch in found):
        return Losses(0.0, 0.0, "exact", 0.0)
    scenario, lacking = _waited(scenario, found)
    seconds_of: Seconds = partial(_still, scenario, lacking)
    still = math.fsum(b.rate * seconds_of(b) for b in found)
    running = 1.0 / (1.0 + still)
    seconds = _seconds(scenario, running)
    parts = _alone(found, seconds, running)
    chain = _chain(scenario, found, seconds, running, seconds_of)
    if chain is not None:
        parts[f"{AFTER}: {chain.name}"] = chain.per_run
    parts = {name: count for name, count in parts.items() if count > NEVER_SEEN}
    if parts and still > CROWDED:
        raise NotCovered(f"the job stands still {still:.2g} s for each second it runs; first order ends at {CROWDED:g}")
    total = math.fsum(parts.values())
    exact = chain is not None and chain.exact and set(parts) == {f"{AFTER}: {chain.name}"} and not scenario.work_steps
    off = (
        chain.off / seconds
        if exact and chain is not None
        else CUT + 2.0 * still + UNSURE * (lacking > 0.0 and _deep(scenario))
    )
    kind = "exact" if exact else "first_order"
    return Losses(total, -math.expm1(-total), kind, total * off, parts)


def _waited(scenario: Scenario, found: tuple[Branch, ...]) -> tuple[Scenario, float]:
    """The scenario with the mean time to start a spare, and the seconds that a replaced node is waited for on top,
    where there may be no spare. Raises NotCovered where the twin cannot say how long."""
    if not any(branch.action == "replace" for branch in found):
        return scenario, 0.0
    before = interrupted(scenario, found)
    waits = waiting(scenario, found, before, (1.0,))
    return (scenario, 0.0) if waits is None else (waits.applied(scenario), lacking_seconds(found, before, waits))


def _deep(scenario: Scenario) -> bool:
    """Whether it takes more than two failures: their overlap hangs on the law of the waits, not on the mean alone."""
    stripes = any(isinstance(tier, MemberStripe) and tier.stripes.m > 1 for tier in scenario.tiers)
    return stripes or any(isinstance(tier, Checkpoint) and tier.copies > 2 for tier in scenario.tiers)


def _still(scenario: Scenario, lacking: float, branch: Branch) -> float:
    """Mean seconds that the job stands still."""
    waited = lacking if branch.action == "replace" else 0.0
    return standing_still(scenario, branch, reset=False) + waited


def _seconds(scenario: Scenario, running: float) -> float:
    """Wall seconds of a run."""
    if not scenario.work_steps:
        return scenario.horizon
    timeline = scenario.timeline
    pace = timeline.step + sum(stall.seconds / stall.every for stall in timeline.stalls if stall.every)
    return min(scenario.horizon, scenario.work_steps * pace / running)


def _alone(found: Sequence[Branch], seconds: float, running: float) -> dict[str, float]:
    """Failures that no tier recovers, by class; those that strike a recovery join it, which is first order."""
    parts: dict[str, float] = {}
    for branch in found:
        if branch.tier == START and branch.rate:
            name = f"{ALONE}: {branch.kind.name}"
            clock = running if branch.kind.exposure == "running" else 1.0
            parts[name] = parts.get(name, 0.0) + branch.rate * clock * seconds
    return parts


@dataclass(frozen=True, slots=True)
class Chained:
    """Losses per run by several failures; `off`: seconds of a run by which the exact form is off at its ends."""

    name: str
    per_run: float
    exact: bool
    off: float


def _spread(scenario: Scenario) -> tuple[list[Tier], float]:
    """The tiers that redundancy on several nodes makes, and the chance that nothing behind them holds."""
    behind = 1.0
    spread: list[Tier] = []
    for tier in scenario.tiers:
        if isinstance(tier, UndoLog):
            behind = 0.0
        elif isinstance(tier, MemberStripe):
            spread.append(tier)
        elif isinstance(tier, Checkpoint) and tier.every < NEVER:
            if tier.target == "remote":
                behind *= tier.invalid
            else:
                spread.append(tier)
    return spread, behind


def _chained(scenario: Scenario) -> bool:
    """Whether failures that follow one another can lose everything."""
    spread, behind = _spread(scenario)
    return bool(spread) and behind > 0.0


def _chain(
    scenario: Scenario, found: Sequence[Branch], seconds: float, running: float, still: Seconds
) -> Chained | None:
    """What several failures make of these tiers; None where there are none, or something behind them never fails."""
    spread, behind = _spread(scenario)
    if not spread or behind == 0.0:
        return None
    if len(spread) > 1:
        names = ", ".join(tier.name for tier in spread)
        raise NotCovered(f"several tiers over nodes ({names}) that can be lost together are in no form of losses")
    tier = spread[0]
    if isinstance(tier, MemberStripe):
        return _stripe(scenario, found, tier, seconds, behind, still)
    assert isinstance(tier, Checkpoint)
    per_second = hosts_lost(scenario, found, tier, still, running=running) * behind
    return Chained(tier.name, per_second * seconds, False, 0.0)


def _stripe(
    scenario: Scenario, found: Sequence[Branch], tier: MemberStripe, seconds: float, behind: float, still: Seconds
) -> Chained:
    """Members of one stripe lost before the first of them is back."""
    grid, stripes = scenario.platform.grid, tier.stripes
    hits = []
    for branch in found:
        ours = branch.number == tier.number and bool(branch.damage.lost)
        members, width = _members(branch, tier, grid) if ours else (0, 1.0)
        down = still(branch) - (tier.rebuild_seconds(members) if ours else 0.0)
        wall = branch.kind.exposure == "wall"
        hits.append(Hit(branch.rate, members, width, down, later=wall))
    size = stripes.domains / stripes.groups
    begun = chance_of_loss(hits, domains=stripes.domains, group=size, m=stripes.m, rebuild=tier.rebuild_seconds)
    alike = len({(hit.down, hit.members, hit.width) for hit in hits}) == 1 and all(map(_plain, found))
    exact = alike and stripes.groups == 1 and behind == 1.0
    total = math.fsum(hit.rate for hit in hits if hit.later)
    longest = max((hit.down + tier.rebuild_seconds(1) for hit in hits if hit.members), default=0.0)
    per_second = begun * math.exp(-total * longest) if exact else begun
    off = longest + abs(tier.rebuild_seconds(stripes.m) - tier.rebuild_seconds(1)) * total * seconds
    return Chained(tier.name, per_second * seconds * behind, exact, off)


def _plain(branch: Branch) -> bool:
    """Failures of a Poisson stream on the wall clock, of one place each, recovered in a fixed time."""
    kind = branch.kind
    fixed = kind.detect.kind == "fixed" and branch.action != "replace"
    return fixed and kind.exposure == "wall" and kind.lifetime.kind == "exponential" and kind.batch is None


def _members(branch: Branch, tier: MemberStripe, grid: Grid) -> tuple[int, float]:
    """Members that the worst stripe loses, and the share of the stripes of a domain that lose any."""
    gone = {gpu for unit, number in branch.damage.lost for gpu in grid.members(unit, number)}
    size = grid.size(tier.stripes.unit)
    first = next(iter(gone)) // size
    width = len({gpu % size for gpu in gone if gpu // size == first}) / size
    return tier.stripes.worst_in_stripe(gone), width
