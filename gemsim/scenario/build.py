"""Study point + calibration profile -> Scenario. The only place that joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan

from gemsim.costs.profiles import Profile, load_profile
from gemsim.errors import Infeasible
from gemsim.failures.classes import FALSE_ALARM, FailureClass
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.damage import Grid
from gemsim.protection.interval import optimal_interval
from gemsim.protection.kinds import Job
from gemsim.protection.recent import Recent
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.state import Memory
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import Platform, Tier
from gemsim.protection.timeline import Timeline
from gemsim.scenario.failures import classes
from gemsim.scenario.intervals import Chosen, timeline, with_intervals
from gemsim.scenario.model import Restart, Scenario
from gemsim.scenario.nodes import fleet
from gemsim.scenario.racks import effective
from gemsim.scenario.shop import refuse_overload
from gemsim.scenario.state import memory, steps
from gemsim.scenario.tiers.make import make_tiers
from gemsim.scenario.tiers.workshop import Workshop
from gemsim.spec import catalog
from gemsim.spec.study import StudySpec
from gemsim.units import brief as text

COMMUNICATOR = (17.0, 16384, 1.376)  # s, GPUs, exponent: through 17 s at 16 k and 200 s at 98 k GPUs (arXiv 2602.00277)
RARE = 1 / (1000 * 365.25 * 86400)  # failures per second below which a number says no more than "hardly any"

_MEMORY: Recent[Memory] = Recent()
_CLASSES: Recent[tuple[FailureClass, ...]] = Recent()


def build(spec: StudySpec, *, profile: Profile | None = None) -> Scenario:
    """The scenario of one design point. Raises Infeasible when the point cannot exist, ProfileError without a
    profile."""
    profile = load_profile(spec.profile, spec.folder) if profile is None else profile
    cluster = spec.cluster
    held = _MEMORY.of((cluster, spec.workload), (), lambda: memory(spec))
    grid = Grid(
        cluster.gpus,
        min(cluster.gpus, cluster.gpus_per_node),
        cluster.gpus_per_node * cluster.nodes_per_rack,
        cluster.gpus_per_node * cluster.nodes_per_rack * cluster.racks_per_switch,
        cluster.gpus_per_node * cluster.nodes_per_rack * cluster.racks_per_power,
    )
    shop = Workshop(spec, held, grid, profile)
    tiers = make_tiers(shop)
    _fit_memory(tiers, held.bytes_of("free"))
    slower = sum(tier.overhead().slower for tier in tiers)
    platform = Platform(grid, held, steps(spec, held, slower))
    plan = fleet(spec)
    fires = _CLASSES.of((cluster, spec.failures), (grid, spec.fleet), lambda: classes(spec, grid, plan.spares))
    plan = effective(plan, fires)
    job = Job(platform, Timeline(platform.steps.length, ()), tiers, fires, spec.restart.mode, cluster.replace)
    tiers, chosen = with_intervals(replace(job, timeline=timeline(platform, tiers)), restart(spec), plan.spares)
    notes = _notes(chosen, spec.workload.step)
    built = Scenario(
        platform=platform,
        useful_step=spec.workload.step,
        timeline=timeline(platform, tiers),
        classes=fires,
        tiers=tiers,
        restart=restart(spec),
        fleet=plan,
        replace_unit=cluster.replace,
        encode_anew=sum(t.cadence.encode for t in tiers if isinstance(t, (PageStripe, MemberStripe))),
        horizon=_horizon(spec),
        work_steps=spec.run.steps or 0,
        stationary=spec.run.start == "stationary",
        profile=profile.id,
        modelled=profile.kind == "modelled",
        interval_seconds=chosen[-1].tier.every * spec.workload.step if chosen else nan,
        reach_rate=chosen[-1].rate if chosen else nan,
        geometry=catalog.gpu(cluster.gpu).geometry if spec.failures.remap_budget else None,
        shrunk=shrunk(spec, tiers),
        remap_now=spec.failures.remap == "now",
        replay=None if spec.failures.replay is None else spec.failures.replay.plan((FALSE_ALARM,)),
        notes=(*shop.notes, *notes, *([spec.failures.replay.note()] if spec.failures.replay is not None else [])),
    )
    refuse_overload(built)
    return built


def shrunk(spec: StudySpec, tiers: tuple[Tier, ...]) -> ReplicaGroup | None:
    """How the job runs on with less while no spare is at hand: without the data-parallel groups that lack a node, all
    of whom start anew when these come back (assumption). Raises Infeasible."""
    spares, groups = spec.fleet.spares, spec.workload.parallel.data
    if spares is None:
        return None
    less = spares.short == "shrink" or any(isinstance(tier, ReplicaGroup) for tier in tiers)
    if less and spares.choose == "random":
        raise Infeasible("fleet.spares.choose: random is not built beside shrink or a replica_group tier")
    if spares.short != "shrink":
        return None
    if any(isinstance(tier, ReplicaGroup) for tier in tiers):
        raise Infeasible("fleet.spares.short: shrink beside a replica_group tier, which runs on with less by itself")
    if groups < 2:
        raise Infeasible("fleet.spares.short: shrink needs data-parallel groups to do without (workload.parallel.data)")
    times = restart(spec)
    return ReplicaGroup(
        number=-1, name="shrink", groups=groups, out="group", stall=0.0, discard=False, quorum=0.0, catch_up=0.0,
        catch_up_stall=times.process + times.communicator + times.warmup, minimum=1, join_timeout=inf, bubbles=0.0,
    )  # fmt: skip


def restart(spec: StudySpec) -> Restart:
    """Restart times; the communicator's grows with the job where the study does not give it."""
    seconds, gpus, exponent = COMMUNICATOR
    given = spec.restart
    communicator = (
        seconds * (spec.cluster.gpus / gpus) ** exponent if given.communicator is None else given.communicator
    )
    return Restart(given.mode, given.process, communicator, given.warmup, given.pause, given.reset, given.reboot)


