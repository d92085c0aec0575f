"""What one failure does to the job: what it destroys, how long it takes to notice, which nodes leave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from gemsim.failures.classes import FailureClass
from gemsim.failures.trace import Event, Trace
from gemsim.protection.damage import Damage, Nature, PageHit, consequence, nature_of
from gemsim.protection.replica_group import ReplicaGroup, struck_by
from gemsim.scenario import Scenario

NO_WARNING = -1.0


@dataclass(frozen=True, slots=True)
class Strike:
    """One failure that stops the job: its event, what it destroyed, and what it does to this job."""

    event: Event
    nature: Nature
    damage: Damage
    detect: float  # seconds
    repair: float  # seconds until a replaced node is back, by the law of its class
    slots: tuple[int, ...]  # places in the job whose nodes are to be replaced
    wait: float  # seconds for a reset or reboot
    remap: bool  # a row remap stays pending
    wall: float
    notice: float = NO_WARNING  # seconds in which the living job can save before it stops
    stop: float = 0.0  # seconds that a planned stop lasts
    retired: bool = False  # its node does not come back

    @property
    def nodes(self) -> int:
        """Nodes to replace."""
        return len(self.slots)


class Striker:
    """Turns events into strikes, by the marks of the trace and the classes of the scenario."""

    def __init__(self, scenario: Scenario, trace: Trace) -> None:
        self.scenario, self.trace = scenario, trace
        self.grid = scenario.platform.grid
        self.located = any(isinstance(t, ReplicaGroup) for t in scenario.tiers) or scenario.shrunk is not None

    def region(self, event: Event, kind: FailureClass) -> str:
        """The region of memory that is hit; "" for what is no memory error."""
        if kind.scope != "memory":
            return ""
        return self.scenario.platform.memory.region_at(self.trace.mark(event, "region"), kind.lands)

    def strike(
        self,
        event: Event,
        now: float,
        gpu: int,
        *,
        region: str,
        since: float | None = None,
        retired: bool = False,
        worn: bool = False,
    ) -> Strike:
        """The consequence of a failure of this GPU. `since`: corrupt since then. `retired`: its node is given up.
        `worn`: a reset does not mend it."""
        kind = self.scenario.classes[event.index]
        contained = kind.scope == "memory" and self.trace.mark(event, "contained") < kind.contained
        action = kind.action_of(contained)
        if retired or (worn and action in ("reset", "reboot")):
            action = "replace"
        nature = nature_of(kind.scope, contained=contained, region=region, action=action)
        damage = self._damage(event, kind, nature, action, gpu)
        if since is not None:
            damage = damage.join(Damage(alive=False, corrupt_since=since))
        slots: tuple[int, ...] = ()
        repair = 0.0
        if action == "replace":
            slots = tuple(damage.hosts) or (gpu // self.grid.per_node,)
            repair = float(kind.repair.quantile(self.trace.mark(event, "repair")))
        orderly = kind.scope in ("planned", "slow")
        seen = since is not None or orderly
        return Strike(
            event=event,
            nature=nature,
            damage=damage,
            detect=0.0 if seen else float(kind.detect.quantile(self.trace.mark(event, "detect"))),
            repair=repair,
            slots=slots,
            wait=self.scenario.restart.device_wait(action),
            remap=action == "drain_and_reset",
            wall=now,
            notice={"planned": kind.notice, "slow": inf}.get(kind.scope, NO_WARNING),
            stop=float(kind.stop.quantile(self.trace.mark(event, "stop"))) if kind.scope == "planned" else 0.0,
            retired=retired,
        )

    def _damage(self, event: Event, kind: FailureClass, nature: Nature, action: str, gpu: int) -> Damage:
        hit = None
        if nature.kind == "pages":
            rows = kind.rows_hit(self.trace.mark(event, "rows"))
            hit = PageHit(gpu, nature.region, rows, kind.rows_to_pages, self.trace.mark(event, "place"))
        damage = consequence(
            mode="all_processes" if kind.scope == "planned" else self.scenario.restart.mode,
            nature=nature,
            action=action,
            gpu=gpu,
            grid=self.grid,
            hit=hit,
            survives=kind.process_survives,
            replace_unit=self.scenario.replace_unit,
        )
        return replace(damage, struck=struck_by(kind.scope, damage, gpu, self.grid)) if self.located else damage
