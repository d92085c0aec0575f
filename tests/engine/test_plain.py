"""Recoveries in one go are those step by step: row for row, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest

from gemsim.engine.course import length
from gemsim.engine.plain import Stretch
from gemsim.engine.run import simulate
from gemsim.scenario import Scenario
from gemsim.study.validate.simulate import scenario_of
from tests.faults import must_reject, replaced

STUDY = """
title: store alone
cluster: {{gpus: 512, gpu: h100-80gb, nodes_per_rack: 4, storage: {{write: 200 GB/s, read: 200 GB/s}}}}
workload: {{parameters: 2e9, parallel: {{data: 512, shard: optimizer}}, step: 6 s, microbatches: 4, layers: 80}}
restart: {{mode: {mode}}}
failures: {{mix: llama3-2024, scale: 60{failures}}}
fleet: {{spares: {{hot: 6, warm: 24{spares}}}{fleet}}}
protection: [{{checkpoint: {{target: remote, mode: async, blocked: 1 s, interval: 5 min, keep: 2 d}}}}{second}]
run: {{{run}}}
"""
SHOP = (
    ", repair: {stages: [{name: a, time: {kind: exponential, mean: 2 h}, escalate: 0.6, silent: 0.3, crews: 2}, "
    "{name: b, time: {kind: lognormal, mean: 9 h, sigma: 1}, silent: 0.2}], misdiagnosis: 0.1}"
)
WATCHED = ", retire: {after: 3, within: 2 d, restock: 3 d}, checks: {every: 1 h, finds: 0.3}"
LEMONS = ", frailty: {kind: lemons, share: 0.1, multiplier: 8}"
SLOW = (
    ", classes: [{name: slow, scope: slow, rate: 40 / 54 d, gpus: 512, slower: 0.2, detect: 2 h, action: replace, "
    "repair: 4 h}, {name: stop, scope: planned, rate: 47 / 54 d, gpus: 512, detect: 0 s, action: none, notice: 10 min, "
    "stop: 30 min}]"
)
AT_ONCE = (
    ", classes: [{name: quick, scope: node, rate: 1 / 9 node d, detect: 10 s, action: replace, repair: 0 s, "
    "frailty: {kind: gamma, shape: 0.3}}]"
)
DAYS = "horizon: 6 d"
CASES: dict[str, dict[str, str]] = {
    "bare": {},
    "work target": {"run": "steps: 40000, max_wall: 20 d", "mode": "in_process"},
    "shop and lemons": {"fleet": SHOP, "failures": LEMONS},
    "watched": {"fleet": SHOP + WATCHED, "failures": LEMONS},
    "selection": {"spares": ", selection: 3 min, choose: random, borrow: 8, borrow_each: 20 min"},
    "slow and planned": {"failures": SLOW, "mode": "holder"},
    "in place": {"mode": "in_place", "fleet": SHOP},
    "two stores": {"second": ", {checkpoint: {name: far, target: remote, mode: sync, interval: 20 min}}"},
    "repair in no time": {"failures": AT_ONCE},
    "ageing": {"failures": ", law: {kind: weibull, shape: 0.7}"},
}
NEVER = ("slow and planned", "watched")  # the short way: a slow node is always pending, each failure is looked at


def scenario(name: str) -> Scenario:
    """A job that a remote store alone protects, with spares and what else the case has."""
    blank = dict.fromkeys(("failures", "spares", "fleet", "second"), "")
    return scenario_of(STUDY.format(**{**blank, "mode": "all_processes", "run": DAYS, **CASES[name]}))


def check(name: str) -> None:
    """Rows with and without the short way are the same, and both ways are taken."""
    of, taken = scenario(name), []
    original = Stretch._recover

    def counted(stretch: Stretch, *args: Any) -> float | None:
        end = original(stretch, *args)
        taken.append(end is not None)
        return end

    with patch.object(Stretch, "_recover", counted):
        short = [simulate(of, seed=1, replication=number) for number in range(2)]
    with patch.object(Stretch, "begins", False):
        assert [simulate(of, seed=1, replication=number) for number in range(2)] == short
    assert sum(taken) > 10 or name in NEVER
    assert sum(row["failures"] for row in short) > sum(taken)


@pytest.mark.parametrize("name", CASES)
def test_in_one_go_as_step_by_step(name: str) -> None:
    check(name)


def nobody_waits() -> AbstractContextManager[None]:
    """Spares are at hand however long they take."""
    return replaced("gemsim.engine.pools:Pools.at_hand", lambda _: lambda pools, now, begin: begin)


def nobody_leaves() -> AbstractContextManager[None]:
    """A node that breaks is not sent to repair, and nobody comes in its place."""
    return replaced("gemsim.engine.fleet:Fleet.swap", lambda _: lambda *_: None)


def restarts_at_once() -> AbstractContextManager[None]:
    """The seconds of a recovery but those of its detection are left out."""
    return replaced(
        "gemsim.engine.plain:Stretch._down",
        lambda original: lambda *args: (only := original(*args)[0][:1], length(only)),
    )


@pytest.mark.parametrize("fault", [nobody_waits, nobody_leaves, restarts_at_once])
def test_faults_in_the_short_way_are_noticed(fault: Callable[[], AbstractContextManager[None]]) -> None:
    must_reject(lambda: check("shop and lemons"), fault())
