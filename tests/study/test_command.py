"""The command line: exit codes, one clear line for every error, and a real study from end to end."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

from gemsim.cli import main as entry
from gemsim.cli.main import COMMANDS, main
from gemsim.cli.sweep import show
from gemsim.results.rows import RowStore
from gemsim.study import plan as planning
from gemsim.study.sweep import sweep as run_sweep
from tests.study import fakes
from tests.study.fakes import at_a_terminal
from tests.study.small import study_text

ROOT = Path(__file__).parents[2]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(study_text())
    return path


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "summary.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_help_is_quick_because_it_imports_nothing_heavy() -> None:
    loaded = "import sys; from gemsim.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "sweep" in done.stdout
    assert not {"numpy", "pandas", "scipy", "pyarrow", "pydantic", "rich", "simpy"} & set(done.stderr.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_can_be_copied(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    lines = [line.strip() for line in shown.partition("Examples:")[2].splitlines() if line.strip()]
    assert lines
    command = importlib.import_module(f"gemsim.cli.{name}").__dict__[name]
    for line in lines:
        words = shlex.split(line.partition("  #")[0])
        assert words[:2] == ["gemsim", name]
        command.make_context(name, words[2:])  # every option and argument is understood
        assert all((ROOT / word).is_file() for word in words[2:] if word.endswith(".yaml"))


def test_a_missing_study_and_a_wrong_option_are_answered_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "nowhere.yaml"]) == 2
    assert capsys.readouterr().err.startswith("nowhere.yaml: cannot be read (No such file or directory)")
    assert main(["sweep"]) == 2
    assert main(["sweep", "a.yaml", "--jobs", "0"]) == 2
    assert main(["swep"]) == 2
    said = capsys.readouterr().err
    assert f"no such command (swep); the commands are {', '.join(COMMANDS)}; did you mean 'sweep'?" in said
    assert "Traceback" not in said


def test_a_fault_of_ours_is_one_line_and_a_traceback_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str) -> Any:
        raise ValueError("no such thing")

    monkeypatch.setattr("gemsim.cli.main.importlib.import_module", broken)
    assert main(["sweep", "a.yaml"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("gemsim: internal error at ")
    assert "ValueError: no such thing; run again with --debug" in line
    assert main(["sweep", "a.yaml", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def stopped() -> None:
        raise KeyboardInterrupt("the same command goes on")

    monkeypatch.setattr(entry.LazyGroup, "get_command", lambda self, ctx, name: stopped)
    assert main(["sweep"]) == 130
    assert "gemsim: the same command goes on" in capsys.readouterr().err


def test_where_nothing_can_be_said_a_sweep_goes_on_and_the_exit_code_is_its_own(study: Path, tmp_path: Path) -> None:
    words = ["sweep", str(study), "--quick", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert sent_to("2>/dev/full", words).returncode == 0
    assert (tmp_path / "out/summary.csv").exists()
    full = sent_to(">/dev/full", words)
    assert (full.returncode, full.stderr.count("Traceback")) == (2, 0)
    assert full.stderr.splitlines()[1].startswith("gemsim: what is printed cannot be written (No space left on device)")
    assert sent_to(">&- 2>&-", words).returncode == 0


def sent_to(where: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    """The command, with its streams sent where a shell can send them."""
    line = shlex.join([sys.executable, "-m", "gemsim.cli.main", *words])
    return subprocess.run(["sh", "-c", f"{line} {where}"], cwd=ROOT, capture_output=True, text=True)


def test_a_reader_that_has_left_hides_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = fakes.plan({"protection.fate": ["fine", "raises"]})
    result = run_sweep(plan, fakes.MODEL, tmp_path, jobs=1, report=fakes.Listener())

    def gone(*said: Any, **how: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("gemsim.cli.sweep.click.echo", gone)
    monkeypatch.setattr("gemsim.cli.sweep.reader_gone", lambda: None)
    assert show(result) == 3


def test_a_real_study_from_end_to_end(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["sweep", str(study), "--out", str(out), "--jobs", "1"]) == 0
    shown = capsys.readouterr()
    assert "modelled, not measured" in shown.out
    assert "Ceiling: " in shown.out
    assert "small: 48 replications" in shown.err
    rows = table(out)
    assert [row["feasible"] for row in rows] == ["true", "true", "true", "true", "false", "false"]
    assert all(float(row["ettr_lo"]) < float(row["ettr"]) < float(row["ettr_hi"]) for row in rows[:4])
    assert [row["best"] for row in rows].count("true") == 2  # one for each restart mode
    again = (out / "summary.csv").read_bytes()
    assert main(["sweep", str(study), "--out", str(out), "--jobs", "2"]) == 0
    assert (out / "summary.csv").read_bytes() == again
    assert main(["check", str(out / "study.yaml")]) == 0  # the resolved study is a study


def test_two_workers_and_one_agree_on_a_real_study(study: Path, tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        assert main(["sweep", str(study), "--out", str(tmp_path / jobs), "--jobs", jobs]) == 0
    assert (tmp_path / "1/summary.csv").read_bytes() == (tmp_path / "2/summary.csv").read_bytes()


def test_options_stand_in_for_the_study(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    common = ["sweep", str(study), "--quick", "--jobs", "1"]
    assert main(common) == 0
    quick = table(tmp_path / "out/small-quick")
    assert quick[0]["replications"] == "2"
    assert main([*common, "--seed", "4", "--replications", "3", "--out", "other"]) == 0
    other = table(tmp_path / "other")
    assert other[0]["replications"] == "3"
    assert other[0]["ettr"] != quick[0]["ettr"]
    assert "seed: 4" in (tmp_path / "other/study.yaml").read_text()


def test_replications_that_a_report_does_not_show_yet_are_told(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["sweep", str(study), "--jobs", "1", "--out", str(tmp_path)]
    page = tmp_path / "report.html"
    for replications, there, told in ((2, False, False), (2, True, False), (3, True, True), (3, True, False)):
        if there:
            page.touch()
        assert main([*asked, "--replications", str(replications)]) == 0
        assert (f"{page} does not show the new replications yet" in capsys.readouterr().err) is told


def test_failed_points_make_the_exit_code_3(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(scenario: Any, *, seed: int, replication: int) -> dict[str, Any]:
        raise ZeroDivisionError("in the middle")

    monkeypatch.setattr(planning, "MODEL", dataclasses.replace(planning.MODEL, simulate=fails))
    assert main(["sweep", str(study), "--out", str(tmp_path / "out"), "--jobs", "1"]) == 3
    shown = capsys.readouterr()
    assert shown.err.count("failed: ") == 4
    assert "4 designs failed" in shown.out


def test_a_stopped_sweep_says_how_to_go_on_and_goes_on(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["sweep", str(study), "--out", str(out), "--jobs", "2", "--replications", "2000"]
    command = [sys.executable, "-m", "gemsim.cli.main", *words]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True, preexec_fn=at_a_terminal
    )
    deadline = time.monotonic() + 60.0
    while not list(out.glob("rows/part-*")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    last = said.strip().splitlines()[-1]
    assert last.startswith("gemsim: stopped; ")
    assert last.endswith("the same command again goes on from there")
    assert "Traceback" not in said
    assert RowStore(out / "rows").read().num_rows > 0


def test_fail_fast_is_3_and_one_line_and_the_rest_can_be_had_later(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate = planning.MODEL.simulate

    def sometimes(scenario: Any, *, seed: int, replication: int) -> Any:
        if replication == 1:
            raise ValueError("not this one")
        return simulate(scenario, seed=seed, replication=replication)

    command = ["sweep", str(study), "--quick", "--jobs", "1", "--out", str(tmp_path / "out")]
    with monkeypatch.context() as patch:
        patch.setattr(planning, "MODEL", dataclasses.replace(planning.MODEL, simulate=sometimes))
        assert main([*command, "--fail-fast"]) == 3
        said = capsys.readouterr().err.splitlines()
        assert [line.startswith("stopped at the first failure: ") for line in said] == [False, True]
        assert "in replication 1: ValueError: not this one (traceback: " in said[1]
        assert "4 of 8 replications were added" in said[1]
        assert main(command) == 3
    assert main(command) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--limit", "10"], "a time in us, ms, s, min, h or d"),
        (["--limit", "0 s"], "'0 s' leaves no time"),
        (["--shard", "3"], "'3' is no share; I/N with I from 1 to N"),
        (["--shard", "5/4"], "'5/4' is no share"),
        (["--shard", "0/4"], "'0/4' is no share"),
    ],
)
def test_options_of_workers_that_make_no_sense_are_refused(
    words: list[str], said: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(study), *words]) == 2
    assert said in capsys.readouterr().err


def test_a_share_says_where_it_lies_and_shows_no_table(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", str(study), "--quick", "--jobs", "1", "--shard", "2/2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "share 2 of 2: 4 replications added to out/small-quick-2-of-2; `gemsim merge` joins the folders"
    )
