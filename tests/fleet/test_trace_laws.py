"""Exact laws of what a fleet adds to the trace: unlike devices, batches, common causes, recurrence, drift."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from gemsim.failures.classes import Batch, FailureClass, Frailty, Recurrence
from gemsim.failures.laws import lifetime
from tests import statcheck
from tests.fleet.trace_kinds import DAY, MEAN, UNITS, drawn, gpus, lemons, unfolded

SHARE, TIMES = 0.15, 6.0
GAMMA = Frailty("gamma", shape=0.5)
LEMONS = Frailty("lemons", share=SHARE, multiplier=TIMES, good=1.0 / (1.0 + SHARE * (TIMES - 1.0)))
OF_GOOD = Frailty("lemons", share=SHARE, multiplier=TIMES, good=1.0)
RACKS = Batch(((1, 0.6), (3, 0.4)), "rack", 8)
AGAIN = Recurrence(0.46, lifetime("exponential", 5 * DAY))
STEPS = ((0.0, 0.6), (10 * DAY, 1.4), (15 * DAY, 3.0))


def per_device(one: FailureClass, horizon: float, replications: int) -> list[int]:
    """Failures of each device of the job in each replication."""
    found: list[int] = []
    for number in range(replications):
        hits = Counter(event.unit for event in drawn(one, horizon, number).wall)
        found += [hits[unit] for unit in range(one.units)]
    return found


def check_counts(law: Frailty, none: float, many: float) -> None:
    """The share of devices without a failure, and with five or more, in as long as a mean life."""
    found = per_device(gpus(frailty=law), MEAN, 100)
    statcheck.binomial_count(sum(n == 0 for n in found), len(found), none, detect=0.05, alarm=5e-7)
    statcheck.binomial_count(sum(n >= 5 for n in found), len(found), many, detect=0.03, alarm=5e-7)


def check_gamma() -> None:
    """Poisson counts of gamma means are negative binomial (Greenwood and Yule 1920)."""
    law = nbinom(0.5, 0.5 / 1.5)
    check_counts(GAMMA, float(law.pmf(0)), float(law.sf(4)))


def check_lemons(law: Frailty = LEMONS) -> None:
    """A mixture of two Poisson laws."""
    means = law.good * TIMES, law.good

    def mixed(of: Callable[[float], float]) -> float:
        return SHARE * of(means[0]) + (1 - SHARE) * of(means[1])

    check_counts(law, mixed(partial(poisson.pmf, 0)), mixed(partial(poisson.sf, 4)))


def check_share() -> None:
    """So many are lemons; another fleet has others."""
    fleets = [lemons(drawn(gpus(units=2000, frailty=LEMONS), DAY, n)) for n in range(20)]
    statcheck.binomial_count(sum(map(sum, fleets)), 20 * 2000, SHARE, detect=0.013)
    assert len({tuple(one) for one in fleets}) == 20


def test_share_of_lemons() -> None:
    check_share()


@pytest.mark.parametrize(
    "check", [check_gamma, check_lemons, lambda: check_lemons(OF_GOOD)], ids=["gamma", "lemons", "of good"]
)
def test_counts_of_unlike_devices(check: Callable[[], None]) -> None:
    check()


def test_the_rate_of_a_class_is_that_of_all_its_devices() -> None:
    alike = gpus().rate
    assert gpus(frailty=GAMMA).rate == alike
    assert gpus(frailty=LEMONS).rate == pytest.approx(alike, rel=1e-12)
    assert gpus(frailty=OF_GOOD).rate == pytest.approx(alike * (1 + SHARE * (TIMES - 1)), rel=1e-12)


def check_bound_times() -> None:
    """Given how often a device fails, when it does is uniform."""
    times = [e.time / MEAN for n in range(40) for e in drawn(gpus(frailty=GAMMA), MEAN, n).wall]
    statcheck.ks_uniform(times, detect=0.15)


def test_times_of_devices_are_even() -> None:
    check_bound_times()


# ---------------------------------------------------------------- common random numbers


@pytest.mark.parametrize("law", [None, GAMMA, LEMONS], ids=["alike", "gamma", "lemons"])
@pytest.mark.parametrize("recurrence", [None, AGAIN], ids=["", "recurs"])
@pytest.mark.parametrize("number", range(3))
def test_more_spares_only_append(law: Frailty | None, recurrence: Recurrence | None, number: int) -> None:
    """Times, devices and marks of the job's failures stay as they are."""
    found = []
    for spare in (0, 8):
        trace = drawn(gpus(spare=spare, frailty=law, recurrence=recurrence), MEAN, number)
        job = [event for event in trace.wall if event.unit < UNITS]
        found.append([(e.time, e.unit, e.bound, trace.mark(e, "repair"), trace.mark(e, "gap")) for e in job])
    assert found[0] == found[1]


