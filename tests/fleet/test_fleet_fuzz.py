"""Fleets made by hypothesis over all keys of a study: no exception, no hang, ledgers that close, no node lost."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gemsim.engine.job import Job
from gemsim.engine.run import simulate
from gemsim.errors import GemsimError
from gemsim.failures.trace import draw_trace
from gemsim.results.ledger import LEDGER, LOST_TO_FAILURES
from gemsim.results.rows import check_row
from gemsim.scenario import Scenario
from tests.engine.small import NODES, PEERS, RETRY, STRIPE, Row, checkpoint
from tests.fleet.fleet_jobs import CRAWL, FEED, GPU, LINK, NODE, RACK, SLOW, STOP, job, strays, total, watch

HORIZON = 4000.0
MODES = ("all_processes", "holder", "in_process", "in_place")
TIERS: tuple[list[dict[str, Any]], ...] = (
    [],
    [checkpoint()],
    [RETRY, STRIPE, checkpoint(mode="async")],
    [RETRY, PEERS, checkpoint("cpu_memory", name="near", interval="30 s"), checkpoint(name="far", interval="200 s")],
    [RETRY, NODES, checkpoint("disk", name="disk"), checkpoint(name="far", interval="300 s")],
    [{"replica_group": {"stall": "8 s", "catch_up": "5 s"}}, checkpoint()],
    [{"replica_group": {"stall": "8 s", "catch_up_stall": "30 s"}}],
)
seconds = st.sampled_from(["0 s", "1 s", "20 s", "300 s", "1 h"])
positive = st.sampled_from(["1 s", "20 s", "300 s", "1 h"])
share = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])
few = st.integers(0, 2)
laws = st.one_of(
    st.builds(lambda mean: {"kind": "exponential", "mean": mean}, positive),
    st.builds(lambda mean: {"kind": "lognormal", "mean": mean, "sigma": 1.5}, positive),
    positive,
)
gaps = st.one_of(
    st.builds(lambda mean: {"kind": "weibull", "shape": 0.3, "mean": mean}, positive),
    st.builds(lambda mean: {"kind": "exponential", "mean": mean}, positive),
)
frailty = st.one_of(
    st.none(),
    st.builds(lambda shape: {"kind": "gamma", "shape": shape}, st.sampled_from([0.2, 1.0, 50.0])),
    st.builds(
        lambda part, times, of: {"kind": "lemons", "share": part, "multiplier": times, "of": of},
        share, st.sampled_from([1.0, 6.0, 100.0]), st.sampled_from(["mean", "good"]),
    ),
)  # fmt: skip
drift = st.sampled_from([None, [[0, 1.0]], [[0, 0.5], ["1000 s", 3.0]], [[0, 5.0], ["1 s", 0.01], ["2 d", 1.0]]])
batch = st.one_of(
    st.builds(
        lambda sizes, within: {"sizes": sizes, "within": within},
        st.sampled_from([[[1, 1.0]], [[1, 0.5], [2, 0.5]]]), st.sampled_from(["rack", "switch", "power"]),
    ),
    st.builds(lambda size: {"sizes": [[1, 0.5], [size, 0.5]], "within": "cluster"}, st.sampled_from([3, 9, 99])),
)  # fmt: skip
cause = st.builds(
    lambda beta, within: {"beta": beta, "within": within}, share, st.sampled_from(["rack", "switch", "power"])
)
recurrence = st.builds(lambda again, gap: {"again": again, "gap": gap}, st.sampled_from([0.0, 0.5, 0.95]), gaps)


@st.composite
def kinds(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Some classes, each with something of its own; how often they fire is wild."""
    found = []
    bases = [GPU, NODE, RACK, FEED, LINK, SLOW, CRAWL, STOP, {**GPU, "name": "resets", "action": "reset"}]
    for base in draw(st.lists(st.sampled_from(bases), min_size=1, max_size=4, unique_by=lambda one: str(one["name"]))):
        one = {**base, "rate": draw(st.sampled_from(["1 / 50 s", "1 / 400 s", "1 / 1 h"])), "drift": draw(drift)}
        if base is STOP:
            one |= {"notice": draw(seconds), "stop": draw(laws)}
        else:
            one["detect"] = draw(laws)
        if base not in (STOP, RACK, FEED):
            together = draw(st.sampled_from(["batch", "common_cause", "frailty", "recurrence", "both"]))
            if together in ("frailty", "both"):
                one["frailty"] = draw(frailty)
            if together in ("recurrence", "both"):
                one["recurrence"] = draw(recurrence)
            if together in ("batch", "common_cause"):
                one[together] = draw(batch if together == "batch" else cause)
        found.append(one)
    return found


