"""The other simulated columns in closed form: failures, fall-backs, cost per failure, overhead. Kind: first order.

Counts are rates times exposure; what a failure costs follows from the effective time, since all time that is neither
productive nor overhead was lost to failures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gemsim.analytic.remaps import stops as of_remaps
from gemsim.protection.arrays import anywhere, at_least, either
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
    standing: float,
    degraded: float = 0.0,
    stops: Callable[[Branch], float] = lambda branch: 1.0,
) -> dict[str, float]:
    """The columns of `COLUMNS`.

    `wall_per_running`: wall seconds per second of running; `standing`: seconds standing still per second of running
    before failures during recoveries are counted, by which the parts of a recovery are scaled to the whole.
    `degraded`: share of time in which work is missing because capacity is out; `stops`: share of a branch's failures
    that stop the job.
    """
    wall = scenario.horizon if scenario.work_steps == 0 else scenario.work_steps * scenario.useful_step / ettr
    running = 1.0 / wall_per_running
    rate = _on_both_clocks(found, running)
    timeline = scenario.timeline
    pace = timeline.step + sum(s.seconds / s.every for s in timeline.stalls)
    overhead = running * (1.0 - scenario.useful_step / pace)
    numbers = {"failures_analytic": rate * wall, "overhead_analytic": overhead}
    if not anywhere(rate > 0.0):
        return numbers
    natures = {b.nature for b in found}
    covering = {nature: first_covering(scenario.tiers, nature, scenario.platform) for nature in natures}
    fallen = _on_both_clocks([b for b in found if _falls_back(b, covering[b.nature])], running)
    own = of_remaps(scenario, found)
    waits = [around(scenario, b, reset=own.at_once(b)) + own.apart(b) for b in found]
    fallen += (1.0 - running) * _joining(found, waits, covering)
    lost = at_least(0.0, 1.0 - ettr - overhead)
    longer = either(standing > 0.0, lambda: (wall_per_running - 1.0) / standing, lambda: 1.0)
    not_gemini = sum(b.rate * stops(b) * wait for b, wait in zip(found, waits, strict=True)) * running * longer
    return {
        **numbers,
        "fallback_per_failure_analytic": fallen / rate,
        "cost_s_per_failure_analytic": lost / rate,
        "wasted_s_per_failure_analytic": at_least(0.0, lost - not_gemini - degraded) / rate,
    }


def _on_both_clocks(found: Sequence[Branch], running: float) -> float:
    """Failures per wall second, where the job runs for this share of it."""
    wall = sum(b.rate for b in found if b.kind.exposure == "wall")
    return wall + running * sum(b.rate for b in found if b.kind.exposure != "wall")


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
    mild = ((b.rate, covering[b.nature]) for b in found if b.ending != "roll_back")
    return sum(rate * later[first] for rate, first in mild if first is not None)


def _falls_back(branch: Branch, covering: int | None) -> bool:
    """Recovered by a later tier than the first whose `survives` column covers the loss; `held` is none."""
    return covering is not None and branch.tier != HELD and not 0 <= branch.number <= covering


def outcomes(scenario: Scenario) -> tuple[Branch, ...]:
    """All outcomes of the failures of a scenario, with their rates."""
    of = scenario
    return branches(Job(of.platform, of.timeline, of.tiers, of.classes, of.restart.mode, of.replace_unit))


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
