"""Sensitivity: known indices through the command's own code, planted faults, runs that fail, and the command itself."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemsim.cli.main import main
from gemsim.errors import Infeasible, NotCovered
from gemsim.results.estimate import Interval
from gemsim.spec.types import Quantity
from gemsim.spec.uncertain import Law, Slot, bound
from gemsim.spec.uncertain_text import read_law
from gemsim.study.plan import MODEL
from gemsim.study.sensitivity.answers import ClosedForm, Replications
from gemsim.study.sensitivity.indices import morris, saltelli, sobol, trajectories
from gemsim.study.sensitivity.page import as_object, render, verdict
from gemsim.study.sensitivity.run import Sensitivity, analyse
from tests.faults import must_reject, replaced
from tests.study.test_uncertain import STUDY, small

SHARES = importlib.util.find_spec("SALib") is not None
ROOT = Path(__file__).parents[2]


class Formula:
    """An answer from plain arithmetic."""

    output, kind, bounded = "ettr", "arithmetic", True

    def __init__(self, formula: Callable[..., float]) -> None:
        self.formula = formula

    def value(self, assignments: Mapping[str, Any]) -> float:
        return self.formula(*(assignments[name] for name in sorted(assignments)))

    def apart(self, assignments: Mapping[str, Any], base: Mapping[str, Any]) -> Interval:
        off = self.value(assignments) - self.value(base)
        return Interval(off, off, off)


def laws(texts: Mapping[str, str]) -> dict[str, Law]:
    slot = Slot("count", Quantity("count", -1e6, 1e6))
    return {name: bound(read_law(text), slot) for name, text in texts.items()}


ISHIGAMI = dict.fromkeys(("x1", "x2", "x3"), f"-{math.pi!r} .. {math.pi!r}")
FIRST = (0.3139, 0.4424, 0.0)
TOTAL = (0.5576, 0.4424, 0.2437)
CENTRAL = (-4.040, 11.047)  # quantiles of four million draws


def ishigami(x1: float, x2: float, x3: float) -> float:
    """Ishigami and Homma (1990) with a = 7, b = 0.1."""
    return math.sin(x1) + 7.0 * math.sin(x2) ** 2 + 0.1 * x3**4 * math.sin(x1)


def by_path(found: Sensitivity) -> list[Any]:
    return sorted(found.inputs, key=lambda one: one.path)


def check_ishigami() -> None:
    found = analyse(Formula(ishigami), laws(ISHIGAMI), base={}, seed=5, rows=2048)
    for one, first, total in zip(by_path(found), FIRST, TOTAL, strict=True):
        assert one.share is not None
        assert one.share.first.lo < first < one.share.first.hi
        assert one.share.total.lo < total < one.share.total.hi
        assert one.share.first.value == pytest.approx(first, abs=0.02)
        assert one.share.total.value == pytest.approx(total, abs=0.02)
        assert one.share.total.half_width < 0.07
    assert found.together is not None
    assert found.together.alone.lo < sum(FIRST) < found.together.alone.hi
    assert found.together.alone.value == pytest.approx(sum(FIRST), abs=0.04)
    assert (found.together.lo, found.together.hi) == pytest.approx(CENTRAL, abs=0.3)


def test_the_indices_of_ishigami() -> None:
    check_ishigami()


def _swapped(original: Any) -> Any:
    """A and B change places in the mixed rows."""
    return lambda first, second: np.concatenate([np.stack([first, second]), original(second, first)[2:]])


def _shifted(original: Any) -> Any:
    """The mixed rows change the column of the next input."""

    def mixed(first: Any, second: Any) -> Any:
        rows = original(first, second)
        return np.concatenate([rows[:2], np.roll(rows[2:], 1, axis=0)])

    return mixed


@pytest.mark.parametrize("fault", [_swapped, _shifted], ids=["swapped", "shifted"])
def test_mixed_up_columns_are_caught(fault: Any) -> None:
    must_reject(check_ishigami, replaced("gemsim.study.sensitivity.run:saltelli", fault))


def check_linear() -> None:
    """Shares c² / Σ c²; effects 0.95 |c| over the central 95 % of [0, 1], with no spread; bars ± 0.45 c."""
    weights = (4.0, -2.0, 1.0)
    texts = dict.fromkeys(("a", "b", "c"), "0 .. 1")
    found = analyse(Formula(lambda *x: float(np.dot(weights, x))), laws(texts), base={}, seed=5, rows=1024)
    for one, weight in zip(by_path(found), weights, strict=True):
        assert one.effect.size.value == pytest.approx(0.95 * abs(weight), rel=1e-9)
        assert one.effect.mean == pytest.approx(0.95 * weight, rel=1e-9)
        assert one.effect.spread.value == pytest.approx(0.0, abs=1e-9)
        exact = weight**2 / 21.0
        assert one.share is not None
        for index in (one.share.first, one.share.total):
            assert index.lo < exact < index.hi
            assert index.value == pytest.approx(exact, abs=0.01)
        assert one.bar.low is not None
        assert one.bar.low.value == pytest.approx(-0.45 * weight)
        assert one.bar.swing == pytest.approx(0.9 * abs(weight))
    assert [one.path for one in found.inputs] == ["a", "b", "c"]


def test_a_linear_model_is_told_exactly() -> None:
    check_linear()
    must_reject(check_linear, replaced("gemsim.study.sensitivity.run:SCREENED", lambda ends: (0.0, 1.0)))


def test_the_indices_agree_with_scipy() -> None:
    from scipy.stats import qmc, sobol_indices

    points = qmc.Sobol(6, seed=1).random(256)
    outcomes = ishigami_of(saltelli(points[:, :3], points[:, 3:]))
    ours = sobol(outcomes, np.random.default_rng(1))
    given = {"f_A": outcomes[:1], "f_B": outcomes[1:2], "f_AB": outcomes[2:, np.newaxis, :]}
    theirs = sobol_indices(func=given, n=256)
    assert [one.first.value for one in ours] == pytest.approx(theirs.first_order.ravel(), abs=1e-12)
    assert [one.total.value for one in ours] == pytest.approx(theirs.total_order.ravel(), abs=1e-12)


def ishigami_of(chances: Any) -> Any:
    """Over any array of chances whose last axis holds the three inputs."""
    x = (2.0 * chances - 1.0) * math.pi
    return np.sin(x[..., 0]) + 7.0 * np.sin(x[..., 1]) ** 2 + 0.1 * x[..., 2] ** 4 * np.sin(x[..., 0])


@pytest.mark.skipif(not SHARES, reason="SALib is not installed (extra analysis)")
def test_both_methods_agree_with_salib() -> None:
    from SALib.analyze import morris as their_morris
    from SALib.analyze import sobol as their_sobol

    problem = {"num_vars": 3, "names": ["x1", "x2", "x3"], "bounds": [[0.0, 1.0]] * 3}
    walks = trajectories(3, 20, np.random.default_rng(2))
    outcomes = ishigami_of(walks)
    theirs = their_morris.analyze(problem, walks.reshape(-1, 3), outcomes.ravel(), num_levels=4)
    ours = morris(walks, outcomes, np.random.default_rng(1))
    assert [one.size.value for one in ours] == pytest.approx(list(theirs["mu_star"]), rel=1e-9)
    assert [one.mean for one in ours] == pytest.approx(list(theirs["mu"]), rel=1e-9, abs=1e-12)
    assert [one.spread.value for one in ours] == pytest.approx(list(theirs["sigma"]), rel=1e-9)

    rows = 1024
    drawn = np.random.default_rng(3).random((rows, 6))
    a, b, *mixed = ishigami_of(saltelli(drawn[:, :3], drawn[:, 3:]))
    listed = np.stack([a, *mixed, b]).T.ravel()
    their_indices = their_sobol.analyze(problem, listed, calc_second_order=False, seed=1)
    our_indices = sobol(np.stack([a, b, *mixed]), np.random.default_rng(1))
    # SALib centres on the mean of all rows, ours on that of A and B alone: the first order differs a little
    assert [one.first.value for one in our_indices] == pytest.approx(list(their_indices["S1"]), abs=0.01)
    assert [one.total.value for one in our_indices] == pytest.approx(list(their_indices["ST"]), abs=0.02)
    assert [one.total.half_width for one in our_indices] == pytest.approx(list(their_indices["ST_conf"]), rel=0.25)


def test_an_input_that_moves_nothing_is_screened_out() -> None:
    texts = {"a": "0 .. 1", "b": "0 .. 1", "c": "0 .. 1"}
    found = analyse(Formula(lambda a, b, c: a + 0.01 * b), laws(texts), base={}, seed=5, rows=64)
    assert {one.path: one.share is not None for one in found.inputs} == {"a": True, "b": False, "c": False}
    assert verdict(found) == (
        "a alone moves ettr by 90 points between its 5 % and 95 % quantiles; "
        "nothing else moves it by more than 0.9 points."
    )
    still = analyse(Formula(lambda a, b, c: 7.0), laws(texts), base={}, seed=5, rows=64)
    assert verdict(still) == "No uncertain input moves ettr."
    assert still.notes == ("no input moves the output",)
    json.dumps(as_object(still), allow_nan=False)
    assert "no input moves the output" in render(still, title="still")


def broken(share: float) -> Formula:
    """Linear, without an answer for the highest `share` of b."""

    def formula(a: float, b: float, c: float) -> float:
        if b > 1.0 - share:
            raise Infeasible(f"b is {b:.6f}")
        return 4.0 * a + 2.0 * b + c

    return Formula(formula)


UNIT = dict.fromkeys(("a", "b", "c"), "0 .. 1")


def test_runs_without_a_number_are_counted_and_what_they_do_is_said() -> None:
    """b fails above 0.97 only: by the sequence in 8 of 256 rows of A and of B, and where B's b goes into A."""

    def check() -> None:
        found = analyse(broken(0.03), laws(UNIT), base={}, seed=5, rows=256)
        tried = found.tried["indices"]
        assert tried.failed == sum(tried.reasons.values()) == pytest.approx(0.03 * 5 * 256, abs=6)
        assert all("infeasible: b is" in line for line in tried.said())
        assert any("left out where it would enter" in note for note in found.notes)
        page = render(found, title="broken")
        assert f"{tried.failed} of 1280 runs of the indices have no number" in page
        shares = {one.path: one.share for one in found.inputs}
        assert shares["b"] is not None
        assert shares["b"].rows < 256
        assert as_object(found)["failed"]["indices"]["failed"] == tried.failed

    must_reject(check, replaced("gemsim.study.uncertain:Tried.note", lambda original: lambda self, error: None))
    must_reject(check, replaced("gemsim.study.sensitivity.run:outcome", _as_if_nothing))


