"""R1 to R21: first order, exact form and engine of the reference scenarios, and faults that the rows would show."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import exp

import pytest

from gemsim.analytic import first_order
from gemsim.spec.failures import mix
from gemsim.spec.published import paper
from gemsim.study.validate import fleets
from gemsim.study.validate.checks import Engine, Rows
from gemsim.study.validate.judge import engines, judge

PUBLISHED = paper("fleets")


@cache
def computed() -> Rows:
    """Our rows in their quick form, computed once."""
    return fleets.rows(PUBLISHED.inputs, quick=True)


def verdicts(rows: Rows) -> dict[str, str]:
    """The verdict on each check."""
    return {check.id: check.verdict for check in judge(PUBLISHED, rows)}


def test_all_pass_or_are_shown() -> None:
    found = verdicts(computed())
    assert {name for name, verdict in found.items() if verdict == "fail"} == set()
    shown = {name.split(".")[0] for name, verdict in found.items() if verdict == "shown"}
    assert shown == {"R1", "R3", "R7", "R8", "R10", "R11", "R12", "R13", "R14", "R15", "R16", "R18", "R19", "R21"}


def test_every_row_is_computed() -> None:
    assert {name for name, one in computed().items() if one.unbuilt} == set()


@pytest.mark.parametrize(
    ("name", "linear", "exact"),
    [
        ("R4.60min", 0.684, 0.7202),
        ("R4.5min", 0.932, 0.9345),
        ("R5", 0.905, 0.9089),
        ("R6.base", 0.706, 0.7358),
        ("R6.rate", 0.893, 0.8967),
        ("R6.write", 0.919, 0.9215),
        ("R9", 0.444, 0.574),
        ("R10", 0.833, 0.846),
    ],
)
def test_first_order_and_exact_values(name: str, linear: float, exact: float) -> None:
    one = computed()[name]
    assert one.linear == pytest.approx(linear, abs=5e-4)
    assert one.value == pytest.approx(exact, abs=5e-4 if name in ("R9", "R10") else 1e-4)
    (engine,) = engines(one)
    assert engine.exact == pytest.approx(exact, abs=6e-4)  # steps of 1 s in R9 and R10
    assert engine.z is not None
    assert abs(engine.z) <= 4.0
    assert engine.error < 0.005


def test_large_jobs_of_rsc() -> None:
    one = computed()["R7"]
    assert one.value == pytest.approx((0.615, 0.724, 0.941), abs=5e-4)
    assert one.linear == pytest.approx((0.52, 0.685, 0.939), abs=5e-4)


def test_spares_by_queueing() -> None:
    assert computed()["R18"].value == 6.0


def test_capacity_explains_what_the_stall_does_not() -> None:
    """Linear: (1 - 3 / 18) x (1 - 0.48 / 12). The tier: exp(-3 / 18), and an outage of which 3 min lie in the stall."""
    one = computed()["R10.capacity"]
    assert one.linear == pytest.approx(0.8, abs=5e-4)
    assert isinstance(one.value, float)
    outside = 0.48 / 12 * (1.0 - 3.0 / 8.64)
    assert one.value == pytest.approx(exp(-3 / 18) * (1.0 - outside), abs=5e-3)
    (engine,) = engines(one)
    assert abs(engine.mean - one.value) < 4.0 * engine.error + 2e-3


def test_the_rate_of_rsc_1_is_that_of_its_mix() -> None:
    (one,) = mix("rsc-1").classes
    assert one.rate.value == pytest.approx(PUBLISHED.inputs.rsc1)


def test_gem_in_place_cannot_cut_more_than_is_contained() -> None:
    cut = computed()["R21.cut"].value
    assert isinstance(cut, float)
    assert 0.35 < cut < 0.424


def test_a_first_order_that_counts_a_whole_interval_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: the mean loss is the interval, not half of it."""
    honest = first_order.meta_ettr
    monkeypatch.setattr(first_order, "meta_ettr", lambda tau, delta, **more: honest(2.0 * tau, delta, **more))
    monkeypatch.setattr(fleets, "long_run", lambda built, quick: Engine(0.5, 1.0, None))
    found = verdicts({**computed(), **fleets._rsc(PUBLISHED.inputs, quick=True)})
    assert {name for name, verdict in found.items() if verdict == "fail"} >= {
        "R4.60min",
        "R4.linear",
        "R5",
        "R6.linear",
    }


def test_an_engine_in_which_restarts_cannot_fail_is_caught() -> None:
    """Planted fault: exp(-stall / gap) of the hazard in wall time becomes gap / (gap + stall)."""
    one = computed()["R9"]
    (engine,) = engines(one)
    immune = replace(engine, mean=1.0 / (1.0 + 10.0 / 18.0))
    assert abs(immune.mean - exp(-10 / 18)) > 8.0 * engine.error
    assert verdicts({**computed(), "R9": replace(one, engine=immune)})["R9"] == "fail"


def test_an_injector_with_five_per_cent_more_is_caught() -> None:
    one = computed()["R1.count"]
    (engine,) = engines(one)
    more = replace(engine, mean=1.05 * engine.mean)
    assert verdicts({**computed(), "R1.count": replace(one, engine=more)})["R1.count"] == "fail"


def test_the_engine_of_both_stalls_is_judged() -> None:
    """R10 is only shown, so its simulation is judged beside the exact form of the same row."""
    late = dict(computed())
    (engine,) = engines(late["R10.exact"])
    assert engine.exact == pytest.approx(exp(-3 / 18), rel=1e-3)
    late["R10.exact"] = replace(late["R10.exact"], engine=replace(engine, mean=engine.mean + 5.0 * engine.error))
    assert verdicts(late)["R10.exact"] == "fail"
