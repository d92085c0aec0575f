"""The slow engine's choice: which tier can bring back what is lost, to which version, in what time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import ceil, fmod, inf
from typing import TYPE_CHECKING

from tests.oracle.setup import CRITICAL, Code, Failure, Redo, Save, Store

if TYPE_CHECKING:
    from tests.oracle.slow_engine import SlowJob

LEAST = {"activations": "microbatch", "gradients": "step", "buffers": "step"}  # all other regions: the kernel
START = "start"
ORDER = ("kernel", "layer", "microbatch", "step")


@dataclass
class Loss:
    """All that is gone since the job stopped."""

    pages: list[Failure] = field(default_factory=list)
    gpus: set[int] = field(default_factory=set)
    everything: bool = False
    alive: bool = True
    corrupt_since: float = inf
    killed_at: float = inf

    @property
    def critical(self) -> list[Failure]:
        return [f for f in self.pages if f.region in CRITICAL]

    @property
    def memory(self) -> bool:
        return self.everything or bool(self.gpus)

    @property
    def intact(self) -> bool:
        """Weights and moments are all there."""
        return not (self.memory or self.critical or self.corrupt_since < inf)


@dataclass(frozen=True)
class Choice:
    """Who recovers, to which version (None: the present one, after `redo` seconds of the step again), in what time."""

    tier: str
    version: int | None
    redo: float = 0.0
    seconds: float = 0.0
    captured: float = 0.0


def choose(job: SlowJob, loss: Loss) -> Choice:
    """The first tier that can, after a finer retry and the state itself."""
    setup, torn = job.setup, job.in_update()
    redo = job.within
    retry = next((t for t in setup.tiers if isinstance(t, Redo)), None)
    if retry is not None and loss.alive and loss.pages:
        what = granule([f.region for f in loss.pages], retry.granularity)
        torn = torn and what == "step"
        redo = job.within if what == "step" else fmod(job.within, setup.granules[what])
        if loss.intact and not torn:
            return Choice(retry.name, None, redo)
    if loss.intact and not job.in_update(0.0 if loss.alive else setup.skew):
        return Choice("held", None, job.within)
    for tier in setup.tiers:
        choice = None
        if isinstance(tier, Store):
            choice = from_store(job, loss, tier)
        elif isinstance(tier, Code):
            choice = from_code(job, loss, tier, redo, torn)
        if choice is not None:
            return choice
    return Choice(START, 0)


def granule(regions: list[str], granularity: str) -> str:
    """What has to be run again: the least that restores each region, and not less than was asked for."""
    asked = "kernel" if granularity == "mixed" else granularity
    return max([asked, *(LEAST.get(region, "kernel") for region in regions)], key=ORDER.index)


def newest(job: SlowJob, loss: Loss, tier: Code | Store) -> Save | None:
    """The newest version whose write was over before processes died, captured before any corruption."""
    now = min(job.wall, loss.killed_at)
    there = [s for s in job.saves[tier.name] if s.usable <= now]
    if isinstance(tier, Store):  # the newest of all is never given up
        there = there[-tier.keep_count :]  # of the versions that led to this one
        there = [s for s in there if s is there[-1] or now - s.captured <= tier.keep_seconds]
    return next((s for s in reversed(there) if s.captured <= loss.corrupt_since), None)


def from_store(job: SlowJob, loss: Loss, tier: Store) -> Choice | None:
    """A copy outside GPU memory; on hosts, one copy of every host's shard must be left."""
    save = newest(job, loss, tier)
    if save is None:
        return None
    if tier.hosts:
        groups = {host // tier.copies for host in save.hosts_lost}
        if any({g * tier.copies + i for i in range(tier.copies)} <= save.hosts_lost for g in groups):
            return None
    return Choice(tier.name, save.version, seconds=tier.read, captured=save.captured)


def from_code(job: SlowJob, loss: Loss, tier: Code, redo: float, torn: bool) -> Choice | None:
    """Decode: at most m lost per stripe, every member at the parity's version."""
    if loss.everything or loss.corrupt_since < inf:
        return None
    seconds = page_seconds(loss, tier) if tier.pages else member_seconds(job, loss, tier)
    if seconds is None:
        return None
    if tier.snapshot:
        save = newest(job, loss, tier)
        return None if save is None else Choice(tier.name, save.version, seconds=seconds, captured=save.captured)
    nothing_lost = not loss.critical and not (loss.gpus and not tier.pages)
    if nothing_lost or stale(job, loss, tier) or (loss.alive and torn):
        return None
    return Choice(tier.name, None, redo if loss.alive else job.within, seconds)


def page_seconds(loss: Loss, tier: Code) -> float | None:
    """Seconds to decode all lost pages; None when a stripe lost more than m of them, or a GPU."""
    if loss.memory:
        return None
    stripes = ceil(tier.pages / tier.k)
    total = tier.pages + tier.m * stripes
    lost: dict[int, set[int]] = {}
    count = 0
    for hit in loss.critical:
        first = int(hit.place * total)
        pages = {page for page in range(first, first + (1 if hit.same_page else hit.rows)) if page < total}
        lost[hit.gpu] = lost.get(hit.gpu, set()) | pages
        count += len(pages)
    for pages in lost.values():
        if tier.interleaved:
            stripe = Counter(page % stripes for page in pages)
        else:
            stripe = Counter(page // tier.k if page < tier.pages else (page - tier.pages) // tier.m for page in pages)
        if max(stripe.values()) > tier.m:
            return None
    return count * tier.decode_page


def member_seconds(job: SlowJob, loss: Loss, tier: Code) -> float | None:
    """Seconds to rebuild the lost members; None when a stripe lost more than m."""
    domains = ceil(job.setup.gpus / tier.domain)
    groups = ceil(domains / (tier.k + tier.m))
    gone = loss.gpus | {f.gpu for f in loss.critical}
    lost = Counter((g // tier.domain * groups // domains, g % tier.domain) for g in gone)
    worst = max(lost.values(), default=0)
    return None if worst > tier.m else tier.rebuild[worst]


def stale(job: SlowJob, loss: Loss, tier: Code) -> bool:
    """Some member of the stripe is not at the parity's version."""
    behind = job.encoded(tier) != job.version
    alone = loss.alive and tier.pages and not any(f.region == "gradients" for f in loss.pages)
    if not alone:  # other ranks hold members, or the update cannot be finished: all must be at one version
        return behind or job.in_update(job.setup.skew)
    if behind and (job.version - job.base) % tier.every:
        return True
    if not behind and not job.in_update():
        return False
    into = job.setup.update + encoding(job, tier) if behind else job.within - (job.setup.step - job.setup.update)
    slot = int(into / (job.setup.update + tier.encode) * tier.buckets)
    return any(slot == int(f.place * tier.buckets) for f in loss.critical)


def encoding(job: SlowJob, tier: Code) -> float:
    """Seconds that the encode of the present version has run."""
    if tier.overlap:
        return job.within
    return tier.stall - next(left for other, left in job.stalls if other is tier)
