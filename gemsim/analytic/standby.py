"""How often no hot spare is left, and none at all: the chain of nodes broken and hot spares standing by.

One idea: with so many broken and so many hot ones idle, all other spares are idle too; so two numbers are the state.
Rates per second, times in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import ceil, expm1, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsim.errors import NotCovered
from gemsim.scenario.fleet import SparesPlan

MOST_STATES = 40_000
MOST_TIMES = 4  # that nodes are borrowed for a selection; ten times as often one by one
PIECES = 64  # of a stretch
LITTLE = 1e-4  # probability that is not followed up
RECOVERIES = 2  # exponential parts of a recovery of fixed length

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Events:
    """Events per second in equilibrium, and how many more there are in a run that begins with all spares at hand.

    `without_hot`: a failure finds no hot spare, but another. `without_any`: it finds none, which comes in clumps of so
    many. `lacking`: share of time in which the job lacks a node. `failures` per second.
    """

    failures: float
    without_hot: float
    without_any: float
    lacking: float
    extra_without_hot: float
    extra_without_any: float
    clump: float


@lru_cache(maxsize=256)
def standby(
    hot: int, others: int, rate: float, mean: float, *, stop: float = 0.0, anew: bool = False, idle: float = 0.0
) -> Events:
    """A job that fails at `rate` per running second and stands still for `stop` then (0: fails all the time).

    Hot spares are used first, then the others; a node back from repair refills the hot ones first. `anew`: once no hot
    one is left, the hot ones are filled from the others. Each spare that stands by fails at rate `idle`. A job that
    lacks a node waits for the next one repaired.
    Exponential repairs without a limit of crews; a stop is two exponential parts. Raises NotCovered where there are too
    many states. Kind: exact for that chain.
    """
    chain = _Chain(hot, hot + others, rate, mean, stop, anew, idle)
    solver = chain.factored()
    pinned = np.zeros(len(chain.states))
    pinned[chain.often] = 1.0
    shares = solver.solve(pinned, trans="T")
    biases = [_bias(solver.solve(reward), shares, chain.often) for reward in (chain.next_kind, chain.none)]
    return Events(
        failures=float(shares @ chain.failing),
        without_hot=float(shares @ chain.next_kind),
        without_any=float(shares @ chain.none),
        lacking=float(shares @ chain.lacking),
        extra_without_hot=float(biases[0][chain.first]),
        extra_without_any=float(biases[1][chain.first]),
        clump=1.0 + float(biases[1][chain.empty]),
    )


def _bias(solution: Floats, shares: Floats, often: int) -> Floats:
    """How many events more than rate x time a run has by its first state, from Poisson's equation with the rate in the
    place of one state."""
    bias = -solution
    bias[often] = 0.0
    return bias - float(shares @ bias)


class _Chain:
    """States (broken, hot idle, part of a stop) and the rates between them."""

    def __init__(self, hot: int, spares: int, rate: float, mean: float, stop: float, anew: bool, idle: float) -> None:
        self.hot, self.spares, self.rate, self.mean, self.stop, self.anew = hot, spares, rate, mean, stop, anew
        self.idle = idle
        load = (rate / (1.0 + rate * stop) + spares * idle) * mean
        beyond = 1 if stop else ceil(load + 12.0 * sqrt(load) + 20.0)
        self.top = spares + beyond
        highest = min(self.top, ceil(load + 12.0 * sqrt(load) + 30.0)) if load < spares else self.top
        self.parts = 1 + (RECOVERIES if stop else 0)
        if (highest + 1) * (hot + 1) * self.parts > MOST_STATES:
            raise NotCovered(f"{hot} hot and {spares - hot} other spares are too many for the chain of who stands by")
        self.top = highest
        self.states = [
            (broken, idle, part)
            for broken in range(self.top + 1)
            for idle in range(min(hot, max(0, spares - broken)) + 1)
            for part in range(self.parts)
        ]
        self.number = {state: number for number, state in enumerate(self.states)}
        self.first = self.number[0, hot, 0]
        usual = min(round(load), self.top)
        self.empty = self.number[min(spares + 1, self.top), 0, 1 if stop else 0]  # a failure has just found none
        self.often = self.number[usual, min(hot, max(0, spares - usual)), 0]  # where equations are pinned: well met
        self.failing, self.next_kind, self.none, self.lacking = (np.zeros(len(self.states)) for _ in range(4))

    def factored(self) -> Any:
        """The generator with ones in the column of a frequent state, factored: its transpose gives the equilibrium, it
        itself the rate of a reward and the bias."""
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        rows, columns, values = self._rates()
        size = len(self.states)
        matrix = csc_matrix((values, (rows, columns)), shape=(size, size))
        try:
            return splu(matrix)
        except RuntimeError as error:  # singular: some events are rarer than a float can tell beside the others
            raise NotCovered("spares: repairs and stops take times too unlike for the chain of standbys") from error

    def _rates(self) -> tuple[list[int], list[int], list[float]]:
        rows, columns, values = [], [], []
        for number, (broken, idle, part) in enumerate(self.states):
            out = 0.0
            for state, rate in self._moves(number, broken, idle, part):
                out += rate
                to = self.number[state]
                if to != self.often:
                    rows.append(number)
                    columns.append(to)
                    values.append(rate)
            if number != self.often:
                rows.append(number)
                columns.append(number)
                values.append(-out)
            rows.append(number)
            columns.append(self.often)
            values.append(1.0)
        return rows, columns, values

    def _moves(self, number: int, broken: int, idle: int, part: int) -> list[tuple[tuple[int, int, int], float]]:
        moves = []
        if broken:
            room = min(self.hot, max(0, self.spares - broken + 1))
            moves.append(((broken - 1, min(idle + 1, room), part), broken / self.mean))
        others = max(0, self.spares - broken - idle)
        if self.idle and broken < self.top:
            moves += [((broken + 1, idle - 1, part), idle * self.idle)] if idle else []
            moves += [((broken + 1, idle, part), others * self.idle)] if others else []
        if broken > self.spares:
            self.lacking[number] = 1.0
        if part:
            ahead = part + 1 if part < self.parts - 1 else 0
            moves.append(((broken, idle, ahead), RECOVERIES / self.stop))
            return moves
        if self.stop and broken > self.spares:
            return moves  # it stands and waits
        self.failing[number] = self.rate
        self.next_kind[number] = self.rate if idle == 0 and others else 0.0
        self.none[number] = self.rate if idle == 0 and not others else 0.0
        if broken < self.top:
            left = idle - 1 if idle else min(self.hot, others - 1) if others and self.anew else 0
            moves.append(((broken + 1, left, 1 if self.stop else 0), self.rate))
        return moves


@dataclass(frozen=True, slots=True)
class Stretch:
    """Wall seconds in which the job fails at `rate` per running second."""

    seconds: float
    rate: float


@dataclass(frozen=True, slots=True)
class Expected:
    """Mean numbers over a run: times that hosts were chosen anew, and nodes borrowed."""

    selections: float
    borrowed: float


def over_a_run(
    stretches: Sequence[Stretch], plan: SparesPlan, mean: float, *, stop: float, idle: float = 0.0
) -> Expected:
    """Selections, and nodes taken from other jobs, of a run that begins with all spares at hand.

    When none is left nodes come one by one until the job, and its hot spares where hosts are chosen anew, are complete,
    those repaired meanwhile counted; the pool is larger then for good. Such times are Poisson, as rare clumps are
    (Aldous 1989); each makes the next rarer. Kind: first order.
    """
    anew = plan.selection > 0.0 or plan.reshuffle
    hot = plan.hot if anew else 0  # who is next does not matter to when none is left
    pools = _pools(plan, mean)

    def chain(place: int, rate: float) -> Events:
        return standby(hot, pools[place][0] - hot, rate, mean, stop=stop, anew=anew, idle=idle)

    start = chain(0, stretches[0].rate)
    late = max(0.0, -start.extra_without_any / start.without_any) if start.without_any else 0.0
    selections, borrowed, shares = start.extra_without_hot, 0.0, [1.0] + [0.0] * (len(pools) - 1)
    for stretch in stretches:
        found, step = partial(chain, rate=stretch.rate), stretch.seconds / PIECES
        for piece in range(PIECES):
            selections += step * sum(p * found(n).without_hot for n, p in enumerate(shares) if p > LITTLE)
            open_for = min(step, max(0.0, step * (piece + 1) - late))
            borrowed += _enlarge(shares, found, pools, open_for)
        late = max(0.0, late - stretch.seconds)
    clumps = sum(place * share for place, share in enumerate(shares))
    return Expected(selections + (clumps if anew else 0.0), borrowed)


def _enlarge(
    shares: list[float], found: Callable[[int], Events], pools: Sequence[tuple[int, float]], seconds: float
) -> float:
    """Move the probabilities of how often the pool has been enlarged; returns the nodes that takes."""
    borrowed = 0.0
    for place in range(len(shares) - 2, -1, -1):
        if shares[place] <= LITTLE:
            continue
        moved = shares[place] * -expm1(-found(place).without_any / found(place).clump * seconds)
        shares[place] -= moved
        to = place
        while moved > 0.0 and to < len(shares) - 1:
            borrowed += moved * pools[to][1]
            to += 1
            further = pools[to - 1][1] == 1.0 and to < len(shares) - 1 and moved > LITTLE
            on = moved * (1.0 - 1.0 / found(to).clump) if further else 0.0
            shares[to] += moved - on
            moved = on
    return borrowed


def _pools(plan: SparesPlan, mean: float) -> list[tuple[int, float]]:
    """(spares, nodes then borrowed at a time) as often as it can happen, `MOST_TIMES` at most."""
    found: list[tuple[int, float]] = []
    size, left = plan.nodes, plan.borrow
    anew = plan.selection > 0.0 or plan.reshuffle
    while left > 0 and len(found) < (MOST_TIMES if anew else 10 * MOST_TIMES):
        wanted = (1 + plan.hot) / (1.0 + plan.borrow_each * (size + 1) / mean) if anew else 1.0
        taken = min(left, max(1, round(wanted)))
        found.append((size, float(taken)))
        size, left = size + taken, left - taken
    return [*found, (size, 0.0)]
