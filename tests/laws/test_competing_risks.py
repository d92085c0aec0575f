"""Causes of failure that compete: on one device the first of two clocks strikes, each as often as its hazard says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from gemsim.failures.laws import Lifetime, lifetime
from gemsim.failures.trace import draw_trace
from tests import statcheck
from tests.failures.test_trace import kind
from tests.faults import must_reject, replaced

UNITS, HORIZON = 12_000, 12.0
PAIRS = {
    "constant": (lifetime("exponential", 1.0), lifetime("exponential", 2.0)),
    "wear-out and infant mortality": (lifetime("weibull", 1.0, 1.5), lifetime("gamma", 2.0, 0.7)),
    "alike": (lifetime("exponential", 1.0), lifetime("exponential", 1.0)),
}


def check_first(laws: tuple[Lifetime, Lifetime], seed: int) -> None:
    """In a fleet that has long been running the first failure outlives t with the product of both residual survivals,
    and is the first cause's with the integral of its residual density times the other's survival."""
    classes = [kind(law, name=name, units=UNITS) for law, name in zip(laws, ("one", "other"), strict=True)]
    first: dict[int, tuple[float, int]] = {}
    for event in draw_trace(classes, horizon=HORIZON, seed=seed, replication=0, stationary=True).wall:
        first.setdefault(event.unit, (event.time, event.index))
    assert len(first) == UNITS  # a device without any failure in the horizon has a chance below 1e-7
    times = np.array([time for time, _ in first.values()])
    left = [1.0 - law.equilibrium_cdf(times) for law in laws]
    statcheck.ks_uniform(1.0 - left[0] * left[1], alarm=1e-6)
    share = quad(lambda t: float(laws[0].sf(t)) / laws[0].mean * (1.0 - float(laws[1].equilibrium_cdf(t))), 0, HORIZON)
    statcheck.binomial_count(sum(index == 0 for _, index in first.values()), UNITS, share[0], detect=0.05)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_first_of_two_causes(pair: str, seed: int) -> None:
    check_first(PAIRS[pair], seed)


def test_constant_hazards_share_the_failures_as_their_rates(seed: int) -> None:
    """The integral above by hand: 1 to 1/2 is two thirds."""
    share = quad(lambda t: np.exp(-t) * np.exp(-t / 2), 0, np.inf)[0]
    assert share == pytest.approx(2 / 3)


def one_stream_for_all() -> AbstractContextManager[None]:
    """Both causes draw the same uniforms, so that they strike together."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda draw, units, share, key: original(draw, units, share, (key[0], key[1], ("all",)))

    return replaced("gemsim.failures.draw:Draw._poisson", make)


def test_causes_that_strike_together_are_noticed(seed: int) -> None:
    must_reject(lambda: check_first(PAIRS["alike"], seed), one_stream_for_all())
