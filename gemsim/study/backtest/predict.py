"""The rest of a run as the study and the first part of its log have it: many runs, each with inputs of its own.

What a log determines replaces the study's: rate, time of a stop, saves, step. The study says the rest: which failures
there are, how they are spread in time, what each destroys, and so how far a recovery goes back. A stop of the log
holds all that happened in it, so here nothing strikes and nobody is waited for while the job stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.analytic.run import predict as closed_form
from gemsim.engine.run import simulate
from gemsim.errors import GemsimError, NotCovered
from gemsim.failures.classes import NO_TIME, FailureClass
from gemsim.failures.laws import Duration, duration, lifetime
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.peer_copy import PeerCopy
from gemsim.protection.replica_group import ReplicaGroup
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import Tier
from gemsim.protection.undo_log import UndoLog
from gemsim.results.ledger import LEDGER
from gemsim.scenario import Scenario, build
from gemsim.scenario.fleet import FleetPlan, hot_spares
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.spec.protection.checkpoint import CheckpointSpec
from gemsim.spec.study import StudySpec
from gemsim.study.backtest.account import STANDS
from gemsim.study.backtest.fit import Estimate, Fit, draw_means, draw_rates

Floats = NDArray[np.float64]
UNSEEN = ("silent", "slow", "planned")  # scopes of which a log of stops does not tell when they strike
SPARES = 64  # back at once, so that a node is never waited for
WIDEST = 3.0  # sigma of a lognormal stop
STOPS_OF: dict[type, dict[str, float]] = {  # what of a tier's recovery a stop of the log holds already: takes no time
    Checkpoint: {"read": 0.0, "fetch": 0.0, "notice": 0.0},
    PageStripe: {"decode_page": 0.0},
    MemberStripe: {"nic": inf},
    PeerCopy: {"nic": inf, "save": 0.0, "read": 0.0},
    UndoLog: {"replay": 0.0},
    ReplicaGroup: {"stall": 0.0, "catch_up_stall": 0.0},
}


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds by ledger category and the number of failures, of each simulated run; `ettr_analytic` of the fitted point
    or why it has none; `notes`: what of the study was replaced or left out."""

    seconds: Mapping[str, Floats]
    failures: Floats
    wall: float
    ettr_analytic: float | None
    no_form: str
    notes: tuple[str, ...]


def predict(
    loaded: LoadedStudy, fitted: Fit, *, wall: float, runs: int, seed: int, design: Mapping[str, Any]
) -> Prediction:
    """`runs` runs of `wall` seconds, from the state just after a stop; `design`: values at paths of the study.

    Raises GemsimError for what cannot be.
    """
    point, notes = _fitted_point(loaded, fitted, wall, design)
    rng = np.random.default_rng([seed, 0xBAC])
    rates = draw_rates(fitted, rng, runs) / fitted.rate.value
    factors = {name: draw_means(one, rng, runs) / one.value for name, one in fitted.parts.items() if one.value > 0.0}
    saves = draw_means(fitted.save, rng, runs) / fitted.save.value if _saves_of_log(point, fitted) else None
    seconds = {name: np.zeros(runs) for name in LEDGER}
    failures = np.zeros(runs)
    for number in range(runs):
        drawn = {name: one[number] for name, one in factors.items()}
        mean = math.fsum(factor * fitted.parts[name].value for name, factor in drawn.items())
        of = _with(point, factor=rates[number], stand=_law(mean, fitted.stand.spread))
        row = simulate(of, seed=seed, replication=number)
        spent = _split(row, fitted, drawn, rng)
        if saves is not None:
            spent = _saved(spent, fitted.save, saves[number], rng)
        for name, taken in spent.items():
            seconds[name][number] = taken
        failures[number] = row["interruptions"]
    try:
        ettr, no_form = float(closed_form(_certain(point, fitted))["ettr_analytic"]), ""
    except NotCovered as error:
        ettr, no_form = None, error.reason
    return Prediction(seconds, failures, wall, ettr, no_form, notes)


def _fitted_point(
    loaded: LoadedStudy, fitted: Fit, wall: float, design: Mapping[str, Any]
) -> tuple[Scenario, tuple[str, ...]]:
    """The study's own point with what the log determines in place of its inputs; stops take no time yet."""
    rest = {"run.horizon": f"{wall!r} s", "run.steps": None, "run.max_wall": None}
    spec = resolve_point(loaded, {**design, **rest})
    if spec.restart.mode == "in_place" and not fitted.told:
        what = "restart: in_place cannot be set beside a log of restarts alone, which shows no repair in place"
        raise GemsimError(f"{what}; write restart.mode=all_processes on the command line, or log each failure")
    if spec.failures.replay is not None:
        raise GemsimError("failures.replay cannot be back-tested: its failures are those of another log")
    plain = build(spec)
    struck = [kind for kind in plain.classes if kind.scope not in UNSEEN]
    if not struck:
        raise GemsimError("the study has no failure that stops the job at once: there is nothing to fit to the log")
    base = math.fsum(kind.starts * kind.striking for kind in struck)
    scale = fitted.rate.value / base
    changes, notes = _changes(spec, plain, fitted, scale)
    found = build(resolve_point(loaded, {**design, **changes, **rest}))
    left = sorted({kind.name for kind in plain.classes if kind.scope in UNSEEN})
    notes += [f"classes that a log of stops does not show are left out: {', '.join(left)}"] if left else []
    return _bare(found), tuple(notes)


