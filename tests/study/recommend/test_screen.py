"""The space and its screening: against each point built by itself, and with what cannot be counted by its reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gemsim.analytic.losses import losses
from gemsim.analytic.run import predict
from gemsim.errors import GemsimError, Infeasible, NotCovered
from gemsim.scenario import build, describe
from gemsim.spec.loading import LoadedStudy, resolve_point
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.screen import LOSSES, Screened, Tools, screened
from gemsim.study.recommend.space import named, structures
from gemsim.study.recommend.tools import TOOLS
from tests.faults import must_reject, replaced
from tests.study.recommend import slow, small

SLOW = Tools(build=build, describe=describe, screen=slow.screen)
SPARES = {"cluster.spare_nodes": [2, 8]}


def table(loaded: LoadedStudy, tools: Tools | None = None, **options: Any) -> Screened:
    return screened(loaded, structures(loaded), tools or TOOLS, Sought("goodput"), **options)


def test_only_what_changes_the_build_makes_a_structure() -> None:
    loaded = small.study(variables={**small.STUDY["decide"]["variables"], **SPARES})
    found = structures(loaded)
    assert [one.variant for one in found] == ["a code"] * 3 + ["copies"]
    assert [one.chosen for one in found[:2]] == [{"protection.stripe.m": 0}, {"protection.stripe.m": 1}]
    assert [[axis.kind for axis in one.axes] for one in found[2:]] == [
        ["interval", "spares"],
        ["every", "interval", "spares"],
    ]
    assert sum(one.points for one in found) == 3 * 4 * 2 + 2 * 4 * 2


def test_a_point_is_assigned_the_values_at_its_place() -> None:
    one = structures(small.study(variables={**small.STUDY["decide"]["variables"], **SPARES}))[-1]
    values = [one.values(flat) for flat in range(one.points)]
    assert len({repr(value) for value in values}) == one.points
    assert values[-1] == {
        "protection.replica.every": 20, "protection.checkpoint.interval": "4 h", "cluster.spare_nodes": 8,
    }  # fmt: skip
    assert one.assignments(0)["protection"] == small.STUDY["compare"]["copies"]["protection"]


def test_whole_protections_are_decided_by_their_names() -> None:
    given = ["gemini", [{"retry": {}}, small.REPLICA, {"checkpoint": small.CHECKPOINT}]]
    loaded = small.study(compare={}, variables={"protection": given, "protection.replica.every": [1, 5]})
    found = structures(loaded)
    assert [one.variant for one in found] == ["gemini", named(given[1])]
    assert found[1].variant.startswith("retry + replica")
    assert all(build(resolve_point(loaded, one.assignments(0))).tiers for one in found)


def check_against_points() -> None:
    loaded = small.study(variables={**small.STUDY["decide"]["variables"], **SPARES})
    found = table(loaded)
    assert len(found.flat) + sum(found.uncovered.values()) == found.points
    for row in range(len(found.flat)):
        scenario = build(resolve_point(loaded, found.assignments(row)))
        form, static = predict(scenario), describe(scenario)
        assert found.columns["value"][row] == pytest.approx(form["ettr_analytic"], abs=1e-9)
        assert found.columns["spare_nodes"][row] == scenario.spare_nodes
        for name in ("step_overhead", "memory_overhead", "interval_s", "survivable_burst_pages"):
            assert found.columns[name][row] == pytest.approx(static[name], rel=1e-9), name


def test_the_table_has_what_each_point_has_when_built_by_itself() -> None:
    check_against_points()


def test_stalls_at_the_interval_of_the_base_are_caught() -> None:
    """The step overhead of each point follows from its own intervals, not from those the structure was built with."""

    def blind(original: Any) -> Any:
        return lambda spec, scenario, static, table, spares: original(spec, scenario, static, {}, spares)

    must_reject(check_against_points, replaced("gemsim.study.recommend.screen:beside", blind))


FLEETING: dict[str, Any] = {  # copies in memory and nothing behind them
    "protection": [{"retry": {}}, small.REPLICA],
    "compare": {},
    "variables": {"protection.replica.every": [1, 20, 5000], **SPARES},
}


def check_losses() -> None:
    loaded = small.study(**FLEETING)
    found = table(loaded, columns=[LOSSES])
    assert len(found.flat) == 6
    assert len(set(found.columns[LOSSES])) == 6
    for row, lost in enumerate(found.columns[LOSSES]):
        assert lost == pytest.approx(losses(build(resolve_point(loaded, found.assignments(row)))).per_run, rel=1e-9)


def test_losses_are_those_of_each_point_and_not_of_its_structure() -> None:
    check_losses()

    def of_the_base(original: Any) -> Any:
        return lambda scenario, every, spares: original(scenario, {}, spares)

    must_reject(check_losses, _losses_by(of_the_base(TOOLS.losses)))


@contextmanager
def _losses_by(losses: Any) -> Iterator[None]:
    with replaced("tests.study.recommend.test_screen:TOOLS", lambda tools: dataclasses.replace(tools, losses=losses)):
        yield


def test_points_that_go_one_by_one_are_few_or_refused_at_once() -> None:
    """A work target has no form on arrays; a million such points would take hours."""
    loaded = small.study(run={"steps": 1000, "replications": 4, "seed": 7}, objective={"finish": 0.9})
    assert len(table(loaded).flat)
    calls: list[int] = []

    def counted(original: Any) -> Any:
        def looked(*given: Any, **options: Any) -> Any:
            calls.append(1)
            return original(*given, **options)

        return looked

    with (
        replaced("gemsim.study.recommend.screen:MOST_ALONE", lambda most: 3),
        replaced("gemsim.analytic.screen:predict", counted),
        pytest.raises(
            GemsimError, match=r"small\.yaml:1:\d+: decide\.variables: too many points \(20\) where .* at most 3"
        ),
    ):
        table(loaded)
    assert not calls


def test_an_interval_that_is_given_is_rounded_and_refused_as_the_build_does() -> None:
    intervals = ["1 s", "3 s", "9 s", "31 s", "100 s"]
    loaded = small.study(variables={"protection.checkpoint.interval": intervals}, compare={})
    found = table(loaded)
    kept = {found.assignments(row)["protection.checkpoint.interval"] for row in range(len(found.flat))}
    possible = set()
    for value in intervals:
        try:
            build(resolve_point(loaded, {"protection.checkpoint.interval": value}))
        except Infeasible:
            continue
        possible.add(value)
    assert kept == possible
    assert sum(found.infeasible.values()) == len(intervals) - len(possible)


def test_what_cannot_be_built_is_counted_by_its_reason() -> None:
    variables = {"protection.stripe.k": [16, 10**6], "protection.checkpoint.interval": ["optimal", "1 h"]}
    found = table(small.study(variables=variables, compare={}))
    assert found.points == 4
    assert len(found.flat) == 2
    ((reason, points),) = found.infeasible.items()
    assert "1000000" in reason.replace(",", "")
    assert points == 2


def test_what_has_no_form_is_counted_and_named() -> None:
    def screen(scenario: Any, **axes: Any) -> Any:
        raise NotCovered("planted")

    loaded = small.study(compare={}, variables={"protection.checkpoint.interval": ["optimal", "1 h"]})
    found = table(loaded, dataclasses.replace(TOOLS, screen=screen))
    assert found.uncovered == {"planted": 2}
    assert found.open == [(0, 0), (0, 1)]
    assert not len(found.flat)


def test_structures_that_are_one_design_are_joined() -> None:
    variables = {"protection.stripe.k": [16, 32], "protection.stripe.m": [0, 1]}
    found = table(small.study(compare={}, variables=variables))
    assert found.points == 4
    assert found.joined == 1  # m = 0 for every k
    assert len(found.flat) == 3


def test_the_slow_screening_agrees() -> None:
    loaded = small.study()
    fast, other = table(loaded), table(loaded, SLOW)
    np.testing.assert_allclose(fast.columns["value"], other.columns["value"], atol=1e-9)
