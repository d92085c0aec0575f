"""What a failure leaves behind: lost pages, GPUs and hosts, which processes live, and how the job must restart.

The consequence depends on the failure (scope, containment, hardware action) and on the best the restart mode can do for
it; tiers are then asked what they can rebuild from what is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

MODES = ("all_processes", "holder", "in_process", "in_place")
UNITS = ("gpu", "node", "rack", "switch", "power")  # kinds of failure domain


@dataclass(frozen=True, slots=True)
class Grid:
    """GPU numbering of the job: consecutive GPUs fill nodes, nodes fill racks, racks share a switch, and a power feed.

    Racks are cut into switches and into power domains independently of each other: neither need contain the other.
    """

    gpus: int
    per_node: int
    per_rack: int  # GPUs
    per_switch: int  # GPUs
    per_power: int = 0  # GPUs; 0: one feed for the whole job

    def size(self, unit: str) -> int:
        """GPUs in one failure domain of this kind."""
        if unit == "gpu":
            return 1
        if unit == "node":
            return self.per_node
        if unit == "rack":
            return self.per_rack
        return self.per_switch if unit == "switch" else self.per_power or max(self.gpus, self.per_rack)

    def within(self, inner: str, outer: str) -> bool:
        """Whether every domain of the one kind lies in one domain of the other."""
        return self.size(outer) % self.size(inner) == 0 or self.count(outer) == 1

    def widest(self, *units: str) -> str:
        """The kind with the largest domains among those given; "gpu" for none."""
        return max(("gpu", *units), key=lambda unit: (self.size(unit), UNITS.index(unit)))

    def nodes(self, unit: str, number: int) -> range:
        """Nodes of the job that one domain touches."""
        block = self.members(unit, number)
        return range(block.start // self.per_node, -(-block.stop // self.per_node))

    def count(self, unit: str) -> int:
        """Failure domains of this kind that the job touches."""
        return -(-self.gpus // self.size(unit))

    def members(self, unit: str, number: int) -> range:
        """GPUs of one domain."""
        size = self.size(unit)
        return range(number * size, min((number + 1) * size, self.gpus))


@dataclass(frozen=True, slots=True)
class PageHit:
    """`rows` memory rows lost together on one GPU, in `region`; `place` in [0, 1) says where in it."""

    gpu: int
    region: str
    rows: int
    to_pages: str
    place: float


@dataclass(frozen=True, slots=True)
class Nature:
    """What the failure destroyed, whatever the restart mode: the tiers' `survives` column is judged on this."""

    kind: str  # pages | gpu | node | rack | switch | power | process | nothing | corrupt
    region: str = ""


def nature_of(scope: str, *, contained: bool, region: str, action: str) -> Nature:
    """What a failure of this scope destroys, apart from any restart mode."""
    if scope == "memory" and contained:
        return Nature("pages", region)
    if scope == "silent":
        return Nature("corrupt")
    if scope in ("memory", "sram", "gpu"):
        return Nature("gpu", region)
    if scope in ("link", "slow") or (scope == "switch" and action == "none"):
        return Nature("nothing")
    return Nature("process" if scope == "planned" else scope)


@dataclass(frozen=True, slots=True)
class Damage:
    """All that is lost or stopped in one recovery, over every failure since the job last ran."""

    pages: tuple[PageHit, ...] = ()
    lost: frozenset[tuple[str, int]] = frozenset()  # domains whose GPU memory is gone
    hosts: frozenset[int] = frozenset()  # nodes whose CPU memory is gone
    disks: frozenset[int] = frozenset()  # nodes whose disk is gone: a reboot leaves it
    all_gpu_memory: bool = False
    alive: bool = True  # every process lives: repair in place
    restart: str = "in_place"  # in_place | in_process | all_processes
    replaced: bool = False  # a node joins anew and starts its processes
    communicator: bool = False  # repair in place needs the communicators rebuilt
    corrupt_since: float | None = None  # wall seconds; versions captured later are bad
    struck: frozenset[tuple[str, int]] = frozenset()  # domains hit, lost or not; told where replica groups ask for it

    @property
    def memory_lost(self) -> bool:
        """A whole GPU's memory is gone somewhere."""
        return self.all_gpu_memory or bool(self.lost)

    def join(self, other: Damage) -> Damage:
        """Both together: a failure during a recovery adds to what is lost."""
        starts = [s for s in (self.corrupt_since, other.corrupt_since) if s is not None]
        severity = ("in_place", "in_process", "all_processes")
        return Damage(
            pages=self.pages + other.pages,
            lost=self.lost | other.lost,
            hosts=self.hosts | other.hosts,
            disks=self.disks | other.disks,
            all_gpu_memory=self.all_gpu_memory or other.all_gpu_memory,
            alive=self.alive and other.alive,
            restart=max(self.restart, other.restart, key=severity.index),
            replaced=self.replaced or other.replaced,
            communicator=self.communicator or other.communicator,
            corrupt_since=min(starts) if starts else None,
            struck=self.struck | other.struck,
        )


