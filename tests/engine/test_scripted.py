"""Written failures with timelines worked out by hand, every ledger column to a microsecond: when they strike.

The job saves after every ten steps of 10 s, which blocks it for 3 s: saves end at 103, 206, 309 ... s.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from gemsim.engine.run import simulate
from gemsim.scenario import Scenario
from tests.engine.ledgers import DOWN, HORIZON, REMOTE, RESTART, check, ride
from tests.engine.small import (
    ACTIVATION,
    COMMUNICATOR,
    DETECT,
    PAUSE,
    READ,
    REBOOT,
    REPAIR,
    RESET,
    RETRY,
    STRIPE,
    WARMUP,
    Hit,
    Row,
    checkpoint,
    encode,
    expect,
    recovered,
    run,
    scenario,
    script,
)

ASYNC = scenario(checkpoint(mode="async"), mode="all_processes")
INSIDE = scenario(RETRY, STRIPE, checkpoint())
HOLDER = scenario(RETRY, STRIPE, checkpoint(), mode="holder")


def test_without_failures_the_sum_is_arithmetic() -> None:
    expect(run(REMOTE), productive=4856.0, overhead=144.0)  # 48 cycles of 103 s, then 56 s of work
    row = run(INSIDE)
    expect(row, **dict(zip(("productive", "overhead"), ride(INSIDE, HORIZON), strict=True)))
    assert (row["steps"], row["failures"], row["unrecoverable"]) == (442, 0, 0)
    assert json.loads(row["overhead_by_tier"]) == pytest.approx({"checkpoint": 132.0, "stripe": 442 * encode(INSIDE)})


def test_nothing_protects_and_nothing_fails() -> None:
    expect(run(scenario()), productive=HORIZON)


def test_a_failure_within_a_step() -> None:
    row = run(REMOTE, Hit("gpu", 250.0, 5))  # version 24 and 4 s; 20 was saved
    expect(row, productive=4770.0, overhead=141.0, wasted=44.0, detection=4.0, waiting=20.0, restart=15.0, recovery=6.0)
    assert row["failures"] == 1
    assert row["steps"] == 477
    assert recovered(row) == {"checkpoint": 1}
    assert json.loads(row["by_class"]) == {"gpu": [1, 89.0]}


@pytest.mark.parametrize(
    ("name", "waits"), [("reset_gpu", RESET), ("reboot", REBOOT), ("link", 0.0), ("software", 0.0)]
)
def test_each_action_has_its_own_wait(name: str, waits: float) -> None:
    row = run(REMOTE, Hit(name, 250.0, 1))
    down = {"detection": DETECT, "waiting": waits, "restart": RESTART, "recovery": READ}
    check(row, [ride(REMOTE, 250.0), ride(REMOTE, 4750.0 - sum(down.values()))], wasted=44.0, **down)


@pytest.mark.parametrize(
    ("mode", "name", "restart", "held"),
    [
        ("in_process", "reset_gpu", COMMUNICATOR + WARMUP, False),
        ("in_process", "gpu", RESTART, False),  # a process on the replaced node
        ("in_process", "reboot", RESTART, False),
        ("in_process", "link", COMMUNICATOR + WARMUP, True),
        ("in_place", "link", COMMUNICATOR + WARMUP, True),
        ("holder", "link", RESTART, True),
        ("holder", "software", RESTART, True),
    ],
)
def test_each_mode_pays_for_its_restart(mode: str, name: str, restart: float, held: bool) -> None:
    row = run(scenario(checkpoint(), mode=mode), Hit(name, 250.0, 1))
    assert row["restart_s"] == pytest.approx(restart)
    assert row["wasted_s"] == pytest.approx(4.0 if held else 44.0)  # only the unfinished step where the state is held
    assert row["recovery_s"] == pytest.approx(0.0 if held else READ)


def test_in_the_update_of_a_step() -> None:
    when, e = INSIDE.timeline.start(24) + 9.5, encode(INSIDE)
    row = run(INSIDE, Hit("page", when, 5, "moments"))
    down = {"detection": DETECT, "recovery": PAUSE + READ + e}  # all ranks live; parity is made anew
    check(row, [ride(INSIDE, when), ride(INSIDE, HORIZON - when - sum(down.values()))], wasted=49.5, **down)
    assert row["fallbacks"] == 1


def test_in_the_stall_of_an_encode() -> None:
    when, e = HOLDER.timeline.start(24) + 10.25, encode(HOLDER)
    row = run(HOLDER, Hit("page", when, 5, "moments"))
    down = {"detection": DETECT, "waiting": RESET, "restart": RESTART, "recovery": READ + e}  # the row is remapped too
    check(row, [ride(HOLDER, when), ride(HOLDER, HORIZON - when - sum(down.values()))], wasted=50.0, **down)
    assert ride(HOLDER, when)[1] == pytest.approx(24 * e + 2 * 3.0 + 0.25)


def test_in_the_stall_of_a_save() -> None:
    row = run(REMOTE, Hit("gpu", 205.0, 5))  # 1 s short: that save never was
    down = {"detection": DETECT, "waiting": ACTIVATION, "restart": RESTART, "recovery": READ}
    check(row, [(200.0, 5.0), ride(REMOTE, 4795.0 - DOWN)], wasted=100.0, **down)


@pytest.mark.parametrize(("when", "version"), [(205.0, 10), (245.9, 10), (246.1, 20)])
def test_while_an_asynchronous_write_is_under_way(when: float, version: int) -> None:
    """The copy counts from the end of blocking (206 s) + 40 s."""
    row = run(ASYNC, Hit("gpu", when, 5))
    work = ride(ASYNC, when)
    down = {"detection": DETECT, "waiting": ACTIVATION, "restart": RESTART, "recovery": READ}
    check(row, [work, ride(ASYNC, HORIZON - when - DOWN)], wasted=work[0] - 10.0 * version, **down)


@pytest.mark.parametrize("tiers", [[RETRY], []], ids=["micro-batch", "step"])
@pytest.mark.parametrize(("second", "version"), [(245.0, 10), (247.0, 20)])
def test_a_write_goes_on_during_a_repair_in_place(tiers: list[dict[str, Any]], second: float, version: int) -> None:
    """A redo to the very end of the save (step 21 again from its start) must not undo the save."""
    of = scenario(*tiers, checkpoint(mode="async"))
    row = run(of, Hit("page", 209.3, 5, "activations"), Hit("gpu", second, 5))
    redo = 0.3 if tiers else 3.3
    lived = second - DETECT - PAUSE  # running seconds, those done again included
    worked = ride(of, lived - redo)[0]
    assert row["wasted_s"] == pytest.approx(redo + worked - 10.0 * version, abs=1e-6)
    assert row["recovery_s"] == pytest.approx(PAUSE + READ)


def test_a_second_failure_starts_the_recovery_again() -> None:
    row = run(REMOTE, Hit("gpu", 250.0, 5), Hit("gpu", 270.0, 9))
    down = {"detection": 8.0, "waiting": 16.0 + 20.0, "restart": RESTART, "recovery": READ}
    check(row, [(240.0 + 4.0, 6.0), ride(REMOTE, HORIZON - 270.0 - DOWN)], wasted=44.0, **down)
    assert (row["failures"], recovered(row)) == (2, {"checkpoint": 2})


def test_a_second_failure_never_shortens_a_recovery() -> None:
    """The link alone would take 25 s; the replacement's 45 s start again."""
    row = run(REMOTE, Hit("gpu", 250.0, 5), Hit("link", 285.0, 1))
    down = {"detection": 8.0, "waiting": 40.0, "restart": 11.0 + RESTART, "recovery": READ}
    check(row, [(244.0, 6.0), ride(REMOTE, HORIZON - 285.0 - DOWN)], wasted=44.0, **down)


