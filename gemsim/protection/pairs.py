"""Two failures that meet: the second strikes while the first is being recovered, or before its host's copies are whole.

One idea: the tiers themselves are asked what they make of both together. First order: pairs, each by its rate.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from itertools import combinations
from math import inf
from typing import Any, Protocol

from gemsim.protection.arrays import anywhere, at_least, at_most, either, everywhere, expm1, is_array
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.damage import Damage, Grid
from gemsim.protection.decide import decide
from gemsim.protection.peer_copy import PeerCopy
from gemsim.protection.reach import Branch
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import START, Moment, Platform, Tier
from gemsim.protection.timeline import Timeline

PLACES = 64  # of the second failure that are looked at
GOLDEN = 0.6180339887498949  # spreads them evenly

Seconds = Callable[[Branch], float]


class Protected(Protocol):
    """A job and its tiers, whatever else is known of it."""

    @property
    def platform(self) -> Platform: ...

    @property
    def timeline(self) -> Timeline: ...

    @property
    def tiers(self) -> tuple[Tier, ...]: ...


@dataclass(frozen=True, slots=True)
class Fall:
    """Pairs per second of running that fall to tier `number` (-1: the start of the job), deeper than either alone;
    `failures`: how many of the two end there."""

    rate: float
    number: int
    failures: int


Shares = tuple[tuple[int, float], ...]
"""(depth, share of the places of the second failure) where it falls so deep."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What tiers have answered: depths by damage, and shares by damage and what came before it."""

    depths: dict[object, int] = field(default_factory=dict)
    shares: dict[object, Shares] = field(default_factory=dict)


_KNOWN: deque[tuple[tuple[Tier, ...], Platform, _Known]] = deque(maxlen=64)


def _known(scenario: Protected) -> _Known:
    """What tiers like these on such a platform have answered before: rates and times do not change who recovers."""
    tiers, platform = tuple(map(_timeless, scenario.tiers)), scenario.platform
    if any(is_array(tier.every) for tier in tiers if isinstance(tier, Checkpoint)):
        return _Known()
    for before, on, known in _KNOWN:
        if (on is platform or on == platform) and before == tiers:
            return known
    _KNOWN.append((tiers, platform, _Known()))
    return _KNOWN[-1][2]


def _timeless(tier: Tier) -> Tier:
    """A checkpoint without its times: where its copies lie says what it survives, and whether it is written at all."""
    if not isinstance(tier, Checkpoint):
        return tier
    if everywhere(tier.every >= NEVER):
        every: Any = NEVER
    else:
        every = tier.every if anywhere(tier.every >= NEVER) else 1
    return replace(
        tier, every=every, blocked=0.0, lag=0.0, read=0.0, fetch=0.0, invalid=0.0, notice=0.0, keep_seconds=inf,
        keep_count=0, wall_anchor=False, memory=0.0,
    )  # fmt: skip


