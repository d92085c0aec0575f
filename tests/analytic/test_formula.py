"""The sum by hand: done again from its printed lines and its table alone, by arithmetic of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp

import pytest

from gemsim.analytic.formula import Formula, formula
from gemsim.analytic.run import traced
from gemsim.analytic.rungs import Rung
from gemsim.errors import Infeasible
from gemsim.scenario import Scenario, build
from tests.analytic.by_hand import ettr_by_hand, standing_by_hand, struck_by_hand
from tests.laws.jobs import ASYNC, EXACT, GPU, LINK, Case
from tests.studies import world


def table(rungs: Sequence[Rung]) -> list[tuple[float, float, float, float]]:
    return [(rung.seconds, rung.restarting, rung.keeping, rung.in_place) for rung in rungs]


def again(found: Formula) -> float:
    wall = any("(1 - e^(-B tau)) / B" in line.how for line in found.lines)
    return ettr_by_hand({line.symbol: line.value for line in found.lines}, wall_anchor=wall)


def check(of: Scenario) -> Formula:
    """The lines give ETTR, and the table gives W and B."""
    twin, behind = traced(of)
    found = formula(behind[0])
    lines = {line.symbol: line.value for line in found.lines}
    assert found.ettr == pytest.approx(twin["ettr_analytic"], abs=1e-12)
    assert again(found) == pytest.approx(found.ettr, rel=1e-9)
    rows = table(found.rungs)
    assert [rung.standing for rung in found.rungs] == pytest.approx(standing_by_hand(rows), rel=1e-9)
    assert [rung.rolled for rung in found.rungs] == pytest.approx(struck_by_hand(rows), rel=1e-9, abs=1e-15)
    standing = sum(sum(one.begins) * s for one, s in zip(found.rungs, standing_by_hand(rows), strict=True))
    begins = [one.begins for one in found.rungs]
    rolled = sum(b + (k + a) * p for (b, k, a), p in zip(begins, struck_by_hand(rows), strict=True))
    assert lines["W"] == pytest.approx(1.0 + standing, rel=1e-9)
    assert lines["B"] == pytest.approx(rolled, rel=1e-9, abs=1e-18)
    return found


@pytest.mark.parametrize("name", sorted(EXACT))
def test_the_sum_can_be_done_again(name: str) -> None:
    check(EXACT[name].scenario(20.0))


@pytest.mark.parametrize("name", world.NAMES)
def test_so_it_can_on_shipped_studies(name: str) -> None:
    for design in world.designs(name)[:: max(1, len(world.designs(name)) // 6)]:
        try:
            of = build(world.spec(name, design))
        except Infeasible:
            continue
        check(of)


def test_saves_on_the_wall_clock_have_a_sum_of_their_own() -> None:
    wall = Case("in_process", 4, (GPU, LINK), (ASYNC,), {"protection.checkpoint.anchor": "wall"})
    found = check(wall.scenario(20.0))
    assert "(1 - e^(-B tau)) / B" in next(line.how for line in found.lines if line.symbol == "U")


def test_a_line_that_is_off_is_seen() -> None:
    """The arithmetic of the test hangs on every line: each by a thousandth moves what comes out."""
    found = check(EXACT["in_process x8"].scenario(20.0))
    lines: Mapping[str, float] = {line.symbol: line.value for line in found.lines}
    used = [
        symbol for symbol in lines if symbol not in ("n", "w", "k", "a", "L", "E", "K", "s", "U", "G", "R", "A", "ETTR")
    ]
    used = [symbol for symbol in used if lines[symbol]]
    moved = {symbol: ettr_by_hand({**lines, symbol: lines[symbol] * 1.01}) for symbol in used}
    assert all(abs(value / found.ettr - 1.0) > 1e-8 for value in moved.values()), moved


def test_a_factor_by_hand() -> None:
    lines = {"T": 1.0, "p": 1.0, "tau": 100.0, "d": 5.0, "g": 10.0, "b": 1e-3, "B": 1e-3, "W": 1.2}
    expected = 100.0 * 1e-3 / (exp(0.105) - 1.0) * exp(-0.01) / 1.2
    assert ettr_by_hand(lines) == pytest.approx(expected, rel=1e-12)
