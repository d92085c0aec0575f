"""Spec to failure classes: rates per clock, laws with their means, clocks on spares, and what is struck together."""

from __future__ import annotations

from dataclasses import replace

from gemsim.failures.classes import FALSE_ALARM, NO_TIME, Batch, FailureClass, Frailty, Recurrence
from gemsim.failures.laws import Duration, duration, lifetime
from gemsim.protection.damage import Grid
from gemsim.scenario.fleet import SparesPlan
from gemsim.spec.failures import FailureClassSpec
from gemsim.spec.laws import FrailtySpec, LawSpec
from gemsim.spec.study import StudySpec

SPARES_CAN_FAIL = ("gpu", "node")  # scopes whose replacement takes a node out of the pool


def classes(spec: StudySpec, grid: Grid, spares: SparesPlan) -> tuple[FailureClass, ...]:
    """All classes of the study that fire at all; one with a common cause becomes two."""
    found = []
    for one in spec.failures.resolved():
        if one.rate.value > 0.0:
            found += _common(one, _class(spec, one, grid, spares), grid)
    return (*found, *_false_alarms(spec))


def _false_alarms(spec: StudySpec) -> tuple[FailureClass, ...]:
    """Healthy nodes that a health check takes out."""
    checks = spec.fleet.checks
    if checks is None or checks.false_positives == 0.0:
        return ()
    return (
        FailureClass(
            name=FALSE_ALARM, scope="slow", lifetime=lifetime("exponential", checks.every / checks.false_positives),
            clock="node", units=spec.cluster.nodes, spare_units=0, after_repair="as_new", exposure="wall",
            detect=NO_TIME, contained=0.0, rows=((1, 1.0),), rows_to_pages="adjacent_pages", lands="used",
            action="replace", uncontained_action="reset", process_survives=False, repair=NO_TIME, evict_on_detect=True,
        ),
    )  # fmt: skip


def _class(spec: StudySpec, one: FailureClassSpec, grid: Grid, spares: SparesPlan) -> FailureClass:
    cluster = spec.cluster
    rate = one.job_rate(gpus=cluster.gpus, gpus_per_node=cluster.gpus_per_node)
    units = {"gpu": cluster.gpus, "node": cluster.nodes, "job": 1}[one.clock]
    per_node = {"gpu": cluster.gpus_per_node, "node": 1, "job": 0}[one.clock]
    fails_idle = one.scope in SPARES_CAN_FAIL and one.action == "replace" and one.exposure == "wall"
    frailty = None if one.frailty is None else _frailty(one.frailty)
    return FailureClass(
        name=one.name,
        scope=one.scope,
        lifetime=lifetime(one.law.kind, units / rate, one.law.shape),
        clock=one.clock,
        units=units,
        spare_units=(spares.hot + spares.warm) * per_node if fails_idle else 0,
        after_repair=one.after_repair,
        exposure=one.exposure,
        detect=time_law(one.detect),
        contained=one.contained or 0.0,
        rows=tuple(one.rows),
        rows_to_pages=one.rows_to_pages,
        lands=one.lands,
        action=one.action,
        uncontained_action=one.uncontained_action,
        process_survives=one.process_survives,
        repair=NO_TIME if one.repair is None else time_law(one.repair),
        evict_on_detect=one.evict_on_detect,
        fails_idle=fails_idle,
        devices=_devices(spec, units, (spares.nodes + spares.borrow) * per_node) if frailty else 0,
        frailty=frailty,
        drift=one.drift or (),
        batch=None if one.batch is None else Batch(one.batch.sizes, one.batch.within, _domain(one, grid)),
        recurrence=_recurrence(one),
        slower=one.slower or 0.0,
        notice=one.notice or 0.0,
        stop=NO_TIME if one.stop is None else time_law(one.stop),
        latent=0.0 if one.latent is None else one.latent.share,
        read=NO_TIME if one.latent is None else time_law(one.latent.read),
    )


def _devices(spec: StudySpec, units: int, beside: int) -> int:
    """Clock units of the whole fleet: of the job, of nodes beside it, and as many again where new nodes are bought."""
    rule = spec.fleet.retire
    return units + beside + (units if rule is not None and rule.restock is not None else 0)


def _common(one: FailureClassSpec, kind: FailureClass, grid: Grid) -> list[FailureClass]:
    """Beta factor: the failures that each unit has alone, and those that take all units of its domain."""
    cause = one.common_cause
    if cause is None or cause.beta == 0.0:
        return [kind]
    units = _units(one, cause.within, grid)
    mean = 1.0 if kind.frailty is None else kind.frailty.mean
    shared = replace(
        kind,
        name=f"{kind.name}+{cause.within}",
        lifetime=lifetime("exponential", kind.lifetime.mean / cause.beta / mean),
        batch=Batch(((units, 1.0),), cause.within, units),
        frailty=None,
        recurrence=None,
    )
    if cause.beta == 1.0:
        return [shared]
    return [replace(kind, lifetime=lifetime("exponential", kind.lifetime.mean / (1.0 - cause.beta))), shared]


def _domain(one: FailureClassSpec, grid: Grid) -> int:
    assert one.batch is not None
    return _units(one, one.batch.within, grid)


def _units(one: FailureClassSpec, domain: str, grid: Grid) -> int:
    """Clock units of a class in one domain."""
    gpus = grid.gpus if domain == "cluster" else min(grid.size(domain), grid.gpus)
    return gpus if one.clock == "gpu" else max(1, gpus // grid.per_node)


def _frailty(law: FrailtySpec) -> Frailty:
    """The multiples of a study; those of lemons so that the mean over devices, or a good device, has the rate."""
    if law.kind == "gamma":
        return Frailty("gamma", shape=law.shape or 1.0)
    share, multiplier = law.share or 0.0, law.multiplier or 1.0
    good = 1.0 if law.of == "good" else 1.0 / (1.0 + share * (multiplier - 1.0))
    return Frailty("lemons", share=share, multiplier=multiplier, good=good)


def _recurrence(one: FailureClassSpec) -> Recurrence | None:
    law = one.recurrence
    return None if law is None else Recurrence(law.again, lifetime(law.gap.kind, law.gap.mean, law.gap.shape))


def time_law(law: LawSpec) -> Duration:
    """A law of times, of a study."""
    return duration(law.kind, law.mean, law.sigma)
