"""Rare losses in jobs that are no chains: forced failures against plain runs, and what neither can do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gemsim.analytic.losses import losses
from gemsim.engine.levels import level, near
from gemsim.engine.rare import Hunt, rare_losses, refuse
from gemsim.engine.run import simulate
from gemsim.errors import NotCovered
from gemsim.failures.classes import Frailty
from gemsim.failures.laws import lifetime
from gemsim.protection.damage import Damage
from tests.faults import must_reject, replaced
from tests.rare.chains import chain
from tests.rare.worlds import WORLDS, world


@pytest.mark.long
@pytest.mark.parametrize("name", WORLDS)
def test_forced_and_plain_runs_agree(name: str) -> None:
    """Both within 5 standard errors of each other on the scale of logarithms, and of the closed form and its error.

    The chance of an alarm rests on the normal shape of both: about 1e-6 each, no bound.
    """
    scenario = world(name)
    forced = rare_losses(scenario, seed=5, precision=0.1, most_seconds=math.inf, method="forced")
    plain = rare_losses(scenario, seed=6, precision=0.15, most_seconds=math.inf, method="plain")
    spread = math.hypot(*(math.log(one.hi / one.lo) / 3.92 for one in (forced, plain)))
    assert abs(math.log(forced.value / plain.value)) < 5.0 * spread
    form = losses(scenario)
    off = 5.0 * math.log(forced.hi / forced.lo) / 3.92 + form.error / form.per_run
    assert abs(math.log(forced.value / form.probability)) < off


def mean_is_the_form(name: str, keys: dict[str, object], *, runs: int = 500) -> None:
    """The weights have the mean of the closed form, to a half of it: five standard errors and the form's own error.

    The alarm rests on the normal shape of the mean of 500 weights: about 1e-6, no bound.
    """
    scenario = world(name, **keys, **{"run.horizon": "1 d"})
    form = losses(scenario)
    hunt = Hunt(scenario, 40)
    hunt.learn(math.inf)
    values = np.array([hunt.value(number) for number in range(runs)]) / form.probability
    error = float(values.std(ddof=1)) / math.sqrt(runs)
    off = float(values.mean()) - 1.0
    assert 5.0 * error + form.error / form.per_run < 0.5 or abs(off) > 0.5, "underpowered"
    assert abs(off) < 0.5, off


@pytest.mark.parametrize("name", ["kept once", "on the clock of running time", "no spares"])
def test_the_form_of_losses_is_that_of_the_engine(name: str) -> None:
    """A count of versions reaches back less at some phases of a save than at others; on the clock of running time
    nothing fails while the job stands still; without spares the redundancy is gone until the repair."""
    mean_is_the_form(name, {}, runs=1500 if name == "on the clock of running time" else 500)


def unweighted(real: Callable[..., Any]) -> Callable[..., Any]:
    """What is drawn from another law counts as if it were drawn from its own."""

    def draw(self: Any, *rest: Any) -> Any:
        weight = self.weight
        found = real(self, *rest)
        self.weight = weight
        return found

    return draw


FAULTS: dict[str, tuple[str, dict[str, object], str, Callable[[Any], Any]]] = {
    "places for nothing": ("one stripe of several", {"failures.scale": 0.1}, "chase:Chase._near", unweighted),
    "bad copies for nothing": ("bad copies", {}, "chase:Chase.begins", unweighted),
    "classes for nothing": (
        "racks and pairs", {"failures.scale": 0.02}, "rare:pick", lambda real: lambda *rest: (real(*rest)[0], 1.0)
    ),
    "whole with the end of the recovery": (
        "copies on hosts", {"failures.scale": 0.1, "protection.replica.every": 600}, "chase:Chase._whole",
        lambda real: lambda self, job, of, end: end,
    ),
}  # fmt: skip
SLOW = ("bad copies for nothing", "classes for nothing")


@pytest.mark.parametrize("fault", [pytest.param(f, marks=[pytest.mark.long] if f in SLOW else []) for f in FAULTS])
def test_weights_that_are_wrong_are_seen(fault: str) -> None:
    name, keys, target, make = FAULTS[fault]
    runs = 1500 if fault == "classes for nothing" else 500
    must_reject(lambda: mean_is_the_form(name, keys, runs=runs), replaced(f"gemsim.engine.{target}", make))


def test_frequent_losses_are_counted_in_plain_runs() -> None:
    found = rare_losses(chain(4, 1, rate=20.0, days=2.0), seed=1, most_runs=250, precision=1.0)
    assert (found.method, found.note) == ("plain", "")
    assert found.lo < found.value < found.hi <= 1.0


def test_lives_with_memory_are_counted_in_plain_runs_and_the_reason_is_said() -> None:
    scenario = chain(4, 1, rate=0.5, days=2.0)
    worn = replace(scenario.classes[0], lifetime=lifetime("weibull", scenario.classes[0].lifetime.mean, 0.7))
    found = rare_losses(replace(scenario, classes=(worn,)), seed=1, most_runs=60)
    assert found.method == "plain"
    assert found.note == "node: weibull lives have memory"
    assert (found.value, found.lo) == (0.0, 0.0)
    assert found.hi == pytest.approx(1.0 - 0.05 ** (1 / 60))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"frailty": Frailty("gamma")}, "unlike"),
        ({"drift": ((0.0, 1.0), (10.0, 2.0))}, "steps in time"),
        ({"latent": 0.5}, "unseen"),
    ],
)
def test_what_the_past_decides_is_refused(change: dict[str, object], reason: str) -> None:
    scenario = chain(4, 1, rate=0.5)
    with pytest.raises(NotCovered, match=reason):
        refuse(replace(scenario, classes=(replace(scenario.classes[0], **change),)))  # type: ignore[arg-type]


def test_nothing_fails_nothing_is_lost() -> None:
    found = rare_losses(replace(chain(4, 1, rate=0.5), classes=()), seed=1)
    assert (found.value, found.lo, found.hi) == (0.0, 0.0, 0.0)


def test_a_watched_run_leaves_others_as_they_are() -> None:
    scenario = chain(4, 1, rate=5.0)
    before = simulate(scenario, seed=1, replication=0)
    Hunt(scenario, 1).value(0)
    assert simulate(scenario, seed=1, replication=0) == before


def test_the_level_is_what_the_worst_stripe_and_set_lack() -> None:
    scenario = world("one stripe of several")  # four nodes of four GPUs in each group
    none: dict[int, frozenset[int]] = {}
    assert level(scenario, Damage(), none) == 0
    assert level(scenario, Damage(lost=frozenset({("node", 0)})), none) == 1
    assert level(scenario, Damage(lost=frozenset({("node", 0), ("node", 4)})), none) == 1
    assert level(scenario, Damage(lost=frozenset({("node", 0), ("node", 3)})), none) == 2
    assert near(scenario, Damage(lost=frozenset({("gpu", 5)})), none) == {0, 2, 3}
    copies = world("copies on hosts")
    tier = copies.tiers[0].number
    assert level(copies, Damage(hosts=frozenset({2})), none) == 1
    assert level(copies, Damage(hosts=frozenset({2})), {tier: frozenset({3})}) == 2
    assert near(copies, Damage(hosts=frozenset({2})), none) == {3}


def test_copies_lost_before_the_next_save_are_found() -> None:
    """A host may be lost long after the recovery of the first, as long as the next save is not complete."""
    keys = {"protection.replica.every": 600, "failures.scale": 0.1}
    form = losses(world("copies on hosts", **keys))
    assert form.per_run > 2.0 * losses(world("copies on hosts", **keys | {"protection.replica.every": 60})).per_run
    found = rare_losses(world("copies on hosts", **keys), seed=2, method="forced")
    assert abs(math.log(found.value / form.probability)) < math.log(found.hi / found.lo) + form.error / form.per_run


def test_a_store_that_never_fails_leaves_nothing_to_lose() -> None:
    found = losses(world("a stripe, then bad copies", **{"protection.far.invalid": "0 %"}))
    assert found.per_run == 0.0


def test_several_tiers_over_nodes_have_no_form() -> None:
    classes, tiers, changes = WORLDS["copies on hosts"]
    WORLDS["both"] = classes, (*tiers, *WORLDS["one stripe of several"][1]), changes
    try:
        with pytest.raises(NotCovered, match="replica, nodes"):
            losses(world("both"))
    finally:
        del WORLDS["both"]
