"""The recurrence of a batch's phases against timelines read off by hand, and its rules of dependency one by one."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from gemsim.protection import batches as recurrence
from gemsim.protection.batches import VARIANTS, Batch, Phases, batches, least_gap, log_seconds, period

# TrainingCXL (IEEE Micro 2023), figure 12, ms: read off to 0.1
FIGURE = Phases(
    lookup=0.4, lookup_after_write=0.95, bottom_forward=0.6, interaction=1.6, update=2.7, bottom_backward=1.5,
    embedding_log=0.6, mlp_log=1.2, correction=0.45,
)  # fmt: skip
AWARE = replace(FIGURE, mlp_log=1.3, update=2.6)


def hold_up_the_interaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a fault in the recurrence: the GPU waits for the correction. A batch of figure 12 takes 5.35 ms then."""
    free = recurrence._relaxed

    def gated(phases: Phases, start: float, before: Batch | None) -> Batch:
        late = 0.0 if before is None else max(0.0, phases.embedding_log + phases.correction - phases.bottom_forward)
        return free(replace(phases, bottom_forward=phases.bottom_forward + late), start, before)

    monkeypatch.setattr(recurrence, "_relaxed", gated)


def test_cxl_d_follows_its_timeline() -> None:
    """Lookup to 0.4, bottom MLP to 0.6, top MLP to 2.2, update to 4.9, save to 6.7; then the next batch."""
    first, second = batches("cxl_d", FIGURE, 2)
    assert (first.lookup, first.forward, first.interaction, first.backward, first.update, first.end) == pytest.approx(
        (0.4, 0.6, 2.2, 3.7, 4.9, 6.7)
    )
    assert second.start == pytest.approx(6.7)
    assert period("cxl_d", FIGURE) == pytest.approx(6.7)


def test_cxl_b_follows_its_timeline() -> None:
    """The log overhangs the top MLP from 2.2 to 2.5; the second lookup reads rows just written, from 5.1 to 6.05."""
    first, second = batches("cxl_b", AWARE, 2)
    assert (first.log, first.end, second.lookup) == pytest.approx((2.5, 5.1, 6.05))
    assert second.log - second.lookup == pytest.approx(1.9)
    assert period("cxl_b", AWARE) == pytest.approx(5.45)


def test_cxl_follows_its_timeline() -> None:
    """Log to 1.0, next lookup to 1.4, MLP log to 2.2, update to 4.9; then log to 5.5, correction to 5.95, top MLP to
    7.1."""
    first, second = batches("cxl", FIGURE, 2)
    assert (first.log, first.next_lookup, first.interaction, first.end) == pytest.approx((1.0, 1.4, 2.2, 4.9))
    assert first.logged == pytest.approx(0.8)
    assert (second.log, second.correction, second.interaction) == pytest.approx((5.5, 5.95, 7.1))
    assert period("cxl", FIGURE) == pytest.approx(4.9)


def test_a_correction_that_held_up_the_interaction_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault of the dependency that figure 12 needs: a batch of 5.35 ms."""
    hold_up_the_interaction(monkeypatch)
    assert period("cxl", FIGURE) == pytest.approx(5.35)
    with pytest.raises(AssertionError):
        test_cxl_follows_its_timeline()


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_to_save_adds_nothing(variant: str) -> None:
    assert log_seconds(variant, FIGURE.unlogged) == 0.0


def test_only_what_outlasts_the_interaction_is_exposed() -> None:
    """A save of 1.8: all of it after the update, 0.2 beside an interaction of 1.6, nothing when it is relaxed."""
    assert [log_seconds(v, FIGURE) for v in ("cxl_d", "cxl_b", "cxl")] == pytest.approx([1.8, 0.2, 0.0])


def test_a_long_bottom_mlp_waits_for_its_log_too() -> None:
    """Its parameters change in its backward: 3 ms of it after a log that ends 0.2 after the interaction."""
    phases = replace(FIGURE, bottom_backward=3.0)
    assert period("cxl_b", phases) == pytest.approx(0.95 + 1.8 + 3.0)
    assert period("cxl", phases) == pytest.approx(0.6 + 1.6 + 3.0)


def test_software_moves_what_hardware_does_not() -> None:
    """1 ms each way is on the critical path by software alone; forward beyond the lookup is hidden behind it."""
    phases = replace(FIGURE, to_gpu=1.0, to_memory=1.0)
    for variant in ("pcie", "pmem", "ssd"):
        assert period(variant, phases) == pytest.approx(0.4 + 1.0 + 1.6 + 1.0 + 2.7 + 1.8)
    for variant in ("cxl_d", "cxl_b", "cxl"):
        assert period(variant, phases) == period(variant, FIGURE)


def test_the_mlp_log_takes_the_batches_that_its_room_gives() -> None:
    """1.2 ms of log; after log, correction and next lookup (0.6 + 0.45 + 0.4) 0.75 of the 2.2 ms are left."""
    assert batches("cxl", FIGURE, 3)[2].logged == pytest.approx(0.75)
    assert least_gap("cxl", FIGURE) == 2
    assert least_gap("cxl", replace(FIGURE, mlp_log=0.75)) == 1
    assert least_gap("cxl", replace(FIGURE, mlp_log=7.5)) == 10
    assert least_gap("cxl", replace(FIGURE, embedding_log=3.0)) == inf
    assert least_gap("cxl_b", FIGURE) == 1


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(ValueError, match="no variant 'dram'; one of ssd, pmem, pcie, cxl_d, cxl_b, cxl"):
        period("dram", FIGURE)
