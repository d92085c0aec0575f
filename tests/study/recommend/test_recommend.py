"""A recommendation as a whole, on a space small enough to try everything by the engine."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemsim.cli.main import main
from gemsim.errors import GemsimError
from gemsim.results.choice import Candidate, choose
from gemsim.results.estimate import paired_interval, poisson_interval
from gemsim.results.rows import RowStore
from gemsim.results.runs import by_design
from gemsim.scenario import Scenario
from gemsim.spec.loading import resolve_point
from gemsim.study.plan import MODEL
from gemsim.study.rare import said as rare_said
from gemsim.study.recommend.answer import Answer
from gemsim.study.recommend.page import render
from gemsim.study.recommend.space import structures
from gemsim.study.recommend.tools import TOOLS
from tests.faults import must_reject, replaced
from tests.study.recommend import small


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answer, Path]:
    """The small study decided, once for all tests that look at it."""
    folder = tmp_path_factory.mktemp("small")
    return small.answer(folder), folder


def everything(replications: int) -> dict[str, tuple[dict[str, Any], Candidate]]:
    """Every design of the small space by the engine: scenario id to the values of its variables and what is judged."""
    loaded = small.study()
    designs: dict[str, tuple[dict[str, Any], Candidate]] = {}
    points = [(one, flat) for one in structures(loaded) for flat in range(one.points)]
    for one, flat in points:
        scenario = MODEL.build(resolve_point(loaded, one.assignments(flat)))
        if scenario.id in designs:
            continue
        rows = [MODEL.simulate(scenario, seed=7, replication=n) for n in range(replications)]
        ettr = np.array([row["productive_s"] / row["wall_s"] for row in rows])
        static = MODEL.describe(scenario)
        costs = static["memory_overhead"], static["step_overhead"]
        designs[scenario.id] = one.values(flat), Candidate(len(designs), ettr, *costs, meets=True)
    return designs


def test_trying_everything_by_the_engine_finds_the_same_choice(found: tuple[Answer, Path]) -> None:
    answer, _ = found
    assert answer.choice is not None
    assert answer.verdict is not None
    designs = everything(answer.verdict.replications)
    brute = choose([one for _, one in designs.values()])
    tied = {id_ for id_, (_, one) in designs.items() if one.index in brute.tied}
    assert answer.choice.id in tied
    assert len(tied) < len(designs) / 2


def test_the_difference_is_that_of_the_rows(found: tuple[Answer, Path]) -> None:
    answer, folder = found
    assert answer.verdict is not None
    assert answer.choice is not None
    assert answer.runner_up is not None
    runs = by_design(RowStore(folder / "rows").read(), answer.verdict.replications)
    choice, other = (runs[one.id]["productive_s"] / runs[one.id]["wall_s"] for one in (answer.choice, answer.runner_up))
    assert answer.verdict.difference == paired_interval(choice, other)
    assert small.said(folder)["difference"]["value"] == pytest.approx(float(np.mean(choice - other)), rel=1e-12)


def test_eight_designs_are_confirmed_on_the_same_failures(found: tuple[Answer, Path]) -> None:
    answer, folder = found
    assert answer.verdict is not None
    table = RowStore(folder / "rows").read()
    assert len(set(table["point"].to_pylist())) == len(answer.verdict.designs) == 8
    assert set(table["seed"].to_pylist()) == {7}
    assert table.num_rows == 8 * answer.verdict.replications


def test_a_better_point_that_is_planted_is_found(tmp_path: Path) -> None:
    variables: dict[str, list[Any]] = {
        "protection.replica.every": [200, 400],
        "protection.checkpoint.interval": ["optimal"],
    }
    worse = small.unmoved(tmp_path / "worse", small.study(variables=variables))
    variables["protection.replica.every"].append(1)
    better = small.unmoved(tmp_path / "better", small.study(variables=variables))
    assert worse.choice is not None
    assert better.choice is not None
    assert worse.choice.design.values.get("protection.replica.every") != 1
    assert better.choice.design.values["protection.replica.every"] == 1
    assert better.told_apart
    assert better.choice.ettr.lo > worse.choice.ettr.value


def test_bounds_that_contradict_each_other_say_what_is_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = {**small.STUDY, "require": {"memory_overhead": "<= 0.2 %", "survivable_burst_pages": ">= 63"}}
    (tmp_path / "study.yaml").write_text(json.dumps(loaded))
    assert main(["recommend", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "out"), "--jobs", "1"]) == 2
    shown = " ".join(capsys.readouterr().out.split())
    assert "Nothing satisfies memory_overhead <= 0.2 % and survivable_burst_pages >= 63." in shown
    assert "The nearest is" in shown
    assert "which misses survivable_burst_pages >= 63 by 63, at 0" in shown
    assert small.said(tmp_path / "out")["choice"] is None
    assert not (tmp_path / "out" / "rows").exists()


def test_the_same_seed_gives_the_same_answer_with_any_number_of_jobs_and_another_does_not(tmp_path: Path) -> None:
    few = small.study(variables={"protection.replica.every": [1, 20], "protection.checkpoint.interval": ["1 h"]})
    for name, jobs in (("one", 1), ("two", 2)):
        small.answer(tmp_path / name, few, number=2, jobs=jobs)
    small.unmoved(tmp_path / "other", few, number=2, seed=8)
    assert small.said(tmp_path / "one") == small.said(tmp_path / "two")
    assert small.said(tmp_path / "one")["break_even"]
    assert small.said(tmp_path / "one")["confirmed"] != small.said(tmp_path / "other")["confirmed"]


def test_a_repeat_simulates_nothing(found: tuple[Answer, Path]) -> None:
    def never(scenario: Scenario, *, seed: int, replication: int) -> dict[str, Any]:
        raise AssertionError("all of it is in the folder")

    before = small.said(found[1])
    again = small.unmoved(found[1], model=dataclasses.replace(MODEL, simulate=never))
    assert not again.failed
    after = small.said(found[1])
    assert after["confirmed"] == before["confirmed"]
    assert after["difference"] == before["difference"]


def test_a_design_whose_simulation_fails_is_named_and_not_chosen(found: tuple[Answer, Path], tmp_path: Path) -> None:
    assert found[0].choice is not None
    best = found[0].choice.id

    def breaks(scenario: Scenario, *, seed: int, replication: int) -> Any:
        if scenario.id == best:
            raise RuntimeError("planted")
        return MODEL.simulate(scenario, seed=seed, replication=replication)

    answer = small.unmoved(tmp_path, model=dataclasses.replace(MODEL, simulate=breaks))
    assert answer.choice is not None
    assert answer.choice.id != best
    (failed,) = answer.failed
    assert failed.id == best
    assert "RuntimeError: planted" in " ".join(render(answer).split())
    assert any("planted" in one["failed"] for one in small.said(tmp_path)["confirmed"])


def test_a_fault_in_building_a_structure_is_raised(tmp_path: Path) -> None:
    calls = itertools.count()

    def build(spec: Any) -> Scenario:
        if next(calls) == 2:
            raise ZeroDivisionError("planted")
        return MODEL.build(spec)  # type: ignore[no-any-return]

    with pytest.raises(ZeroDivisionError, match="planted"):
        small.answer(tmp_path, tools=dataclasses.replace(TOOLS, build=build))


def test_a_study_that_decides_nothing_is_told_so(tmp_path: Path) -> None:
    loaded = small.study()
    bare = dataclasses.replace(loaded, spec=loaded.spec.model_copy(update={"decide": None}))
    with pytest.raises(GemsimError, match=r"small\.yaml:1:1: decide: missing"):
        small.answer(tmp_path, bare)


def test_a_space_of_too_many_structures_is_refused_before_any_is_built(tmp_path: Path) -> None:
    wide = {"protection.stripe.k": {"from": 1, "to": 9999, "step": 1}, "protection.stripe.m": [1, 2, 3]}
    with pytest.raises(GemsimError, match=r"small\.yaml:1:\d+: decide\.variables: too many structures \(29998\)"):
        small.answer(tmp_path, small.study(variables=wide))


def test_a_sweep_of_a_study_that_decides_says_what_it_leaves_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.yaml").write_text(json.dumps(small.STUDY))
    command = [
        "sweep",
        str(tmp_path / "study.yaml"),
        "--out",
        str(tmp_path / "out"),
        "--jobs",
        "1",
        "--replications",
        "2",
    ]
    assert main(command) == 0
    assert "`decide:` is for gemsim recommend and is left aside here" in capsys.readouterr().err


def test_the_page_says_all_that_a_team_needs(found: tuple[Answer, Path]) -> None:
    shown = " ".join(render(found[0]).split())
    for text in (
        "modelled, not measured",
        "Run this",
        "closed form",
        "Runner-up",
        "paired on",
        "Engine and closed form differ most by",
        "The front",
        "How far each input can move",
        "What to measure next",
        "20 points screened by the closed form",
        "Took",
    ):
        assert text in shown


def check_order(answer: Answer) -> None:
    assert answer.verdict is not None
    assert answer.choice is not None
    lines = render(answer).split("Confirmed by the engine")[1].split("* the choice")[0].splitlines()
    marks = "".join(line[1] for line in lines if " ± " in line)
    assert marks == "*" + "=" * (len(answer.verdict.tied) - 1) + " " * (8 - len(answer.verdict.tied))
    numbers = [float(re.findall(r"(\d+\.\d+) % ±", line)[0]) for line in lines if line[1:2] == " " and " ± " in line]
    assert numbers == sorted(numbers, reverse=True)


def test_the_confirmed_stand_best_first(found: tuple[Answer, Path]) -> None:
    check_order(found[0])

    def as_run(original: Any) -> Any:
        return lambda answer: list(range(len(answer.verdict.designs)))

    must_reject(lambda: check_order(found[0]), replaced("gemsim.study.recommend.tables:_best_first", as_run))


def test_the_page_says_how_likely_the_choice_loses_everything(found: tuple[Answer, Path], tmp_path: Path) -> None:
    """Never seen is an upper bound; where the study bounds it and it can happen, the engine forces it."""
    answer, _ = found
    assert answer.verdict is not None
    most = poisson_interval(0, answer.verdict.replications).hi
    shown = " ".join(render(answer).split())
    assert f"A run loses everything: closed form P = 0; engine never in {answer.verdict.replications} repl" in shown
    assert f"so at most {most:.3g} times per run (95 %)" in shown
    alone: dict[str, Any] = {
        "protection": [{"retry": {}}, small.REPLICA],
        "compare": {"code": {}, "three copies": {"protection": [{"retry": {}}, {"replica": {"copies": 3}}]}},
        "variables": {"protection.replica.every": [1]},
    }
    with replaced("gemsim.study.recommend.run:RARE_RUNS", lambda runs: 200):
        other = small.unmoved(tmp_path, small.study(**alone, require={"unrecoverable_analytic": "<= 5"}))
    assert other.rare is not None
    assert other.choice is not None
    form = -math.expm1(-float(other.choice.row["unrecoverable_analytic"]))
    assert other.rare.lo < 2 * form
    assert other.rare.hi > form / 2
    assert f"engine P {rare_said(other.rare)}" in " ".join(render(other).split())
    assert small.said(tmp_path)["unrecoverable_probability"]["value"] == other.rare.value


@contextmanager
def _worst_first() -> Iterator[None]:
    def turned(original: Any) -> Any:
        return lambda table, sought: -original(table, sought)

    with replaced("gemsim.study.recommend.front:scores", turned):
        yield


def test_a_screening_that_ranks_backwards_is_caught(tmp_path: Path) -> None:
    """Confirming the worst of twenty designs finds none that ties with the best of all."""
    runs = itertools.count()

    def check() -> None:
        answer = small.unmoved(tmp_path / str(next(runs)), number=2)
        assert answer.choice is not None
        assert answer.choice.design.values.get("protection.replica.every") == 1

    must_reject(check, _worst_first())
