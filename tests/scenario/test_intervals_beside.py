"""`optimal` where restarts keep the state and begin the clock of saves anew, and where only pairs of failures reach a
tier: the engine follows."""

from __future__ import annotations

import numpy as np
import pytest

from gemsim.analytic.run import predict
from gemsim.engine.run import simulate
from gemsim.protection.checkpoint import NEVER
from gemsim.protection.interval import interval_beside, optimal_interval
from gemsim.protection.saving import kept_share
from gemsim.scenario import Scenario, build
from gemsim.scenario.vary import with_every
from gemsim.spec.loading import parse_study, resolve_point
from tests.cases.test_saving import SPOT_NODES

COPIES = (
    "{checkpoint: {name: hosts, target: cpu_memory, copies: 2, mode: async, blocked: 0 s, write: 1 s, read: 0 s, "
    "interval: 1 s}}"
)
IN_PROCESS = SPOT_NODES.replace("mode: all_processes", "mode: in_process")
PEER = IN_PROCESS.replace("[checkpoint", "[peer_copy: {via: fabric}, checkpoint")
STRIPE = (
    IN_PROCESS.replace("[checkpoint", "[stripe: {layout: nodes, k: 8, m: 1, cadence: 1, copy: snapshot}, checkpoint")
    .replace("gpus: 512", "gpus: 576")
    .replace("data: 64", "data: 72")
)
HOSTS = SPOT_NODES.replace("[checkpoint", f"[{COPIES}, {{checkpoint").replace("optimal}]", "optimal}}]")


def scenario(text: str) -> Scenario:
    return build(resolve_point(parse_study(text.encode(), "study.yaml"), {}))


def played(of: Scenario, runs: int = 4) -> float:
    rows = [simulate(of, seed=1, replication=run) for run in range(runs)]
    return float(np.mean([row["productive_s"] / row["wall_s"] for row in rows]))


@pytest.mark.parametrize(("keep", "lag"), [(1 / 90.0, 0.0), (1 / 600.0, 30.0), (1 / 90.0, 60.0)])
def test_no_interval_is_better_beside_restarts_that_keep_the_state(keep: float, lag: float) -> None:
    rate, delta = 1 / 5000.0, 40.0
    best = interval_beside(delta, rate, keep=keep, lag=lag)

    def kept(tau: float) -> float:
        return kept_share(tau, delta, roll_back=rate, keep=keep, lag=lag)

    grid = np.geomspace(1.0, 20_000.0, 4000)
    assert kept(best) >= max(kept(float(tau)) for tau in grid) - 1e-9
    assert best < 0.8 * optimal_interval(delta, rate)
    many = interval_beside(delta, np.array([rate, rate / 2.0]), keep=keep, lag=lag)  # type: ignore[arg-type]
    assert many[0] == pytest.approx(best, rel=1e-9)  # type: ignore[index]


def test_without_them_it_is_the_exact_optimum() -> None:
    assert interval_beside(40.0, 1e-4, keep=0.0, lag=20.0) == optimal_interval(40.0, 1e-4)
    tau = optimal_interval(40.0, 1e-4)
    shares = [kept_share(one, 40.0, roll_back=1e-4, keep=0.0) for one in (0.98 * tau, tau, 1.02 * tau)]
    assert max(shares) == shares[1]


def test_peer_copies_beside_saves_that_restarts_put_off() -> None:
    best = scenario(PEER)
    number = len(best.tiers) - 1
    assert best.tiers[number].every < 200  # type: ignore[attr-defined]
    assert played(best) > played(with_every(best, {number: 300})) + 0.1


def test_a_stripe_whose_pairs_fall_to_a_store_that_restarts_keep_from_saving() -> None:
    of = with_every(scenario(STRIPE), {1: 300})
    said = predict(of)
    assert abs(said["ettr_analytic"] - played(of, 8)) < said["analytic_error"]
    assert said["analytic_error"] < 0.15 < 0.8 - said["ettr_analytic"]


def test_two_hosts_that_are_lost_together_do_not_start_the_job_again() -> None:
    of = scenario(HOSTS)
    assert of.tiers[1].every < NEVER  # type: ignore[attr-defined]
    assert played(of) > 0.94
    said = predict(of)
    assert said["ettr_analytic"] == pytest.approx(0.96, abs=said["analytic_error"])