def _changes(spec: StudySpec, plain: Scenario, fitted: Fit, scale: float) -> tuple[dict[str, Any], list[str]]:
    """Paths of the study and what the log puts there."""
    notes = [f"the rate of all failures is {scale:.3g} times the study's"]
    changes: dict[str, Any] = {"failures.scale": spec.failures.scale * scale}
    step = spec.workload.step
    if math.isfinite(fitted.step.value):
        step = fitted.step.value * plain.useful_share
        changes["workload.step"] = f"{step!r} s"
    tiers = [tier for tier in spec.protection if isinstance(tier, CheckpointSpec)]
    if fitted.save.events and fitted.every.events and len(tiers) == 1:
        path = f"protection.{tiers[0].label}"
        changes[f"{path}.interval"] = f"{round(fitted.every.value) * step!r} s"
        key = "blocked" if tiers[0].mode == "async" else "write"
        changes[f"{path}.{key}"] = f"{fitted.save.value!r} s"
        notes.append(f"saves of tier '{tiers[0].label}': those of the log")
    else:
        few = "the study has no checkpoint tier" if not tiers else "the log tells of none"
        why = "the log does not tell its tiers apart" if len(tiers) > 1 else few
        notes.append(f"saves are the study's: {why}")
    return changes, notes


def _bare(point: Scenario) -> Scenario:
    """The point with failures that strike only a job that works, and without any time that a stop of the log holds."""
    classes = tuple(_unseen_gone(point))
    restart = replace(point.restart, process=0.0, communicator=0.0, warmup=0.0, pause=0.0, reset=0.0, reboot=0.0)
    tiers = tuple(_at_once(tier) for tier in point.tiers)
    return replace(
        point, classes=classes, restart=restart, tiers=tiers, encode_anew=0.0, stationary=False,
        fleet=FleetPlan(hot_spares(SPARES, 0.0)), shrunk=None, work_steps=0,
    )  # fmt: skip


def _at_once(tier: Tier) -> Tier:
    """The tier with a recovery that takes no time of its own."""
    found: Tier = replace(tier, **STOPS_OF.get(type(tier), {}))  # type: ignore[type-var]
    return found


def _unseen_gone(point: Scenario) -> list[FailureClass]:
    kept = (kind for kind in point.classes if kind.scope not in UNSEEN)
    return [replace(kind, exposure="running", repair=NO_TIME, spare_units=0, fails_idle=False) for kind in kept]


def _with(point: Scenario, *, factor: float, stand: Duration) -> Scenario:
    """The point with all rates times a factor, and stops of this law."""
    classes = []
    for kind in point.classes:
        law = kind.lifetime
        shape = None if law.kind == "exponential" else law.shape
        classes.append(replace(kind, lifetime=lifetime(law.kind, law.mean / factor, shape), detect=stand))
    return replace(point, classes=tuple(classes))


def _certain(point: Scenario, fitted: Fit) -> Scenario:
    return _with(point, factor=1.0, stand=_law(fitted.stand.value, fitted.stand.spread))


def _law(mean: float, spread: float) -> Duration:
    """Stops of this mean and spread: lognormal, or fixed where all are alike."""
    if spread < 1e-6:
        return duration("fixed", mean)
    return duration("lognormal", mean, min(WIDEST, math.sqrt(math.log1p(spread**2))))


def _split(
    row: Mapping[str, Any], fitted: Fit, factors: Mapping[str, float], rng: np.random.Generator
) -> dict[str, float]:
    """Seconds of a simulated run by category, its stops cut into parts as those of the log, times factors."""
    found = {name: float(row[f"{name}_s"]) for name in LEDGER}
    stood = math.fsum(found.pop(name) for name in (*STANDS, "waiting"))
    picked = rng.integers(len(fitted.stood), size=max(1, round(row["interruptions"])))
    sums = {name: factors.get(name, 0.0) * math.fsum(fitted.stood[one][name] for one in picked) for name in STANDS}
    whole = math.fsum(sums.values())
    parts = {name: stood * part / whole if whole else 0.0 for name, part in sums.items()}
    return {**found, **parts, "waiting": 0.0}


def _saves_of_log(point: Scenario, fitted: Fit) -> bool:
    """Whether what saves cost is the log's: the job has one tier that saves, and the log tells of its saves."""
    tiers = [tier for tier in point.tiers if isinstance(tier, Checkpoint)]
    return len(tiers) == 1 and bool(fitted.save.events and fitted.every.events)


def _saved(spent: dict[str, float], save: Estimate, factor: float, rng: np.random.Generator) -> dict[str, float]:
    """The run with a mean save that is `factor` of the fitted one, of saves as unlike as those seen; work makes way."""
    number = spent["overhead"] / save.value if save.value else 0.0
    if not number or not save.spread:
        return spent
    taken = spent["overhead"] * max(0.0, factor * (1.0 + save.spread / math.sqrt(number) * rng.standard_normal()))
    return {**spent, "overhead": taken, "productive": spent["productive"] + spent["overhead"] - taken}


def interval(values: Sequence[float] | Floats, share: float) -> tuple[float, float]:
    """The middle `share` of values."""
    tail = (1.0 - share) / 2.0
    lo, hi = np.quantile(np.asarray(values, dtype=np.float64), [tail, 1.0 - tail], method="hazen")
    return float(lo), float(hi)
