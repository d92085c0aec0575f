"""A recorded run is the run that `simulate` plays, and what is told of it adds up: over shipped studies, over random
worlds, and by hand."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import AbstractContextManager
from itertools import pairwise
from math import isnan
from typing import Any

import pytest

from gemsim import scenario as scenarios
from gemsim.engine.noted import Booked
from gemsim.engine.record import record
from gemsim.engine.run import simulate
from gemsim.errors import GemsimError, Infeasible
from gemsim.results.ledger import LEDGER
from gemsim.results.timeline import KINDS, WORK, Event, Timeline
from gemsim.scenario import Scenario
from gemsim.spec.loading import load_study, resolve_point
from gemsim.study.design import designs_of
from tests.engine.small import NODES, RETRY, STRIPE, Hit, checkpoint, scenario, script
from tests.engine.test_plain import CASES
from tests.engine.test_plain import scenario as plain
from tests.engine.test_replica_group import SHORT, job
from tests.faults import must_reject, replaced
from tests.fleet import fleet_jobs
from tests.studies.world import FOLDER
from tests.worlds.make import scenario as world

SHORT_WORLDS = (4, 10, 52, 75, 76, 97, 124, 172, 184)  # those of them that take no second
LONG = [pytest.param(number, marks=pytest.mark.long) for number in range(230) if number not in SHORT_WORLDS]
STUDIES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.yaml"))


def told(of: Scenario, *hits: Hit) -> Timeline:
    """The timeline of a job that meets these failures."""
    return record(of, seed=0, replication=0, trace=script(of, *hits))


def judge(found: Timeline, row: dict[str, Any]) -> None:
    """The row is that of `simulate`; spans tile the run and add up to its ledger; events are in order and counted."""
    assert found.row == row
    assert found.spans[0].begin == 0.0
    assert found.spans[-1].end == found.wall
    assert all(one.end == other.begin for one, other in pairwise(found.spans))
    assert all(span.seconds > 0.0 for span in found.spans)
    assert found.off <= 1e-9 * found.wall
    for span in found.spans:
        assert sum(span.booked.values()) == pytest.approx(span.seconds, abs=1e-9 * found.wall)
        assert sum(span.overhead.values()) == pytest.approx(span.booked.get("overhead", 0.0), abs=1e-9 * found.wall)
        assert span.doing == WORK or set(span.booked) == {span.doing}
    assert found.lost()[-1][1] == pytest.approx(found.wall - row["productive_s"], abs=1e-9 * found.wall)
    undone = sum(seconds for _, _, seconds in found.undone())
    assert undone == pytest.approx(row["wasted_s"], abs=1e-9 * found.wall)
    assert all(one.at <= other.at for one, other in pairwise(found.events))
    assert {event.kind for event in found.events} <= set(KINDS)
    counted(found)


def counted(found: Timeline) -> None:
    """Failures, stops and who recovered them are those of the row."""
    row, kinds = found.row, Counter(event.kind for event in found.events)
    again = sum(event.text.startswith("found now") for event in found.of("outside"))
    assert row["failures"] == kinds["failure"] + kinds["unseen"] + kinds["outside"] - again
    assert row["failures_idle"] == kinds["spare"]
    assert row["planned_stops"] == kinds["planned"] + kinds["remap"]
    stops = {event.recovery for event in found.of("failure", "found")}
    assert row["interruptions"] == len(stops)
    by_tier = Counter[str]()
    for number in {event.recovery for event in found.of("failure", "found", "planned")}:
        strikes = [e for e in found.of("failure", "found", "planned", "remap") if e.recovery == number]
        struck = [event for event in strikes if event.kind in ("failure", "found")]
        by_tier[strikes[-1].tier] += len(struck) or 1
    by_tier.update(event.tier for event in found.of("outside"))
    assert dict(by_tier) == json.loads(row["by_tier"])


def check(of: Scenario, *, seed: int = 3, replication: int = 0) -> Timeline:
    row = simulate(of, seed=seed, replication=replication)
    found = record(of, seed=seed, replication=replication)
    judge(found, row)
    return found


@pytest.mark.parametrize("name", STUDIES)
def test_shipped_studies_in_small(name: str) -> None:
    """Design points from the whole study, the first and the last with it; the short way through plain failures, where
    the engine takes one, comes to the same row."""
    if name == "replay.yaml" and "GEMSIM_TRACES" not in os.environ:
        pytest.skip("needs the log")
    loaded = load_study(FOLDER / name, quick=True)
    designs = designs_of(loaded)
    numbers = sorted({0, len(designs) // 3, 2 * len(designs) // 3, len(designs) - 1})
    played = 0
    for number in numbers:
        try:
            of = scenarios.build(resolve_point(loaded, designs[number].assignments))
        except GemsimError:
            continue  # a point that cannot exist
        check(of, seed=loaded.spec.run.seed)
        played += 1
    assert played


@pytest.mark.parametrize("number", [*SHORT_WORLDS, *LONG])
def test_random_worlds(number: int) -> None:
    try:
        of = world(number)
    except Infeasible:
        return  # parity that does not fit
    check(of, seed=number)


@pytest.mark.parametrize("name", CASES)
def test_fleets(name: str) -> None:
    """Shops, lemons, retirement, health checks, selections, slow nodes, planned stops."""
    check(plain(name))


# ---------------------------------------------------------------- by hand


def near(*pairs: float) -> bool:
    """Each number equals the one after it to a microsecond."""
    return all(abs(one - other) < 1e-6 for one, other in zip(pairs[::2], pairs[1::2], strict=True))


def spans(found: Timeline) -> list[tuple[float, float, str]]:
    return [(round(span.begin, 6), round(span.end, 6), span.doing) for span in found.spans]


def one_failure() -> Timeline:
    """As in test_scripted: version 24 and 4 s into the next step; 20 was saved, from 203 to 206 s."""
    found = told(scenario(checkpoint(), mode="all_processes"), Hit("gpu", 250.0, 5))
    assert spans(found) == [
        (0.0, 250.0, WORK), (250.0, 254.0, "detection"), (254.0, 274.0, "waiting"), (274.0, 289.0, "restart"),
        (289.0, 295.0, "recovery"), (295.0, 5000.0, WORK),
    ]  # fmt: skip
    failure, asked, runs, end = found.events
    assert (failure.kind, failure.at, failure.name, failure.scope) == ("failure", 250.0, "gpu", "gpu")
    assert (failure.gpu, failure.node, failure.state) == (5, 1, "running")
    assert (failure.tier, failure.version) == ("checkpoint", 20)
    assert near(failure.lost, 44.0, failure.since, 203.0, failure.down, 45.0, failure.until, 295.0)
    assert asked.kind == "asked"
    assert near(asked.at, 250.0, asked.until, 270.0)
    assert (runs.kind, runs.at, runs.tier, runs.down) == ("runs", 295.0, "checkpoint", 45.0)
    assert (end.kind, end.at) == ("end", 5000.0)
    assert found.spans[0].booked == {"productive": pytest.approx(244.0), "overhead": pytest.approx(6.0)}
    (saves,) = found.saves
    # 250 s: saves at 103 and 206; then 4,705 s in cycles of 103 s: 45
    assert (saves.tier, saves.count, saves.every, saves.seconds) == ("checkpoint", 2 + 45, 10, 3.0)
    return found


def test_one_failure() -> None:
    found = one_failure()
    assert found.lost()[0] == (0.0, 0.0)
    at_failure = [round(lost, 6) for when, lost in found.lost() if when == 250.0]
    assert at_failure == [6.0, 6.0, 50.0]  # the roll-back stands at its failure


def a_second_in_the_recovery() -> Timeline:
    """The second failure strikes 10 s after the first, while it waits for the spare; all begins anew."""
    of = scenario(checkpoint(), mode="all_processes")
    found = told(of, Hit("gpu", 250.0, 5), Hit("reset_gpu", 260.0, 9))
    first, second = found.of("failure")
    assert (first.state, second.state) == ("running", "waiting")
    assert (first.recovery, second.recovery) == (1, 1)
    assert second.text.startswith("the recovery starts again")
    assert near(first.lost, 44.0, second.lost, 0.0)
    (runs,) = found.of("runs")
    assert runs.at == second.until > first.until
    judge(
        found, simulate(of, seed=0, replication=0, trace=script(of, Hit("gpu", 250.0, 5), Hit("reset_gpu", 260.0, 9)))
    )
    return found


def test_a_failure_within_a_recovery() -> None:
    a_second_in_the_recovery()


def refused(event: Event) -> dict[str, str]:
    return dict(event.refused)


def test_in_place_and_why_not() -> None:
    """A page that its stripe rebuilds, a burst that it cannot, and a lost GPU."""
    of = scenario(RETRY, {"stripe": {**STRIPE["stripe"], "mapping": "contiguous"}}, checkpoint())
    start = of.timeline.start
    found = told(of, Hit("page", start(24) + 4.2, 3), Hit("burst", start(60) + 4.2, 3), Hit("gpu", start(90), 3))
    page, burst, gpu = found.of("failure")
    assert (page.tier, page.version, page.region, page.contained, page.rows) == ("stripe", None, "weights", True, 1)
    assert list(refused(page)) == ["retry"]
    assert 0.0 < page.lost < 4.2  # the kernel in progress
    assert page.lost == pytest.approx((page.at - page.since) * of.useful_share)
    assert (burst.tier, burst.rows) == ("checkpoint", 6)
    assert refused(burst)["stripe"] == "more pages of a stripe were lost than its parity makes up for"
    assert refused(gpu)["stripe"] == "never covers a lost GPU"
    assert page.recovery < burst.recovery < gpu.recovery


def test_who_was_in_no_position() -> None:
    """All processes exit: nothing in GPU memory outlives that. Then too many of one stripe's nodes are lost."""
    found = told(scenario(NODES, checkpoint(), mode="all_processes"), Hit("gpu", 250.0, 5))
    assert refused(found.of("failure")[0])["nodes"] == "no GPU memory outlives this restart"
    rack = told(scenario(NODES, checkpoint(), mode="in_process"), Hit("rack", 255.0, 5))
    assert refused(rack.of("failure")[0]) == {"nodes": "too many of its members were lost"}


