"""What placement is worth: failures that fall to a later tier when members and copies know no racks, switches or feeds.

The tiers of a scenario are made again with another placement, and both are asked about the same failures. First order:
intervals stay as they are, and one failure is looked at by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.damage import UNITS, Damage, Grid, Nature
from gemsim.protection.kinds import Job
from gemsim.protection.reach import Branch, branches
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.stripe import MemberStripe
from gemsim.protection.tier import HELD, Tier
from gemsim.scenario.model import Scenario

WIDER = ("rack", "switch", "power")
PLURALS = {"rack": "racks", "switch": "switches", "power": "power domains"}
LAYOUTS = {"rack": "racks", "switch": "switches", "power": "power_domains"}
LITTLE = 1e-9  # failures per run: less is rounding
Key = tuple[str, Nature, Damage, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """What one placement recovers that another lets fall: `falls` per run, by class, and the seconds that costs.

    `caught`: tiers that recover them where they do not fall; `fallen`: those that then do. `placed`: tiers that the two
    place differently; `domain`: the widest kind by which the better one keeps members or copies apart; `keys`: what
    to write for it.
    """

    falls: float
    seconds: float
    classes: tuple[tuple[str, float], ...]
    caught: tuple[str, ...]
    fallen: tuple[str, ...]
    placed: tuple[str, ...]
    domain: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placing:
    """The study's placement against a blind one, and a wiser one against it; None where they do not differ."""

    blind: Difference | None = None
    wiser: Difference | None = None


def placing(scenario: Scenario) -> Placing:
    """Both comparisons. Without a tier that is placed, or a failure wider than a node, there is nothing to compare."""
    if not any(is_placed(tier) for tier in scenario.tiers) or not _domains(scenario):
        return Placing()
    grid = scenario.platform.grid
    blind = tuple(at_a_node(tier) for tier in scenario.tiers)
    groups = any(isinstance(tier, ReplicaGroup) for tier in scenario.tiers)
    loss = _difference(scenario, scenario.tiers, blind, scatter=True) if blind != scenario.tiers or groups else None
    found = [_wiser(scenario, domain) for domain in _domains(scenario) if grid.count(domain) > 1]
    gains = [gain for gain in found if gain is not None]
    return Placing(loss, max(gains, key=lambda gain: gain.seconds, default=None))


def is_placed(tier: Tier) -> bool:
    """Whether it matters where a tier's members, copies or groups stand."""
    if isinstance(tier, Checkpoint):
        return tier.target != "remote" and tier.redundant
    return isinstance(tier, (MemberStripe, ReplicaGroup))


def _domains(scenario: Scenario) -> list[str]:
    """Domains wider than a node that some class takes or strikes in, the narrowest first."""
    grid = scenario.platform.grid
    found = {kind.scope for kind in scenario.classes}
    found |= {kind.batch.within for kind in scenario.classes if kind.batch is not None}
    acts = any("replace" in (kind.action, kind.uncontained_action) for kind in scenario.classes)
    if acts and scenario.replace_unit == "rack":
        found.add("rack")
    wider = (unit for unit in WIDER if unit in found and grid.size(unit) > grid.per_node)
    return sorted(wider, key=lambda unit: (grid.size(unit), UNITS.index(unit)))


def at_a_node(tier: Tier) -> Tier:
    """The same tier with members and copies on neighbouring nodes, whatever these share."""
    if isinstance(tier, MemberStripe) and tier.stripes.unit in WIDER:
        return replace(tier, stripes=replace(tier.stripes, unit="node"))
    return replace(tier, stride=1) if isinstance(tier, Checkpoint) and is_placed(tier) else tier


