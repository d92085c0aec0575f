"""Written failures with timelines worked out by hand, every ledger column to a microsecond: recoveries.

The job saves after every ten steps of 10 s, which blocks it for 3 s: saves end at 103, 206, 309 ... s.
"""

from __future__ import annotations

import json

import pytest

from gemsim.engine.run import simulate
from tests.engine.ledgers import HORIZON, REMOTE, RESTART, check, ride
from tests.engine.small import (
    ACTIVATION,
    COMMUNICATOR,
    DETECT,
    NODES,
    PAUSE,
    READ,
    RETRY,
    STRIPE,
    Hit,
    checkpoint,
    encode,
    expect,
    recovered,
    run,
    scenario,
    script,
)

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


def test_a_corruption_is_found_although_the_clock_rounds() -> None:
    """152.2 + (170.4 - 152.2) and from there to 452.2 ends one rounding before 452.2: the next event is still the
    detection, not the failure at 4000."""
    silent, later = Hit("silent", 152.2, 5), Hit("gpu", 4000.0, 9)
    now = 152.2 + (170.4 - 152.2)
    assert now + (152.2 + 300.0 - now) < 152.2 + 300.0
    trace = script(REMOTE, silent, later, Hit("gpu", 170.4, 16))  # a spare
    row = simulate(REMOTE, seed=0, replication=0, trace=trace)
    alone = run(REMOTE, silent, later)
    for name in ("wasted_s", "productive_s", "overhead_s", "waiting_s"):
        assert row[name] == pytest.approx(alone[name])
    assert (row["failures"], row["failures_idle"], recovered(row)) == (2, 1, {"checkpoint": 2})
