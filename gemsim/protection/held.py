"""Which tiers still hold a version from before a silent corruption when it is found, and how likely.

One idea: a tier holds versions of some age; the corruption lies unseen for a random time. The steps between saves may
be arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gemsim.failures.classes import FailureClass
from gemsim.failures.laws import Duration
from gemsim.protection.arrays import anywhere, at_most, is_array
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.kinds import Job
from gemsim.protection.tier import Tier

_PLACES, _HALVES = np.polynomial.legendre.leggauss(8)
_PHASES, _WEIGHTS = (_PLACES + 1.0) / 2.0, _HALVES / 2.0  # to average over an interval from 0 to 1


def still_held(job: Job, kind: FailureClass) -> list[tuple[float, tuple[Tier, ...]]]:
    """(probability, tiers that still hold a version from before the failure): all, but for silent corruption.

    A tier that keeps versions for a span s has one if the corruption was found within s; a count of versions makes a
    span that is up to one interval shorter.
    """
    if kind.scope != "silent":
        return [(1.0, job.tiers)]
    spans = {tier.number: _span(job, tier) for tier in job.tiers if isinstance(tier, Checkpoint)}
    found = []
    for order, later in _orders(spans):
        for place, number in enumerate(order):
            tier = next(tier for tier in job.tiers if tier.number == number)
            beyond = at_most(later, later * 0.0 + _outlives(job, tier, kind.detect) * (later > 0.0))
            found.append((later - beyond, tuple(t for t in job.tiers if t.number not in order[:place])))
            later = beyond
        found.append((later, tuple(t for t in job.tiers if t.number not in spans)))
    return [(chance, tiers) for chance, tiers in found if anywhere(chance > 0.0)]


def _span(job: Job, tier: Checkpoint) -> float:
    """Mean age in seconds of the oldest version that a tier holds; half an interval has passed since the newest."""
    if not tier.keep_count or not anywhere(tier.every > 0):
        return tier.keep_seconds
    return at_most(tier.keep_seconds, (tier.keep_count - 0.5) * tier.every * _pace(job))


def _pace(job: Job) -> Any:
    """Seconds of a step with its share of the saves."""
    return job.timeline.step + sum(s.seconds / s.every for s in job.timeline.stalls)


def _orders(spans: dict[int, Any]) -> list[tuple[list[int], Any]]:
    """(tiers by the age of their oldest version, the youngest first; 1 where this is their order, else 0)."""
    if not any(map(is_array, spans.values())):
        return [(sorted(spans, key=spans.__getitem__), 1.0)]
    aged = np.stack(np.broadcast_arrays(*spans.values()))
    orders = np.array(list(spans))[np.argsort(aged, axis=0, kind="stable")]
    kinds, which = np.unique(orders, axis=1, return_inverse=True)
    return [(list(one), 1.0 * (which == number)) for number, one in enumerate(kinds.T)]


def _outlives(job: Job, tier: Tier, law: Duration) -> Any:
    """P(a corruption is found after the last version from before it is gone), the mean over all phases of a save."""
    assert isinstance(tier, Checkpoint)
    span = _span(job, tier)
    if not tier.keep_count or not anywhere(tier.every > 0):
        return _each(law.longer, span)
    interval = tier.every * _pace(job)
    return _each(partial(_mean_longer, law, tier.keep_seconds), tier.keep_count * interval, interval)


def _mean_longer(law: Duration, most: float, end: float, interval: float) -> float:
    """P(it lasts longer than a time that is even over the `interval` before `end`, and than `most` at the latest)."""
    if law.kind == "fixed":
        return 1.0 if law.mean > most else min(1.0, max(0.0, (law.mean - end) / interval + 1.0))
    times = (min(most, end - interval * at) for at in _PHASES)
    return float(sum(weight * law.longer(time) for weight, time in zip(_WEIGHTS, times, strict=True)))


def _each(of: Callable[..., float], *values: Any) -> Any:
    """A function of numbers, of arrays that are alike element by element: each that is there, once."""
    if not any(map(is_array, values)):
        return of(*values)
    table = np.stack([value.ravel() for value in np.broadcast_arrays(*values)])
    different, which = np.unique(table, axis=1, return_inverse=True)
    found = np.array([of(*map(float, one)) for one in different.T])
    return found[which].reshape(np.broadcast_shapes(*map(np.shape, values)))
