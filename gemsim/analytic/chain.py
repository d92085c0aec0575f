"""Members of a stripe lost one after another, each failure starting the recovery again: the chance that it ends whole.

One idea: from each state the recovery takes a fixed time, so the next failure comes in it with 1 - e^(-rate time); all
terms are positive and nothing is subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Hit:
    """Failures that do one thing to a stripe: `rate` per second of the job, `members` that the worst stripe loses (0:
    none, but the recovery starts again), `width`: share of the stripes of a domain that lose one; `down`: seconds of
    its recovery but for the rebuild; `later`: it can strike while another is recovered."""

    rate: float
    members: int
    width: float
    down: float
    later: bool = True


def chance_of_loss(
    hits: Sequence[Hit], *, domains: int, group: float, m: int, rebuild: Callable[[int], float]
) -> float:
    """Losses per second of some stripe of `group` members, more than `m` of them lost before they are back.

    All `domains` fail alike, at places of their own; a failure in another group only starts the recovery again. Exact
    for one group and hits of one kind, else first order in what two groups lose at once. Failures that take more than
    m members at once are not counted. Recovery times are the longest of those met; none is random.
    """
    total = math.fsum(hit.rate for hit in hits if hit.later)

    @cache
    def lost(members: int, width: float, down: float) -> float:
        if members > m:
            return 1.0
        seconds = down + rebuild(members)
        onward, leaving = 0.0, 0.0
        for hit in hits:
            if not hit.later:
                continue
            share = max(0.0, group - members) / domains if hit.members else 0.0
            share *= 1.0 if max(hit.width, width) >= 1.0 else hit.width
            longer = max(down, hit.down)
            onward += hit.rate * share * lost(members + hit.members, min(width, hit.width), longer) if share else 0.0
            leaving += hit.rate * share
            if longer > down:
                onward += hit.rate * (1.0 - share) * lost(members, width, longer)
                leaving += hit.rate * (1.0 - share)
        came = -math.expm1(-total * seconds)
        stays = math.exp(-total * seconds) * total
        return came * onward / (stays + came * leaving) if leaving else 0.0

    first = (hit for hit in hits if 0 < hit.members <= m)
    return math.fsum(hit.rate * lost(hit.members, hit.width, hit.down) for hit in first)