def test_groups_go_out_and_come_back() -> None:
    """tests/engine/test_replica_group: two out until 646 and 746, each 541 s after its failure."""
    found = told(job(**SHORT), Hit("gpu", 105.0), Hit("gpu", 205.0, 8))
    outs, ins = found.of("out"), found.of("in")
    assert near(outs[0].at, 139.0, outs[0].until, 646.0, outs[1].at, 239.0, outs[1].until, 746.0)
    assert near(ins[0].at, 646.0, ins[1].at, 746.0)
    assert [e.text for e in ins] == ["group 0 contributes again", "group 2 contributes again"]
    assert found.row["degraded_s"] == pytest.approx(sum(s.booked.get("degraded", 0.0) for s in found.spans))


def test_what_strikes_only_what_is_out() -> None:
    found = told(job(**SHORT, cluster__gpus_per_node=2), Hit("gpu", 105.0), Hit("gpu", 300.0, 2))
    (outside,) = found.of("outside")
    assert (outside.at, outside.state, outside.recovery) == (300.0, "running", 0)
    (back,) = found.of("in")
    assert back.at == pytest.approx(841.0)  # out for longer: 300 + 541


def test_a_corruption_is_unseen_until_it_is_found() -> None:
    of = scenario(checkpoint(), mode="all_processes")
    found = told(of, Hit("silent", 150.0, 2))
    (unseen,), (late,) = found.of("unseen"), found.of("found")
    assert (unseen.gpu, late.version) == (2, 10)
    assert near(unseen.at, 150.0, late.at, 450.0, late.since, 100.0)  # captured before 150
    assert "unseen for 5 min" in late.text


