"""What is struck at the same instant: how often a job stops, and how often a stripe loses too much at once.

One idea: an event is a set of units; those in one stripe are counted by a hypergeometric law where the placement is
blind, and are as few as the domains allow where it is aware. Rates per second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, fsum, inf

from gemsim.analytic.survival import equal_groups, occupancy
from gemsim.failures.classes import Batch


def starts(rate: float, batch: Batch | None) -> float:
    """Interruptions per second, those that start together counted once; `rate` counts each unit. Kind: exact."""
    return rate if batch is None else rate / batch.mean


def several(batch: Batch | None) -> float:
    """P(a start strikes two or more units). Kind: exact."""
    return 0.0 if batch is None else fsum(p for size, p in batch.sizes if min(size, batch.domain) > 1)


def fano_of_starts(batch: Batch | None) -> float:
    """Variance over mean of the number of units struck in any window: E(size^2) / E(size). Kind: exact."""
    if batch is None:
        return 1.0
    sizes = [(min(size, batch.domain), share) for size, share in batch.sizes]
    return fsum(n * n * p for n, p in sizes) / batch.mean


@dataclass(frozen=True, slots=True)
class BetaFactor:
    """`units` in `domains` equal domains, each unit failing at `rate`; the share `beta` of that takes its whole domain
    (beta-factor model, Fleming 1975)."""

    units: int
    domains: int
    rate: float
    beta: float

    @property
    def size(self) -> int:
        """Units of a domain."""
        return self.units // self.domains

    @property
    def alone(self) -> float:
        """Rate of failures of one unit by itself, of all units."""
        return self.units * (1.0 - self.beta) * self.rate

    @property
    def together(self) -> float:
        """Rate of failures of a whole domain, of all domains: each unit sees its domain's as its own."""
        return self.domains * self.beta * self.rate

    @property
    def interruptions(self) -> float:
        """Rate at which a job on all units stops."""
        return self.alone + self.together

    def members_lost(self, width: int, *, aware: bool) -> list[float]:
        """P(a failed domain takes j members of one stripe of `width` units), j = 0, 1, ... Kind: exact.

        aware: members spread over as many domains as there are, as evenly as can be. Else: drawn at random of all.
        """
        if not 1 <= width <= self.units or self.units % self.domains:
            raise ValueError(f"need equal domains and 1 <= width <= units, not {self}, {width}")
        top = min(width, self.size)
        if aware:
            shares = [0.0] * (top + 1)
            for members, count in equal_groups(width, self.domains):
                shares[members] += count / self.domains
            return shares
        ways = comb(self.units, self.size)
        return [comb(width, j) * comb(self.units - width, self.size - j) / ways for j in range(top + 1)]

    def loses(self, width: int, more_than: int, *, aware: bool) -> float:
        """Rate at which one event takes more than `more_than` (>= 1) members of one stripe. Kind: exact.

        more_than = 1: two or more at once. more_than = m: the stripe cannot be rebuilt.
        """
        if more_than < 1:
            raise ValueError(f"more_than must be >= 1, not {more_than}")
        return self.together * fsum(self.members_lost(width, aware=aware)[more_than + 1 :])

    def some_stripe_lost(self, width: int, tolerate: int, *, aware: bool) -> float:
        """P(a failed domain takes more than `tolerate` members of some stripe), all units in stripes of about `width`.

        aware: for all stripes alike. Blind: units shuffled over stripes, counted exactly (`occupancy`). Replicas: width
        copies, tolerate = copies - 1. Kind: exact.
        """
        if aware:
            return float(-(-width // self.domains) > tolerate)
        return occupancy(equal_groups(self.units, max(1, self.units // width)), self.size, tolerate).lose


def mean_time_to_loss(
    k: int,
    m: int,
    *,
    failure_rate: float,
    repair_rate: float,
    together: Sequence[tuple[int, float]] = (),
    crews: int | None = None,
) -> float:
    """Mean seconds until a stripe of k + m has more than m members lost, with members that are also lost together.

    `together`: (members, rate) of events that take that many random members of the whole stripe at once. As
    `mean_time_to_data_loss`, which it is without them. Kind: exact, by a reduction of states without subtraction
    (Grassmann, Taksar and Heyman 1985).
    """
    width = k + m
    rates = [[0.0] * (m + 2) for _ in range(m + 1)]
    for lost in range(m + 1):
        rates[lost][lost + 1] += (width - lost) * failure_rate
        if lost:
            rates[lost][lost - 1] += min(lost, crews or lost) * repair_rate
        for members, rate in together:
            for fresh, chance in _fresh(width, lost, members):
                rates[lost][min(m + 1, lost + fresh)] += rate * chance if fresh else 0.0
    return _absorption(rates)


def _fresh(width: int, lost: int, members: int) -> list[tuple[int, float]]:
    """How many of the members taken at once were still there."""
    ways = comb(width, members)
    least, most = max(0, members - lost), min(members, width - lost)
    return [(n, comb(width - lost, n) * comb(lost, members - n) / ways) for n in range(least, most + 1)]


def _absorption(rates: list[list[float]]) -> float:
    """Mean time from state 0 to the last column of a chain (a row for each state but that one).

    The highest state is taken out again and again; its time and its ways on are given to those that lead to it.
    """
    rates = [row[:] for row in rates]
    weights = [1.0] * len(rates)  # mean time, in units of which a visit to the state is worth 1 / (rate out of it)
    for state in range(len(rates) - 1, 0, -1):
        onward = [*range(state), len(rates)]
        out = fsum(rates[state][to] for to in onward)
        if out == 0.0:
            return inf
        for before in range(state):
            share = rates[before][state] / out
            weights[before] += share * weights[state]
            for to in onward:
                if to != before:
                    rates[before][to] += share * rates[state][to]
    return weights[0] / rates[0][-1] if rates[0][-1] > 0.0 else inf
