"""The fleet ledger: timelines worked out by hand in node-seconds, and faults that keep it from closing.

Four nodes of four GPUs in the job; what is lost at 100 s comes back 500 s later. See test_scripted_nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gemsim.results.ledger import FLEET_LEDGER
from tests.faults import replaced
from tests.fleet.fleet_jobs import Blow, job, play
from tests.fleet.test_scripted_nodes import NEVER_BACK, mending

HORIZON, JOB, GPUS = 5000.0, 4, 4


def ledger(row: dict[str, Any]) -> dict[str, float]:
    """Node-seconds by state; those that are zero are left out."""
    found = {name.removeprefix("gpu_s_"): row[name] / GPUS for name in (*FLEET_LEDGER, "gpu_s_reserved")}
    assert sum(row[name] for name in FLEET_LEDGER) == pytest.approx(row["gpu_s_reserved"], rel=1e-9)
    return {name: seconds for name, seconds in found.items() if abs(seconds) > 1e-6}


def test_a_spare_stands_by_until_it_is_called_and_a_node_in_repair_until_it_is_back() -> None:
    row = play(job(fleet={"spares": {"hot": 1}, "repair": mending(500.0)}), Blow("gpu", 100.0, 1))
    job_, hot = JOB * HORIZON, HORIZON - 500.0
    assert ledger(row) == pytest.approx({"job": job_, "hot": hot, "repair": 500.0, "reserved": 5 * HORIZON})


def test_without_a_spare_the_place_is_empty_meanwhile() -> None:
    row = play(job(fleet={"repair": mending(500.0)}), Blow("gpu", 100.0, 1))
    whole = JOB * HORIZON
    assert ledger(row) == pytest.approx({"job": whole - 500.0, "repair": 500.0, "reserved": whole})


def test_kinds_of_spares_are_told_apart() -> None:
    spares = {"hot": 1, "warm": 2, "cold": 3}
    row = play(job(fleet={"spares": spares, "repair": NEVER_BACK}), *(Blow("gpu", 100.0 * n, 4 * n) for n in (1, 2)))
    empty = 4.0  # a warm one is called for when the failure is known
    expected = {"job": JOB * HORIZON - empty, "hot": 100.0, "warm": HORIZON + 200.0 + empty, "cold": 3 * HORIZON}
    assert ledger(row) == pytest.approx(expected | {"repair": 4900.0 + 4800.0, "reserved": 10 * HORIZON})


def test_a_borrowed_node_is_reserved_from_when_it_comes() -> None:
    spares = {"borrow": 2, "borrow_each": "300 s"}
    row = play(job(fleet={"spares": spares, "repair": NEVER_BACK}), Blow("gpu", 100.0, 1))
    came = 100.0 + 4.0 + 300.0  # it is asked for when the failure is known
    empty = came - 100.0
    expected = {"job": JOB * HORIZON - empty, "repair": 4900.0, "reserved": JOB * HORIZON + HORIZON - came}
    assert ledger(row) == pytest.approx(expected)


def test_a_retired_node_is_reserved_until_it_goes_and_a_new_one_from_when_it_comes() -> None:
    fleet = {"spares": {"hot": 1}, "retire": {"after": 1, "within": "1 d", "restock": "1000 s"}}
    row = play(job(fleet=fleet), Blow("gpu", 100.0, 1))
    assert row["retired"] == 1
    hot = 100.0 + HORIZON - 1100.0
    assert ledger(row) == pytest.approx({"job": JOB * HORIZON, "hot": hot, "reserved": 5 * HORIZON - 1000.0})


def test_a_spare_that_does_not_start_counts_as_the_jobs_until_that_is_known() -> None:
    spares = {"hot": 2, "join_fails": 0.5, "join_timeout": "60 s"}
    of = job(fleet={"spares": spares, "repair": NEVER_BACK})
    row = play(of, Blow("gpu", 100.0, 1, marks={"join:0": 0.4, "join:1": 0.6}))
    known = 104.0 + 20.0 + 60.0  # detection, the time that it should have taken, and the time-out
    expected = {"job": JOB * HORIZON, "hot": 100.0 + known, "repair": 4900.0 + HORIZON - known}
    assert ledger(row) == pytest.approx(expected | {"reserved": 6 * HORIZON})


def _forgets(original: Callable[..., None]) -> Callable[..., None]:
    return lambda *_: None


@pytest.mark.parametrize("name", ["joins", "leaves"])
def test_a_node_that_is_forgotten_keeps_the_ledger_from_closing(name: str) -> None:
    of = job(fleet={"repair": mending(500.0)})
    with (
        replaced(f"gemsim.engine.books:Books.{name}", _forgets),
        pytest.raises(RuntimeError, match="fleet ledger"),
    ):
        play(of, Blow("gpu", 100.0, 1))
