"""The phases of step, encode and save at which a failure may strike, cut into cells in which the answer cannot change.

Shares are of running time; where the steps between saves are an array, so are they.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from gemsim.protection.arrays import is_array
from gemsim.protection.kinds import Job
from gemsim.protection.stripe import MemberStripe, PageStripe
from gemsim.protection.tier import Moment
from gemsim.protection.timeline import Stall

Coded = PageStripe | MemberStripe
Fresh = tuple[bool, ...]  # which in-place stripes describe the present version
Place = tuple[Fresh, int, float]  # and the stall's tier or -1, and seconds in it or of the step


@dataclass(frozen=True, slots=True)
class Cell:
    """A set of phases with one outcome: its share of running time and a moment in its middle; `place` names it whatever
    the intervals of saves are."""

    share: float
    moment: Moment
    within_step: bool
    place: Place


def cells_of(job: Job) -> tuple[Cell, ...]:
    """Phases of a running step and of each stall, at each residue of the cadences of in-place stripes. Those at which
    the same stripes are fresh share a moment."""
    timeline = job.timeline
    stripes = [t for t in job.tiers if isinstance(t, (PageStripe, MemberStripe)) and t.cadence.copy == "in_place"]
    period = lcm(*(t.cadence.every for t in stripes)) if stripes else 1
    if period > 256:
        period = max(t.cadence.every for t in stripes)
    pace = timeline.step + sum(s.seconds / s.every for s in timeline.stalls)
    saved = {t.number: 0 for t in job.tiers if t.overhead().keeps_versions}
    merged = any(is_array(stall.every) for stall in timeline.stalls)
    cells = []
    edges = _edges(stripes, job)
    for version, times, fresh in _versions(stripes, range(period, 2 * period), merged):
        for low, high in pairwise(edges):
            moment = Moment(version, (low + high) / 2, 0, saved=saved)
            cells.append(Cell((high - low) / pace / period * times, moment, True, (fresh, -1, low)))
    for number, stall in enumerate(timeline.stalls):
        if stall.seconds > 0.0:
            cells += _in_stall(job, number, stripes, _Turns(period, pace, merged), saved)
    return tuple(cells)


@dataclass(frozen=True, slots=True)
class _Turns:
    """`period` of versions after which all recurs, mean seconds of a step, whether versions are counted together."""

    period: int
    pace: float
    merged: bool


def _in_stall(job: Job, number: int, stripes: Sequence[Coded], turns: _Turns, saved: Mapping[int, int]) -> list[Cell]:
    """Phases of one stall; a save can fall on a boundary without an encode."""
    stalls = job.timeline.stalls
    stall = stalls[number]
    parts = max((t.cadence.buckets for t in stripes if t.number == stall.tier), default=1)
    cells = []
    for part in range(parts):
        elapsed = (part + 0.5) / parts * stall.seconds
        for boundaries, here in _boundaries(stall, turns.period):
            share = stall.seconds / stall.every / turns.pace / parts / len(boundaries)
            for version, times, fresh in _versions(stripes, boundaries, turns.merged):
                ahead = _ahead(stalls[number + 1 :], stripes, version)
                moment = Moment(version, 0.0, 0, stall.tier, elapsed, saved=saved, ahead=ahead)
                cells.append(Cell(share * times * here, moment, False, (fresh, stall.tier, elapsed)))
    return cells


def _versions(stripes: Sequence[Coded], versions: range, merged: bool) -> list[tuple[int, int, Fresh]]:
    """(version, how often, fresh stripes) of each of the versions, or of the first with the same stripes for all."""
    each = [(version, tuple(version % t.cadence.every == 0 for t in stripes)) for version in versions]
    if not merged:
        return [(version, 1, fresh) for version, fresh in each]
    first = {fresh: version for version, fresh in reversed(each)}
    return [(first[fresh], times, fresh) for fresh, times in Counter(fresh for _, fresh in each).items()]


def _boundaries(stall: Stall, period: int) -> list[tuple[range, Any]]:
    """(versions at the boundaries of a stall until they recur, where these are they)."""
    if not is_array(stall.every):
        return [(range(stall.every, lcm(stall.every, period) + 1, stall.every), 1.0)]
    common = np.gcd(stall.every, period)
    return [(range(int(one), period + 1, int(one)), 1.0 * (common == one)) for one in np.unique(common)]


def _ahead(stalls: Sequence[Stall], stripes: Sequence[Coded], version: int) -> frozenset[int]:
    """Stripes whose encode at this boundary is still to come."""
    own = {stripe.number for stripe in stripes}
    return frozenset(s.tier for s in stalls if s.tier in own and version % s.every == 0)


def _edges(stripes: Sequence[Coded], job: Job) -> list[float]:
    """Where the outcome can change within a step, in seconds from its start."""
    steps = job.platform.steps
    length = steps.length
    edges = {0.0, length, length - steps.update, max(0.0, length - steps.update - steps.skew)}
    for stripe in stripes:
        cadence = stripe.cadence
        if cadence.overlap:
            edges.add(min(cadence.encode, length))
        window = steps.update + cadence.encode
        for bucket in range(1, cadence.buckets):
            into = window * bucket / cadence.buckets
            if into < steps.update:
                edges.add(length - steps.update + into)
            elif cadence.overlap:
                edges.add(min(into - steps.update, length))
    return sorted(edges)
