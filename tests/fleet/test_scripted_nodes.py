"""Spares, repair and who stands where: timelines worked out by hand, to the second and to the node.

A node that is replaced costs 4 s of detection, 20 s until a spare has started and 15 s of restart; repair takes 500 s.
Nodes 0 to 3 are in the job at the start, 4 GPUs each; spares are numbered from 4 on.
"""

from __future__ import annotations

from math import log
from typing import Any

import pytest

from tests.engine.ledgers import ride
from tests.engine.small import DETECT, READ, REPAIR, checkpoint, expect
from tests.faults import must_reject, replaced
from tests.fleet.fleet_jobs import GPU, KINDS, LINK, PLACES, Blow, job, play, strays, total, watch, written

NEVER_BACK = {"stages": [{"name": "mend", "time": "1000 d"}]}


def mending(seconds: float, **more: Any) -> dict[str, Any]:
    """A repair shop of one stage of fixed length."""
    return {"stages": [{"name": "mend", "time": f"{seconds} s", **more}]}


# ---------------------------------------------------------------- who comes, and when


def test_hot_then_warm_then_cold() -> None:
    """Each takes its own time to start, from the detection on; then nobody is left."""
    spares = {"hot": 1, "warm": 1, "cold": 1, "activation": {"hot": "20 s", "warm": "50 s", "cold": "200 s"}}
    of = job(fleet={"spares": spares, "repair": NEVER_BACK})
    row = play(of, *(Blow("gpu", 1000.0 * n, 4 * n) for n in (1, 2, 3)))
    assert row["waiting_s"] == pytest.approx(20.0 + 50.0 + 200.0)
    assert row["wall_s"] == 5000.0
    last = play(of, *(Blow("gpu", 1000.0 * n, 4 * (n % 4)) for n in (1, 2, 3, 4)))
    assert last["waiting_s"] == pytest.approx(270.0 + 1000.0 - DETECT)


def test_a_warm_spare_may_be_quicker_than_a_hot_one() -> None:
    spares = {"warm": 2, "activation": {"hot": "120 s", "warm": "60 s", "cold": "60 s"}}
    assert play(job(fleet={"spares": spares}), Blow("gpu", 100.0, 1))["waiting_s"] == pytest.approx(60.0)


def test_nobody_starts_before_it_is_mended() -> None:
    """Hot ones take longer to start than who comes from repair; until 600 nobody is in place 0 to fail there."""
    activation = {"hot": "300 s", "warm": "0 s", "cold": "0 s"}
    of = job(fleet={"spares": {"activation": activation}})
    blows = Blow("gpu", 100.0, 1), Blow("gpu", 400.0, 2)
    seen = watch(of, written(of, *blows))
    assert (seen.tally.failures, strays(seen), total(seen)) == (1, [], PLACES)
    assert play(of, *blows)["waiting_s"] == pytest.approx(500.0 - DETECT)


def test_a_spare_that_does_not_join_is_noticed_after_its_time_out() -> None:
    of = job(fleet={"spares": {"hot": 2, "join_fails": 0.5, "join_timeout": "60 s"}})
    row = play(of, Blow("gpu", 100.0, 1, marks={"join:0": 0.4, "join:1": 0.6}))
    expect(row, productive=4781.0, wasted=100.0, detection=4.0, waiting=20.0 + 60.0 + 20.0, restart=15.0)
    assert row["joins_failed"] == 1


def test_when_no_spare_joins_the_job_waits_for_its_own_node() -> None:
    of = job(fleet={"spares": {"hot": 2, "join_fails": 1.0, "join_timeout": "60 s"}})
    row = play(of, Blow("gpu", 100.0, 1))
    assert row["waiting_s"] == pytest.approx(play(job(), Blow("gpu", 100.0, 1))["waiting_s"])
    assert row["joins_failed"] == 2


