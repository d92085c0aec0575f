"""The edges of the twin of a fleet: each number is right within its stated error, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gemsim.analytic.repair import pipeline, with_parts
from gemsim.analytic.run import predict
from gemsim.analytic.settling import late, used_up
from gemsim.analytic.spares import broken_at_once
from gemsim.engine import run as engine
from gemsim.errors import NotCovered
from gemsim.failures.laws import duration
from gemsim.protection.checkpoint import NEVER, Checkpoint
from gemsim.protection.pairs import falls
from gemsim.scenario import Scenario
from gemsim.scenario.blind import placing
from gemsim.scenario.describe import derived
from gemsim.scenario.fleet import Parts, RepairPlan, Stage
from gemsim.study.points import Model, _twin
from gemsim.study.validate.simulate import scenario_of
from tests.faults import must_reject, replaced

HOUR, DAY = 3600.0, 86400.0
STUDY = """
title: one job
cluster: {gpus: 4096, gpu: h100-80gb, nodes_per_rack: 4, racks_per_power: 8, storage: {write: 2 TB/s, read: 7 TB/s}}
workload: {parameters: 70e9, parallel: {tensor: 8, data: 512, shard: SHARD}, step: 6 s}
restart: {mode: MODE}
failures: {classes: [{name: n, scope: node, rate: RATE, detect: 30 s, action: replace MORE} OTHERS]}
fleet: {spares: {SPARES} REPAIR}
protection: [TIERS {checkpoint: {target: remote, mode: async, blocked: 2 s, interval: INTERVAL}}]
run: {horizon: HORIZON, replications: 1, start: START}
"""
STRIPE = "{stripe: {layout: power_domains, k: 8, m: 1, cadence: 4, copy: snapshot}},"
CUTS = """
  , {name: rackcut, scope: rack, rate: 1 / 30 d, gpus: 4096, detect: 10 s, action: replace, repair: 8 h}
  , {name: powercut, scope: power, rate: 1 / 60 d, gpus: 4096, detect: 10 s, action: reboot}
