"""Nodes in repair when a stationary run begins: their number, what is left of them, and that it stays so."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from math import exp, inf, log
from statistics import NormalDist
from typing import Any

import pytest
from scipy.stats import binom

from gemsim.engine import before
from gemsim.engine.before import Start, at_the_start
from gemsim.engine.repair import Shop
from gemsim.engine.run import simulate
from gemsim.failures.laws import Duration, duration
from gemsim.failures.trace import draw_trace
from gemsim.scenario import Scenario
from gemsim.study.validate.simulate import scenario_of
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.fleet.queues import all_busy, poisson_cdf

DAY = 86_400.0
STUDY = """
title: a fleet that has long been running
cluster: {{gpus: 3200, gpu: h100-80gb, storage: {{write: 2 TB/s, read: 7 TB/s}}}}
workload: {{parameters: 70e9, parallel: {{tensor: 8, data: 400, shard: full}}, step: 5.6 s}}
failures:
  classes:
    - {{name: n, scope: node, rate: 1 / 200 node d, detect: 10 s, action: replace, repair: {repair}}}
protection: [{{checkpoint: {{target: remote, mode: async, blocked: 1 s, interval: 5 min}}}}]
fleet: {{spares: {{{spares}}}{fleet}}}
run: {{horizon: {horizon}, start: {start}}}
"""
TEN_DAYS = "{kind: exponential, mean: 10 d}"
CREWS = ", repair: {stages: [{name: a, time: {kind: exponential, mean: 4 d}, crews: 10}]}"
ALARM = 2e-7
MEAN = 20.0  # 400 nodes / 200 d x 10 d


def job(spares: str = "cold: 60", *, repair: str = TEN_DAYS, fleet: str = "", **run: str) -> Scenario:
    """400 nodes, of which two a day go to repair. Cold spares do not fail."""
    return scenario_of(
        STUDY.format(spares=spares, repair=repair, fleet=fleet, **{"horizon": "1 d", "start": "stationary", **run})
    )


def start(of: Scenario, number: int, seed: int = 20261130) -> Start:
    """How a replication begins."""
    return at_the_start(of, seed, number, stationary=of.stationary)


def lefts(of: Scenario, count: int) -> list[float]:
    """Seconds until each node that is in repair is back, over many starts."""
    return [end for number in range(count) for end, _, _ in start(of, number).shop.returns(inf)]


def check_number(of: Scenario, count: int = 400) -> None:
    """A Poisson number, whatever the law of repair: the sum over starts is Poisson too."""
    inside = [start(of, number).shop.inside for number in range(count)]
    statcheck.poisson_count(sum(inside), MEAN * count, detect=0.08, alarm=ALARM)
    short = sum(one <= MEAN for one in inside)
    statcheck.binomial_count(short, count, poisson_cdf(20, MEAN), detect=0.22, alarm=ALARM)


@pytest.mark.parametrize("law", [TEN_DAYS, "10 d", "{kind: lognormal, mean: 10 d, sigma: 1.5}"])
def test_the_number_is_poisson_whatever_the_law(law: str) -> None:
    check_number(job(repair=law))


def test_an_empty_shop_is_noticed() -> None:
    must_reject(lambda: check_number(job()), empty_shop())


def empty_shop() -> AbstractContextManager[None]:
    """Nobody is in repair at first."""
    return replaced(
        "gemsim.engine.before:_in_shop", lambda _: lambda flow, plan, *__: (Shop(plan or before.ONE_STAGE), ())
    )


def share_below(law: Duration, seconds: float) -> float:
    """P(what is left <= so much): the integral of P(repair > t) over its mean."""
    if law.kind == "exponential":
        return 1.0 - exp(-seconds / law.mean)
    if law.kind == "fixed":
        return min(1.0, seconds / law.mean)
    z = log(seconds / law.mean) / law.sigma
    whole = NormalDist().cdf(z - law.sigma / 2)
    return seconds / law.mean * (1.0 - NormalDist().cdf(z + law.sigma / 2)) + whole


LAWS = [duration("exponential", 10 * DAY), duration("fixed", 10 * DAY), duration("lognormal", 10 * DAY, 1.0)]


def check_left(law: Duration) -> None:
    """What is left follows the equilibrium law of repair."""
    text = f"{{kind: {law.kind}, mean: 10 d{', sigma: 1' if law.sigma else ''}}}"
    statcheck.ks_uniform([share_below(law, one) for one in lefts(job(repair=text), 200)], detect=0.1, alarm=ALARM)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_what_is_left_is_the_residual_life(law: Duration) -> None:
    check_left(law)


@pytest.mark.parametrize("law", LAWS[1:], ids=lambda law: law.kind)
def test_whole_repairs_are_noticed(law: Duration) -> None:
    def whole(_: Any) -> Any:
        return lambda law, longer, left: law.quantile(longer)

    must_reject(partial(check_left, law), replaced("gemsim.engine.before:residual", whole))


def test_a_node_is_met_in_a_stage_by_its_length_and_goes_on_from_there() -> None:
    """Half go on from 5 d to 10 d: as many are met in the one as in the other, and half of the first follow."""
    stages = ", repair: {stages: [{name: a, time: 5 d, escalate: 0.5}, {name: b, time: 10 d}]}"
    found = lefts(job(fleet=stages), 400)
    statcheck.poisson_count(len(found), 400 * MEAN, detect=0.08, alarm=ALARM)
    # Of a: 5 d uniform, half of them 10 d more; of b: 10 d uniform.
    for days, share in ((2.5, 0.25 / 2 + 0.5 * 0.25), (5.0, 0.5 / 2 + 0.5 * 0.5), (10.0, 0.5 / 2 + 0.5)):
        statcheck.binomial_count(sum(one <= days * DAY for one in found), len(found), share, detect=0.06, alarm=ALARM)


def busy(of: Scenario, count: int) -> int:
    """Starts in which all ten crews are at work."""
    return sum(start(of, number).shop.inside >= 10 for number in range(count))


def check_crews(count: int = 250) -> None:
    """Two a day, ten crews of 4 d: M/M/10 with 8 erlangs. All are busy as often as an arrival waits (Erlang C)."""
    of = job(fleet=CREWS, spares="cold: 400")
    statcheck.binomial_count(busy(of, count), count, all_busy(8.0, 10), detect=0.27, alarm=ALARM)


def test_crews_are_as_busy_as_in_a_long_run() -> None:
    check_crews()


def test_a_short_prehistory_is_noticed() -> None:
    must_reject(check_crews, replaced("gemsim.scenario.shop:LONG", lambda _: 0.5))


def test_those_of_a_shop_with_crews_and_parts_all_come_back_once() -> None:
    fleet = CREWS[:-1] + ", parts: {needed: 0.3, stock: 2, lead: 3 d}}"
    for number in range(20):
        begun = start(job(fleet=fleet, spares="cold: 400"), number)
        nodes = [node for _, node, _ in begun.shop.returns(inf)]
        assert sorted(nodes) == list(range(400, 400 + begun.away))


def test_more_spares_move_nobody() -> None:
    """With fewer spares the same nodes are in repair, until the job itself lacks so many that it fails less often."""
    few, many = job("cold: 30"), job("cold: 60")
    for number in range(50):
        one, other = (start(of, number) for of in (few, many))
        ends, further = ([end for end, _, _ in sorted(s.shop.returns(inf), key=lambda b: b[1])] for s in (one, other))
        assert further[: one.away] == ends[: one.away]
        assert not one.lacking or other.away >= one.away


@pytest.mark.parametrize("spares", [0, 5, 20])
def test_one_more_hot_spare_adds_at_most_one(spares: int) -> None:
    for number in range(40):
        one, other = (start(job(f"hot: {n}"), number).shop.inside for n in (spares, spares + 1))
        assert other - one in (0, 1)


def test_a_new_fleet_and_a_script_begin_whole() -> None:
    assert start(job(start="new"), 0).shop.inside == 0
    of = job("hot: 5", start="new")
    row = simulate(of, seed=1, replication=0)
    assert row["productive_s"] > 0.0
    script = draw_trace(of.classes, horizon=of.horizon, seed=1, replication=0)
    assert simulate(of, seed=1, replication=0, trace=script) == row


def waits(of: Scenario, count: int, seed: int) -> list[float]:
    """Waiting as a share of the wall time, replication by replication."""
    rows = (simulate(of, seed=seed, replication=number) for number in range(count))
    return [row["waiting_s"] / row["wall_s"] for row in rows]


def check_horizon(horizon: str, count: int = 900) -> None:
    """Of 420 nodes, each out for 10 of 210 d, more than the 20 spares are out: then the job waits."""
    expected = 1.0 - float(binom.cdf(20, 420, 1 / 21))
    shares = waits(job("hot: 20", horizon=horizon), count, 7)
    statcheck.mean_bounded(shares, expected, low=0.0, high=1.0, detect=0.21, alarm=ALARM)


@pytest.mark.parametrize("horizon", ["3 h", "2 d", pytest.param("10 d", marks=pytest.mark.long)])
def test_how_long_the_job_waits_does_not_depend_on_the_horizon(horizon: str) -> None:
    check_horizon(horizon)


def test_horizons_that_begin_with_all_spares_are_noticed() -> None:
    must_reject(partial(check_horizon, "3 h"), empty_shop())


@pytest.mark.parametrize("short", ["shrink", "wait"])
def test_a_job_that_begins_without_nodes_waits_or_leaves_groups_out(short: str) -> None:
    row = simulate(job(f"hot: 0, short: {short}", horizon="6 h"), seed=1, replication=0)
    if short == "wait":
        assert row["productive_s"] == 0.0
        assert row["waiting_s"] > 0.99 * row["wall_s"]
    else:
        assert row["waiting_s"] < 0.1 * row["wall_s"]
        assert row["degraded_s"] > 0.02 * row["wall_s"]
