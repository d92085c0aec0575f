"""What failures of some classes cost a job, in closed form, from the same outcomes by phase that the twin uses.

First order: a failure meets a running job. A failure that meets a recovery is left to the engine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import exp, expm1

from gemsim.analytic.expected import outcomes, standing_still
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.reach import Branch
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import START
from gemsim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Price:
    """One outcome of the failures of a class: its rate, what each costs, and whether GPU memory alone was enough."""

    kind: str
    inside: bool
    rate: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Loss:
    """Failures of some classes: `rate` per second, mean `seconds` each; a `share` is repaired in GPU memory at
    `repaired` seconds, the rest is left to a copy elsewhere at `fallen` seconds."""

    rate: float
    seconds: float
    share: float
    repaired: float
    fallen: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The two terms of a cut, P (1 - c / c0) and (1 - P)(1 - cf / c0); `repaired`: c / c0; `steady`: by how much the
    cost of encoding lowers it."""

    code: float
    fallback: float
    repaired: float
    steady: float

    @property
    def total(self) -> float:
        """The cut, without the steady cost."""
        return self.code + self.fallback


def prices(scenario: Scenario) -> tuple[Price, ...]:
    """All outcomes of all failures with what they cost."""
    found = outcomes(scenario)
    back = sum(b.rate for b in found if b.ending == "roll_back")
    stored = {t.name for t in scenario.tiers if isinstance(t, Checkpoint)} | {START}
    return tuple(Price(b.kind.name, b.tier not in stored, b.rate, _seconds(scenario, b, back)) for b in found)


def loss(found: Iterable[Price], classes: Collection[str]) -> Loss:
    """The cost of failures of these classes. A class that does not fail counts nothing."""
    sums = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for one in found:
        if one.kind in classes:
            into = sums[one.inside]
            into[0] += one.rate
            into[1] += one.rate * one.seconds
    (inside, inside_cost), (outside, outside_cost) = sums[True], sums[False]
    rate = inside + outside
    return Loss(
        rate=rate,
        seconds=(inside_cost + outside_cost) / rate if rate else 0.0,
        share=inside / rate if rate else 0.0,
        repaired=inside_cost / inside if inside else 0.0,
        fallen=outside_cost / outside if outside else 0.0,
    )


def cut(ours: Loss, baseline: Loss, *, steady: float = 0.0) -> Cut:
    """The two terms of a protection's cut against a baseline; `steady`: seconds of encoding per such failure."""
    code = ours.share * (1.0 - ours.repaired / baseline.seconds)
    fallback = (1.0 - ours.share) * (1.0 - ours.fallen / baseline.seconds)
    return Cut(code, fallback, ours.repaired / baseline.seconds, steady / baseline.seconds)


def steady_seconds(scenario: Scenario, rate: float) -> float:
    """Seconds that stripes add to the steps (encode stalls and slower steps) for each failure of that rate."""
    costs = [t.overhead() for t in scenario.tiers if isinstance(t, PageStripe | MemberStripe)]
    each = sum((c.stall / c.every if c.every else 0.0) + c.slower for c in costs)
    return each / scenario.useful_step / rate


def _seconds(scenario: Scenario, branch: Branch, back: float) -> float:
    """Standing still, and work lost."""
    tier = scenario.tiers[branch.number] if branch.number >= 0 else None
    refilled = branch.ending == "roll_back" and not branch.damage.alive and isinstance(tier, Checkpoint)
    standing = standing_still(scenario, branch, reset=refilled and branch.action == "drain_and_reset")
    if branch.ending == "in_place":
        return standing + branch.redo * scenario.useful_share
    if branch.ending == "keep" or not isinstance(tier, Checkpoint):
        return standing + scenario.useful_step / 2.0
    corrupt = branch.kind.detect.mean if branch.kind.scope == "silent" else 0.0
    return standing + corrupt + _progress(scenario, tier, back)


def _progress(scenario: Scenario, tier: Checkpoint, back: float) -> float:
    """Mean useful seconds since the newest finished copy."""
    timeline = scenario.timeline
    pace = timeline.step + sum(s.seconds / s.every for s in timeline.stalls if s.every)
    cycle = tier.every * pace
    return mean_lost(cycle, tier.lag, back) * scenario.useful_step / pace


def mean_lost(cycle: float, lag: float, rate: float) -> float:
    """Mean seconds since the newest finished save when a life ends after an exponential time of that rate.

    A save of what was done is begun every `cycle` s and finished `lag` s later; a life begins with a finished one.
    E[T; T < W] + e^{-bW} (W + E[T mod cycle]) = (1 - e^{-bW}) / b + e^{-bW} (1 / b - cycle / (e^{b cycle} - 1)).
    """
    x = rate * cycle
    if x < 1e-4:  # the series, where the difference would cancel
        return lag + cycle / 2.0 - rate * (cycle * cycle / 12.0 + lag * (lag + cycle) / 2.0)
    done = exp(-rate * lag)
    within = 1.0 / rate - (cycle / expm1(x) if x < 700.0 else 0.0)
    return (1.0 - done) / rate + done * within