"""
STRIPED = {
    "OTHERS": CUTS, "TIERS": STRIPE, "SHARD": "full", "MODE": "in_process", "MORE": ", repair: 4 h",
    "INTERVAL": "optimal", "HORIZON": "60 d",
}  # fmt: skip
KINDS = "activation: {hot: 1 min, warm: 10 min, cold: 30 min}"
EIGHT_HOURS = "stages: [{name: fix, time: {kind: exponential, mean: 8 h} CREWS}]"
PARTS = (
    "stages: [{name: a, time: {kind: exponential, mean: 2 h}, escalate: ESCALATE}, "
    "{name: b, time: {kind: exponential, mean: 20 h}}], parts: {needed: 20 %, stock: 0, lead: 3 d}"
)


def job(spares: str, repair: str = "", **others: str) -> Scenario:
    """A job of 512 nodes; keys in capitals stand in for words of the study."""
    words = {
        "RATE": "5 / 1000 node d", "MORE": "", "OTHERS": "", "TIERS": "", "SHARD": "optimizer", "MODE": "all_processes",
        "INTERVAL": "10 min", "HORIZON": "54 d", "START": "stationary", "CREWS": "", "ESCALATE": "0.5",
    } | others  # fmt: skip
    text = STUDY.replace("SPARES", spares).replace("REPAIR", f", repair: {{{repair}}}" if repair else "")
    for word, value in words.items():
        text = text.replace(word, value)
    return scenario_of(text)


def cold(spares: str) -> Scenario:
    return job(f"{spares}, {KINDS}", EIGHT_HOURS)


JOBS: dict[str, Callable[[], Scenario]] = {
    "cold 4": lambda: cold("cold: 4"),
    "cold 12": lambda: cold("cold: 12"),
    "hot 1, cold 11": lambda: cold("hot: 1, cold: 11"),
    "hot 2, cold 10": lambda: cold("hot: 2, cold: 10"),
    "warm 6, cold 6": lambda: cold("hot: 0, warm: 6, cold: 6"),
    "borrowed alone": lambda: cold("hot: 0, borrow: 50"),
    "borrowed beside two": lambda: cold("hot: 2, borrow: 500"),
    "parts for half": lambda: job("hot: 8, activation: {hot: 1 min}", PARTS),
    "parts for one in ten": lambda: job("hot: 8, activation: {hot: 1 min}", PARTS, ESCALATE="0.1"),
    "crews": lambda: job("hot: 12, activation: {hot: 1 min}", EIGHT_HOURS, CREWS=", crews: 2"),
    "new and short": lambda: job("hot: 2, activation: {hot: 1 min}", EIGHT_HOURS, START="new", HORIZON="20 d"),
    "stripe and cuts": lambda: job("hot: 64, activation: {hot: 1 min}", **STRIPED),
}


def check(built: Scenario, replications: int) -> None:
    """|engine - closed form| <= the stated error + 4 standard errors."""
    said = predict(built)
    assert said["analytic_error"] < 0.05
    rows: list[dict[str, Any]] = [engine.simulate(built, seed=3, replication=n) for n in range(replications)]
    values = np.array([row["productive_s"] / row["wall_s"] for row in rows])
    noise = 4.0 * float(values.std(ddof=1)) / replications**0.5
    apart = float(values.mean()) - said["ettr_analytic"]
    assert abs(apart) <= said["analytic_error"] + noise, f"{apart:+.4g}, stated {said['analytic_error']:.2g}"


@pytest.mark.parametrize("name", ["cold 12", "hot 1, cold 11", "borrowed alone", "parts for half"])
def test_engine_within_the_stated_error(name: str) -> None:
    check(JOBS[name](), 12)


@pytest.mark.long
@pytest.mark.parametrize("name", JOBS)
def test_engine_within_the_stated_error_at_full_size(name: str) -> None:
    check(JOBS[name](), 100)


def test_cold_spares_used_all_the_time_are_caught() -> None:
    def always(original: Callable[..., int]) -> Callable[..., int]:
        return lambda scenario: 2

    must_reject(lambda: check(JOBS["cold 12"](), 8), replaced("gemsim.analytic.waits:_first", always))


@pytest.mark.parametrize("spares", [0, 4, 48])
def test_nodes_that_lack_all_the_time_are_refused(spares: int) -> None:
    with pytest.raises(NotCovered, match="lacking all the time"):
        predict(
            job(f"hot: {spares}", MORE=", repair: {kind: lognormal, mean: 133 h, sigma: 1.9}", RATE="1 / 140 node h")
        )


def test_a_form_that_breaks_down_is_told() -> None:
    def broken(_: object) -> dict[str, Any]:
        raise ZeroDivisionError("float division by zero")

    said = _twin(Model(build=id, describe=lambda _: {}, predict=broken, simulate=lambda *_, **__: {}), object())
    assert said["analytic_kind"] == "none"
    assert "broke down (ZeroDivisionError" in said["analytic_note"]


def test_what_is_used_up_is_bounded_by_what_failures_meet() -> None:
    """At most once for each number broken, as often as that is met; nothing where it never is."""
    law = broken_at_once(1.0, 0.85)
    assert used_up(law, 0, 12, starts=1e9) == pytest.approx(12.0, abs=0.8)
    assert used_up(law, 0, 2, starts=0.5) == pytest.approx(0.5 * (1.0 + sum(law[1:])), rel=1e-9)
    assert used_up(law, 40, 10, starts=138.0) == 0.0
    assert used_up(law, 3, 1, starts=1.0, together=2) == pytest.approx(2.0 * sum(law[2:]), rel=1e-9)


def test_parts_are_for_those_that_reach_the_last_stage() -> None:
    """Nobody who does not get there waits; without a stock each who does waits for the whole lead."""
    lead, two = duration("fixed", 3 * DAY), duration("exponential", 2 * HOUR)
    last = Stage("b", duration("exponential", 20 * HOUR), 0.0, 0.0, 0)
    for escalate in (0.0, 0.01, 0.5, 1.0):
        plan = RepairPlan((Stage("a", two, escalate, 0.0, 0), last), 0.0, Parts(0.2, 0, lead))
        mean = 2 * HOUR + escalate * (20 * HOUR + 0.2 * 3 * DAY)
        assert pipeline(2.56 / DAY, plan).mean == pytest.approx(mean, rel=1e-12)
        law = with_parts(2.56 / DAY, plan)
        assert sum(n * p for n, p in enumerate(law)) == pytest.approx(2.56 / DAY * mean, rel=1e-9)


def test_a_run_that_is_short_against_the_shop_says_so() -> None:
    """A new fleet: nothing where the way to equilibrium is most of the run, else an error that shrinks with it."""
    assert late(8 * HOUR, 0, 800 * HOUR) == pytest.approx(0.01)
    slow = ", repair: {kind: exponential, mean: 10 d}"
    with pytest.raises(NotCovered, match="in equilibrium"):
        predict(job("hot: 20", MORE=slow, START="new", HORIZON="5 d"))
    settled = predict(job("hot: 2", EIGHT_HOURS))["analytic_error"]
    short, long = (
        predict(job("hot: 2", EIGHT_HOURS, START="new", HORIZON=horizon))["analytic_error"] - settled
        for horizon in ("54 d", "540 d")
    )
    assert short == pytest.approx(10.0 * long, rel=0.2)
    assert predict(job("hot: 20", MORE=slow, HORIZON="5 d"))["analytic_error"] < 0.01
    with pytest.raises(NotCovered, match="in equilibrium"):  # one crew, 85 % used, settles in months
        predict(job("hot: 12", EIGHT_HOURS, CREWS=", crews: 1"))


def test_a_checkpoint_that_only_two_failures_reach_is_written() -> None:
    built = JOBS["stripe and cuts"]()
    (checkpoint,) = (tier for tier in built.tiers if isinstance(tier, Checkpoint))
    assert checkpoint.every < NEVER
    assert any("each during the recovery of another" in note for note in built.notes)
    assert 1e-5 < built.reach_rate * DAY < 1e-2
    said = predict(built)
    assert said["analytic_kind"] == "first_order"
    assert 3e-6 < said["analytic_error"] < 1e-3


def test_pairs_are_counted_by_place() -> None:
    """m = 1 over power domains: a second domain is fatal if it is in the stripe of the first; one that is twice the
    same is not; with m = 4 no two are."""
    from gemsim.analytic.expected import outcomes

    built = JOBS["stripe and cuts"]()
    found = tuple(b for b in outcomes(built) if b.kind.name == "powercut")
    (pair,) = falls(built, found, lambda _: 600.0)
    rate = sum(branch.rate for branch in found)
    shares = 16 * 15 / 16**2  # upper: all in one group
    assert 0.3 * shares * rate * rate * 600.0 < pair.rate <= shares * rate * rate * 600.0
    wide = job("hot: 64", **STRIPED | {"TIERS": STRIPE.replace("m: 1", "m: 4")})
    assert not falls(wide, outcomes(wide), lambda _: 600.0)


def test_blind_placement_costs_no_more_than_the_run() -> None:
    built = JOBS["stripe and cuts"]()
    found = placing(built).blind
    assert found is not None
    assert 0.0 < found.seconds <= built.horizon


def test_followers_of_replaced_nodes_do_not_count() -> None:
    more = ", repair: 2 h, recurrence: {again: 0.4, gap: {kind: weibull, shape: 0.5, mean: 40 h}}"
    built = job("hot: 40, activation: {hot: 1 min}", MORE=more)
    said = {name: (shown, source) for name, shown, source in derived(built)}["failures.n"]
    assert said[0].startswith("82.94 failures in the run")
    assert "replaced" in said[1]
    assert built.reach_rate * DAY == pytest.approx(0.6 * 2.56, rel=1e-9)