def _as_if_nothing(original: Any) -> Any:
    """A failed run taken for a number, which is the same as dropping it."""
    from gemsim.study.uncertain import Tried

    def silent(answer: Any, assignments: Any, tried: Any) -> float:
        number: float = original(answer, assignments, Tried())
        tried.runs += 1
        return 0.0 if math.isnan(number) else number

    return silent


def test_above_a_tenth_the_command_refuses() -> None:
    with pytest.raises(NotCovered, match=r"runs have no number, more than 10%.*infeasible: b is"):
        analyse(broken(0.3), laws(UNIT), base={}, seed=5, rows=64)


def test_a_screening_with_too_few_runs_leaves_none_out() -> None:
    texts = {"a": "0 .. 1", "b": "0 .. 1", "c": "0 .. 1"}

    def formula(a: float, b: float, c: float) -> float:
        if c > 0.95:
            raise Infeasible("c")
        return a

    found = analyse(Formula(formula), laws(texts), base={}, seed=5, rows=64)
    assert all(one.share is not None for one in found.inputs)
    assert any("none is left out by it" in note for note in found.notes)


def test_without_a_nominal_answer_the_reason_is_the_error() -> None:
    with pytest.raises(Infeasible, match=r"b is 0\.5"):
        analyse(broken(0.6), laws(UNIT), base={}, seed=5, rows=64)


