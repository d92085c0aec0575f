"""The slow engine while the job stands still: what is gone, who brings it back, and how long that takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from math import ceil, fmod, inf
from typing import TYPE_CHECKING

from tests.oracle.setup import CRITICAL, Code, Failure, Redo, Save, Setup, Store

if TYPE_CHECKING:
    from tests.oracle.slow_engine import SlowJob

LEAST = {"activations": "microbatch", "gradients": "step", "buffers": "step"}  # all other regions: the kernel
START = "start"
ORDER = ("kernel", "layer", "microbatch", "step")
Plan = list[tuple[str, float]]


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


@dataclass(frozen=True)
class Course:
    """Seconds of one recovery: detect, activate a spare beside a reset or reboot, restart, restore."""

    detection: float = 0.0
    activation: float = 0.0
    device: float = 0.0
    restart: float = 0.0
    recovery: float = 0.0

    def plan(self, ready: float) -> Plan:
        """In order, when the last replacement is there `ready` s from now; activation comes after that."""
        waiting = max(self.activation + max(0.0, ready - self.detection), self.device)
        return [
            ("detection", self.detection),
            ("waiting", waiting),
            ("restart", self.restart),
            ("recovery", self.recovery),
        ]


@dataclass(frozen=True)
class Effect:
    """What one failure does to the job under its restart mode."""

    gpus: frozenset[int]
    hosts: frozenset[int]
    everything: bool
    alive: bool
    page: bool  # the page alone is lost
    nodes: int  # to be replaced
    device: float  # reset or reboot, seconds
    restart: float  # process, communicator, warm-up or pause, seconds by kind below
    pause: float


def effect(setup: Setup, failure: Failure) -> Effect:
    """Section 3: what lives on depends on how the job restarts."""
    action, node = failure.action, failure.gpu // setup.per_node
    softly = action in ("none", "restart_app", "drain_and_reset")
    if setup.mode == "in_place" and failure.survives and softly and failure.region != "context":
        again = setup.communicator if failure.region == "buffers" else 0.0
        return Effect(frozenset(), frozenset(), False, True, failure.scope == "pages", 0, 0.0, again, setup.pause)
    rejoins = action in ("reboot", "replace")
    hosts: set[int] = {node} if rejoins else set()
    gpus = {failure.gpu} if failure.scope in ("gpu", "pages", "process") or action == "reset" else set()
    if failure.scope == "node" and action != "none":
        gpus |= set(range(node * setup.per_node, (node + 1) * setup.per_node))
    if failure.scope == "rack" and action != "none":
        first = failure.gpu // setup.per_rack * setup.per_rack
        gpus |= set(range(first, min(first + setup.per_rack, setup.gpus)))
        hosts = {gpu // setup.per_node for gpu in gpus} if rejoins else set()
    for host in hosts:
        gpus |= set(range(host * setup.per_node, (host + 1) * setup.per_node))
    page = False
    if setup.mode == "holder" and failure.scope in ("pages", "process") and action != "reset" and not rejoins:
        gpus, page = set(), failure.scope == "pages"
    whole = setup.mode in ("all_processes", "holder")
    seconds = setup.communicator + setup.warmup + (setup.process if whole or rejoins else 0.0)
    device = {"reset": setup.reset, "reboot": setup.reboot}.get(action, 0.0)
    nodes = max(1, len(hosts)) if action == "replace" else 0
    lost = setup.mode == "all_processes"
    return Effect(frozenset(gpus), frozenset(hosts), lost, False, page, nodes, device, seconds, 0.0)


def recover(job: SlowJob, failure: Failure, since: float | None) -> None:
    """From the failure that stopped the job until it runs again; failures meanwhile start the recovery anew."""
    loss, course, wasted, struck, ready = Loss(), Course(), 0.0, 0, 0.0
    while True:
        struck += 1
        done = effect(job.setup, failure)
        add(job, loss, failure, done, since)
        choice = choose(job, loss)
        if choice.version is not None:
            loss.killed_at = min(loss.killed_at, job.wall)  # what is being written is given up
        here = waste(job, loss, choice)
        job.seconds["productive"] -= here - wasted
        job.seconds["wasted"] += here - wasted
        wasted = here
        ready = max(ready, replacements(job, failure, done))
        fresh = course_of(job, 0.0 if since is not None else failure.detect, done, loss, choice)
        again = replace(course, recovery=max(course.recovery, fresh.recovery))
        course = max(fresh, again, key=lambda c: sum(s for _, s in c.plan(ready - job.wall)))
        failure, since, over = stand(job, course.plan(ready - job.wall))
        if over:
            break
    job.recovered_by[choice.tier] += struck
    resume(job, loss, choice)


def add(job: SlowJob, loss: Loss, failure: Failure, done: Effect, since: float | None) -> None:
    """One failure more."""
    loss.gpus |= done.gpus
    job.hosts_lost |= done.hosts
    loss.everything |= done.everything
    loss.pages += [failure] if done.page else []
    job.remaps += failure.action == "drain_and_reset"
    if since is not None:
        loss.corrupt_since = min(loss.corrupt_since, since)
    if not done.alive:
        loss.alive = False
        loss.killed_at = min(loss.killed_at, job.wall)
    for save in (s for saves in job.saves.values() for s in saves):
        save.hosts_lost |= done.hosts


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
        there = there[-tier.keep_count :]
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


def waste(job: SlowJob, loss: Loss, choice: Choice) -> float:
    """Useful seconds that have to be worked again."""
    useful = job.setup.step - job.setup.slower
    share = useful / job.setup.step
    if loss.alive and choice.version is None:
        return choice.redo * share
    whole = 0 if choice.version is None else job.version - choice.version
    return whole * useful + job.within * share


def replacements(job: SlowJob, failure: Failure, done: Effect) -> float:
    """Send the broken nodes to repair, take the spares that are there first; when the last of them is at hand."""
    ready = 0.0
    for _ in range(done.nodes):
        job.spares.append(job.wall + failure.repair)
    for _ in range(done.nodes):
        first = min(job.spares)
        job.spares.remove(first)
        ready = max(ready, first)
    return ready


def course_of(job: SlowJob, detect: float, done: Effect, loss: Loss, choice: Choice) -> Course:
    """What this failure makes the job wait for."""
    device = done.device
    if job.remaps and refills(job, loss, choice):
        device = max(device, job.setup.reset)  # pending row remaps are served at this restart
    same_life = loss.alive and choice.version is None
    recovery = choice.seconds + done.pause + (0.0 if same_life else job.setup.encode_anew)
    return Course(detect, job.setup.activation if done.nodes else 0.0, device, done.restart, recovery)


def refills(job: SlowJob, loss: Loss, choice: Choice) -> bool:
    """Processes start anew and load the state from outside GPU memory: a reset destroys nothing that is needed."""
    outside = {START, *(t.name for t in job.setup.tiers if isinstance(t, Store))}
    return not loss.alive and choice.tier in outside


def stand(job: SlowJob, plan: Plan) -> tuple[Failure, float | None, bool]:
    """Go through the plan until its end, the horizon or a failure that stops the job: (failure, since, over)."""
    for column, seconds in plan:
        end = job.wall + seconds
        while True:
            when, failure, since = job.next_failure(running=False)
            stop = min(end, when, job.setup.horizon)
            job.seconds[column] += stop - job.wall
            job.wall = stop
            if stop == job.setup.horizon:
                return failure, since, True
            if stop == end:
                break
            if job.strike(failure, since):
                return failure, since, False
    return failure, since, True


def resume(job: SlowJob, loss: Loss, choice: Choice) -> None:
    """Run again."""
    if loss.alive and choice.version is None:
        job.within -= choice.redo
        return
    if choice.version is not None:
        job.version = choice.version
        job.remaps = 0 if refills(job, loss, choice) else job.remaps
        job.hidden = [h for h in job.hidden if h[1] < choice.captured]
    job.base, job.within, job.stalls = job.version, 0.0, []
    for tier in job.setup.tiers:
        if isinstance(tier, Code):
            job.parity[tier.name] = job.version
            job.saves[tier.name] = [Save(job.version, job.wall, job.wall)] if tier.snapshot else []
        elif isinstance(tier, Store):
            lineage = [s for s in job.saves[tier.name] if s.version <= job.version]
            job.saves[tier.name] = [s for s in lineage if s.usable <= loss.killed_at]
            if choice.tier == START:  # what the job began with is there as it was, where its hosts are
                job.saves[tier.name] = [Save(0, 0.0, 0.0, set(job.hosts_lost))]
