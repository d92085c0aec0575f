"""Slow nodes, planned stops, checks and retirement: timelines worked out by hand, every ledger column.

Unless a checkpoint is named nothing is saved, so that a stop costs all work so far: 4 s of detection, 20 s until a
spare has started, 15 s of restart. With it the job saves after every ten steps of 10 s, in 3 s: at 103, 206, ... s.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.small import Row, checkpoint, expect, recovered
from tests.fleet.fleet_jobs import GPU, Blow, job, play, strays, watch, written

ASYNC = checkpoint(mode="async")  # blocks for 3 s, written 40 s later
RESETS = {**GPU, "name": "resets", "action": "reset"}
CALM = {"checks": {"every": "1 h", "finds": 0.5}}


def restart(row: Row, *, wasted: float, lost: float = 39.0, **more: float) -> None:
    """One stop for a replaced node without a checkpoint: `lost` s of standing still, and the work so far."""
    given = {"detection": 4.0, "waiting": 20.0, "restart": 15.0, **more}
    assert sum(given.values()) - more.get("degraded", 0.0) == pytest.approx(lost)
    expect(row, productive=5000.0 - wasted - sum(given.values()), wasted=wasted, **given)


# ---------------------------------------------------------------- slow nodes


def test_a_slow_node_holds_all_up_until_it_is_found_and_taken_out() -> None:
    """From 100 to 400 the job makes 0.6 of its speed: 280 s of work so far."""
    row = play(job(hot=1), Blow("slow", 100.0, 1))
    expect(row, productive=4565.0, degraded=120.0, wasted=280.0, waiting=20.0, restart=15.0)
    assert (row["failures"], row["interruptions"]) == (1, 1)
    assert json.loads(row["by_class"]) == {"slow": [1, pytest.approx(435.0)]}
    assert row["at_risk_s"] == pytest.approx(4565.0)  # all work since the restart, and none twice


def test_the_living_job_saves_before_a_slow_node_leaves() -> None:
    """At 405 s, 96 s after the third save: 39 steps and 6 s, of which 3.6 s were done."""
    row = play(job(checkpoint(), hot=1), Blow("slow", 105.0, 1))
    expect(
        row, productive=4693.8, overhead=141.0, degraded=117.6, wasted=3.6, planned=3.0, waiting=20.0, restart=15.0,
        recovery=6.0,
    )  # fmt: skip
    assert recovered(row) == {"checkpoint": 1}


def test_the_slowest_of_two_counts() -> None:
    """0.6 of the speed until 200, 0.3 until 350, 0 until 385, then 0.6 again until the first is found at 400."""
    row = play(job(hot=2), Blow("slow", 100.0, 1), Blow("crawl", 200.0, 2))
    expect(row, productive=4565.0, degraded=40.0 + 105.0 + 6.0, wasted=205.0 + 9.0, waiting=40.0, restart=30.0)
    by_class = json.loads(row["by_class"])
    assert by_class == {"crawl": [1, pytest.approx(205 + 35 + 105)], "slow": [1, pytest.approx(40 + 6 + 9 + 35)]}


def test_a_slow_node_is_found_while_the_job_stands_still() -> None:
    """Slow from 60, and found at 360 while the other is replaced: the recovery starts again."""
    row = play(job(hot=2), Blow("slow", 60.0, 1), Blow("crawl", 200.0, 2))
    expect(row, productive=4605.0, degraded=56.0 + 105.0, wasted=60.0 + 84.0 + 45.0, waiting=30.0, restart=15.0)
    assert recovered(row) == {"start": 2}


def test_a_slow_node_may_leave_for_another_reason_before_it_is_found() -> None:
    row = play(job(hot=2), Blow("slow", 100.0, 1), Blow("gpu", 200.0, 5))
    restart(row, wasted=160.0, degraded=40.0)
    assert row["interruptions"] == 1


def test_a_slow_node_goes_on_when_another_is_replaced() -> None:
    """GPU 9 is in node 2; node 1 is slow until it is found at 400, but not while nothing runs (200 to 239)."""
    row = play(job(hot=2), Blow("slow", 100.0, 1), Blow("gpu", 200.0, 9))
    degraded, wasted = 40.0 + 0.4 * 161.0, 160.0 + 0.6 * 161.0
    down = {"detection": 4.0, "waiting": 40.0, "restart": 30.0}
    expect(row, productive=5000.0 - degraded - wasted - 74.0, degraded=degraded, wasted=wasted, **down)


def test_a_slow_node_that_nobody_finds() -> None:
    row = play(job(), Blow("slow", 4900.0, 1))
    expect(row, productive=4960.0, degraded=40.0)
    assert (row["failures"], row["interruptions"]) == (1, 0)


def test_missing_work_is_made_up_for_once() -> None:
    """300 steps: 280 s of work until 400 are lost, and what was missing then is not owed after the restart."""
    of = job(hot=1, run={"steps": 300, "max_wall": "9000 s"})
    row = play(of, Blow("slow", 100.0, 1))
    assert row["wall_s"] == pytest.approx(400.0 + 35.0 + 3000.0)
    assert row["steps"] == 300
    late = play(of, Blow("slow", 2000.0, 1, marks={"detect": 0.5}), Blow("gpu", 2400.0, 9))
    assert late["wasted_s"] == pytest.approx(2180.0 + 65.0)  # runs from 2335 to 2400


def test_misdiagnosis_leaves_the_slow_node_where_it_is() -> None:
    """A healthy node is taken out at 400; the slow one still holds the job up."""
    blind = {"repair": {"stages": [{"name": "mend", "time": "500 s"}], "misdiagnosis": 0.5}}
    marks = {"misdiagnosed": 0.4, "blamed": 0.8}
    of = job(hot=2, fleet=blind)
    blow = Blow("slow", 100.0, 1, marks=marks)
    seen = watch(of, written(of, blow))
    # Node 3 left at 400 and node 1 took its place, where it was found again at 700 and left too.
    assert ([seen.fleet.node_in(place) for place in range(4)], strays(seen)) == ([0, 4, 2, 5], [])
    degraded = 0.4 * (300.0 + 265.0)  # nobody works from 400 to 435
    expect(play(of, blow), productive=5000.0 - 70.0 - 665.0, degraded=degraded, wasted=665.0 - degraded,
           waiting=40.0, restart=30.0)  # fmt: skip


# ---------------------------------------------------------------- planned stops


def test_a_planned_stop_with_notice_costs_the_step_in_progress() -> None:
    """At 157 s: version 15 and 4 s. Saved in 3 s, stopped for 600 s, restarted at 781."""
    row = play(job(checkpoint()), Blow("stop", 157.0))
    expect(row, productive=4249.0, overhead=123.0, wasted=4.0, planned=603.0, restart=15.0, recovery=6.0)
    assert (row["planned_stops"], row["failures"]) == (1, 0)


def test_a_save_that_takes_longer_than_the_notice_is_not_tried() -> None:
    """The save ends at 170; at 257 eight steps and 7 s follow version 10. A save takes 70 s, the notice is 60 s."""
    row = play(job(checkpoint(write="70 s")), Blow("stop", 257.0))
    expect(row, productive=2542.0, overhead=1750.0, wasted=87.0, planned=600.0, restart=15.0, recovery=6.0)


def test_the_first_tier_that_can_within_the_notice_saves() -> None:
    """To the disk it takes 80 s, to the store 43: 3 blocked and 40 to be written."""
    disk = checkpoint("disk", name="disk", write="80 s", interval="1000 s")
    row = play(job(disk, checkpoint(name="far", mode="async", interval="2000 s")), Blow("stop", 157.0))
    assert recovered(row) == {"far": 1}
    assert row["planned_s"] == pytest.approx(643.0)
    assert row["wasted_s"] == pytest.approx(7.0)  # version 15, and 7 s


def test_a_failure_while_it_is_saved_takes_that_save() -> None:
    """Saved from 157 to 200; the node goes at 170, back to version 10 of the write that ended at 143."""
    row = play(job(ASYNC, hot=1), Blow("stop", 157.0), Blow("gpu", 170.0, 9))
    assert row["wasted_s"] == pytest.approx(54.0)


@pytest.mark.parametrize(("tiers", "saving"), [([], 0.0), ([checkpoint()], 3.0)], ids=["nothing", "store"])
@pytest.mark.parametrize("kind", ["gpu", "link"])
def test_a_failure_during_a_stop_does_not_make_it_longer(tiers: list[dict[str, Any]], saving: float, kind: str) -> None:
    """The stop ends at 757, what breaks meanwhile is replaced or not."""
    alone = play(job(*tiers, hot=1), Blow("stop", 157.0))
    row = play(job(*tiers, hot=1), Blow("stop", 157.0), Blow(kind, 400.0, 2))
    assert row["planned_s"] == pytest.approx(600.0 + saving)
    assert row["wasted_s"] == pytest.approx(alone["wasted_s"])
    lost = alone["productive_s"] + alone["overhead_s"] - row["productive_s"] - row["overhead_s"]
    assert -1e-6 <= lost <= 4.0 + 20.0 + 1e-6


def test_two_stops_one_in_the_other_end_with_the_later() -> None:
    row = play(job(checkpoint()), Blow("stop", 157.0), Blow("stop", 400.0))
    assert row["planned_s"] == pytest.approx(243.0 + 600.0)
    assert row["planned_stops"] == 2


def test_a_stop_that_is_announced_during_a_recovery_still_comes() -> None:
    """The node goes at 100; whatever is done about it, nobody works from 110 to 710."""
    row = play(job(hot=1), Blow("gpu", 100.0, 1), Blow("stop", 110.0))
    assert row["productive_s"] <= 5000.0 - 710.0 + 1e-6
    assert row["planned_s"] <= 600.0 + 1e-6


@pytest.mark.parametrize("less", ["shrink", "groups"])
def test_a_stop_concerns_those_who_run_on_with_less(less: str) -> None:
    """Node 0 is out from 100 to 620; the stop at 300 is of the whole job, whoever is out."""
    groups = {"replica_group": {"stall": "8 s", "catch_up": "5 s"}}
    tiers = [checkpoint()] if less == "shrink" else [groups, checkpoint()]
    mode, short = ("all_processes", "shrink") if less == "shrink" else ("in_place", "wait")
    of = job(*tiers, mode=mode, fleet={"spares": {"short": short}})
    row = play(of, Blow("gpu", 100.0, 1), Blow("stop", 300.0))
    assert (row["planned_stops"], row["planned_s"]) == (1, pytest.approx(603.0))


# ---------------------------------------------------------------- health checks


@pytest.mark.parametrize(("mark", "wasted", "planned", "detection"), [(0.4, 4.0, 3.0, 0.0), (0.6, 54.0, 0.0, 4.0)])
def test_a_check_finds_a_failure_before_it_strikes(
    mark: float, wasted: float, planned: float, detection: float
) -> None:
    row = play(job(checkpoint(), hot=1, fleet=CALM), Blow("gpu", 157.0, 1, marks={"check": mark}))
    assert row["wasted_s"] == pytest.approx(wasted)
    assert (row["planned_s"], row["detection_s"]) == (pytest.approx(planned), pytest.approx(detection))
    assert (row["found_early"], row["failures"]) == (int(mark < 0.5), 1)


def test_a_check_finds_a_slow_node_before_it_is_slow() -> None:
    row = play(job(checkpoint(), hot=1, fleet=CALM), Blow("slow", 157.0, 1, marks={"check": 0.4}))
    assert (row["found_early"], row["degraded_s"], row["waiting_s"]) == (1, 0.0, pytest.approx(20.0))
    assert (row["wasted_s"], row["planned_s"]) == pytest.approx((4.0, 3.0))


def test_a_check_finds_nothing_in_software() -> None:
    row = play(job(checkpoint(), fleet=CALM), Blow("link", 157.0, 1, marks={"check": 0.0}))
    assert (row["found_early"], row["wasted_s"]) == (0, pytest.approx(54.0))


ALARMS = {"every": "1000 s", "finds": 0.0, "false_positives": 0.5}


def alarmed(misdiagnosis: float) -> dict[str, Any]:
    """A fleet whose checks take out a healthy node now and then."""
    mend = {"stages": [{"name": "mend", "time": "500 s"}], "misdiagnosis": misdiagnosis}
    return {"checks": ALARMS, "repair": mend}


@pytest.mark.parametrize("misdiagnosis", [0.0, 0.5, 1.0])
def test_a_false_alarm_takes_out_one_healthy_node(misdiagnosis: float) -> None:
    """The job saves first, as before any stop that it knows of."""
    of = job(checkpoint(), hot=1, fleet=alarmed(misdiagnosis))
    alarm = Blow("false_alarm", 157.0, 1, marks={"misdiagnosed": 0.4, "blamed": 0.9})
    seen = watch(of, written(of, alarm))
    assert (strays(seen), seen.tally.interruptions) == ([], 1)
    row = play(of, alarm)
    assert (row["planned_s"], row["wasted_s"], row["waiting_s"]) == pytest.approx((3.0, 4.0, 20.0))
    assert of.classes[-1].rate == pytest.approx(4 * 0.5 / 1000.0)


def test_a_false_alarm_is_no_failure_that_was_found() -> None:
    fleet = alarmed(0.0) | {"checks": ALARMS | {"finds": 1.0}}
    row = play(job(checkpoint(), hot=1, fleet=fleet), Blow("false_alarm", 157.0, 1, marks={"check": 0.0}))
    assert row["found_early"] == 0


# ---------------------------------------------------------------- retirement


def retiring(**rule: Any) -> dict[str, Any]:
    """A job whose failures leave the node where it is, until it is retired."""
    return {"kinds": [GPU, RESETS], "fleet": {"retire": rule}}


@pytest.mark.parametrize(("second", "retired"), [(600.0, 1), (1100.0, 1), (1101.0, 0)])
def test_two_failures_within_the_window_retire_a_node(second: float, retired: int) -> None:
    row = play(job(hot=1, **retiring(after=2, within="1000 s")), Blow("resets", 100.0, 5), Blow("resets", second, 6))
    assert row["retired"] == retired
    assert row["waiting_s"] == pytest.approx(11.0 + (20.0 if retired else 11.0))


@pytest.mark.parametrize(("second", "retired"), [(200.0, 1), (201.0, 0)])
def test_a_score_fades(second: float, retired: int) -> None:
    """Half of the first after 100 s: 1.5 in all."""
    row = play(
        job(hot=1, **retiring(score=1.5, half_life="100 s")), Blow("resets", 100.0, 5), Blow("resets", second, 5)
    )
    assert row["retired"] == retired


def test_a_node_that_was_slow_too_often_is_retired() -> None:
    """Node 1 is slow, mended, a spare again, in the job again, and slow."""
    rule = {"retire": {"after": 2, "within": "1 d"}}
    blows = Blow("slow", 100.0, 1), Blow("gpu", 1500.0, 0), Blow("slow", 2500.0, 0)
    assert play(job(hot=1, fleet=rule), *blows)["retired"] == 1
    assert play(job(hot=1, fleet=rule), *blows[:2])["retired"] == 0


def test_failures_of_two_nodes_retire_none() -> None:
    row = play(job(**retiring(after=2, within="1 d")), Blow("resets", 100.0, 5), Blow("resets", 600.0, 9))
    assert row["retired"] == 0


def test_a_new_node_comes_for_one_that_is_retired() -> None:
    rule = retiring(after=1, within="1 d", restock="300 s")
    seen = watch(of := job(**rule), written(of, Blow("resets", 600.0, 5)))
    assert strays(seen) == []
    assert seen.fleet.node_in(1) == 4  # the first number that no node has had
    restart(play(of, Blow("resets", 600.0, 5)), wasted=600.0, waiting=316.0, lost=335.0)


def test_without_a_new_node_the_job_waits_to_the_end() -> None:
    row = play(job(**retiring(after=1, within="1 d")), Blow("resets", 600.0, 5))
    expect(row, wasted=600.0, detection=4.0, waiting=4396.0)
    more = play(job(**retiring(after=1, within="1 d")), Blow("resets", 600.0, 5), Blow("gpu", 900.0, 9))
    assert (more["retired"], more["wall_s"]) == (2, 5000.0)


def test_the_count_goes_with_the_node_and_not_with_its_place() -> None:
    """Node 1 fails, comes back as a spare and fails again in place 0; node 4, in place 1 meanwhile, fails once."""
    rule = {"retire": {"after": 2, "within": "1 d"}}
    blows = Blow("gpu", 100.0, 5), Blow("gpu", 800.0, 0), Blow("gpu", 1600.0, 0)
    assert play(job(hot=1, fleet=rule), *blows)["retired"] == 1
    assert play(job(hot=1, fleet=rule), blows[0], Blow("gpu", 800.0, 5))["retired"] == 0
