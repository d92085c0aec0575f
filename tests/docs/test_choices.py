"""Commands on one design, as the help and docs/decide.md print them: each names a design point that there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gemsim.cli import backtest, explain, losses, sensitivity, timeline
from gemsim.spec.loading import load_study
from gemsim.study.choosing import choose_point

ROOT = Path(__file__).parents[2]
TIMELINE = (ROOT / "docs" / "timeline.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "decide.md").read_text(encoding="utf-8")
COMMANDS = (backtest, explain, losses, sensitivity, timeline)
TEXT = "\n".join([*(command.EXAMPLES for command in COMMANDS), PAGE, TIMELINE])
COMMAND = re.compile(r"gemsim (?:backtest|explain|losses|sensitivity|timeline) studies/[^`\n]*")
PRINTED = sorted({found.split("  #")[0].strip() for found in COMMAND.findall(TEXT)})


@pytest.mark.parametrize("command", PRINTED)
def test_a_printed_command_chooses_a_design_point(command: str) -> None:
    words = shlex.split(command)
    options = re.findall(r"--point (\d+)", command)
    choice = [word for word in words if "=" in word]
    if choice or options:
        loaded = load_study(ROOT / words[2], quick="--quick" in words)
        choose_point(loaded, number=int(options[0]) if options else None, words=choice)


def test_enough_of_them_are_found() -> None:
    assert len([command for command in PRINTED if "=" in command]) >= 4
