"""The README: two commands first, its study passes, its output looks the same, its table names all commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import refresh
from gemsim.cli.main import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
OWN_STUDY = "my-study.yaml"


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_readme_opens_with_the_two_commands() -> None:
    first = [line.split("#")[0].strip() for line in _blocks(README, "sh")[0].splitlines()]
    assert first == ["make run", "make test"]
    assert README.index("```sh") < 40


def test_the_readme_has_a_row_for_each_command() -> None:
    rows = set(re.findall(r"^\| `gemsim (\w+)[^`]*` \|", README, re.MULTILINE))
    assert rows == set(COMMANDS)


def test_the_readme_lists_each_page() -> None:
    listed = set(re.findall(r"^\| \[(docs/\w+\.md)\]\(\1\) \|", README, re.MULTILINE))
    parts = {"docs/study_intro.md", "docs/formulas_intro.md"}  # of study.md and formulas.md
    assert listed == {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} - parts


def test_the_study_of_the_readme_passes_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = _blocks(README, "yaml")
    assert len(example.splitlines()) <= 20
    monkeypatch.chdir(tmp_path)
    Path(OWN_STUDY).write_text(example, encoding="utf-8")
    assert main(["check", OWN_STUDY]) == 0
    assert "0 infeasible" in capsys.readouterr().out


def test_the_readme_is_a_door() -> None:
    """What, two commands, the real output, how to trust it: details have pages of their own."""
    printed = refresh.block(README).count("\n")
    assert README.count("\n") - printed < 240
    assert README.index("## How to trust it") < README.index("## Install") < README.index("## Commands")


def _shape(printed: str) -> list[str]:
    """The fixed parts of a sweep's page: title, counts without numbers, heading of the table, groups, last line."""
    lines = [line.rstrip() for line in printed.splitlines()]
    heading = next(line for line in lines if line.startswith(" design "))
    groups = [line for line in lines if re.match(r"(restart|All points|In each of these)\b", line)]
    counts = re.sub(r"\d+", "N", lines[1])
    profile = re.sub(r"#\w+", "", lines[2])
    return [lines[0], counts, profile, *re.split(r"  +", heading.strip()), *groups, lines[-1]]


def test_the_output_in_the_readme_has_the_shape_of_what_is_printed() -> None:
    printed = refresh.output("--replications", "2")
    assert _shape(refresh.block(README)) == _shape(printed)


@pytest.mark.parametrize("printed", ["", "new\n"])
def test_refreshing_changes_the_block_alone(printed: str) -> None:
    changed = refresh.refreshed(README, printed)
    assert refresh.block(changed) == printed
    assert refresh.refreshed(changed, refresh.block(README)) == README
