"""`gemsim bench`: what it prints, and that its scenarios are those it names. Times are not judged here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import pytest

from gemsim.cli.bench import _case
from gemsim.cli.main import main
from gemsim.scenario import Scenario
from gemsim.study import bench


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[Scenario]:
    """The scenarios that were timed; each takes 10 us for a failure, and has 1,000 failures more than the last."""
    seen: list[Scenario] = []
    numbers: Iterator[int] = count(1)

    def replications(point: Scenario, _: int) -> tuple[float, float]:
        seen.append(point)
        failures = 1_000.0 * next(numbers)
        return failures * 1e-5, failures

    monkeypatch.setattr(bench, "replications", replications)
    return seen


def test_json_has_the_machine_the_sizes_and_the_cases_with_their_goals(
    timed: list[Scenario], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"machine", "cores", "python", "gemsim", "numpy", "simpy"} <= found["machine"].keys()
    assert [size["gpus"] for size in found["sizes"]] == list(bench.QUICK_SIZES)
    assert [size["per_failure"] for size in found["sizes"]] == pytest.approx([1e-5] * 3)
    assert [(case["limit"], case["goal"], case["peer"]) for case in found["cases"]] == [
        (0.25, 0.1, "23 to 39"),
        (0.4, None, "61.7"),
        (1.0, None, ""),
    ]
    assert "7b139c7" in found["peer"]
    assert [point.platform.grid.gpus for point in timed[-3:]] == [4_096, 16_384, 100_000]


def test_the_table_says_how_flat_the_cost_is(timed: list[Scenario], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--quick"]) == 0
    shown = capsys.readouterr().out
    assert "dearest over cheapest failure: 1.00, goal 1.5" in shown
    assert "131,072 GPUs" in shown
    assert shown.count("10.0") >= 6  # each size and each case: 10 us
    (peer,) = [line for line in shown.splitlines() if line.startswith("peer's default")]
    assert "0.100  0.25     0.1 met" in peer


def test_a_goal_that_is_missed_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    _case(bench.Case("peer's default", 0.19, 11_000.0, 9, 0.25, 0.1, "23 to 39"))
    assert "0.190  0.25  0.1 missed" in capsys.readouterr().out


def test_a_replication_is_timed() -> None:
    cpu, failures = bench.replications(bench.dense(1_024, 27), 2)
    assert 0.0 < cpu < 5.0
    assert 0 < failures < 60
