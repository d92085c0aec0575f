"""Bounds, front, picks and what bounds cost, on tables of numbers against plain loops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from gemsim.spec.study import Requirement
from gemsim.study.recommend.constraints import nearest, shadows
from gemsim.study.recommend.front import cheapest, met, pareto, picks, tied_with_best
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.screen import Screened
from gemsim.study.recommend.space import Structure
from tests.faults import must_reject, replaced

GOODPUT = Sought("goodput")
HALF = Requirement("<=", 0.005)


def made(number: int = 400, *, seed: int = 1, **columns: Any) -> Screened:
    """A table of random designs of twenty structures."""
    rng = np.random.default_rng(seed)
    ettr = rng.uniform(0.9, 0.97, number)
    given = {
        "ettr_analytic": ettr,
        "memory_overhead": rng.integers(0, 8, number) / 1000.0,
        "step_overhead": rng.uniform(0.0, 0.02, number),
        "spare_nodes": rng.integers(0, 5, number).astype(float),
        "survivable_burst_pages": rng.integers(0, 100, number).astype(float),
    }
    given |= {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    given["value"] = given["ettr_analytic"]
    kinds = [Structure(at, f"variant {at % 3}", {}, {"protection.stripe.k": at}, ()) for at in range(20)]
    which = rng.integers(0, 20, number)
    return Screened(kinds, given, which, np.zeros(number, dtype=np.int64), number, 0, Counter(), Counter(), [], {})


def check_front(seed: int) -> None:
    table = made(seed=seed)
    rows = np.arange(len(table.flat))
    columns = [table.columns[name] for name in ("ettr_analytic", "memory_overhead", "spare_nodes")]

    def beats(one: int, other: int) -> bool:
        ettr, memory, spares = ([column[at] for at in (one, other)] for column in columns)
        no_worse = ettr[0] >= ettr[1] and memory[0] <= memory[1] and spares[0] <= spares[1]
        return bool(no_worse and (ettr[0] > ettr[1] or memory[0] < memory[1] or spares[0] < spares[1]))

    brute = {int(at) for at in rows if not any(beats(int(other), int(at)) for other in rows)}
    assert set(pareto(rows, table, GOODPUT)) == brute


@pytest.mark.parametrize("seed", range(5))
def test_the_front_is_what_nothing_beats(seed: int) -> None:
    check_front(seed)


def test_a_front_without_spares_is_caught() -> None:
    def blind(original: Any) -> Any:
        def without(rows: Any, table: Any, sought: Any) -> Any:
            return original(rows, made(seed=3, spare_nodes=np.zeros(400)), sought)

        return without

    must_reject(lambda: check_front(3), replaced("tests.study.recommend.test_front:pareto", blind))


def test_the_cheapest_is_so_among_those_that_tie() -> None:
    table = made(6, ettr_analytic=[0.9600, 0.9599, 0.9598, 0.9597, 0.9590, 0.95],
                 memory_overhead=[0.004, 0.002, 0.002, 0.003, 0.0, 0.0], step_overhead=[0, 0.01, 0.005, 0, 0, 0],
                 spare_nodes=[9, 9, 9, 4, 1, 1])  # fmt: skip
    rows = np.arange(6)
    tied = tied_with_best(rows, table, GOODPUT)
    assert tied.tolist() == [0, 1, 2, 3]
    assert cheapest(tied, table, GOODPUT) == 2
    assert cheapest(tied, table, GOODPUT, first="spare_nodes") == 3


def test_picks_hold_the_best_the_cheapest_tied_and_each_variant() -> None:
    table = made()
    rows = np.flatnonzero(met(table, {"memory_overhead": HALF}, GOODPUT))
    found = picks(rows, pareto(rows, table, GOODPUT), table, GOODPUT, number=8)
    chosen = [pick.row for pick in found]
    assert len(chosen) == len(set(chosen)) == 8
    assert set(chosen) <= set(rows.tolist())
    assert chosen[0] == int(rows[np.argmax(table.columns["value"][rows])])
    assert cheapest(tied_with_best(rows, table, GOODPUT), table, GOODPUT) in chosen
    assert {table.structures[table.structure[row]].variant for row in chosen} == {f"variant {n}" for n in range(3)}


def test_a_bound_costs_what_the_best_without_it_has_more() -> None:
    table = made()
    require = {"memory_overhead": HALF, "step_overhead": Requirement("<", 0.004)}
    columns = table.columns
    both = (columns["memory_overhead"] <= 0.005) & (columns["step_overhead"] < 0.004)
    memory, step = shadows(table, require, GOODPUT)
    assert memory.costs == pytest.approx(
        columns["value"][columns["step_overhead"] < 0.004].max() - columns["value"][both].max()
    )
    assert step.costs == pytest.approx(
        columns["value"][columns["memory_overhead"] <= 0.005].max() - columns["value"][both].max()
    )
    assert memory.bound == "memory_overhead <= 0.5 %"


def test_a_bound_that_only_the_engine_can_judge_screens_nothing() -> None:
    table = made()
    require = {"time_waiting": Requirement("<=", 0.0)}
    assert met(table, require, GOODPUT).all()
    (one,) = shadows(table, require, GOODPUT)
    assert one.judged == "by the engine alone"


def test_the_nearest_misses_least_of_its_bounds() -> None:
    table = made(3, memory_overhead=[0.006, 0.010, 0.02], survivable_burst_pages=[10, 60, 63])
    require = {"memory_overhead": HALF, "survivable_burst_pages": Requirement(">=", 63.0)}
    found = nearest(table, require, GOODPUT)
    assert found is not None
    assert found.row == 1  # misses by a third and a seventeenth of what there is; the others by all of one of them
    assert [(miss.column, miss.value) for miss in found.misses] == [
        ("memory_overhead", 0.010), ("survivable_burst_pages", 60.0),
    ]  # fmt: skip


def test_a_narrow_bound_is_no_reason_to_give_up_the_other() -> None:
    """A hundred times a bound of nearly nothing is still nearly nothing."""
    table = made(2, step_overhead=[0.001, 0.00002], ettr_analytic=[0.96, 0.10])
    require = {"step_overhead": Requirement("<=", 0.00001), "ettr_analytic": Requirement(">=", 0.99)}
    found = nearest(table, require, GOODPUT)
    assert found is not None
    assert found.row == 0
