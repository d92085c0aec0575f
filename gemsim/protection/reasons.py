"""Why a tier did not recover a damage: the least that would have had to be otherwise.

Tiers answer with a plan or with none. So each is asked again about the same damage with one thing put right, and the
first that changes its answer is the reason. No rule of a tier is written a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from gemsim.protection.damage import Damage, Nature
from gemsim.protection.decide import decide
from gemsim.protection.retry import Retry
from gemsim.protection.state import CRITICAL
from gemsim.protection.tier import HELD, Moment, Plan, Platform, Tier

Case = tuple[Damage, Moment]
Change = Callable[[Case], Iterator[Case]]
IN_UPDATE = "struck while the state was being updated or encoded"
NATURES = {
    "gpu": "a lost GPU", "node": "a lost node", "rack": "a lost rack", "switch": "a lost switch",
    "power": "a power cut", "process": "a dead process", "nothing": "a stop that destroys nothing",
    "corrupt": "a silent corruption",
}  # fmt: skip


def refusals(
    tiers: Sequence[Tier], damage: Damage, moment: Moment, platform: Platform,
    *, nature: Nature, plan: Plan, bad: Mapping[str, bool],
) -> tuple[tuple[str, str], ...]:  # fmt: skip
    """(tier, reason) of the tiers that were asked before the one that recovers by `plan`, and refused.

    `nature`: of the newest failure; `bad`: of the tiers whose copy was looked at, whether it was bad.
    """
    if plan.tier == HELD:
        return ()
    names = [tier.name for tier in tiers]
    retries = [tier for tier in tiers if isinstance(tier, Retry)]
    own = names.index(plan.tier) if plan.tier in names else len(tiers)
    recovering = tiers[own] if own < len(tiers) else None
    asked: list[Tier] = [*retries, *(tier for tier in tiers[:own] if not isinstance(tier, Retry))]
    if isinstance(recovering, Retry):
        asked = [*retries[: retries.index(recovering)]]
    return tuple((tier.name, reason(tier, retries, damage, moment, platform, nature, bad)) for tier in asked)


def reason(
    tier: Tier, retries: Sequence[Tier], damage: Damage, moment: Moment, platform: Platform, nature: Nature,
    bad: Mapping[str, bool],
) -> str:  # fmt: skip
    """Why this tier does not recover this damage now."""
    if bad.get(tier.name):
        return "its copy was bad"
    if not tier.survives(nature, platform):
        return f"never covers {_named(nature)}"
    tried = (*retries, tier) if tier not in retries else (tier,)
    changes = _changes(tier, damage, moment, platform)
    for count in (1, 2, 3):
        for several in combinations(changes, count):
            cases = _cases((damage, moment), [change for _, change in several])
            # Outside the update the state itself may do, which no tier then is asked for.
            good = (tier.name, HELD) if IN_UPDATE in (words for words, _ in several) else (tier.name,)
            if any(decide(tried, *case, platform).plan.tier in good for case in cases):
                return ", and ".join(words for words, _ in several)
    return f"does not bring back {_named(nature)} here"


def _named(nature: Nature) -> str:
    return NATURES.get(nature.kind, f"lost pages of {nature.region}")


def _cases(case: Case, changes: Sequence[Change]) -> Iterator[Case]:
    """The case with all these changes made, in every way that they can be."""
    if not changes:
        yield case
        return
    for changed in changes[0](case):
        yield from _cases(changed, changes[1:])


def _changes(tier: Tier, damage: Damage, moment: Moment, platform: Platform) -> list[tuple[str, Change]]:
    """What could be otherwise, of this damage and moment, each with its words; the likeliest reason first."""
    number, corrupt = tier.number, damage.corrupt_since is not None
    every = [
        (_no_version(corrupt), number not in moment.saved, lambda c: _saved(c, number)),
        ("its state is corrupt too", corrupt, _sound),
        ("no GPU memory outlives this restart", damage.all_gpu_memory, _memory_kept),
        ("it needs living processes", not damage.alive, _alive),
        (IN_UPDATE, True, lambda c: _calm(c, platform)),
        ("its parity was of an older step", moment.version != moment.lives_since, _fresh),
        ("too many of its members were lost", bool(damage.lost), lambda c: _one_member(c, platform)),
        ("GPU memory is lost", bool(damage.lost), _no_member),
        ("more pages of a stripe were lost than its parity makes up for", bool(damage.pages), _one_row),
        ("pages that it does not protect are lost", bool(damage.pages), _no_pages),
        ("the hosts with its copies are gone", bool(moment.missing.get(number) or damage.hosts), _hosts_there),
        ("too much of the job is out already", bool(moment.out), _all_in),
    ]
    return [(words, change) for words, possible, change in every if possible]


def _no_version(corrupt: bool) -> str:
    return "it holds no version from before the corruption" if corrupt else "it holds no finished version yet"


def _saved(case: Case, number: int) -> Iterator[Case]:
    damage, moment = case
    missing = {other: gone for other, gone in moment.missing.items() if other != number}
    yield damage, replace(moment, saved={**moment.saved, number: moment.version}, missing=missing)


def _sound(case: Case) -> Iterator[Case]:
    yield replace(case[0], corrupt_since=None), case[1]


def _memory_kept(case: Case) -> Iterator[Case]:
    yield replace(case[0], all_gpu_memory=False, restart="in_process"), case[1]


def _alive(case: Case) -> Iterator[Case]:
    yield replace(case[0], alive=True, all_gpu_memory=False, restart="in_place"), case[1]


def _calm(case: Case, platform: Platform) -> Iterator[Case]:
    """The same step, early, in its middle and late, but not in its update nor in a stall."""
    damage, moment = case
    rest = platform.steps.length - platform.steps.update - platform.steps.skew
    for share in (0.5, 0.05, 0.95):
        yield damage, replace(moment, within=share * rest, stall_tier=-1, stall_elapsed=0.0, ahead=frozenset())


def _fresh(case: Case) -> Iterator[Case]:
    yield case[0], replace(case[1], lives_since=case[1].version)


def _one_member(case: Case, platform: Platform) -> Iterator[Case]:
    """Of all that is lost, one GPU."""
    for unit, number in sorted(case[0].lost):
        one = frozenset({("gpu", platform.grid.members(unit, number).start)})
        yield replace(case[0], lost=one, struck=one), case[1]


def _no_member(case: Case) -> Iterator[Case]:
    yield replace(case[0], lost=frozenset()), case[1]


def _one_row(case: Case) -> Iterator[Case]:
    for hit in case[0].pages:
        yield replace(case[0], pages=(replace(hit, rows=1),)), case[1]


def _no_pages(case: Case) -> Iterator[Case]:
    """Only transient pages are lost, or those of one critical region."""
    yield replace(case[0], pages=tuple(hit for hit in case[0].pages if hit.region not in CRITICAL)), case[1]
    yield replace(case[0], pages=tuple(replace(hit, region="weights") for hit in case[0].pages)), case[1]


def _hosts_there(case: Case) -> Iterator[Case]:
    yield replace(case[0], hosts=frozenset(), disks=frozenset()), replace(case[1], missing={})


def _all_in(case: Case) -> Iterator[Case]:
    yield case[0], replace(case[1], out=())
