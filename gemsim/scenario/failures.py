"""Spec to failure classes: rates per clock, laws with their means, and the clocks on spares."""

from __future__ import annotations

from gemsim.failures.classes import FailureClass
from gemsim.failures.laws import Duration, duration, lifetime
from gemsim.spec.failures import FailureClassSpec, LawSpec
from gemsim.spec.study import StudySpec

SPARES_CAN_FAIL = ("gpu", "node")  # scopes whose replacement takes a node out of the pool


def classes(spec: StudySpec) -> tuple[FailureClass, ...]:
    """All classes of the study that fire at all."""
    return tuple(_class(spec, one) for one in spec.failures.resolved() if one.rate.value > 0.0)


def _class(spec: StudySpec, one: FailureClassSpec) -> FailureClass:
    cluster = spec.cluster
    rate = one.job_rate(gpus=cluster.gpus, gpus_per_node=cluster.gpus_per_node)
    units = {"gpu": cluster.gpus, "node": cluster.nodes, "job": 1}[one.clock]
    spare_per_node = {"gpu": cluster.gpus_per_node, "node": 1, "job": 0}[one.clock]
    fails_idle = one.scope in SPARES_CAN_FAIL and one.action == "replace" and one.exposure == "wall"
    return FailureClass(
        name=one.name,
        scope=one.scope,
        lifetime=lifetime(one.law.kind, units / rate, one.law.shape),
        clock=one.clock,
        units=units,
        spare_units=cluster.spare_nodes * spare_per_node if fails_idle else 0,
        after_repair=one.after_repair,
        exposure=one.exposure,
        detect=_duration(one.detect),
        contained=one.contained or 0.0,
        rows=tuple(one.rows),
        rows_to_pages=one.rows_to_pages,
        lands=one.lands,
        action=one.action,
        uncontained_action=one.uncontained_action,
        process_survives=one.process_survives,
        repair=duration("fixed", 0.0) if one.repair is None else _duration(one.repair),
        evict_on_detect=one.evict_on_detect,
    )


def _duration(law: LawSpec) -> Duration:
    return duration(law.kind, law.mean, law.sigma)