@dataclass(slots=True)
class _Asked:
    """What the tiers answer in the middle of a step, by the depth of who recovers; the start is the deepest."""

    scenario: Protected
    moment: Moment = field(init=False)
    known: _Known = field(init=False)

    def __post_init__(self) -> None:
        self.known = _known(self.scenario)
        steps, tiers = self.scenario.platform.steps, self.scenario.tiers
        stripes = (t for t in tiers if isinstance(t, (PageStripe, MemberStripe)) and t.cadence.overlap)
        begin = max((t.cadence.encode for t in stripes), default=0.0)
        within = (begin + steps.length - steps.update - steps.skew) / 2.0
        saved = {t.number: 0 for t in tiers if not (isinstance(t, Checkpoint) and everywhere(t.every >= NEVER))}
        self.moment = Moment(0, within, 0, saved=saved)

    def depth(self, damage: Damage, missing: tuple[tuple[int, frozenset[int]], ...] = ()) -> int:
        """Of the tier that recovers this; `missing`: hosts that a tier's newest version lacks."""
        key = damage, missing
        if key not in self.known.depths:
            moment = replace(self.moment, missing=dict(missing)) if missing else self.moment
            name = decide(self.scenario.tiers, damage, moment, self.scenario.platform).plan.tier
            numbers = (tier.number for tier in self.scenario.tiers if tier.name == name)
            self.known.depths[key] = len(self.scenario.tiers) if name == START else next(numbers, -1)
        return self.known.depths[key]

    def met(self, one: Damage, other: Damage, depth: int) -> Shares:
        """Where both together fall deeper than each."""
        key = one, other, depth
        if key not in self.known.shares:
            base = max(depth, self.depth(other))
            self.known.shares[key] = self._deeper(base, other, lambda moved: self.depth(one.join(moved)))
        return self.known.shares[key]

    def short(self, other: Damage, missing: tuple[tuple[int, frozenset[int]], ...]) -> Shares:
        """The same of a failure that finds versions with hosts missing."""
        key = other, missing
        if key not in self.known.shares:
            base = self.depth(other)
            self.known.shares[key] = self._deeper(base, other, lambda moved: self.depth(moved, missing))
        return self.known.shares[key]

    def _deeper(self, base: int, other: Damage, depth: Callable[[Damage], int]) -> Shares:
        places = _places(other, self.scenario.platform.grid)
        ends = Counter(depth(moved) for moved in places)
        return tuple((to, count / len(places)) for to, count in ends.items() if to > base)


def falls(scenario: Protected, found: Sequence[Branch], still: Seconds, *, lacking: float = 0.0) -> tuple[Fall, ...]:
    """All pairs that fall deeper than either failure alone. `still`: seconds that a recovery takes; `lacking`: that a
    replaced node is waited for on top of that.

    Groups that run on without a unit are not looked at.
    """
    if not meet(scenario):
        return ()
    asked = _Asked(scenario)
    again = sum(branch.rate for branch in found if branch.kind.exposure == "wall")
    ones: dict[tuple[Damage, int], list[float]] = {}
    others: dict[Damage, list[float]] = {}
    for branch in found:
        if branch.damage.corrupt_since is not None or not (branch.damage.lost or branch.damage.hosts):
            continue
        place = branch.damage, len(scenario.tiers) if branch.tier == START else branch.number
        seconds = still(branch)
        longer = _with_hits(seconds, again) + (lacking if branch.action == "replace" else 0.0)
        _count(ones, place, branch.rate, branch.rate * longer)
        _count(others, branch.damage, branch.rate, branch.rate * (branch.kind.exposure == "wall"))
    rates: dict[tuple[int, int], float] = {}
    for (damage, depth), (rate, standing) in ones.items():
        if depth != asked.depth(damage) or depth == len(scenario.tiers):
            continue
        ends = _ends(asked, damage, depth, standing / at_least(1e-300, rate), others)
        beside = 1.0 + sum(ends.values())  # of what can end a recovery one thing does
        for end, times in ends.items():
            rates[end] = rates.get(end, 0.0) + rate * times / beside
    return tuple(
        Fall(rate * share, number, count)
        for (to, count), rate in rates.items()
        for number, share in _held_by(scenario, to)
        if anywhere(rate * share > 0.0)
    )


def meet(scenario: Protected) -> bool:
    """Whether there is a tier that a second failure can defeat, and all failures are looked at."""
    tiers = scenario.tiers
    return any(_holds(tier) for tier in tiers) and not any(isinstance(tier, ReplicaGroup) for tier in tiers)


def _with_hits(seconds: float, rate: float) -> float:
    """Mean length of a recovery that failures at this rate begin anew."""
    often = at_most(700.0, rate * seconds)
    return either(often > 1e-9, lambda: expm1(often) / rate, lambda: seconds)


def _held_by(scenario: Protected, depth: int) -> Iterator[tuple[int, float]]:
    """(tier, probability) of the tier of this depth, and of those in the store behind it where its copy is bad."""
    left = 1.0
    for tier in scenario.tiers[depth:]:
        store = isinstance(tier, Checkpoint) and tier.target == "remote" and anywhere(tier.every < NEVER)
        if tier.number == depth or store:
            bad = tier.invalid if isinstance(tier, Checkpoint) else 0.0
            yield tier.number, left * (1.0 - bad)
            left *= bad
    yield -1, left