def test_more_spares_add_failures_of_their_own() -> None:
    for law in (None, GAMMA, LEMONS):
        assert any(e.unit >= UNITS for e in drawn(gpus(spare=64, frailty=law), MEAN, 1).wall)


def test_nobody_is_a_lemon_without_a_share_or_a_multiplier() -> None:
    plain = drawn(gpus(), MEAN, 0)
    for share, multiplier in ((0.0, 6.0), (0.3, 1.0)):
        law = Frailty("lemons", share=share, multiplier=multiplier, good=1.0)
        assert drawn(gpus(frailty=law), MEAN, 0).wall == plain.wall


def test_a_longer_list_of_devices_begins_with_the_same_lemons() -> None:
    few, many = (lemons(drawn(gpus(spare=n, frailty=LEMONS), DAY, 0)) for n in (0, 100))
    assert many[:UNITS] == few
    assert sum(many) > 0


# ---------------------------------------------------------------- batches


def instants(one: FailureClass, horizon: float, replications: int) -> list[list[int]]:
    """Who is struck at each instant; the unit that was drawn first is the first."""
    found: list[list[int]] = []
    for number in range(replications):
        last = -1.0
        for event in drawn(one, horizon, number).wall:
            if event.time != last:
                found.append([])
            found[-1].append(event.unit)
            last = event.time
    return found


def check_batch_rate() -> None:
    """The rate counts units: instants are as many as their mean size says."""
    starts = instants(gpus(batch=RACKS), MEAN, 60)
    statcheck.poisson_count(len(starts), 60 * UNITS / 1.8, detect=0.16)
    statcheck.binomial_count(sum(len(who) == 3 for who in starts), len(starts), 0.4, detect=0.08)


