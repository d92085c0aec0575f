"""Draws of uncertain inputs, and what a sweep says of them: the same for all designs, failures counted."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemsim.cli.main import main
from gemsim.errors import Infeasible, NotCovered
from gemsim.results.inputs import Inputs, central, input_columns
from gemsim.results.summary import Point
from gemsim.spec.loading import LoadedStudy, load_study, parse_study, resolve_point
from gemsim.study import uncertain
from gemsim.study.design import designs_of
from gemsim.study.plan import MODEL
from gemsim.study.points import Model, realise
from gemsim.study.uncertain import LEAST_DRAWS, MOST, Tried, draws, outcome, over_inputs, undecided
from tests.faults import must_reject, replaced

STUDY = """\
title: Which width for a small job whose inputs are not known?
cluster: {gpus: 64, gpu: h100-80gb, spare_nodes: 4, storage: {write: 20 GB/s, read: 20 GB/s}}
workload: {parameters: 7e9, parallel: {tensor: 8, data: 8, shard: optimizer}, step: 2 s}
restart: {mode: in_place, process: 30 s .. 2 min}
failures: {mix: llama3-2024, scale: 30 .. 70, contained: "beta(14, 19)"}
protection:
  - stripe: {layout: gpu, k: 8, m: 1}
  - checkpoint: {target: remote, mode: async, blocked: 1 s, interval: 10 min}
sweep: {grid: {protection.stripe.m: [1, 2]}}
run: {horizon: 10 d, replications: 4, seed: 3}
"""


def small(text: str = STUDY, more: str = "") -> LoadedStudy:
    return parse_study((text + more).encode(), "small.yaml")


def test_draws_are_reproducible_and_even_over_each_law() -> None:
    loaded = small()
    found = draws(loaded, number=50, seed=1)
    assert found == draws(loaded, number=50, seed=1)
    assert found != draws(loaded, number=50, seed=2)
    law = loaded.spec.uncertain["failures.scale"]
    parts = sorted(int((one["failures.scale"] - 30.0) / 40.0 * 50) for one in found)
    assert parts == list(range(50))
    assert law.quantile(0.0) <= min(one["failures.scale"] for one in found)


def test_another_uncertain_input_leaves_the_draws_of_the_others() -> None:
    more = draws(small(more="uncertain: {restart.warmup: 10 s .. 50 s}\n"), number=20, seed=1)
    fewer = draws(small(), number=20, seed=1)
    assert [{path: one[path] for path in fewer[0]} for one in more] == fewer
    pairs = np.array([[one["failures.scale"], one["failures.contained"]] for one in draws(small(), number=400, seed=1)])
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 0.2


def test_what_a_design_writes_itself_is_not_drawn_for_it() -> None:
    variants = "compare: {a: {}, b: {failures.scale: 40}, c: {restart: {process: 1 min}}, d: {protection: []}}\n"
    law = "uncertain: {protection.stripe.cadence: 1 .. 3}\n"
    loaded = small(STUDY.replace("sweep: {grid: {protection.stripe.m: [1, 2]}}\n", variants) + law)
    all_of_them = {"restart.process", "failures.scale", "failures.contained", "protection.stripe.cadence"}
    left = {name: set(undecided(loaded, assigned)) for name, assigned in loaded.variants.items()}
    assert left["a"] == all_of_them
    assert left["b"] == all_of_them - {"failures.scale"}
    assert left["c"] == all_of_them - {"restart.process"}
    assert left["d"] == all_of_them - {"protection.stripe.cadence"}


def swept(loaded: LoadedStudy, model: Model = MODEL, seed: int = 3) -> list[Point]:
    designs = designs_of(loaded)
    points, _, _ = realise(designs, partial(resolve_point, loaded), model)
    return over_inputs(loaded, model, seed, points, designs)


def test_all_designs_see_the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference between like designs is far surer than either; draws of their own for each would lose that."""
    monkeypatch.setattr(uncertain, "DRAWS", 64)

    def check() -> None:
        one, other = (point.inputs for point in swept(small()))
        assert one is not None
        assert other is not None
        (low, high), (least, most) = central(one.ettr), central(other.ettr - one.ettr)
        assert None not in (low, high, least, most)
        assert most - least < 0.1 * (high - low)  # type: ignore[operator]

    def own(original: Any) -> Any:
        def over(loaded: Any, model: Any, point: Point, design: Any, sample: Sequence[Any]) -> Inputs:
            found: Inputs = original(loaded, model, point, design, sample[:: -1 if design.index else 1])
            return found

        return over

    must_reject(check, replaced("gemsim.study.uncertain:_over", own))


