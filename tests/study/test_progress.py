"""What is said on stderr: with rate, time left and points on a terminal and elsewhere, or nothing."""

from __future__ import annotations

import errno
import io
from pathlib import Path

import pytest

from gemsim.cli.main import main
from gemsim.study.progress import Bar, Lines, Quiet, Standing, reporter
from tests.study.small import study_text


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "kleine Größe.yaml"
    path.write_text(study_text(replications=2), encoding="utf-8")
    return path


def test_lines_tell_rate_time_left_and_points(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 4.0, 12.0, 12.0, 15.0, 20.0, 20.0])
    monkeypatch.setattr("gemsim.study.progress.time.monotonic", lambda: next(clock))
    stream = io.StringIO()
    with Lines("widths", stream) as lines:
        lines.begin(100, 10)
        lines.stand(Standing(9, done=1, infeasible=2))
        lines.advance(10)
        lines.stand(Standing(9, done=2, failed=1, infeasible=2))
        lines.advance(20)
        lines.advance(5)
    assert stream.getvalue().splitlines() == [
        "widths: 100 replications, 10 of them kept from before",
        "widths: 40 of 100 replications, 2.5 replications/s, about 24 s left; "
        "2 of 9 points done, 1 failed, 2 infeasible",
        "widths: 35 replications in 20.0 s (1.75 replications/s); 2 of 9 points done, 1 failed, 2 infeasible",
    ]


def test_what_a_rule_makes_needless_is_not_told_as_run(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 12.0, 12.0, 20.0, 20.0])
    monkeypatch.setattr("gemsim.study.progress.time.monotonic", lambda: next(clock))
    stream = io.StringIO()
    with Lines("widths", stream) as lines:
        lines.begin(100, 0)
        lines.skip(80)
        lines.advance(10)
    assert [line.partition(";")[0] for line in stream.getvalue().splitlines()] == [
        "widths: 100 replications",
        "widths: 10 of 20 replications, 0.833 replications/s, about 12 s left",
        "widths: 10 replications in 20.0 s (0.5 replications/s)",
    ]


def test_the_bar_tells_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with Bar("widths", stream) as bar:
        bar.begin(100, 10)
        bar.stand(Standing(9, done=1, failed=1, infeasible=2))
        bar.advance(5)
        bar.advance(5)
        bar.say("failed: [this] one", error=True)
        bar._progress.refresh()
        shown = stream.getvalue()
    for part in ("20/100", "/s", "left", "1 of 9 points done, 1 failed, 2 infeasible", "failed: [this] one"):
        assert part in shown


def test_quiet_says_errors_alone() -> None:
    stream = io.StringIO()
    with Quiet(stream) as quiet:
        quiet.begin(3, 0)
        quiet.stand(Standing(1))
        quiet.say("the study has changed")
        quiet.advance(3)
        quiet.say("failed: k=8", error=True)
    assert stream.getvalue() == "failed: k=8\n"
    assert isinstance(reporter("x", quiet=True), Quiet)


def test_a_quiet_sweep_says_nothing_on_stderr(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "aus gabe é")
    assert main(["sweep", str(study), "--out", out, "--jobs", "1", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "Which width" in shown.out
    assert main(["sweep", str(study), "--out", out, "--jobs", "1", "--replications", "3"]) == 0
    assert "12 replications, 8 of them kept from before" in capsys.readouterr().err
    assert main(["merge", out, "--out", str(tmp_path / "zu sammen ✓"), "-q"]) == 0
    assert capsys.readouterr().err == ""


class Full(io.StringIO):
    """A log whose disk is full."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_stream_that_takes_nothing_stops_nothing() -> None:
    for speaker in (Lines("x", Full()), Quiet(Full())):
        with speaker as report:
            report.begin(2, 0)
            report.advance(2)
            report.say("failed: k=8", error=True)
