"""Stripe: erasure-coded critical state, inside each GPU (GEM) or across GPUs, nodes or racks.

Parity describes the last encode. In place, a loss can be rebuilt only while the state is still at that version; with a
snapshot the members keep a copy at the parity's version and the job rolls back to it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import floor, inf

from gemsim.protection.damage import UNITS, Damage, Nature, PageHit
from gemsim.protection.layouts import MemberStripes, PageStripes, pages_hit
from gemsim.protection.peer_copy import copy_lives
from gemsim.protection.state import Region
from gemsim.protection.tier import Moment, Overhead, Plan, Platform


@dataclass(frozen=True, slots=True)
class Cadence:
    """When parity is made: every `every` steps, by an encode of `encode` s, from the state itself or from a
    snapshot."""

    every: int
    copy: str  # in_place | snapshot
    encode: float  # seconds of one encode, traffic included
    stall: float  # seconds of it (or of the snapshot) that stop the job
    slower: float  # seconds added to a step by an overlapped encode
    lag: float  # wall seconds until a snapshot's parity is complete
    buckets: int
    overlap: bool

    def fresh(self, moment: Moment) -> bool:
        """In place: the parity describes the version that the state has."""
        return (moment.version - moment.lives_since) % self.every == 0

    def chunk_window(self, moment: Moment, platform: Platform, place: float, number: int) -> bool:
        """A chunk of the bucket at `place` is between its update and its encode (process alive, gradients intact)."""
        length = platform.steps.update + self.encode
        into = self._into_window(moment, platform, 0.0, number)
        if into is None:
            return False
        bucket = min(int(place * self.buckets), self.buckets - 1)
        return bucket * length <= into * self.buckets < (bucket + 1) * length

    def state_window(self, moment: Moment, platform: Platform, number: int) -> bool:
        """The ranks are not all at the parity's version: update, encode, and the skew between ranks."""
        return self._into_window(moment, platform, platform.steps.skew, number) is not None

    def _into_window(self, moment: Moment, platform: Platform, skew: float, number: int) -> float | None:
        """Seconds into update + encode (negative in the skew before it), None outside."""
        steps = platform.steps
        if moment.stall_tier == number and self.copy == "in_place":
            return steps.update + moment.stall_elapsed
        beside = self.overlap and moment.version > moment.lives_since and self.fresh(moment)
        if moment.stall_tier >= 0:  # of another tier, with the encode of this boundary still to come or not
            return steps.update if beside or number in moment.ahead else None
        if beside and moment.within < self.encode:
            return steps.update + moment.within
        into = moment.within - (steps.length - steps.update)
        return into if into >= -skew else None