def _ends(
    asked: _Asked, damage: Damage, depth: int, seconds: float, others: Mapping[Damage, Sequence[float]]
) -> dict[tuple[int, int], float]:
    """(depth, failures that end there) to how often on average, of one failure whose recovery takes so long.

    Hits that are not fatal begin the recovery anew: with x fatal ones in its mean length it falls with x / (1 + x).
    """
    ends: dict[tuple[int, int], float] = {}
    for other, (of_all, on_wall) in others.items():
        for to, share in asked.met(damage, other, depth):
            ends[to, 2] = ends.get((to, 2), 0.0) + seconds * on_wall * share
        for window, missing in _windows(asked.scenario, damage):
            for to, share in asked.short(other, missing):
                ends[to, 1] = ends.get((to, 1), 0.0) + window * of_all * share
    return ends


def _holds(tier: Tier) -> bool:
    """Whether a second failure can defeat a tier that survives the first."""
    near = isinstance(tier, Checkpoint) and tier.target != "remote" and anywhere(tier.every < NEVER)
    return near or isinstance(tier, (MemberStripe, PeerCopy))


def _count(sums: dict[Any, list[float]], key: Any, rate: float, part: float) -> None:
    total = sums.setdefault(key, [0.0, 0.0])
    total[0] = total[0] + rate
    total[1] = total[1] + part


def _windows(scenario: Protected, one: Damage) -> Iterator[tuple[float, tuple[tuple[int, frozenset[int]], ...]]]:
    """(seconds, what is missing in them) from a recovery until the next save of each tier near the job is complete."""
    pace = scenario.timeline.pace
    short = []
    for tier in scenario.tiers:
        if isinstance(tier, Checkpoint) and tier.target != "remote" and anywhere(tier.every < NEVER):
            gone = one.disks if tier.target == "disk" else one.hosts
            if gone:
                short.append((tier.every * pace + tier.lag, (tier.number, gone)))
    for size in range(1, len(short) + 1):
        for chosen in combinations(short, size):
            open_ones = {number for _, (number, _) in chosen}
            window = _smallest(end for end, _ in chosen)
            begin = _largest(end for end, (number, _) in short if number not in open_ones)
            if anywhere(window > begin):
                yield at_least(0.0, window - begin), tuple(lacking for _, lacking in chosen)


def _smallest(values: Iterable[float]) -> float:
    return reduce(at_most, values)


def _largest(values: Iterable[float]) -> float:
    return reduce(at_least, values, 0.0)


@lru_cache(maxsize=1024)
def _places(damage: Damage, grid: Grid) -> list[Damage]:
    """The failure at evenly spread places of the job."""
    units = [unit for unit, _ in damage.lost] + (["node"] if damage.hosts or damage.disks else [])
    unit = grid.widest(*units)
    count = grid.count(unit)
    spread = range(count) if count <= PLACES else [int(count * (i * GOLDEN % 1.0)) for i in range(PLACES)]
    return [_moved(damage, grid, number * grid.size(unit)) for number in spread]


def _moved(damage: Damage, grid: Grid, gpus: int) -> Damage:
    """The failure that many GPUs further on."""

    def domains(of: frozenset[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        return frozenset((unit, (number + gpus // grid.size(unit)) % grid.count(unit)) for unit, number in of)

    nodes, hosts = grid.count("node"), gpus // grid.per_node
    return replace(
        damage,
        lost=domains(damage.lost),
        struck=domains(damage.struck),
        hosts=frozenset((host + hosts) % nodes for host in damage.hosts),
        disks=frozenset((host + hosts) % nodes for host in damage.disks),
        pages=tuple(replace(hit, gpu=(hit.gpu + gpus) % grid.gpus) for hit in damage.pages),
    )
