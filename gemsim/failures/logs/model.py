"""From a log to classes that make logs like it: rates of nodes, frailty, joint starts, recurrence, steps in time.

The gaps over the system are never used: they must come out right by themselves, which `roundtrip` judges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.logs.chance import Joint, find_joint
from gemsim.failures.logs.clean import Log
from gemsim.failures.logs.clock import Clock, Drift
from gemsim.failures.logs.fleet import hours_of, spread
from gemsim.failures.logs.recurrence import Use, echoes, in_use
from gemsim.failures.logs.repair import Repair, down_hours, repair_of
from gemsim.failures.logs.statistics import joint_starts
from gemsim.failures.logs.steps import STRICT, find_steps

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

JOINT = "joint_starts"
FEW = 40  # events below which a class takes the steps of all classes together and no recurrence of its own
FEWEST = 10  # events below which nothing is said of how unlike the nodes are
GAIN = 6.0
"""Log-likelihood from which on repeats on a node are told: independent nodes, alike or not, reach it in up to 1 log in
100 (60 to 1,000 failures, 20 or 200 nodes)."""
_SHAPES = (0.01, 100.0)  # of a gamma law, as a study takes them
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Source:
    """One class of the model; times in hours. `rate` counts failures of nodes, those that follow others among them:
    for each hour of the window, or of use where the nodes are unlike, for a node in repair fails no more."""

    name: str
    events: int
    rate: float  # failures per node-hour, see above
    gamma_shape: float  # of the nodes' multiples; inf: all alike
    steps: Drift  # (from this hour of the window on, factor); () if even
    sizes: tuple[tuple[int, float], ...]  # nodes that start together; () if one by one
    spread_mean_h: float  # lognormal delay of the others after the first; 0: at one instant
    spread_sigma: float
    again: float  # recurrence; 0: none
    gap_shape: float
    gap_mean_h: float
    repair: Repair


@dataclass(frozen=True, slots=True)
class Model:
    """All classes of a log and how they were found."""

    sources: tuple[Source, ...]
    joint: Joint  # starts of several nodes together, and how many are so by chance
    drift: Drift  # steps that all classes share; () if even
    penalty: float  # log-likelihood that each shared step gained
    bin_h: float

    @property
    def joint_h(self) -> float:
        """Starts of several nodes within this are one joint start."""
        return self.joint.window_h


def fit_model(log: Log, *, strictness: float = STRICT, bin_h: float = 24.0, recurring: bool = True) -> Model:
    """The model of `log`: joint starts as one class, the rest by kind."""
    found, together, repeats = find_joint(log)
    lone, joint = log.only(~together), log.only(together)
    starts = _starts(log, found.window_h, together, repeats)
    steps = find_steps(starts, log.window_h, strictness=strictness, bin_h=bin_h)
    clock = Clock.of(steps)
    use, down = in_use(log).only(~together), down_hours(log) if log.named else np.zeros(log.nodes)
    sources = []
    for number, name in enumerate(log.kinds):
        kept = lone.kind == number
        if kept.any():
            source = _lone_source(name, lone.only(kept), use.only(kept), clock, recurring)
            sources.append(_of_use(source, lone.only(kept), down))
    if len(joint.time_h):
        sources.append(_joint_source(joint, found.window_h, clock))
    return Model(tuple(sources), found, clock.drift, steps.penalty, steps.bin_h)


def starts_of(log: Log) -> Floats:
    """Starts of `log` with joint ones as one, of which the steps of the rate are found."""
    found, together, repeats = find_joint(log)
    return _starts(log, found.window_h, together, repeats)


def _starts(log: Log, within_h: float, together: NDArray[np.bool_], repeats: NDArray[np.bool_]) -> Floats:
    """One start for each joint one, each repeat within its group gone; what met by chance stays."""
    groups, kept = joint_starts(log.time_h, within_h), ~repeats
    at = np.flatnonzero(together)
    kept[at[1:][np.diff(groups[at]) == 0]] = False
    return log.time_h[kept]


def _of_use(source: Source, part: Log, down_h: Floats) -> Source:
    """The rate per hour of use where nodes are unlike: those that fail most are out most."""
    if math.isinf(source.gamma_shape):
        return source
    hours = hours_of(part)
    counts = np.bincount(part.node, minlength=part.nodes)
    shape, mean = source.gamma_shape, counts.sum() / hours.sum() * hours
    weight = (shape + counts) / (shape + mean) * hours
    out = float((weight * np.minimum(down_h / hours, 1.0)).sum() / weight.sum())
    return replace(source, rate=source.rate / (1.0 - min(out, 0.9)))


def _lone_source(name: str, part: Log, use: Use, shared: Clock, recurring: bool) -> Source:
    """A class of failures that start one by one."""
    count = len(part.time_h)
    rate = count / part.node_hours
    plain = Source(name, count, rate, math.inf, shared.drift, (), 0.0, 0.0, 0.0, 1.0, 0.0, repair_of(part))
    if not part.named:
        return plain
    hours = hours_of(part)
    if count < FEW or not recurring:
        return replace(plain, gamma_shape=_frailty(np.bincount(part.node, minlength=part.nodes), hours))
    weights, echo, shape, clock = np.ones(count), None, math.inf, shared
    for _ in range(_ROUNDS):
        counts = np.bincount(part.node, weights=weights, minlength=part.nodes)
        shape = _frailty(np.round(counts).astype(np.int64), hours)
        clock = shared.refined(part.time_h[weights >= 0.5], part.window_h)
        own = counts.sum() / hours.sum() * hours
        multiple = np.ones(part.nodes) if math.isinf(shape) else (shape + counts) / (shape + own)
        found = echoes(
            part.time_h, part.node, rates=rate * multiple, factor=clock.factor(part.time_h),
            window_h=part.window_h, least_h=part.tick_h / 2 or 1e-3, use=use,
        )  # fmt: skip
        echo = found if found is not None and found.gain > GAIN else None
        weights = np.ones(count) if echo is None else echo.background
    lone = replace(plain, gamma_shape=shape, steps=clock.drift)
    if echo is None:
        return lone
    return replace(lone, again=echo.again, gap_shape=echo.shape, gap_mean_h=echo.mean_h)


def _frailty(counts: Ints, hours: Floats) -> float:
    """Shape of the gamma law of rates; inf where few failures or Akaike's criterion speak for nodes that are alike."""
    if counts.sum() < FEWEST:
        return math.inf
    nodes = spread(counts, hours)
    if nodes.aic_gamma >= nodes.aic_alike or nodes.gamma_shape > _SHAPES[1]:
        return math.inf
    return max(nodes.gamma_shape, _SHAPES[0])


