"""Running on with less: which groups or nodes are out until when, and the work that is missing since.

Ends of outages are known when they begin, so no event marks them: what passed is cut into pieces of equal capacity
when it is booked. Missing work is kept by its place in the lineage of the state, so that a roll-back over it gives up
exactly what was booked productive.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf

from gemsim.engine.listener import Listener
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.scenario import Scenario

ROUNDING = 1e-6  # steps


@dataclass(slots=True)
class Outage:
    """One unit is out. `until`: wall time from which it contributes (inf: never); `ready`: when it could."""

    until: float
    ready: float
    cause: str  # failure class that began it


class Capacity:
    """What is out of the one tier `replica_group` of a scenario, or of a job that shrinks; else nothing ever is."""

    def __init__(self, scenario: Scenario) -> None:
        self.tier = next((t for t in scenario.tiers if isinstance(t, ReplicaGroup)), scenario.shrunk)
        self.grid = scenario.platform.grid
        self.useful_step = scenario.useful_step
        self.out: dict[int, Outage] = {}
        self.owed: list[str] = []  # causes of the outages that ended and whose catch-up stall is still to come
        self.missing: list[tuple[float, float, float]] = []  # (from, to, share lost), places in the lineage in steps
        self.behind = 0.0  # their sum, steps
        self.listener: Listener | None = None

    def holds(self, struck: frozenset[tuple[str, int]], corrupt: bool) -> bool:
        """Whether all that a failure strikes is out already, so that it stops nobody."""
        if not self.out or corrupt or self.tier is None:
            return False
        units = self.tier.units_of(struck, self.grid)
        return bool(units) and units <= self.out.keys()

    def spares(self, lacking: frozenset[tuple[str, int]]) -> bool:
        """Whether the job can run without the units that lack this."""
        return self.tier is not None and len(self.tier.units_of(lacking, self.grid)) <= self.tier.most_out(self.grid)

    def blocks(self) -> tuple[range, ...]:
        """The blocks of GPUs that are out."""
        if self.tier is None:
            return ()
        return tuple(self.tier.members(unit, self.grid) for unit in sorted(self.out))

    def take_out(self, struck: frozenset[tuple[str, int]], ready: float, cause: str) -> None:
        """All that was struck is out until `ready`; what is out already stays so for the longer of both."""
        assert self.tier is not None
        for unit in self.tier.units_of(struck, self.grid):
            outage = self.out.setdefault(unit, Outage(0.0, 0.0, cause))
            outage.ready = max(outage.ready, ready)
            outage.until = outage.ready if self.tier.comes_back else inf
            if self.listener is not None:
                self.listener.out(unit, outage.until, outage.cause)

    def settle(self, now: float) -> None:
        """Take back what contributes again by now; the others owe it a stall if the tier has one."""
        if not self.out:
            return
        for unit in [unit for unit, outage in self.out.items() if outage.until <= now]:
            back = self.out.pop(unit)
            if self.tier is not None and self.tier.catch_up_stall > 0.0:
                self.owed.append(back.cause)

    def next_stall(self, now: float) -> float:
        """Wall time at which the others next have to stand still for one that comes back; inf without such stalls."""
        if self.owed:
            return now
        if not self.out or self.tier is None or self.tier.catch_up_stall == 0.0:
            return inf
        return min(outage.until for outage in self.out.values())

    def pieces(self, begin: float, end: float) -> list[tuple[float, float, list[str]]]:
        """(seconds, share of capacity lost, causes) of the stretches of equal capacity from `begin` to `end`."""
        assert self.tier is not None
        cuts = sorted({begin, end, *(o.until for o in self.out.values() if begin < o.until < end)})
        found = []
        for start, stop in pairwise(cuts):
            causes = [o.cause for o in self.out.values() if o.until > start]
            found.append((stop - start, self.tier.lost_share(len(causes), self.grid), causes))
        return found

    def note(self, begin: float, end: float, lost: float) -> None:
        """From place `begin` to `end` of the lineage the share `lost` of each step's work is missing."""
        if end > begin:
            self.missing.append((begin, end, lost))
            self.behind += (end - begin) * lost

    def missing_between(self, begin: float, end: float) -> float:
        """Useful seconds missing in the lineage between two places, in steps."""
        total = 0.0
        for start, stop, lost in reversed(self.missing):
            if stop <= begin:
                break
            total += max(0.0, min(stop, end) - max(start, begin)) * lost
        return total * self.useful_step

    def go_back(self, place: float) -> None:
        """The lineage ends at `place`: what lay beyond is to be worked anew."""
        while self.missing and self.missing[-1][1] > place:
            start, end, lost = self.missing.pop()
            self.behind -= (end - start) * lost
            self.note(start, place, lost)

    def restart(self, version: int, now: float) -> None:
        """The whole job starts again at `version`: nobody has to catch up, and what had given up is let in again."""
        self.go_back(version)
        self.owed.clear()
        for unit in list(self.out):
            self.out[unit].until = self.out[unit].ready
            if self.out[unit].ready <= now:
                del self.out[unit]

    @property
    def steps_behind(self) -> int:
        """Whole steps that the missing work takes at full capacity."""
        return ceil(self.behind - ROUNDING)