def test_a_longer_second_recovery_replaces_the_first() -> None:
    row = run(REMOTE, Hit("link", 250.0, 1), Hit("gpu", 260.0, 5))
    down = {"detection": 8.0, "waiting": 20.0, "restart": 6.0 + RESTART, "recovery": READ}
    check(row, [(244.0, 6.0), ride(REMOTE, HORIZON - 260.0 - DOWN)], wasted=44.0, **down)


def test_a_second_failure_may_take_the_version_being_restored() -> None:
    """Nodes 0 and 1 hold each other's copies."""
    of = scenario(checkpoint("cpu_memory"), mode="all_processes")
    row = run(of, Hit("node", 250.0, 0), Hit("node", 270.0, 1))
    assert (row["unrecoverable"], recovered(row)) == (1, {"start": 2})
    assert row["wasted_s"] == pytest.approx(244.0)


@pytest.mark.parametrize(("second", "version"), [(390.0, 0), (410.0, 30)])
def test_copies_are_fewer_until_the_next_save(second: float, version: int) -> None:
    """Node 0 goes at 250; the job runs again at 295 and saves until 398."""
    of = scenario(checkpoint("cpu_memory"), mode="all_processes")
    row = run(of, Hit("node", 250.0, 0), Hit("node", second, 1))
    worked = 200.0 + ride(of, second - 295.0)[0]
    assert row["wasted_s"] == pytest.approx(44.0 + worked - 10.0 * version)
    assert row["unrecoverable"] == (version == 0)


