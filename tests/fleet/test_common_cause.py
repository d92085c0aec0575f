"""From the study to the classes: common causes, rates over all devices, and what may not move a trace."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress
from typing import Any

import pytest

from gemsim.errors import GemsimError
from gemsim.failures.trace import Trace, draw_trace
from gemsim.scenario import Scenario
from tests.engine.small import RETRY, checkpoint
from tests.fleet.fleet_jobs import GPU, KINDS, NODE, PER_NODE, PLACES, job

DAY = 86400.0
LEMONS = {"kind": "lemons", "share": 0.5, "multiplier": 5}
OFTEN = {"rate": "1 / 100 s"}
BIG: dict[str, Any] = {"cluster__gpus": 256, "workload__parallel": {"tensor": 4, "data": 64, "shard": "none"}}


def rate(of: Scenario) -> float:
    """Units that fail in 1000 days, all classes together."""
    return sum(kind.rate for kind in of.classes) * 1000 * DAY


def trace(of: Scenario, number: int = 0) -> Trace:
    """The trace that a run meets."""
    return draw_trace(of.classes, horizon=of.horizon, seed=3, replication=number)


@pytest.mark.parametrize("base", [GPU, NODE], ids=["gpu", "node"])
@pytest.mark.parametrize("frailty", [None, {**LEMONS, "of": "mean"}, {**LEMONS, "of": "good"}], ids=str)
def test_a_common_cause_moves_no_rate(base: dict[str, Any], frailty: dict[str, Any] | None) -> None:
    kind = {**base, "frailty": frailty}
    plain = job(kinds=[kind])
    assert rate(plain) == pytest.approx(3.0 if frailty and frailty["of"] == "good" else 1.0)
    for beta in (0.0, 0.3, 0.999, 1.0):
        shared = job(kinds=[{**kind, "common_cause": {"beta": beta, "within": "rack"}}])
        assert rate(shared) == pytest.approx(rate(plain), rel=1e-12)


def test_beta_zero_is_independence() -> None:
    plain, none = job(kinds=KINDS), job(kinds=[{**one, **_cause(0.0, one)} for one in KINDS])
    assert none.classes == plain.classes
    assert none.id == plain.id


def _cause(beta: float, one: dict[str, Any]) -> dict[str, Any]:
    by_unit = one["scope"] in ("gpu", "node", "link", "slow")
    return {"common_cause": {"beta": beta, "within": "rack"}} if by_unit else {}


@pytest.mark.parametrize(("base", "size"), [(GPU, 2 * PER_NODE), (NODE, 2)], ids=["gpu", "node"])
def test_beta_one_takes_whole_domains(base: dict[str, Any], size: int) -> None:
    of = job(kinds=[{**base, "rate": "1 / 20 s", "common_cause": {"beta": 1.0, "within": "rack"}}])
    struck: dict[float, list[int]] = defaultdict(list)
    for event in trace(of).wall:
        struck[event.time].append(event.unit)
    assert len(struck) > 20
    assert all(sorted(who) == [*range(min(who), min(who) + size)] and min(who) % size == 0 for who in struck.values())


def test_a_share_takes_whole_domains() -> None:
    of = job(kinds=[{**NODE, **OFTEN, "common_cause": {"beta": 0.5, "within": "rack"}}], **BIG)
    alone, shared = of.classes
    sizes: dict[tuple[int, float], int] = defaultdict(int)
    for event in trace(of).wall:
        sizes[event.index, event.time] += 1
    assert {size for (index, _), size in sizes.items() if index == 0} == {1}
    assert {size for (index, _), size in sizes.items() if index == 1} == {2}
    assert (alone.name, shared.name) == ("node", "node+rack")


PAIRS = {"batch": {"sizes": [[2, 1.0]], "within": "rack"}}


def test_a_batch_has_no_rate_where_each_device_has_its_own() -> None:
    """What devices have in common can start together; of a gamma law they have nothing in common."""
    with pytest.raises(ValueError, match="batch"):
        job(kinds=[{**GPU, **PAIRS, "frailty": {"kind": "gamma", "shape": 0.5}}])
    instants = Counter(event.time for event in trace(job(kinds=[{**GPU, **OFTEN, **PAIRS, "frailty": LEMONS}])).wall)
    assert set(instants.values()) == {1, 2}


EVERYTHING = [
    {**GPU, **OFTEN, "frailty": LEMONS, "drift": [[0, 0.5], ["1000 s", 2.0]]},
    {**NODE, **OFTEN, "common_cause": {"beta": 0.4, "within": "rack"}},
    {**GPU, **OFTEN, "name": "again", "recurrence": {"again": 0.5, "gap": {"kind": "exponential", "mean": "900 s"}}},
    {**NODE, **OFTEN, "name": "batch", "batch": {"sizes": [[1, 0.5], [3, 0.5]], "within": "cluster"}},
    {**GPU, **OFTEN, "name": "unlike", "frailty": {"kind": "gamma", "shape": 0.4}},
]
MARKS = ("repair", "detect", "recurs", "gap", "check", "misdiagnosed", "join:0")


def test_the_trace_is_exogenous() -> None:
    """Tiers, widths, parity, cadence, restart mode, repair, retirement and checks leave every failure as it is."""
    stripe = {"stripe": {"layout": "gpu", "k": 4, "m": 2, "cadence": 3}}
    repair = {"stages": [{"name": "mend", "time": {"kind": "exponential", "mean": "2 h"}, "crews": 400}]}
    designs: list[Scenario] = [
        job(kinds=EVERYTHING),
        job(checkpoint(), kinds=EVERYTHING),
        job(RETRY, stripe, checkpoint(mode="async"), kinds=EVERYTHING, mode="in_place"),
        job(kinds=EVERYTHING, fleet={"repair": repair, "checks": {"every": "1 h", "finds": 0.5}}),
        job(kinds=EVERYTHING, fleet={"retire": {"after": 2, "within": "1 d"}}),
    ]
    found = []
    for of in designs:
        drawn = trace(of)
        found.append([(event, [drawn.mark(event, name) for name in MARKS]) for event in drawn.wall])
    assert len(found[0]) > 100
    assert all(other == found[0] for other in found)


@pytest.mark.parametrize("number", range(4))
def test_spares_leave_the_failures_of_the_job_alone(number: int) -> None:
    found = []
    for hot in (0, 3):
        drawn = trace(job(kinds=EVERYTHING, hot=hot), number)
        inside = {k: PLACES if kind.clock == "node" else 4 * PLACES for k, kind in enumerate(drawn.classes)}
        job_events = [event for event in drawn.wall if event.unit < inside[event.index]]
        found.append([(e.time, e.index, e.unit, [drawn.mark(e, name) for name in MARKS]) for e in job_events])
    assert found[0] == found[1]


def test_a_job_that_never_comes_to_rest_can_be_built() -> None:
    """Failures each 3 s that take an hour to be found, with groups that run on: a number, or refused with a message."""
    kind = {**GPU, "rate": "1 / 3 s", "detect": "1 h"}
    groups = {"replica_group": {"stall": "8 s", "catch_up": "5 s"}}
    with suppress(GemsimError):
        assert job(groups, checkpoint(), kinds=[kind], mode="in_place").horizon == 5000.0
