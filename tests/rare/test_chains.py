"""Rare losses of the engine against chains that are exact: at 1e-3, 1e-6 and 1e-9."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from gemsim.analytic.chain import Hit, chance_of_loss
from gemsim.analytic.losses import losses
from gemsim.analytic.markov import mean_time_to_data_loss
from gemsim.engine.rare import Hunt, rare_losses
from gemsim.scenario import Scenario
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.rare.chains import chain

CHAINS = {"1e-3": (4, 1, 0.2535), "1e-6": (6, 2, 0.305), "1e-9": (8, 4, 1.44)}  # k, m, failures a day
DOWN = 242.0  # seconds that a recovery takes at most


def of(name: str) -> Scenario:
    k, m, rate = CHAINS[name]
    return chain(k, m, rate=rate)


@pytest.mark.parametrize("name", CHAINS)
def test_the_chains_lie_where_they_are_said_to(name: str) -> None:
    found = losses(of(name))
    assert found.kind == "exact"
    assert found.probability == pytest.approx(float(name), rel=0.02)
    assert found.error < 1e-3 * found.per_run


def mean_is_the_chain(name: str, runs: int, detect: float) -> None:
    """The weights of `runs` runs have the exact mean; they see it off by the share `detect`.

    A value is at most that of a run whose m further failures are all forced.
    """
    scenario = of(name)
    m, rate = CHAINS[name][1], CHAINS[name][2] / 86400.0
    hunt, exact = Hunt(scenario, 11), losses(scenario).probability
    highest = hunt.failures * (-math.expm1(-rate * DOWN)) ** m / exact
    values = np.array([hunt.value(number) for number in range(runs)]) / exact
    statcheck.mean_bounded(values, 1.0, low=0.0, high=highest, detect=detect)


@pytest.mark.parametrize("name", CHAINS)
def test_forced_failures_have_the_mean_of_the_chain(name: str) -> None:
    mean_is_the_chain(name, 1000, 0.6 if name == "1e-9" else 0.3)


@pytest.mark.long
@pytest.mark.parametrize("name", CHAINS)
def test_many_forced_failures_have_the_mean_of_the_chain(name: str) -> None:
    mean_is_the_chain(name, 12000, 0.16 if name == "1e-9" else 0.09)


def test_a_wrong_survivor_count_is_seen() -> None:
    """A stripe of five that is counted as one of four."""
    must_reject(
        lambda: mean_is_the_chain("1e-3", 1200, 0.34),
        replaced(
            "gemsim.analytic.losses:chance_of_loss",
            lambda real: lambda hits, **keys: real(hits, **keys | {"group": keys["group"] - 1}),
        ),
    )


def test_forced_failures_that_spare_the_lost_are_seen() -> None:
    """In the engine: what is forced strikes only members that still stand, and nobody pays for it."""

    def spare(real: object) -> object:
        def near(self: object, stream: object, missing: object) -> list[int]:
            lost = {number for _, number in self.damage.lost}  # type: ignore[attr-defined]
            left = [unit for unit in range(stream.units) if unit not in lost]  # type: ignore[attr-defined]
            return [left[int(self.rng.integers(len(left)))]]  # type: ignore[attr-defined]

        return near

    must_reject(lambda: mean_is_the_chain("1e-3", 1200, 0.34), replaced("gemsim.engine.chase:Chase._near", spare))


def test_a_recovery_that_is_never_left_is_seen() -> None:
    """Every later failure of the run would be one of the first one's recovery."""

    def never_whole() -> None:
        with (
            replaced("gemsim.engine.chase:Chase._whole", lambda real: lambda self, *rest: self.scenario.horizon),
            replaced("gemsim.engine.chase:Chase._rested", lambda real: lambda self, *rest: False),
        ):
            exact = losses(scenario).probability
            hunt = Hunt(scenario, 11)
            found = sum(hunt.value(number) for number in range(400)) / 400
            assert found < 1.5 * exact

    scenario = chain(4, 1, rate=5.0)
    with pytest.raises(AssertionError):
        never_whole()


@pytest.mark.parametrize("name", CHAINS)
def test_the_interval_of_the_engine_covers_the_chain(name: str) -> None:
    """One seed each: within twice the interval on the scale of logarithms (a chance of 1e-4 to be outside)."""
    found, exact = rare_losses(of(name), seed=3, method="forced"), losses(of(name)).probability
    assert (found.method, found.stopped_by) == ("forced", "precision")
    assert found.events >= 30
    assert found.value * (found.lo / found.value) ** 2 <= exact <= found.value * (found.hi / found.value) ** 2
    assert found == rare_losses(of(name), seed=3, method="forced")


@pytest.mark.long
@pytest.mark.parametrize("name", CHAINS)
def test_two_hundred_intervals_of_the_engine_cover(name: str) -> None:
    scenario, exact = of(name), losses(of(name)).probability
    found = [rare_losses(scenario, seed=seed, method="forced", most_seconds=math.inf) for seed in range(200)]
    assert sum(one.lo <= exact <= one.hi for one in found) >= 172
    ratio = math.fsum(one.value for one in found) / 200 / exact
    assert ratio == pytest.approx(1.0, abs=0.03)


def slow(n: int, m: int, chance: Fraction) -> Fraction:
    """The chain by solving for each state with fractions."""
    found = Fraction(1)
    for lost in range(m, 0, -1):
        again = chance * Fraction(lost, n)
        found = chance * Fraction(n - lost, n) * found / (1 - again)
    return found


@pytest.mark.parametrize(("n", "m"), [(5, 1), (8, 2), (12, 4), (36, 4)])
def test_the_chain_is_that_of_fractions(n: int, m: int) -> None:
    rate, seconds = n * 1e-6, 300.0
    exact = slow(n, m, Fraction(-math.expm1(-rate * seconds)))
    hits = [Hit(rate, 1, 1.0, seconds)]
    found = chance_of_loss(hits, domains=n, group=n, m=m, rebuild=lambda lost: 0.0)
    assert found == pytest.approx(rate * float(exact), rel=1e-12)


def test_the_chain_nears_the_mean_time_to_data_loss() -> None:
    """m = 1: recoveries of a fixed time and exponential ones of the same mean lose alike to first order. A recovery
    that each failure starts again lasts longer by the chance that one does."""
    n, rate, seconds = 6, 1e-9, 300.0
    found = chance_of_loss([Hit(n * rate, 1, 1.0, seconds)], domains=n, group=n, m=1, rebuild=lambda lost: 0.0)
    mttdl = mean_time_to_data_loss(n - 1, 1, failure_rate=rate, repair_rate=1.0 / seconds)
    assert found * mttdl == pytest.approx(1.0, rel=1e-5)
