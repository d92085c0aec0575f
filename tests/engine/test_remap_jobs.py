"""Stops of their own for row remaps: any job, what must hold beside `defer`, and planted faults."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gemsim.engine.job import Job
from gemsim.engine.run import simulate
from gemsim.errors import GemsimError
from gemsim.failures.trace import draw_trace
from gemsim.protection.damage import Damage
from gemsim.scenario import Scenario
from tests.engine.small import (
    MEMORY,
    NODES,
    PEERS,
    RETRY,
    STRIPE,
    Row,
    checkpoint,
)
from tests.engine.test_remaps import PAGE, TIERS, often, stops_alone
from tests.faults import must_reject, replaced
from tests.fleet.fleet_jobs import GPU, LINK, NODE, SLOW, STOP, job, watch
from tests.fleet.test_fleet_fuzz import judge, whereabouts
from tests.oracle.test_slow_engine import check_remap_worlds

FUZZED: tuple[tuple[dict[str, Any], ...], ...] = (
    TIERS,
    (RETRY, STRIPE, checkpoint(mode="async")),
    (RETRY, STRIPE, PEERS, checkpoint("cpu_memory", name="near", interval="30 s"), checkpoint(name="far")),
    (RETRY, STRIPE, NODES, checkpoint("disk", name="disk")),
    (STRIPE, {**NODES, "stripe": {**NODES["stripe"], "cadence": 3}}, checkpoint()),
    (STRIPE, {**NODES, "stripe": {**NODES["stripe"], "cadence": 3, "copy": "snapshot"}}),
    ({"replica_group": {"stall": "8 s", "catch_up": "5 s"}}, STRIPE, checkpoint()),
    (STRIPE, {"replica_group": {"stall": "8 s", "catch_up_stall": "30 s"}}),
    (STRIPE, {"peer_copy": {"via": "store"}}, checkpoint()),
)
ROWS_9 = {"name": "nine", **MEMORY, "detect": "1 s", "gpus": 16, "rows": [[1, 0.5], [9, 0.5]]}
ONE = {"name": "one", **MEMORY, "detect": "20 s", "gpus": 16, "lands": "critical"}
LATE = {"name": "late", **MEMORY, "detect": "1 s", "gpus": 16, "latent": {"share": 0.7, "read": "200 s"}}
HELD = {"name": "link", "scope": "link", "gpus": 16, "detect": "5 s", "action": "drain_and_reset"}


@st.composite
def jobs(draw: st.DrawFn) -> Scenario | None:
    """Any job with memory errors beside other failures; None where the study is refused with a message."""
    kinds = []
    for base in (ONE, ROWS_9, LATE, HELD, GPU, SLOW, STOP):
        if base is ONE or draw(st.booleans()):
            rate = draw(st.sampled_from(["1 / 100 s", "1 / 400 s", "1 / 1 h"]))
            kinds.append({**base, "rate": rate, **({"contained": 0.8} if "contained" in base else {})})
    fleet: dict[str, Any] = {"repair": {"stages": [{"name": "swap", "time": "300 s"}]}, "spares": {"hot": 2}}
    fleet["repair"]["misdiagnosis"] = draw(st.sampled_from([0.0, 0.3]))
    tiers = draw(st.sampled_from(FUZZED))
    if not any("replica_group" in tier for tier in tiers):
        fleet["spares"]["short"] = draw(st.sampled_from(["wait", "wait", "shrink"]))
    mode = draw(st.sampled_from(["in_place", "in_place", "holder", "in_process", "all_processes"]))
    changes: dict[str, Any] = {"failures__remap_budget": draw(st.booleans()), "failures__remap": "now"}
    changes["cluster__replace"] = draw(st.sampled_from(["gpu", "node"]))
    try:
        return job(*tiers, kinds=kinds, fleet=fleet, mode=mode, run={"horizon": "4000 s"}, **changes)
    except (ValueError, GemsimError):
        return None


def check_job(of: Scenario | None, number: int) -> None:
    """Ledgers close, costs add up, no node is lost, and what is served is served."""
    if of is None:
        return
    trace = draw_trace(of.classes, horizon=of.horizon, seed=number, replication=0, stationary=of.stationary)
    trace.stationary = of.stationary
    seen = watch(of, trace)
    whereabouts(of, seen)
    judge(of, simulate(of, seed=number, replication=0, trace=trace))


@pytest.mark.timeout(240)
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(of=jobs(), number=st.integers(0, 10**6))
def test_any_job_runs(of: Scenario | None, number: int) -> None:
    check_job(of, number)


def pending(of: Scenario, number: int) -> list[int]:
    """Remaps that wait each time that the job runs on, up to the horizon."""
    found: list[int] = []

    def noted(original: Any) -> Any:
        def recover(self: Job, strike: Any) -> Any:
            yield from original(self, strike)
            if self.now < of.horizon:
                found.append(len(self.remaps))

        return recover

    with replaced("gemsim.engine.job:Job._recover", noted):
        simulate(of, seed=number, replication=0)
    return found


def none_waits() -> None:
    """Metamorphic: `now` runs on with nothing pending, where `defer` does; on the same failures."""
    waited = 0
    for number in range(6):
        how: dict[str, Any] = {"mode": "in_place", "kinds": [PAGE, GPU, LINK, NODE]}
        late, soon = (often(RETRY, *TIERS, remap=remap, **how) for remap in ("defer", "now"))
        assert set(pending(soon, number)) == {0}
        waited += max(pending(late, number)) > 0
        rows: list[Row] = [simulate(of, seed=number, replication=0) for of in (late, soon)]
        assert rows[0]["planned_stops"] == 0 < rows[1]["planned_stops"]
        assert rows[0]["failures"] == rows[1]["failures"]  # all strike on the clock of the wall
    assert waited > 3


def test_now_leaves_no_remap_pending() -> None:
    none_waits()


def forgotten() -> AbstractContextManager[None]:
    """The stop is made, and the remap stays pending."""

    def make(original: Any) -> Any:
        def serve(self: Job) -> Any:
            before = self.remaps
            if before and self.scenario.remap_now:
                yield from original(self)
                self.remaps = before

        return serve

    return replaced("gemsim.engine.job:serve_remaps", make)


def nothing_lost() -> AbstractContextManager[None]:
    """A reset that leaves the GPU's memory as it is: nothing has to be saved."""

    def make(original: Any) -> Any:
        return lambda scenario, gpus, **worn: Damage(alive=False, restart="in_process")

    return replaced("gemsim.engine.remaps:reset_of", make)


def never_saved() -> AbstractContextManager[None]:
    """The stop goes back to whatever is there."""

    def make(original: Any) -> Any:
        def way(*given: Any) -> Any:
            found = original(*given)
            return found and replace(found, saver=None)

        return way

    return replaced("gemsim.engine.remaps:way_back", make)


def no_reset_where_the_process_died() -> AbstractContextManager[None]:
    return replaced("gemsim.engine.strike:served_at_once", lambda original: lambda damage: False)


def counted_as_planned() -> AbstractContextManager[None]:
    """The save before a stop is booked as that before a planned stop."""
    return replaced("gemsim.engine.recovery:Recovery._booked", lambda original: lambda self, down: down)


FAULTS = [
    (forgotten, none_waits),
    (nothing_lost, stops_alone),
    (counted_as_planned, stops_alone),
    (nothing_lost, check_remap_worlds),
    (no_reset_where_the_process_died, check_remap_worlds),
    (never_saved, stops_alone),
    (never_saved, check_remap_worlds),
]


@pytest.mark.parametrize(("fault", "check"), FAULTS)
def test_planted(fault: Any, check: Any) -> None:
    must_reject(check, fault())
