"""Thousands of broken inputs of each kind: a clean refusal or an answer, never a traceback, a hang or a stray file.

`python -m tests.fuzz KIND FIRST COUNT` runs more of them, and shows a defect by its kind and number.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.cases import ACCEPTED, KINDS, REFUSED, RUN, run_case
from tests.fuzz.watch import Defect, watched

SHORT = {"study": 400, "log": 200, "run_log": 120, "profile": 120, "results": 80, "words": 80}
LONG = {"study": 12_000, "log": 3_000, "run_log": 2_000, "profile": 1_500, "results": 1_000, "words": 1_000}
FIRST_LONG = 100_000  # other cases than the short ones
PIECE = 1_000
PIECES = [
    (kind, first, min(PIECE, count - first)) for kind, count in LONG.items() for first in range(0, count, PIECE)
]  # fmt: skip


def run(kind: str, numbers: range, folder: Path) -> Counter[str]:
    """How these cases went. Raises Defect at the first that went wrong."""
    found: Counter[str] = Counter()
    for number in numbers:
        found[run_case(kind, number, folder / "case")] += 1
        shutil.rmtree(folder / "case")
    return found


def tells(kind: str, found: Counter[str]) -> None:
    """Enough are refused and enough are not, so that both the readers and what comes behind them are met."""
    assert found[REFUSED] >= found.total() / 10
    assert found[ACCEPTED] + found[RUN] >= found.total() / 50
    assert found[RUN] >= found.total() / 20 or kind != "study"


def test_a_thousand_cases_are_asked() -> None:
    assert set(SHORT) == set(LONG) == set(KINDS)
    assert sum(SHORT.values()) == 1_000
    assert sum(count for _, _, count in PIECES) >= 20_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_input_is_refused_cleanly_or_runs(kind: str, tmp_path: Path) -> None:
    tells(kind, run(kind, range(SHORT[kind]), tmp_path))


@pytest.mark.long
@pytest.mark.parametrize(("kind", "first", "count"), PIECES)
def test_a_broken_input_of_many_is_refused_cleanly_or_runs(kind: str, first: int, count: int, tmp_path: Path) -> None:
    tells(kind, run(kind, range(FIRST_LONG + first, FIRST_LONG + first + count), tmp_path))


def test_the_same_case_again_is_the_same(tmp_path: Path) -> None:
    texts = []
    for number in (3, 3, 4):
        run_case("study", number, tmp_path / "case")
        texts.append((tmp_path / "case" / "study.yaml").read_bytes())
    assert texts[0] == texts[1] != texts[2]


def _write(path: Path) -> None:
    path.write_text("x")


def _loop() -> None:
    while True:
        pass


def _program() -> None:
    shutil.os.system("true")  # type: ignore[attr-defined]


def test_what_no_input_may_cause_is_seen(tmp_path: Path) -> None:
    """A write elsewhere, a program, a loop without end, memory without end."""
    allowed, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    allowed.mkdir()
    with watched(allowed):
        _write(allowed / "x")
    with pytest.raises(Defect, match="wrote"), watched(allowed):
        _write(elsewhere)
    with pytest.raises(Defect, match=r"os\.mkdir"), watched(allowed):
        elsewhere.with_name("folder").mkdir()
    with pytest.raises(Defect, match=r"os\.rename"), watched(allowed):
        elsewhere.rename(allowed / "y")
    with pytest.raises(Defect, match=r"os\.system"), watched(allowed):
        _program()
    with pytest.raises(Defect, match="no end"), watched(allowed, cpu_s=0.2):
        _loop()
    with pytest.raises(MemoryError), watched(allowed):
        bytearray(2**36)
