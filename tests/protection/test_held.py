"""Silent corruption: how often the versions that a tier counts reach back far enough."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gemsim.failures.laws import Duration, duration
from gemsim.protection.held import _each, _mean_longer


@pytest.mark.parametrize(
    ("law", "keep", "exact"),
    [
        (duration("fixed", 10.0), 1, 1 / 3),  # in the last third of an interval the next save is complete before
        (duration("fixed", 40.0), 1, 1.0),
        (duration("fixed", 40.0), 2, 1 / 3),
        (duration("fixed", 29.0), 2, 0.0),
        (duration("exponential", 10.0), 1, (1.0 - math.exp(-3.0)) / 3.0),
        (duration("exponential", 10.0), 2, math.exp(-3.0) * (1.0 - math.exp(-3.0)) / 3.0),
    ],
)
def test_the_mean_over_the_phases_of_a_save(law: Duration, keep: int, exact: float) -> None:
    """An interval of 30 s."""
    assert _mean_longer(law, math.inf, keep * 30.0, 30.0) == pytest.approx(exact, rel=1e-9)


def test_no_version_is_older_than_it_may_be() -> None:
    assert _mean_longer(duration("fixed", 10.0), 9.0, 60.0, 30.0) == 1.0
    assert _mean_longer(duration("exponential", 10.0), 5.0, 60.0, 30.0) == pytest.approx(math.exp(-0.5))


def test_arrays_are_as_their_elements() -> None:
    law = duration("lognormal", 10.0, 1.0)
    ends, intervals = np.array([[30.0], [60.0]]), np.array([30.0, 20.0, 30.0])
    found = _each(lambda end, interval: _mean_longer(law, math.inf, end, interval), ends, intervals)
    assert found.shape == (2, 3)
    assert found[1, 1] == _mean_longer(law, math.inf, 60.0, 20.0)
