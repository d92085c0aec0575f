"""What pairs of failures cost that fall deeper than either alone, and what is fetched again while copies are short."""

from __future__ import annotations

from collections.abc import Sequence

from gemsim.analytic.expected import standing_still
from gemsim.analytic.groups import Groups
from gemsim.analytic.saves import not_durable
from gemsim.protection.arrays import at_least, at_most, everywhere
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.pairs import Fall
from gemsim.protection.reach import Branch
from gemsim.protection.saving import lost_work
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.scenario import Scenario

UNSURE = 0.5  # of the rate of pairs: three that meet, and whom the second strikes, are left out


def add_pairs(
    scenario: Scenario, groups: Groups, pairs: Sequence[Fall], main: Checkpoint | None, ending: float
) -> None:
    """Falls to the main tier are roll-backs in place of restarts that keep the state; those to the start of the job are
    counted apart; all others lose the work since the older version. First order. `ending`: restarts per second, which
    begin all saves anew."""
    for pair in pairs:
        groups.falls = groups.falls + pair.rate * pair.failures
        if pair.number < 0:
            groups.start = groups.start + pair.rate
            groups.unsure_start = groups.unsure_start + UNSURE * pair.rate
        elif main is not None and pair.number == main.number and groups.keeping:
            groups.fall(pair.rate)
            groups.doubt = groups.doubt + at_most(1.0, UNSURE * pair.rate * _from(scenario, pair, ending))
        else:
            lost = pair.rate * _from(scenario, pair, ending)
            groups.extra = groups.extra + lost
            groups.doubt = groups.doubt + UNSURE * lost


def one_short(scenario: Scenario, found: Sequence[Branch], seconds: float) -> float:
    """Share of time, to second order: after the loss of a host the newest version lacks its part until the next save is
    complete, and each roll-back until then fetches again. `seconds`: mean time that a recovery takes."""
    return sum(
        _of_tier(scenario, found, tier, seconds)
        for tier in scenario.tiers
        if isinstance(tier, Checkpoint) and tier.target != "remote"
    )


def _of_tier(scenario: Scenario, found: Sequence[Branch], tier: Checkpoint, seconds: float) -> float:
    """Rate of lost hosts x time until the next save is complete x rate and cost of what strikes in it."""
    reaching = [b for b in found if b.number == tier.number and b.ending == "roll_back"]
    hosts = sum(b.rate for b in reaching if (b.damage.disks if tier.target == "disk" else b.damage.hosts))
    window = seconds + tier.every * scenario.timeline.step + tier.blocked + tier.lag
    return hosts * window * sum(b.rate for b in reaching) * max(0.0, tier.fetch - tier.read)


def _from(scenario: Scenario, pair: Fall, ending: float) -> float:
    """Mean seconds of work lost, and of reading, by falling to a tier. Restarts that do not fall so far put off its
    saves, and take the work that none holds on."""
    tier = scenario.tiers[pair.number]
    if not isinstance(tier, Checkpoint) or everywhere(tier.every >= NEVER):
        return 0.0
    if tier.wall_anchor:
        return tier.every * scenario.useful_step / 2.0 + tier.lag + tier.read
    tau = tier.every * scenario.timeline.pace - tier.blocked
    kept = at_least(0.0, ending - pair.rate)
    lost = lost_work(tau, tier.blocked, roll_back=at_most(ending, pair.rate), keep=kept, lag=tier.lag)
    return lost * scenario.useful_step / scenario.timeline.pace + tier.read


def still(scenario: Scenario, branch: Branch) -> float:
    """Seconds that a recovery takes."""
    return standing_still(scenario, branch, reset=False)


def older(scenario: Scenario, number: int, ending: float) -> float:
    """Mean useful seconds between the last whole step and the version that a shallower tier restores; `ending`:
    restarts per second, which begin its saves anew."""
    tier = scenario.tiers[number]
    if isinstance(tier, (PageStripe, MemberStripe)):
        return (tier.cadence.every - 1) / 2 * scenario.useful_step + tier.cadence.lag
    if isinstance(tier, Checkpoint) and not tier.wall_anchor:
        pace = scenario.timeline.pace
        lost = not_durable(tier.every * pace - tier.blocked, tier.blocked, ending=ending, lag=tier.lag)
        return at_least(0.0, lost / pace - 0.5) * scenario.useful_step
    if isinstance(tier, Checkpoint):
        return (tier.every - 1) / 2 * scenario.useful_step + tier.lag
    return 0.0