def _joint_source(part: Log, joint_h: float, shared: Clock) -> Source:
    """The joint starts of a log: how many nodes, how far apart, in which stretches of time."""
    groups = joint_starts(part.time_h, joint_h)
    sizes, many = np.unique(np.bincount(groups), return_counts=True)
    first = np.concatenate([[True], np.diff(groups) > 0])
    starts = part.time_h[first]
    delays = (part.time_h - starts[groups])[~first]
    mean, sigma = _delay_law(delays, part.tick_h)
    drift = shared.refined(starts, part.window_h).drift
    law = tuple((int(size), float(count / many.sum())) for size, count in zip(sizes, many, strict=True))
    return Source(
        JOINT, len(part.time_h), len(part.time_h) / part.node_hours, math.inf, drift, law, mean, sigma, 0.0, 1.0, 0.0,
        repair_of(part),
    )  # fmt: skip


def _delay_law(delays: Floats, tick: float) -> tuple[float, float]:
    """Mean and sigma of a lognormal of which each delay was seen rounded to `tick`; (0, 0) if all are 0."""
    from scipy import optimize
    from scipy.special import ndtr

    if not (delays > 0).any() or tick == 0:
        return 0.0, 0.0
    low, high = np.maximum(delays - tick / 2, 0.0), delays + tick / 2

    def cost(p: Floats) -> float:
        sigma = math.exp(p[1])
        with np.errstate(divide="ignore"):
            chance = ndtr((np.log(high) - p[0]) / sigma) - ndtr((np.log(low) - p[0]) / sigma)
        return -float(np.log(np.maximum(chance, 1e-300)).sum())

    found = optimize.minimize(cost, [math.log(tick), 0.5], method="Nelder-Mead")
    mu, sigma = float(found.x[0]), math.exp(float(found.x[1]))
    return math.exp(mu + sigma * sigma / 2), sigma
