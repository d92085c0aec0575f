"""Common random numbers: what may never be worse on the same failures, what must change nothing, and the wait itself
against an oracle that knows nothing of pools."""

from __future__ import annotations

import json
from dataclasses import replace
from heapq import heapreplace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.engine.run import simulate
from gemsim.results.ledger import LEDGER
from gemsim.scenario import Scenario
from tests.engine.small import Row, checkpoint
from tests.engine.test_properties import slower
from tests.fleet.fleet_jobs import CRAWL, GPU, KINDS, NODE, RACK, SLOW, STOP, Blow, job, play, written

NODES = 16
WIDE = {"cluster__gpus": 4 * NODES, "workload__parallel": {"tensor": 4, "data": NODES, "shard": "none"}}
CHAIN = {"again": 0.5, "gap": {"kind": "exponential", "mean": "300 s"}}
ALL_KINDS = [*KINDS, {**GPU, "name": "again", "recurrence": CHAIN}]
TIMES = (*(f"{name}_s" for name in LEDGER), "wall_s", "at_risk_s")
COUNTS = ("failures", "failures_idle", "retired", "joins_failed", "borrowed", "selections", "planned_stops", "by_tier")

Breaks = list[tuple[float, float]]
"""(when, uniform of the repair) of the nodes 0, 1, ..., each of which breaks once."""

breaks = st.lists(
    st.tuples(st.integers(1, 3999).map(float), st.integers(1, 199).map(lambda n: n / 200)),
    min_size=1, max_size=NODES, unique_by=lambda pair: pair[0],
)  # fmt: skip


def at_once(hot: int, mean: float, crews: int = 0, **more: Any) -> Scenario:
    """A job where nothing takes time but the repair and the restart: it waits exactly while it lacks a node."""
    spares = {"hot": hot, "activation": {"hot": "0 s", "warm": "0 s", "cold": "0 s"}, **more}
    law = {"kind": "exponential", "mean": f"{mean} s"}
    fleet = {"spares": spares, "repair": {"stages": [{"name": "mend", "time": law, "crews": crews}]}}
    return job(kinds=[{**NODE, "detect": "0 s"}], fleet=fleet, **WIDE)


def waits(of: Scenario, broken: Breaks) -> float:
    """Seconds that the job waited."""
    blows = [Blow("node", when, n, marks={"repair:mend": u}) for n, (when, u) in enumerate(broken)]
    return float(play(of, *blows)["waiting_s"])


def lacking(of: Scenario, broken: Breaks, hot: int, crews: int) -> float:
    """Seconds in which more nodes are in repair than there are spares: arrivals, a shift of crews, and a sum."""
    law = of.fleet.repair.stages[0].time if of.fleet.repair else None
    assert law is not None
    free, marks = [0.0] * crews, []
    for when, u in sorted(broken):
        length = float(law.quantile(u))
        start = max(when, free[0]) if crews else when
        if crews:
            heapreplace(free, start + length)
        marks += [(when, 1), (start + length, -1)]
    found, inside, last = 0.0, 0, 0.0
    for when, step in sorted(marks):
        upto = min(when, of.horizon)
        found += (upto - last) * (inside > hot)
        inside, last = inside + step, upto
    return found


@settings(max_examples=80)
@given(broken=breaks, hot=st.integers(0, 4), mean=st.sampled_from([30.0, 300.0, 1500.0]), crews=st.integers(0, 3))
def test_the_job_waits_exactly_while_it_lacks_a_node(broken: Breaks, hot: int, mean: float, crews: int) -> None:
    of = at_once(hot, mean, crews)
    assert waits(of, broken) == pytest.approx(lacking(of, broken, hot, crews), abs=1e-4)


