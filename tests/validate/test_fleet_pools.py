"""R3, R8, R12 and R18: what the rows say, what they rest on, and faults that they would show."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import pytest

from gemsim.analytic import frailty
from gemsim.spec.published import paper
from gemsim.study.validate import fleet_pools
from gemsim.study.validate.checks import Rows
from tests.faults import must_reject, replaced

INPUTS = paper("fleets").inputs
DAY, HOUR = 86_400.0, 3_600.0


def rows() -> Rows:
    """Looked up at call time, so that a planted fault is seen."""
    return fleet_pools.rows(INPUTS, quick=True)


def test_bad_nodes_taken_out_of_rsc() -> None:
    """Both numbers are fitted; the multiplier that it takes is what the row shows."""
    assert rows()["R8"].value == pytest.approx((0.14, 0.04), rel=1e-9)
    law = fleet_pools.lemons(INPUTS)
    assert law.multiplier == pytest.approx(243.0, abs=1.0)
    assert frailty.worst(law, 0.012) == pytest.approx(0.75, abs=0.01)
    linear = 1.0 + (log(0.86) / log(0.96) - 1.0) / 0.012  # were each job to meet its share of bad nodes
    assert linear == pytest.approx(226.0, abs=1.0)


def test_small_jobs_of_rsc_with_the_bad_nodes_of_r8() -> None:
    """Print: 47.7 d, 7.9 h, about 10 h. Linear is 3.2 and 3.6 times too long; with bad nodes 0.83, 0.94 and 0.72."""
    found = rows()
    assert found["R3.8"].value == pytest.approx(39.4 * DAY, rel=5e-3)
    assert found["R3.8"].linear == pytest.approx(153.8 * DAY, rel=1e-3)
    assert found["R3.1024"].value == pytest.approx(7.39 * HOUR, rel=5e-3)
    assert found["R3.1024"].linear == pytest.approx(28.8 * HOUR, rel=2e-3)
    assert found["R3.4096"].value == found["R3.4096"].linear == pytest.approx(7.2 * HOUR, rel=2e-3)


def test_bad_nodes_drawn_at_random_cannot_make_small_jobs_worse() -> None:
    law = fleet_pools.lemons(INPUTS)
    assert all(frailty.mean_gap_of_small_jobs(law, nodes) >= 1.0 for nodes in (1, 8, 128))


def test_spares_of_byterobust() -> None:
    low, high = fleet_pools.out_of_action(1024, 4, 0.99)
    assert (low, high) == pytest.approx((8.0e-4, 1.25e-3), rel=0.02)
    from scipy.stats import binom

    assert binom.sf(4, 1028, 0.999 * high) <= 0.01 < binom.sf(4, 1028, 1.001 * high)
    assert rows()["R12.spares"].value == 2.0
    ettr = rows()["R12"].value
    assert isinstance(ettr, float)
    assert 0.97 < ettr < 0.99


def test_spares_of_delta() -> None:
    assert rows()["R18"].value == 6.0
    assert rows()["R18.fast"].value == 1.0


def test_a_lemon_in_every_job_is_caught() -> None:
    """Planted fault: as if each job met its share of bad nodes, none more and none less."""

    def linear(original: Callable[..., float]) -> Callable[..., float]:
        return lambda devices, hazard, lemons, multiplier: (
            1.0 - 2.718281828459045 ** (-hazard * devices * (1.0 + lemons * (multiplier - 1.0)))
        )

    must_reject(test_bad_nodes_taken_out_of_rsc, replaced("gemsim.analytic.frailty:job_fails", linear))


def test_spares_at_the_mean_are_caught() -> None:
    def at_the_mean(original: Callable[..., int]) -> Callable[..., int]:
        return lambda rate, mean, confidence: round(rate * mean)

    must_reject(test_spares_of_delta, replaced("gemsim.analytic.spares:spares_needed", at_the_mean))
