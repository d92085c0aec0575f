"""Exact renewal forms of the job: useful share of wall time under periodic saves and exponential failures.

One idea: the time between two roll-backs (a life) renews the job, so effective time = work kept per life / length of a
life. All times are seconds of wall time, all rates failures of the whole job per second. `tau` is the running time
between two saves, `delta` the time one save blocks the job. `tau` and rates may be arrays, for as many jobs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from gemsim.analytic.rungs import Classes as Classes
from gemsim.analytic.rungs import check, check_classes, ladder
from gemsim.protection.arrays import anywhere, at_least, either, exp, expm1, total
from gemsim.protection.interval import optimal_interval as optimal_interval


def roll_back_segment(tau: float, delta: float, *, rate: float, restart: float = 0.0, down: float = 0.0) -> float:
    """Mean wall time to complete `tau` of work and its save when every failure rolls back to the last save.

    `restart` can itself be hit (and then starts again, `down` included); `down` cannot. Seconds, inf on overflow.
    E[T] = (1/rate + down) e^(rate restart) (e^(rate (tau + delta)) - 1).
    Source: Daly (2006), the complete exponential model; with `down` in Herault and Robert (2015). Kind: exact.
    """
    check(tau=tau, delta=delta, rate=rate, restart=restart, down=down)
    if rate == 0.0:
        return tau + delta
    return (1.0 + rate * down) * exp(rate * restart) * expm1(rate * (tau + delta)) / rate


def roll_back_ettr(tau: float, delta: float, *, rate: float, restart: float = 0.0, down: float = 0.0) -> float:
    """Useful share of wall time when every failure rolls back: tau / `roll_back_segment`. Kind: exact."""
    return tau / roll_back_segment(tau, delta, rate=rate, restart=restart, down=down)


def mean_stall_success(classes: Classes, *, roll_back: float) -> float:
    """Probability L that an in-place repair ends before a roll-back failure hits it; classes as (rate, stall seconds).

    L = phi / (1 - a (1 - phi) / (a + b)), phi = the mean of e^(-(a + b) stall) over the classes, a their rate and b =
    `roll_back`. A hit by another in-place failure starts the stall again, that of the hitting class; so also for a
    stall drawn afresh at each hit. Where a hit keeps the *longer* stall (the engine's rule) use `interruptions`. Kind:
    exact for the rule stated.
    """
    check(roll_back=roll_back)
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
    check(tau=tau, delta=delta, roll_back=roll_back, restart=restart, down=down)
    if roll_back == 0.0:
        raise ValueError("roll_back must be > 0: with no roll-backs no life ends; use general_ettr")
    rate = math.fsum(rate for rate, _ in in_place)
    total = rate + roll_back
    lost = _stall_failure(in_place, roll_back)
    life = 1.0 / roll_back + down * exp(total * restart) + expm1(total * restart) / total
    return expm1((roll_back + rate * lost) * (tau + delta)) * life


def write_lag_factor(roll_back: float, lag: float) -> float:
    """Factor on effective time of a save that is durable only `lag` wall seconds after the blocked part.

    e^(-b lag), b = `roll_back`, failures per second that lose the process and so the write; the write goes on during an
    in-place pause. Kind: exact.
    """
    check(roll_back=roll_back, lag=lag)
    return exp(-roll_back * lag)


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
    """Rates of interruptions by how they end, and the time they take, over the rungs of `ladder`. `running`: classes by
    the same names that fire only while the job runs: they begin interruptions and hit none. Kind: exact."""
    rungs = ladder(restarting=restarting, in_place=in_place, keeping=keeping, running=running)
    begins = [rung.begins for rung in rungs]
    return Interruptions(
        roll_back=total(b + (k + a) * r.rolled for r, (b, k, a) in zip(rungs, begins, strict=True)),
        keep=total(k * r.saved + a * r.kept for r, (_, k, a) in zip(rungs, begins, strict=True)),
        in_place=total(a * r.still for r, (_, _, a) in zip(rungs, begins, strict=True)),
        wall_per_running=1.0 + total((b + k + a) * r.standing for r, (b, k, a) in zip(rungs, begins, strict=True)),
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
    factor: float = 1.0,
) -> float:
    """Useful share of wall time with classes that roll back, repair in place, or restart with the state kept.

    Attempts at a cycle w = tau + delta end in a save (p), a kept restart (q_h) or a roll-back (q_b). With s = p / (p +
    q_b) the work kept per life (from one roll-back to the next) is s / (1 - s) (tau + q_h / (1 - q_h) E[work kept per
    interrupted attempt]); here it is taken per running second, which also holds without roll-backs. A kept restart
    loses the unfinished step only (`step` seconds; 0 = loses nothing) and starts the checkpoint clock again.
    `write_lag`: a save counts once that many wall seconds pass without a roll-back class firing. `overhead` = encode
    seconds per second of useful step. Failures while standing still: `interruptions`, given as `rates` where they are
    known already. `wall_anchor`: the clock of saves runs on the wall instead, see `_on_the_wall`. Kind: exact without
    `keeping`, or with `write_lag` = 0; with both, where the write goes on through a kept restart; else `factor`
    says what becomes of it (`saves.cut_off_writes`).
    """
    check(tau=tau, delta=delta, step=step, write_lag=write_lag, overhead=overhead)
    if not anywhere(tau > 0.0):
        return 0.0
    if rates is None:
        rates = interruptions(restarting=restarting, in_place=in_place, keeping=keeping)
    lag = write_lag_factor(total(rate for rate, _ in restarting), write_lag) * factor
    form = _on_the_wall if wall_anchor else _since_recovery
    return either(
        rates.wall_per_running < math.inf,
        lambda: form(tau, delta, rates, step) * lag / rates.wall_per_running / (1.0 + overhead),
        lambda: 0.0,
    )


def _since_recovery(tau: float, delta: float, rates: Interruptions, step: float) -> float:
    """Useful seconds per running second where the clock of saves starts again at each recovery."""
    cycle = tau + delta
    ending = rates.roll_back + rates.keep
    useful = tau * either(ending > 0.0, lambda: ending / expm1(ending * cycle), lambda: 1.0 / cycle)
    if not anywhere(rates.keep > 0.0):
        return useful
    done = exp(-ending * cycle)
    rolled = either(ending > 0.0, lambda: -expm1(-ending * cycle) * rates.roll_back / ending, lambda: ending)
    saved_later = either(rolled > 0.0, lambda: done / (done + rolled), lambda: 1.0)
    return useful + rates.keep * saved_later * kept_at_interruption(tau, delta, rate=ending, step=step)


def _on_the_wall(tau: float, delta: float, rates: Interruptions, step: float) -> float:
    """Useful seconds per running second where saves come at fixed marks of the wall clock, whatever failed since.

    A mark keeps what was worked since the mark before or since the last roll-back, whichever is later: the age of a
    Poisson process, cut off at tau. A kept restart loses half a step. Exact for steps much shorter than tau and
    roll-backs alone; other pauses leave less work between two marks, which is first order.
    """
    rate = rates.roll_back
    kept = either(rate > 0.0, lambda: -expm1(-rate * tau) / rate * exp(-rate * delta), lambda: tau)
    return at_least(0.0, kept / (tau + delta) - rates.keep * step / 2.0)


def kept_at_interruption(tau: float, delta: float, *, rate: float, step: float = 0.0) -> float:
    """Mean work (seconds) in whole steps done when an attempt at a cycle of tau + delta is cut short.

    The cut comes at `rate` per running second, given that it comes within the cycle; a cut during the save keeps all
    whole steps of tau. `step` = 0 takes the limit of ever shorter steps. Kind: exact.
    """
    check(tau=tau, delta=delta, rate=rate, step=step)
    cycle = tau + delta
    work = step * (tau / step * (1.0 + 1e-12) // 1.0) if anywhere(step > 0.0) else tau

    def rarely() -> float:
        return work - either(cycle > 0.0, lambda: work * ((work + step) / 2.0) / cycle, lambda: work)

    def often() -> float:
        begun = -expm1(-rate * work)
        reached = step * begun / expm1(rate * step) if anywhere(step > 0.0) else begun / rate
        return (reached - work * exp(-rate * cycle)) / -expm1(-rate * cycle)

    return either(rate * cycle < 1e-7, rarely, often)


def _stall_failure(classes: Classes, roll_back: float) -> float:
    """1 - L, the mean over the classes, without subtracting near-equal numbers."""
    check_classes(classes)
    in_place = math.fsum(rate for rate, _ in classes)
    total = in_place + roll_back
    if in_place == 0.0:
        return 0.0
    hit = math.fsum(rate / in_place * -math.expm1(-total * stall) for rate, stall in classes)
    phi = math.fsum(rate / in_place * math.exp(-total * stall) for rate, stall in classes)
    return hit * roll_back / (phi * total + hit * roll_back)
