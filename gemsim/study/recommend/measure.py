"""What to measure next: inputs that, within what they may well be, change the choice; by what a wrong choice costs.

What they may be is the law of `uncertain:`, the band of a modelled profile, or a factor of two where nothing is stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemsim.costs.profiles import load_profile
from gemsim.study.recommend.breakeven import BreakEven, Contest
from gemsim.study.recommend.inputs import SPEED, Input, band

PARTS = 9  # quantiles over which the regret is averaged
ENDS = (0.025, 0.975)  # of a law
FACTOR = 2.0  # either way, where nothing is stated


@dataclass(frozen=True, slots=True)
class Range:
    """What an input may be: nine values that are alike likely, its ends, and where that is from."""

    values: tuple[float, ...]
    low: float
    high: float
    source: str


@dataclass(frozen=True, slots=True)
class Measure:
    """An input worth measuring; `regret`: what keeping the choice loses, in the mean over the range."""

    input: Input
    range: Range
    change: float  # the value at which the choice changes
    to: int | None
    regret: float


def range_of(one: Input, uncertain: Mapping[str, Any], profile: str, folder: str = "") -> Range:
    """The stated uncertainty of an input, or the assumed one; `profile` as a study of `folder` names it."""
    law = next((uncertain[name] for name in one.names if name in uncertain), None)
    middles = [(part + 0.5) / PARTS for part in range(PARTS)]
    if law is not None:
        low, high = (float(law.quantile(end)) for end in ENDS)
        said = f"{law.text}{f', {law.source}' if law.source else ''}"
        return Range(tuple(float(law.quantile(p)) for p in middles), low, high, said)
    if one.path == SPEED:
        found = load_profile(profile, folder)
        return _by_factors(*band(found), middles, f"band of the {found.kind} profile")
    low, high = max(one.low, one.value / FACTOR), min(one.high, one.value * FACTOR)
    return _by_factors(low, high, middles, "assumption: a factor of 2 either way, as none is stated")


def _by_factors(low: float, high: float, middles: list[float], source: str) -> Range:
    if low <= 0.0:
        return Range(tuple(low + (high - low) * p for p in middles), low, high, source)
    return Range(tuple(low * (high / low) ** p for p in middles), low, high, source)


def measured(contest: Contest, found: BreakEven, span: Range) -> Measure | None:
    """The input if its change lies within what it may be, with the regret; else None."""
    inside = [one for one in (found.below, found.above) if one is not None and span.low <= one.value <= span.high]
    if not inside:
        return None
    nearest = min(inside, key=lambda one: found.distance(one.value))
    return Measure(found.input, span, nearest.value, nearest.to, regret(contest, found.input, span))


def regret(contest: Contest, one: Input, span: Range) -> float:
    """Mean over the range of what the choice loses against the design that would be chosen there; infinite where the
    choice cannot be."""
    losses = []
    for value in span.values:
        scores = contest.scores(one, value)
        to, own = contest.chosen(scores), float(scores[contest.choice])
        if to is not None and not math.isnan(own):
            losses.append(max(0.0, float(scores[to]) - own))
    return float(np.mean(losses)) if losses else math.nan
