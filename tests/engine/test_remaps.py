"""Stops of their own for row remaps (`failures.remap: now`), by hand and by what must hold.

The small job: steps of 10 s, a save of 3 s after every ten, and a page lost 4.2 s into step 24 that its stripe rebuilds
in place. The stop begins when that repair ends: save, reset, restart, restore.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from gemsim.engine.run import simulate
from gemsim.scenario import Scenario
from gemsim.scenario.remaps import own_stop, said_of_remaps
from tests.engine.ledgers import HORIZON, RESTART, check, ride
from tests.engine.small import (
    ACTIVATION,
    BLOCKED,
    COMMUNICATOR,
    DETECT,
    MEMORY,
    NODES,
    PAUSE,
    PEERS,
    READ,
    RESET,
    RETRY,
    STRIPE,
    WARMUP,
    WRITE,
    Hit,
    checkpoint,
    encode,
    recovered,
    run,
    scenario,
)
from tests.faults import must_reject, replaced
from tests.fleet.fleet_jobs import GPU, LINK, NODE, STOP, Blow, job, play

DECODE = 2**21 * 9 / 31.5e9  # reads and writes k + m pages
NEW = COMMUNICATOR + WARMUP  # of a job whose other ranks keep their memory
TIERS = (STRIPE, checkpoint())


def now(*tiers: dict[str, Any], **changes: Any) -> Scenario:
    return scenario(*tiers, **{"failures__remap": "now", **changes})


def page(of: Scenario, *, into: float = 4.2, region: str = "moments") -> Hit:
    return Hit("page", of.timeline.start(24) + into, 5, region)


def stops_alone() -> None:
    """The repair in place, then the stop: no second failure, its seconds those of the memory error."""
    of = now(*TIERS)
    hit, e = page(of), encode(of)
    row = run(of, hit)
    down = {
        "detection": DETECT, "recovery": PAUSE + DECODE + BLOCKED + READ + e, "waiting": RESET, "restart": NEW,
    }  # fmt: skip
    lives = [ride(of, hit.time), ride(of, HORIZON - hit.time - sum(down.values()))]
    check(row, lives, wasted=4.2, **down)
    assert (row["failures"], row["interruptions"], row["planned_stops"], recovered(row)) == (1, 1, 1, {"stripe": 1})
    assert row["rollbacks"] == row["fallbacks"] == row["unrecoverable"] == 0
    assert json.loads(row["by_class"]) == {"page": [1, pytest.approx(4.2 + sum(down.values()))]}
    assert (row["touch_failures"], row["touch_lost_s"]) == (1, pytest.approx(4.2 + sum(down.values())))


def test_a_repair_goes_on_into_a_stop() -> None:
    stops_alone()


@pytest.mark.parametrize("tier", [PEERS, NODES], ids=["peers", "nodes"])
def test_nothing_is_saved_where_other_gpus_hold_the_state(tier: dict[str, Any]) -> None:
    of = now(STRIPE, tier, checkpoint())
    hit, own = page(of), own_stop(of)
    assert own is not None
    assert own.save == 0.0
    restored = own.restore - of.encode_anew
    nic = next(t for t in of.tiers if hasattr(t, "nic")).nic
    shard = of.platform.memory.critical / nic
    assert restored == pytest.approx(shard if tier is PEERS else 3 * shard)  # k members into one NIC
    row = run(of, hit)
    down = {
        "detection": DETECT, "recovery": PAUSE + DECODE + restored + of.encode_anew, "waiting": RESET, "restart": NEW,
    }  # fmt: skip
    share = of.useful_share
    check(row, [ride(of, hit.time), ride(of, HORIZON - hit.time - sum(down.values()))], wasted=4.2 * share, **down)


def test_an_asynchronous_save_is_written_to_its_end() -> None:
    of = now(STRIPE, checkpoint(mode="async"))
    row = run(of, page(of))
    assert row["recovery_s"] == pytest.approx(PAUSE + DECODE + BLOCKED + WRITE + READ + encode(of))


def test_the_step_in_progress_is_given_up() -> None:
    """A retry has done a hundredth of a second again; the other 4.2 s of the step go with the stop."""
    of = now(RETRY, *TIERS)
    hit = page(of, into=4.21, region="workspace")
    row = run(of, hit)
    down = {"detection": DETECT, "recovery": PAUSE + BLOCKED + READ + encode(of), "waiting": RESET, "restart": NEW}
    check(row, [ride(of, hit.time), ride(of, HORIZON - hit.time - sum(down.values()))], wasted=4.21, **down)


def test_a_later_failure_goes_back_to_the_save_of_the_stop() -> None:
    """Version 24, not 20: 25 s after the stop two steps and a bit are lost, not four more."""
    of = now(*TIERS)
    hit, e = page(of), encode(of)
    first = DETECT + PAUSE + DECODE + BLOCKED + RESET + NEW + READ + e
    row = run(of, hit, Hit("gpu", hit.time + first + 25.0, 9))
    down = {
        "detection": 2 * DETECT, "recovery": PAUSE + DECODE + BLOCKED + 2 * (READ + e), "waiting": RESET + ACTIVATION,
        "restart": NEW + RESTART,
    }  # fmt: skip
    lives = [ride(of, hit.time), ride(of, 25.0), ride(of, HORIZON - hit.time - 25.0 - sum(down.values()))]
    check(row, lives, wasted=4.2 + lives[1][0], **down)


@pytest.mark.parametrize(("after", "version"), [(1.0, 20), (4.0, 24)], ids=["in the save", "after it"])
def test_a_failure_meanwhile_joins(after: float, version: int) -> None:
    """It takes another GPU: before the save has ended all goes back to the last one."""
    of = now(*TIERS)
    hit, e = page(of), encode(of)
    begun = DETECT + PAUSE + DECODE
    row = run(of, hit, Hit("gpu", hit.time + begun + after, 9))
    stood = {"recovery": min(after, BLOCKED), "waiting": max(0.0, after - BLOCKED)}
    down = {
        "detection": 2 * DETECT, "recovery": PAUSE + DECODE + stood["recovery"] + READ + e,
        "waiting": stood["waiting"] + ACTIVATION, "restart": RESTART,
    }  # fmt: skip
    lives = [ride(of, hit.time), ride(of, HORIZON - hit.time - sum(down.values()))]
    check(row, lives, wasted=4.2 + 10.0 * (24 - version), **down)
    assert (row["failures"], row["interruptions"], row["planned_stops"]) == (2, 2, 1)
    assert recovered(row) == {"stripe": 1, "checkpoint": 1}
    assert [count for count, _ in json.loads(row["by_class"]).values()] == [1, 1]


def test_where_the_process_dies_its_gpu_is_reset_in_that_recovery() -> None:
    """A stripe across nodes rebuilds the rank that exited; the reset is waited for, and no stop follows."""
    of = now(NODES, checkpoint(), mode="in_process")
    row = run(of, page(of))
    late = run(scenario(NODES, checkpoint(), mode="in_process"), page(of))
    assert (row["waiting_s"], late["waiting_s"], row["planned_stops"]) == (RESET, 0.0, 0)
    for column in ("detection_s", "wasted_s", "recovery_s", "restart_s"):
        assert row[column] == pytest.approx(late[column])


def test_a_gpu_without_rows_left_leaves_at_the_stop() -> None:
    """Nine rows in one bank: the ninth has no spare."""
    rows = [{**MEMORY, "name": "page", "rows": [[9, 1.0]], "rate": "1 / 1000 d", "gpus": 16, "detect": f"{DETECT} s"}]
    fleet = {"repair": {"stages": [{"name": "swap", "time": "500 s"}]}}
    of = now(RETRY, checkpoint(), failures__classes=rows, failures__remap_budget=True, fleet=fleet)
    hit = page(of, into=4.21, region="workspace")
    row = run(of, Hit("page", hit.time, 5, "workspace", marks={"bank": 0.99, "row": 0.5}))
    down = {"detection": DETECT, "recovery": PAUSE + BLOCKED + READ, "waiting": ACTIVATION, "restart": RESTART}
    check(row, [ride(of, hit.time), ride(of, HORIZON - hit.time - sum(down.values()))], wasted=4.21, **down)


def test_without_a_way_back_the_remap_waits() -> None:
    """A stripe alone: a stop would end the job, so none is made, and that is said."""
    of = now(STRIPE)
    late, row = run(scenario(STRIPE), page(of)), run(of, page(of))
    assert {**row, "point": ""} == {**late, "point": ""}
    assert "no tier could bring the job back" in said_of_remaps(of)[0]


PAGE = {"name": "page", **MEMORY, "rate": "1 / 1000 d", "gpus": 16, "detect": f"{DETECT} s"}


def test_what_is_said_beforehand() -> None:
    """3 s to save, 11 to reset, 8 to restart, 6 to read and one to encode."""
    spent = f"29 s (save 3 s, reset 11 s, restart 8 s, checkpoint {READ + encode(now(*TIERS)):.4g} s)"
    late, soon = "Row remaps: at the next restart (remap: defer); one of its own would cost", "each costs"
    assert said_of_remaps(scenario(*TIERS)) == [f"{late} {spent}"]
    assert said_of_remaps(now(*TIERS)) == [f"Row remaps: by a stop of their own (remap: now); {soon} {spent}"]
    assert said_of_remaps(now(*TIERS, mode="all_processes")) == []
    assert "within each recovery" in said_of_remaps(now(*TIERS, mode="in_process"))[0]
    assert said_of_remaps(now(*TIERS, failures__classes=[GPU])) == []


SOFT = [GPU, LINK, NODE, {**PAGE, "action": "restart_app"}]
LIMITS = {
    "no memory errors": ((STRIPE, checkpoint()), "in_place", [GPU, LINK, NODE]),
    "nothing to remap": ((RETRY, STRIPE, checkpoint()), "in_place", SOFT),
    "every restart refills memory": ((STRIPE, checkpoint()), "all_processes", None),
}


def often(*tiers: dict[str, Any], remap: str, mode: str, kinds: list[dict[str, Any]] | None = None) -> Scenario:
    """A run of five hours in which each class strikes about six times."""
    more = {"run__horizon": "20000 s", "failures__scale": 3e4}
    if kinds is not None:
        more["failures__classes"] = kinds
    return scenario(*tiers, mode=mode, failures__remap=remap, **more)


@pytest.mark.parametrize("name", LIMITS)
def test_where_no_remap_is_left_pending_both_are_one(name: str) -> None:
    tiers, mode, kinds = LIMITS[name]
    late, soon = (often(*tiers, remap=remap, mode=mode, kinds=kinds) for remap in ("defer", "now"))
    assert late.id != soon.id
    for number in range(8):
        rows = [simulate(of, seed=4, replication=number) for of in (late, soon)]
        assert rows[0]["failures"] > 5
        assert {**rows[0], "point": ""} == {**rows[1], "point": ""}


def test_defer_is_what_was_there_before() -> None:
    """The key at its default leaves a point's identity alone."""
    assert scenario(*TIERS).id == scenario(*TIERS, failures__remap="defer").id


