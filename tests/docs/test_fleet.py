"""docs/fleet.md: its study is checked and runs, and no key of a fleet is left unsaid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gemsim import scenario
from gemsim.cli.main import main
from gemsim.engine.run import simulate
from gemsim.spec.loading import LoadedStudy, parse_study, resolve_point
from gemsim.spec.meanings_fleet import FLEET

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "fleet.md").read_text(encoding="utf-8")
CLASS_KEYS = ("frailty", "drift", "batch", "common_cause", "recurrence", "slower", "notice", "stop", "racks_per_power")


@pytest.fixture(scope="module")
def study() -> LoadedStudy:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    return parse_study(example.encode(), "fleet.yaml")


def test_every_key_of_a_fleet_stands_in_the_page() -> None:
    keys = {path.rsplit(".", 1)[-1] for path in FLEET} | set(CLASS_KEYS)
    plain = keys - {"kind", "name", "mean", "time"}  # of laws and stages, as anywhere
    assert {key for key in plain if not re.search(rf"\b{key}\b", PAGE)} == set()


def test_the_study_of_the_page_passes_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "fleet.yaml").write_text(example, encoding="utf-8")
    assert main(["check", str(tmp_path / "fleet.yaml")]) == 0
    out = capsys.readouterr().out
    assert "4 feasible, 0 infeasible" in out
    for name in ("failures.gpu+power", "failures.server.starts", "failures.false_alarm", "failures.frailty.reaches"):
        assert name in out


def test_the_study_of_the_page_runs_with_all_that_it_names(study: LoadedStudy) -> None:
    built = scenario.build(resolve_point(study, {}))
    assert {kind.name for kind in built.classes} == {
        "server", "gpu", "gpu+power", "feed", "maintenance", "straggler", "false_alarm",
    }  # fmt: skip
    rows = [simulate(built, seed=0, replication=number) for number in range(8)]
    for column in ("failures", "failures_idle", "planned_stops", "found_early", "degraded_s", "planned_s", "waiting_s"):
        assert sum(row[column] for row in rows) > 0, column
