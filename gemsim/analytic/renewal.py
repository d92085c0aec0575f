"""Exact renewal forms of the job: useful share of wall time under periodic saves and exponential failures.

One idea: the time between two roll-backs (a life) renews the job, so effective time = work kept per life / length of a
life. All times are seconds of wall time, all rates failures of the whole job per second. `tau` is the running time
between two saves, `delta` the time one save blocks the job.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gemsim.analytic.saves import cut_off_writes
from gemsim.protection.interval import optimal_interval as optimal_interval

Classes = Sequence[tuple[float, float]]
"""Failure classes as (rate per second, seconds the job then stands still)."""


def roll_back_segment(tau: float, delta: float, *, rate: float, restart: float = 0.0, down: float = 0.0) -> float:
    """Mean wall time to complete `tau` of work and its save when every failure rolls back to the last save.

    `restart` can itself be hit (and then starts again, `down` included); `down` cannot. Seconds, inf on overflow.
    E[T] = (1/rate + down) e^(rate restart) (e^(rate (tau + delta)) - 1).
    Source: Daly (2006), the complete exponential model; with `down` in Herault and Robert (2015). Kind: exact.
    """
    _check(tau=tau, delta=delta, rate=rate, restart=restart, down=down)
    if rate == 0.0:
        return tau + delta
    return (1.0 + rate * down) * _exp(rate * restart) * _expm1(rate * (tau + delta)) / rate


def roll_back_ettr(tau: float, delta: float, *, rate: float, restart: float = 0.0, down: float = 0.0) -> float:
    """Useful share of wall time when every failure rolls back: tau / `roll_back_segment`. Kind: exact."""
    return tau / roll_back_segment(tau, delta, rate=rate, restart=restart, down=down)


def stall_success(stall: float, *, in_place: float, roll_back: float) -> float:
    """Probability L that an in-place repair of length `stall` ends before a roll-back failure hits it.

    A hit by another in-place failure starts the stall again. L = phi / (1 - a (1 - phi) / (a + b)),
    phi = e^(-(a + b) stall), a = `in_place` and b = `roll_back` failures per second. Kind: exact.
    """
    _check(roll_back=roll_back)
    return 1.0 - _stall_failure([(in_place, stall)], roll_back)


def mean_stall_success(classes: Classes, *, roll_back: float) -> float:
    """`stall_success` for several in-place classes where a hit replaces the stall by the hitting class's own.

    Takes phi as its mean over the classes, weighted by rate; so also for a stall drawn afresh at each hit. Where a hit
    keeps the *longer* stall (the engine's rule) use `interruptions`. Kind: exact for the rule stated.
    """
    _check(roll_back=roll_back)
    return 1.0 - _stall_failure(classes, roll_back)


def in_place_segment(
    tau: float,
    delta: float,
    *,
    in_place: Classes,
    roll_back: float,
    restart: float = 0.0,
    down: float = 0.0,
) -> float:
    """Mean wall time to complete `tau` of work and its save with in-place repairs and roll-backs.

    E[T] = (e^((b + a (1 - L)) w) - 1) (1/b + (1/lam + down) e^(lam restart) - 1/lam), w = tau + delta, lam = a + b,
    L = `mean_stall_success`. `restart` can be hit, by either kind; `down` cannot. Needs roll_back > 0. Kind: exact.
    """
    _check(tau=tau, delta=delta, roll_back=roll_back, restart=restart, down=down)
    if roll_back == 0.0:
        raise ValueError("roll_back must be > 0: with no roll-backs no life ends; use general_ettr")
    rate = math.fsum(rate for rate, _ in in_place)
    total = rate + roll_back
    lost = _stall_failure(in_place, roll_back)
    life = 1.0 / roll_back + down * _exp(total * restart) + _expm1(total * restart) / total
    return _expm1((roll_back + rate * lost) * (tau + delta)) * life


def write_lag_factor(roll_back: float, lag: float) -> float:
    """Factor on effective time of a save that is durable only `lag` wall seconds after the blocked part.

    e^(-b lag), b = `roll_back`, failures per second that lose the process and so the write; the write goes on during an
    in-place pause. Kind: exact.
    """
    _check(roll_back=roll_back, lag=lag)
    return math.exp(-roll_back * lag)


class Interruptions(NamedTuple):
    """What interruptions do, per second of running time (time in which the job advances or saves)."""

    roll_back: float
    """Interruptions that end as a roll-back, per running second."""
    keep: float
    """Interruptions that end with the state kept and the process restarted, per running second."""
    in_place: float
    """Interruptions that end as an in-place repair, per running second."""
    wall_per_running: float
    """Wall seconds per running second (>= 1): one plus the mean time standing still."""


def interruptions(
    *,
    restarting: Classes,
    in_place: Classes = (),
    keeping: Classes = (),
    running: Mapping[str, Classes] | None = None,
) -> Interruptions:
    """Rates of interruptions by how they end, and the time they take, from a linear recursion over classes.

    Each class is (rate, seconds standing still). Every class keeps firing while the job stands still: a hit by a class
    with time d turns an interruption of length D into one of length max(D, d) from its beginning, and into the graver
    of the two kinds (in place < keep < roll-back). Lengths only grow, so the recursion is triangular; nothing is
    subtracted. A class whose length is random over a few values is several classes. `running`: classes by the same
    names that fire only while the job runs: they begin interruptions and hit none. Kind: exact, exponential classes.
    """
    aside = {"restarting": (), "in_place": (), "keeping": ()} | dict(running or {})
    for classes in (restarting, in_place, keeping, *aside.values()):
        _check_classes(classes)
    restarting, in_place, keeping = ([c for c in group if c[0]] for group in (restarting, in_place, keeping))
    milder = [*in_place, *keeping]
    every = [*restarting, *milder]
    total = math.fsum(rate for rate, _ in every)
    levels = {seconds for _, seconds in (*every, *aside["restarting"], *aside["in_place"], *aside["keeping"])}
    ladder = _Ladder(sorted(levels, reverse=True), total)
    roll_rate = math.fsum(rate for rate, _ in restarting)
    keep_rate = math.fsum(rate for rate, _ in keeping)

    standing = ladder.solve(every, 0.0, lambda level: ladder.exposure[level])
    rolled = ladder.solve(milder, roll_rate, lambda level: ladder.exposure[level] * roll_rate)
    saved = ladder.solve(milder, roll_rate, lambda level: ladder.survive[level])
    kept = ladder.solve(
        in_place,
        roll_rate + keep_rate,
        lambda level: ladder.exposure[level] * math.fsum(rate * saved[max(level, d)] for rate, d in keeping),
    )
    still = ladder.solve(in_place, roll_rate + keep_rate, lambda level: ladder.survive[level])
    restarting, in_place = [*restarting, *aside["restarting"]], [*in_place, *aside["in_place"]]
    keeping = [*keeping, *aside["keeping"]]
    milder = [*in_place, *keeping]
    return Interruptions(
        roll_back=math.fsum(rate for rate, _ in restarting) + math.fsum(rate * rolled[d] for rate, d in milder),
        keep=math.fsum(rate * saved[d] for rate, d in keeping) + math.fsum(rate * kept[d] for rate, d in in_place),
        in_place=math.fsum(rate * still[d] for rate, d in in_place),
        wall_per_running=1.0 + math.fsum(rate * standing[d] for rate, d in (*restarting, *milder)),
    )


def general_ettr(
    tau: float,
    delta: float,
    *,
    restarting: Classes,
    in_place: Classes = (),
    keeping: Classes = (),
    step: float = 0.0,
    write_lag: float = 0.0,
    overhead: float = 0.0,
    rates: Interruptions | None = None,
    wall_anchor: bool = False,
    cut_off: bool = False,
    saved: float = 0.0,
    written: float = 0.0,
) -> float:
    """Useful share of wall time with classes that roll back, repair in place, or restart with the state kept.

    Attempts at a cycle w = tau + delta end in a save (p), a kept restart (q_h) or a roll-back (q_b). With s = p / (p +
    q_b) the work kept per life (from one roll-back to the next) is s / (1 - s) (tau + q_h / (1 - q_h) E[work kept per
    interrupted attempt]); here it is taken per running second, which also holds without roll-backs. A kept restart
    loses the unfinished step only (`step` seconds; 0 = loses nothing) and starts the checkpoint clock again.
    `write_lag`: a save counts once that many wall seconds pass without a roll-back class firing. `overhead` = encode
    seconds per second of useful step. Failures while standing still: `interruptions`, given as `rates` where they are
    known already. `wall_anchor`: the clock of saves runs on the wall instead, see `_on_the_wall`. Kind: exact without
    `keeping`, or with `write_lag` = 0.
    With both, `cut_off` says whether a kept restart ends a write in progress; then `saved` of them per second, after a
    save of their own, leave nothing that a roll-back could lose. `written`: seconds of writes per second that have
    ended by the time a roll-back class fires, as a corruption is found late.
    """
    _check(tau=tau, delta=delta, step=step, write_lag=write_lag, overhead=overhead)
    if tau == 0.0:
        return 0.0
    if rates is None:
        rates = interruptions(restarting=restarting, in_place=in_place, keeping=keeping)
    if math.isinf(rates.wall_per_running):
        return 0.0
    lag = math.exp(written - write_lag * math.fsum(rate for rate, _ in restarting))
    if cut_off:
        lag *= cut_off_writes(tau, delta, roll_back=rates.roll_back, keep=rates.keep, lag=write_lag, saved=saved)
    if wall_anchor:
        return _on_the_wall(tau, delta, rates, step) * lag / rates.wall_per_running / (1.0 + overhead)
    cycle = tau + delta
    ending = rates.roll_back + rates.keep
    useful = tau * (ending / _expm1(ending * cycle) if ending else 1.0 / cycle)
    if rates.keep:
        done = math.exp(-ending * cycle)
        rolled = -math.expm1(-ending * cycle) * rates.roll_back / ending
        saved_later = done / (done + rolled) if rolled else 1.0
        useful += rates.keep * saved_later * kept_at_interruption(tau, delta, rate=ending, step=step)
    return useful * lag / rates.wall_per_running / (1.0 + overhead)


def _on_the_wall(tau: float, delta: float, rates: Interruptions, step: float) -> float:
    """Useful seconds per running second where saves come at fixed marks of the wall clock, whatever failed since.

    A mark keeps what was worked since the mark before or since the last roll-back, whichever is later: the age of a
    Poisson process, cut off at tau. A kept restart loses half a step. Exact for steps much shorter than tau and
    roll-backs alone; other pauses leave less work between two marks, which is first order.
    """
    rate = rates.roll_back
    kept = -math.expm1(-rate * tau) / rate * math.exp(-rate * delta) if rate else tau
    return max(0.0, kept / (tau + delta) - rates.keep * step / 2.0)


def kept_at_interruption(tau: float, delta: float, *, rate: float, step: float = 0.0) -> float:
    """Mean work (seconds) in whole steps done when an attempt at a cycle of tau + delta is cut short.

    The cut comes at `rate` per running second, given that it comes within the cycle; a cut during the save keeps all
    whole steps of tau. `step` = 0 takes the limit of ever shorter steps. Kind: exact.
    """
    _check(tau=tau, delta=delta, rate=rate, step=step)
    cycle = tau + delta
    if step > 0.0:
        count = math.floor(tau / step * (1.0 + 1e-12))
        work = step * count
    else:
        count, work = 0, tau
    if rate * cycle < 1e-7:
        return work - work * ((work + step) / 2.0) / cycle if cycle else 0.0
    begun = -math.expm1(-rate * work)
    reached = step * begun / _expm1(rate * step) if step else begun / rate
    return (reached - work * math.exp(-rate * cycle)) / -math.expm1(-rate * cycle)


class _Ladder:
    """Linear recursion over interruption lengths: a hit moves to the longer of two lengths and starts it again."""

    def __init__(self, levels: Sequence[float], total: float) -> None:
        self.levels = levels
        self.total = total
        self.survive = {level: math.exp(-total * level) for level in levels}
        self.exposure = {level: -math.expm1(-total * level) / total if total else level for level in levels}

    def solve(self, movers: Classes, others: float, base: Callable[[float], float]) -> dict[float, float]:
        """x(D) = base(D) + (1 - e^(-total D)) / total * sum over movers of rate * x(max(D, d)), longest D first.

        `others` = the total rate of the classes that do not move but end the recursion.
        """
        solved: dict[float, float] = {}
        for level in self.levels:
            longer = [(rate, d) for rate, d in movers if d > level]
            onward = math.fsum(rate * solved[d] for rate, d in longer)
            leaving = self.survive[level] + self.exposure[level] * (others + math.fsum(rate for rate, _ in longer))
            value = base(level) + self.exposure[level] * onward
            solved[level] = value / leaving if leaving else math.inf if value else 0.0
        return solved


def _stall_failure(classes: Classes, roll_back: float) -> float:
    """1 - L, the mean over the classes, without subtracting near-equal numbers."""
    _check_classes(classes)
    in_place = math.fsum(rate for rate, _ in classes)
    total = in_place + roll_back
    if in_place == 0.0:
        return 0.0
    hit = math.fsum(rate / in_place * -math.expm1(-total * stall) for rate, stall in classes)
    phi = math.fsum(rate / in_place * math.exp(-total * stall) for rate, stall in classes)
    return hit * roll_back / (phi * total + hit * roll_back)


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < 709.0 else math.inf


def _expm1(exponent: float) -> float:
    return math.expm1(exponent) if exponent < 709.0 else math.inf


def _check(**values: float) -> None:
    for name, value in values.items():
        if not value >= 0.0 or math.isinf(value):
            raise ValueError(f"{name} must be a finite number >= 0, not {value!r}")


def _check_classes(classes: Classes) -> None:
    for rate, seconds in classes:
        _check(rate=rate, seconds=seconds)
