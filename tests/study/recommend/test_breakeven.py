"""How far inputs can move: the closed form on both sides of each change, the rule of the choice, and the ranking."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gemsim.analytic.run import predict
from gemsim.scenario import build
from gemsim.spec.loading import resolve_point
from gemsim.study.recommend.breakeven import Contest, Rival, break_even
from gemsim.study.recommend.inputs import SPEED, Input, built, inputs_of, moved, spelled_out
from gemsim.study.recommend.measure import measured, range_of, regret
from gemsim.study.recommend.objective import Sought
from tests.faults import must_reject, replaced
from tests.study.recommend import small

GOODPUT = Sought("goodput")
EVERY, INTERVAL = "protection.replica.every", "protection.checkpoint.interval"


def contest(designs: Sequence[dict[str, Any]], choice: int, *, band: float = 0.0005, **offsets: float) -> Contest:
    """Designs of the small study, alike in memory and step time, told apart from `band` on."""
    loaded = small.study()
    copies = loaded.spec.compare["copies"]
    specs = [spelled_out(resolve_point(loaded, {**copies, **values})) for values in designs]
    rivals = [Rival(at, spec, offsets.get(f"of_{at}", 0.0), 0.0, float(at)) for at, spec in enumerate(specs)]
    return Contest(rivals, choice, np.full((len(rivals), len(rivals)), band), GOODPUT, {})


SAVES = [{EVERY: 10, INTERVAL: "4 h"}, {EVERY: 10, INTERVAL: "30 min"}]


def silent(of: Contest) -> Input:
    spec = of.rivals[0].spec
    return next(one for one in inputs_of(spec, build(spec), ()) if one.path == "failures.silent.rate")


def check_both_sides() -> None:
    """More silent corruption asks for shorter intervals; the forms differ by the band where the choice changes."""
    of = contest(SAVES, 1)
    one = silent(of)
    found = break_even(of, one)
    change = found.below
    assert change is not None
    assert change.to == 0
    assert change.value < one.value

    def apart(value: float) -> float:
        first, other = (predict(built(rival.spec, one, value))["ettr_analytic"] for rival in of.rivals)
        return float(first - other)

    # The longer interval is the cheaper: it is chosen once it is no worse by more than the band.
    assert apart(change.value) >= -0.0005
    assert apart(change.value * 1.01) < -0.0005


def test_the_closed_form_changes_sides_at_the_break_even() -> None:
    check_both_sides()


def test_a_change_that_is_found_at_the_end_of_the_range_is_caught() -> None:
    def coarse(original: Any) -> Any:
        return lambda of, one, kept, changed: (kept, changed)

    must_reject(check_both_sides, replaced("gemsim.study.recommend.breakeven:_halved", coarse))


def test_what_the_engine_found_beyond_the_closed_form_moves_the_change() -> None:
    near, far = (break_even(contest(SAVES, 1, of_1=more), silent(contest(SAVES, 1))) for more in (0.0, 0.0002))
    assert near.below is not None
    assert far.below is not None
    assert far.below.value < near.below.value


def test_the_first_change_is_found_among_all_rivals() -> None:
    designs = [*SAVES, {EVERY: 10, INTERVAL: "1 h"}]
    of = contest(designs, 1)
    found = break_even(of, silent(of)).below
    assert found is not None
    assert found.to == 2  # on the way to four hours comes one


def test_an_input_without_influence_changes_nothing() -> None:
    of = contest(SAVES, 1)
    given = {one.path: one for one in inputs_of(of.rivals[0].spec, build(of.rivals[0].spec), ())}
    found = break_even(of, given["cluster.disk.write"])
    assert found.below is None
    assert found.above is None
    assert not found.open


def test_a_choice_that_can_no_longer_be_is_a_change() -> None:
    of = contest([{EVERY: 10, INTERVAL: "30 min"}], 0)
    given = {one.path: one for one in inputs_of(of.rivals[0].spec, build(of.rivals[0].spec), ())}
    found = break_even(of, given["workload.network_idle"])
    assert found.above is not None
    assert found.above.to is None
    assert found.above.value == pytest.approx(20.0, rel=0.01)  # longer than the step


def test_every_input_that_is_moved_arrives() -> None:
    """Moving an input changes the study at its own path alone, or the profile."""
    spec = spelled_out(resolve_point(small.study(), {}))
    given = inputs_of(spec, build(spec), ("protection.stripe.m",))
    assert {"failures.gpu.rate", "failures.memory.contained", "restart.communicator", "workload.step", SPEED} <= {
        one.path for one in given
    }
    before = {one.path: one.value for one in given}
    for one in given:
        changed, profile = moved(spec, one, one.between(0.9))
        if one.path == SPEED:
            assert profile != moved(spec, one, 1.0)[1]
            continue
        if one.path == "failures.scale":
            assert changed.failures.scale == pytest.approx(one.between(0.9))
            continue
        after = {each.path: each.value for each in inputs_of(changed, build(spec), ())}
        if one.path == "restart.communicator":
            assert changed.restart.communicator == pytest.approx(one.between(0.9))
            continue
        assert after[one.path] == pytest.approx(one.between(0.9)), one.path
        others = {path for path, value in before.items() if after.get(path, value) != value}
        assert others == {one.path}


def test_classes_of_a_mix_are_inputs_and_scale_moves_them_all() -> None:
    loaded = small.study(failures={"mix": "llama3-2024", "scale": 30})
    spec = spelled_out(resolve_point(loaded, {}))
    given = {one.path: one for one in inputs_of(spec, build(spec), ())}
    assert given["failures.hbm3.contained"].value == pytest.approx(0.45, abs=0.1)
    twice = built(spec, given["failures.scale"], 2.0 * given["failures.scale"].value)
    assert sum(kind.rate for kind in twice.classes) == pytest.approx(
        2.0 * sum(kind.rate for kind in build(spec).classes)
    )
    plain = build(resolve_point(loaded, {}))
    assert built(spec, given["failures.scale"], given["failures.scale"].value).id == plain.id


@dataclasses.dataclass(frozen=True)
class Law:
    """A law of `uncertain:`, uniform between two values."""

    low: float
    high: float
    text: str = "uniform"
    source: str = "planted"

    def quantile(self, p: float) -> float:
        """In SI."""
        return self.low + (self.high - self.low) * p


def test_what_a_law_holds_apart_from_the_change_need_not_be_measured() -> None:
    of = contest(SAVES, 1)
    one = silent(of)
    found = break_even(of, one)
    assert found.below is not None
    edge = found.below.value
    wide = range_of(one, {one.path: Law(edge / 2, one.value)}, "nvidia-h100")
    narrow = range_of(one, {one.path: Law(edge * 1.5, one.value)}, "nvidia-h100")
    assert wide.source == "uniform, planted"
    assert measured(of, found, narrow) is None
    worth = measured(of, found, wide)
    assert worth is not None
    assert worth.change == edge
    assert worth.to == 0
    assert worth.regret == regret(of, one, wide) >= 0.0


def test_the_regret_is_the_mean_of_what_the_choice_loses() -> None:
    of = contest(SAVES, 0, band=0.0)
    one = silent(of)
    span = range_of(one, {one.path: Law(one.value, 4 * one.value)}, "nvidia-h100")
    losses = []
    for value in span.values:
        own, other = (predict(built(rival.spec, one, value))["ettr_analytic"] for rival in of.rivals)
        losses.append(max(0.0, other - own))
    assert regret(of, one, span) == pytest.approx(float(np.mean(losses)), rel=1e-9)


def test_an_input_without_a_law_may_be_twice_or_half_and_says_so() -> None:
    one = silent(contest(SAVES, 1))
    span = range_of(one, {}, "nvidia-h100")
    assert (span.low, span.high) == pytest.approx((one.value / 2, one.value * 2))
    assert "assumption" in span.source
    speed = Input(SPEED, (SPEED,), "count", 1.0, 0.1, 10.0)
    assert range_of(speed, {}, "nvidia-h100").source == "band of the modelled profile"


def test_the_laws_of_a_study_are_found_by_their_paths() -> None:
    laws = {"failures.classes.silent.rate": "uniform(0.5 / 10 d, 3 / 10 d)", "restart.pause": "5 s .. 20 s"}
    loaded = small.study(uncertain=laws)
    spec = spelled_out(resolve_point(loaded, {}))
    given = {one.path: one for one in inputs_of(spec, build(spec), ())}
    rate = range_of(given["failures.silent.rate"], loaded.spec.uncertain, "nvidia-h100")
    pause = range_of(given["restart.pause"], loaded.spec.uncertain, "nvidia-h100")
    assert (rate.low * 864000, rate.high * 864000) == pytest.approx((0.5625, 2.9375))  # the middle 95 %
    assert pause.source.startswith("5 s .. 20 s")
    assert pause.values == pytest.approx([5 + 15 * (part + 0.5) / 9 for part in range(9)])
