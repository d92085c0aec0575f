"""Running on with less in closed form: exact where the stall alone acts, the engine's mean where capacity is out."""

from __future__ import annotations

import zlib
from contextlib import AbstractContextManager
from dataclasses import replace
from math import comb, exp
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gemsim.analytic.run import predict
from gemsim.engine import run as engine
from gemsim.errors import NotCovered
from gemsim.scenario import Scenario, build
from gemsim.scenario.outages import chance
from gemsim.spec.loading import parse_study, resolve_point
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.laws.jobs import GPU, LINK, SOFT, Case, ettr_sample

REPLICATIONS = 72
COPIES: dict[str, Any] = {"workload.parallel.shard": "none"}
AT_ONCE: dict[str, Any] = {
    "restart.process": "0 s", "restart.communicator": "0 s", "restart.warmup": "0 s", "cluster.spare_activation": "0 s"
}  # fmt: skip
GROUPS = "replica_group: {stall: 20 s, catch_up: 5 min, groups: 8}"
ELASTIC = "replica_group: {stall: 20 s, catch_up: 60 s, groups: 32, out: node}"
BLOCKING = "replica_group: {stall: 20 s, catch_up: 60 s, groups: 8, catch_up_stall: 30 s}"
STALL_ALONE = Case(
    "in_process", 8, (GPU, SOFT), ("replica_group: {stall: 90 s, discard: nothing, catch_up: 0 s}",), COPIES | AT_ONCE
)
OUT = Case("in_process", 8, (GPU, SOFT, LINK), (GROUPS,), COPIES)
WAITED_FOR = Case("in_process", 4, (GPU, SOFT), (BLOCKING,), COPIES)
NO_SPARES = Case("in_process", 8, (GPU,), (ELASTIC,), COPIES | {"cluster.spare_nodes": 0})

FT_HSDP = """
title: 12 groups of 8,192
cluster: {gpus: 98304, gpu: h100-80gb, spare_nodes: 64, spare_activation: 0 s, storage: {write: 1 TB/s, read: 1 TB/s}}
workload: {parameters: 405e9, parallel: {tensor: 8, pipeline: 16, data: 768, shard: full, replicas: 12}, step: 10 s}
restart: {mode: in_process, process: 0 s, communicator: 0 s, warmup: 0 s}
failures: {classes: [{name: any, scope: process, rate: 1 / 18 min, gpus: 98304, detect: 0 s, action: restart_app,
    exposure: wall}]}
protection: [replica_group: {stall: 3 min, discard: nothing, catch_up: 0 s}]
run: {horizon: 20 d}
"""


def ft_hsdp(**keys: Any) -> Scenario:
    changes = {f"protection.replica_group.{name}": value for name, value in keys.items()}
    return build(resolve_point(parse_study(FT_HSDP.encode(), "ft-hsdp.yaml"), changes))


@pytest.mark.parametrize(("minutes", "share"), [(3, 0.846), (10, 0.574)])
def test_the_stall_alone_is_exact(minutes: int, share: float) -> None:
    """With the hazard in wall time a stall is begun again by a failure within it: e^(-rate x stall)."""
    said = predict(ft_hsdp(stall=f"{minutes} min"))
    assert said["analytic_kind"] == "exact"
    assert said["ettr_analytic"] == pytest.approx(exp(-minutes / 18), rel=1e-9)
    assert said["ettr_analytic"] == pytest.approx(share, abs=5e-4)
    assert said["cost_s_per_failure_analytic"] == pytest.approx((1 - exp(-minutes / 18)) * 18 * 60)


def check_engine(case: Case, *, detect: float, kind: str) -> None:
    """Sees the engine's long-run ETTR off by `detect`."""
    scenario = case.scenario(8.0 / case.scale)
    said = predict(scenario)
    assert said["analytic_kind"] == kind
    assert said["analytic_error"] < detect / 2

    def draw(stage: int) -> NDArray[np.float64]:
        seed = zlib.crc32(f"{case.tiers} {stage}".encode())
        return ettr_sample(scenario, replications=REPLICATIONS, seed=seed)

    statcheck.mean_two_stage(draw, said["ettr_analytic"], detect=detect, alarm=statcheck.ALARM / 4)