@settings(max_examples=50)
@given(
    broken=breaks, hot=st.integers(0, 3), crews=st.integers(1, 3), mean=st.sampled_from([100.0, 900.0]),
    kind=st.sampled_from(["hot", "warm", "cold"]),
)  # fmt: skip
def test_more_of_anything_never_waits_longer(broken: Breaks, hot: int, crews: int, mean: float, kind: str) -> None:
    """A spare more of any pool, a crew more, a shorter repair."""
    base = waits(at_once(hot, mean, crews), broken)
    more = {"hot": 1 + hot} if kind == "hot" else {"hot": hot, kind: 1}
    assert waits(at_once(mean=mean, crews=crews, **more), broken) <= base + 1e-4
    assert waits(at_once(hot, mean, crews + 1), broken) <= base + 1e-4
    assert waits(at_once(hot, mean, 0), broken) <= base + 1e-4
    assert waits(at_once(hot, mean / 2, crews), broken) <= base + 1e-4


@settings(max_examples=40)
@given(broken=breaks, hot=st.integers(1, 3))
def test_spares_that_never_join_are_none(broken: Breaks, hot: int) -> None:
    of = at_once(hot, 300.0, join_fails=1.0, join_timeout="7 s")
    assert waits(of, broken) == pytest.approx(waits(at_once(0, 300.0), broken), abs=1e-4)


def check_waits() -> None:
    """The same for lists that are always the same."""
    dice = Random(11)
    for _ in range(12):
        broken = [(dice.uniform(1.0, 3000.0), dice.random()) for _ in range(NODES)]
        hot, crews = dice.randrange(3), dice.randrange(3)
        of = at_once(hot, 700.0, crews)
        assert waits(of, broken) == pytest.approx(lacking(of, broken, hot, crews), abs=1e-4)


def test_waits_of_fixed_lists() -> None:
    check_waits()


# ---------------------------------------------------------------- what changes nothing


@st.composite
def blows(draw: st.DrawFn) -> Blow:
    """One failure of any kind."""
    name = draw(st.sampled_from([str(kind["name"]) for kind in ALL_KINDS]))
    gpu = name in ("gpu", "again")
    unit = draw(st.integers(0, 15 if gpu else 3))
    uniform = st.integers(0, 999).map(lambda n: n / 1000)
    names = ("recurs", "gap", "check", "join:0", "join:1", "repair", "escalate:first", "silent:first", "misdiagnosed",
             "blamed")  # fmt: skip
    return Blow(name, draw(st.integers(0, 39_999)) / 8, unit, marks={one: draw(uniform) for one in names})


scripts = st.lists(blows(), max_size=10)
FIRST = {"name": "first", "time": {"kind": "exponential", "mean": "200 s"}, "escalate": 0.5}
SECOND = {"name": "second", "time": {"kind": "lognormal", "mean": "900 s", "sigma": 1}, "crews": 1}
FULL: dict[str, Any] = {
    "spares": {"hot": 1, "warm": 1, "cold": 1, "join_fails": 0.2, "join_timeout": "60 s", "selection": "30 s",
               "borrow": 1, "borrow_each": "300 s"},
    "repair": {"stages": [FIRST, SECOND], "misdiagnosis": 0.2, "parts": {"needed": 0.5, "stock": 1, "lead": "800 s"}},
    "retire": {"after": 3, "within": "2000 s", "restock": "500 s"},
    "checks": {"every": "1 h", "finds": 0.3},
}  # fmt: skip


def same(one: Row, other: Row) -> None:
    """Two rows that differ in nothing but the identity of the point."""
    assert {**one, "point": ""} == {**other, "point": ""}


@settings(max_examples=40)
@given(script=scripts, saved=st.booleans())
def test_rules_that_never_apply_are_none(script: list[Blow], saved: bool) -> None:
    tiers = [checkpoint()] if saved else []
    plain = {"spares": {"hot": 2}}
    row = play(job(*tiers, kinds=ALL_KINDS, fleet=plain), *script)
    never = {
        "retire": {"after": 1000, "within": "1 d"},
        "checks": {"every": "1 h", "finds": 0.0},
    }
    same(row, play(job(*tiers, kinds=ALL_KINDS, fleet={**plain, **never}), *script))
    same(row, play(job(*tiers, kinds=ALL_KINDS, fleet={"spares": {"hot": 2, "join_timeout": "1 h"}}), *script))
    same(row, play(job(*tiers, kinds=ALL_KINDS, hot=0, cluster__spare_nodes=0, fleet={**plain, "retire": {
        "score": 1000, "half_life": "1 d"}}), *script))  # fmt: skip


