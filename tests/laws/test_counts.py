"""How often failures strike: counts on the wall clock, whatever the design and however long the job stands still."""

from __future__ import annotations

import pytest

from gemsim.analytic.first_order import fleet_rate
from gemsim.engine import run as engine
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point
from tests import statcheck

LLAMA = """
title: Llama 3 405B, 54 days
cluster: {gpus: 16384, gpu: h100-80gb, spare_nodes: 64, storage: {write: 2 TB/s, read: 2 TB/s}}
workload:
  parameters: 405e9
  parallel: {tensor: 8, pipeline: 16, data: 128, shard: optimizer}
  step: 6 s
  microbatches: 16
  layers: 126
failures: {mix: llama3-2024}
protection: [checkpoint: {target: remote, mode: async, blocked: 1 s, interval: 30 min}]
run: {horizon: 54 d, replications: 1}
"""
REPLICATIONS = 48


def llama() -> Scenario:
    """The job whose 419 interruptions the mix was counted on."""
    return build(resolve_point(parse_study(LLAMA.encode(), "llama.yaml"), {}))


def check_llama_count() -> None:
    """419 failures in 54 days on average: Poisson over all replications. Sees rates off by 5 %."""
    scenario = llama()
    rows = (engine.simulate(scenario, seed=419, replication=number) for number in range(REPLICATIONS))
    statcheck.poisson_count(sum(row["failures"] for row in rows), 419.0 * REPLICATIONS, detect=0.05)


def check_count_of_shape(law: dict[str, object]) -> None:
    """A stationary fleet fails as often whatever the shape of its lives, one clock for each of its GPUs.

    The superposition of 16,384 clocks is Poisson to well below what is seen here, rates off by 5 %.
    """
    keys: dict[str, object] = {"failures.law": law}
    scenario = build(resolve_point(parse_study(LLAMA.replace("llama3-2024", "rsc-1").encode(), "rsc.yaml"), keys))
    rate = sum(kind.rate for kind in scenario.classes)
    rows = (engine.simulate(scenario, seed=7, replication=number) for number in range(REPLICATIONS))
    statcheck.poisson_count(sum(row["failures"] for row in rows), rate * scenario.horizon * REPLICATIONS, detect=0.05)


@pytest.mark.parametrize(("kind", "shape"), [("weibull", 0.7), ("weibull", 1.5), ("lognormal", 1.5)])
def test_count_does_not_depend_on_the_shape(kind: str, shape: float) -> None:
    check_count_of_shape({"kind": kind, "shape": shape})


DESIGNS: tuple[dict[str, object], ...] = (
    {},
    {"restart.mode": "in_place"},
    {"protection.checkpoint.interval": "2 h"},
    {"restart.process": "20 min"},
)


def check_designs_meet_the_same_failures() -> None:
    """Failures by class are the same in every design of one seed and replication."""
    loaded = parse_study(LLAMA.encode(), "llama.yaml")
    met = set()
    for keys in DESIGNS:
        row = engine.simulate(build(resolve_point(loaded, keys)), seed=3, replication=0)
        met.add(row["failures"])
    assert len(met) == 1


def test_designs_meet_the_same_failures() -> None:
    check_designs_meet_the_same_failures()


def test_llama_count() -> None:
    assert sum(kind.rate for kind in llama().classes) * 54 * 86_400 == pytest.approx(419.0, rel=1e-9)
    assert {kind.exposure for kind in llama().classes} == {"wall"}
    check_llama_count()


@pytest.mark.parametrize(("gpus", "hours"), [(16_384, 1.80), (131_072, 0.225)])
def test_rsc_projections(gpus: int, hours: float) -> None:
    """Kokolis et al. (HPCA 2025): 6.5 failures per thousand node-days; by formula and through a study."""
    assert 1.0 / fleet_rate(6.5, gpus / 8) / 3600.0 == pytest.approx(hours, rel=3e-3)
    text = (
        LLAMA.replace("16384", str(gpus)).replace("data: 128", f"data: {gpus // 128}").replace("llama3-2024", "rsc-1")
    )
    scenario = build(resolve_point(parse_study(text.encode(), "rsc.yaml"), {}))
    assert 1.0 / sum(kind.rate for kind in scenario.classes) / 3600.0 == pytest.approx(hours, rel=3e-3)
