"""The pages of the project, cut into blocks, links and headings; what tests of the pages share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from docs.outputs import FENCE

ROOT = Path(__file__).resolve().parents[2]
PARTS = {"study_intro.md", "formulas_intro.md"}  # of docs/study.md and docs/formulas.md, which are written from them
PAGES = sorted(
    page
    for place in (".", "docs", "studies", "calibration")
    for page in (ROOT / place).glob("*.md")
    if page.name not in PARTS
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `info`: what stands behind the language, as `file=PATH`. `above`: the line above. `before`: the
    page up to its end.
    """

    page: str
    line: int
    language: str
    info: str
    text: str
    above: str
    before: str

    @property
    def file(self) -> str:
        """The file that the block is, or changes; empty without one."""
        return self.info.removeprefix("file=") if self.info.startswith("file=") else ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read(page: str) -> str:
    """The text of a page by its path in the project."""
    return (ROOT / page).read_text(encoding="utf-8")


def name(page: Path) -> str:
    """The path of a page in the project."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text, found = page.read_text(encoding="utf-8"), []
    for one in FENCE.finditer(text):
        language, _, info = one["info"].strip().partition(" ")
        above = text[: one.start()].rstrip("\n").rpartition("\n")[2]
        lines = [line.removeprefix(one["indent"]) for line in one["text"].splitlines(keepends=True)]
        at = text.count("\n", 0, one.start()) + 1
        found.append(Block(name(page), at, language, info.strip(), "".join(lines), above, text[: one.end()]))
    return found


BLOCKS = [block for page in PAGES for block in blocks(page)]


def of(page: str, language: str, *, files: bool = False) -> list[Block]:
    """The blocks of a page in one language; those that are files (`file=PATH`) or those that are not."""
    return [one for one in BLOCKS if (one.page, one.language) == (page, language) and bool(one.file) is files]


def prose(page: Path) -> str:
    """A page without its fenced blocks and comments."""
    return re.sub(r"<!--.*?-->", "", FENCE.sub("", page.read_text(encoding="utf-8")), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """What `#…` may name on a page: its headings as GitHub and others write them."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return set(found)


def links(page: Path) -> list[str]:
    """Targets of the links of a page, without those inside code."""
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(page)))


def changed(text: str, diff: str) -> str:
    """A text with the hunks of a page put in (lines that begin with a space, - or +; @@ between hunks).

    AssertionError where one does not fit, or fits twice.
    """
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(old) == 1, f"{text.count(old)} places, not one, for:\n{old}"
        text = text.replace(old, new)
    return text
