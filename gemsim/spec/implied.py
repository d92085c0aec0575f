"""What a study implies and does not say: classes that are two, how often batches start, whom frailty reaches.

Rows for the reader of `gemsim check`; nothing here is part of the study.
"""

from __future__ import annotations

from typing import NamedTuple

from gemsim import units
from gemsim.failures.classes import FALSE_ALARM
from gemsim.spec.across import room
from gemsim.spec.cluster import ClusterSpec
from gemsim.spec.failures import FailureClassSpec, FailuresSpec
from gemsim.spec.fleet import FleetSpec
from gemsim.spec.study import StudySpec

_PLURALS = {"gpu": "GPUs", "node": "nodes"}
_DOMAINS = {"rack": "rack", "switch": "switch", "power": "power domain"}


class Explained(NamedTuple):
    """One value of a study: its path, its text, and "given", a source, or "assumption"."""

    path: str
    value: str
    origin: str


def implied(spec: StudySpec, part: str) -> list[Explained]:
    """The rows that belong to one part, "failures" or "fleet", each at a path of its own."""
    if part == "fleet":
        return _repairs(spec) + _alarms(spec.fleet, spec.cluster) + _replaced(spec)
    rows = _reached(spec.failures) + _replayed(spec.failures)
    for one in spec.failures.resolved():
        rows += _common(one, spec.cluster) + _starts(one, spec.cluster)
    return rows


def _repairs(spec: StudySpec) -> list[Explained]:
    """Whose repair times the stages of `fleet.repair` stand in for."""
    names = [one.name for one in spec.failures.resolved() if one.repair is not None]
    if spec.fleet.repair is None or not names:
        return []
    return [
        Explained("fleet.repair.replaces", f"the repair times of {', '.join(names)}", "derived: these are not used")
    ]


def _replaced(spec: StudySpec) -> list[Explained]:
    """Keys of the short form of the spares that are given and not used."""
    if spec.fleet.spares is None or "spare_activation" not in spec.cluster.model_fields_set:
        return []
    return [Explained("cluster.spare_activation", "not used", "fleet.spares.activation is")]


def _reached(failures: FailuresSpec) -> list[Explained]:
    """Whom the frailty and the drift of all classes reach."""
    rows = []
    own = {one.name: one for one in failures.unlaid()}
    for key in ("frailty", "drift"):
        if getattr(failures, key) is not None:
            reached = [one.name for one in failures.resolved() if getattr(one, key) and not getattr(own[one.name], key)]
            left = [name for name in own if name not in reached]
            value = f"of {', '.join(reached) or 'no class'}" + (f"; not of {', '.join(left)}" if left else "")
            rows.append(Explained(f"failures.{key}.reaches", value, "derived from scope, clock, law and own keys"))
    return rows


def _replayed(failures: FailuresSpec) -> list[Explained]:
    """The classes of a log that is replayed, each with its mean rate and the law through its down times."""
    rows = []
    for one in failures.unlaid() if failures.replay is not None else ():
        value = f"1 / {1 / one.rate.value / 3600:,.1f} node h"
        if one.repair is not None:
            sigma = "" if one.repair.sigma is None else f" (sigma {one.repair.sigma:.3g})"
            value += f", repair {one.repair.kind} {units.brief(one.repair.mean, 'time')}{sigma}"
        rows.append(Explained(f"failures.{one.name}", value, one.source))
    return rows


def _common(one: FailureClassSpec, cluster: ClusterSpec) -> list[Explained]:
    cause = one.common_cause
    if cause is None or cause.beta == 0.0:
        return []
    struck = _of_job(one, cluster, cause.within)
    several, domain = _PLURALS[one.clock], _DOMAINS[cause.within]
    value = f"{cause.beta:.4g} of the failures of {one.name}: all {struck} {several} of a {domain} at once"
    note = f"derived from common_cause: a class of its own; the other {1 - cause.beta:.4g} stay {one.name}, one by one"
    return [Explained(f"failures.{one.name}+{cause.within}", value, note)]


def _starts(one: FailureClassSpec, cluster: ClusterSpec) -> list[Explained]:
    batch = one.batch
    if batch is None:
        return []
    most = _of_job(one, cluster, batch.within)
    mean = sum(min(size, most) * share for size, share in batch.sizes)
    largest = max(size for size, share in batch.sizes if share > 0.0)
    cut = f"; cut at the {most} that the job has there" if largest > most else ""
    value = f"{mean:.4g} {_PLURALS[one.clock]} at one instant on average{cut}"
    return [Explained(f"failures.{one.name}.starts", value, f"derived; starts come at the rate / {mean:.4g}")]


def _alarms(fleet: FleetSpec, cluster: ClusterSpec) -> list[Explained]:
    checks = fleet.checks
    if checks is None or checks.false_positives == 0.0:
        return []
    per_day = cluster.nodes * checks.false_positives * 86400.0 / checks.every
    value = f"{per_day:.4g} healthy nodes of the job per day are taken out"
    each = units.format(checks.every, "time")
    return [Explained(f"failures.{FALSE_ALARM}", value, f"derived: false_positives × nodes, each {each}")]


def _of_job(one: FailureClassSpec, cluster: ClusterSpec, within: str) -> int:
    """Clock units of the job in one domain."""
    whole = cluster.gpus if one.clock == "gpu" else cluster.nodes
    return whole if within == "cluster" else min(whole, room(cluster, within, one.clock))
