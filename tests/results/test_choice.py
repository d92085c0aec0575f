"""The best-point rule of model.md section 7, case by case."""

from __future__ import annotations

import numpy as np
import pytest

from gemsim.results.choice import TIE_BAND, TOO_WIDE, Candidate, choose

NOISE = np.array([-0.004, 0.004, -0.002, 0.002, 0.0])  # shared by all designs: the same failures
OWN = np.array([1.0, -1.0, 0.5, -0.5, 0.0])  # a spread of the difference itself


def design(
    index: int, ettr: float, *, memory: float = 0.0, step: float = 0.0, meets: bool = True, own: float = 0.0
) -> Candidate:
    return Candidate(index, ettr + NOISE + own * OWN, memory, step, meets)


def test_the_cheaper_of_two_tied_wins_over_the_larger_ettr() -> None:
    choice = choose([design(0, 0.9304, memory=0.01), design(1, 0.9300, memory=0.002)])
    assert (choice.reference, choice.best, choice.tied) == (0, 1, (0, 1))


def test_a_difference_beyond_band_and_interval_is_no_tie_however_cheap() -> None:
    choice = choose([design(0, 0.9306, memory=0.01), design(1, 0.9300)])
    assert (choice.reference, choice.best, choice.tied) == (0, 0, (0,))


def test_the_band_is_the_half_width_where_that_is_wider() -> None:
    noisy = choose([design(0, 0.9310, memory=0.01), design(1, 0.9300, own=0.002)])
    assert noisy.differences[1].half_width > 0.001 > TIE_BAND
    assert (noisy.best, noisy.tied) == (1, (0, 1))


def test_shared_noise_does_not_widen_the_band() -> None:
    choice = choose([design(0, 0.9310, memory=0.01), design(1, 0.9300)])  # spread of each ETTR: 0.003
    assert choice.tied == (0,)


def test_step_overhead_decides_at_equal_memory_and_order_at_equal_step() -> None:
    rivals = [design(0, 0.93, memory=0.01, step=0.002), design(1, 0.93, memory=0.01, step=0.001)]
    assert choose(rivals).best == 1
    assert choose([*rivals, design(2, 0.93, memory=0.01, step=0.001)]).best == 1


def test_equal_shares_from_other_arithmetic_are_equal() -> None:
    assert 0.1 + 0.2 != 0.3
    rivals = [design(0, 0.93, memory=0.1 + 0.2, step=0.001), design(1, 0.93, memory=0.3, step=0.002)]
    assert choose(rivals).best == 0


def test_only_designs_that_meet_the_requirement_are_reference_tied_or_best() -> None:
    choice = choose([design(0, 0.95, meets=False), design(1, 0.93, memory=0.01), design(2, 0.92)])
    assert (choice.reference, choice.best, choice.tied) == (1, 1, (1,))
    assert choice.differences[0].value == pytest.approx(0.02)  # still compared, so that the price of it shows
    assert choice.differences[2].value == pytest.approx(-0.01)


def test_a_cheaper_design_that_fails_the_requirement_is_not_best() -> None:
    choice = choose([design(0, 0.93, memory=0.01), design(1, 0.93, memory=0.0, meets=False)])
    assert choice.best == 0


def test_without_an_allowed_design_there_is_no_best() -> None:
    choice = choose([design(0, 0.95, meets=False)])
    assert (choice.reference, choice.best, choice.tied, choice.differences) == (None, None, (), {})
    assert choose([]).best is None


def test_a_tie_by_an_interval_too_wide_chooses_nothing() -> None:
    """Behind by 0.036 with a half-width of 0.12: it would win as the cheapest, though it may be far worse."""
    noisy = design(1, 0.9575, own=0.12)
    choice = choose([design(0, 0.9935, memory=0.01), noisy])
    assert choice.differences[1].half_width > TOO_WIDE
    assert (choice.reference, choice.best, choice.unsure, choice.tied) == (0, None, 1, (0, 1))


def test_one_that_ties_by_a_wide_interval_and_is_dearer_changes_nothing() -> None:
    choice = choose([design(0, 0.9935, memory=0.01), design(1, 0.9575, memory=0.02, own=0.12)])
    assert (choice.best, choice.unsure) == (0, None)


def test_one_replication_has_no_interval_so_the_fixed_band_decides() -> None:
    def once(index: int, ettr: float, memory: float) -> Candidate:
        return Candidate(index, np.array([ettr]), memory, 0.0, True)

    assert choose([once(0, 0.9304, 0.01), once(1, 0.93, 0.0)]).best == 1
    assert choose([once(0, 0.9306, 0.01), once(1, 0.93, 0.0)]).best == 0


def test_of_equal_largest_ettr_the_first_is_the_reference() -> None:
    assert choose([design(3, 0.93), design(1, 0.93)]).reference == 1
