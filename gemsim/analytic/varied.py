"""The twin of classes that are not plain: pieces of constant rates added up; what their spread does is the error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

from gemsim.analytic.evened import Even, evened, pieces
from gemsim.analytic.settling import late, relaxation
from gemsim.errors import NotCovered
from gemsim.protection.arrays import either
from gemsim.protection.batch import events
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario
from gemsim.scenario.shop import met

Numbers = dict[str, Any]
ANEW = "anew"  # starts of the job from nothing: no column either
FEW = 1e-3  # of these, that pieces of a run may have
LACKING = "lacking"  # share of the time in which nodes are lacking: no column, but what a step of the rate changes
BY_TIME = ("ettr_analytic", "analytic_error", "overhead_analytic")  # the others are counts, or for each failure


class Steady(Protocol):
    """The twin of plain classes of constant rates."""

    def __call__(self, scenario: Scenario, *, course: tuple[float, ...] = (1.0,)) -> Numbers: ...


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the run and what the twin says of it."""

    seconds: float
    numbers: Numbers


def varied(scenario: Scenario, steady: Steady) -> Numbers:
    """What `steady` says of plain classes, put together. Raises NotCovered. Kind: first order.

    A rate that strays from its mean by a squared relative spread v changes the share of time lost by at most v of it
    (that share is concave in the rate, and bends by less than itself). Where the rate steps, the job is out of
    equilibrium for an interval and a recovery.
    """
    running, within = _rough(scenario, steady)
    evens = evened(scenario, running=running, within=within)
    plain = replace(scenario, classes=tuple(one.kind for one in evens))
    parts = _run(plain, running, partial(steady, course=_course(evens)))
    starts = sum(part.numbers[ANEW] for part in parts)
    if len(parts) > 1 and starts > FEW:
        raise NotCovered(f"{starts:.2g} failures per run start the job again, at a rate that drifts")
    numbers = _together(parts)
    lost = 1.0 - numbers["ettr_analytic"]
    edges = (len(parts) - 1) * within / sum(part.seconds for part in parts)
    numbers["analytic_error"] += lost * (_strays(evens) + min(1.0, edges)) + _steps(plain, parts)
    numbers["analytic_kind"] = "first_order"
    return numbers


def _rough(scenario: Scenario, steady: Steady) -> tuple[float, float]:
    """Share of the time in which the job runs, and seconds after a failure in which a second one costs less: from the
    mean rates."""
    alike = tuple(
        replace(
            kind,
            frailty=None,
            drift=(),
            recurrence=None,
            lifetime=replace(
                kind.lifetime,
                mean=kind.lifetime.mean / (1.0 if kind.frailty is None else kind.frailty.mean),
                scale=kind.lifetime.scale / (1.0 if kind.frailty is None else kind.frailty.mean),
            ),
        )
        for kind in scenario.classes
    )
    said = steady(replace(scenario, classes=alike), course=())
    tiers = [t for t in scenario.tiers if isinstance(t, Checkpoint) and t.every < NEVER]
    interval = max((t.every * scenario.timeline.step for t in tiers), default=0.0)
    rate = sum(kind.rate for kind in alike)
    lost = max(0.0, 1.0 - said["ettr_analytic"] - said["overhead_analytic"])
    return max(0.05, 1.0 - lost), interval + lost / rate


def _course(evens: Sequence[Even]) -> tuple[float, ...]:
    """How often nodes leave in equal parts of the run, relative to the mean."""
    total = sum(one.kind.rate for one in evens if one.kind.action == "replace")
    if total == 0.0:
        return (1.0,)
    parts = max(len(one.course) for one in evens)
    return tuple(
        sum(one.kind.rate * one.course[part % len(one.course)] for one in evens if one.kind.action == "replace") / total
        for part in range(parts)
    )


def _run(scenario: Scenario, running: float, steady: Steady) -> list[Part]:
    """The pieces up to the horizon, or until the work is done."""
    if not any(kind.drift for kind in scenario.classes):
        return [Part(scenario.horizon, steady(scenario))]
    left = scenario.work_steps * scenario.useful_step
    parts: list[Part] = []
    for begin, end, piece in pieces(scenario, running=running):
        seconds = end - begin
        numbers = steady(replace(piece, horizon=seconds, work_steps=0))
        if scenario.work_steps and numbers["ettr_analytic"] * seconds >= left:
            share = left / numbers["ettr_analytic"] / seconds
            numbers["failures_analytic"] *= share
            return [*parts, Part(seconds * share, numbers)]
        left -= numbers["ettr_analytic"] * seconds
        parts.append(Part(seconds, numbers))
    if scenario.work_steps:
        raise NotCovered("the work is not done by the longest time that the run may take")
    return parts


def _steps(scenario: Scenario, parts: Sequence[Part]) -> float:
    """Error, share of time, as the repair shop settles to another rate in each piece."""
    total, wall = 0.0, sum(part.seconds for part in parts)
    for before, after in pairwise(parts):
        change = abs(before.numbers[LACKING] - after.numbers[LACKING])
        if change:
            units = sum(kind.rate for kind in scenario.classes if kind.action == "replace")
            share = late(relaxation(scenario, units), scenario.spare_nodes, after.seconds)
            total += change * share * after.seconds / wall
    return total


def _together(parts: Sequence[Part]) -> Numbers:
    """Shares of time by time, counts added, what each failure costs by failures."""
    if len(parts) == 1:
        return dict(parts[0].numbers)
    wall = sum(part.seconds for part in parts)
    failures = sum(part.numbers["failures_analytic"] for part in parts)
    numbers: Numbers = {"failures_analytic": failures}
    for name in dict.fromkeys(name for part in parts for name in part.numbers):
        if name in ("failures_analytic", "analytic_kind", LACKING, ANEW):
            continue
        weights = [part.seconds if name in BY_TIME else part.numbers["failures_analytic"] for part in parts]
        total = wall if name in BY_TIME else failures
        values = (part.numbers.get(name, 0.0) * weight for part, weight in zip(parts, weights, strict=True))
        numbers[name] = sum(values) / total if total else 0.0
    return numbers


def _strays(evens: Sequence[Even]) -> float:
    """By how much the share of time lost may be off, relative to it."""
    total = sum(one.kind.rate for one in evens)
    if total == 0.0:
        return 0.0
    shares = [one.kind.rate / total for one in evens]
    return sum(
        share * share * one.variation + share * (one.near + one.unsure)
        for share, one in zip(shares, evens, strict=True)
    )


def units_of(scenario: Scenario, branch: Branch) -> float:
    """Mean number of failures that count at each stop of this kind."""
    starts = sum(share for _, share in events(branch.kind))
    return (met(scenario, branch.kind) if branch.action == "replace" else 1.0) / starts


def per_failure(scenario: Scenario, numbers: Numbers, found: Sequence[Branch]) -> Numbers:
    """The same where a stop strikes several units: each of them is a failure, and what a stop costs is theirs. Units
    that go together, as the GPUs of a node that is replaced, are one."""
    stops = sum(branch.rate for branch in found)
    units = sum(branch.rate * units_of(scenario, branch) for branch in found)
    each = either(stops > 0.0, lambda: units / stops, lambda: 1.0)
    changed = {"failures_analytic": each, "cost_s_per_failure_analytic": 1.0 / each}
    changed["wasted_s_per_failure_analytic"] = 1.0 / each
    return {name: value * changed.get(name, 1.0) for name, value in numbers.items()}
