"""Checkpoint: a copy of the state outside GPU memory, in a store, on local disks or in the hosts' CPU memory.

A copy counts once its write has completed; a recovery goes back to the newest one that does.
"""

from __future__ import annotations

from dataclasses import dataclass

from gemsim.protection.damage import Damage, Nature
from gemsim.protection.layouts import hosts_of_copies
from gemsim.protection.tier import Moment, Overhead, Plan, Platform

NEVER = 10**9  # steps between saves of a tier that nothing ever reaches: it is not written at all


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Tier `checkpoint`. Times in seconds, `every` in steps."""

    number: int
    name: str
    target: str  # remote | disk | cpu_memory
    every: int
    blocked: float  # the job stands still
    lag: float  # from the end of blocking until the copy counts
    read: float  # read and load, on recovery
    keep_seconds: float  # how long copies are held (inf: not limited by time)
    keep_count: int  # how many are held (0: not limited by number)
    copies: int  # of each host's shard (cpu_memory); 1 on disk
    stride: int  # hosts between the copies of one shard
    invalid: float  # P(a copy turns out bad)
    notice: float  # seconds until that is noticed
    wall_anchor: bool  # the clock runs on the wall; else it restarts at each recovery

    def survives(self, nature: Nature, platform: Platform) -> bool:
        """A remote store survives everything, disks and CPU memory whatever leaves a copy of each shard."""
        return (
            self.target == "remote"
            or nature.kind in ("pages", "process", "gpu", "nothing", "corrupt")
            or (self.target == "cpu_memory" and self.copies > 1)
        )

    def overhead(self) -> Overhead:
        """The blocked time; no GPU memory."""
        return Overhead(self.every, self.blocked, lag=self.lag, keeps_versions=True)

    def recover(self, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        """Read the newest finished copy; None when there is none or a shard's copies are all gone."""
        version = moment.saved.get(self.number)
        if version is None or not self._shards_live(damage, moment, platform):
            return None
        return Plan(self.name, version, seconds=self.read)

    def _shards_live(self, damage: Damage, moment: Moment, platform: Platform) -> bool:
        if self.target == "remote":
            return True
        gone = (damage.disks if self.target == "disk" else damage.hosts) | moment.missing.get(self.number, frozenset())
        hosts = platform.grid.count("node")
        return not any(
            all(copy in gone for copy in hosts_of_copies(host, self.copies, hosts, self.stride)) for host in gone
        )
