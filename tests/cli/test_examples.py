"""The quick examples of the help do what they say; that all are understood is tested in tests/study/test_command."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path

import pytest

from gemsim.cli.main import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("check", "systems", "schema", "completion", "timeline")


def examples(name: str) -> list[str]:
    """The commands of one help page."""
    text: str = importlib.import_module(f"gemsim.cli.{name}").EXAMPLES
    return [line.partition("  #")[0].strip() for line in text.splitlines()[2:] if line.strip()]


def test_every_command_has_examples() -> None:
    assert all(examples(name) for name in COMMANDS)


@pytest.mark.parametrize("line", [line for name in QUICK for line in examples(name)])
def test_it_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies").symlink_to(ROOT / "studies")
    words = shlex.split(line)
    assert words[0] == "gemsim"
    assert main(words[1:]) == 0
    shown = capsys.readouterr()
    if "--out" in words:
        assert (tmp_path / words[words.index("--out") + 1]).exists()
    else:
        assert shown.out
    assert "Traceback" not in shown.err