def a_node_takes_its_rows_along() -> None:
    """A page of node 1 is rebuilt in place, then node 1 leaves and peers bring its ranks back: nothing is left to
    reset, neither by a stop of its own nor at the next roll-back."""
    tiers = (STRIPE, PEERS, checkpoint())
    of = now(*tiers)
    hit = page(of)
    assert run(of, hit, Hit("node", hit.time + 1.0, 1))["planned_stops"] == 0
    late = scenario(*tiers, run__horizon="9000 s", restart__reset="40 s")
    after = (Hit("node", 1004.0, 1), Hit("software", 3000.0, 9))
    assert run(late, page(late), *after)["waiting_s"] == run(late, *after)["waiting_s"]


def test_a_node_takes_its_rows_along() -> None:
    a_node_takes_its_rows_along()


def test_rows_that_stay_with_the_place_are_noticed() -> None:
    must_reject(
        a_node_takes_its_rows_along,
        replaced("gemsim.engine.job:Job._remap_waits", lambda _: lambda job: bool(job.remaps)),
    )


def test_a_planned_stop_that_joins_keeps_the_wasted_below_the_cost() -> None:
    """What stops on purpose lose is left out of both."""
    error = {"name": "mem", **MEMORY, "gpus": 16, "rate": "1 / 1000 d", "detect": f"{DETECT} s"}
    of = job(STRIPE, checkpoint(), kinds=[error, STOP], mode="in_place", failures__remap="now")
    hit = Blow("mem", 1000.0, 5, marks={"contained": 0.0, "region": 0.0, "place": 0.3})
    row = play(of, hit, Blow("stop", 1012.0))
    assert row["planned_stops"] == 2
    assert row["wasted_failures_s"] <= row["cost_failures_s"]