def test_hosts_are_chosen_anew_when_no_hot_one_is_left() -> None:
    of = job(fleet={"spares": {"hot": 1, "warm": 2, "selection": "30 s"}, "repair": NEVER_BACK})
    row = play(of, Blow("gpu", 1000.0, 1), Blow("gpu", 2000.0, 5))
    assert row["waiting_s"] == pytest.approx(20.0 + 30.0 + 20.0)
    assert (row["selections"], row["borrowed"]) == (1, 0)


def test_a_node_is_borrowed_when_there_are_too_few() -> None:
    of = job(fleet={"spares": {"borrow": 2, "borrow_each": "100 s", "selection": "30 s"}, "repair": NEVER_BACK})
    row = play(of, Blow("gpu", 1000.0, 1))
    expect(row, productive=3831.0, wasted=1000.0, detection=4.0, waiting=100.0 + 30.0 + 20.0, restart=15.0)
    assert (row["selections"], row["borrowed"]) == (1, 1)


def test_a_random_choice_keeps_every_node() -> None:
    spares = {"hot": 1, "warm": 4, "selection": "30 s", "choose": "random"}
    of = job(fleet={"spares": spares})
    for hosts in (0.1, 0.5, 0.9):
        blows = [Blow("gpu", 300.0 * n, 4 * n % 16, marks={"hosts": hosts}) for n in (1, 2, 3, 4, 5)]
        seen = watch(of, written(of, *blows))
        assert (strays(seen), total(seen)) == ([], PLACES + 5)


@pytest.mark.parametrize("unit", ["gpu", "node"])
def test_spares_by_the_rack_need_racks_to_be_replaced(unit: str) -> None:
    with pytest.raises(ValueError, match="spares by rack"):
        job(cluster__replace=unit, fleet={"spares": {"unit": "rack", "hot": 4}})


def test_racks_come_and_go_whole() -> None:
    of = job(cluster__replace="rack", fleet={"spares": {"unit": "rack", "hot": 4}})
    seen = watch(of, written(of, Blow("gpu", 1000.0, 5)))
    assert (strays(seen), total(seen)) == ([], PLACES + 4)
    assert [seen.fleet.node_in(place) for place in range(PLACES)] == [4, 5, 2, 3]


@pytest.mark.parametrize("hot", [0, 1])
def test_a_job_that_shrinks_goes_on_with_three_of_four_groups(hot: int) -> None:
    """Node 0 goes at 157 and could start again at 677; then all stand 15 s for it. With a spare nobody is missing."""
    of = job(checkpoint(), fleet={"spares": {"hot": hot, "short": "shrink"}})
    row = play(of, Blow("gpu", 157.0, 1))
    begin = 157.0 + DETECT + row["waiting_s"] + 15.0 + READ
    worked, _ = ride(of, 677.0 - begin)
    assert row["waiting_s"] <= 20.0
    assert row["degraded_s"] == pytest.approx(0.0 if hot else worked / 4)
    assert row["recovery_s"] == pytest.approx(READ + (0.0 if hot else 15.0))
    seen = watch(of, written(of, Blow("gpu", 157.0, 1)))
    assert (strays(seen), total(seen), seen.fleet.node_in(0)) == ([], PLACES + hot, 4 if hot else 0)


def test_a_job_that_cannot_shrink_further_waits() -> None:
    """All four groups lack a node: until the first is back nobody works."""
    of = job(fleet={"spares": {"short": "shrink"}})
    row = play(of, *(Blow("gpu", 100.0 + n, 4 * n) for n in range(4)))
    assert row["waiting_s"] >= 500.0 - DETECT
    assert row["failures"] == 4


# ---------------------------------------------------------------- repair


