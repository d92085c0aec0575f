"""What a shell is told to complete, and that it is told quickly."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gemsim.cli.completion import ASKED_BY, SHELLS
from gemsim.cli.main import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]


def asked(line: str, *, modules: str = "") -> list[str]:
    """What is offered where the line ends; with `modules`, the names loaded meanwhile."""
    words = line.split(" ")
    env = {**os.environ, ASKED_BY: "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    code = f"import sys; from gemsim.cli.main import main\ntry: main([])\nfinally: {modules or 'pass'}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=ROOT)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("gemsim ti", {"plain,timeline"}),
        ("gemsim ", {f"plain,{name}" for name in COMMANDS}),
        ("gemsim systems gem", {"plain,gem", "plain,gemini"}),
        ("gemsim timeline --re", {"plain,--replication"}),
        ("gemsim completion z", {"plain,zsh"}),
        ("gemsim sweep studies/wi", {"file,studies/wi"}),  # the shell goes on with its own files
        ("gemsim --de", {"plain,--debug"}),
        ("gemsim sideways ", {f"plain,{name}" for name in COMMANDS}),  # and no word on stderr
    ],
)
def test_what_is_offered(line: str, offered: set[str]) -> None:
    assert set(asked(line)) == offered


@pytest.mark.parametrize("line", ["gemsim ", "gemsim systems ", "gemsim sweep --"])
def test_nothing_heavy_is_loaded(line: str) -> None:
    loaded = set(asked(line, modules="print('|', *sys.modules)")[-1].split())
    assert "|" in loaded
    assert not {"numpy", "pandas", "scipy", "pyarrow", "pydantic", "rich", "simpy", "ruamel.yaml"} & loaded
    shared = {f"gemsim.cli.{name}" for name in ("main", "stops", "example", "options")}
    of_others = {name for name in loaded if name.startswith("gemsim.cli.")} - shared
    assert of_others <= {f"gemsim.cli.{line.split()[1]}"} if len(line.split()) > 1 else not of_others


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_its_lines(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    shown = capsys.readouterr().out
    assert f"{ASKED_BY}={shell}_complete" in shown
    assert "_gemsim_completion" in shown


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself_completes(tmp_path: Path) -> None:
    """A bash that has read the lines is given `gemsim tim` and the tabulator."""
    command = tmp_path / "gemsim"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gemsim.cli.main "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    script = (
        "source <(gemsim completion bash); COMP_WORDS=(gemsim tim); COMP_CWORD=1; "
        "_gemsim_completion gemsim tim gemsim; "
        'printf "%s\\n" "${COMPREPLY[@]}"; complete -p gemsim'
    )
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": f"{ROOT}:{ROOT / 'kernels'}"}
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, env=env, cwd=ROOT)
    assert done.stdout.splitlines()[0] == "timeline", done.stderr
    assert "-F _gemsim_completion gemsim" in done.stdout