@dataclass(frozen=True, slots=True)
class PageStripe:
    """Tier `stripe` with `layout: gpu`: chunks are pages of one GPU, parity lies in the same GPU's memory."""

    number: int
    name: str
    stripes: PageStripes
    cadence: Cadence
    regions: tuple[str, ...]  # what is coded
    decode_page: float  # seconds to rebuild one page
    page: float  # bytes
    scrub: float = inf  # seconds of wall time in which all coded pages are read once in the background
    scrubbing: float = 0.0  # seconds that this adds to a step

    def scrubbed(self, hit: PageHit, now: float) -> float:
        """Wall time after `now` at which the next scrub reads a page that this hit destroyed; inf for never.

        A pass reads one stripe after the other, evenly: stripe s of S at (n + s / S) `scrub` (an assumption).
        """
        if self.scrub == inf or hit.region not in self.regions:
            return inf
        total = self.stripes.stripes
        phases = {self.stripes.stripe_of(page) / total for page in pages_hit(hit, self.stripes)}
        return min((floor(now / self.scrub - phase) + 1 + phase) * self.scrub for phase in phases)

    def survives(self, nature: Nature, platform: Platform) -> bool:
        """Lost pages of coded regions; never a lost GPU."""
        return nature.kind == "pages" and nature.region in self.regions

    def overhead(self) -> Overhead:
        """Encode stalls (or the slower step), scrubs, and the parity pages; a snapshot keeps a copy of the coded bytes
        too."""
        memory = self.stripes.parity_pages * self.page
        snapshot = self.cadence.copy == "snapshot"
        if snapshot:
            memory = 2 * memory + self.stripes.pages * self.page
        c = self.cadence
        return Overhead(c.every, c.stall, c.slower + self.scrubbing, memory, c.lag, keeps_versions=snapshot)

    def recover(self, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        """Decode in place; None on a lost GPU, in the vulnerable window, with stale parity or > m chunks in a
        stripe."""
        if damage.memory_lost or damage.corrupt_since is not None:
            return None
        regions = {r.name: r for r in platform.memory.regions}
        critical = [hit for hit in damage.pages if regions[hit.region].critical]
        if any(hit.region not in self.regions for hit in critical) or not self._decodable(critical):
            return None
        pages = sum(len(pages_hit(hit, self.stripes)) for hit in critical)
        seconds = pages * self.decode_page
        if self.cadence.copy == "snapshot":
            version = moment.saved.get(self.number)
            return None if version is None else Plan(self.name, version, seconds=seconds)
        if not critical or not self.cadence.fresh(moment) or self._in_window(damage, moment, platform, critical):
            return None
        return Plan(self.name, None, redo=moment.within, seconds=seconds)

    def _in_window(self, damage: Damage, moment: Moment, platform: Platform, critical: list[PageHit]) -> bool:
        if not damage.alive or any(hit.region == "gradients" for hit in damage.pages):
            return self.cadence.state_window(moment, platform, self.number)
        return any(self.cadence.chunk_window(moment, platform, hit.place, self.number) for hit in critical)

    def _decodable(self, critical: list[PageHit]) -> bool:
        lost: dict[int, list[int]] = defaultdict(list)
        for hit in critical:
            lost[hit.gpu] += pages_hit(hit, self.stripes)
        return all(self.stripes.worst_in_stripe(pages) <= self.stripes.m for pages in lost.values())


@dataclass(frozen=True, slots=True)
class MemberStripe:
    """Tier `stripe` across GPUs: one member per failure domain, k data and m parity members (rotated)."""

    number: int
    name: str
    stripes: MemberStripes
    cadence: Cadence
    coded: float  # bytes per GPU
    rebuild: str  # gather | pipeline | spread
    nic: float  # bytes/s per GPU

    def survives(self, nature: Nature, platform: Platform) -> bool:
        """Any loss of GPU memory that could leave every stripe at most m members short."""
        if nature.kind == "pages":
            return any(r.name == nature.region and r.coded for r in platform.memory.regions)
        elsewhere = all(region.copies > 1 for region in _uncoded(platform))
        return elsewhere and nature.kind in (*UNITS, "process")

    def overhead(self) -> Overhead:
        """Traffic and kernels not hidden, m/k of the coded bytes; a snapshot keeps the copy and a second parity."""
        parity = self.coded * self.stripes.m / self.stripes.k
        snapshot = self.cadence.copy == "snapshot"
        memory = 2 * parity + self.coded if snapshot else parity
        c = self.cadence
        return Overhead(c.every, c.stall, c.slower, memory, c.lag, keeps_versions=snapshot)

    def recover(self, damage: Damage, moment: Moment, platform: Platform) -> Plan | None:
        """Rebuild the lost members; None when a stripe lost more than m, versions differ, or no GPU memory was held.

        What a lost GPU held of critical regions that are not coded comes from live copies, where there are any.
        """
        if damage.all_gpu_memory or damage.corrupt_since is not None:
            return None
        grid = platform.grid
        gone = {gpu for unit, number in damage.lost for gpu in grid.members(unit, number)}
        regions = {r.name: r for r in platform.memory.regions}
        critical = [hit for hit in damage.pages if regions[hit.region].critical]
        if not all(regions[hit.region].coded for hit in critical):
            return None
        if gone and not all(copy_lives(r.copies, damage, grid) for r in _uncoded(platform)):
            return None
        fetch = sum(r.bytes for r in _uncoded(platform)) / self.nic if gone else 0.0
        gone |= {hit.gpu for hit in critical}
        lost = self.stripes.worst_in_stripe(gone)
        if lost > self.stripes.m:
            return None
        seconds = self.rebuild_seconds(lost) + fetch
        if self.cadence.copy == "snapshot":
            version = moment.saved.get(self.number)
            return None if version is None else Plan(self.name, version, seconds=seconds)
        if not gone or not self.cadence.fresh(moment) or self.cadence.state_window(moment, platform, self.number):
            return None
        return Plan(self.name, None, redo=moment.within, seconds=seconds)

    def rebuild_seconds(self, lost: int) -> float:
        """Seconds to bring `lost` members of a stripe back; stripes rebuild side by side, each into its own NIC."""
        if lost == 0:
            return 0.0
        k, m, share = self.stripes.k, self.stripes.m, self.coded / self.nic
        if self.rebuild == "gather":
            return (k + lost - 1) * share  # one member decodes all and forwards the others'
        if self.rebuild == "pipeline":
            return lost * share
        survivors = max(1, k + m - lost)
        return k * share / survivors * lost + share


def _uncoded(platform: Platform) -> list[Region]:
    """Critical regions that no stripe covers (`protect`)."""
    return [r for r in platform.memory.regions if r.critical and r.bytes > 0 and not r.coded]