@pytest.mark.parametrize(("crews", "back"), [(1, 700.0), (2, 410.0), (0, 410.0)])
def test_the_job_waits_for_a_crew(crews: int, back: float) -> None:
    """Nodes 1 and 2 break at 100 and 110; one crew mends the second after the first."""
    row = play(job(fleet={"repair": mending(300.0, crews=crews)}), Blow("gpu", 100.0, 5), Blow("gpu", 110.0, 9))
    expect(
        row, productive=5000.0 - back - 20.0 - 15.0, wasted=100.0, detection=8.0, waiting=back + 20.0 - 108.0,
        restart=15.0,
    )  # fmt: skip


def test_two_stages_and_a_part() -> None:
    """Half an hour by hand after the first stage failed, and the part is there a thousand seconds later."""
    stages = [{"name": "automatic", "time": "100 s", "escalate": 0.8}, {"name": "manual", "time": "300 s"}]
    plan = {"stages": stages, "parts": {"needed": 0.5, "stock": 0, "lead": "1000 s"}}
    of = job(fleet={"repair": plan})
    waits = {(0.9, 0.9): 100.0, (0.1, 0.9): 400.0, (0.1, 0.1): 1400.0}
    for (escalates, part), seconds in waits.items():
        row = play(of, Blow("gpu", 100.0, 1, marks={"escalate:automatic": escalates, "part": part}))
        assert row["waiting_s"] == pytest.approx(seconds - DETECT + 20.0)


def test_misdiagnosis_takes_a_healthy_node_and_the_faulty_one_its_place() -> None:
    """Node 3 is blamed for what node 0 did: node 0 stands in place 3, the spare in place 0."""
    of = job(hot=2, fleet={"repair": {**mending(500.0), "misdiagnosis": 0.5}})
    seen = watch(of, written(of, Blow("gpu", 100.0, 1, marks={"misdiagnosed": 0.4, "blamed": 0.8})))
    assert [seen.fleet.node_in(place) for place in range(PLACES)] == [4, 1, 2, 0]
    assert (strays(seen), seen.fleet.where(3)) == ([], -1)
    marks = {"misdiagnosed": 0.6, "blamed": 0.8}
    right = watch(of, written(of, Blow("gpu", 100.0, 1, marks=marks)))
    assert [right.fleet.node_in(place) for place in range(PLACES)] == [4, 1, 2, 3]


@pytest.mark.parametrize("blamed", [0.0, 0.3, 0.6, 0.9])
def test_misdiagnosis_of_a_whole_rack_loses_nobody(blamed: float) -> None:
    of = job(hot=4, fleet={"repair": {**mending(500.0), "misdiagnosis": 0.5}})
    seen = watch(of, written(of, Blow("rack", 100.0, marks={"misdiagnosed": 0.4, "blamed": blamed})))
    assert (strays(seen), total(seen)) == ([], PLACES + 4)
    assert len({seen.fleet.node_in(place) for place in range(PLACES)} & {0, 1, 2, 3}) == 2


# ---------------------------------------------------------------- one place, one node


def test_two_gpus_of_one_node_take_one_node() -> None:
    row = play(job(hot=1), Blow("gpu", 100.0, 0), Blow("gpu", 100.0, 1))
    expect(row, productive=4861.0, wasted=100.0, detection=4.0, waiting=20.0, restart=15.0)


def test_a_rack_and_a_gpu_of_it_at_one_instant() -> None:
    row = play(job(hot=2), Blow("rack", 100.0), Blow("gpu", 100.0, 1))
    assert row["waiting_s"] == pytest.approx(20.0)


def test_nobody_fails_in_an_empty_place() -> None:
    """No spare: place 0 is empty from 100 to 600, and what the trace has for it at 300 strikes nobody."""
    alone, twice = (play(job(), Blow("gpu", 100.0, 1), *more) for more in ([], [Blow("gpu", 300.0, 2)]))
    assert twice == alone
    another = play(job(), Blow("gpu", 100.0, 1), Blow("gpu", 300.0, 5))
    assert another["waiting_s"] == pytest.approx(300.0 - 104.0 + 500.0 - DETECT + 20.0)


