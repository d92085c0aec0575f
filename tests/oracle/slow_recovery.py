"""The slow engine while the job stands still: what a failure does, how long a recovery takes, how the job goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.oracle.setup import Code, Failure, Save, Setup, Store
from tests.oracle.slow_choice import START, Choice, Loss, choose

if TYPE_CHECKING:
    from tests.oracle.slow_engine import SlowJob

Plan = list[tuple[str, float]]


@dataclass(frozen=True)
class Course:
    """Seconds of one recovery: detect, activate a spare beside a reset or reboot, restart, restore."""

    detection: float = 0.0
    saving: float = 0.0  # before a stop for row remaps
    activation: float = 0.0
    device: float = 0.0
    restart: float = 0.0
    recovery: float = 0.0

    def plan(self, ready: float) -> Plan:
        """In order, when the last replacement is there `ready` s from now; activation comes after that."""
        waiting = max(self.activation + max(0.0, ready - self.detection - self.saving), self.device)
        return [
            ("detection", self.detection),
            ("recovery", self.saving),
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
    restart: float  # process, communicator, warm-up: seconds


def effect(setup: Setup, failure: Failure) -> Effect:
    """Section 3: what lives on depends on how the job restarts."""
    action, node = failure.action, failure.gpu // setup.per_node
    softly = action in ("none", "restart_app", "drain_and_reset")
    if setup.mode == "in_place" and failure.survives and softly and failure.region != "context":
        again = setup.communicator if failure.region == "buffers" else 0.0
        return Effect(frozenset(), frozenset(), False, True, failure.scope == "pages", 0, 0.0, again)
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
    done = Effect(frozenset(gpus), frozenset(hosts), lost, False, page, nodes, device, seconds)
    return replace(done, device=setup.reset) if resets_anyhow(setup, failure, done) else done


def resets_anyhow(setup: Setup, failure: Failure, done: Effect) -> bool:
    """`remap: now`: the process is dead and the GPU's memory with it, so its row is remapped then and there."""
    gone = not done.alive and (done.everything or failure.gpu in done.gpus)
    return setup.remap_now and failure.action == "drain_and_reset" and gone


def recover(job: SlowJob, failure: Failure, since: float | None) -> None:
    """From the failure that stopped the job until it runs again."""
    stand_through(job, failure, since, Loss(), Course(), 0.0)


def stand_through(
    job: SlowJob,
    failure: Failure,
    since: float | None,
    loss: Loss,
    course: Course,
    wasted: float,
    *,
    stop: bool = False,
) -> None:
    """Failures meanwhile start the recovery anew; with `stop` the first strikes a job that stands on purpose."""
    struck, ready = 0, 0.0
    while True:
        struck += 1
        done = effect(job.setup, failure)
        add(job, loss, failure, done, since)
        choice = choose(job, loss)
        if choice.version is not None or not loss.alive:
            loss.killed_at = min(loss.killed_at, job.wall)  # what is being written is given up
        here = waste(job, loss, choice)
        job.seconds["productive"] -= here - wasted
        job.seconds["wasted"] += here - wasted
        wasted = here
        ready = max(ready, replacements(job, failure, done))
        fresh = course_of(job, 0.0 if since is not None else failure.detect, done, loss, choice)
        again = replace(course, saving=0.0, recovery=max(course.recovery, fresh.recovery))
        course = together(fresh, again, ready - job.wall) if struck > 1 or stop else fresh
        failure, since, over = stand(job, course.plan(ready - job.wall))
        if over:
            break
    job.recovered_by[choice.tier] += struck
    resume(job, loss, choice)


def together(one: Course, other: Course, ready: float) -> Course:
    """Nothing that either needs is dropped and neither is shortened: the steps of the one with more to do after
    detection; if the other takes longer in all, it does so by noticing later."""

    def all_of(course: Course) -> float:
        return sum(seconds for _, seconds in course.plan(ready))

    def work(course: Course) -> float:
        """After the detection, when nobody is waited for."""
        return sum(seconds for column, seconds in course.plan(0.0) if column != "detection")

    steps, rest = (one, other) if work(one) >= work(other) else (other, one)
    if all_of(steps) >= all_of(rest):
        return steps
    return replace(steps, detection=all_of(rest) - work(steps))


def add(job: SlowJob, loss: Loss, failure: Failure, done: Effect, since: float | None) -> None:
    """One failure more."""
    loss.gpus |= done.gpus
    loss.everything |= done.everything
    loss.pages += [failure] if done.page else []
    if failure.action == "drain_and_reset" and not resets_anyhow(job.setup, failure, done):
        job.remaps.append(failure.gpu)
    if since is not None:
        loss.corrupt_since = min(loss.corrupt_since, since)
    if not done.alive:
        loss.alive = False
        loss.killed_at = min(loss.killed_at, job.wall)
    for save in (s for saves in job.saves.values() for s in saves):
        save.hosts_lost |= done.hosts


def waste(job: SlowJob, loss: Loss, choice: Choice) -> float:
    """Useful seconds that have to be worked again."""
    useful = job.setup.step - job.setup.slower
    share = useful / job.setup.step
    if loss.alive and choice.version is None:
        return choice.redo * share
    whole = 0 if choice.version is None else job.version - choice.version
    return whole * useful + job.within * share


def replacements(job: SlowJob, failure: Failure, done: Effect) -> float:
    """Send the broken nodes to repair, take the spares that are there first; when the last of them is at hand.

    Where the one before has left and nobody is at hand yet, there is no node to break.
    """
    ready = 0.0
    places = (done.hosts or {failure.gpu // job.setup.per_node}) if done.nodes else set()
    there = [place for place in places if job.manned(place) < job.wall]
    for _ in there:
        job.spares.append(job.wall + failure.repair)
    for _ in there:
        first = min(job.spares)
        job.spares.remove(first)
        job.came.append(max(first, job.wall))
        ready = max(ready, first)
    job.asked.append(there)
    job.remaps = [gpu for gpu in job.remaps if gpu // job.setup.per_node not in there]  # their rows went with them
    return ready


def course_of(job: SlowJob, detect: float, done: Effect, loss: Loss, choice: Choice) -> Course:
    """What this failure makes the job wait for."""
    device = done.device
    if job.remaps and refills(job, loss, choice):
        device = max(device, job.setup.reset)  # pending row remaps are served at this restart
    same_life = loss.alive and choice.version is None
    pause = job.setup.pause if loss.alive else 0.0  # a job that restarts is not paused
    recovery = choice.seconds + pause + (0.0 if same_life else job.setup.encode_anew)
    return Course(detect, 0.0, job.setup.activation if done.nodes else 0.0, device, done.restart, recovery)


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
        job.remaps = [] if refills(job, loss, choice) else job.remaps
        job.hidden = [h for h in job.hidden if h[1] < choice.captured]
    job.base, job.within, job.stalls = job.version, 0.0, []
    for tier in job.setup.tiers:
        if isinstance(tier, Code):
            job.parity[tier.name] = job.version
            job.saves[tier.name] = [Save(job.version, job.wall, job.wall)] if tier.snapshot else []
        elif isinstance(tier, Store):
            lineage = [s for s in job.saves[tier.name] if s.version <= job.version]
            job.saves[tier.name] = [s for s in lineage if s.usable <= loss.killed_at]