def _horizon(spec: StudySpec) -> float:
    """Wall seconds at which the run stops at the latest; a work target may take ten times its useful time by
    default."""
    if spec.run.horizon is not None:
        return spec.run.horizon
    return spec.run.max_wall or 10.0 * (spec.run.steps or 0) * spec.workload.step


def _fit_memory(tiers: tuple[Tier, ...], free: float) -> None:
    needed = sum(tier.overhead().memory for tier in tiers)
    if needed > free:
        raise Infeasible(f"parity and snapshots need {text(needed, 'bytes')} per GPU, {text(free, 'bytes')} are free")


def _notes(chosen: Sequence[Chosen], step: float) -> list[str]:
    """What was chosen, for each tier that saves."""
    return [
        _saying(one.tier, one.tier.every * step, one.rate, optimal=one.optimal)
        + (" (each during the recovery of another)" if one.pairs else "")
        for one in chosen
    ]


def _saying(tier: Checkpoint, interval: float, rate: float, *, optimal: bool) -> str:
    if tier.every == NEVER:
        return f"Tier {tier.name}: no failure reaches it, so it is never written"
    kind = ", optimal" if optimal else ", as given"
    if optimal and optimal_interval(tier.blocked, rate) < tier.lag:
        kind = ", its write time: the optimum would be shorter"
    steps = "step" if tier.every == 1 else f"{tier.every} steps"
    return f"Tier {tier.name}: saves every {steps} ({text(interval, 'time')} of work{kind}); {_reached(rate)}"


def _reached(rate: float) -> str:
    if rate < RARE:
        rare = "hardly any failure, under one in 1,000 years," if rate > 0.0 else "no failure"
        return f"{rare} rolls back to it"
    return f"{rate * 86400:.3g} failures per day roll back to it"
