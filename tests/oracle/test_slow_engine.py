"""The engine against the slow engine, second by second, on scripted failures."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemsim.engine.run import simulate
from tests.oracle.slow_engine import SlowJob
from tests.oracle.worlds import ENOUGH, World, make_world, remap_world

COLUMNS = ("productive", "overhead", "detection", "wasted", "recovery", "restart", "waiting")


def check_world(seed: int) -> None:
    check(make_world(seed))


def check(world: World) -> None:
    """Same seconds in every column, same failures, same tiers credited.

    While a spare is awaited the split between detection and waiting is left open: of two plans that both last until
    it is there, either may be the longer.
    """
    row = simulate(world.scenario, seed=0, replication=0, trace=world.trace())
    slow = SlowJob(world.setup())
    slow.run()
    ours, theirs = {c: row[f"{c}_s"] for c in COLUMNS}, {c: slow.seconds[c] for c in COLUMNS}
    if world.scenario.spare_nodes < ENOUGH:
        for seconds in (ours, theirs):
            seconds["waiting"] += seconds.pop("detection")
    assert ours == pytest.approx(theirs, abs=1e-6)
    assert (row["failures"], row["planned_stops"]) == (slow.failures, slow.stops)
    assert json.loads(row["by_tier"]) == slow.recovered_by


@settings(max_examples=1000)
@given(seed=st.integers(0, 10**9))
def test_engine_is_the_slow_engine(seed: int) -> None:
    check_world(seed)


def check_worlds() -> None:
    """A fixed set of worlds, for the planted faults."""
    for seed in range(600):
        check_world(seed)


def test_fixed_worlds() -> None:
    check_worlds()


@settings(max_examples=400)
@given(seed=st.integers(0, 10**9))
def test_stops_for_row_remaps_are_those_of_the_slow_engine(seed: int) -> None:
    check(remap_world(seed))


def check_remap_worlds() -> None:
    """A fixed set of worlds with stops of their own for row remaps, for the planted faults."""
    for seed in range(200):
        check(remap_world(seed))


def test_fixed_remap_worlds() -> None:
    check_remap_worlds()
