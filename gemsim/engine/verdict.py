"""What a failure means for its node: it goes for good after too many, and a health check may have found it before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isinf

from gemsim.engine.fleet import Fleet
from gemsim.engine.strike import Strike, Striker
from gemsim.engine.tally import Tally
from gemsim.failures.classes import FALSE_ALARM
from gemsim.failures.trace import Event
from gemsim.scenario import Scenario
from gemsim.scenario.fleet import RetirePlan


@dataclass(slots=True)
class Record:
    """The failures of one node."""

    times: list[float]
    score: float = 0.0
    last: float = 0.0


class Retirement:
    """What each node has failed so far."""

    def __init__(self) -> None:
        self.records: dict[int, Record] = {}

    def due(self, rule: RetirePlan, node: int, now: float) -> bool:
        """Count a failure of a node at wall time `now`; True when by this rule it is to go for good."""
        record = self.records.setdefault(node, Record([]))
        if isinf(rule.half_life):
            record.times = [when for when in record.times if now - when <= rule.window] + [now]
            return len(record.times) >= rule.failures
        record.score = record.score * 0.5 ** ((now - record.last) / rule.half_life) + 1.0
        record.last = now
        return record.score >= rule.failures


class Verdicts:
    """Turns failures that are known into strikes."""

    def __init__(self, scenario: Scenario, striker: Striker, fleet: Fleet, tally: Tally) -> None:
        self.scenario, self.striker, self.fleet, self.tally = scenario, striker, fleet, tally
        self.retire, self.checks = scenario.fleet.retire, scenario.fleet.checks
        self.retirement = Retirement()
        self.needed = self.retire is not None or self.checks is not None or fleet.neighbours is not None

    def strike(self, event: Event, gpu: int, now: float, *, region: str = "", worn: bool = False) -> Strike:
        """The strike of a failure, once it is known whether its node is retired for it, and whether a health check had
        found it before: then the job can save first."""
        if not self.needed:
            return self.striker.strike(event, now, gpu, region=region, worn=worn)
        kind = self.scenario.classes[event.index]
        hardware = kind.clock != "job" and kind.scope != "process"
        retired = hardware and self._retired(gpu // self.fleet.per_host, now)
        strike = self.striker.strike(event, now, gpu, region=region, retired=retired, worn=worn)
        if self.fleet.neighbours is not None:
            strike = self.fleet.neighbours.placed(strike)
            also = tuple(place for place in self.fleet.neighbours.others(strike) if self._retired(place, now))
            strike = replace(strike, retired=strike.retired + also) if also else strike
        if not hardware or not strike.slots or not self.found_early(event):
            return strike
        self.tally.found_early += kind.name != FALSE_ALARM  # that node was healthy
        return replace(strike, detect=0.0, notice=inf)

    def found_early(self, event: Event) -> bool:
        """Whether a health check finds this failure before it strikes."""
        return self.checks is not None and self.striker.trace.mark(event, "check") < self.checks.finds

    def _retired(self, place: int, now: float) -> bool:
        """Count a failure of the node in this place; True when it is to go for good."""
        if self.retire is None or place in self.fleet.vacant:
            return False
        return self.retirement.due(self.retire, self.fleet.node_in(place), now)
