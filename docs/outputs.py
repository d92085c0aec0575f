"""Outputs that stand in the pages: what a marked command prints, run on the study that stands before it.

A marker is `<!-- output of: COMMAND -->` above a block of text. With `, its table` only the table counts, with
`, from "A" to "B"` what stands from the line that begins with A up to the one that begins with B. `python` stands for
the block of Python before it. my-study.yaml is the study that the blocks of YAML before make (`study`).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from gemsim.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
MARKED = re.compile(r"<!-- output of: (?P<command>.*?) -->\n```text\n(?P<text>.*?)```\n", re.DOTALL)
PAGES = ("docs/faq.md", "docs/study_intro.md")
STUDY = "my-study.yaml"
COLUMNS = "100"


def study(before: str) -> dict[str, Any]:
    """The study that the blocks of YAML make in the section (`##`) of a page, up to a place in it.

    A block with a title is a whole study, and those after it add lines to it. In a section without one the last block
    stands alone, in place of lines of the README's study.
    """
    section = before[before.rfind("\n## ") + 1 :]
    read = [_lines(block) for block in cut(section, "yaml")]
    whole = [at for at, one in enumerate(read) if "title" in one]
    if whole:
        found: dict[str, Any] = {}
        for one in read[whole[-1] :]:
            found |= one
        return found
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    given = read[-1] if read else {}
    merged = {**_lines(cut(readme, "yaml")[0]), **given}
    if "protection" in given and "sweep" not in given:
        del merged["sweep"]
    if "fleet" in given:
        merged["cluster"].pop("spare_nodes")
    return merged


def _lines(text: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(text) or {}
    return found


def outputs(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Where each marked output stands in a page, and what its command prints now."""
    for one in MARKED.finditer(text):
        yield one.span("text"), printed(one["command"], text[: one.start()])


def printed(command: str, before: str) -> str:
    """What a marked command prints; `before`: the page up to it."""
    plain, _, part = command.partition(", ")
    found = _python(before) if plain == "python" else _gemsim(plain, before)
    begin, end = (" design ", "") if part == "its table" else re.findall(r'"([^"]*)"', part) or (None, None)
    lines = [line.rstrip() for line in found.splitlines()]
    if begin is not None:
        first = next(at for at, line in enumerate(lines) if line.startswith(begin))
        last = next(at for at in range(first + 1, len(lines)) if (lines[at].startswith(end) if end else not lines[at]))
        lines = lines[first:last]
    return "\n".join(lines).rstrip() + "\n"


def _gemsim(command: str, before: str) -> str:
    with _elsewhere():
        Path("studies").symlink_to(ROOT / "studies")
        with Path(STUDY).open("w", encoding="utf-8") as stream:
            YAML(typ="safe").dump(study(before), stream)
        code, out = _caught(lambda: main(shlex.split(command)[1:]))
    if code:
        raise SystemExit(f"{command} ended with {code}")
    return out


def _python(before: str) -> str:
    with _elsewhere():
        _, out = _caught(lambda: exec(cut(before, "python")[-1], {}))
    return out


def _caught(call: Any) -> tuple[Any, str]:
    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer), contextlib.redirect_stderr(io.StringIO()):
        return call(), buffer.getvalue()


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """In an empty folder, at a fixed width."""
    width = os.environ.get("COLUMNS")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["COLUMNS"] = COLUMNS
        try:
            yield
        finally:
            os.environ.pop("COLUMNS")
            if width is not None:
                os.environ["COLUMNS"] = width


def cut(text: str, language: str) -> list[str]:
    """The blocks of a page in one language, in order; not those that are files of another place (`file=`)."""
    return [textwrap.dedent(one["text"]) for one in FENCE.finditer(text) if one["info"].strip() == language]


def refreshed(text: str) -> str:
    """A page with all of its marked outputs made anew."""
    for (start, end), now in reversed(list(outputs(text))):
        text = text[:start] + now + text[end:]
    return text
