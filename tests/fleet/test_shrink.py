"""A job that shrinks: what it lacks is what is in repair, and with spares at hand it does what one that waits does."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from gemsim.engine.run import simulate
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point
from tests import statcheck
from tests.faults import must_reject, replaced

REPAIR_H, GROUPS = 24.0, 512
STUDY = """
title: a job that shrinks
cluster: {gpus: 4096, gpu: h100-80gb, storage: {write: 2 TB/s, read: 7 TB/s}}
workload: {parameters: 70e9, parallel: {tensor: 8, data: 512, shard: optimizer}, step: 6 s, microbatches: 1, layers: 80}
failures:
  classes:
    - name: node
      scope: node
      rate: 20 / 1000 node d
      detect: 30 s
      action: replace
      repair: {kind: exponential, mean: 24 h}
fleet: {spares: {hot: 0, activation: {hot: 1 min, warm: 1 min}}}
protection: [{checkpoint: {target: remote, mode: async, blocked: 2 s, interval: 10 min}}]
run: {horizon: 12 d, replications: 1, start: new}
"""


def job(**values: Any) -> Scenario:
    """The scenario with values put in."""
    return build(resolve_point(parse_study(STUDY.encode(), "shrink.yaml"), values))


def missing_per_failure(count: int, stage: int) -> list[float]:
    """Seconds missing for each failure, replication by replication."""
    of = job(**{"fleet.spares.short": "shrink"})
    rows = (simulate(of, seed=20261130 + stage, replication=number) for number in range(count))
    return [row["degraded_s"] / row["failures"] for row in rows]


def check_little(detect: float = 0.08) -> None:
    """Each failure takes one of 512 groups out for 24 h on average, whoever comes from repair first (Little's law).

    The first days, in which fewer are out than come back, and what falls beyond the end leave 24 h - 24 h²/12 d of it.
    """
    expected = REPAIR_H * 3600 / GROUPS * (1 - REPAIR_H / (12 * 24))
    statcheck.mean_two_stage(partial(missing_per_failure, 60), expected, detect=detect * expected)


def test_what_is_missing_is_what_is_in_repair() -> None:
    check_little()


def test_outages_that_keep_to_the_first_promise_are_noticed() -> None:
    fault = replaced("gemsim.engine.job:Job._leave_out", lambda original: first_promise)
    must_reject(partial(check_little, 0.45), fault)


def first_promise(of: Any) -> None:
    """Who waits is told once when somebody will come, and stays out until then."""
    for places, taken, event in of.fleet.coming:
        lacking = frozenset(("node", place) for place in places)
        unit = of.capacity.tier.units_of(lacking, of.capacity.grid)
        if not unit <= of.capacity.out.keys():
            of.capacity.take_out(lacking, taken.ready, of.scenario.classes[event.index].name)


@pytest.mark.parametrize("activation", ["0 s", "1 min", "1 h"])
def test_with_spares_at_hand_nothing_shrinks(activation: str) -> None:
    rows = []
    for short in ("wait", "shrink"):
        values = {"fleet.spares.hot": 40, "fleet.spares.short": short, "fleet.spares.activation.hot": activation}
        rows.append(simulate(job(**values, **{"failures.scale": 0.1}), seed=1, replication=0))
    for row in rows:
        del row["point"]
    assert rows[0] == rows[1]
    assert rows[0]["degraded_s"] == 0.0 < rows[0]["failures"]
