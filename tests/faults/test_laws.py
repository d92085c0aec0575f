"""Planted faults in the lifetime laws: ages forgotten where they must count."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from gemsim.failures.laws import Floats, Lifetime, lifetime
from tests.failures.test_laws import check_long_run_residuals, check_residuals_given_age
from tests.faults import must_reject, replaced

LAW = lifetime("weibull", 4.0e6, 0.7)


def new_at_the_start() -> AbstractContextManager[None]:
    """A stationary fleet is taken for a new one."""
    return replaced("gemsim.failures.laws:Lifetime.equilibrium_cdf", lambda _: Lifetime.cdf)


def age_forgotten() -> AbstractContextManager[None]:
    """A device that has lived on is taken for a new one."""

    def make(original: Callable[..., Floats]) -> Callable[..., Floats]:
        return lambda law, u, age: original(law, u, 0.0 * age)

    return replaced("gemsim.failures.laws:Lifetime.residual_quantile", make)


@pytest.mark.parametrize(
    ("check", "fault"),
    [(check_long_run_residuals, new_at_the_start), (check_residuals_given_age, age_forgotten)],
)
def test_forgotten_ages_are_noticed(
    check: Callable[[Lifetime], None], fault: Callable[[], AbstractContextManager[None]]
) -> None:
    must_reject(lambda: check(LAW), fault())
