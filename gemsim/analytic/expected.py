"""The other simulated columns in closed form: failures, fall-backs, cost per failure, overhead. Kind: first order.

Counts are rates times exposure; what a failure costs follows from the effective time, since all time that is neither
productive nor overhead was lost to failures.
"""

from __future__ import annotations

from collections.abc import Sequence

from gemsim.protection.decide import first_covering
from gemsim.protection.reach import Branch
from gemsim.protection.tier import HELD
from gemsim.scenario import Scenario

COLUMNS = (
    "failures_analytic",
    "fallback_per_failure_analytic",
    "wasted_s_per_failure_analytic",
    "cost_s_per_failure_analytic",
    "overhead_analytic",
)


def expected(
    scenario: Scenario, found: Sequence[Branch], *, ettr: float, wall_per_running: float, standing: float
) -> dict[str, float]:
    """The columns of `COLUMNS`.

    `wall_per_running`: wall seconds per second of running; `standing`: seconds standing still per second of running
    before failures during recoveries are counted, by which the parts of a recovery are scaled to the whole.
    """
    wall = scenario.horizon if scenario.work_steps == 0 else scenario.work_steps * scenario.useful_step / ettr
    running = 1.0 / wall_per_running
    clock = {"wall": 1.0, "running": running}
    rate = sum(b.rate * clock[b.kind.exposure] for b in found)
    timeline = scenario.timeline
    pace = timeline.step + sum(s.seconds / s.every for s in timeline.stalls)
    overhead = running * (1.0 - scenario.useful_step / pace)
    numbers = {"failures_analytic": rate * wall, "overhead_analytic": overhead}
    if rate == 0.0:
        return numbers
    natures = {b.nature for b in found}
    covering = {nature: first_covering(scenario.tiers, nature, scenario.platform) for nature in natures}
    fallen = sum(b.rate * clock[b.kind.exposure] for b in found if _falls_back(b, covering[b.nature]))
    # a failure that strikes while another is being recovered ends as that one does: mostly in a roll-back, which is a
    # fall-back where a tier before the last one covers the loss
    last = len(scenario.tiers) - 1
    early = {nature for nature, tier in covering.items() if tier is not None and tier < last}
    mild = sum(b.rate for b in found if b.ending != "roll_back" and b.nature in early)
    fallen += mild * (1.0 - running)
    lost = max(0.0, 1.0 - ettr - overhead)
    longer = (wall_per_running - 1.0) / standing if standing else 1.0
    not_gemini = sum(b.rate * around(scenario, b) for b in found) * running * longer
    return {
        **numbers,
        "fallback_per_failure_analytic": fallen / rate,
        "cost_s_per_failure_analytic": lost / rate,
        "wasted_s_per_failure_analytic": max(0.0, lost - not_gemini) / rate,
    }


def _falls_back(branch: Branch, covering: int | None) -> bool:
    """Recovered by a later tier than the first whose `survives` column covers the loss; `held` is none."""
    return covering is not None and branch.tier != HELD and not 0 <= branch.number <= covering


def around(scenario: Scenario, branch: Branch, *, reset: bool = False) -> float:
    """Mean seconds of detection, waiting and restart (what GEMINI's wasted time leaves out); `reset`: a row remap is
    served beside them."""
    restart = scenario.restart
    activation = scenario.spare_activation if branch.action == "replace" else 0.0
    waiting = max(activation, restart.device_wait(branch.action), restart.reset if reset else 0.0)
    detect = 0.0 if branch.kind.scope == "silent" else branch.kind.detect.mean
    return detect + waiting + restart.seconds(branch.damage)
