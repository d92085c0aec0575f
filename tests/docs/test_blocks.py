"""Every fenced block of every page is run, or parsed and listed in `listed.py` with the reason; none is unknown.

Commands run in a folder that has the study of the README, the shipped studies and logs such as the pages speak of.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from ruamel.yaml import YAML

from docs import outputs
from gemsim.cli.main import COMMANDS, LazyGroup, cli, main
from gemsim.study.backtest import read as backtest
from tests.docs import listed, pages

YAML_ = YAML(typ="safe")
STUDY = "my-study.yaml"
MAKEFILE = (pages.ROOT / "Makefile").read_text(encoding="utf-8")
LANGUAGES = {"sh", "yaml", "python", "json", "csv", "awk", "text", "diff"}


def lines_of(block: pages.Block) -> list[str]:
    """The commands of a shell block, without comments and what they are piped into."""
    joined = block.text.replace("\\\n", " ")
    return [line.split(" | ")[0].strip() for line in joined.splitlines() if line.strip() and not line.startswith("#")]


SHELL = [(block, line) for block in pages.BLOCKS if block.language == "sh" for line in lines_of(block)]
GEMSIM = [(block, line) for block, line in SHELL if line.startswith("gemsim ")]
IN_TEXT = sorted(
    {found for page in pages.PAGES for found in re.findall(r"`(gemsim [^`]+)`", pages.prose(page).replace("\n", " "))}
)

OTHERS_IN_TEXT = sorted(
    {
        found
        for page in pages.PAGES
        for found in re.findall(r"`((?:make|python) [^`]+)`", pages.prose(page).replace("\n", " "))
    }
)


def _begins(line: str, known: tuple[str, ...] | dict[str, str]) -> bool:
    return any(line.startswith(one) for one in known)


def _ids(pair: Any) -> str:
    return f"{pair[0]} {pair[1]}"


def _only_parsed(line: str) -> bool:
    return any(words in line for words in listed.PARSED)


@pytest.mark.parametrize("block", pages.BLOCKS, ids=str)
def test_no_block_is_unknown(block: pages.Block) -> None:
    """A block in another language needs a test here, or a line in listed.py."""
    assert block.language in LANGUAGES, f"{block}: ```{block.language}: no test reads this language"
    if block.language == "text":
        assert block.info == "picture" or block.above.startswith("<!--"), f"{block}: who writes this output?"
    if block.file:
        assert block.page == "docs/extend.md", f"{block}: only docs/extend.md is put into a copy"


def test_an_unknown_block_is_seen() -> None:
    """The planted faults: a language that no test reads, an output that nobody writes."""
    for language, above in (("toml", ""), ("text", "prints:")):
        with pytest.raises(AssertionError):
            test_no_block_is_unknown(pages.Block("docs/faq.md", 1, language, "", "a = 1", above, ""))


def test_what_is_listed_stands_in_a_page() -> None:
    lines = [line for _, line in SHELL]
    assert [
        one for one in (*listed.PARSED, *listed.SLOW, *listed.OTHER) if not any(one in line for line in lines)
    ] == []


def known(line: str) -> None:
    """A line of shell is of gemsim, names a target of the Makefile or a script that exists, or is listed."""
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        settings = [word.partition("=")[0] for word in words[1:] if "=" in word]
        targets = [word for word in words[1:] if "=" not in word]
        assert targets
        assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in targets)
        assert all(re.search(rf"^{name} \?=", MAKEFILE, re.MULTILINE) for name in settings)
    elif _begins(line, listed.OTHER):
        return
    elif words[0] == "python" and words[1] == "-m":
        assert words[2] in listed.MODULES
        assert importlib.util.find_spec(words[2]) is not None
    elif words[0] == "python":
        assert (pages.ROOT / words[1]).is_file()
    else:
        assert words[0] == "gemsim" or _begins(line, listed.OTHER), f"{line}: run it, or list it in listed.py"


@pytest.mark.parametrize("pair", SHELL, ids=_ids)
def test_a_line_of_shell_is_known(pair: tuple[pages.Block, str]) -> None:
    known(pair[1])


@pytest.mark.parametrize("line", OTHERS_IN_TEXT)
def test_a_script_or_target_in_running_text_exists(line: str) -> None:
    known(line)


def parsed(line: str) -> click.Context | None:
    """A command line through click's own parser; None where it only asks for help. Raises click.UsageError."""
    plain = re.sub(r"[\[\]…]|\.\.\.", " ", line)
    words = shlex.split(plain, comments=True)[1:]
    assert isinstance(cli, LazyGroup)
    group = click.Context(cli, info_name="gemsim")
    if words[0].startswith("-"):
        assert words[0] in {option for one in cli.get_params(group) for option in one.opts}
        return None
    words = [word for word in words if word != "--debug"]
    assert words[0] in {*COMMANDS, "COMMAND"}, f"no such command: {line}"
    if words[0] == "COMMAND":
        return None
    command = cli.get_command(group, words[0])
    assert command is not None
    for word in words[1:]:
        if not word.startswith("-") and "=" not in word and not Path(word).exists() and "/" not in word:
            Path(word).write_text("", encoding="utf-8")
    with contextlib.suppress(click.exceptions.Exit), contextlib.redirect_stdout(io.StringIO()):  # of --help
        return command.make_context(words[0], words[1:], parent=group)
    return None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands run: the shipped studies, the README's study, and logs with the columns that pages name."""
    monkeypatch.chdir(tmp_path)
    Path("studies").symlink_to(pages.ROOT / "studies")
    (base,) = pages.of("README.md", "yaml")
    Path(STUDY).write_text(base.text, encoding="utf-8")
    head = ("time_h", "node", "host", "component", "downtime_h", "level", "system", "trace", "begin")
    rows = _outages()
    for name in ("outages.csv", "events.csv", "lost.csv"):
        _csv(name, [head, *rows])
    _csv("log.csv", [("begin", "host", "component"), *sorted((row[8], row[2], row[3]) for row in rows)])
    _csv("add_remove.csv", [("time_h", "node", "event"), *(("0", f"n{node}", "add") for node in range(60))])
    (meta,) = pages.of("docs/fit.md", "json")
    Path("meta.json").write_text(meta.text, encoding="utf-8")
    return tmp_path


