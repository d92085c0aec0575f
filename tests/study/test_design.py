"""Design points: their order, their groups, and what a variant does not have."""

from __future__ import annotations

from typing import Any

from gemsim.study.design import expand, short_names

Compare = dict[str, dict[str, Any]]
K, M, MODE = "protection.stripe.k", "protection.stripe.m", "restart"


def test_variants_are_outermost_and_the_last_axis_is_fastest() -> None:
    points = expand(
        grid={K: [8, 16], M: [0, 1]},
        zipped={"cluster.gpus": [8, 16], "workload.parallel.data": [1, 2]},
        compare={"near": {"protection": []}, "far": {"protection": []}},
    )
    assert [point.index for point in points] == list(range(16))
    assert [point.variant for point in points] == ["near"] * 8 + ["far"] * 8
    assert [(p.columns[K], p.columns[M], p.columns["cluster.gpus"]) for p in points[:5]] == [
        (8, 0, 8), (8, 0, 16), (8, 1, 8), (8, 1, 16), (16, 0, 8),
    ]  # fmt: skip
    assert all(p.columns["workload.parallel.data"] == p.columns["cluster.gpus"] / 8 for p in points)


def test_a_study_without_a_sweep_is_one_point() -> None:
    (point,) = expand(grid={}, zipped={}, compare={})
    assert (point.columns, point.assignments, point.group, point.variant) == ({}, {}, (), "")


def test_a_variant_is_assigned_before_what_is_swept() -> None:
    (point,) = expand(grid={K: [8]}, zipped={}, compare={"coded": {"protection": [{"stripe": {"k": 4}}]}})
    assert list(point.assignments) == ["protection", K]


def test_points_compete_where_only_protection_differs() -> None:
    points = expand(grid={K: [8, 16], MODE: ["holder", "in_place"]}, zipped={}, compare={})
    assert [point.group for point in points] == [((MODE, "holder"),), ((MODE, "in_place"),)] * 2


def test_what_competes_is_kept_beside_the_group() -> None:
    (point,) = expand(grid={"fleet.spares.hot": [4], "protection.stripe.m": [2]}, zipped={}, compare={})
    assert (point.group, point.protection) == ((("fleet.spares.hot", "4"),), (("protection.stripe.m", "2"),))


def test_variants_of_protection_alone_compete_and_others_do_not() -> None:
    compare: Compare = {
        "nothing": {"protection": []},
        "code": {"protection": [{"stripe": {}}]},
        "elsewhere": {"protection": [], "restart": "holder"},
        "elsewhere too": {"restart": "holder"},
    }
    groups = [point.group for point in expand(grid={}, zipped={}, compare=compare)]
    assert groups == [(), (), ((MODE, "holder"),), ((MODE, "holder"),)]


def test_what_the_study_itself_has_is_the_group_of_a_variant_that_leaves_it() -> None:
    compare: Compare = {"as it is": {}, "the same": {"restart": "holder"}, "another": {"restart": "in_place"}}
    groups = [point.group for point in expand(grid={}, zipped={}, compare=compare, base={"restart": "holder"})]
    assert groups == [((MODE, "holder"),), ((MODE, "holder"),), ((MODE, "in_place"),)]


def test_a_swept_value_stands_before_what_the_study_has() -> None:
    (point,) = expand(grid={MODE: ["in_place"]}, zipped={}, compare={"one": {}}, base={MODE: "holder"})
    assert point.group == ((MODE, "in_place"),)


def test_an_axis_that_a_variant_lacks_does_not_multiply_it() -> None:
    compare: Compare = {"nothing": {"protection": []}, "code": {"protection": [{"stripe": {}}]}}
    points = expand(
        grid={K: [8, 16], MODE: ["holder", "in_place"]},
        zipped={},
        compare=compare,
        has=lambda sections, path: path != K or bool(sections["protection"]),
    )
    assert [(p.variant, p.columns[K], p.columns[MODE]) for p in points] == [
        ("nothing", "", "holder"), ("nothing", "", "in_place"),
        ("code", 8, "holder"), ("code", 8, "in_place"), ("code", 16, "holder"), ("code", 16, "in_place"),
    ]  # fmt: skip
    assert K not in points[0].assignments


def test_sections_are_shown_as_text() -> None:
    (point,) = expand(grid={"restart": [{"mode": "holder", "process": "60 s"}]}, zipped={}, compare={})
    assert point.columns["restart"] == '{"mode": "holder", "process": "60 s"}'
    assert point.assignments["restart"] == {"mode": "holder", "process": "60 s"}


def test_short_names_are_the_shortest_that_differ() -> None:
    names = short_names(["protection.near.k", "protection.far.k", "protection.far.m", "restart"])
    assert names == {
        "protection.near.k": "near.k",
        "protection.far.k": "far.k",
        "protection.far.m": "m",
        "restart": "restart",
    }