def apart(tier: Tier, domain: str, grid: Grid) -> Tier:
    """The same tier with no two members of a stripe, or hosts of a set, in one such domain; as it is where it cannot
    be."""
    if isinstance(tier, MemberStripe):
        wider = replace(tier.stripes, unit=domain)
        fits = wider.k + wider.m <= wider.domains and not grid.within(domain, tier.stripes.unit)
        return replace(tier, stripes=wider) if fits else tier
    if not isinstance(tier, Checkpoint) or not is_placed(tier):
        return tier
    stride = grid.size(domain) // grid.per_node
    wide = replace(tier, stride=stride)
    try:
        wide.where(grid.count("node"))
    except ValueError:
        return tier
    return wide if tier.stride % stride else tier


def _wiser(scenario: Scenario, domain: str) -> Difference | None:
    """What placement over distinct domains of this kind would recover beyond the study's."""
    grid = scenario.platform.grid
    wiser = tuple(apart(tier, domain, grid) for tier in scenario.tiers)
    changed = [new for old, new in zip(scenario.tiers, wiser, strict=True) if new != old]
    if not changed:
        return None
    found = _difference(scenario, wiser, scenario.tiers)
    keys = tuple(
        f"protection.{tier.name}.layout: {LAYOUTS[domain]}"
        if isinstance(tier, MemberStripe)
        else f"protection.{tier.name}.domain: {domain}"
        for tier in changed
    )
    return None if found is None or found.seconds <= 0.0 else replace(found, domain=domain, keys=keys)


def _difference(
    scenario: Scenario, better: tuple[Tier, ...], worse: tuple[Tier, ...], *, scatter: bool = False
) -> Difference | None:
    """What falls under one list of tiers and not under the other; `scatter`: replica groups are spread over racks."""
    good, bad = _outcomes(scenario, better, worse), _outcomes(scenario, worse, better)
    if scatter and any(isinstance(tier, ReplicaGroup) for tier in better):
        bad = _scattered(scenario, better, worse, bad)
    run = seconds_of_a_run(scenario)
    by_class: dict[str, float] = defaultdict(float)
    caught, fallen, seconds = dict[str, None](), dict[str, None](), 0.0
    for key, ends in good.items():
        others = bad[key]
        for rate, one, other in _coupled(ends, others, scenario):
            later = _rank(other, scenario) - _rank(one, scenario)
            if later > 0.0:
                caught[one.tier], fallen[other.tier] = None, None
            if one.tier != other.tier:  # sets of nodes anywhere that only this placement loses count against it
                by_class[key[0]] += rate * run * ((later > 0.0) - (later < 0.0))
        seconds += run * (_lost(others, scenario) - _lost(ends, scenario))
    classes = tuple(sorted(((name, n) for name, n in by_class.items() if n > LITTLE), key=lambda one: -one[1]))
    falls = sum(count for _, count in classes)
    if not falls > 0.0:
        return None
    changed = [new for new, old in zip(better, worse, strict=True) if new != old]
    changed += [tier for tier in better if scatter and isinstance(tier, ReplicaGroup)]
    grid = scenario.platform.grid
    held = {tier.stripes.unit for tier in changed if isinstance(tier, MemberStripe)}
    strides = [tier.stride * grid.per_node for tier in changed if isinstance(tier, Checkpoint)]
    held |= {unit for unit in WIDER if grid.size(unit) in strides}
    domain = max(held, key=lambda unit: (grid.size(unit), -UNITS.index(unit)), default="")
    names = tuple(tier.name for tier in changed)
    seconds = min(seconds, run)  # several falls to the start of the job lose no more than there is
    return Difference(falls, seconds, classes, tuple(caught), tuple(fallen), names, domain, ())


def _outcomes(scenario: Scenario, tiers: tuple[Tier, ...], beside: tuple[Tier, ...]) -> dict[Key, list[Branch]]:
    """Branches by failure; the other tiers tell apart places that these do not."""
    found: dict[Key, list[Branch]] = defaultdict(list)
    for branch in branches(_job(scenario, tiers, beside)):
        found[branch.kind.name, branch.nature, branch.damage, branch.action].append(branch)
    return found


