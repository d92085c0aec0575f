"""The rows of TrainingCXL: verdicts, what they read, and planted faults."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from gemsim.protection import batches as recurrence
from gemsim.protection.batches import period
from gemsim.protection.damage import Damage
from gemsim.protection.tier import Moment, Plan
from gemsim.protection.undo_log import UndoLog
from gemsim.results.energy import energy
from gemsim.scenario.tiers.undo_log import phases
from gemsim.spec.published import Inputs, paper
from gemsim.spec.recommendation import MODELS, bar, phases_of
from gemsim.study.validate.judge import judge
from gemsim.study.validate.training_cxl import rows
from tests.protection.test_batches import hold_up_the_interaction

PAPER = paper("training_cxl")


def verdicts() -> dict[str, str]:
    return {check.id: check.verdict for check in judge(PAPER, rows(PAPER.inputs, quick=True))}


def changed(**values: Any) -> Inputs:
    return Inputs({name: getattr(PAPER.inputs, name) for name in PAPER.inputs} | values, "changed")


def test_all_that_is_judged_passes() -> None:
    found = verdicts()
    assert {one for one, verdict in found.items() if verdict == "shown"} == {
        one for one in found if one.startswith(("T6", "T7", "T8"))
    }
    assert "fail" not in found.values()


def test_periods_to_a_hundredth_of_a_millisecond() -> None:
    ours = rows(PAPER.inputs, quick=True)
    shown = {one: round(1e3 * float(row.value), 2) for one, row in ours.items() if one.startswith("T1")}  # type: ignore[arg-type]
    assert shown == {
        "T1.CXL-D": 6.70, "T1.CXL-B": 5.45, "T1.CXL": 4.90,
        "T1.RM1": 5.46, "T1.RM2": 5.42, "T1.RM3": 6.77, "T1.RM4": 5.78,
    }  # fmt: skip


def test_the_prediction_of_cxl_b_reads_no_bar_of_cxl_b_or_cxl() -> None:
    """T1 with those bars tripled is T1; the identities move."""
    tripled = {
        name: {part: tuple(3 * x for x in values) for part, values in getattr(PAPER.inputs, name).items()}
        for name in ("cxl_b", "cxl")
    }
    before, after = rows(PAPER.inputs, quick=True), rows(changed(**tripled), quick=True)
    assert all(before[one] == after[one] for one in before if one.startswith("T1"))
    assert before["T2.mean"].value != after["T2.mean"].value


@pytest.mark.parametrize("hardware", ["pmem", "pcie", "cxl_d"])
@pytest.mark.parametrize("model", MODELS)
def test_a_bar_cut_into_phases_gives_its_own_length(hardware: str, model: str) -> None:
    cut = phases(phases_of(PAPER.inputs, model, hardware))
    assert period(hardware, cut) == pytest.approx(bar(PAPER.inputs, hardware, model).total, rel=1e-12)


def test_the_cut_of_a_bar_moves_no_period() -> None:
    """How figure 12 divides lookup, bottom MLP and update is an assumption for RM2 to RM4."""
    other = changed(figure_12=dict(PAPER.inputs.figure_12) | {"lookup": 0.3e-3, "bottom_forward": 1.0e-3})
    for model in MODELS:
        for variant in ("cxl_d", "cxl_b", "cxl"):
            lengths = [period(variant, phases(phases_of(given, model, "cxl_d"))) for given in (PAPER.inputs, other)]
            assert lengths[0] == pytest.approx(lengths[1], rel=1e-12)


def test_a_correction_that_holds_up_the_interaction_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: 5.35 ms, 12 % above the bar, and the schedule disagrees."""
    hold_up_the_interaction(monkeypatch)
    assert verdicts()["T1.CXL"] == "fail"


def test_a_save_that_is_never_hidden_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: CXL-B saves on the critical path."""
    monkeypatch.setattr(
        recurrence, "_batch_aware", lambda given, start, before: recurrence._redo(given, start, moved=False)
    )
    found = verdicts()
    assert {found[f"T1.RM{number}"] for number in (1, 2, 3, 4)} == {"fail"}


def test_resuming_one_batch_late_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault of T5."""

    def late(self: UndoLog, damage: Damage, moment: Moment, platform: object) -> Plan:
        return Plan(self.name, moment.version + 1, seconds=self.replay)

    monkeypatch.setattr(UndoLog, "recover", late)
    assert verdicts()["T5.resumes"] == "fail"


def test_energy_orders_the_models_as_their_bars_do() -> None:
    ours = rows(PAPER.inputs, quick=True)["T7.models"].value
    printed = PAPER.outcomes["T7.models"].value
    assert isinstance(ours, tuple)
    assert isinstance(printed, tuple)
    assert sorted(range(4), key=lambda at: ours[at]) == sorted(range(4), key=lambda at: printed[at])
    assert max(ours) < 1.0


def test_energy_is_seconds_times_watts() -> None:
    assert energy({"busy": 10.0, "idle": 5.0}, {"busy": 300.0, "idle": 100.0, "off": 0.0}) == 3500.0
    with pytest.raises(KeyError, match="lost"):
        energy({"lost": 1.0}, {"busy": 300.0})


def test_the_rows_take_no_outcome() -> None:
    assert list(inspect.signature(rows).parameters) == ["inputs", "quick"]