def test_a_disk_goes_with_its_node_and_stays_through_a_reboot() -> None:
    of = scenario(
        checkpoint("disk", name="disk"), checkpoint(name="store", interval="200 s", read="25 s"), mode="holder"
    )
    stalls = of.timeline.stalls
    assert [(s.every, s.seconds) for s in stalls] == [(10, 3.0), (20, 3.0)]
    assert recovered(run(of, Hit("node", 350.0, 1))) == {"store": 1}
    assert recovered(run(of, Hit("reboot", 350.0, 1))) == {"disk": 1}
    row = run(of, Hit("node", 350.0, 1))  # saves of both end at 209, the disk's next at 312
    assert row["wasted_s"] == pytest.approx(100.0 + 38.0)
    assert row["recovery_s"] == pytest.approx(25.0)
    assert row["fallbacks"] == 0  # a disk does not cover the loss of its node


def idle_failure(of: Scenario, when: float, spare: int, *hits: Hit) -> Row:
    """The run with one more failure: of a GPU in that spare node."""
    trace = script(of, *hits, Hit("gpu", when, 16 + 4 * spare))
    assert of.classes[next(e.index for e in trace.wall if e.unit >= 16)].name == "gpu"
    return simulate(of, seed=0, replication=0, trace=trace)


def test_a_failure_of_an_idle_spare_only_changes_the_pool() -> None:
    row = idle_failure(REMOTE, 100.0, 3)
    expect(row, productive=4856.0, overhead=144.0)
    assert (row["failures"], row["failures_idle"]) == (0, 1)


def test_a_job_without_spares_waits_for_the_repair() -> None:
    none = scenario(checkpoint(), mode="all_processes", cluster__spare_nodes=0)
    waits = ACTIVATION + REPAIR - DETECT  # the spare's activation begins when it is back
    row = run(none, Hit("gpu", 250.0, 5))
    down = {"detection": DETECT, "waiting": waits, "restart": RESTART, "recovery": READ}
    check(row, [(244.0, 6.0), ride(none, 4750.0 - sum(down.values()))], wasted=44.0, **down)


def test_a_failure_while_waiting_for_a_repair_does_not_make_it_longer() -> None:
    none = scenario(checkpoint(), mode="all_processes", cluster__spare_nodes=0)
    alone = run(none, Hit("gpu", 250.0, 5))
    twice = run(none, Hit("gpu", 250.0, 5), Hit("link", 400.0, 2))
    assert twice["productive_s"] == pytest.approx(alone["productive_s"])
    assert twice["waiting_s"] == pytest.approx(alone["waiting_s"] - DETECT)  # detection is booked once more
    assert twice["detection_s"] == pytest.approx(2 * DETECT)


def test_the_last_spare_may_fail_before_it_is_needed() -> None:
    one = scenario(checkpoint(), mode="all_processes", cluster__spare_nodes=1)
    row = idle_failure(one, 240.0, 0, Hit("gpu", 250.0, 5))
    assert row["failures_idle"] == 1
    assert row["waiting_s"] == pytest.approx(240.0 + REPAIR - 250.0 - DETECT + ACTIVATION)


def test_only_spares_that_are_idle_fail() -> None:
    """Two of the three spares are in use from 250 s on: one slot of three still counts."""
    three = scenario(checkpoint(), mode="all_processes", cluster__spare_nodes=3)
    hits = (Hit("gpu", 250.0, 5), Hit("gpu", 320.0, 9))
    found = [idle_failure(three, 400.0, spare, *hits)["failures_idle"] for spare in range(3)]
    assert found == [1, 0, 0]
    assert idle_failure(three, 900.0, 2, *hits)["failures_idle"] == 1  # all repaired


def test_a_roll_back_ends_the_writes_under_way() -> None:
    """All ranks live and roll back at 240: what was being written until 246 belongs to the work that is given up."""
    of = scenario(checkpoint(mode="async"))
    pages = (Hit("page", 240.0, 5), Hit("page", 247.0, 5))
    assert run(of, *pages)["wasted_s"] == pytest.approx(134.0)
    row = run(of, *pages, Hit("gpu", 290.0, 5))
    down = {"detection": 3 * DETECT, "waiting": ACTIVATION, "restart": RESTART, "recovery": 3.0 + 8.0 + READ}
    check(row, [(234.0, 6.0), (31.0, 0.0), ride(of, HORIZON - 290.0 - DOWN)], wasted=165.0, **down)
