"""What loads the repair shop: nodes per day by hand, points that cannot begin stationary, what is said of a load."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import comb, exp
from pathlib import Path
from typing import Any

import pytest

from gemsim.analytic.refusals import refuse
from gemsim.analytic.settling import _still_empty
from gemsim.cli.main import main
from gemsim.engine.before import at_the_start
from gemsim.engine.repair import Shop
from gemsim.engine.run import simulate
from gemsim.errors import Infeasible, NotCovered
from gemsim.failures.classes import Batch
from gemsim.scenario import Scenario, shop
from gemsim.scenario.shop import heaviest, loads, shop_said, units_per_failure
from gemsim.study.validate.simulate import scenario_of
from tests import statcheck
from tests.faults import must_reject, replaced

DAY = 86_400.0
STUDY = """
title: what loads the shop
cluster: {{gpus: 3200, gpu: h100-80gb, nodes_per_rack: 4, racks_per_power: 5, storage: {{write: 2 TB/s, read: 7 TB/s}}}}
workload: {{parameters: 70e9, parallel: {{tensor: 8, data: 400, shard: full}}, step: 5.6 s}}
failures:
  classes: [{kinds}]
protection: [{{checkpoint: {{target: remote, mode: async, blocked: 1 s, interval: 5 min}}}}]
fleet: {{spares: {{{spares}}}{fleet}}}
run: {{horizon: 20 d, start: {start}}}
{sweep}
"""
TWO_A_DAY = "{name: n, scope: node, rate: 1 / 200 node d, detect: 10 s, action: replace, repair: 1 d, MORE}"
GPUS = "{name: g, scope: gpu, rate: 1 / 1600 gpu d, detect: 10 s, action: replace, "
RESET = "{name: n, scope: gpu, rate: 1 / 200 node d, detect: 10 s, action: reset}"
CREWS = ", repair: {{stages: [{{name: a, time: 4 d, crews: {}}}]}}"


def text(
    kinds: str = TWO_A_DAY, *, more: str = "", spares: str = "cold: 4", fleet: str = "", start: str = "stationary",
    sweep: str = "",
) -> str:  # fmt: skip
    """A study of 400 nodes in racks of 4, of which two a day go to repair."""
    kinds = kinds.replace("MORE", more)
    return STUDY.format(kinds=kinds, spares=spares, fleet=fleet, start=start, sweep=sweep)


def job(
    kinds: str = TWO_A_DAY, *, crews: int = 10, more: str = "", spares: str = "cold: 4", start: str = "stationary"
) -> Scenario:
    """Its scenario, with one stage of repair of 4 d."""
    return scenario_of(text(kinds, more=more, spares=spares, fleet=CREWS.format(crews), start=start))


def a_day(of: Scenario) -> float:
    """Nodes per day that come to the first stage with crews."""
    return loads(of)[0].arrivals * DAY


def test_stages_get_their_share() -> None:
    fleet = (", repair: {stages: [{name: a, time: 1 d, escalate: 0.5, crews: 4}, {name: b, time: 2 d, escalate: 0.2}, "
             "{name: c, time: 10 d, crews: 3}]}")  # fmt: skip
    first, last = loads(scenario_of(text(fleet=fleet)))
    assert (first.stage, last.stage) == ("a", "c")
    assert [one.arrivals * DAY for one in (first, last)] == pytest.approx([2.0, 0.2])
    assert [one.share for one in (first, last)] == pytest.approx([2.0 / 4, 0.2 * 10 / 3])


@pytest.mark.parametrize(
    ("spares", "expected"),
    [
        ("cold: 4", 2.0),
        ("hot: 40", 2.2),  # those that stand by fail too
        ("cold: 4, join_fails: 0.5", 2.0 * (1.0 + 0.5 + 0.25 + 0.125 + 0.0625)),  # each of the four can be tried once
        ("cold: 4, join_fails: 1", 2.0 * 5.0),
    ],
)
def test_spares_that_fail_or_do_not_join_come_too(spares: str, expected: float) -> None:
    assert a_day(job(crews=100, spares=spares)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("frailty: {kind: lemons, share: 10 %, multiplier: 11}", 2.0),  # rate is the mean
        ("frailty: {kind: lemons, share: 10 %, multiplier: 11, of: good}", 4.0),
        ("batch: {sizes: [[2, 1]], within: rack}", 2.0),  # rate counts nodes
        ("common_cause: {beta: 0.1, within: rack}", 2.0),
        ("recurrence: {again: 0.4, gap: {kind: exponential, mean: 1 h}}", 2.0),  # the next one when it is back
        ("drift: [[0 d, 3]]", 2.0),  # no drift before the run
    ],
)
def test_what_devices_have_beyond_a_rate(more: str, expected: float) -> None:
    assert a_day(job(crews=100, more=more)) == pytest.approx(expected, rel=1e-3)


def test_a_failure_that_follows_is_unseen_where_spares_do_not_fail() -> None:
    link = TWO_A_DAY.replace("node, rate: 1 / 200 node d", "link, rate: 1 / 1600 gpu d")
    again = "recurrence: {again: 0.4, gap: {kind: exponential, mean: 1 h}}"
    assert a_day(job(link, crews=100, more=again)) == pytest.approx(0.6 * 2.0)


def test_a_rack_is_four_nodes_and_gpus_of_one_node_are_one() -> None:
    rack = "{name: r, scope: rack, rate: 1 / 5 d, gpus: 3200, detect: 10 s, action: replace}"
    assert a_day(job(rack)) == pytest.approx(4 / 5)
    of = job(GPUS + "common_cause: {beta: 1, within: power}}")
    assert a_day(of) == pytest.approx(2.0 / 8)  # 160 GPUs go at once, 20 nodes
    assert sum(one.rate for one in of.classes) * DAY == pytest.approx(2.0)


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_nodes_of_a_batch_of_gpus_against_all_choices(size: int) -> None:
    """Of 12 GPUs in nodes of 8, cut at 12: all choices of so many, by their nodes of four."""
    of = job(GPUS + "}")
    grid = replace(of.platform.grid, per_node=4)
    small = replace(of, platform=replace(of.platform, grid=grid))
    kind = replace(of.classes[0], batch=Batch(((size, 1.0),), "rack", 12))
    nodes = sum(len({gpu // 4 for gpu in chosen}) for chosen in combinations(range(12), size)) / comb(12, size)
    assert units_per_failure(small, kind) == pytest.approx(nodes / size)


def test_crews_that_cannot_keep_up_are_no_state_to_begin_with() -> None:
    with pytest.raises(Infeasible) as found:
        job(crews=8)  # just as many as come
    assert str(found.value.reason) == (
        "fleet.repair.stages.a: 2 nodes a day come while the job runs, 8 crews / 4 d = 2 a day can be mended: there is "
        "no stationary state to begin with (run.start: stationary). Write crews: 9 or more, a shorter time, or "
        "run.start: new"
    )
    assert loads(job(crews=9))[0].share == pytest.approx(8 / 9)


def test_one_overloaded_point_does_not_end_a_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swept = "sweep: {grid: {fleet.repair.stages.a.crews: [4, 9, 0]}}"
    study = tmp_path / "study.yaml"
    study.write_text(text(fleet=CREWS.format(9), sweep=swept), encoding="utf-8")
    assert main(["check", str(study)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "2 feasible, 1 infeasible" in out
    assert "1 infeasible: fleet.repair.stages.a: 2 nodes a day come" in out


def test_a_new_fleet_is_told_how_fast_the_queue_grows() -> None:
    (said,) = shop_said(job(crews=4, start="new"))
    assert "load of 2 (2 nodes a day come" in said
    assert "the queue grows by 1 nodes per day as long as the run lasts" in said


@pytest.mark.parametrize(("start", "why"), [("stationary", "20 mean times, 3,000 arrivals"), ("new", "an empty shop")])
def test_near_saturation_is_said(start: str, why: str) -> None:
    (said,) = shop_said(job(more="drift: [[0 d, 1], [5 d, 1.2]]", start=start))
    assert "load of 0.96" in said
    assert "near saturation" in said
    assert why in said
    assert shop_said(job(crews=12, start=start)) == []


def test_a_drift_that_overloads_later_is_said_and_refused_by_the_twin() -> None:
    of = job(more="drift: [[0 d, 1], [5 d, 1.5]]")
    (said,) = shop_said(of)
    assert "the queue grows by 0.5 nodes per day from 5 d on, until rates step down" in said
    assert heaviest(of) == max((load for at in (0.0, 5 * DAY) for load in loads(of, at=at)), key=lambda x: x.share)
    after = job(more="drift: [[0 d, 1], [25 d, 1.5]]")  # the run is over by then
    assert shop_said(after) == []


@pytest.mark.parametrize("more", ["", "frailty: {kind: lemons, share: 10 %, multiplier: 11}"])
@pytest.mark.parametrize("crews", [4, 5])
def test_the_twin_refuses_with_the_same_arrivals(more: str, crews: int) -> None:
    rack = ", {name: r, scope: rack, rate: 1 / 5 d, gpus: 3200, detect: 10 s, action: replace}"
    with pytest.raises(NotCovered, match=f"2.8 nodes a day come while the job runs, {crews} crews / 4 d"):
        refuse(job(TWO_A_DAY + rack, crews=crews, more=more, start="new"))


def test_a_drift_changes_nothing_before_the_run() -> None:
    """The run begins at three times the rate; who is in repair then came before."""
    stage = ", repair: {stages: [{name: a, time: 5 d}]}"
    even, steep = (scenario_of(text(more=more, fleet=stage)) for more in ("", "drift: [[0 d, 3]]"))
    for number in range(20):
        one, other = (at_the_start(of, 3, number, stationary=True).shop.inside for of in (even, steep))
        assert one == other


def test_engine_and_twin_know_the_same_time_before_the_run() -> None:
    of = job(crews=10)
    plan = of.fleet.repair
    assert plan is not None
    assert shop.prehistory(plan, 2.0 / DAY) == 20 * 4 * DAY
    often = 3000 / (10 * DAY)  # after 10 d so many have come
    assert shop.prehistory(plan, often) == pytest.approx(10 * DAY)
    assert _still_empty(of, 5 * DAY, often) == pytest.approx(exp(-2.0))


def test_a_shop_that_nobody_comes_to_is_said() -> None:
    (said,) = shop_said(job(RESET, start="new"))
    assert "never reached" in said
    assert shop_said(job(start="new", crews=30)) == []
    checks = ", repair: {stages: [{name: a, time: 1 d}]}, checks: {every: 1 h, finds: 0.3, false_positives: 1e-5}"
    assert shop_said(scenario_of(text(RESET, fleet=checks))) == []


def check_arrivals(monkeypatch: pytest.MonkeyPatch, count: int = 60) -> None:
    """The engine's shop counts who comes; four nodes at a time, so that a quarter is Poisson."""
    came = 0

    def enter(self: Shop, *args: Any, **more: Any) -> None:
        nonlocal came
        came += 1
        plain(self, *args, **more)

    plain = Shop.enter
    stage = ", repair: {stages: [{name: a, time: 2 h}]}"
    kinds = GPUS.replace("1600", "160") + "common_cause: {beta: 1, within: rack}}"
    of = scenario_of(text(kinds, spares="cold: 40, activation: {cold: 0 s}", start="new", fleet=stage))
    with monkeypatch.context() as patch:
        patch.setattr(Shop, "enter", enter)
        for number in range(count):
            simulate(of, seed=20261130, replication=number)
    expected = shop.flow_of(of).rate * of.horizon * count
    assert came % 4 == 0
    statcheck.poisson_count(came // 4, expected / 4, detect=0.3, alarm=2e-7)


def test_as_many_come_as_the_flow_says(monkeypatch: pytest.MonkeyPatch) -> None:
    check_arrivals(monkeypatch)


def test_gpus_counted_as_nodes_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    must_reject(
        lambda: check_arrivals(monkeypatch),
        replaced("gemsim.scenario.shop:units_per_failure", lambda _: lambda *_: 1.0),
    )
