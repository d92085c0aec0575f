"""One design point explained: where its time goes by class, tier and column, in closed form and simulated; the sum with
its numbers; what models known by name say; and what would help where saving alone is hopeless.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gemsim.analytic.breakdown import Part, breakdown
from gemsim.analytic.facts import facts_of
from gemsim.analytic.formula import Formula, formula
from gemsim.analytic.groups import Solved
from gemsim.analytic.named import NAMED, answers
from gemsim.analytic.run import traced
from gemsim.engine.run import simulate
from gemsim.errors import NotCovered
from gemsim.protection.kinds import Job
from gemsim.protection.reach import Branch, branches
from gemsim.results.estimate import Floats, Interval, mean_interval
from gemsim.results.ledger import LEDGER
from gemsim.scenario import Scenario
from gemsim.study.remedies import Remedy

Key = tuple[str, str]  # failure class ("" for none) and tier, or a ledger column and ""
PRODUCTIVE = "productive"
ON_PURPOSE = ("planned", "other")  # columns that no failure fills


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the time of a run: simulated with its interval, and in closed form (None: no form)."""

    name: str
    tier: str
    simulated: Interval
    form: float | None

    @property
    def apart(self) -> Interval | None:
        """Simulated less closed form, with the interval of the first."""
        if self.form is None:
            return None
        return Interval(*(one - self.form for one in self.simulated))


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is said of a design point. `reason`: why there is no closed form; `parts`: its breakdown."""

    title: str
    scenario: Scenario
    label: str
    seed: int
    replications: int
    wall: float  # mean seconds of a run
    rows: Sequence[Mapping[str, Any]]
    twin: Mapping[str, Any]
    reason: str
    by_failure: Sequence[Share]
    by_column: Sequence[Share]
    formula: Formula | None
    stretches: int  # of a drift, of which the formula shows the longest
    named: Mapping[str, float | str]
    notes: Sequence[str]
    branches: Sequence[Branch]
    remedies: Sequence[Remedy] = ()

    @property
    def ettr(self) -> Interval:
        """Simulated."""
        return next(one.simulated for one in self.by_column if one.name == PRODUCTIVE)


def explain(
    scenario: Scenario,
    *,
    title: str,
    label: str,
    seed: int,
    replications: int,
    notes: Sequence[str] = (),
    remedies: Sequence[Remedy] = (),
) -> Explanation:
    """Simulate a design point and set its closed form beside it."""
    rows = [simulate(scenario, seed=seed, replication=number) for number in range(replications)]
    twin, behind, reason = _form(scenario)
    parts: list[Part] | None = None
    if behind:
        try:
            parts = breakdown(behind, steps=scenario.work_steps)
        except NotCovered as error:
            reason = error.reason
    longest = max(behind, key=lambda one: one.scenario.horizon, default=None)
    return Explanation(
        title=title,
        scenario=scenario,
        label=label,
        seed=seed,
        replications=replications,
        wall=float(np.mean([row["wall_s"] for row in rows])),
        rows=rows,
        twin=twin,
        reason=reason,
        by_failure=_by_failure(scenario, rows, parts),
        by_column=_by_column(rows, parts),
        formula=None if longest is None else formula(longest),
        stretches=len(behind),
        named={} if longest is None else answers(facts_of(longest)),
        notes=notes,
        branches=_branches(scenario),
        remedies=remedies,
    )


def _form(scenario: Scenario) -> tuple[Mapping[str, Any], list[Solved], str]:
    try:
        twin, behind = traced(scenario)
    except NotCovered as error:
        return {}, [], error.reason
    return twin, behind, ""


def _branches(scenario: Scenario) -> tuple[Branch, ...]:
    of = scenario
    return branches(Job(of.platform, of.timeline, of.tiers, of.classes, of.restart.mode, of.replace_unit))


def _by_column(rows: Sequence[Mapping[str, Any]], parts: Sequence[Part] | None) -> list[Share]:
    """Every ledger column that has anything in it."""
    found = []
    for name in LEDGER:
        shares = np.array([row[f"{name}_s"] / row["wall_s"] for row in rows])
        form = None if parts is None else sum(part.share for part in parts if part.category == name)
        if np.any(shares) or form or name == PRODUCTIVE:
            found.append(Share(name, "", mean_interval(shares), form))
    return found


def _by_failure(scenario: Scenario, rows: Sequence[Mapping[str, Any]], parts: Sequence[Part] | None) -> list[Share]:
    """Overhead by tier, then what failures took by class and tier: classes by what they took, tiers in their order."""
    simulated = _losses(rows)
    form: dict[Key, float] = {}
    for part in parts or ():
        if part.category != PRODUCTIVE:
            key = part.failure, part.tier
            form[key] = form.get(key, 0.0) + part.share
    nothing = np.zeros(len(rows))
    shares = [
        Share(*key, mean_interval(simulated.get(key, nothing)), None if parts is None else form.get(key, 0.0))
        for key in dict.fromkeys((*simulated, *form))
    ]
    weight = dict[str, float]()
    for one in shares:
        weight[one.name] = weight.get(one.name, 0.0) + max(one.simulated.value, one.form or 0.0)
    order = [tier.name for tier in scenario.tiers]
    return sorted(
        (one for one in shares if one.simulated.value or one.form),
        key=lambda one: (
            one.name != "",
            -weight[one.name],
            one.name,
            order.index(one.tier) if one.tier in order else 99,
        ),
    )


def _losses(rows: Sequence[Mapping[str, Any]]) -> dict[Key, Floats]:
    """Shares of the time by (class, tier), "" for overhead, replication by replication."""
    found: dict[Key, Floats] = {}
    for number, row in enumerate(rows):
        lost: dict[str, dict[str, float]] = json.loads(row["lost_by_class"])
        lost[""] = json.loads(row["overhead_by_tier"])
        lost |= {f"{name} stops": {"": row[f"{name}_s"]} for name in ON_PURPOSE if row[f"{name}_s"]}
        for name, tiers in lost.items():
            for tier, seconds in tiers.items():
                key = name, tier
                found.setdefault(key, np.zeros(len(rows)))[number] = seconds / row["wall_s"]
    return found


def as_data(one: Explanation) -> dict[str, Any]:
    """The same as plain data, for a file of JSON: shares of the run, seconds, and rates per second."""
    closed = one.formula
    return {
        "title": one.title,
        "design": one.label,
        "point": one.scenario.id,
        "seed": one.seed,
        "replications": one.replications,
        "wall_s": one.wall,
        "ettr": _interval(one.ettr),
        "twin": dict(one.twin) if one.twin else None,
        "no_form": one.reason or None,
        "by_failure": [_share(share) for share in one.by_failure],
        "by_column": [_share(share) for share in one.by_column],
        "formula": None if closed is None else [asdict(line) for line in closed.lines],
        "interruptions": None if closed is None else [rung._asdict() for rung in closed.rungs],
        "named": {name: {"value": value, **_about(name)} for name, value in one.named.items()},
        "classes": [
            {"failure": b.kind.name, "rate": b.rate, "destroys": b.nature.kind, "region": b.nature.region,
             "tier": b.tier, "ending": b.ending, "action": b.action}
            for b in one.branches
        ],
        "notes": list(one.notes),
        "remedies": [asdict(remedy) for remedy in one.remedies],
    }  # fmt: skip


def _about(name: str) -> dict[str, Any]:
    model = NAMED[name]
    return {key: value for key, value in model._asdict().items() if key not in ("of", "needs")}


def _interval(one: Interval) -> dict[str, float | None]:
    return {key: None if np.isnan(value) else value for key, value in one._asdict().items()}


def _share(one: Share) -> dict[str, Any]:
    apart = one.apart
    found = {"name": one.name, "tier": one.tier, "simulated": _interval(one.simulated), "closed_form": one.form}
    return {**found, "apart": None if apart is None else _interval(apart)}
