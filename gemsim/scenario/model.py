"""One design point as engine and twin see it: a frozen value of SI floats, with an identity."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any

from gemsim.failures.classes import FailureClass
from gemsim.failures.logs.trace import Replay
from gemsim.failures.memory import Geometry
from gemsim.protection.damage import Damage
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.tier import Platform, Tier
from gemsim.protection.timeline import Timeline
from gemsim.scenario.fleet import FleetPlan

MODEL_VERSION = 3  # of what the numbers mean; a new one makes every point a new point


@dataclass(frozen=True, slots=True)
class Restart:
    """Seconds of each part of a restart, and the best that the platform can do (`mode`)."""

    mode: str  # all_processes | holder | in_process | in_place
    process: float
    communicator: float
    warmup: float
    pause: float  # of a repair in place
    reset: float  # of a GPU
    reboot: float  # of a node

    def device_wait(self, action: str) -> float:
        """Seconds until a device that is reset, or a node that is rebooted, can be used again."""
        if action == "reset":
            return self.reset
        return self.reboot if action == "reboot" else 0.0

    def seconds(self, damage: Damage) -> float:
        """Restart time by what the damage needs; in place only a lost communication buffer rebuilds communicators."""
        if damage.restart == "in_place":
            return self.communicator if damage.communicator else 0.0
        process = self.process if damage.restart == "all_processes" or damage.replaced else 0.0
        return process + self.communicator + self.warmup


@dataclass(frozen=True, slots=True)
class Scenario:
    """A design point. Times in seconds of wall time; `timeline` holds the running job's steps and stalls."""

    platform: Platform
    useful_step: float  # productive seconds of one step
    timeline: Timeline
    classes: tuple[FailureClass, ...]
    tiers: tuple[Tier, ...]
    restart: Restart
    fleet: FleetPlan
    replace_unit: str  # what goes with a lost GPU
    encode_anew: float  # all stripes, when GPU memory has been filled again
    horizon: float  # wall seconds at which the run stops at the latest
    work_steps: int  # useful steps to complete; 0: run to the horizon
    stationary: bool
    profile: str
    modelled: bool
    interval_seconds: float  # of the deepest checkpoint tier; nan without one
    reach_rate: float  # failures per second that reach that tier
    geometry: Geometry | None = None  # of GPU memory, where row remaps are counted against their budget
    shrunk: ReplicaGroup | None = None  # how the job runs on while nodes are lacking, if it does not wait for them
    remap_now: bool = False  # a pending row remap is served by a stop of its own, not at the next restart
    replay: Replay | None = None  # a log whose failures come in place of those of the laws of its classes
    notes: tuple[str, ...] = field(default=(), compare=False)  # what a reader of the numbers must be told

    @property
    def useful_share(self) -> float:
        """Productive share of a running step (the rest is work beside it, such as overlapped encodes)."""
        return self.useful_step / self.timeline.step

    @property
    def spare_nodes(self) -> int:
        """Nodes beyond the job's at the start."""
        return self.fleet.spares.nodes

    @property
    def spare_activation(self) -> float:
        """Seconds until a hot spare can start."""
        return self.fleet.spares.activation[0]

    @property
    def id(self) -> str:
        """SHA-256 of all that affects a result; designs that are one design have one id."""
        return _identity(self)


@lru_cache(maxsize=256)
def _identity(scenario: Scenario) -> str:
    """Hash of the canonical JSON."""
    data: dict[str, Any] = asdict(replace(scenario, notes=()))
    data["tiers"] = [[type(tier).__name__, repr(tier)] for tier in scenario.tiers]
    data["timeline"] = {"step": scenario.timeline.step, "stalls": data["timeline"]["stalls"]}  # the rest follows
    if not scenario.remap_now:  # what it was before there was a choice
        del data["remap_now"]
    replay = data.pop("replay")
    if replay is not None:
        data["replay"] = {key: value for key, value in replay.items() if key != "path"}  # its content is in its hash
    data["model"] = MODEL_VERSION
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=repr).encode()).hexdigest()