def test_a_design_without_a_closed_form_says_what_to_do(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text((STUDY + "fleet: {spares: {short: shrink, hot: 4}}\n").replace("spare_nodes: 4", "spare_nodes: 0"))
    assert main(["sensitivity", str(file)]) == 2
    said = capsys.readouterr().err
    assert "no closed form with all inputs nominal" in said
    assert "--point" in said
    assert "--engine" in said


def test_bars_of_the_closed_form_carry_its_stated_errors() -> None:
    answer = ClosedForm(small(), MODEL, "ettr")
    base: dict[str, Any] = {}
    stated = MODEL.predict(MODEL.build(resolve(base)))["analytic_error"]
    worse = MODEL.predict(MODEL.build(resolve({"failures.scale": 70})))["analytic_error"]
    found = answer.apart({"failures.scale": 70}, base)
    assert found.value < 0.0
    assert found.half_width == pytest.approx(stated + worse)
    other = ClosedForm(small(), MODEL, "memory_overhead").apart({"protection.stripe.m": 2}, base)
    assert other.value > 0.0
    assert math.isnan(other.lo)


def resolve(assigned: Mapping[str, Any]) -> Any:
    from gemsim.spec.loading import resolve_point

    return resolve_point(small(), assigned)


def test_replications_are_paired() -> None:
    """The same failures at both ends: the difference is surer than the values."""
    answer = Replications(small(), MODEL, "ettr", seed=3, replications=6)
    moved = {"restart.process": "2 min"}
    alone = np.array([answer.value({}), answer.value(moved)])
    apart = answer.apart(moved, {})
    assert apart.value == pytest.approx(alone[1] - alone[0])
    spread = answer._held["[]"].std(ddof=1)
    assert apart.half_width < spread


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(STUDY)
    return path


def test_the_command(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["sensitivity", str(file), "--quick", "--samples", "16", "m=2", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "failures.scale" in said.out
    assert "runs have a number" in said.out
    assert "16 rows over" in said.err
    found = json.loads((out / "sensitivity.json").read_text())
    assert found["inputs"][0]["path"] == "failures.scale"
    assert found["title"].endswith("(protection.stripe.m=2)")
    assert (out / "tornado.svg").read_text().count("failures.scale") == 1
    assert main(["sensitivity", str(file), "--quick", "--samples", "16", "--point", "2", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["inputs"] == found["inputs"]


def test_the_engine_answers_too(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sensitivity", str(file), "--engine", "--replications", "2", "--samples", "4", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert "2 simulated replications" in found["by"]
    assert found["inputs"][0]["at_95"]["lo"] <= found["inputs"][0]["at_95"]["hi"]


REFUSED = [
    (["--point", "9"], "no such design point (9); 1 to 2"),
    (["k=9"], "no such path"),
    (["m=9"], "no design point has m=9; 1 | 2"),
    (["m"], "not a choice ('m')"),
    (["--output", "etr"], "unknown output ('etr')"),
    (["--engine", "--output", "memory_overhead"], "unknown output of the engine"),
    (["--vary", "200 %"], "--vary:"),
]


@pytest.mark.parametrize(("options", "why"), REFUSED, ids=[" ".join(options) for options, _ in REFUSED])
def test_what_is_wrong_is_one_line(
    options: list[str], why: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sensitivity", str(file), *options]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert why in said[-1]
    assert "Traceback" not in "".join(said)


def test_a_study_without_laws_says_how_to_write_some(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sensitivity", str(ROOT / "studies" / "widths.yaml")]) == 2
    said = capsys.readouterr().err
    assert "no input of this design is uncertain" in said
    assert "--vary 20%" in said
    choice = ["k=32", "m=1", "mapping=interleaved", "restart=in_place"]
    assert main(["sensitivity", str(ROOT / "studies" / "widths.yaml"), "--vary", "20%", *choice]) == 2
    assert "2 design points are left" in capsys.readouterr().err


def test_assumed_numbers_are_varied_and_listed() -> None:
    from gemsim.spec.loading import load_study
    from gemsim.study.sensitivity.vary import varied

    found, left = varied(load_study(ROOT / "studies" / "widths.yaml"), 0.2)
    assert {"failures.scale", "failures.contained", "restart.process", "cluster.spare_activation"} <= set(found)
    assert found["failures.contained"].numbers == pytest.approx((0.36, 0.54))
    assert "protection.stripe.k" not in found
    assert "cluster.spare_nodes" not in found
    assert not any(path.startswith("run.") for path in found)
    assert any(line.startswith("workload.network_idle (0 s)") for line in left)


def test_a_share_is_not_varied_beyond_one() -> None:
    from gemsim.study.sensitivity.vary import varied

    text = STUDY.replace(', contained: "beta(14, 19)"', ", contained: 0.9")
    found, _ = varied(small(text), 0.2)
    assert found["failures.contained"].numbers == pytest.approx((0.72, 1.0))
