"""Ctrl-C at a real terminal and SIGTERM from a batch system: said in the same words, kept, gone on with."""

from __future__ import annotations

import multiprocessing
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gemsim.cli.stops import Stops
from gemsim.results.provenance import runs_of
from gemsim.results.rows import RowStore
from tests.study.processes import wait_until_gone
from tests.study.small import study_text

ROOT = Path(__file__).parents[2]
AGAIN = "the same command again goes on from there"
SLOW_SUMMARY = """\
import os, sys, time
from gemsim.cli.main import main
from gemsim.study import conclude
usual = conclude.summarise
def slow(*given, **named):
    os.write(1, b"summarising\\n")
    time.sleep(30)
    return usual(*given, **named)
conclude.summarise = slow
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


class Terminal:
    """A command with a terminal of its own as stdin and stderr, where Ctrl-C reaches the whole group."""

    def __init__(self, command: list[str]) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, preexec_fn=_control
        )
        os.close(theirs)
        self._said = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                found = os.read(self._ours, 4096)
            except OSError:  # the last one at the terminal has left
                return
            self._said += found

    def ctrl_c(self) -> None:
        os.write(self._ours, b"\x03")

    def end(self) -> tuple[int, str]:
        code = self.process.wait(timeout=60)
        wait_until_gone(self.process.pid)
        self._reader.join(10)
        os.close(self._ours)
        return code, self._said.decode()


def _control() -> None:
    """Before the command starts: the terminal is its own, and Ctrl-C reaches it."""
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def command(study: Path, out: Path, jobs: int, *, replications: int = 5000, driver: Path | None = None) -> list[str]:
    start = ["-m", "gemsim.cli.main"] if driver is None else [str(driver)]
    words = ["sweep", str(study), "--out", str(out), "--jobs", str(jobs), "--replications", str(replications)]
    return [sys.executable, *start, *words]


def wait_for_rows(out: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60.0
    while not list(out.glob("rows/part-*")):
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(study_text())
    return path


def kept(out: Path, said: str) -> None:
    """The last line is how to go on, nothing looks like a fault, and the run is listed with its rows."""
    echo = "^C"  # of the terminal, where a late one comes after the last line
    lines = [line.strip() for line in said.replace("\r", "\n").splitlines() if line.strip() not in {"", echo}]
    rows = len(RowStore(out / "rows").keys())
    assert any(line.startswith("gemsim: stopped; ") and line.endswith(AGAIN) for line in lines[-1:])
    assert f"{rows} of 20000 replications were added to {out}" in lines[-1]
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    (run,) = runs_of(out / "provenance.json")
    assert (run["outcome"], run["rows_added"]) == ("stopped", rows)
    assert 0 < rows < 20000


@pytest.mark.parametrize(("jobs", "times"), [(1, 1), (2, 2)])
def test_ctrl_c_at_a_terminal(study: Path, tmp_path: Path, jobs: int, times: int) -> None:
    out = tmp_path / "out"
    terminal = Terminal(command(study, out, jobs))
    wait_for_rows(out, terminal.process)
    for _ in range(times):
        terminal.ctrl_c()
        time.sleep(0.05)
    code, said = terminal.end()
    assert code == 130
    kept(out, said)
    assert "of 6 points done, 2 infeasible" in said  # the bar had been there


@pytest.mark.parametrize("group", [False, True])
def test_sigterm_says_the_same_and_is_143(study: Path, tmp_path: Path, group: bool) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(command(study, out, 2), cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE)
    wait_for_rows(out, process)
    (os.killpg if group else os.kill)(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    wait_until_gone(process.pid)
    kept(out, said.decode())


def test_ctrl_c_at_the_summary_keeps_every_replication(study: Path, tmp_path: Path) -> None:
    out, driver = tmp_path / "out", tmp_path / "driver.py"
    driver.write_text(SLOW_SUMMARY)
    terminal = Terminal(command(study, out, 1, replications=3, driver=driver))
    assert terminal.process.stdout is not None
    assert terminal.process.stdout.readline() == b"summarising\n"
    terminal.ctrl_c()
    code, said = terminal.end()
    assert code == 130
    assert f"gemsim: stopped at the summary; every replication is in {out}; {AGAIN}" in said
    assert not (out / "summary.csv").exists()
    words = command(study, out, 1, replications=3)
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "12 replications, 12 of them kept from before" in done.stderr
    assert [run["outcome"] for run in runs_of(out / "provenance.json")] == ["stopped", "ended"]


def test_the_second_signal_ends_the_workers_and_raises_nothing() -> None:
    child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    child.start()
    with Stops() as stops:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        assert child.is_alive()
        signal.raise_signal(signal.SIGINT)
        child.join(20)
    assert child.exitcode == -signal.SIGKILL
    assert stops.code == 143  # the first one counts
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_third_signal_ends_it_at_once() -> None:
    text = (
        "import signal\nfrom gemsim.cli.stops import Stops\nwith Stops():\n try:\n  signal.raise_signal(2)\n"
        " except KeyboardInterrupt:\n  signal.raise_signal(2)\n  signal.raise_signal(2)\n  print('still here')\n"
    )
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")


def test_a_late_signal_does_not_change_the_exit_code() -> None:
    text = (
        "import atexit, os, signal, sys, threading\nfrom gemsim.cli.stops import Stops\n"
        "class Late:\n def __del__(self): os.kill(os.getpid(), signal.SIGINT)\n"  # when Python unloads what it loaded
        "sys.modules['late'] = Late()\n"
        "with Stops(to_the_end=True) as stops:\n try:\n  signal.raise_signal(2)\n except KeyboardInterrupt:\n  pass\n"
        "signal.raise_signal(2)\nsys.exit(stops.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_who_has_ctrl_c_ignored_means_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Stops():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
