"""Traces: how many failures a fleet has, whatever its law; true ages; streams that no other use disturbs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from gemsim.failures.classes import FailureClass
from gemsim.failures.draw import Key
from gemsim.failures.laws import Floats, Lifetime, duration, lifetime
from gemsim.failures.trace import draw_trace
from tests import statcheck
from tests.faults import must_reject, replaced

DAY = 86400.0
GPUS, HORIZON = 16384, 54 * DAY
MEAN = GPUS * HORIZON / 419  # of one GPU's life, s: 419 failures in 54 d at the mix's total rate
LAWS = {
    "weibull-0.7": lifetime("weibull", MEAN, 0.7),
    "weibull-1.5": lifetime("weibull", MEAN, 1.5),
    "lognormal-1.2": lifetime("lognormal", MEAN, 1.2),
    "exponential": lifetime("exponential", MEAN),
}
SEED = 20240723


def kind(law: Lifetime, *, name: str = "gpu", units: int = GPUS, after: str = "as_new") -> FailureClass:
    """A class of `units` clocks of this law, one for each GPU."""
    none = duration("fixed", 0.0)
    return FailureClass(
        name=name, scope="gpu", lifetime=law, clock="gpu", units=units, spare_units=0, after_repair=after,
        exposure="wall", detect=none, contained=0.0, rows=((1, 1.0),), rows_to_pages="adjacent_pages", lands="used",
        action="replace", uncontained_action="reset", process_survives=False, repair=none, evict_on_detect=True,
    )  # fmt: skip


def counts(law: Lifetime, replications: int, stage: int, *, stationary: bool) -> list[float]:
    """Failures in each replication; a stage has replications of its own."""
    first = stage * 10**6
    traces = (
        draw_trace([kind(law)], horizon=HORIZON, seed=SEED, replication=first + number, stationary=stationary)
        for number in range(replications)
    )
    return [float(len(trace.wall)) for trace in traces]


def check_stationary_count(law: Lifetime) -> None:
    """419 failures on average in a fleet that has long been running, whatever the shape: within 3 %."""
    statcheck.mean_two_stage(partial(counts, law, 180, stationary=True), 419.0, detect=0.03 * 419)


def check_new_fleet_count(law: Lifetime, expected: float) -> None:
    """The count of a new fleet with one clock for each GPU, replaced devices as new: within 5 %."""
    replications = max(60, int(12000 / expected))
    draw = partial(counts, law, replications, stationary=False)
    statcheck.mean_two_stage(draw, expected, detect=0.05 * expected, alarm=1e-6)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_stationary_fleet_has_one_count_whatever_the_shape(law: Lifetime) -> None:
    check_stationary_count(law)


def renewals(law: Lifetime, horizon: float, cells: int = 1000) -> float:
    """Mean failures of one new device: M(t) = F(t) + integral of M(t - s) dF(s), by midpoints."""
    edges = np.linspace(0.0, horizon, cells + 1)
    cdf = law.cdf(edges)
    mass = np.diff(cdf)
    mean = np.zeros(cells + 1)
    for n in range(1, cells + 1):
        before = mean[n - 1 :: -1] + mean[n:0:-1]  # M in the middle of each cell back from edge n
        known = before.copy()
        known[0] -= mean[n]
        mean[n] = (cdf[n] + 0.5 * float(np.dot(known, mass[:n]))) / (1.0 - 0.5 * mass[0])
    return float(mean[-1])


# By the power series of the renewal function (Smith and Leadbetter 1963): 1506.428 and 57.431. Published as 1,498 and
# 57.5, within 0.6 % of these.
NEW_FLEET = [("weibull-0.7", 1506.428), ("exponential", 419.0), ("weibull-1.5", 57.431)]


@pytest.mark.parametrize(("name", "expected"), NEW_FLEET)
def test_a_new_fleet_has_its_own_count(name: str, expected: float) -> None:
    assert GPUS * renewals(LAWS[name], HORIZON) == pytest.approx(expected, rel=1e-5)
    check_new_fleet_count(LAWS[name], expected)


def clocks_redrawn() -> AbstractContextManager[None]:
    """After each failure all devices are taken for new."""

    def make(original: Callable[..., object]) -> Callable[..., tuple[Floats, np.ndarray]]:
        del original

        def draw(
            one: FailureClass, units: int, horizon: float, key: Key, stationary: bool
        ) -> tuple[Floats, np.ndarray]:
            del stationary
            rng = np.random.default_rng([key[0], key[1]])
            most = int(rng.integers(3000, 3060))  # far more than there should be; a shape of 0.7 would make 60,000
            gaps = one.lifetime.quantile(-np.expm1(np.log1p(-rng.random(most)) / units))  # the least of `units` lives
            times = np.cumsum(gaps)
            times = times[times < horizon]
            return times, rng.integers(0, units, len(times))

        return draw

    return replaced("gemsim.failures.draw:_renewals", make)


@pytest.mark.parametrize("name", ["weibull-0.7", "weibull-1.5", "lognormal-1.2"])
def test_clocks_redrawn_at_each_failure_are_noticed(name: str) -> None:
    must_reject(lambda: check_stationary_count(LAWS[name]), clocks_redrawn())


@pytest.mark.parametrize(("name", "expected"), [NEW_FLEET[0], NEW_FLEET[2]])
def test_clocks_redrawn_in_a_new_fleet_are_noticed(name: str, expected: float) -> None:
    must_reject(lambda: check_new_fleet_count(LAWS[name], expected), clocks_redrawn())


def test_exponential_counts_are_poisson() -> None:
    total = sum(counts(LAWS["exponential"], 60, 0, stationary=True))
    statcheck.poisson_count(int(total), 60 * 419.0)


def test_a_repaired_device_is_new_or_as_old_as_it_was() -> None:
    """Gaps of one device under wear-out: new ones last for long, old ones fail again soon."""
    law = lifetime("weibull", 10 * DAY, 3.0)
    gaps = {}
    for after in ("as_new", "as_old"):
        trace = draw_trace(
            [kind(law, units=200, after=after)], horizon=60 * DAY, seed=SEED, replication=0, stationary=False
        )
        lives: dict[int, list[float]] = {}
        for event in trace.wall:
            lives.setdefault(event.unit, []).append(event.time)
        gaps[after] = [later - sooner for times in lives.values() for sooner, later in pairwise(times)]
        if after == "as_old":  # the hazard goes on rising: a non-homogeneous Poisson stream of H(horizon) a device
            mean = 200 * float(law.cumulative_hazard(60 * DAY))
            statcheck.poisson_count(len(trace.wall), mean)
    assert np.mean(gaps["as_old"]) < 0.3 * np.mean(gaps["as_new"])


def test_lives_after_a_repair_follow_the_law() -> None:
    """Second lives of a new fleet, given that they end within what is left: their transform is uniform."""
    law, horizon = lifetime("weibull", 10 * DAY, 0.7), 30 * DAY
    trace = draw_trace([kind(law, units=4000)], horizon=horizon, seed=SEED, replication=1, stationary=False)
    times: dict[int, list[float]] = {}
    for event in trace.wall:
        times.setdefault(event.unit, []).append(event.time)
    pairs = [(first, second) for first, second, *_ in (t for t in times.values() if len(t) > 1)]
    values = [float(law.cdf(second - first) / law.cdf(horizon - first)) for first, second in pairs]
    statcheck.ks_uniform(values, detect=0.12)


def test_devices_are_hit_evenly() -> None:
    """Exact two-sided tails on the half of the fleet with the lower numbers."""
    for law in (LAWS["exponential"], LAWS["weibull-0.7"]):
        units = [
            event.unit
            for number in range(30)
            for event in draw_trace([kind(law)], horizon=HORIZON, seed=SEED, replication=number).wall
        ]
        assert 0 <= min(units) <= max(units) < GPUS
        if law.kind == "exponential":
            low = sum(unit < GPUS // 2 for unit in units)
            statcheck.binomial_count(low, len(units), 0.5, detect=0.05)


def test_a_device_fails_only_after_it_has_failed_before() -> None:
    trace = draw_trace([kind(LAWS["weibull-0.7"])], horizon=HORIZON, seed=SEED, replication=3, stationary=False)
    assert all(sooner.time <= later.time for sooner, later in pairwise(trace.wall))
    assert max(Counter(event.unit for event in trace.wall).values()) > 1
    assert [event.number for event in trace.wall] == list(range(len(trace.wall)))


def test_other_classes_do_not_disturb_a_stream() -> None:
    one, other = kind(LAWS["weibull-0.7"], name="one"), kind(LAWS["exponential"], name="other")
    alone = draw_trace([one], horizon=HORIZON, seed=SEED, replication=2)
    second = draw_trace([other, one], horizon=HORIZON, seed=SEED, replication=2)
    together = [event for event in second.wall if event.index == 1]
    assert [(e.time, e.unit) for e in together] == [(e.time, e.unit) for e in alone.wall]
    marks = ("repair", "place", "contained")
    for mark in marks:
        assert [second.mark(e, mark) for e in together] == [alone.mark(e, mark) for e in alone.wall]
    drawn = [tuple(alone.mark(e, mark) for mark in marks) for e in alone.wall]
    assert len({value for row in drawn for value in row}) == 3 * len(drawn)  # each mark its own draw


def test_replications_and_seeds_differ() -> None:
    def times(seed: int, replication: int) -> tuple[float, ...]:
        trace = draw_trace([kind(LAWS["exponential"])], horizon=HORIZON, seed=seed, replication=replication)
        return tuple(event.time for event in trace.wall)

    assert len({times(seed, replication) for seed in range(3) for replication in range(3)}) == 9


def test_a_longer_horizon_only_adds_failures_to_exponential_clocks() -> None:
    short, long = (
        draw_trace([kind(LAWS["exponential"])], horizon=h, seed=SEED, replication=0).wall
        for h in (HORIZON, 2 * HORIZON)
    )
    assert [e.time for e in long[: len(short)]] == [e.time for e in short]
    assert all(e.time >= HORIZON for e in long[len(short) :])
