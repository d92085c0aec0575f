"""What one failure does to the job: what it destroys, how long it takes to notice, which nodes leave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from gemsim.failures.classes import FailureClass
from gemsim.failures.laws import quantile
from gemsim.failures.memory import action_after
from gemsim.failures.trace import Event, Trace
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Damage, Nature, PageHit, consequence, nature_of
from gemsim.protection.replica_group import ReplicaGroup, struck_by
from gemsim.scenario import Scenario
from gemsim.scenario.remaps import served_at_once

NO_WARNING = -1.0
NOWHERE = -1  # the place, or GPU of the job, of what is not in it


@dataclass(slots=True)  # not frozen, which would double the time that it takes to make one
class Strike:
    """One failure that stops the job: its event, what it destroyed, and what it does to this job."""

    event: Event
    nature: Nature
    damage: Damage
    detect: float  # seconds
    repair: float  # seconds until a replaced node is back, by the law of its class; 0 where a repair shop decides
    slots: tuple[int, ...]  # places in the job whose nodes are to be replaced
    wait: float  # seconds for a reset or reboot
    remap: bool  # a row remap stays pending
    wall: float
    notice: float = NO_WARNING  # seconds in which the living job can save before it stops
    stop: float = 0.0  # seconds that a planned stop lasts
    retired: tuple[int, ...] = ()  # of these places, those whose nodes do not come back
    gpu: int = 0  # that was struck
    on_purpose: bool = False  # a stop for row remaps, and no failure

    @property
    def nodes(self) -> int:
        """Nodes to replace."""
        return len(self.slots)


@dataclass(frozen=True, slots=True)
class Case:
    """What all failures of one class with one outcome have in common."""

    nature: Nature
    action: str
    wait: float  # seconds for a reset or reboot
    remap: bool
    notice: float
    detect: float | None  # seconds; None: drawn
    damage: Damage | None  # where no tier asks which place was struck, it is that of any


class Striker:
    """Turns events into strikes, by the marks of the trace and the classes of the scenario."""

    def __init__(self, scenario: Scenario, trace: Trace) -> None:
        self.scenario, self.trace = scenario, trace
        self.grid = scenario.platform.grid
        self.located = any(isinstance(t, ReplicaGroup) for t in scenario.tiers) or scenario.shrunk is not None
        self.placeless = not self.located and all(
            isinstance(tier, Checkpoint) and tier.target == "remote" for tier in scenario.tiers
        )
        self._cases: dict[tuple[int, bool, str, bool, bool], Case] = {}
        special = ("memory", "silent", "slow", "planned")
        self.ordinary = [kind.scope not in special and kind.recurrence is None for kind in scenario.classes]
        self._detect = [quantile(kind.detect) for kind in scenario.classes]
        self._repair = [quantile(kind.repair) for kind in scenario.classes]

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
        index = event.index
        kind = self.scenario.classes[index]
        contained = kind.scope == "memory" and self.trace.mark(event, "contained") < kind.contained
        key = index, contained, region, retired, worn
        case = self._cases[key] if key in self._cases else self._case(*key)
        damage = case.damage or self._damage(event, kind, case.nature, case.action, gpu)
        slots: tuple[int, ...] = ()
        repair = 0.0
        if case.action == "replace":
            own = (gpu // self.grid.per_node,)
            slots = own if len(damage.hosts) < 2 else tuple(damage.hosts)
            repair = self.seconds_away(event)
        if since is not None:
            damage = damage.join(Damage(alive=False, corrupt_since=since))
        detect = case.detect
        if detect is None or since is not None:
            detect = 0.0 if since is not None else self.seconds_unseen(event)
        stop = float(kind.stop.quantile(self.trace.mark(event, "stop"))) if kind.scope == "planned" else 0.0
        wait, remap = case.wait, case.remap
        if remap and self.scenario.remap_now and not worn and served_at_once(damage):
            wait, remap = max(wait, self.scenario.restart.reset), False
        gone = slots if retired else ()
        return Strike(event, case.nature, damage, detect, repair, slots, wait, remap, now, case.notice, stop, gone, gpu)

    def case_of(self, index: int) -> Case | None:
        """What all failures of a class have in common if none of its marks changes it."""
        return self._case(index, False, "", False, False) if self.ordinary[index] else None

    def seconds_unseen(self, event: Event) -> float:
        """Seconds until a failure is noticed, by the law of its class."""
        return self._detect[event.index](self.trace.mark(event, "detect"))

    def seconds_away(self, event: Event) -> float:
        """Seconds until a replaced node is back, by the law of its class; 0 where a repair shop decides."""
        if self.scenario.fleet.repair is not None:
            return 0.0
        return self._repair[event.index](self.trace.mark(event, "repair"))

    def _case(self, index: int, contained: bool, region: str, retired: bool, worn: bool) -> Case:
        """Work out a case that is met for the first time."""
        kind = self.scenario.classes[index]
        action = "replace" if retired else action_after(kind.action_of(contained), refused=worn)
        nature = nature_of(kind.scope, contained=contained, region=region, action=action)
        damage = None
        if self.placeless and nature.kind != "pages":
            damage = self._damage(None, kind, nature, action, 0)
            damage = damage if len(damage.hosts) < 2 else None
        seen = kind.scope in ("planned", "slow")
        case = Case(
            nature=nature,
            action=action,
            wait=self.scenario.restart.device_wait(action),
            remap=action == "drain_and_reset",
            notice={"planned": kind.notice, "slow": inf}.get(kind.scope, NO_WARNING),
            detect=0.0 if seen else kind.detect.mean if kind.detect.kind == "fixed" else None,
            damage=damage,
        )
        self._cases[index, contained, region, retired, worn] = case
        return case

    def hit(self, event: Event, kind: FailureClass, gpu: int, region: str) -> PageHit:
        """The pages of a contained memory error."""
        rows = kind.rows_hit(self.trace.mark(event, "rows"))
        return PageHit(gpu, region, rows, kind.rows_to_pages, self.trace.mark(event, "place"))

    def _damage(self, event: Event | None, kind: FailureClass, nature: Nature, action: str, gpu: int) -> Damage:
        """`event` matters to errors of pages alone."""
        hit = self.hit(event, kind, gpu, nature.region) if event is not None and nature.kind == "pages" else None
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
