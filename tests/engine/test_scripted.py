"""Written failures with timelines worked out by hand: every ledger column to a microsecond.

The job saves after every ten steps of 10 s, which blocks it for 3 s: saves end at 103, 206, 309 ... s.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from gemsim.engine.run import simulate
from gemsim.failures.trace import Event
from gemsim.protection.timeline import Stall
from gemsim.scenario import Scenario
from tests.engine.small import (
    ACTIVATION,
    COMMUNICATOR,
    DETECT,
    NODES,
    PAUSE,
    PROCESS,
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

HORIZON = 5000.0
RESTART = PROCESS + COMMUNICATOR + WARMUP
DOWN = DETECT + ACTIVATION + RESTART + READ  # of a replaced node that comes back from the checkpoint: 45 s


def ride(of: Scenario, seconds: float, *, first: int | None = None) -> tuple[float, float]:
    """(work, overhead) of a life that runs so long, step by step; `first` = its first save, where not by the interval."""
    worked = spent = 0.0
    steps = 0
    while True:
        piece = min(of.timeline.step, seconds)
        worked += piece * of.useful_share
        spent += piece * (1.0 - of.useful_share)
        seconds -= piece
        steps += 1
        for stall in of.timeline.stalls:
            if _stalls(stall, steps, first):
                piece = min(stall.seconds, seconds)
                spent += piece
                seconds -= piece
        if seconds <= 0.0:
            return worked, spent


def _stalls(stall: Stall, steps: int, first: int | None) -> bool:
    begin = stall.every if first is None or stall.every == 1 else first
    return steps >= begin and (steps - begin) % stall.every == 0


def check(row: Row, lives: list[tuple[float, float]], *, wasted: float, **down: float) -> None:
    """The ledger from the (work, overhead) of each life and what was lost and spent between them."""
    worked, spent = (sum(life[i] for life in lives) for i in (0, 1))
    expect(row, productive=worked - wasted, overhead=spent, wasted=wasted, **down)
    assert row["cost_failures_s"] == pytest.approx(wasted + sum(down.values()), abs=1e-6)
    assert row["wasted_failures_s"] == pytest.approx(wasted + down.get("recovery", 0.0), abs=1e-6)


REMOTE = scenario(checkpoint(), mode="all_processes")
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


@pytest.mark.parametrize(("name", "waits"), [("reset_gpu", RESET), ("reboot", REBOOT), ("link", 0.0), ("software", 0.0)])
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
    of = scenario(checkpoint("disk", name="disk"), checkpoint(name="store", interval="200 s", read="25 s"), mode="holder")
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
    twice = run(none, Hit("gpu", 250.0, 5), Hit("link", 400.0, 1))
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


SILENT = Hit("silent", 250.0, 5)  # found 300 s later, at 550: version 53 and 5 s


def test_a_corruption_rolls_back_past_the_saves_made_meanwhile() -> None:
    row = run(REMOTE, SILENT)
    down = {"waiting": ACTIVATION, "restart": RESTART, "recovery": READ}
    check(row, [ride(REMOTE, 550.0), ride(REMOTE, 4450.0 - sum(down.values()))], wasted=335.0, **down)
    assert (row["failures"], recovered(row)) == (1, {"checkpoint": 1})


@pytest.mark.parametrize(
    ("keep", "wasted"), [(2, 535.0), (3, 535.0), (4, 335.0), ("320 s", 535.0), ("350 s", 335.0), ("7 d", 335.0)]
)
def test_a_corruption_older_than_all_that_is_kept_ends_at_the_start(keep: object, wasted: float) -> None:
    """Held at 550: versions 50, 40, 30 (bad) and 20, captured at 203."""
    row = run(scenario(checkpoint(keep=keep), mode="all_processes"), SILENT)
    assert row["wasted_s"] == pytest.approx(wasted)
    assert row["unrecoverable"] == (wasted == 535.0)
    assert row["fallbacks"] == (wasted == 535.0)


def test_the_newest_copy_is_kept_however_old() -> None:
    row = run(scenario(checkpoint(keep="20 s"), mode="all_processes"), Hit("gpu", 250.0, 5))
    assert recovered(row) == {"checkpoint": 1}


def test_a_roll_back_past_a_corruption_removes_it() -> None:
    row = run(REMOTE, SILENT, Hit("gpu", 260.0, 5))
    assert recovered(row) == {"checkpoint": 1}
    assert row["wasted_s"] == pytest.approx(54.0)


def test_a_roll_back_to_a_corrupt_save_leaves_the_corruption() -> None:
    """Version 30 was captured at 306; the job runs again at 365 and the corruption is found at 550, at version 47."""
    row = run(REMOTE, SILENT, Hit("gpu", 320.0, 5))
    assert recovered(row) == {"checkpoint": 2}
    first, second = ride(REMOTE, 320.0), ride(REMOTE, 550.0 - 365.0)
    wasted = 11.0 + (300.0 + second[0] - 200.0)
    down = {"detection": DETECT, "waiting": 2 * ACTIVATION, "restart": 2 * RESTART, "recovery": 2 * READ}
    check(row, [first, second, ride(REMOTE, HORIZON - 550.0 - 41.0)], wasted=wasted, **down)


def test_software_fails_on_the_clock_of_running_time() -> None:
    row = run(REMOTE, Hit("gpu", 250.0, 5), Hit("software", 300.0))  # at 345 of the wall: 50 s into the second life
    down = {"detection": 8.0, "waiting": ACTIVATION, "restart": 2 * RESTART, "recovery": 2 * READ}
    check(row, [(244.0, 6.0), (50.0, 0.0), ride(REMOTE, HORIZON - 345.0 - 25.0)], wasted=94.0, **down)


GRANULES = [  # step 24 of ten seconds, 4.21 s in: micro-batches of 1 s, layers of 0.25 s, kernels of 0.025 s
    ("kernel", "workspace", 0.01),
    ("layer", "workspace", 0.21),
    ("microbatch", "workspace", 0.21),
    ("step", "workspace", 4.21),
    ("mixed", "workspace", 0.01),
    ("kernel", "activations", 0.21),
    ("mixed", "activations", 0.21),
    ("step", "activations", 4.21),
    ("kernel", "gradients", 4.21),
    ("mixed", "buffers", 4.21),
    ("mixed", "moments", 0.01),
    ("step", "weights", 4.21),
]


@pytest.mark.parametrize(("granularity", "region", "redo"), GRANULES)
def test_a_repair_in_place_does_one_granule_again(granularity: str, region: str, redo: float) -> None:
    of = scenario({"retry": {"granularity": granularity}}, STRIPE, checkpoint())
    when = of.timeline.start(24) + 4.21
    row = run(of, Hit("page", when, 5, region))
    decode = 2**21 * 9 / 31.5e9 if region in ("moments", "weights") else 0.0  # reads and writes k + m pages
    down = {"detection": DETECT, "recovery": PAUSE + decode}
    if region == "buffers":
        down["restart"] = COMMUNICATOR
    # The life goes on: the step in progress loses the granule and the saves stay where they are.
    lived = HORIZON - sum(down.values())
    check(row, [ride(of, lived - redo), (redo, 0.0)], wasted=redo, **down)
    assert recovered(row) == {"stripe" if decode else "retry": 1}


def test_a_snapshot_rolls_back_to_its_own_version() -> None:
    """Cadence 4 in a holder: version 24 from version 26; no reset there, which would clear the snapshot."""
    of = scenario({"stripe": {**STRIPE["stripe"], "cadence": 4, "copy": "snapshot"}}, mode="holder")
    when = of.timeline.start(26) + 4.2
    row = run(of, Hit("page", when, 5, "moments"))
    decode, e = 2**21 * 9 / 31.5e9, encode(of)
    down = {"detection": DETECT, "restart": RESTART, "recovery": decode + e}
    check(row, [ride(of, when), ride(of, HORIZON - when - sum(down.values()))], wasted=24.2, **down)


def test_a_stale_parity_in_place_falls_to_the_next_tier() -> None:
    of = scenario(RETRY, {"stripe": {**STRIPE["stripe"], "cadence": 4}}, checkpoint())
    when = of.timeline.start(26) + 4.2
    row = run(of, Hit("page", when, 5, "moments"))
    assert recovered(row) == {"checkpoint": 1}
    assert row["wasted_s"] == pytest.approx(64.2)
    assert row["recovery_s"] == pytest.approx(PAUSE + READ + encode(of))
    fresh = run(of, Hit("page", of.timeline.start(24) + 4.21, 5, "moments"))
    assert recovered(fresh) == {"stripe": 1}
    assert fresh["wasted_s"] == pytest.approx(0.01)


def test_an_overlapped_encode_slows_every_step() -> None:
    of = scenario({"stripe": {**STRIPE["stripe"], "encode": "overlap"}}, NODES)
    row = run(of)
    worked, spent = ride(of, HORIZON)
    expect(row, productive=worked, overhead=spent)
    slower = of.tiers[0].overhead().slower
    assert of.timeline.step == pytest.approx(10.0 + slower)
    by_tier = json.loads(row["overhead_by_tier"])
    assert by_tier["stripe"] == pytest.approx(worked / 10.0 * slower)
    assert by_tier["nodes"] == pytest.approx(spent - by_tier["stripe"])


def test_a_lost_node_is_rebuilt_across_nodes() -> None:
    of = scenario(NODES, checkpoint(), mode="in_process")
    when, e = of.timeline.start(24) + 4.2, encode(of, "nodes")
    row = run(of, Hit("node", when, 1))
    rebuild = 3 * 28e9 / 50e9  # k times the coded bytes into one NIC
    down = {"detection": DETECT, "waiting": ACTIVATION, "restart": RESTART, "recovery": rebuild + e}
    first, second = ride(of, when), ride(of, HORIZON - when - sum(down.values()))
    check(row, [first, second], wasted=4.2, **down)


def test_a_bad_copy_charges_its_attempt_and_hands_on() -> None:
    near = checkpoint("cpu_memory", name="near", invalid=0.3, notice="9 s")
    of = scenario(near, checkpoint(name="far", interval="200 s", read="25 s"), mode="all_processes")
    good = Hit("gpu", 350.0, 5, marks={"bad:near": 0.31})
    bad = Hit("gpu", 350.0, 5, marks={"bad:near": 0.29})
    assert recovered(run(of, good)) == {"near": 1}
    row = run(of, bad)
    assert recovered(row) == {"far": 1}
    assert row["fallbacks"] == 1
    assert row["recovery_s"] == pytest.approx(READ + 9.0 + 25.0)
    assert row["wasted_s"] == pytest.approx(138.0)


def test_a_copy_is_as_bad_for_the_second_failure_as_for_the_first() -> None:
    near = checkpoint("cpu_memory", name="near", invalid=0.3)
    of = scenario(near, checkpoint(name="far", interval="200 s"), mode="all_processes")
    first = Hit("reset_gpu", 350.0, 5, marks={"bad:near": 0.29})
    second = Hit("reset_gpu", 360.0, 5, marks={"bad:near": 0.31})
    row = run(of, first, second)
    assert recovered(row) == {"far": 2}
    assert row["steps"] * 10.0 <= row["productive_s"] + 1e-6
    assert row["wasted_s"] == pytest.approx(138.0)


def test_saves_anchored_to_the_wall_go_on_at_its_marks() -> None:
    """Running again at 295, with the marks at multiples of 103 s: the next one is one step away."""
    of = scenario(checkpoint(anchor="wall"), mode="all_processes")
    row = run(of, Hit("gpu", 250.0, 5))
    down = {"detection": DETECT, "waiting": ACTIVATION, "restart": RESTART, "recovery": READ}
    check(row, [(244.0, 6.0), ride(of, 4705.0, first=1)], wasted=44.0, **down)


@pytest.mark.parametrize("steps", [98, 99, 100, 101])
def test_a_work_target_ends_with_its_last_step(steps: int) -> None:
    of = scenario(checkpoint(), mode="all_processes", run={"steps": steps})
    row = run(of)
    saves = (steps - 1) // 10
    assert (row["steps"], row["wall_s"]) == (steps, pytest.approx(10.0 * steps + 3.0 * saves))
    expect(row, productive=10.0 * steps, overhead=3.0 * saves)
    hit = run(of, Hit("gpu", 250.0, 5))
    assert hit["steps"] == steps
    later = (steps - 20 - 1) // 10
    expect(
        hit, productive=10.0 * steps, overhead=6.0 + 3.0 * later, wasted=44.0,
        detection=DETECT, waiting=ACTIVATION, restart=RESTART, recovery=READ,
    )  # fmt: skip


def test_a_work_target_stops_at_its_longest_wall_time() -> None:
    of = scenario(checkpoint(), mode="all_processes", run={"steps": 100, "max_wall": "500 s"})
    assert run(of)["wall_s"] == 500.0


def test_a_run_may_end_within_a_recovery() -> None:
    row = run(REMOTE, Hit("gpu", 4990.0, 5))
    assert row["wall_s"] == HORIZON
    lost = ride(REMOTE, 4990.0)[0] - 480 * 10.0
    check(row, [ride(REMOTE, 4990.0)], wasted=lost, detection=4.0, waiting=6.0)
    assert row["at_risk_s"] == 0.0


def test_work_that_no_store_holds_is_at_risk() -> None:
    assert run(REMOTE)["at_risk_s"] == pytest.approx(56.0)
    inside = run(scenario(STRIPE))
    assert inside["at_risk_s"] == pytest.approx(inside["productive_s"])


def test_a_hit_on_free_memory_does_not_stop_the_job() -> None:
    everywhere = {"name": "page", "scope": "memory", "contained": 0.5, "action": "drain_and_reset", "lands": "all"}
    of = scenario(
        checkpoint(),
        mode="all_processes",
        failures__classes=[{**everywhere, "rate": "1 / 1000 d", "gpus": 16, "detect": "4 s"}],
    )
    row = run(of, Hit("page", 250.0, 5, "free"))
    expect(row, productive=4856.0, overhead=144.0)
    assert row["failures"] == 0