def _job(scenario: Scenario, tiers: tuple[Tier, ...], beside: tuple[Tier, ...]) -> Job:
    of = scenario
    return Job(of.platform, of.timeline, tiers, of.classes, of.restart.mode, of.replace_unit, beside)


def _scattered(
    scenario: Scenario, better: tuple[Tier, ...], worse: tuple[Tier, ...], bad: dict[Key, list[Branch]]
) -> dict[Key, list[Branch]]:
    """Groups whose nodes take turns over the job: nodes side by side are in as many groups."""
    grid = scenario.platform.grid
    (tier,) = (tier for tier in better if isinstance(tier, ReplicaGroup))
    if tier.out != "group":
        return bad
    rest = tuple(one for one in worse if one is not tier)
    without = _outcomes(scenario, rest, (*worse, *better))
    found = dict(bad)
    for key, ends in bad.items():
        blocks = [grid.nodes(unit, number) for unit, number in key[2].struck]
        struck = len({node for block in blocks for node in block})
        if min(struck, tier.groups) > tier.most_out(grid) and any(branch.ending == "go_on" for branch in ends):
            found[key] = without[key]
    return found


def _coupled(
    one: Sequence[Branch], other: Sequence[Branch], scenario: Scenario
) -> Iterable[tuple[float, Branch, Branch]]:
    """(rate, end, end) of one failure under both: what ends well under the one ends best it can under the other."""
    left, right = (sorted(ends, key=lambda b: _rank(b, scenario)) for ends in (one, other))
    i = j = 0
    rate_i, rate_j = left[0].rate, right[0].rate
    while i < len(left) and j < len(right):
        rate = min(rate_i, rate_j)
        yield rate, left[i], right[j]
        rate_i, rate_j = rate_i - rate, rate_j - rate
        if rate_i <= rate_j:
            i += 1
            rate_i = left[i].rate if i < len(left) else 0.0
        else:
            j += 1
            rate_j = right[j].rate if j < len(right) else 0.0


def _rank(branch: Branch, scenario: Scenario) -> float:
    """Place of what recovers: the state itself, the tiers in order, the start (and what a tier never written holds)."""
    if branch.number < 0:
        return -1.0 if branch.tier == HELD else inf
    tier = next(t for t in scenario.tiers if t.number == branch.number)
    return inf if isinstance(tier, Checkpoint) and tier.every >= NEVER else branch.number


def _lost(ends: Iterable[Branch], scenario: Scenario) -> float:
    """Seconds of work and recovery lost per second, beside what any recovery of these failures takes."""
    return sum(branch.rate * _seconds(branch, scenario) for branch in ends)


def _seconds(branch: Branch, scenario: Scenario) -> float:
    """Mean work lost by one failure, with its recovery: half an interval, or half a run from the start."""
    half_step = scenario.useful_step / 2.0
    tier = next((t for t in scenario.tiers if t.number == branch.number), None)
    if branch.ending == "go_on" and isinstance(tier, ReplicaGroup):
        start = scenario.restart
        grid = scenario.platform.grid
        out = tier.lost_share(len(tier.units_of(branch.damage.struck, grid)), grid)
        absent = start.process + start.communicator + start.warmup + tier.catch_up
        return branch.redo + branch.recovery + tier.stall + out * absent
    if branch.ending == "in_place":
        return branch.redo + branch.recovery
    recovery = branch.recovery + scenario.encode_anew
    if branch.ending == "keep":
        return half_step + recovery
    half_run = seconds_of_a_run(scenario) / 2.0
    if tier is None:
        return half_run + recovery
    cost = tier.overhead()
    return min(half_run, cost.every * half_step + cost.lag) + half_step + recovery


def seconds_of_a_run(scenario: Scenario) -> float:
    """Wall seconds of a run with a horizon; of a work target its useful time."""
    return scenario.work_steps * scenario.useful_step if scenario.work_steps else scenario.horizon
