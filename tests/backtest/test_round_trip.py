"""Logs of the engine's own: read to its own ledger, predicted as they went on, and changes in them called out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gemsim.cli.main import ASKED_WRONG, DONE, main
from gemsim.engine.run import simulate
from gemsim.failures.laws import duration
from gemsim.scenario import build
from gemsim.spec.loading import load_study, resolve_point
from gemsim.study.backtest import predict
from gemsim.study.backtest.account import account
from gemsim.study.backtest.page import render
from gemsim.study.backtest.read import read_run
from gemsim.study.backtest.run import BackTest, backtest
from gemsim.study.design import designs_of
from tests import statcheck
from tests.backtest.engine_logs import DAY, TEXT, Rows, joined, ridden, scenario, study, write
from tests.faults import must_reject, replaced

RUNS = 200
ROOT = Path(__file__).parents[2]


def _tested(folder: Path, *, seed: int = 3, days: float = 40.0, runs: int = RUNS) -> BackTest:
    """The back-test of a log of the job as it is."""
    rows, _ = ridden(scenario(days), seed=seed)
    return backtest(study(), write(folder / "run.csv", rows), share=0.5, runs=runs, seed=seed)


def changed(folder: Path, **changes: str) -> BackTest:
    """The back-test of a log whose second half is that of another job."""
    restart = float(changes.get("restart__process", "240 s").split()[0])
    first, _ = ridden(scenario(40.0), seed=3)
    second, _ = ridden(scenario(40.0, **changes), seed=4, restart=restart)
    return backtest(study(), write(folder / "run.csv", joined(first, second)), share=0.49, runs=RUNS, seed=0)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_ledger_of_a_log_is_the_engines(tmp_path: Path, seed: int) -> None:
    """But for waiting, which a log does not tell from detection, and failures in a restart, which begin it anew."""
    rows, ledger = ridden(scenario(30.0), seed=seed)
    found = account(read_run(write(tmp_path / "run.csv", rows)))
    for name in ("productive", "overhead", "wasted"):
        assert found.seconds[name] == pytest.approx(ledger[name], abs=1e-3)
    down = ("detection", "waiting", "restart", "recovery")
    assert sum(found.seconds[name] for name in down) == pytest.approx(sum(ledger[name] for name in down), abs=1e-3)


def test_inputs_that_are_known_lie_in_their_intervals(tmp_path: Path) -> None:
    found = _tested(tmp_path)
    fitted = found.fitted
    assert fitted.rate.lo < 2.0 / DAY < fitted.rate.hi
    assert fitted.step.value == pytest.approx(30.0, rel=1e-6)
    assert fitted.save.value == pytest.approx(20.0, rel=0.01)
    assert fitted.every.value == 120
    assert fitted.parts["restart"].value == pytest.approx(240.0, rel=1e-6)
    assert fitted.parts["recovery"].value == pytest.approx(60.0, rel=1e-6)
    assert found.prediction is not None
    assert found.prediction.ettr_analytic == pytest.approx(found.lines[0].predicted, abs=0.005)


def check_held(folder: Path) -> None:
    """A log that goes on as it began is predicted, and no input is called changed."""
    found = _tested(folder)
    assert found.held
    assert not [one.name for one in found.changes if one.found]
    assert sum(line.predicted for line in found.lines[:-1]) == pytest.approx(1.0)


def test_a_log_that_goes_on_as_it_began_is_predicted(tmp_path: Path) -> None:
    check_held(tmp_path)


def test_a_fault_in_the_fit_is_rejected(tmp_path: Path) -> None:
    """Twice the rate in the prediction alone."""

    def double(original: object) -> object:
        return lambda fitted, rng, number: 2.0 * original(fitted, rng, number)  # type: ignore[operator]

    must_reject(lambda: check_held(tmp_path), replaced("gemsim.study.backtest.predict:draw_rates", double))


@pytest.mark.parametrize(
    ("changes", "called", "outside"),
    [
        (
            {"restart__process": "360 s"},
            "restart",
            "",
        ),  # 0.3 % of the time more: within what the number of failures does
        ({"failures__scale": "2"}, "failures per day of work", "failures"),
    ],
)
def test_a_planted_change_is_called_out(tmp_path: Path, changes: dict[str, str], called: str, outside: str) -> None:
    found = changed(tmp_path, **{key: float(one) if key.endswith("scale") else one for key, one in changes.items()})  # type: ignore[arg-type]
    (first, *_) = [one for one in found.changes if one.found]
    assert called in {one.name for one in found.changes if one.found}
    assert first.ratio == pytest.approx(1.5 if called == "restart" else 2.0, rel=0.3)
    assert found.verdict == ("missed" if outside else "changed")
    assert not outside or outside in {line.name for line in found.lines if not line.inside}
    page = render(found, title="A job")
    assert "Verdict: not as predicted" in page
    assert f"Changed: {called}" in page


def test_with_few_failures_it_says_what_can_be_told(tmp_path: Path) -> None:
    found = _tested(tmp_path, days=2.0, seed=5)
    assert 0 < len(found.fitted.stood) < 5
    assert found.prediction is None
    page = " ".join(render(found, title="A job").split())
    assert "Too few failures to predict" in page
    assert "failures per day of work (95 %)" in page


def _interrupted(rows: Rows) -> Rows:
    """The run with an evaluation of 10 min each 600 steps, and stopped on purpose for 2 h each 2,400."""
    found: Rows = []
    late, before = 0.0, ""
    for time, event, step in rows:
        found.append((time + late, event, step))
        if event == "step" and before != "restore_end" and step is not None and step % 600 == 0:
            found += [(time + late, "pause_start", None), (time + late + 600.0, "pause_end", None)]
            late += 600.0
            if step % 2400 == 0:
                moments = [(0.0, "planned"), (7200.0, "restart"), (7440.0, "restore_start"), (7500.0, "restore_end")]
                found += [(time + late + seconds, name, None) for seconds, name in moments]
                late += 7500.0
                found.append((time + late, "step", step))
        before = event
    return found


def test_what_is_not_predicted_is_not_judged(tmp_path: Path) -> None:
    """Pauses and stops on purpose, with their restarts: said, left out, and no reason for a verdict."""
    rows, _ = ridden(scenario(40.0), seed=3)
    found = backtest(study(), write(tmp_path / "run.csv", _interrupted(rows)), share=0.5, runs=RUNS, seed=0)
    assert found.verdict == "held"
    assert found.rest.seconds["other"] > 0.01 * found.rest.wall
    assert found.rest.aside["restart"] > 0.0
    assert not {"other", "planned"} & {line.name for line in found.lines}
    assert sum(line.actual for line in found.lines[:-1]) == pytest.approx(1.0)
    page = " ".join(render(found, title="A job").split())
    assert "of pauses, and stops on purpose with their restarts and the work they lost" in page


def unlike(rows: Rows, rng: np.random.Generator) -> Rows:
    """The run with saves of 0.2 to 1.8 times their time."""
    late, found = 0.0, list[tuple[float, str, int | None]]()
    for number, (time, event, step) in enumerate(rows):
        if event == "save_end":
            late += (time - rows[number - 1][0]) * float(rng.uniform(-0.8, 0.8))
        found.append((time + late, event, step))
    return found


def check_saves(folder: Path) -> None:
    """Saves that differ by themselves: the interval of what they cost knows."""
    inside = 0
    for seed in range(24):
        rows, _ = ridden(scenario(8.0), seed=seed)
        log = write(folder / "run.csv", unlike(rows, np.random.default_rng(seed)))
        found = backtest(study(), log, share=0.5, runs=100, seed=seed)
        inside += next(line.inside for line in found.lines if line.name == "overhead") if found.lines else 1
    statcheck.binomial_count(inside, 24, 0.95, detect=0.6)


def test_saves_that_differ_are_no_surprise(tmp_path: Path) -> None:
    check_saves(tmp_path)


@pytest.mark.long
def test_a_prediction_that_takes_all_saves_for_alike_is_rejected(tmp_path: Path) -> None:
    must_reject(
        lambda: check_saves(tmp_path),
        replaced("gemsim.study.backtest.predict:_saved", lambda _: lambda spent, save, factor, rng: spent),
    )


def test_a_stop_has_its_law() -> None:
    assert predict._law(100.0, 0.0) == duration("fixed", 100.0)
    assert predict._law(100.0, 1.0).sigma == pytest.approx(0.8326, abs=1e-4)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, _ = ridden(scenario(20.0), seed=3)
    log, job, out = write(tmp_path / "run.csv", rows), tmp_path / "job.yaml", tmp_path / "found.json"
    job.write_text(TEXT, encoding="utf-8")
    assert main(["backtest", str(job), str(log), "--runs", "100", "--json", str(out)]) == DONE
    assert "Verdict: " in capsys.readouterr().out
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["verdict"] in ("held", "changed", "missed")
    assert sum(line["actual"] for line in found["lines"] if line["name"] != "failures") == pytest.approx(1.0)
    assert main(["backtest", str(job), str(log), "--split", "1.5"]) == ASKED_WRONG
    assert capsys.readouterr().err == "--split: not a share (1.5); more than 0 and less than 1\n"
    job.write_text(TEXT + "sweep: {grid: {restart.process: [4 min, 5 min]}}\n", encoding="utf-8")
    assert main(["backtest", str(job), str(log)]) == ASKED_WRONG
    assert "2 design points are left" in capsys.readouterr().err
    assert main(["backtest", str(job), str(log), "process=5 min", "--runs", "100"]) == DONE
    assert main(["backtest", str(job), str(log), "--point", "2", "restart.mode=in_place", "--runs", "100"]) == DONE
    assert "Verdict: " in capsys.readouterr().out


def test_repair_in_place_needs_a_log_of_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, _ = ridden(scenario(20.0), seed=3)
    log = write(tmp_path / "run.csv", [row for row in rows if row[1] != "failure"])
    (tmp_path / "job.yaml").write_text(TEXT.replace("all_processes", "in_place"), encoding="utf-8")
    assert main(["backtest", str(tmp_path / "job.yaml"), str(log)]) == ASKED_WRONG
    assert "write restart.mode=all_processes on the command line" in capsys.readouterr().err
    assert main(["backtest", str(tmp_path / "job.yaml"), str(log), "restart.mode=all_processes", "--runs", "100"]) == 0


BARE = [
    ("studies/gem.yaml", "code, as contained in the field"),
    ("studies/layouts.yaml", "cross-node stripe"),
    ("studies/systems/mindio.yaml", "mindio"),
    ("studies/systems/ft_hsdp.yaml", "ft_hsdp"),
]


@pytest.mark.parametrize(("path", "variant"), BARE)
def test_a_stop_takes_what_the_log_says_whatever_recovers_it(path: str, variant: str) -> None:
    """Repairs in place and stripes too: no time of the study's own comes on top, and each failure stops the job."""
    loaded = load_study(ROOT / path)
    design = next(one for one in designs_of(loaded) if one.variant == variant)
    point = build(resolve_point(loaded, {**design.assignments, "run.horizon": "100 d"}))
    bare = predict._with(predict._bare(point), factor=1.0, stand=duration("fixed", 1000.0))
    row = simulate(bare, seed=1, replication=0)
    assert row["interruptions"] == row["failures"] > 50
    assert row["detection_s"] == pytest.approx(1000.0 * row["interruptions"], abs=1000.0)
    assert [row[f"{name}_s"] for name in ("restart", "recovery", "waiting", "planned")] == [0.0] * 4


@pytest.mark.long
def test_a_95_percent_interval_holds_95_of_100_logs(tmp_path: Path) -> None:
    """Of each number, over 100 logs: sees a coverage below 0.70. All numbers together hold at least as often."""
    inside: dict[str, int] = {}
    held = 0
    for seed in range(1000, 1100):
        found = _tested(tmp_path, seed=seed, days=60.0)
        held += found.held
        for line in found.lines:
            inside[line.name] = inside.get(line.name, 0) + line.inside
    assert len(inside) == 7
    for count in inside.values():
        statcheck.binomial_count(count, 100, 0.95, detect=0.25)
    assert held >= 82  # the lower end of a binomial of 100 and 0.95 at the same alarm
