"""Where the time goes in closed form: every share of a run by the failure class that took it, its tier and its column.

One idea: as in the engine, the seconds of an interruption belong to the failure that began it, and the work that is
lost is what the renewal form leaves of the work done. So the shares add up to one, whatever each of them is off by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from gemsim.analytic.groups import Solved, Told
from gemsim.analytic.remaps import Stops, stops
from gemsim.analytic.rungs import Rung, ladder
from gemsim.errors import NotCovered
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.tier import START
from gemsim.scenario import Scenario

TWO = "two that meet"  # a second failure in the recovery of a first that leaves a stripe with too few members
WAIT = "wait"  # what takes the time in which a node is lacking


@dataclass(frozen=True, slots=True)
class Part:
    """A share of the time of a run: the failure class that took it ("" for none), the tier that recovered or cost it,
    and its ledger column."""

    failure: str
    tier: str
    category: str
    share: float


@dataclass(frozen=True, slots=True)
class Lost:
    """What there is to lose in a second of running: work done in it, of that lost at roll-backs and at kept restarts,
    and the shares of overhead by tier."""

    worked: float
    rolled: float
    kept: float
    overhead: tuple[tuple[str, float], ...]

    @property
    def kept_work(self) -> float:
        """Useful work that is left."""
        return self.worked - self.rolled - self.kept


def breakdown(behind: Sequence[Solved], *, steps: int = 0) -> list[Part]:
    """Shares of the time of a run by class, tier and column, `productive` among them: they add up to one.

    `behind`: what `traced` gives, a form for each stretch of the run; `steps`: the work target, if there is one. Raises
    NotCovered where first-order losses are more than all there is. Kind: that of the twin for the whole; each part is
    first order in what strikes during a recovery.
    """
    total = dict[tuple[str, str, str], float]()
    weights = _weights(behind, steps)
    for solved, weight in zip(behind, weights, strict=True):
        for part in parts(solved):
            key = part.failure, part.tier, part.category
            total[key] = total.get(key, 0.0) + weight * part.share
    return [Part(*key, share) for key, share in total.items()]


def _weights(behind: Sequence[Solved], steps: int) -> list[float]:
    """How much of the run each stretch is; the last ends with the work."""
    if len(behind) == 1:
        return [1.0]
    left, seconds = steps * behind[0].scenario.useful_step, list[float]()
    for solved in behind:
        wall = solved.scenario.horizon
        if steps and solved.ettr > 0.0:
            wall = min(wall, max(0.0, left) / solved.ettr)
            left -= solved.ettr * wall
        seconds.append(wall)
    return [one / sum(seconds) for one in seconds]


def parts(solved: Solved) -> Iterator[Part]:
    """The shares of one stretch of constant rates."""
    if solved.groups.planned:
        raise NotCovered("planned stops: who of them takes what is not told apart")
    if solved.ettr <= 0.0:
        raise NotCovered("what is lost to first order is more than the work done: nothing to share out")
    running = (1.0 - solved.out) / solved.standing.wall_per_running
    lost, groups = spent(solved), solved.groups
    useful = lost.kept_work - groups.extra
    for tier, share in lost.overhead:
        yield Part("", tier, "overhead", share * running)
    yield from _by_failure(solved, lost, running, useful)
    kept = useful * (1.0 - groups.silent) * running
    beside = groups.extra - fsum(told.extra for told in groups.told)
    if beside > 0.0:
        yield Part(TWO, "", "wasted", beside * running)
    yield from _while_out(solved, kept)
    if solved.out:
        for name, share in _shares(solved, lambda told: told.branch.action == "replace", _repair):
            yield Part(name, WAIT, "waiting", solved.out * share)
    productive = kept * (1.0 - solved.lost.joins) * (1.0 - solved.lost.share)
    if solved.kept < 1.0:
        yield Part("", START, "wasted", productive * (1.0 - solved.kept))
    yield Part("", "", "productive", productive * solved.kept)


def spent(solved: Solved) -> Lost:
    """What becomes of a second of running. Work is done outside saves; the renewal form says what of the work is
    kept."""
    scenario, standing, main = solved.scenario, solved.standing, solved.main
    saving = solved.stalled.main
    worked = (1.0 - saving) * scenario.useful_step / solved.pace
    gone = max(0.0, worked - solved.renewal * standing.wall_per_running)
    kept = min(gone, standing.keep * scenario.useful_step / 2.0 * (1.0 - saving)) if standing.roll_back else gone
    overhead = [] if main is None else [(main.name, saving)]
    others = {tier: share for tier, share in solved.stalled.by_tier.items() if main is None or tier != main.number}
    overhead += [(scenario.tiers[tier].name, share) for tier, share in others.items()]
    slow = [(tier.name, tier.overhead().slower) for tier in scenario.tiers if tier.overhead().slower]
    overhead += [(name, slower / solved.pace * (1.0 - saving)) for name, slower in slow]
    return Lost(worked, gone - kept, kept, tuple(overhead))


def _by_failure(solved: Solved, lost: Lost, running: float, useful: float) -> Iterator[Part]:
    """What each branch takes: standing still, and work that is done again."""
    scenario, standing = solved.scenario, solved.standing
    groups = solved.groups
    rungs = {rung.seconds: rung for rung in ladder(**groups.kinds(wall=True), running=groups.kinds(wall=False))}
    each_roll = lost.rolled / standing.roll_back if standing.roll_back else 0.0
    each_keep = lost.kept / standing.keep if standing.keep else 0.0
    own = stops(scenario, solved.found)
    for told in solved.groups.told:
        if told.rate == 0.0:
            continue
        rung = rungs.get(told.down)
        rolls, keeps = _ends(told, rung)
        parts = course(scenario, told, own)
        for tier, stands, wasted in _by_tier(solved, told, rung, rolls=rolls * each_roll):
            beside = (
                keeps * each_keep * told.rate + told.extra + useful * told.silent if tier == told.branch.tier else 0.0
            )
            yield Part(told.branch.kind.name, tier, "wasted", (told.rate * wasted + beside) * running)
            scale = told.rate * running * (stands / told.down if told.down else 1.0)
            for category, seconds in parts.items():
                if seconds > 0.0:
                    yield Part(told.branch.kind.name, tier, category, seconds * scale)


def _by_tier(solved: Solved, told: Told, rung: Rung | None, *, rolls: float) -> Iterator[tuple[str, float, float]]:
    """(tier, seconds standing still, work lost at roll-backs) of a failure of this branch: where a roll-back strikes a
    milder one, the tier that saves recovers both. Those that are not struck stand still as long as they begin."""
    tier, main = told.branch.tier, solved.main
    if rung is None or told.ending == "restarting" or main is None or main.name == tier:
        yield tier, told.down if rung is None else rung.standing, rolls
        return
    alone = (1.0 - rung.rolled) * told.down
    yield tier, alone, 0.0
    yield main.name, max(0.0, rung.standing - alone), rolls


def _ends(told: Told, rung: Rung | None) -> tuple[float, float]:
    """P(an interruption that begins so ends as a roll-back), and as a kept restart."""
    if told.ending == "restarting":
        return 1.0, 0.0
    if told.ending == "keeping":
        return (0.0, 1.0) if rung is None else (rung.rolled, rung.saved)
    return (0.0, 0.0) if rung is None else (rung.rolled, rung.kept)


def course(scenario: Scenario, told: Told, own: Stops) -> dict[str, float]:
    """The seconds standing still by ledger column, as the engine books them."""
    branch, restart = told.branch, scenario.restart
    detection = told.detect
    if branch.ending == "go_on":
        tier = scenario.tiers[branch.number]
        assert isinstance(tier, ReplicaGroup)
        return {"detection": detection, "restart": tier.stall, "recovery": branch.recovery}
    started = restart.seconds(branch.damage)
    recovery = branch.recovery + (restart.pause if branch.damage.restart == "in_place" else 0.0)
    recovery += 0.0 if branch.ending == "in_place" else scenario.encode_anew
    after = own.after(branch)
    if after > 0.0 and own.own is not None:  # a stop of its own follows
        started += own.own.restart
        recovery += after - own.own.waiting - own.own.restart
    waiting = max(0.0, told.down - detection - started - recovery)
    return {"detection": detection, "waiting": waiting, "restart": started, "recovery": recovery}


def _while_out(solved: Solved, kept: float) -> Iterator[Part]:
    """What running on with less takes: work that is missing, and the others' stalls for what comes back."""
    lost = solved.lost
    if lost.tier is None:
        return
    for name, share in _shares(solved, lambda told: told.branch.ending == "go_on", lambda told: 1.0):
        yield Part(name, lost.tier.name, "recovery", kept * lost.joins * share)
        yield Part(name, lost.tier.name, "degraded", kept * (1.0 - lost.joins) * lost.share * share)


def _repair(told: Told) -> float:
    return told.branch.kind.repair.mean


def _shares(solved: Solved, which: Callable[[Told], bool], weight: Callable[[Told], float]) -> list[tuple[str, float]]:
    """The classes of these branches with their shares by rate times weight."""
    by_class = dict[str, float]()
    for told in solved.groups.told:
        if which(told):
            name = told.branch.kind.name
            by_class[name] = by_class.get(name, 0.0) + told.rate * (weight(told) or 1.0)
    total = sum(by_class.values())
    return [(name, value / total) for name, value in by_class.items() if total]
