"""What a failure leaves behind: lost pages, GPUs and hosts, which processes live, and how the job must restart.

The consequence depends on the failure (scope, containment, hardware action) and on the best the restart mode can do for
it; tiers are then asked what they can rebuild from what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MODES = ("all_processes", "holder", "in_process", "in_place")
UNITS = ("gpu", "node", "rack", "switch")


@dataclass(frozen=True, slots=True)
class Grid:
    """GPU numbering of the job: consecutive GPUs fill nodes, nodes fill racks, racks share a switch."""

    gpus: int
    per_node: int
    per_rack: int  # GPUs
    per_switch: int  # GPUs

    def size(self, unit: str) -> int:
        """GPUs in one failure domain of this kind."""
        return {"gpu": 1, "node": self.per_node, "rack": self.per_rack, "switch": self.per_switch}[unit]

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

    kind: str  # pages | gpu | node | rack | switch | nothing | corrupt
    region: str = ""


def nature_of(scope: str, *, contained: bool, region: str, action: str) -> Nature:
    """What a failure of this scope destroys, apart from any restart mode."""
    if scope == "memory" and contained:
        return Nature("pages", region)
    if scope == "silent":
        return Nature("corrupt")
    if scope in ("memory", "sram", "gpu"):
        return Nature("gpu", region)
    if scope == "link" or (scope == "switch" and action == "none"):
        return Nature("nothing")
    return Nature(scope)


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

    `nature.kind` pages: a contained memory error. gpu/node/rack/switch: that domain around `gpu` fails. nothing: no
    memory lost. `survives`: the failing process can live on a platform that allows it.
    """
    replaced = action in ("reboot", "replace")
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
    unit = {"reset": "gpu", "reboot": "node", "replace": "node" if replace_unit == "tray" else replace_unit}.get(
        action, ""
    )
    if own == "gpu" and action in ("restart_app", "drain_and_reset"):
        unit = "gpu"
    widest = max((u for u in (own, unit) if u), key=UNITS.index, default="")
    if not widest:
        return frozenset(), frozenset()
    number = gpu // grid.size(widest)
    if action not in ("reboot", "replace"):
        return frozenset({(widest, number)}), frozenset()
    members = grid.members(widest, number)
    hosts = frozenset(range(members.start // grid.per_node, -(-members.stop // grid.per_node)))
    return frozenset({(widest, number)}), hosts if widest != "gpu" else frozenset()