def failing(share: float) -> Model:
    """The model with no answer where P(contained) is in the lowest `share` of its law."""
    edge = small().spec.uncertain["failures.contained"].quantile(share)

    def build(spec: Any) -> Any:
        if spec.failures.contained < edge:
            raise Infeasible(f"contained is {spec.failures.contained}")
        return MODEL.build(spec)

    return Model(build=build, describe=MODEL.describe, predict=MODEL.predict, simulate=MODEL.simulate)


def test_draws_without_a_number_are_counted_by_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncertain, "DRAWS", 100)
    single = small(STUDY.replace("[1, 2]", "[1]"))

    def check() -> None:
        inputs = swept(single, failing(0.05))[0].inputs
        assert inputs is not None
        assert inputs.failed == 5
        assert inputs.note.startswith("5 × infeasible: contained is 0.2")
        assert input_columns(inputs)["ettr_input_lo"] is not None

    must_reject(check, replaced("gemsim.study.uncertain:Tried.note", lambda original: lambda self, error: None))


def test_above_a_tenth_no_range_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncertain, "DRAWS", 100)
    inputs = swept(small(STUDY.replace("[1, 2]", "[1]")), failing(0.2))[0].inputs
    columns = input_columns(inputs)
    assert (columns["ettr_input_lo"], columns["input_failures"], columns["input_draws"]) == (None, 20, 100)


def test_nothing_is_simulated_where_the_closed_form_has_no_answer() -> None:
    def predict(scenario: Any) -> dict[str, Any]:
        raise NotCovered("too hard")

    def simulate(scenario: Any, *, seed: int, replication: int) -> dict[str, Any]:
        raise AssertionError("simulated")

    point = swept(small(), Model(MODEL.build, MODEL.describe, predict, simulate))[0]
    assert point.inputs is not None
    assert point.inputs.note == "no closed form, nothing drawn: too hard"
    assert input_columns(point.inputs)["input_draws"] == 0


def test_with_too_many_designs_nothing_is_drawn_and_it_is_said() -> None:
    many = list(range(1, MOST // LEAST_DRAWS + 2))
    loaded = small(STUDY.replace("protection.stripe.m: [1, 2]", f"restart.warmup: {[f'{n} s' for n in many]}"))
    point = swept(loaded)[0]
    assert point.inputs is not None
    assert "65 designs are more than 64" in point.inputs.note


def test_reasons_that_differ_in_numbers_alone_are_one() -> None:
    tried = Tried()

    def answer(assigned: Any) -> float:
        raise NotCovered(f"{assigned['x']} of the failures find no spare, more than 1e-4")

    values = [outcome(answer, {"x": x}, tried) for x in (0.1, 0.25, 3e-4)]
    assert np.isnan(values).all()
    assert (tried.runs, tried.failed) == (3, 3)
    assert tried.said() == ["3 × no closed form: 0.1 of the failures find no spare, more than 1e-4"]


def test_a_sweep_keeps_both_uncertainties_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(STUDY)
    assert main(["sweep", str(file), "--jobs", "1", "--out", str(tmp_path / "out")]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "Certainty of ETTR: sampling ± " in page
    assert "(95 %, closed form over 256 draws)" in page
    with (tmp_path / "out" / "summary.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        assert float(row["ettr_input_lo"]) < float(row["ettr_analytic"]) < float(row["ettr_input_hi"])
        assert (row["input_draws"], row["input_failures"], row["input_note"]) == ("256", "0", "")
    assert any(float(row["ettr_diff_input_hi"]) != 0.0 for row in rows)


def test_a_study_without_laws_has_none_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = STUDY.replace("30 s .. 2 min", "1 min").replace("30 .. 70", "50").replace(', contained: "beta(14, 19)"', "")
    file = tmp_path / "plain.yaml"
    file.write_text(plain)
    assert load_study(file).spec.uncertain == {}
    assert main(["sweep", str(file), "--jobs", "1", "--out", str(tmp_path / "out")]) == 0
    assert "Certainty" not in capsys.readouterr().out
    with (tmp_path / "out" / "summary.csv").open(newline="") as stream:
        assert {row["ettr_input_lo"] + row["input_draws"] for row in csv.DictReader(stream)} == {""}
