"""Counts of one replication besides the ledger: failures, who recovered them, what they cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gemsim.engine.strike import Strike
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Nature
from gemsim.protection.decide import first_covering
from gemsim.protection.tier import HELD, START, Plan
from gemsim.protection.undo_log import UndoLog
from gemsim.scenario import Scenario

REMAP, SLOW, WAIT = "remap", "slow", "wait"  # what takes seconds where no tier recovers: a stop, a pace, lacking nodes


@dataclass(slots=True)
class Tally:
    """`touch_*`: failures, and their cost, that the `survives` column of a tier in GPU memory covers (the ceiling)."""

    failures: int = 0
    failures_idle: int = 0
    fallbacks: int = 0
    rollbacks: int = 0  # failures recovered to an older version
    unrecoverable: int = 0
    interruptions: int = 0  # stops of the job by failures; those that join a recovery are not counted again
    planned_stops: int = 0
    found_early: int = 0  # failures that a health check found before they struck
    retired: int = 0  # nodes given up for good
    stopped_lost: float = 0.0  # seconds of restart and the like that stops on purpose took
    stopped_wasted: float = 0.0  # what of that is progress lost and its retrieval
    touch_failures: int = 0
    touch_lost: float = 0.0
    by_class: dict[str, list[float]] = field(default_factory=dict)  # class -> [count, seconds lost]
    by_tier: Counter[str] = field(default_factory=Counter)
    lost_by: dict[tuple[str, str], float] = field(default_factory=dict)  # (class, what recovered it) -> seconds lost
    _known: dict[tuple[str, str, str], tuple[bool, bool]] = field(default_factory=dict)  # what `_column` said

    def close(self, scenario: Scenario, strikes: list[Strike], plan: Plan, cost: float) -> None:
        """One recovery is over by `plan`: its cost goes to the failure that began it."""
        struck = [s for s in strikes if scenario.classes[s.event.index].scope != "planned"]
        if not struck:
            self._stopped(scenario, strikes[0], plan, cost)
            return
        strikes = struck
        self.interruptions += 1
        self.unrecoverable += plan.tier == START
        self.rollbacks += len(strikes) if plan.version is not None else 0
        for number, strike in enumerate(strikes):
            name = scenario.classes[strike.event.index].name
            touched = self._count(scenario, name, strike.nature, plan.tier)
            self.touch_failures += touched
            if number == 0:
                self.touch_lost += cost if touched else 0.0
                self.by_class[name][1] += cost
                self._lose(name, plan.tier, cost)

    def close_one(self, scenario: Scenario, name: str, nature: Nature, tier: str, cost: float) -> None:
        """`close` of one unplanned failure, of class `name`, that this tier has recovered to an older version."""
        self.interruptions += 1
        self.unrecoverable += tier == START
        self.rollbacks += 1
        touched = self._count(scenario, name, nature, tier)
        self.by_class[name][1] += cost
        self._lose(name, tier, cost)
        if touched:
            self.touch_failures += 1
            self.touch_lost += cost

    def _stopped(self, scenario: Scenario, strike: Strike, plan: Plan, cost: float) -> None:
        """A stop on purpose, which is no failure: its cost is told by class, and taken off that of the failures."""
        name = scenario.classes[strike.event.index].name
        known = self.by_class.setdefault(name, [0, 0.0])
        known[0] += 1
        known[1] += cost
        self._lose(name, plan.tier, cost)
        self.by_tier[plan.tier] += 1
        self.stopped_lost += cost

    def remapped(self, scenario: Scenario, served: list[Strike], cost: float) -> None:
        """A stop for row remaps is over: its cost is that of the memory errors that left them, and no new failure."""
        touched = any(self._column(scenario, strike.nature, HELD)[1] for strike in served)
        self.charge([scenario.classes[s.event.index].name for s in served], cost, by=REMAP, touched=touched)

    def charge(self, causes: list[str], seconds: float, *, by: str, touched: bool = True) -> None:
        """Seconds lost before or after a recovery, by capacity that is out or comes back (`touched`: of units of a
        tier), or by the pace of a slow node: in equal parts to what began it. `by`: the tier, or what takes them."""
        for cause in causes:
            self.by_class.setdefault(cause, [0, 0.0])[1] += seconds / len(causes)
            self._lose(cause, by, seconds / len(causes))
        self.touch_lost += seconds if touched else 0.0

    def _lose(self, name: str, tier: str, seconds: float) -> None:
        key = name, tier
        self.lost_by[key] = self.lost_by[key] + seconds if key in self.lost_by else seconds

    def lost_by_class(self) -> dict[str, dict[str, float]]:
        """Seconds lost by class, and in it by the tier that recovered; they add up to those of `by_class`."""
        found: dict[str, dict[str, float]] = {}
        for (name, tier), seconds in self.lost_by.items():
            found.setdefault(name, {})[tier] = seconds
        return found

    def count_out(self, scenario: Scenario, strike: Strike, tier: str) -> None:
        """A failure of what was out already: it stops nobody, so it is no fall-back either."""
        self.by_class.setdefault(scenario.classes[strike.event.index].name, [0, 0.0])[0] += 1
        self.by_tier[tier] += 1
        self.touch_failures += 1

    def _count(self, scenario: Scenario, name: str, nature: Nature, recovered_by: str) -> bool:
        """Tally one failure; True when the column of a tier in GPU memory covers it.

        A fall-back is a recovery by a later tier than the first whose column covers the loss; `held` is none.
        """
        if name not in self.by_class:
            self.by_class[name] = [0, 0.0]
        self.by_class[name][0] += 1
        self.by_tier[recovered_by] += 1
        key = nature.kind, nature.region, recovered_by
        fell_back, touched = self._known[key] if key in self._known else self._column(scenario, nature, recovered_by)
        self.fallbacks += fell_back
        return touched

    def _column(self, scenario: Scenario, nature: Nature, recovered_by: str) -> tuple[bool, bool]:
        """Whether a recovery of this loss is a fall-back, and whether the column of a tier in GPU memory covers it."""
        covering = first_covering(scenario.tiers, nature, scenario.platform)
        fell_back = recovered_by == START and covering is not None
        if recovered_by not in (START, HELD) and covering is not None:
            fell_back = [tier.name for tier in scenario.tiers].index(recovered_by) > covering
        in_memory = (tier for tier in scenario.tiers if not isinstance(tier, Checkpoint | UndoLog))
        touched = any(tier.survives(nature, scenario.platform) for tier in in_memory)
        self._known[nature.kind, nature.region, recovered_by] = fell_back, touched
        return fell_back, touched
