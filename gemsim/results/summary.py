"""The summary of a sweep: one row per design point, from the rows of its replications.

A pure function of the points, the rows and the number of replications, so any way of running gives the same table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from gemsim.results import costs, estimate
from gemsim.results.choice import Candidate, Choice, choose
from gemsim.results.costs import Bill
from gemsim.results.estimate import Floats, Interval
from gemsim.results.families import Family, GroupKey, families
from gemsim.results.inputs import INPUT_COLUMNS, Inputs, input_columns, input_difference
from gemsim.results.ledger import LEDGER
from gemsim.results.rows import FLEET
from gemsim.results.runs import by_design, recoveries

RESULT_COLUMNS = (
    *("variant", "feasible", "reason", "replications", "stopped_by", "ettr", "ettr_lo", "ettr_hi", "ettr_meta"),
    *("ettr_diff", "ettr_diff_lo", "ettr_diff_hi", "best", "tied"),
    *("fleet_diff", "fleet_diff_lo", "fleet_diff_hi"),
    *INPUT_COLUMNS,
    *("ettr_analytic", "analytic_kind", "analytic_error", "z_analytic", "analytic_note"),
    *("failures_analytic", "fallback_per_failure_analytic", "wasted_s_per_failure_analytic"),
    *("cost_s_per_failure_analytic", "overhead_analytic"),
    *("step_overhead", "memory_overhead", "survivable_burst_pages", "blind_falls_per_run"),
    *("interval_s", "optimum_ettr", "spare_nodes"),
    *("wall_s", "wall_s_lo", "wall_s_hi", "failures", "failures_lo", "failures_hi"),
    *("wasted_s_per_failure", "cost_s_per_failure"),
    *("fallback_per_failure", "fallback_per_failure_lo", "fallback_per_failure_hi", "rollback_per_failure"),
    "recovered_by",
    *("unrecoverable_per_run", "unrecoverable_per_run_lo", "unrecoverable_per_run_hi"),
    *("unrecoverable_analytic", "unrecoverable_note"),
    *("touch_share_failures", "touch_share_lost", "ettr_perfect"),
    *("interruptions", "failures_idle", "planned_stops", "found_early"),
    *("joins_failed", "selections", "borrowed", "retired"),
    *(f"time_{name}" for name in LEDGER),
    *costs.COLUMNS,
    *("caution", "profile", "modelled", "point"),
)
_STATIC = (
    *("step_overhead", "memory_overhead", "survivable_burst_pages", "blind_falls_per_run"),
    *("interval_s", "optimum_ettr", "spare_nodes", "unrecoverable_analytic", "unrecoverable_note"),
    *("profile", "modelled"),
)
_TWIN = (
    *("ettr_analytic", "analytic_kind", "analytic_error", "analytic_note"),
    *("failures_analytic", "fallback_per_failure_analytic", "wasted_s_per_failure_analytic"),
    *("cost_s_per_failure_analytic", "overhead_analytic"),
)

PER_RUN = ("interruptions", "failures_idle", *FLEET)  # counts, shown as their mean over replications

ROUNDING = 1e-12  # share of the wall time below which a sum is rounding
EXTRAPOLATED = "EXTRAPOLATED"  # in a note: a cost lies beyond what its profile holds
BEYOND_PROFILE = "costs extrapolated beyond their profile"

Row = dict[str, Any]


class Bound(Protocol):
    """What a study requires of one column."""

    def met(self, number: float) -> bool:
        """Whether the number is good enough; NaN is not."""


Require = Mapping[str, Bound]


@dataclass(frozen=True, slots=True)
class Point:
    """One design point as the sweep lists it; points with one `id` are one design. `id` is empty if infeasible."""

    index: int
    columns: Mapping[str, Any]
    variant: str
    group: GroupKey
    id: str = ""
    reason: str = ""
    static: Mapping[str, Any] = field(default_factory=dict)
    twin: Mapping[str, Any] = field(default_factory=dict)
    protection: GroupKey = ()  # what it varies of the protection
    inputs: Inputs | None = None
    bill: Bill | None = None  # what its GPUs and their energy cost


@dataclass(frozen=True, slots=True)
class Summary:
    """The table (a row per point, in order), the choice of each group, of each variant within it, and of each job.

    `jobs` sets all designs of one job beside the one with the largest ETTR, whatever restart mode or layout they
    assume, where the variants of a study are called "job: system". `families` set groups that differ in the fleet
    alone beside each other.
    """

    rows: tuple[Row, ...]
    choices: Mapping[GroupKey, Choice]
    within: Mapping[tuple[GroupKey, str], Choice]
    jobs: Mapping[str, Choice] = field(default_factory=dict)
    families: Sequence[Family] = ()
    costs: Sequence[Row] = ()  # a row for each design and category


def summarise(
    points: Sequence[Point],
    table: pa.Table,
    *,
    replications: int | Mapping[str, int],
    require: Require,
    failed: Mapping[str, str],
    stopped_by: Mapping[str, str] | None = None,
) -> Summary:
    """The summary of `points` over the rows in `table`, of the first `replications` of all or of each design by id.

    Differences are over the replications that both have. `stopped_by` says by id what ended a design.

    `failed` maps a scenario id to what went wrong: such a design is shown without numbers, since the replications that
    did end are not a fair sample of all.
    """
    runs = by_design(table, replications)
    recovered = recoveries(table, {id_: len(run["wall_s"]) for id_, run in runs.items()})
    rows = []
    for point in points:
        run = None if point.id in failed else runs.get(point.id)
        rows.append(_row(point, run, failed.get(point.id, "")))
        if point.id not in failed:
            rows[-1]["stopped_by"] = (stopped_by or {}).get(point.id, None if run is None else "replications")
        if run is not None:
            rows[-1]["recovered_by"] = json.dumps(dict(recovered[point.id].most_common()))
    groups: dict[GroupKey, list[Point]] = {}
    variants: dict[tuple[GroupKey, str], list[Point]] = {}
    for point in points:
        groups.setdefault(point.group, []).append(point)
        variants.setdefault((point.group, point.variant), []).append(point)
    within = {key: _choose(members, rows, runs, require) for key, members in variants.items()}
    choices = {key: _choose(members, rows, runs, require) for key, members in groups.items()}
    for key, members in groups.items():
        _mark(members, rows, choices[key])
        costs.mark(members, rows, runs, choices[key].reference)
    jobs = {job: _choose(members, rows, runs, require) for job, members in _by_job(points).items()}
    spent = costs.table([point for point in points if point.id not in failed], runs)
    return Summary(tuple(rows), choices, within, jobs, _families(groups, choices, rows, runs), spent)


def job_named(variant: str) -> str:
    """The job of a variant that is called "job: system"; else nothing."""
    return variant.partition(": ")[0] if ": " in variant else ""


def _by_job(points: Sequence[Point]) -> dict[str, list[Point]]:
    """Points by the job in the name of their variant; none where a variant names no job."""
    jobs: dict[str, list[Point]] = {}
    for point in points:
        jobs.setdefault(job_named(point.variant), []).append(point)
    return {} if "" in jobs else jobs


def _row(point: Point, run: Mapping[str, Floats] | None, failure: str) -> Row:
    row: Row = {**point.columns, **dict.fromkeys(RESULT_COLUMNS)}
    row |= {"variant": point.variant, "feasible": bool(point.id), "reason": point.reason or failure, "point": point.id}
    row |= {"best": False, "tied": False, "replications": 0}
    row |= {name: point.static.get(name) for name in _STATIC}
    row |= {name: point.twin.get(name) for name in _TWIN} | input_columns(point.inputs)
    if run is not None and len(run["wall_s"]):
        row |= _numbers(run)
        row["z_analytic"] = _z(row, _ettr(run))
        if point.bill is not None:
            row |= costs.summary(run, point.bill, ettr_analytic=row["ettr_analytic"])
        if any(EXTRAPOLATED in note for note in point.static.get("notes", ())):
            row["caution"] = "; ".join(filter(None, (row["caution"], BEYOND_PROFILE)))
    return row


def _numbers(run: Mapping[str, Floats]) -> Row:
    """Every simulated column of one design. Shares of time are means over replications, so they sum to one."""
    wall, failures = run["wall_s"], run["failures"]
    shares = {name: _share(run[f"{name}_s"], wall) for name in LEDGER}
    ettr = estimate.mean_interval(shares["productive"])
    # Time given back would be worked at the same steady cost, so only its productive share counts.
    worked = run["productive_s"] + run["overhead_s"]
    kept = np.divide(run["productive_s"], worked, out=np.ones_like(worked), where=worked > 0.0)
    perfect = _share(run["productive_s"] + kept * run["touch_lost_s"], wall)
    row: Row = {"replications": len(wall), "ettr": ettr.value}
    row |= {"ettr_lo": max(ettr.lo, 0.0), "ettr_hi": min(ettr.hi, 1.0)} if len(wall) > 1 else {}
    row["ettr_meta"] = _mean(shares["productive"] + shares["degraded"])
    row |= _bounds("wall_s", estimate.mean_interval(wall)) | _bounds("failures", estimate.mean_interval(failures))
    row |= {name: _mean(run[name]) for name in PER_RUN}
    row["wasted_s_per_failure"] = estimate.ratio_interval(run["wasted_failures_s"], failures).value
    row["cost_s_per_failure"] = estimate.ratio_interval(run["cost_failures_s"], failures).value
    row |= _bounds("fallback_per_failure", estimate.share_interval(run["fallbacks"], failures))
    row["rollback_per_failure"] = estimate.share_interval(run["rollbacks"], failures).value
    row |= _bounds("unrecoverable_per_run", estimate.count_interval(run["unrecoverable"]))
    row["touch_share_failures"] = estimate.ratio_interval(run["touch_failures"], failures).value
    row["touch_share_lost"] = estimate.ratio_interval(run["touch_lost_s"], run["cost_failures_s"]).value
    row["ettr_perfect"] = _mean(perfect)
    row |= {f"time_{name}": _mean(share) for name, share in shares.items()}
    row["caution"] = estimate.few(len(wall), float(failures.sum()))
    return row


def _share(seconds: Floats, wall: Floats) -> Floats:
    """Seconds as shares of the wall time; what is left of sums that come to nothing is nothing."""
    share = seconds / wall
    return np.where(np.abs(share) < ROUNDING, 0.0, share)


def _mean(values: Floats) -> float:
    return estimate.mean_interval(values).value


def _bounds(name: str, interval: Interval) -> Row:
    return {name: interval.value, f"{name}_lo": interval.lo, f"{name}_hi": interval.hi}


def _z(row: Row, ettr: Floats) -> float | None:
    """Distance to the closed form in standard errors; only an exact form and a sample with spread have one."""
    error = estimate.standard_error(ettr)
    if row["analytic_kind"] != "exact" or not error > 0.0:
        return None
    return float((row["ettr"] - row["ettr_analytic"]) / error)


def meets(row: Row, require: Require) -> bool:
    """Whether a row of the summary has numbers and they are as the study requires."""
    if row["ettr"] is None:
        return False
    return all(row[name] is not None and bound.met(float(row[name])) for name, bound in require.items())


def _choose(
    members: Sequence[Point], rows: Sequence[Row], runs: Mapping[str, Mapping[str, Floats]], require: Require
) -> Choice:
    """Choose among points that compete; points of one design count once, as the first of them."""
    first: dict[str, int] = {}
    for point in members:
        if rows[point.index]["ettr"] is not None:
            first.setdefault(point.id, point.index)
    return choose([_candidate(rows[index], index, runs[id_], require) for id_, index in first.items()])


def _mark(members: Sequence[Point], rows: Sequence[Row], choice: Choice) -> None:
    """Write what a group's choice says into the rows of its points."""
    differences = {rows[index]["point"]: interval for index, interval in choice.differences.items()}
    tied = {rows[index]["point"] for index in choice.tied}
    reference = next((point.inputs for point in members if point.index == choice.reference), None)
    for point in members:
        if point.id in differences:
            rows[point.index] |= _bounds("ettr_diff", differences[point.id])
            rows[point.index] |= input_difference(point.inputs, reference)
            rows[point.index]["tied"] = point.id in tied
    if choice.best is not None:
        rows[choice.best]["best"] = True


def _families(
    groups: Mapping[GroupKey, Sequence[Point]],
    choices: Mapping[GroupKey, Choice],
    rows: Sequence[Row],
    runs: Mapping[str, Mapping[str, Floats]],
) -> list[Family]:
    """Compare groups that differ in the fleet alone, and write the differences into the rows of their points."""
    competing = {key: frozenset(point.protection for point in members) for key, members in groups.items()}
    simulated = {key: [p for p in members if rows[p.index]["ettr"] is not None] for key, members in groups.items()}
    ettr = {key: {p.index: _ettr(runs[p.id]) for p in members} for key, members in simulated.items()}
    found = families(competing, choices, ettr)
    for index, apart in ((index, apart) for one in found for index, apart in one.differences.items()):
        rows[index] |= _bounds("fleet_diff", apart)
    return found


def _ettr(run: Mapping[str, Floats]) -> Floats:
    """By replication."""
    return _share(run["productive_s"], run["wall_s"])


def _candidate(row: Row, index: int, run: Mapping[str, Floats], require: Require) -> Candidate:
    costs = [math.inf if row[name] is None else float(row[name]) for name in ("memory_overhead", "step_overhead")]
    return Candidate(index, _ettr(run), costs[0], costs[1], meets(row, require))