def test_a_replacement_that_breaks_while_it_is_started() -> None:
    """Node 4 is asked for at 100 and breaks at 110; node 5 takes the place and node 4 is mended at 610."""
    of = job(hot=2)
    blows = Blow("gpu", 100.0, 1), Blow("gpu", 110.0, 1)
    expect(play(of, *blows), productive=4851.0, wasted=100.0, detection=8.0, waiting=26.0, restart=15.0)
    seen = watch(of, written(of, *blows))
    assert [seen.fleet.node_in(place) for place in range(PLACES)] == [5, 1, 2, 3]
    assert (strays(seen), total(seen), seen.fleet.where(4)) == ([], PLACES + 2, -1)
    rule = {"retire": {"after": 2, "within": "1 d"}}
    assert play(job(hot=2, fleet=rule), *blows)["retired"] == 0  # of node 0 and node 4 one each


# ---------------------------------------------------------------- devices


RECURS = {**GPU, "recurrence": {"again": 0.5, "gap": {"kind": "exponential", "mean": "1000 s"}}}
GAP = 1000.0 * log(2.0)  # of the mark 0.5
FOLLOWED = {"recurs": 0.1, "gap": 0.5}


@pytest.mark.parametrize(
    ("action", "repair", "failures", "idle"),
    [("reset", 500, 2, 0), ("replace", 500, 1, 1), ("replace", 4000, 1, 1), ("replace", 4300, 1, 0)],
    ids=["stays", "stands by", "has stood by since 4100", "mended too late"],
)
def test_a_device_fails_again_where_it_stands(action: str, repair: int, failures: int, idle: int) -> None:
    """The run ends at 5,000 s, and the time to the failure that follows stands still during the repair."""
    kind = {**RECURS, "action": action, "repair": f"{repair} s"}
    row = play(job(kinds=[kind], hot=1), Blow("gpu", 100.0, 5, marks=FOLLOWED))
    assert (row["failures"], row["failures_idle"]) == (failures, idle)


def test_a_device_that_is_back_in_the_job_fails_again_there() -> None:
    """Node 1 leaves at 100, is mended at 600, takes place 2 at 700, and fails there at 1293: 693 s in use."""
    of = job(kinds=[RECURS], hot=1)
    blows = Blow("gpu", 100.0, 5, marks=FOLLOWED), Blow("gpu", 700.0, 9)
    seen = watch(of, written(of, *blows))
    assert seen.tally.failures == 3
    assert ([seen.fleet.node_in(place) for place in range(PLACES)], strays(seen)) == ([0, 4, 2, 3], [])
    assert play(of, *blows)["waiting_s"] == pytest.approx(3 * 20.0)  # node 2 is mended at 1200


def check_wait_for_repair(crews: int) -> None:
    """Nodes 0 and 1 leave at 100; node 1 is mended at 500, by one crew at 900, and fails 693 s later, standing by."""
    stages = {"stages": [{"name": "mend", "time": "400 s", "crews": crews}]}
    back = 500.0 if crews != 1 else 900.0
    for horizon, idle in ((back + GAP - 1.0, 0), (back + GAP + 1.0, 1)):
        of = job(kinds=[RECURS], hot=2, fleet={"repair": stages}, run__horizon=f"{horizon} s")
        row = play(of, Blow("gpu", 100.0, 1), Blow("gpu", 100.0, 5, marks=FOLLOWED))
        assert row["failures_idle"] == idle


@pytest.mark.parametrize("crews", [0, 1])
def test_a_failure_that_follows_waits_out_the_repair(crews: int) -> None:
    check_wait_for_repair(crews)


def test_a_follower_that_comes_due_in_repair_and_is_lost_is_noticed() -> None:
    must_reject(lambda: check_wait_for_repair(0), replaced("gemsim.engine.repair:Shop.away", lambda _: lambda *_: 0.0))


