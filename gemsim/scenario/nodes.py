"""Spec to the plan of the nodes beside the job."""

from __future__ import annotations

from math import inf

from gemsim.scenario.failures import time_law
from gemsim.scenario.fleet import (
    ChecksPlan,
    FleetPlan,
    Parts,
    RepairPlan,
    RetirePlan,
    SparesPlan,
    Stage,
    hot_spares,
)
from gemsim.spec.fleet import ChecksSpec, RepairSpec, RetireSpec, SparesSpec
from gemsim.spec.study import StudySpec


def fleet(spec: StudySpec) -> FleetPlan:
    """All that the study says of spares, repair, retirement and checks."""
    given, cluster = spec.fleet, spec.cluster
    if given.spares is None:
        spares = hot_spares(cluster.spare_nodes, cluster.spare_activation)
    else:
        spares = _spares(given.spares, cluster.nodes_per_rack)
    return FleetPlan(
        spares,
        None if given.repair is None else _repair(given.repair),
        None if given.retire is None else _retire(given.retire),
        None if given.checks is None else _checks(given.checks),
    )


def _spares(given: SparesSpec, per_rack: int) -> SparesPlan:
    wait = given.activation
    return SparesPlan(
        hot=given.hot,
        warm=given.warm,
        cold=given.cold,
        unit=per_rack if given.unit == "rack" else 1,
        activation=(wait.hot, wait.warm, wait.cold),
        join_fails=given.join_fails,
        join_timeout=given.join_timeout,
        selection=given.selection,
        borrow=given.borrow,
        borrow_each=given.borrow_each,
        reshuffle=given.choose == "random",
        short=given.short,
        placed=given.placed,
    )


def _repair(given: RepairSpec) -> RepairPlan:
    stages = tuple(Stage(s.name, time_law(s.time), s.escalate, s.silent, s.crews) for s in given.stages)
    parts = given.parts
    return RepairPlan(
        stages, given.misdiagnosis, None if parts is None else Parts(parts.needed, parts.stock, time_law(parts.lead))
    )


def _retire(given: RetireSpec) -> RetirePlan:
    restock = inf if given.restock is None else given.restock
    if given.after is not None and given.within is not None:
        return RetirePlan(float(given.after), given.within, inf, restock)
    return RetirePlan(given.score or 0.0, inf, given.half_life or inf, restock)


def _checks(given: ChecksSpec) -> ChecksPlan:
    return ChecksPlan(given.every, given.finds, given.false_positives)
