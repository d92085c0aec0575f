"""Spare rows of GPU memory: a row that has its spare already cannot have another."""

from __future__ import annotations

from contextlib import nullcontext
from unittest.mock import patch

from gemsim.engine.plain import Stretch
from gemsim.engine.rows import Rows
from gemsim.failures.memory import Geometry
from tests.engine.small import MEMORY, RETRY, STRIPE, Hit, checkpoint, run, scenario
from tests.faults import must_reject, replaced
from tests.fleet.fleet_jobs import GPU, Blow, job, play

GEOMETRY = Geometry(2, 4, 1000, 1024)
SAME = {"bank": 0.0, "row": 0.5}.__getitem__


def same_row_again(*, reset: bool) -> bool:
    """Whether an error of a row that had one before is refused."""
    rows = Rows(GEOMETRY, per_node=8)
    assert not rows.hit(11, 1, SAME)
    if reset:
        rows.serve([11])
    return rows.hit(11, 1, SAME)


def test_a_row_needs_no_second_spare_before_the_first_is_in_use() -> None:
    assert not same_row_again(reset=False)


def test_a_row_with_a_spare_is_refused_another() -> None:
    assert same_row_again(reset=True)


SHOP = {"repair": {"stages": [{"name": "repair", "time": "1 h"}]}}


def waited(row: float) -> float:
    """Seconds of waiting in a run with two page errors in one bank, each before a crash that restarts all processes;
    the first is of the row at mark 0.5, the second of the row at this mark."""
    of = scenario(
        RETRY, STRIPE, checkpoint(), failures__remap_budget=True, fleet=SHOP, cluster__spare_activation="60 s"
    )
    marks = ({"bank": 0.0, "row": mark} for mark in (0.5, row))
    pages = (Hit("page", when, 5, "moments", marks=mark) for when, mark in zip((204.0, 804.0), marks, strict=True))
    return float(run(of, *pages, Hit("software", 500.0), Hit("software", 1100.0))["waiting_s"])


def the_second_time_its_node_leaves() -> None:
    assert waited(0.5) > waited(0.9) + 20.0


def test_a_row_that_was_remapped_and_fails_again_costs_the_node() -> None:
    the_second_time_its_node_leaves()


def test_rows_that_are_never_served_are_noticed() -> None:
    must_reject(the_second_time_its_node_leaves, replaced("gemsim.engine.rows:Rows.serve", lambda _: lambda *_: None))


def after_a_crash(*, plain: bool) -> float:
    """Seconds of waiting where an error in free memory has left its row waiting, a crash that nothing complicates has
    restarted all processes, and the same row fails again before another crash."""
    error = {**GPU, "name": "mem", **MEMORY, "action": "restart_app", "lands": "all"}
    error.pop("repair")
    of = job(checkpoint(), kinds=[error, GPU], fleet=SHOP | {"spares": {"hot": 2}}, failures__remap_budget=True)
    marks = {"contained": 0.0, "bank": 0.0, "row": 0.5, "region": 0.999}
    pages = [Blow("mem", when, 5, marks=marks) for when in (1000.0, 3000.0)]
    with nullcontext() if plain else patch.object(Stretch, "begins", False):
        return float(play(of, *pages, *(Blow("gpu", when, 9) for when in (2000.0, 4000.0)))["waiting_s"])


def test_a_crash_played_in_one_go_serves_rows_too() -> None:
    assert after_a_crash(plain=True) == after_a_crash(plain=False)
    with patch.object(Stretch, "begins", True):
        assert after_a_crash(plain=True) < after_a_crash(plain=False)  # what it is if the plain loop does not look
