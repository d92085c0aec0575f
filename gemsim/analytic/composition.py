"""Who is in the job when unlike devices leave it and come back: the mean rate of a job over a run.

One idea: bad devices fail sooner, so they are away more than they run, and repair may cure them. Devices are many, so
numbers by multiple follow a mean-field equation, solved here by implicit steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.classes import Frailty

POINTS = 24  # multiples that stand for a gamma law
STEPS = 240
PARTS = 4
STAGES = 5  # of the time away: its length varies little

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Flow:
    """What moves devices. Rates per second of the clock on which the class fails.

    `places`: devices of the job; `spares`: devices beside it; `rate`: failures of a device of multiple 1; `leaves`:
    whether a failure takes the device out; `others`: rate at which a device is taken out with a neighbour or by another
    class; `repair`: seconds until it is back; `cured`: share of repairs that make a device ordinary (0: never); `idle`:
    share of those away that can fail there, and then begin their time away anew; `longer`: factor on the time away.
    """

    places: int
    spares: int
    rate: float
    leaves: bool
    others: float
    repair: float
    cured: float
    idle: float = 0.0
    longer: float = 1.0


@dataclass(frozen=True, slots=True)
class Mix:
    """Of a run: mean multiple over those in the job and over time, the relative variance of that over time, and the
    mean in each of `PARTS` equal parts of it."""

    mean: float
    variation: float
    course: tuple[float, ...]


def multiples(law: Frailty) -> tuple[Floats, Floats]:
    """Multiples that stand for a law, with their shares: the first is what an ordinary device has.

    gamma: generalized Gauss-Laguerre, so the first 2 n - 1 moments are right.
    """
    if law.kind == "lemons":
        return np.array([law.good, law.good * law.multiplier]), np.array([1.0 - law.share, law.share])
    from scipy.special import roots_genlaguerre

    nodes, weights = roots_genlaguerre(POINTS, law.shape - 1.0)
    return nodes / law.shape, weights / weights.sum()


def in_the_job(law: Frailty, flow: Flow, seconds: float) -> Mix:
    """The mean multiple in the job over its first `seconds`. Kind: first order (devices without identity beyond their
    multiple).

    Of the devices of multiple x, n run and a are away: n' = -l n + (1 - c) a / A, a' = l n - a / A, l = r x + others.
    Those away in all are as many as the spares, so each is away for A = spares / (leaving per second) on average, or
    for its repair, if that is longer, in `STAGES` stages, since spares are used in order of standing by. They begin as
    a sample of all devices.
    """
    x, shares = multiples(law)
    leave, idle = flow.rate * x * flow.leaves + flow.others, flow.rate * x * flow.idle
    running, away, fresh = shares * flow.places, np.zeros((STAGES, len(x))), shares * flow.spares  # never used so far
    edges = np.concatenate([[0.0], np.geomspace(seconds * 1e-3, seconds, STEPS)])
    means, times = [float(x @ shares)], [0.0]
    for begin, end in pairwise(edges):
        step = float(end - begin)
        leaving = float(leave @ running)
        taken = fresh * min(1.0, leaving * step / max(float(fresh.sum()), 1e-30))
        broke = (fresh - taken) * -np.expm1(-idle * step)
        fresh = fresh - taken - broke
        away[0] += broke
        length = max(flow.repair, flow.spares / leaving, 1e-9 * seconds) * flow.longer if leaving > 0.0 else np.inf
        moves = _Moves(leave * step, STAGES * step / length, idle * step, flow.cured)
        running, away = moves.step(running + taken, away)
        running *= flow.places / running.sum()
        means.append(float(x @ running) / flow.places)
        times.append(float(end))
    return _averaged(np.array(times), np.array(means))


@dataclass(frozen=True, slots=True)
class _Moves:
    """What happens in one step: who leaves, goes on from stage to stage (`on`), fails while idle, is cured."""

    leave: Floats
    on: float
    idle: Floats
    cured: float

    def step(self, running: Floats, away: Floats) -> tuple[Floats, Floats]:
        """Numbers by the values at the end of the step: each stage away is a known part, and parts in proportion to
        those that run and to those that fail while away, at that end."""
        parts = np.zeros((3, STAGES, len(running)))
        came = np.stack([np.zeros(len(running)), self.leave, np.ones(len(running))])
        for stage in range(STAGES):
            came[0] += away[stage]
            parts[:, stage] = came / (1.0 + self.on + self.idle)
            came = self.on * parts[:, stage]
        known, by_running, by_failing = parts
        again = self.idle / (1.0 - self.idle * by_failing.sum(axis=0))  # those that begin their time away anew
        known = known + by_failing * again * known.sum(axis=0)
        by_running = by_running + by_failing * again * by_running.sum(axis=0)
        back, share = self.on * known[-1], self.on * by_running[-1]
        after = (running + (1.0 - self.cured) * back) / (1.0 + self.leave - (1.0 - self.cured) * share)
        after[0] += self.cured * float((back + share * after).sum())
        return after, known + by_running * after


def _averaged(times: Floats, values: Floats) -> Mix:
    """Mean and relative variance over time, of straight lines between the points."""
    widths = np.diff(times)
    middle = (values[1:] + values[:-1]) / 2.0
    mean = float(widths @ middle / times[-1])
    square = float(widths @ (middle**2 + np.diff(values) ** 2 / 12.0) / times[-1])
    so_far = np.concatenate([[0.0], np.cumsum(widths * middle)])
    parts = np.diff(np.interp(np.linspace(0.0, times[-1], PARTS + 1), times, so_far)) * PARTS / times[-1]
    return Mix(mean, max(0.0, square / mean**2 - 1.0), tuple(parts.tolist()))