@settings(max_examples=20)
@given(number=st.integers(0, 10**6), share=st.sampled_from([(0.0, 9.0), (0.4, 1.0)]))
def test_lemons_that_are_none_change_nothing(number: int, share: tuple[float, float]) -> None:
    often = {**GPU, "rate": "1 / 500 s"}
    law = {"kind": "lemons", "share": share[0], "multiplier": share[1]}
    rows = [
        simulate(job(checkpoint(), kinds=[kind], hot=2), seed=number, replication=0)
        for kind in (often, {**often, "frailty": law})
    ]
    same(*rows)
    assert rows[0]["failures"] > 0


@settings(max_examples=60)
@given(script=scripts, factor=st.sampled_from([0.25, 4.0, 1024.0]), saved=st.booleans())
def test_scaling_all_times_scales_the_run(script: list[Blow], factor: float, saved: bool) -> None:
    of = job(*([checkpoint()] if saved else []), kinds=ALL_KINDS, fleet=FULL)
    row = play(of, *script)
    longer = _slower(of, factor)
    later = play(longer, *(Blow(b.name, b.time * factor, b.unit, b.bound, b.marks) for b in script))
    for name in TIMES:
        assert later[name] == pytest.approx(row[name] * factor, rel=1e-9, abs=1e-5 * factor)
    for name in COUNTS:
        assert later[name] == row[name]


def _slower(of: Scenario, factor: float) -> Scenario:
    """All times longer, those of the fleet's plans and of the classes too."""
    longer = slower(of, factor)
    assert isinstance(longer, Scenario)
    plan = of.fleet
    assert plan.retire is not None
    spares = replace(
        longer.fleet.spares, selection=plan.spares.selection * factor, borrow_each=plan.spares.borrow_each * factor,
        join_timeout=plan.spares.join_timeout * factor,
        activation=longer.fleet.spares.activation,
    )  # fmt: skip
    retire = replace(plan.retire, window=plan.retire.window * factor, restock=plan.retire.restock * factor)
    kinds = tuple(replace(k, slower=old.slower) for k, old in zip(longer.classes, of.classes, strict=True))
    return replace(longer, classes=kinds, fleet=replace(longer.fleet, spares=spares, retire=retire))


@settings(max_examples=60)
@given(script=scripts)
def test_idle_failures_of_other_jobs_and_cold_nodes_are_nobodys(script: list[Blow]) -> None:
    """Failures bound to devices that are off or elsewhere change nothing."""
    kinds = [{**one, "frailty": {"kind": "gamma", "shape": 1.0}} if one["name"] == "gpu" else one for one in KINDS]
    spares = {"hot": 0, "cold": 1, "borrow": 1, "borrow_each": "1 d", "activation": {"cold": "1 d"}}
    of = job(kinds=kinds, fleet={"spares": spares})
    script = [blow for blow in script if blow.name not in ("again", "gpu")]
    elsewhere = [Blow("gpu", 100.0 * n, 16 + n % 8, bound=True) for n in range(20)]
    quiet = [blow for blow in script if blow.name in ("link", "stop")]
    same(play(of, *quiet), play(of, *quiet, *elsewhere))


def test_the_row_of_a_script_is_the_row_of_its_trace() -> None:
    """The helpers of these tests: nothing is drawn that was not written down."""
    of = job(kinds=[NODE, RACK, SLOW, CRAWL, STOP, GPU], fleet=FULL)
    trace = written(of, Blow("gpu", 10.0, 3), Blow("slow", 200.0, 2), Blow("stop", 1000.0))
    assert [event.time for event in trace.wall] == [10.0, 200.0, 1000.0]
    rows = [simulate(of, seed=seed, replication=0, trace=trace) for seed in (1, 2)]
    assert rows[0] == rows[1]
    assert sum(json.loads(rows[0]["by_tier"]).values()) == 3