def test_planned_stops_save_first() -> None:
    of = fleet_jobs.job(checkpoint())
    found = record(of, seed=0, replication=0, trace=fleet_jobs.written(of, fleet_jobs.Blow("stop", 250.0)))
    (planned,), (saved,) = found.of("planned"), found.of("saved")
    assert (planned.at, saved.at, saved.tier) == (250.0, 250.0, "checkpoint")
    assert saved.version == planned.version
    assert not found.of("failure")


def test_waiting_for_a_node_that_never_comes() -> None:
    """The run ends while the job waits: it never runs again."""
    of = scenario(checkpoint(), mode="all_processes", cluster__spare_nodes=0, run={"horizon": "600 s"})
    found = told(of, Hit("gpu", 250.0, 5))
    assert not found.of("runs")
    assert found.spans[-1].doing == "waiting"
    assert found.of("asked")[0].until == pytest.approx(750.0 + 20.0)


def test_nothing_fails() -> None:
    found = told(scenario(checkpoint(), mode="all_processes"))
    assert [event.kind for event in found.events] == ["end"]
    assert spans(found) == [(0.0, 5000.0, WORK)]
    assert isnan(found.events[0].since)


def test_the_listener_costs_nothing_when_absent() -> None:
    """Nothing of it is left in a job that nobody listens to."""
    of = scenario(checkpoint(), mode="all_processes")
    record(of, seed=0, replication=0)
    with replaced("gemsim.engine.noted:Booked.__setitem__", lambda _: _never):
        simulate(of, seed=0, replication=0)


def _never(*_: Any) -> None:
    raise AssertionError("a run that nobody listens to notes what it books")


# ---------------------------------------------------------------- planted faults


def forgotten_rollback() -> AbstractContextManager[None]:
    return replaced("gemsim.engine.noted:Booked.taken_back", lambda _: lambda self: 0.0)


def swallowed_column() -> AbstractContextManager[None]:
    """What is booked as waiting is not told."""

    def make(original: Any) -> Any:
        def taken(self: Booked) -> list[tuple[str, float]]:
            return [note for note in original(self) if note[0] != "waiting"]

        return taken

    return replaced("gemsim.engine.noted:Booked.taken", make)


def no_state() -> AbstractContextManager[None]:
    """Every failure is said to strike a running job."""
    return replaced("gemsim.engine.noted:Spans.doing", lambda _: property(lambda self: "running"))


def in_whatever_order() -> AbstractContextManager[None]:
    def make(original: Any) -> Any:
        return lambda self: sorted(original(self))

    return replaced("gemsim.engine.noted:Booked.taken", make)


def whole() -> None:
    judge(one_failure(), simulate(of := scenario(checkpoint(), mode="all_processes"), seed=0, replication=0,
                                  trace=script(of, Hit("gpu", 250.0, 5))))  # fmt: skip


@pytest.mark.parametrize("fault", [forgotten_rollback, swallowed_column, in_whatever_order])
def test_planted(fault: Any) -> None:
    must_reject(whole, fault())


def test_planted_state() -> None:
    def check() -> None:
        a_second_in_the_recovery()

    must_reject(check, no_state())


def test_every_column_has_a_place() -> None:
    assert set(one_failure().ledger()) == set(LEDGER)
