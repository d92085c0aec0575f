"""The SimPy schedule beside the recurrence: every phase of every batch, over random phase times."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.engine.schedule import play
from gemsim.protection.batches import VARIANTS, Phases, batches, period
from tests.protection.test_batches import FIGURE, hold_up_the_interaction

SECONDS = st.floats(0.0, 10.0) | st.sampled_from([0.0, 1.0, 2.0])  # whole ones end at the same time
PHASES = st.builds(Phases, *[SECONDS] * len(Phases.__slots__))


def agree(variant: str, phases: Phases, count: int = 4) -> None:
    for ours, theirs in zip(batches(variant, phases, count), play(variant, phases, count), strict=True):
        assert astuple(ours) == pytest.approx(astuple(theirs), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@given(phases=PHASES)
def test_schedule_and_recurrence_are_equal_batch_by_batch(variant: str, phases: Phases) -> None:
    agree(variant, phases)


@pytest.mark.parametrize("variant", VARIANTS)
@given(phases=PHASES)
def test_from_the_second_batch_on_all_are_equally_long(variant: str, phases: Phases) -> None:
    played = play(variant, phases, 5)
    for batch in played[1:]:
        assert batch.end - batch.start == pytest.approx(period(variant, phases), rel=1e-9, abs=1e-9)


def test_a_correction_that_held_up_the_interaction_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the GPU waits for the correction in the recurrence, not in the schedule."""
    hold_up_the_interaction(monkeypatch)
    with pytest.raises(AssertionError):
        agree("cxl", FIGURE)


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(ValueError, match="no variant 'dram'"):
        play("dram", FIGURE, 1)
