"""The other simulated columns in closed form: failures, fall-backs, cost per failure, overhead. Kind: first order.

Counts are rates times exposure; what a failure costs follows from the effective time, since all time that is neither
productive nor overhead was lost to failures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gemsim.analytic.remaps import stops as of_remaps
from gemsim.protection.arrays import anywhere, at_least, either, expm1, is_array
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Nature
from gemsim.protection.decide import first_covering
from gemsim.protection.kinds import Job
from gemsim.protection.reach import Branch, branches
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.tier import HELD, START
from gemsim.scenario import Scenario

COLUMNS = (
    "failures_analytic",
    "fallback_per_failure_analytic",
    "wasted_s_per_failure_analytic",
    "cost_s_per_failure_analytic",
    "overhead_analytic",
)


def expected(
    scenario: Scenario,
    found: Sequence[Branch],
    *,
    ettr: float,
    wall_per_running: float,
    stalled: float,
    degraded: float = 0.0,
    waiting: float = 0.0,
    unread: float = 0.0,
    met: float = 0.0,
    planned: float = 0.0,
    saver: int = 0,
    stops: Callable[[Branch], float] = lambda branch: 1.0,
    units: Callable[[Branch], float] = lambda branch: 1.0,
) -> dict[str, float]:
    """The columns of `COLUMNS`.

    `wall_per_running`: wall seconds per second of running; `stalled`: share of running time in encodes and saves.
    Shares of time: `degraded`: in which work is missing because capacity is out, `waiting`: in which a node is,
    `planned`: of planned stops, after which tier `saver` brings the job back. Per second: `unread`: failures beside
    `found` that nobody ever notices; `met`: of running, failures that fall back because another meets them. Of each
    branch `stops`: share of its failures that stop the job; `units`: how many count at each.
    """
    wall = (
        scenario.horizon
        if scenario.work_steps == 0
        else scenario.work_steps * scenario.useful_step / at_least(1e-9, ettr)
    )
    running = 1.0 / wall_per_running
    clock = {"wall": 1.0, "running": running}
    rate = unread + sum(b.rate * clock[b.kind.exposure] for b in found)
    overhead = running * (1.0 - (1.0 - stalled) * scenario.useful_share)
    numbers = {"failures_analytic": rate * wall, "overhead_analytic": overhead}
    if not anywhere(rate > 0.0):
        return numbers
    natures = {b.nature for b in found}
    covering = {nature: first_covering(scenario.tiers, nature, scenario.platform) for nature in natures}
    counted = [_times(b, clock[b.kind.exposure] * units(b)) for b in found]
    own = of_remaps(scenario, found)
    served = serving(scenario, found)
    waits = [_around(scenario, b, own.at_once(b), reset_share(scenario, b, served)) + own.apart(b) for b in found]
    fallen = running * met + sum(b.rate for b in counted if _falls_back(b, covering[b.nature]))
    fallen = fallen + (1.0 - running) * _joining(counted, waits, covering) + running * _joined(counted, waits, covering)
    spared = (b for b in counted if not _falls_back(b, covering[b.nature]))
    fallen = fallen + planned * sum(b.rate for b in spared if (covering[b.nature] or 0) < saver)
    lost = at_least(0.0, 1.0 - ettr - overhead - planned)
    again = sum(b.rate for b in found if b.kind.exposure == "wall")
    retrieved = sum(b.rate * stops(b) * _retrieval(scenario, b, own.after(b) - own.apart(b), again) for b in found)
    not_gemini = at_least(0.0, 1.0 - running * (1.0 + retrieved) - planned)
    return {
        **numbers,
        "fallback_per_failure_analytic": fallen / (unread + sum(b.rate for b in counted)),
        "cost_s_per_failure_analytic": lost / rate,
        "wasted_s_per_failure_analytic": at_least(0.0, lost - not_gemini - degraded) / rate,
    }


def _times(branch: Branch, factor: float) -> Branch:
    """The branch at so many times its rate."""
    return replace(branch, rate=branch.rate * factor) if is_array(factor) or factor != 1.0 else branch


def _retrieval(scenario: Scenario, branch: Branch, saved: float, again: float) -> float:
    """Mean seconds in which an interruption retrieves state, the last part of its recovery, which failures begin anew,
    `again` so often per second.

    Every interruption completes it once; `saved`: what a stop of its own for a row remap adds to it.
    """
    once = standing_still(scenario, branch, reset=False) - around(scenario, branch, reset=False) + saved
    return either(again * once > 1e-6, lambda: expm1(again * once) / again, lambda: once)


def _joined(found: Sequence[Branch], waits: Sequence[float], covering: Mapping[Nature, int | None]) -> float:
    """Rate of failures that would be no fall-back, but become one as a graver one strikes in their recovery."""
    wall = [b for b in found if b.kind.exposure == "wall"]
    total, worse = 0.0, dict[int, float]()
    for branch, wait in zip(found, waits, strict=True):
        first = covering[branch.nature]
        if first is None or _falls_back(branch, first):
            continue
        if first not in worse:
            worse[first] = sum(b.rate for b in wall if b.number > first or b.tier == START)
        total = total + branch.rate * -expm1(-worse[first] * (wait + branch.recovery))
    return total


def _joining(found: Sequence[Branch], waits: Sequence[float], covering: Mapping[Nature, int | None]) -> float:
    """Rate of milder failures times the share of the time standing still in which they end as a fall-back.

    A failure that strikes while another is being recovered ends as that one does.
    """
    by_tier: dict[tuple[int, bool], float] = {}
    for branch, wait in zip(found, waits, strict=True):
        place = (branch.number, branch.tier == START)
        by_tier[place] = by_tier.get(place, 0.0) + branch.rate * (wait + branch.recovery)
    total = sum(by_tier.values())
    if not anywhere(total > 0.0):
        return 0.0
    later: dict[int, float] = {}
    for first in {tier for tier in covering.values() if tier is not None}:
        later[first] = sum(time for (number, lost), time in by_tier.items() if number > first or lost) / total
    mild = ((b.rate, covering[b.nature]) for b in found if not _falls_back(b, covering[b.nature]))
    return sum(rate * later[first] for rate, first in mild if first is not None)


def _falls_back(branch: Branch, covering: int | None) -> bool:
    """Recovered by a later tier than the first whose `survives` column covers the loss; `held` is none."""
    return covering is not None and branch.tier != HELD and not 0 <= branch.number <= covering


def outcomes(scenario: Scenario) -> tuple[Branch, ...]:
    """All outcomes of the failures of a scenario, with their rates."""
    of = scenario
    return branches(Job(of.platform, of.timeline, of.tiers, of.classes, of.restart.mode, of.replace_unit))


def refills_memory(scenario: Scenario, branch: Branch) -> bool:
    """Processes start anew from a state outside GPU memory: pending row remaps are served then."""
    stored = branch.number < 0 or isinstance(scenario.tiers[branch.number], Checkpoint)
    return branch.ending == "roll_back" and not branch.damage.alive and stored


def serving(scenario: Scenario, found: Sequence[Branch]) -> float:
    """Share of the roll-backs that find a row remap pending, first order."""
    if scenario.remap_now:
        return 0.0
    pending = sum(b.rate for b in found if b.action == "drain_and_reset" and b.ending == "in_place")
    rolled = sum(b.rate for b in found if refills_memory(scenario, b))
    return either(rolled > 0.0, lambda: pending / (pending + rolled), lambda: 0.0)


def reset_share(scenario: Scenario, branch: Branch, served: float) -> float:
    """Share of the recoveries of a branch that serve a row remap; `served`: as `serving` says."""
    if not refills_memory(scenario, branch):
        return 0.0
    return 1.0 if branch.action == "drain_and_reset" else served


def _around(scenario: Scenario, branch: Branch, at_once: bool, resets: float) -> float:
    """`around`, in the mean over those that serve a row remap and those that do not."""
    plain = around(scenario, branch, reset=at_once)
    if at_once or not anywhere(resets > 0.0):
        return plain
    return plain + resets * (around(scenario, branch, reset=True) - plain)


def standing_still(scenario: Scenario, branch: Branch, *, reset: bool) -> float:
    """Mean seconds the job stands still: detection, replacement, restart, recovery."""
    if branch.ending == "go_on":
        return around(scenario, branch, reset=reset) + branch.recovery
    pause = scenario.restart.pause if branch.damage.restart == "in_place" else 0.0
    encode = 0.0 if branch.ending == "in_place" else scenario.encode_anew
    return around(scenario, branch, reset=reset) + pause + branch.recovery + encode


def around(scenario: Scenario, branch: Branch, *, reset: bool = False) -> float:
    """Mean seconds of detection, waiting and restart (what GEMINI's wasted time leaves out); `reset`: a row remap is
    served beside them. Those that go on without a group stand still for detection and the stall."""
    restart = scenario.restart
    if branch.ending == "go_on":
        tier = scenario.tiers[branch.number]
        assert isinstance(tier, ReplicaGroup)
        return branch.kind.detect.mean + tier.stall
    activation = scenario.spare_activation if branch.action == "replace" else 0.0
    waiting = max(activation, restart.device_wait(branch.action), restart.reset if reset else 0.0)
    detect = 0.0 if branch.kind.scope == "silent" else branch.kind.detect.mean
    return detect + waiting + restart.seconds(branch.damage)