def stall_alone() -> None:
    check_engine(STALL_ALONE, detect=0.003, kind="exact")


def out() -> None:
    check_engine(OUT, detect=0.012, kind="first_order")


def no_spares() -> None:
    check_engine(NO_SPARES, detect=0.004, kind="first_order")


def test_engine_and_form_where_the_stall_alone_acts() -> None:
    stall_alone()


def test_engine_and_form_while_groups_are_out() -> None:
    out()


def test_engine_and_form_without_spares() -> None:
    no_spares()


def test_engine_and_form_where_the_others_wait_for_what_comes_back() -> None:
    check_engine(WAITED_FOR, detect=0.006, kind="first_order")


def booked_in_full() -> AbstractContextManager[None]:
    return replaced("gemsim.engine.capacity:ReplicaGroup.lost_share", lambda original: lambda *args: 0.0)


def never_prolonged() -> AbstractContextManager[None]:
    """A second failure of what is out is overlooked."""
    return replaced("gemsim.engine.job:back", lambda original: lambda strike, *args: strike.wall)


def test_the_engine_is_rejected_where_it_gives_capacity_away() -> None:
    must_reject(out, booked_in_full())
    must_reject(out, never_prolonged())
    must_reject(no_spares, booked_in_full())


def test_missing_work_by_columns() -> None:
    """Mean degraded time and cost per failure of the engine beside the form, without a test's alarm."""
    scenario = OUT.scenario(6.0)
    said, rows = predict(scenario), [engine.simulate(scenario, seed=3, replication=n) for n in range(12)]
    cost = sum(r["cost_failures_s"] for r in rows) / sum(r["failures"] for r in rows)
    wasted = sum(r["wasted_failures_s"] for r in rows) / sum(r["failures"] for r in rows)
    assert said["cost_s_per_failure_analytic"] == pytest.approx(cost, rel=0.03)
    assert said["wasted_s_per_failure_analytic"] == pytest.approx(wasted, abs=1.0)
    assert said["fallback_per_failure_analytic"] == 0.0


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"join_timeout": "1 s", "catch_up": "2 s"}, "never comes back"),
        ({"minimum": 11, "catch_up": "1 h"}, "too few groups left"),
    ],
)
def test_what_the_form_does_not_cover(keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(NotCovered, match=reason):
        predict(ft_hsdp(**keys))


def test_limits() -> None:
    """A longer outage and fewer groups lose more; without failures there is nothing to lose."""
    shares = [predict(ft_hsdp(catch_up=time))["ettr_analytic"] for time in ("0 s", "10 min", "20 min")]
    assert shares == sorted(shares, reverse=True)
    more = [predict(ft_hsdp(catch_up="6 min", groups=count))["ettr_analytic"] for count in (6, 12)]
    assert more == sorted(more)
    rare = replace(ft_hsdp(), classes=())
    assert predict(rare)["ettr_analytic"] == pytest.approx(1.0)


def test_the_optimal_interval_counts_what_finds_too_few_groups() -> None:
    """Two groups, each out or in a stall for 2 min at a time: the other fails meanwhile, and all roll back."""
    of = ft_hsdp(catch_up="2 min", stall="10 s", groups=2)
    stored = "checkpoint: {target: remote, mode: sync, write: 10 s, interval: optimal}"
    text = FT_HSDP.replace("catch_up: 0 s}]", f"catch_up: 2 min, groups: 2}}, {stored}]").replace("3 min, d", "10 s, d")
    scenario = build(resolve_point(parse_study(text.encode(), "two.yaml"), {}))
    rate = sum(kind.rate for kind in of.classes)
    assert scenario.reach_rate == pytest.approx(rate * (1 - exp(-rate / 2 * 120)), rel=1e-9)
    assert scenario.interval_seconds == pytest.approx((2 * 10 / scenario.reach_rate) ** 0.5, rel=0.1)


def test_chances_are_binomial() -> None:
    for units, share in ((1, 0.3), (7, 0.01), (12, 0.9), (5, 0.0), (5, 1.0)):
        for n in range(units + 1):
            wanted = comb(units, n) * share**n * (1 - share) ** (units - n)
            assert chance(units, share, n) == pytest.approx(wanted, rel=1e-9, abs=1e-300)