def _outages() -> list[tuple[str, ...]]:
    """300 outages on 60 nodes, with every column that the pages speak of."""
    rng = np.random.default_rng(0)
    found: list[tuple[str, ...]] = []
    for hour, node in zip(np.sort(rng.uniform(0, 8352, 300)), rng.integers(0, 60, 300), strict=True):
        begin = f"2024-03-{1 + int(hour // 300):02d}T{int(hour) % 24:02d}:{int(hour * 60) % 60:02d}Z"
        kind = "gpu" if node % 2 else "net"
        found.append((f"{hour:.3f}", f"n{node}", f"n{node}", kind, "2.5", "Hardware Failure", "18", "p3", begin))
    return found


def _csv(name: str, rows: list[tuple[str, ...]]) -> None:
    with Path(name).open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)


@pytest.mark.parametrize("pair", GEMSIM, ids=_ids)
def test_a_command_of_a_block_is_one_that_gemsim_takes(pair: tuple[pages.Block, str], folder: Path) -> None:
    parsed(pair[1])


@pytest.mark.parametrize("line", IN_TEXT)
def test_a_command_in_running_text_is_one_that_gemsim_takes(line: str, folder: Path) -> None:
    """`gemsim sweep` and `gemsim calibrate --from` are spoken of; N is a number, I/N a share and TIME a time."""
    line = line.replace("I/N", "3/200").replace("TIME", "'10 min'")
    with contextlib.suppress(click.MissingParameter, click.BadOptionUsage):
        parsed(re.sub(r"\bN\b", "5", line.split(" | ")[0]))


def test_the_parser_refuses_what_does_not_exist(folder: Path) -> None:
    for wrong in ("gemsim sweep my-study.yaml --fast", "gemsim sweep my-study.yaml --jobs none", "gemsim sweep"):
        with pytest.raises(click.UsageError):
            parsed(wrong)
    with pytest.raises(AssertionError):
        parsed("gemsim swep my-study.yaml")


