"""The twin of a fleet as it is: the engine within the error that the twin states, and faults that this shows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gemsim.analytic.run import predict
from gemsim.engine import run as engine
from gemsim.errors import NotCovered
from gemsim.scenario import Scenario
from gemsim.study.validate.simulate import scenario_of
from tests.faults import must_reject, replaced

STUDY = """
title: one job
cluster: {gpus: 1024, gpu: a100-80gb, SPARES storage: {write: 2 TB/s, read: 2 TB/s}}
workload:
  {parameters: 70e9, parallel: {tensor: 8, data: 128, shard: optimizer}, step: 10 s, microbatches: 4, layers: 80}
restart: {mode: all_processes, process: 1 min, communicator: 0 s, warmup: 1 min}
failures: {classes: [CLASS]}
FLEET
protection:
  - checkpoint: {target: remote, mode: async, blocked: 5 s, write: 1 min, read: 30 s, interval: 30 min}
run: {horizon: 60 d, replications: 1}
"""
NODE = "{name: node, scope: node, rate: 20 / 1000 node d, detect: 1 min, action: replace, REPAIR MORE}"
GPU = "{name: gpu, scope: gpu, rate: 2.5 / 1000 gpu d, detect: 1 min, action: reset, MORE}"
GONE = GPU.replace("action: reset", "action: replace, repair: {kind: exponential, mean: 1 d}")
TOGETHER = "batch: {sizes: [[1, 0.5], [16, 0.5]], within: rack}"
DAY_OUT = "repair: {kind: exponential, mean: 1 d}"
FEW = "spare_nodes: 3, spare_activation: 2 min,"
MANY = "spare_nodes: 400, spare_activation: 2 min,"
STAGES = (
    "{name: a, time: {kind: exponential, mean: 2 h}, escalate: 0.5, silent: 0.3}, "
    "{name: b, time: {kind: exponential, mean: 48 h}}"
)
LEMONS = "frailty: {kind: lemons, share: 0.05, multiplier: 20}"


def job(one: str, *, more: str = "", spares: str = MANY, fleet: str = "", repair: str = DAY_OUT) -> Scenario:
    """A job of 128 nodes with one class of failures."""
    one = one.replace("REPAIR", f"{repair},").replace("MORE", more)
    fleet = f"fleet: {fleet}" if fleet else ""
    return scenario_of(STUDY.replace("SPARES", spares).replace("CLASS", one).replace("FLEET", fleet))


def hot(text: str, repair: str = "") -> dict[str, str]:
    """A fleet with these spares, and its stages of repair."""
    return {"spares": "", "fleet": f"{{spares: {{{text}}}{f', repair: {{stages: [{repair}]}}' if repair else ''}}}"}


JOBS: dict[str, Callable[[], Scenario]] = {
    "gamma devices": lambda: job(GPU, more="frailty: {kind: gamma, shape: 0.1}"),
    "lemons that come back": lambda: job(NODE, more=LEMONS, spares="spare_nodes: 20, spare_activation: 2 min,"),
    "batches": lambda: job(NODE, more="batch: {sizes: [[1, 0.9], [3, 0.1]], within: cluster}"),
    "GPUs of a node struck together": lambda: job(GONE, more="common_cause: {beta: 0.5, within: rack}"),
    "drift": lambda: job(NODE, more="drift: [[0 d, 0.5], [30 d, 2.5]]"),
    "followers of those replaced": lambda: job(
        NODE, more="recurrence: {again: 0.46, gap: {kind: weibull, shape: 0.5, mean: 100 h}}"
    ),
    "few spares": lambda: job(NODE, spares=FEW),
    "pipeline": lambda: job(NODE, **hot("hot: 5, activation: {hot: 2 min}", STAGES)),
    "hot and warm": lambda: job(NODE, **hot("hot: 2, warm: 30, activation: {hot: 0 s, warm: 20 min}")),
    "joins that fail": lambda: job(NODE, **hot("hot: 30, join_fails: 0.3, join_timeout: 10 min")),
    "selections": lambda: job(
        NODE, **hot("hot: 2, warm: 30, activation: {hot: 0 s, warm: 0 s}, selection: 20 min, choose: random")
    ),
}
MORE_JOBS: dict[str, Callable[[], Scenario]] = {
    "lemons that stay": lambda: job(GPU, more=LEMONS),
    "gamma nodes that come back": lambda: job(
        NODE, more="frailty: {kind: gamma, shape: 0.3}", spares="spare_nodes: 20, spare_activation: 2 min,"
    ),
    "lemons that repair cures": lambda: job(
        NODE,
        more="frailty: {kind: lemons, share: 0.15, multiplier: 10, of: good}",
        **hot("hot: 20", "{name: a, time: {kind: exponential, mean: 20 h}, silent: 0.3}"),
    ),
    "followers of batches that are replaced": lambda: job(
        GONE, more=f"{TOGETHER}, recurrence: {{again: 0.3, gap: {{kind: weibull, shape: 0.5, mean: 100 h}}}}"
    ),
    "racks through crews": lambda: job(
        NODE,
        **hot(
            "hot: 16, unit: rack, activation: {hot: 0 s}", "{name: a, time: {kind: exponential, mean: 5 h}, crews: 1}"
        )
        | {"spares": "replace: rack,"},
    ),
    "lemons in racks": lambda: job(
        NODE,
        more=LEMONS,
        **hot(
            "hot: 40, unit: rack, activation: {hot: 0 s}",
            "{name: a, time: {kind: exponential, mean: 20 h}, silent: 0.5}",
        )
        | {"spares": "replace: rack,"},
    ),
    "a common cause": lambda: job(NODE, more="common_cause: {beta: 0.3, within: rack}"),
    "followers": lambda: job(GPU, more="recurrence: {again: 0.46, gap: {kind: weibull, shape: 0.5, mean: 100 h}}"),
    "no spares": lambda: job(NODE, spares="spare_nodes: 0,", repair="repair: {kind: exponential, mean: 5 h}"),
    "few spares, batches": lambda: job(
        NODE, more="batch: {sizes: [[1, 0.9], [3, 0.1]], within: cluster}", spares="spare_nodes: 4,"
    ),
    "fails only while it runs": lambda: job(NODE, more="exposure: running", spares=FEW),
    "crews": lambda: job(NODE, **hot("hot: 8", "{name: b, time: {kind: exponential, mean: 12 h}, crews: 2}")),
    "borrowed nodes": lambda: job(NODE, **hot("hot: 3, activation: {hot: 0 s}, borrow: 50, borrow_each: 1 h")),
    "racks as spares": lambda: job(
        NODE, **hot("hot: 20, unit: rack, activation: {hot: 0 s}") | {"spares": "replace: rack,"}
    ),
}
USELESS = 0.05  # a stated error above this says nothing


def check(built: Scenario, replications: int) -> None:
    """|engine - closed form| <= the stated error + 4 standard errors, for the ETTR and, within a tenth, failures."""
    said = predict(built)
    assert said["analytic_error"] < USELESS
    rows: list[dict[str, Any]] = [engine.simulate(built, seed=5, replication=n) for n in range(replications)]
    for column, sample, stated in (
        ("ettr_analytic", [row["productive_s"] / row["wall_s"] for row in rows], said["analytic_error"]),
        ("failures_analytic", [row["failures"] for row in rows], 0.1 * said["failures_analytic"]),
    ):
        values = np.array(sample, dtype=float)
        noise = 4.0 * float(values.std(ddof=1)) / replications**0.5
        apart = float(values.mean()) - said[column]
        assert abs(apart) <= stated + noise, f"{column} {apart:+.4g} of {said[column]:.5g}, stated {stated:.2g}"


@pytest.mark.parametrize("name", JOBS)
def test_engine_within_the_stated_error(name: str) -> None:
    check(JOBS[name](), 16)


@pytest.mark.long
@pytest.mark.parametrize("name", [*JOBS, *MORE_JOBS])
def test_engine_within_the_stated_error_at_full_size(name: str) -> None:
    check((JOBS | MORE_JOBS)[name](), 200)


@pytest.mark.parametrize("name", MORE_JOBS)
def test_all_others_are_covered(name: str) -> None:
    said = predict(MORE_JOBS[name]())
    assert 0.3 < said["ettr_analytic"] < 1.0
    assert said["analytic_error"] < USELESS


def test_a_batch_is_one_stop_and_several_failures() -> None:
    alone, together = predict(job(NODE)), predict(JOBS["batches"]())
    assert together["failures_analytic"] == pytest.approx(alone["failures_analytic"], rel=1e-9)
    assert 1.0 - together["ettr_analytic"] < 0.9 * (1.0 - alone["ettr_analytic"])


def test_plain_classes_are_as_before() -> None:
    """A drift of 1 and alike devices change nothing but the kind."""
    plain, even = predict(job(NODE)), predict(job(NODE, more="drift: [[0 d, 1.0]]"))
    assert even["ettr_analytic"] == pytest.approx(plain["ettr_analytic"], rel=1e-12)
    assert plain["analytic_kind"] == "exact"
    alike = predict(job(GPU, more="frailty: {kind: lemons, share: 0.1, multiplier: 1}"))
    assert alike["ettr_analytic"] == pytest.approx(predict(job(GPU))["ettr_analytic"], rel=1e-12)


@pytest.mark.parametrize(
    ("built", "reason"),
    [
        (lambda: job(NODE, spares="", fleet="{spares: {hot: 9}, retire: {after: 3, within: 7 d}}"), "retirement"),
        (lambda: job(NODE, spares="", fleet="{spares: {hot: 9}, checks: {every: 1 h, finds: 0.3}}"), "health checks"),
        (lambda: job(NODE, **hot("hot: 9, join_fails: 1.0")), "never join"),
        (
            lambda: job(NODE, more="drift: [[0 d, 1], [30 d, 2]]", **hot("hot: 2", "{name: a, time: 3 d, crews: 12}")),
            "cannot keep up",
        ),
        (
            lambda: job(NODE, more="frailty: {kind: gamma, shape: 1}", **hot("hot: 9", "{name: a, time: 1 h}")),
            "gamma law",
        ),
    ],
)
def test_what_has_no_form_is_refused(built: Callable[[], Scenario], reason: str) -> None:
    with pytest.raises(NotCovered, match=reason):
        predict(built())


def test_a_plain_study_is_predicted_at_once() -> None:
    """A millisecond on the machine of the project; ten here, since others may run beside it."""
    built = job(NODE)
    predict(built)
    begin = time.process_time()
    for _ in range(50):
        predict(built)
    assert (time.process_time() - begin) / 50 < 0.01


def test_lemons_that_never_leave_are_caught() -> None:
    def all_stay(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda law, flow, seconds: original(law, flow, 1e-3)

    must_reject(
        lambda: check(JOBS["lemons that come back"](), 10), replaced("gemsim.analytic.evened:in_the_job", all_stay)
    )


def test_each_gpu_of_a_node_that_leaves_counted_is_caught() -> None:
    must_reject(
        lambda: check(JOBS["GPUs of a node struck together"](), 16),
        replaced("gemsim.analytic.varied:met", lambda _: lambda scenario, kind: 1.0),
    )


def test_drift_forgotten_is_caught() -> None:
    def even(original: Callable[..., float]) -> Callable[..., float]:
        return lambda steps, now: original(steps, 0.0)

    must_reject(lambda: check(JOBS["drift"](), 10), replaced("gemsim.analytic.evened:factor_at", even))


def test_followers_that_strike_those_replaced_are_caught() -> None:
    def all_strike(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda kind, factor: original(kind, 1.0)

    must_reject(
        lambda: check(JOBS["followers of those replaced"](), 10),
        replaced("gemsim.analytic.evened:_scaled", all_strike),
    )


def test_a_job_that_never_waits_is_caught() -> None:
    def never(original: Callable[..., list[float]]) -> Callable[..., list[float]]:
        return lambda scenario, asked, crews, warmed: [1.0]

    must_reject(lambda: check(JOBS["few spares"](), 10), replaced("gemsim.analytic.waits:_one_by_one", never))
