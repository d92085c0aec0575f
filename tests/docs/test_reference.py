"""The reference is what the code says: keys of a study, columns of the outputs, modules of the map."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from docs import make_reference
from docs.allowed import ALLOWED
from gemsim.protection.retry import LEAST
from gemsim.results.rows import ROW_COLUMNS
from gemsim.results.summary import RESULT_COLUMNS
from gemsim.spec.meanings import MEANINGS
from gemsim.spec.restart import RestartSpec

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MAP = dict(re.findall(r"^\| `((?:gemsim|kernels)/[\w/]*)` \| (.+) \|$", ARCHITECTURE, re.MULTILINE))


def test_the_reference_of_the_study_is_current() -> None:
    held = make_reference.TARGET.read_text(encoding="utf-8")
    assert held == make_reference.reference(), "run python docs/make_reference.py"


def test_every_key_has_a_meaning_and_every_meaning_a_key() -> None:
    known = {path for _, path, _ in make_reference.every_key()}
    assert set(MEANINGS) == known
    assert set(ALLOWED) <= known


def test_every_key_says_what_may_be_written() -> None:
    known = {path: make_reference.allowed(path, info) for _, path, info in make_reference.every_key()}
    sections = {prefix for _, prefix, _ in make_reference.SECTIONS}
    vague = {path for path, text in known.items() if text == "see below" and path not in sections}
    assert vague <= {"failures.law", "failures.classes.repair", "protection"}


@pytest.mark.parametrize("column", [*RESULT_COLUMNS, *ROW_COLUMNS, "seed"])
def test_a_column_is_explained(column: str) -> None:
    text = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    assert re.search(rf"^\|[^|]*`{column}`[^|]*\|", text, re.MULTILINE)


def test_the_page_says_what_a_retry_does_again() -> None:
    text = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    table = text.split("| lost region | least granule |")[1].split("\n\n")[0]
    told = {
        region: cells[2].replace("micro-batch", "microbatch")
        for cells in (line.split("|") for line in table.splitlines())
        if len(cells) > 2
        for region in re.findall(r"`(\w+)`", cells[1])
    }
    assert set(told) == set(LEAST)
    assert all(re.match(rf" (a|the) {LEAST[region]}\b", granule) for region, granule in told.items())


def test_the_page_has_every_restart_mode() -> None:
    text = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    modes = get_args(RestartSpec.model_fields["mode"].annotation)
    assert modes
    assert all(re.search(rf"^\| `{mode}`", text, re.MULTILINE) for mode in modes)


def test_the_map_names_every_folder() -> None:
    folders = {f"{path.parent.relative_to(ROOT).as_posix()}/" for path in (ROOT / "gemsim").glob("**/__init__.py")}
    assert set(MAP) == folders | {"kernels/gemsim_kernels/"}


@pytest.mark.parametrize("folder", MAP)
def test_the_map_names_the_modules_of_a_folder(folder: str) -> None:
    modules = {path.stem for path in (ROOT / folder).glob("*.py")} - {"__init__"}
    named = set(re.findall(r"`(\w+)`", MAP[folder]))
    if folder == "gemsim/spec/":
        named -= {"require"}
    assert named == modules
