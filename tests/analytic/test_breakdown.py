"""Where the time goes in closed form: it adds up, a job of one class by hand, and each part against the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from math import exp, expm1

import numpy as np
import pytest
from numpy.typing import NDArray

from gemsim.analytic.breakdown import Part, breakdown
from gemsim.analytic.groups import Solved
from gemsim.analytic.run import traced
from gemsim.engine.run import simulate
from gemsim.errors import Infeasible
from gemsim.protection.checkpoint import Checkpoint
from gemsim.results.ledger import LEDGER
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.laws.jobs import EXACT
from tests.studies import world


def parts(of: Scenario) -> list[Part]:
    return breakdown(traced(of)[1], steps=of.work_steps)


def share(found: list[Part], **wanted: str) -> float:
    return sum(part.share for part in found if all(getattr(part, key) == value for key, value in wanted.items()))


@pytest.mark.parametrize("name", sorted(EXACT))
def test_the_shares_are_all_of_the_time_and_the_rest_is_ettr(name: str) -> None:
    of = EXACT[name].scenario(20.0)
    found = parts(of)
    assert share(found) == pytest.approx(1.0, abs=1e-12)
    assert share(found, category="productive") == pytest.approx(traced(of)[0]["ettr_analytic"], abs=1e-12)
    assert all(part.share >= 0.0 and part.category in LEDGER for part in found)


@pytest.mark.parametrize("name", world.NAMES)
def test_so_it_is_on_shipped_studies(name: str) -> None:
    for design in world.designs(name)[:: max(1, len(world.designs(name)) // 6)]:
        try:
            of = build(world.spec(name, design))
        except Infeasible:
            continue
        found = parts(of)
        assert share(found) == pytest.approx(1.0, abs=1e-9)
        assert share(found, category="productive") == pytest.approx(traced(of)[0]["ettr_analytic"], abs=1e-9)


DRIFT = """
title: a rate that steps, and lemons
cluster: {gpus: 1024, gpu: h100-80gb, spare_nodes: 100, storage: {write: 200 GB/s, read: 200 GB/s}}
workload: {parameters: 70e9, parallel: {tensor: 8, pipeline: 4, data: 32, shard: optimizer}, step: 2 s, layers: 80}
restart: all_processes
failures:
  classes:
    - {name: gpu, scope: gpu, rate: 4 / 1 d, gpus: 1024, detect: 10 s, action: replace, repair: 1 h,
       drift: [[0 d, 3], [5 d, 1]]}
    - {name: soft, scope: process, rate: 6 / 1 d, gpus: 1024, detect: 30 s, action: restart_app, exposure: wall}
protection: [checkpoint: {target: remote, mode: async, blocked: 2 s, interval: optimal}]
run: {horizon: 20 d}
"""


@pytest.mark.parametrize("run", [{}, {"run": {"steps": 500_000, "max_wall": "60 d"}}])
def test_a_drift_is_its_stretches_by_their_time(run: dict[str, object]) -> None:
    study = parse_study(
        DRIFT.replace("run: {horizon: 20 d}", f"run: {json.dumps(run.get('run', {'horizon': '20 d'}))}").encode(), "d"
    )
    of = build(resolve_point(study, {}))
    twin, behind = traced(of)
    assert len(behind) > 1
    assert share(parts(of)) == pytest.approx(1.0, abs=1e-12)
    assert share(parts(of), category="productive") == pytest.approx(twin["ettr_analytic"], abs=1e-9)


def test_a_job_of_one_class_by_hand() -> None:
    """GPUs alone, saved to a store: every stop is detection, a spare's start, restart and read, and half a cycle."""
    of = EXACT["gpus alone, sync x1"].scenario(20.0)
    (kind,), (tier,) = of.classes, of.tiers
    assert isinstance(tier, Checkpoint)
    rate, every, blocked = kind.rate, tier.every, tier.blocked
    down = 10.0 + 120.0 + (60.0 + 20.0 + 30.0) + tier.read
    standing = expm1(rate * down) / rate  # a failure meanwhile starts it again
    tau = every * of.useful_step
    saving = exp(-rate * tau) * -expm1(-rate * blocked) / -expm1(-rate * (tau + blocked))
    running = 1.0 / (1.0 + rate * standing)
    found = parts(of)
    assert share(found, failure="gpu", category="detection") == pytest.approx(rate * standing * 10.0 / down * running)
    assert share(found, failure="gpu", category="waiting") == pytest.approx(rate * standing * 120.0 / down * running)
    assert share(found, failure="gpu", category="restart") == pytest.approx(rate * standing * 110.0 / down * running)
    assert share(found, category="overhead", tier="checkpoint") == pytest.approx(saving * running)
    useful = tau * rate / expm1(rate * (tau + blocked))
    assert share(found, category="wasted") == pytest.approx((1.0 - saving - useful) * running)


KEYS = (("gpu", "checkpoint"), ("pages", "stripe"), ("pages", "checkpoint"), ("soft", "checkpoint"), ("", "checkpoint"))


JOB = EXACT["in_place x8"].scenario(2.0)


@cache
def simulated(seed: int, stage: int) -> list[dict[str, dict[str, float]]]:
    """Shares of the time by class and tier, overhead under ""."""
    found = []
    for number in range(120):
        row = simulate(JOB, seed=seed, replication=1000 * stage + number)
        lost = json.loads(row["lost_by_class"]) | {"": json.loads(row["overhead_by_tier"])}
        found.append({one: {t: s / row["wall_s"] for t, s in tiers.items()} for one, tiers in lost.items()})
    return found


def check_by_class_and_tier(seed: int) -> None:
    """The share of time of each class and tier, simulated and in closed form; sees one that is off by a fifth."""
    found = parts(JOB)
    for name, tier in KEYS:
        expected = share(found, failure=name, tier=tier)
        assert expected > 0.0

        def draw(stage: int, name: str = name, tier: str = tier) -> NDArray[np.float64]:
            return np.array([row.get(name, {}).get(tier, 0.0) for row in simulated(seed, stage)])

        statcheck.mean_two_stage(draw, expected, detect=0.2 * expected)


def test_each_part_is_what_the_engine_books(seed: int) -> None:
    check_by_class_and_tier(seed)


def test_time_charged_to_the_wrong_class_is_noticed(seed: int) -> None:
    """A quarter of what GPUs take, told as software's."""

    def charged(original: Callable[[Solved], Iterator[Part]]) -> Callable[[Solved], Iterator[Part]]:
        def faulty(solved: Solved) -> Iterator[Part]:
            for part in original(solved):
                moved = part.share / 4.0 if part.failure == "gpu" else 0.0
                yield replace(part, share=part.share - moved)
                yield replace(part, failure="soft", share=moved)

        return faulty

    must_reject(lambda: check_by_class_and_tier(seed), replaced("gemsim.analytic.breakdown:parts", charged))