def small(line: str) -> list[str]:
    """The words of a command with the options that make it small."""
    words = shlex.split(line, comments=True)[1:]
    extra = listed.SMALL.get(words[0], ())
    for at, option in enumerate(extra):
        if option.startswith("-") and option not in words:
            words += [option, *(value for value in extra[at + 1 : at + 2] if not value.startswith("-"))]
    return words + (
        ["--quick"] if words[0] == "sweep" and words[1].startswith("studies/") and "--quick" not in words else []
    )


RUN = [
    pytest.param(pair, marks=[pytest.mark.long] if _begins(pair[1], listed.SLOW) else [], id=_ids(pair))
    for pair in {line: (block, line) for block, line in GEMSIM if not _only_parsed(line)}.values()
]


@pytest.mark.parametrize("pair", RUN)
def test_a_command_of_a_block_runs(
    pair: tuple[pages.Block, str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = small(pair[1])
    if words[0] == "report":  # of what the line before it swept
        assert main(["sweep", STUDY, "--replications", "1", "--out", words[1]]) == 0
    assert main(words) in ((0, 1) if "fit" in pair[1] else (0,)), capsys.readouterr().err


STUDIES = [one for one in pages.BLOCKS if one.language == "yaml" and not one.file]


@pytest.mark.parametrize("block", STUDIES, ids=str)
def test_a_study_or_lines_of_one_pass_check(
    block: pages.Block, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path(STUDY).open("w", encoding="utf-8") as stream:
        YAML_.dump(outputs.study(block.before), stream)
    assert main(["check", STUDY]) == 0, capsys.readouterr().err
    assert "0 infeasible" in capsys.readouterr().out


PYTHON = sorted({one.page for one in pages.BLOCKS if one.language == "python" and not one.file})


@pytest.mark.parametrize("page", PYTHON)
@pytest.mark.filterwarnings("ignore:.*coded by NumPy:RuntimeWarning")
def test_the_python_of_a_page_runs_in_order(page: str, folder: Path) -> None:
    space: dict[str, Any] = {}
    for block in pages.of(page, "python"):
        exec(compile(block.text, str(block), "exec"), space)


SHOWN = [
    pytest.param(page, number, id=f"{page}-{number}")
    for page in ("docs/faq.md", "docs/study.md")
    for number in range(len(outputs.MARKED.findall(pages.read(page))))
]


@pytest.mark.parametrize(("page", "number"), SHOWN)
@pytest.mark.filterwarnings("ignore:.*coded by NumPy:RuntimeWarning")
def test_an_output_in_a_page_is_what_is_printed(page: str, number: int) -> None:
    text = pages.read(page)
    one = list(outputs.MARKED.finditer(text))[number]
    assert one["text"] == outputs.printed(one["command"], text[: one.start()]), "run python docs/refresh.py"


def test_json_csv_and_awk_are_what_the_pages_say(folder: Path) -> None:
    for block in pages.BLOCKS:
        if block.language == "json":
            assert json.loads(block.text)
    (table,) = pages.of("docs/decide.md", "csv")
    Path("run.csv").write_text(table.text, encoding="utf-8")
    assert backtest.read_run(Path("run.csv"))
    (script,) = pages.of("docs/decide.md", "awk")
    if shutil.which("awk") is None:
        pytest.skip("no awk here")
    Path("uptime_segments.csv").write_text("start_h,end_h\n0,5\n6,9\n", encoding="utf-8")
    subprocess.run(["bash", "-c", script.text], check=True)
    assert list(csv.DictReader(io.StringIO(Path("opt.csv").read_text(encoding="utf-8"))))[1]["event"] == "failure"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_examples_that_it_takes(command: str, folder: Path) -> None:
    assert isinstance(cli, LazyGroup)
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    examples = re.findall(r"^ *(gemsim .*)$", found.epilog or "", re.MULTILINE)
    assert examples, f"gemsim {command} --help has no example to copy"
    for line in examples:
        assert line.split()[1] == command
        parsed(line)


def test_the_help_of_gemsim_has_examples_that_run(folder: Path) -> None:
    examples = re.findall(r"^ *(gemsim .*)$", cli.epilog or "", re.MULTILINE)
    assert examples
    for line in examples:
        parsed(line)
