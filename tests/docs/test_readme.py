"""What the pages promise: commands exist, links lead somewhere, the example is a study, the output looks the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from docs import refresh
from gemsim.cli.main import COMMANDS, NOT_BUILT, LazyGroup, cli, main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "calibration" / "README.md"])
README = (ROOT / "README.md").read_text(encoding="utf-8")
OWN_STUDY = "my-study.yaml"


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def _commands() -> Iterator[list[str]]:
    """Every command of every shell block and every `gemsim …` or `make …` in running text, as words."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        lines = [line for block in _blocks(text, "sh") for line in block.splitlines()]
        for line in lines + re.findall(r"`((?:gemsim|make) [^`]+)`", text):
            words = shlex.split(line.split(" | ")[0], comments=True)
            if words and words[0] in ("gemsim", "make"):
                yield words


COMMAND_LINES = sorted({tuple(words) for words in _commands()})


def test_the_readme_opens_with_the_two_commands() -> None:
    first = [line.split("#")[0].strip() for line in _blocks(README, "sh")[0].splitlines()]
    assert first == ["make run", "make test"]
    assert README.index("```sh") < 40


@pytest.mark.parametrize("words", [w for w in COMMAND_LINES if w[0] == "make"], ids=" ".join)
def test_a_make_target_of_the_pages_exists(words: tuple[str, ...]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [word for word in words[1:] if "=" not in word]
    settings = [word.split("=")[0] for word in words[1:] if "=" in word]
    assert targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    assert all(re.search(rf"^{name} \?=", makefile, re.MULTILINE) for name in settings)


@pytest.mark.parametrize("words", [w for w in COMMAND_LINES if w[0] == "gemsim"], ids=" ".join)
def test_a_gemsim_command_of_the_pages_exists(words: tuple[str, ...]) -> None:
    group = cli
    assert isinstance(group, LazyGroup)
    context = click.Context(group)
    if words[1].startswith("-"):
        assert words[1] in {option for one in group.get_params(context) for option in one.opts}
        return
    assert words[1] in COMMANDS
    command = group.get_command(context, words[1])
    assert command is not None
    options = {option for one in command.get_params(context) for option in one.opts}
    assert {word for word in words[2:] if word.startswith("-")} <= options
    files = [word for word in words[2:] if word.endswith(".yaml") and word != OWN_STUDY]
    assert all((ROOT / name).is_file() for name in files)


def test_the_readme_names_what_is_not_built() -> None:
    named = README.split("**Not built yet.**")[1].split("\n\n")[0]
    assert {word for word in NOT_BUILT if f"`{word}`" not in named} == set()
    rows = set(re.findall(r"^\| `gemsim (\w+)(?: STUDY)?(?: LOG)?` \|", README, re.MULTILINE))
    assert rows == set(COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_relative_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    lost = [link for link in links if "://" not in link and not (page.parent / link.split("#")[0]).exists()]
    assert lost == []


def test_the_study_of_the_readme_passes_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example, _ = _blocks(README, "yaml")
    assert len(example.splitlines()) <= 20
    monkeypatch.chdir(tmp_path)
    Path(OWN_STUDY).write_text(example, encoding="utf-8")
    assert main(["check", OWN_STUDY]) == 0
    assert "0 infeasible" in capsys.readouterr().out


def test_the_fleet_of_the_readme_stands_in_that_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example, fleet = _blocks(README, "yaml")
    study = example.replace("failures: llama3-2024\n", fleet).replace("  spare_nodes: 2\n", "")
    monkeypatch.chdir(tmp_path)
    Path(OWN_STUDY).write_text(study, encoding="utf-8")
    assert main(["check", OWN_STUDY]) == 0
    assert "0 infeasible" in capsys.readouterr().out


EXAMPLES = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(_blocks(page.read_text(encoding="utf-8"), "python"), start=1)
]


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.filterwarnings("ignore:.*coded by NumPy:RuntimeWarning")
def test_an_example_in_python_runs(example: str) -> None:
    exec(example, {})


def test_the_examples_of_the_readme_are_short() -> None:
    assert [len(example.splitlines()) <= 15 for example in _blocks(README, "python")] == [True, True]


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