def test_a_chain_ends_with_its_mark() -> None:
    marks = {"recurs": 0.1, "gap": 0.5, "recurs:again1": 0.1, "gap:again1": 0.75, "recurs:again2": 0.6}
    row = play(job(kinds=[{**RECURS, "action": "reset"}]), Blow("gpu", 100.0, 5, marks=marks))
    assert row["failures"] == 3
    early = job(kinds=[{**RECURS, "action": "reset"}], run__horizon=f"{100.0 + GAP + 1000.0 * log(4.0) - 1.0} s")
    assert play(early, Blow("gpu", 100.0, 5, marks=marks))["failures"] == 2


LEMON = {**GPU, "frailty": {"kind": "lemons", "share": 0.2, "multiplier": 9}}
THERE_AND_BACK = (  # node 1 leaves at 100, is back at 400 and stands in place 0 from 1000 on
    Blow("gpu", 100.0, 4, bound=True, marks={"silent:mend": 0.4}),
    Blow("gpu", 1000.0, 0),
    Blow("gpu", 2000.0, 4, bound=True),
)


def check_cure(silent: float, failures: int) -> None:
    """A lemon that was repaired is one no more, unless the repair silently failed."""
    row = play(job(kinds=[LEMON], hot=1, fleet={"repair": mending(300.0, silent=silent)}), *THERE_AND_BACK)
    assert row["failures"] == failures


@pytest.mark.parametrize(("silent", "failures"), [(0.0, 2), (0.3, 2), (0.5, 3)])
def test_repair_cures_a_lemon(silent: float, failures: int) -> None:
    check_cure(silent, failures)


@pytest.mark.parametrize(("silent", "idle"), [(0.0, 0), (0.5, 1)])
def test_a_cured_lemon_does_not_fail_standing_by(silent: float, idle: int) -> None:
    """Node 1 is mended at 400 and stands by at 600, when a lemon in its place would fail."""
    of = job(kinds=[LEMON], hot=1, fleet={"repair": mending(300.0, silent=silent)})
    row = play(of, THERE_AND_BACK[0], Blow("gpu", 600.0, 4, bound=True))
    assert (row["failures"], row["failures_idle"]) == (1, idle)


def test_without_a_plan_of_repair_a_lemon_stays_one() -> None:
    kind = {**LEMON, "repair": "300 s"}
    assert play(job(kinds=[kind], hot=1), *THERE_AND_BACK)["failures"] == 3


def test_a_device_in_no_place_is_not_seen() -> None:
    """Cold spares are off, those in other jobs are not ours; warm ones fail standing by."""
    for pool, idle in (("hot", 1), ("warm", 1), ("cold", 0), ("borrow", 0)):
        row = play(job(kinds=[LEMON], fleet={"spares": {pool: 1}}), Blow("gpu", 100.0, 16, bound=True))
        assert (row["failures"], row["failures_idle"]) == (0, idle)
        assert row["productive_s"] == 5000.0


def test_an_idle_spare_that_failed_is_missed() -> None:
    """It fails at 100 and is back at 600; the job needs it at 200."""
    row = play(job(hot=1), Blow("gpu", 100.0, 16), Blow("gpu", 200.0, 1))
    assert row["waiting_s"] == pytest.approx(100.0 + REPAIR - 200.0 - DETECT + 20.0)
    assert (row["failures"], row["failures_idle"]) == (1, 1)


def test_a_fleet_without_failures_is_arithmetic() -> None:
    spares = {"hot": 2, "warm": 2, "cold": 2, "borrow": 2, "join_fails": 1.0, "selection": "1 h"}
    fleet = {"spares": spares, "repair": mending(10.0, crews=1), "checks": {"every": "1 h", "finds": 1.0}}
    expect(play(job(kinds=[*KINDS, {**LINK, "name": "other"}], fleet=fleet)), productive=5000.0)
