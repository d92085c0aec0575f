"""The rule that takes a node out for good after too many failures of its own."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf

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