def check_batch_domain() -> None:
    """All of one batch are of one rack, and nobody twice; each other unit of it as likely as the next."""
    starts = instants(gpus(batch=RACKS), MEAN, 60)
    assert all(len({unit // 8 for unit in who}) == 1 and len(set(who)) == len(who) for who in starts)
    apart = [(unit - who[0]) % 8 for who in starts for unit in who[1:]]
    assert set(apart) == set(range(1, 8))
    statcheck.binomial_count(sum(steps <= 3 for steps in apart), len(apart), 3 / 7, detect=0.08, alarm=1e-6)


def check_last_domain() -> None:
    """Ten units in racks of four: the two of the last rack fail as often as the others."""
    one = gpus(units=10, batch=Batch(((4, 1.0),), "rack", 4))
    last = sum(who[0] >= 8 for who in instants(one, MEAN, 600))
    statcheck.poisson_count(last, 600.0, detect=0.3)


@pytest.mark.parametrize("check", [check_batch_rate, check_batch_domain, check_last_domain])
def test_batches(check: Callable[[], None]) -> None:
    check()


def test_a_batch_of_one_is_none() -> None:
    assert drawn(gpus(batch=Batch(((1, 1.0),), "rack", 8)), MEAN, 0).wall == drawn(gpus(), MEAN, 0).wall


def test_spares_do_not_move_the_batches_of_the_job() -> None:
    few, many = (drawn(gpus(spare=n, batch=RACKS), MEAN, 0).wall for n in (0, 16))
    assert [e for e in many if e.unit < UNITS] == few


# ---------------------------------------------------------------- recurrence


def totals(replications: int, stage: int) -> list[float]:
    """All failures in four mean gaps of a fleet that has long been running."""
    one, first = gpus(units=512, recurrence=AGAIN), 10**6 * stage
    return [float(len(unfolded(drawn(one, MEAN, first + n), MEAN))) for n in range(replications)]


def check_recurrence_rate() -> None:
    """As many as the rate says, followers included, from the first second on."""
    statcheck.mean_two_stage(partial(totals, 100), 512.0, detect=0.06 * 512)


def check_chains() -> None:
    """How often a failure is followed, once and again; the gaps have their law."""
    one = gpus(units=512, recurrence=AGAIN)
    lengths, gaps = [], []
    for number in range(20):
        trace = drawn(one, MEAN, number, stationary=False)
        for event in trace.wall:
            length, at = 1, event
            while (after := trace.follower(at, at.unit, at.time)) is not None:
                gaps.append(float(AGAIN.gap.cdf(after.time - at.time)))
                assert (after.unit, after.bound) == (event.unit, True)
                length, at = length + 1, after
            lengths.append(length)
    more = [n for n in lengths if n > 1]
    statcheck.binomial_count(len(more), len(lengths), AGAIN.again, detect=0.06)
    statcheck.binomial_count(sum(n > 2 for n in more), len(more), AGAIN.again, detect=0.08)
    statcheck.ks_uniform(gaps, detect=0.1)


def check_residual_gaps() -> None:
    """A follower from before the run: its gap, met at a random time, is over after a time of the equilibrium law."""
    law = Recurrence(0.9, lifetime("weibull", 5 * DAY, 0.5))
    one = gpus(units=512, recurrence=law)
    whole = float(law.gap.equilibrium_cdf(MEAN))
    times = [e.time for n in range(20) for e in drawn(one, MEAN, n).wall if e.bound]
    statcheck.ks_uniform([float(law.gap.equilibrium_cdf(time)) / whole for time in times], detect=0.15)


def check_pending_of_lemons() -> None:
    """Half of the first failures follow one from before the run: lemons have their share of these too."""
    law = Recurrence(0.5, lifetime("exponential", 50 * DAY))
    one = gpus(units=512, frailty=LEMONS, recurrence=law)
    hits, on_lemons = 0, 0
    for number in range(40):
        trace = drawn(one, 2 * DAY, number)
        bad = lemons(trace)
        hits += len(trace.wall)
        on_lemons += sum(bad[event.unit] for event in trace.wall)
    share = SHARE * TIMES * LEMONS.good
    statcheck.binomial_count(on_lemons, hits, share, detect=0.1)


@pytest.mark.parametrize("check", [check_recurrence_rate, check_chains, check_residual_gaps, check_pending_of_lemons])
def test_recurrence(check: Callable[[], None]) -> None:
    check()


def test_a_new_fleet_has_nothing_pending() -> None:
    assert not any(e.bound for e in drawn(gpus(recurrence=AGAIN), MEAN, 0, stationary=False).wall)


# ---------------------------------------------------------------- drift


def check_drift() -> None:
    """Poisson counts in each piece, by its factor; even within a piece."""
    ends = [start for start, _ in STEPS[1:]] + [MEAN]
    times = np.array([e.time for n in range(40) for e in drawn(gpus(drift=STEPS), MEAN, n).wall])
    within = []
    for (start, factor), end in zip(STEPS, ends, strict=True):
        inside = times[(times >= start) & (times < end)]
        statcheck.poisson_count(len(inside), 40 * UNITS * factor * (end - start) / MEAN, detect=0.25, alarm=1e-6)
        within += [float((time - start) / (end - start)) for time in inside]
    statcheck.ks_uniform(within, detect=0.15, alarm=1e-6)


def check_drift_of_devices() -> None:
    """The same of what lemons have beyond the others, here of all devices."""
    law = Frailty("lemons", share=1.0, multiplier=3.0, good=1.0 / 3.0)
    one = gpus(drift=STEPS, frailty=law)
    late = sum(e.bound and e.time >= STEPS[2][0] for n in range(40) for e in drawn(one, MEAN, n).wall)
    statcheck.poisson_count(late, 40 * UNITS * (2 / 3) * 3.0 * 5 * DAY / MEAN, detect=0.2)


@pytest.mark.parametrize("check", [check_drift, check_drift_of_devices])
def test_drift(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize("more", [{}, {"frailty": GAMMA}, {"batch": RACKS}, {"recurrence": AGAIN}])
def test_a_factor_of_one_is_no_drift(more: dict[str, Any]) -> None:
    for steps in (((0.0, 1.0),), ((0.0, 1.0), (3 * DAY, 1.0))):
        even, drifting = (drawn(gpus(drift=drift, **more), MEAN, 0).wall for drift in ((), steps))
        assert [(e.unit, e.number) for e in even] == [(e.unit, e.number) for e in drifting]
        assert [e.time for e in drifting] == pytest.approx([e.time for e in even], rel=1e-12)
        assert len(steps) > 1 or drifting == even