def together(damages: Iterable[Damage]) -> Damage:
    """What is left of failures that strike at one instant: each takes its own, all are handled in one recovery."""
    parts = list(damages)
    while len(parts) > 1:  # by halves, so that a whole switch is not copied once for each of its nodes
        parts = [reduce(Damage.join, parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0] if parts else Damage()


def consequence(
    *,
    mode: str,
    nature: Nature,
    action: str,
    gpu: int,
    grid: Grid,
    hit: PageHit | None,
    survives: bool,
    replace_unit: str,
) -> Damage:
    """Damage of one failure under a restart mode.

    `nature.kind` pages: a contained memory error. gpu/node/rack/switch/power: that domain around `gpu` fails. nothing:
    no memory lost. `survives`: the failing process can live on a platform that allows it. Hosts that lose power lose
    their CPU memory whatever is done then, and start anew; their disks stay.
    """
    replaced = action in ("reboot", "replace") or nature.kind == "power"
    lives = survives and nature.kind not in UNITS and action in ("none", "restart_app", "drain_and_reset")
    in_place = mode == "in_place" and lives and nature.region != "context"
    if in_place:
        return Damage(pages=(hit,) if hit else (), communicator=nature.region == "buffers")
    restart = "in_process" if mode in ("in_place", "in_process") else "all_processes"
    lost, hosts = _gone(nature, action, gpu, grid, replace_unit)
    disks = hosts if action == "replace" else frozenset()
    damage = Damage(lost=lost, hosts=hosts, disks=disks, alive=False, restart=restart, replaced=replaced)
    if nature.kind == "pages":
        if mode != "holder":  # the hit process dies and its memory with it
            damage = replace(damage, lost=damage.lost | {("gpu", gpu)})
        elif hit is not None and not lost:
            damage = replace(damage, pages=(hit,))
    elif nature.kind == "process" and mode != "holder":
        damage = replace(damage, lost=damage.lost | {("gpu", gpu)})
    if mode == "all_processes":
        damage = replace(damage, all_gpu_memory=True)
    return damage


def _gone(
    nature: Nature, action: str, gpu: int, grid: Grid, replace_unit: str
) -> tuple[frozenset[tuple[str, int]], frozenset[int]]:
    """Domains whose GPU memory and hosts whose CPU memory go with this failure and its hardware action."""
    own = nature.kind if nature.kind in UNITS else ""
    unit = served(action, replace_unit)
    if own == "gpu" and action in ("restart_app", "drain_and_reset"):
        unit = "gpu"
    if not own and not unit:
        return frozenset(), frozenset()
    widest = grid.widest(*(u for u in (own, unit) if u))
    number = gpu // grid.size(widest)
    lost = frozenset({(widest, number)})
    if own == "power" or (action in ("reboot", "replace") and widest != "gpu"):
        return lost, frozenset(grid.nodes(widest, number))
    return lost, frozenset()


def served(action: str, replace_unit: str) -> str:
    """The domain that a hardware action takes out of the job: "" for none. A tray counts as a node."""
    if action == "replace":
        return "node" if replace_unit == "tray" else replace_unit
    return {"reset": "gpu", "reboot": "node"}.get(action, "")