@st.composite
def fleets(draw: st.DrawFn) -> dict[str, Any]:
    """The section `fleet` of a study."""
    racks = draw(st.integers(0, 3)) == 0
    size = 2 if racks else 1
    spares = {
        "hot": size * draw(few), "warm": size * draw(few), "cold": size * draw(few), "borrow": size * draw(few),
        "unit": "rack" if racks else "node",
        "placed": "apart" if racks else draw(st.sampled_from(["apart", "spread"])),
        "activation": {"hot": draw(seconds), "warm": draw(seconds), "cold": draw(seconds)},
        "join_fails": draw(share), "join_timeout": draw(seconds), "selection": draw(seconds),
        "choose": "next" if racks else draw(st.sampled_from(["next", "random"])), "borrow_each": draw(positive),
    }  # fmt: skip
    fleet: dict[str, Any] = {"spares": spares}
    if draw(st.booleans()):
        last = {"name": "last", "time": draw(laws), "silent": draw(share), "crews": draw(few)}
        first = {
            "name": "first",
            "time": draw(laws),
            "escalate": draw(share),
            "silent": draw(share),
            "crews": draw(few),
        }
        fleet["repair"] = {"stages": [first, last] if draw(st.booleans()) else [last]}
        fleet["repair"]["misdiagnosis"] = 0.0 if racks else draw(share)
        if draw(st.booleans()):
            fleet["repair"]["parts"] = {"needed": draw(share), "stock": draw(few), "lead": draw(laws)}
    rule = draw(st.sampled_from([None, {"after": 1, "within": "1 d"}, {"after": 2, "within": "500 s"},
                                 {"score": 1.5, "half_life": "300 s"}]))  # fmt: skip
    if rule is not None:
        fleet["retire"] = {**rule, "restock": draw(st.sampled_from([None, "1 s", "500 s"]))}
    if draw(st.booleans()):
        fleet["checks"] = {"every": "1000 s", "finds": draw(share)}
        if "repair" in fleet:
            fleet["checks"]["false_positives"] = draw(st.sampled_from([0.0, 0.1, 1.0]))
    return fleet


@st.composite
def jobs(draw: st.DrawFn) -> Scenario | None:
    """A job with such a fleet; None where the study is refused with a message."""
    fleet = draw(fleets())
    changes: dict[str, Any] = {
        "run": {"horizon": f"{HORIZON} s", "start": draw(st.sampled_from(["stationary", "new"]))}
    }
    if draw(st.integers(0, 3)) == 0:
        changes["run"] = {"steps": 150, "max_wall": f"{HORIZON} s"}
    changes["cluster__replace"] = (
        "rack" if fleet["spares"]["unit"] == "rack" else draw(st.sampled_from(["gpu", "node"]))
    )
    tiers, mode, classes = draw(st.sampled_from(TIERS)), draw(st.sampled_from(MODES)), draw(kinds())
    alike = fleet["spares"]["choose"] == "next"  # to draw hosts anew is refused beside shrink
    if alike and not any("replica_group" in tier for tier in tiers):
        fleet["spares"]["short"] = draw(st.sampled_from(["wait", "wait", "shrink"]))
    try:
        return job(*tiers, kinds=classes, fleet=fleet, mode=mode, **changes)
    except (ValueError, GemsimError):
        return None


def judge(of: Scenario, row: Row) -> None:
    """No second is lost, booked twice or negative; costs add up."""
    check_row(row)
    assert all(row[f"{name}_s"] >= -1e-9 * row["wall_s"] for name in LEDGER)
    assert abs(math.fsum(row[f"{name}_s"] for name in LEDGER) - row["wall_s"]) <= 1e-9 * row["wall_s"]
    assert row["wall_s"] <= of.horizon * (1 + 1e-12)
    assert -1e-6 <= row["at_risk_s"] <= row["productive_s"] + 1e-6
    by_class = json.loads(row["by_class"])
    scopes = {kind.name: kind.scope for kind in of.classes}
    on_purpose = sum(cost for name, (_, cost) in by_class.items() if scopes[name] == "planned")
    lost = sum(row[f"{name}_s"] for name in LOST_TO_FAILURES)
    assert row["cost_failures_s"] == pytest.approx(lost - on_purpose, abs=1e-5)
    assert sum(cost for _, cost in by_class.values()) == pytest.approx(lost, abs=1e-5)
    told = {name: sum(tiers.values()) for name, tiers in json.loads(row["lost_by_class"]).items()}
    assert {name: told.get(name, 0.0) for name in by_class} == pytest.approx(
        {name: cost for name, (_, cost) in by_class.items()}, abs=1e-5
    )
    assert sum(count for count, _ in by_class.values()) == sum(json.loads(row["by_tier"]).values())
    if of.work_steps and row["wall_s"] < of.horizon - 1e-6:
        assert row["steps"] == of.work_steps


def whereabouts(of: Scenario, seen: Job) -> None:
    """Each node in one place; none lost and none made."""
    assert strays(seen) == []
    fleet, spares = seen.fleet, of.fleet.spares
    bought = fleet.pools._state.next_id - fleet.places - spares.nodes - spares.borrow
    there = fleet.places + spares.nodes + spares.borrow + bought
    if fleet.coming or fleet.pools.ready > seen.env.now:  # some are on their way
        assert total(seen) - len(fleet.vacant) <= there
    else:
        assert total(seen) == there


def check_fleet(of: Scenario | None, number: int) -> None:
    """All of it, for one replication."""
    if of is None:
        return
    trace = draw_trace(of.classes, horizon=of.horizon, seed=number, replication=0, stationary=of.stationary)
    trace.stationary = of.stationary
    assert all(0.0 <= event.time <= of.horizon for event in trace.wall)
    whereabouts(of, watch(of, trace))
    row = simulate(of, seed=number, replication=0, trace=trace)
    judge(of, row)
    assert row == simulate(of, seed=number, replication=0)


@pytest.mark.timeout(240)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(of=jobs(), number=st.integers(0, 10**6))
def test_any_fleet_runs(of: Scenario | None, number: int) -> None:
    check_fleet(of, number)


@pytest.mark.long
@pytest.mark.timeout(2400)
@settings(max_examples=4000, suppress_health_check=[HealthCheck.too_slow])
@given(of=jobs(), number=st.integers(0, 10**6))
def test_any_of_many_fleets_runs(of: Scenario | None, number: int) -> None:
    check_fleet(of, number)


def test_few_fleets_are_refused() -> None:
    """Else the tests above say little."""
    found: list[bool] = []

    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
    @given(of=jobs())
    def note(of: Scenario | None) -> None:
        found.append(of is not None)

    note()
    assert sum(found) > 0.8 * len(found)
