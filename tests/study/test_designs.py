"""Samples, listed points and blocks: what they expand to, what is drawn, and what the draws are written as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gemsim import units
from gemsim.spec.loading import LoadedStudy, parse_study
from gemsim.spec.printing import canonical_yaml
from gemsim.spec.sampled import Range, SampleSpec, SobolSpec, over_of
from gemsim.spec.swept import SweepSpec
from gemsim.study.design import designs_of, expand, sampled_jobs

K, M, SPARES, STEP = "protection.stripe.k", "protection.stripe.m", "cluster.spare_nodes", "workload.step"
INTERVAL = {"from": "1 min", "to": "1 h", "scale": "log"}
STUDY = Path(__file__).parents[1] / "spec" / "valid" / "designs.yaml"


def sample(kind: type[SampleSpec] = SampleSpec, **given: Any) -> SampleSpec:
    """As read from a file."""
    return kind.model_validate(given)


def sobol(**given: Any) -> SobolSpec:
    """As read from a file."""
    return SobolSpec.model_validate(given)


def loaded(sweep: str, more: str = "") -> LoadedStudy:
    """The study of valid/designs.yaml with another sweep."""
    text = STUDY.read_text().split("sweep:")[0] + f"run: {{horizon: 54 d}}\n{more}\nsweep:\n{sweep}\n"
    return parse_study(text.encode(), "case.yaml")


@pytest.mark.parametrize("kind", [SampleSpec, SobolSpec])
def test_each_of_equal_parts_of_a_range_is_met_once(kind: type[SampleSpec]) -> None:
    drawn = sample(kind, number=64, over={"a": {"from": 0.0, "to": 64.0, "whole": False}, "b": {"from": 1, "to": 64}})
    rows = list(drawn.rows())
    assert sorted(int(row["a"]) for row in rows) == list(range(64))
    assert sorted(row["b"] for row in rows) == list(range(1, 65))


def test_a_seed_draws_the_same_points_again_and_another_seed_others() -> None:
    over = {STEP: INTERVAL}
    first, again, other = (list(sobol(number=8, over=over, seed=seed).rows()) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_the_draws_of_a_sobol_sequence_stay_what_they_are() -> None:
    plain = sobol(number=4, over={"a": {"from": 0, "to": 4, "whole": False}, "b": [1, 2]}, scramble=False)
    assert [(row["a"], row["b"]) for row in plain.rows()] == [(0, 1), (2.0, 2), (3.0, 1), (1.0, 2)]


def test_a_drawn_quantity_has_its_unit_and_reads_back_within_its_ends() -> None:
    for row in sample(number=200, over={"a": INTERVAL, "b": {"from": "1 GB/s", "to": "80 GB/s"}}).rows():
        assert 60.0 <= units.parse(row["a"], "time") <= 3600.0
        assert 1e9 <= units.parse(row["b"], "bandwidth") <= 80e9


@pytest.mark.parametrize(
    ("first", "last", "between"),
    [
        ("1 min", "1 h", "30.5 min"),
        ("0.5 %", "3 %", "1.75 %"),
        (0.005, "3 %", "1.75 %"),
        ("400 Gb/s", "1 Tb/s", "700 Gb/s"),
        ("1e3s", "1e4 s", "5500 s"),
        ("100 GiB", "2 TiB", "1074 GiB"),
    ],
)
def test_draws_are_written_in_the_unit_of_the_first_end(first: Any, last: str, between: str) -> None:
    found = over_of({"from": first, "to": last})
    assert isinstance(found, Range)
    assert (found.at(0.0), found.at(0.5)) == (first, between)


def test_a_logarithmic_range_has_as_many_draws_in_each_factor() -> None:
    rows = list(sample(number=90, over={"a": {"from": 1, "to": 1000, "scale": "log", "whole": False}}).rows())
    assert [sum(low <= row["a"] < 10 * low for row in rows) for low in (1, 10, 100)] == [30, 30, 30]


def test_ends_that_are_whole_numbers_give_whole_numbers_unless_told_not_to() -> None:
    ends = {"from": 1, "to": 3}
    whole, real = over_of(ends), over_of({**ends, "whole": False})
    assert isinstance(whole, Range)
    assert isinstance(real, Range)
    assert [whole.at(share) for share in (0.0, 0.34, 0.99)] == [1, 2, 3]
    assert real.at(0.25) == 1.5


def test_each_word_is_drawn_as_often() -> None:
    rows = list(sobol(number=32, over={"restart": ["in_place", "holder"]}).rows())
    assert [row["restart"] for row in rows].count("holder") == 16


def test_another_number_than_a_power_of_two_is_said() -> None:
    over = {STEP: INTERVAL}
    assert sobol(number=64, over=over).uneven == ""
    assert "64 or 128" in sobol(number=100, over=over).uneven
    assert SweepSpec.model_validate({"nested": [{"sobol": {"number": 3, "over": over}}]}).notes == [
        "3 points of a Sobol sequence are less even than a power of two: 2 or 4"
    ]


def test_designs_multiply_and_count_before_they_are_drawn() -> None:
    given = {
        "grid": {M: [0, 1]},
        "points": [{STEP: "10 s"}, {STEP: "20 s"}, {SPARES: 4}],
        "sobol": {"number": 4, "over": {K: [8, 16]}},
        "nested": [{"grid": {"a": [1, 2]}}, {"points": [{"b": 1}]}],
    }
    sweep = SweepSpec.model_validate(given)
    rows = list(sweep.rows())
    assert sweep.count == len(rows) == 2 * 3 * 4 * 3
    assert sweep.paths == (M, STEP, SPARES, K, "a", "b")


def test_a_point_that_leaves_a_path_out_competes_with_those_that_write_what_the_study_has() -> None:
    lists: list[list[dict[str, Any]]] = [[{SPARES: 2, K: 8}, {K: 16}, {SPARES: 4, K: 8}]]
    points = expand(grid={}, zipped={}, lists=lists, compare={}, base={SPARES: 2})
    assert [point.group for point in points] == [((SPARES, "2"),), ((SPARES, "2"),), ((SPARES, "4"),)]
    assert [point.columns for point in points] == [{SPARES: 2, K: 8}, {SPARES: "", K: 16}, {SPARES: 4, K: 8}]


def test_a_whole_section_is_put_before_what_lies_under_it() -> None:
    study = loaded("  points: [{protection.checkpoint.interval: 2 h, protection: gemini}]")
    (design,) = designs_of(study)
    assert list(design.assignments) == ["protection", "protection.checkpoint.interval"]


def test_rows_lose_the_paths_that_a_variant_has_not_got_and_stand_once() -> None:
    study = loaded(f"  points: [{{{K}: 8}}, {{{K}: 16}}]", "compare: {coded: {}, bare: {protection: []}}")
    assert [(one.variant, one.columns[K]) for one in designs_of(study)] == [("coded", 8), ("coded", 16), ("bare", "")]


def test_drawn_points_are_those_of_the_canonical_study_whatever_seed_runs_it() -> None:
    study = loaded(f"  sobol: {{number: 8, seed: 5, over: {{{STEP}: {{from: 10 s, to: 40 s}}}}}}")
    other = study.spec.model_copy(update={"run": study.spec.run.model_copy(update={"seed": 99})})
    again = parse_study(canonical_yaml(other).encode(), "canonical.yaml")
    assert [one.columns for one in designs_of(again)] == [one.columns for one in designs_of(study)]


def test_what_is_drawn_and_is_no_protection_makes_jobs() -> None:
    study = loaded(f"  sobol: {{number: 2, over: {{{STEP}: {{from: 10 s, to: 40 s}}, {K}: [8, 16]}}}}")
    assert sampled_jobs(study) == (STEP,)
