"""Checkpoint: a copy of the state outside GPU memory, in a store, on local disks or in the hosts' CPU memory.

A copy counts once its write has completed; a recovery goes back to the newest one that does. On disks and in CPU
memory it is held by a placement over the hosts, read locally, and fetched or rebuilt where a host of it is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gemsim.protection.damage import Damage, Nature
from gemsim.protection.placement import Placement, placement
from gemsim.protection.tier import Moment, Overhead, Plan, Platform

NEVER = 10**9  # steps between saves of a tier that nothing ever reaches: it is not written at all


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Tiers `checkpoint` and `replica`. Times in seconds, `every` in steps."""

    number: int
    name: str
    target: str  # remote | disk | cpu_memory
    every: int
    blocked: float  # the job stands still
    lag: float  # from the end of blocking until the copy counts
    read: float  # read and load, on recovery
    keep_seconds: float  # how long copies are held (inf: not limited by time)
    keep_count: int  # how many are held (0: not limited by number)
    copies: int  # of each host's shard (placements group, ring, mixed); 1 on disk
    stride: int  # hosts between neighbours of a set
    invalid: float  # P(a copy turns out bad)
    notice: float  # seconds until that is noticed
    wall_anchor: bool  # the clock runs on the wall; else it restarts at each recovery
    placement: str = "mixed"  # how copies or parity lie on the hosts; one copy: on its own host
    size: int = 8  # hosts in a set (partner, xor, rs)
    losses: int = 1  # lost hosts of a set that its parity makes up for (rs)
    fetch: float = 0.0  # read and load where a host of the copy is missing; never less than `read`
    memory: float = 0.0  # bytes of buffers in GPU memory
    shortest: int = field(default=1, repr=False, compare=False)  # fewest steps between saves that a study may give

    @property
    def redundant(self) -> bool:
        """Whether a host can be lost."""
        return self.target == "remote" or self.placement in ("partner", "xor", "rs") or self._copies > 1

    @property
    def _copies(self) -> int:
        return 1 if self.target == "disk" or self.placement == "single" else self.copies

    def survives(self, nature: Nature, platform: Platform) -> bool:
        """A remote store survives everything, disks and CPU memory whatever leaves all shards; a disk a power cut."""
        left = ("pages", "process", "gpu", "nothing", "corrupt")
        return self.redundant or nature.kind in left or (nature.kind == "power" and self.target == "disk")

    def overhead(self) -> Overhead:
        """The blocked time, and the buffers in GPU memory."""
        return Overhead(self.every, self.blocked, memory=self.memory, lag=self.lag, keeps_versions=True)

    def where(self, hosts: int) -> Placement:
        """Which of the job's hosts hold what."""
        return placement(
            self.placement, hosts, copies=self._copies, size=self.size, losses=self.losses, stride=self.stride
        )

    def recover(self, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        """Read the newest finished copy; None when there is none or a shard's copies are all gone."""
        version = moment.saved.get(self.number)
        if version is None:
            return None
        if self.target == "remote":
            return Plan(self.name, version, seconds=self.read)
        gone = (damage.disks if self.target == "disk" else damage.hosts) | moment.missing.get(self.number, frozenset())
        if gone and not self.where(platform.grid.count("node")).survives(gone):
            return None
        return Plan(self.name, version, seconds=max(self.read, self.fetch) if gone else self.read)
