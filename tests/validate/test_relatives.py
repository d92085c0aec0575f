"""ECRec, MoEvement, SCR and the others beside ours, with hand-worked values and planted faults."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemsim.protection.placement import Coded
from gemsim.spec.published import paper
from gemsim.study.validate import relatives
from gemsim.study.validate.checks import Rows
from gemsim.study.validate.judge import judge

PUBLISHED = paper("relatives")
ROWS = relatives.rows(PUBLISHED.inputs, quick=True)


def failed(rows: Rows) -> set[str]:
    """The checks that fail."""
    return {check.id for check in judge(PUBLISHED, rows) if check.verdict == "fail"}


def test_all_pass_or_are_shown() -> None:
    assert failed(ROWS) == set()
    kinds = {one.id: one.judged for one in PUBLISHED.outcomes.values()}
    assert {name for name, judged in kinds.items() if judged == "A"} >= {"E3.memory", "M2", "S1.storage"}
    assert {kinds[name] for name in ("O1.order", "M1.gemini", "F1.before", "C1")} == {"C"}


def test_pauses_follow_from_the_one_that_was_fitted() -> None:
    """19.5 min for 1760 GB: 2.4375 for 220 GB, each 30 min."""
    assert ROWS["E1.checkpoint30"].value == pytest.approx((2.4375 / 30, 4.875 / 30, 9.75 / 30))
    assert ROWS["E1.checkpoint60"].value == pytest.approx((2.4375 / 60, 4.875 / 60, 9.75 / 60, 19.5 / 60))


def test_no_fitted_point_is_judged() -> None:
    """65 % at 1760 GB and 30 min, 20 % at 440 GB, 34 min at k = 4 and 42 min of the hourly saves are inputs."""
    judged = {
        name: len(one.value)
        for name, one in PUBLISHED.outcomes.items()
        if name[:2] in ("E1", "E2") and isinstance(one.value, tuple)
    }
    assert judged == {
        "E1.checkpoint30": 3, "E1.checkpoint60": 4, "E1.ecrec": 3, "E2.rebuild": 7, "E2.checkpoint": 7, "E2.faster": 2,
    }  # fmt: skip


@pytest.mark.parametrize(("every", "write", "again"), [(20, 0, 10.0), (6, 6, 9.0), (1, 1, 1.5), (3, 1, 2.5)])
def test_work_run_again(every: int, write: int, again: float) -> None:
    """Half of the interval, and the time until a save is whole."""
    assert relatives.run_again(every, write) == pytest.approx(again)


def test_a_write_that_counts_at_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: the window of a sparse save is not run again."""
    real = relatives.saves
    monkeypatch.setattr(relatives, "saves", lambda **keys: real(**{**keys, "write": 0.0}))
    wrong = relatives.run_again(6, 6) / 6
    assert failed({**ROWS, "M2": replace(ROWS["M2"], value=(0.5, wrong))}) == {"M2"}


def test_an_xor_set_that_survives_two_losses_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Coded.survives
    monkeypatch.setattr(Coded, "survives", lambda self, gone: whole(Coded(self.sets, self.losses + 1), gone))
    assert failed({**ROWS, **relatives._multilevel(PUBLISHED.inputs)}) == {"S1.losses", "S1.fti"}


def test_parity_counted_twice_is_caught() -> None:
    assert failed({**ROWS, "E3.memory": replace(ROWS["E3.memory"], value=(2.0, 1.5))}) == {"E3.memory"}


def test_the_order_of_the_three_holds_at_every_rate() -> None:
    table = [ROWS[f"M1.{name}"].value for name in ("moevement", "gemini", "checkfreq")]
    assert all(a > b > c for a, b, c in zip(*table, strict=True))
