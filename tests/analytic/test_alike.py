"""Outcomes that a form of averages cannot tell apart: as one they come to the same numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemsim.analytic.alike import merged
from gemsim.analytic.expected import outcomes
from gemsim.analytic.run import columns, interrupted, predict, solved
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point

STUDY = """
title: Several classes of each kind
cluster: {gpus: 512, gpu: h100-80gb, storage: {write: 1 TB/s, read: 1 TB/s}}
workload: {parameters: 3e9, parallel: {data: 64, tensor: 8}, step: 2 s, update: 100 ms}
restart: in_place
failures:
  classes:
    - {name: memory, scope: memory, rate: 6 / 1 d, gpus: 512, detect: 5 s, action: drain_and_reset, contained: 0.5,
       uncontained_action: reset, rows: [[1, 0.9], [4, 0.1]]}
    - {name: node, scope: node, rate: 1 / 1 d, gpus: 512, detect: 10 s, action: reboot}
    - {name: host, scope: node, rate: 1 / 1 d, gpus: 512, detect: 10 s, action: reboot}
    - {name: bug, scope: process, rate: 3 / 1 d, gpus: 512, detect: 10 s, action: restart_app}
    - {name: crash, scope: process, rate: 2 / 1 d, gpus: 512, detect: 10 s, action: restart_app}
    - {name: wrong, scope: silent, rate: 1 / 8 d, gpus: 512, detect: 10 min, action: restart_app}
protection:
  - retry: {granularity: mixed}
  - stripe: {name: pages, layout: gpu, k: 64, m: 2, cadence: 4}
  - checkpoint: {name: hosts, target: cpu_memory, copies: 2, mode: async, blocked: 1 s, write: 5 s, interval: 1 min}
  - checkpoint: {name: store, target: remote, mode: async, blocked: 2 s, write: 60 s, interval: 20 min}
run: {horizon: 30 d}
"""


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return build(resolve_point(parse_study(STUDY.encode(), "study.yaml"), {}))


def test_few_outcomes_come_to_the_same_numbers(scenario: Scenario) -> None:
    found = outcomes(scenario)
    few = merged(scenario, found)
    assert len(few) < 0.7 * len(found)
    assert sum(one.rate for one in few) == pytest.approx(sum(one.rate for one in found), rel=1e-12)
    numbers = columns(solved(scenario, few, interrupted(scenario, few), None))
    whole = predict(scenario)
    assert numbers["analytic_kind"] == whole["analytic_kind"]
    for name in set(whole) - {"analytic_kind"}:
        assert numbers[name] == pytest.approx(whole[name], rel=1e-9), name


def test_the_stated_error_does_not_hang_on_how_failures_are_divided_into_classes(scenario: Scenario) -> None:
    halves = tuple(
        replace(kind, name=f"{kind.name}_{part}", lifetime=replace(life, mean=2.0 * life.mean, scale=2.0 * life.scale))
        for kind in scenario.classes
        for life in [kind.lifetime]
        for part in (1, 2)
    )
    whole, divided = predict(scenario), predict(replace(scenario, classes=halves))
    assert divided["analytic_error"] == pytest.approx(whole["analytic_error"], rel=1e-9)
    assert divided["ettr_analytic"] == pytest.approx(whole["ettr_analytic"], rel=1e-9)
