"""The engine against the closed form on random worlds: exactly where it is exact, else within what it states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from gemsim.scenario import Scenario
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.statcheck import Claim
from tests.worlds import make, play
from tests.worlds.play import FULL, FULL_EXACT, QUICK, QUICK_EXACT, Size, exact_claims, kinds, of_kind

COVERED = 200  # worlds that have a number
EXACT = 80  # of these, with an exact one
ASIDE = 0.25  # share of claims that a few rare events decide
SEEN = 0.005  # error of all exact forms, as a share of the time lost, that the pooled check of the long suite sees
PARTS = 4


# Of `make test`: worlds spread over all, in which no rare event decides; the last ones are for the planted faults.
FEW_EXACT = [0, 13, 24, 42, 50, 81, 99, 111, 132, 147, 162, 183, 198, 51, 75]
FEW = [16, 31, 54, 87, 95, 131, 149, 168, 179, 190, 209, 218, 110, 142, 160]


def judge(claims: Iterable[Claim], size: Size) -> None:
    """All that can be judged, at one alarm; few are set aside."""
    every = list(claims)
    judged = [claim for claim in every if play.can_be_judged(claim, size)]
    print(f"{len(every) - len(judged)} of {len(every)} are set aside")
    assert len(judged) >= (1.0 - ASIDE) * len(every), f"{len(every) - len(judged)} of {len(every)} are set aside"
    statcheck.means_two_stage(judged)


def exact(numbers: Iterable[int], size: Size) -> None:
    """The largest deviation of them all, each in two stages."""
    assert numbers
    judge(exact_claims(numbers, size), size)


def scores(numbers: Iterable[int], size: Size) -> Iterator[tuple[float, float]]:
    """(probability that Student's law gives to a smaller deviation, deviations in an error of `SEEN`)."""
    for claim in exact_claims(numbers, size):
        sample = np.asarray(claim.draw(0))
        error = float(sample.std(ddof=1)) / len(sample) ** 0.5
        deviation = (float(sample.mean()) - claim.expected) / error
        yield float(t.cdf(deviation, len(sample) - 1)), SEEN * (1.0 - claim.expected) / error


def pooled(numbers: Iterable[int], size: Size) -> None:
    """All deviations together have the law that they should (DKW), which an error of `SEEN` in all would not leave."""
    found = list(scores(numbers, size))
    gap = float(np.mean([2.0 * t.cdf(shift / 2.0, size.runs - 1) - 1.0 for _, shift in found]))
    statcheck.ks_uniform([place for place, _ in found], detect=gap)


@pytest.mark.long
def test_enough_worlds_have_a_number_and_the_others_say_why() -> None:
    none = Counter(why.split(":")[0] + ":" + why.split(":")[-1][:60] for why in kinds().values() if " " in why)
    print(*(f"{count} {why}" for why, count in none.most_common()), sep="\n")
    assert len(make.WORLDS) - none.total() >= COVERED
    assert len(of_kind("exact")) >= EXACT


def test_the_engine_follows_the_exact_form() -> None:
    exact(FEW_EXACT, QUICK_EXACT)


def test_the_engine_lies_within_the_stated_error() -> None:
    judge(play.ettr_claims(FEW, QUICK), QUICK)


def test_the_other_columns_are_right_to_their_order() -> None:
    judge(play.column_claims(FEW, QUICK), QUICK)


@pytest.mark.long
def test_the_engine_follows_every_exact_form() -> None:
    numbers = of_kind("exact")
    exact(numbers, FULL_EXACT)
    pooled(numbers, FULL_EXACT)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_lies_within_every_stated_error(part: int) -> None:
    numbers = of_kind("first_order")[part::PARTS]
    judge(play.ettr_claims(numbers, FULL), FULL)
    judge(play.column_claims([*numbers, *of_kind("exact")[part::PARTS]], FULL), FULL)


# Planted faults


def closed_form(change: Callable[[Scenario], Scenario]) -> AbstractContextManager[None]:
    """The closed form of another scenario than the one that is played."""
    return replaced("tests.worlds.play:predict", lambda original: lambda of: _of(original, change, of))


def _of(original: Callable[[Scenario], dict[str, Any]], change: Callable[[Scenario], Scenario], of: Scenario) -> Any:
    return original(change(of)) | {"analytic_kind": original(of)["analytic_kind"]}


def faster(of: Scenario) -> Scenario:
    def law(kind: Any) -> Any:
        return replace(kind.lifetime, mean=kind.lifetime.mean / 1.05, scale=kind.lifetime.scale / 1.05)

    return replace(of, classes=tuple(replace(kind, lifetime=law(kind)) for kind in of.classes))


def apart(of: Scenario) -> Scenario:
    return replace(of, classes=tuple(replace(kind, batch=None) for kind in of.classes))


def never_hit(original: Callable[..., Any]) -> Callable[..., Any]:
    def form(*, running: Any = None, **kinds: Any) -> Any:
        aside = running or {}
        return original(restarting=[], running={name: [*kinds.get(name, ()), *aside.get(name, ())] for name in kinds})

    return form


def no_lag(original: Callable[..., float]) -> Callable[..., float]:
    return lambda *args, write_lag, factor, **kinds: original(*args, **kinds)


def one_row(of: Scenario) -> Scenario:
    """Every burst as short as one row."""
    return replace(of, classes=tuple(replace(kind, rows=((1, 1.0),)) for kind in of.classes))


def test_rates_that_are_a_twentieth_higher_are_caught() -> None:
    must_reject(partial(exact, FEW_EXACT, QUICK_EXACT), closed_form(faster))


def test_restarts_that_cannot_fail_are_caught() -> None:
    fault = replaced("gemsim.analytic.run:interruptions", never_hit)
    must_reject(partial(exact, [42, 51, 162], QUICK_EXACT), fault)


def test_a_dropped_write_lag_is_caught() -> None:
    fault = replaced("gemsim.analytic.run:general_ettr", no_lag)
    must_reject(partial(exact, [111, 147, 183], QUICK_EXACT), fault)


def test_a_wrong_number_of_survivors_is_caught() -> None:
    must_reject(partial(exact, [75], QUICK_EXACT), closed_form(one_row))


def test_independent_failures_in_place_of_a_common_cause_are_caught() -> None:
    def check() -> None:
        judge(play.column_claims([110, 142, 160], QUICK), QUICK)

    must_reject(check, closed_form(apart))
