"""The best design of a group: not the largest ETTR, but the cheapest that ETTR cannot tell from the largest.

All designs of a group ran on the same failures, so they are compared replication by replication.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gemsim.results.estimate import Floats, Interval, mean_interval, paired_interval

TIE_BAND = 0.0005  # ETTR differences below this are no reason to pay for anything
TOO_WIDE = 0.01  # half-width of a paired difference beyond which a tie says nothing


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One design of a group: its place in the table, its ETTR (or what is sought) per replication, steady costs."""

    index: int
    ettr: Floats
    memory_overhead: float
    step_overhead: float
    meets: bool  # what the study requires


@dataclass(frozen=True, slots=True)
class Yardstick:
    """How designs are measured by their replications (more is better), and which differences are worth paying for."""

    value: Callable[[Floats], float] = lambda values: mean_interval(values).value
    difference: Callable[[Floats, Floats], Interval] = paired_interval
    band: float = TIE_BAND
    too_wide: float = TOO_WIDE


BY_ETTR = Yardstick()


@dataclass(frozen=True, slots=True)
class Choice:
    """What one group decides: indices into the table; `differences` are paired, against the reference.

    `unsure` is the design that would be best, where only an interval too wide to choose by ties it; then none is.
    """

    reference: int | None
    best: int | None
    tied: tuple[int, ...]
    differences: Mapping[int, Interval]
    unsure: int | None = None


def tie_band(difference: Interval, band: float = TIE_BAND) -> float:
    """How far from the reference a design may be and still count as tied with it."""
    half = difference.half_width
    return half if half > band else band  # one replication has no interval (NaN): the fixed band decides


def choose(candidates: Sequence[Candidate], by: Yardstick = BY_ETTR) -> Choice:
    """The reference, the tied and the best of one group of distinct designs (model.md, section 7).

    Without a design that meets the requirement there is neither a reference nor a best. Where the half-width of the
    cheapest tied design is over TOO_WIDE there is a reference and no best: more replications have to tell.
    """
    allowed = [candidate for candidate in candidates if candidate.meets]
    if not allowed:
        return Choice(reference=None, best=None, tied=(), differences={})
    reference = max(allowed, key=lambda c: (by.value(c.ettr), -c.index))
    differences = {c.index: by.difference(c.ettr, reference.ettr) for c in candidates}
    tied = [c for c in allowed if abs(differences[c.index].value) <= tie_band(differences[c.index], by.band)]
    best = min(tied, key=_cost)
    indices = tuple(c.index for c in tied)
    if differences[best.index].half_width > by.too_wide:
        return Choice(reference.index, None, indices, differences, unsure=best.index)
    return Choice(reference.index, best.index, indices, differences)


def _cost(candidate: Candidate) -> tuple[float, float, int]:
    """Memory, then step time, then order; equal shares reached by other arithmetic (k, m against 2k, 2m) stay equal."""
    return (float(f"{candidate.memory_overhead:.12g}"), float(f"{candidate.step_overhead:.12g}"), candidate.index)
