"""One injector for all failures: what strikes next, on whichever clock, and the consequence of each strike.

Wall classes fire on the wall clock, job software on the clock of running time; a silent corruption strikes unseen and
comes back as an event of its own when it is detected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import inf

from gemsim.failures.trace import Event, Trace
from gemsim.protection.damage import Damage, Grid, Nature, PageHit, consequence, nature_of
from gemsim.protection.replica_group import ReplicaGroup, struck_by
from gemsim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Strike:
    """One failure that stops the job: its event, what it destroyed, and what it does to this job."""

    event: Event
    nature: Nature
    damage: Damage
    detect: float  # seconds
    repair: float  # seconds until a replaced node is back
    nodes: int  # nodes to replace
    wait: float  # seconds for a reset or reboot
    remap: bool  # a row remap stays pending
    wall: float


class Injector:
    """Merges the trace's clocks. `peek` gives the next wall time; `pop` what happens then."""

    def __init__(self, scenario: Scenario, trace: Trace) -> None:
        self.scenario = scenario
        self.trace = trace
        self.next_wall = 0
        self.next_running = 0
        self.detections: list[tuple[float, int, float, Event]] = []  # (when, order, corrupt since, event)
        self.corrupted = 0
        self.located = any(isinstance(tier, ReplicaGroup) for tier in scenario.tiers)

    def peek(self, now: float, running: float, advancing: bool) -> float:
        """Wall time of the next event, while the job runs (`advancing`) or stands still."""
        when = self.trace.wall[self.next_wall].time if self.next_wall < len(self.trace.wall) else inf
        if advancing and self.next_running < len(self.trace.running):
            when = min(when, now + max(0.0, self.trace.running[self.next_running].time - running))
        if self.detections:
            when = min(when, max(now, self.detections[0][0]))
        return when

    def pop(self, now: float, running: float, advancing: bool) -> tuple[Event, float | None]:
        """The event due at `now` and, for a detection, since when the state has been corrupt."""
        wall = self.trace.wall[self.next_wall].time if self.next_wall < len(self.trace.wall) else inf
        due = self.trace.running[self.next_running].time - running if self._running_left(advancing) else inf
        # Not `<= now`: the clock may have stopped one rounding short of the time that `peek` gave.
        if self.detections and self.detections[0][0] <= min(wall, now + due):
            _, _, since, event = heappop(self.detections)
            return event, since
        if wall <= now + due:
            self.next_wall += 1
            return self.trace.wall[self.next_wall - 1], None
        self.next_running += 1
        return self.trace.running[self.next_running - 1], None

    def _running_left(self, advancing: bool) -> bool:
        return advancing and self.next_running < len(self.trace.running)

    def corrupt(self, event: Event, now: float) -> None:
        """A silent corruption begins; it is found after its detection time."""
        kind = self.scenario.classes[event.index]
        self.corrupted += 1
        when = now + float(kind.detect.quantile(self.trace.mark(event, "detect")))
        heappush(self.detections, (when, self.corrupted, now, event))

    def forget_corruptions(self, captured: float) -> None:
        """A roll-back to a version captured at `captured` removes every later corruption."""
        self.detections = sorted(d for d in self.detections if d[2] < captured)

    def strike(self, event: Event, now: float, since: float | None) -> Strike | None:
        """The consequence of a failure; None when it does not stop the job (a hit on free memory)."""
        kind = self.scenario.classes[event.index]
        grid = self.scenario.platform.grid
        contained = kind.scope == "memory" and self.trace.mark(event, "contained") < kind.contained
        gpu = self._gpu(event, grid)
        region = ""
        if kind.scope == "memory":
            region = self.scenario.platform.memory.region_at(self.trace.mark(event, "region"), kind.lands)
            if region == "free":
                return None
        action = kind.action_of(contained)
        nature = nature_of(kind.scope, contained=contained, region=region, action=action)
        hit = None
        if nature.kind == "pages":
            rows = kind.rows_hit(self.trace.mark(event, "rows"))
            hit = PageHit(gpu, region, rows, kind.rows_to_pages, self.trace.mark(event, "place"))
        damage = consequence(
            mode=self.scenario.restart.mode,
            nature=nature,
            action=action,
            gpu=gpu,
            grid=grid,
            hit=hit,
            survives=kind.process_survives,
            replace_unit=self.scenario.replace_unit,
        )
        if self.located:
            damage = replace(damage, struck=struck_by(kind.scope, damage, gpu, grid))
        if since is not None:
            damage = damage.join(Damage(alive=False, corrupt_since=since))
        detect = 0.0 if since is not None else float(kind.detect.quantile(self.trace.mark(event, "detect")))
        repair = float(kind.repair.quantile(self.trace.mark(event, "repair"))) if action == "replace" else 0.0
        nodes = max(1, len(damage.hosts)) if action == "replace" else 0
        wait = self.scenario.restart.device_wait(action)
        return Strike(event, nature, damage, detect, repair, nodes, wait, action == "drain_and_reset", now)

    def _gpu(self, event: Event, grid: Grid) -> int:
        """The GPU that is hit: the clock's own device, or one drawn within the node or job."""
        kind = self.scenario.classes[event.index]
        if kind.clock == "gpu":
            return event.unit
        u = self.trace.mark(event, "device")
        if kind.clock == "node":
            return min(event.unit * grid.per_node + int(u * grid.per_node), grid.gpus - 1)
        return min(int(u * grid.gpus), grid.gpus - 1)
