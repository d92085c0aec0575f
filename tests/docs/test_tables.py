"""The tables of the pages follow from calibration/published; the snippets of the pages are studies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from docs import make_tables
from gemsim.cli.main import NOT_BUILT, main
from gemsim.spec.published import names, paper

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _blocks(page: str) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def _read(text: str) -> Any:
    return YAML(typ="safe").load(text)


@pytest.mark.parametrize("page", make_tables.TABLES)
def test_a_table_is_current(page: str) -> None:
    held = (DOCS / page).read_text(encoding="utf-8")
    assert make_tables.written(page, held) == held, "run python docs/make_tables.py"


def test_a_change_to_a_table_would_be_seen() -> None:
    held = (DOCS / "systems.md").read_text(encoding="utf-8")
    changed = held.replace("| [`gemini`]", "| [`gemina`]")
    assert changed != held == make_tables.written("systems.md", changed)


def test_the_headline_counts_the_independent_checks() -> None:
    outcomes = [one for name in names() for one in paper(name).outcomes.values()]
    independent = sum(make_tables.judged_as(one) == "independent" for one in outcomes)
    assert f"**{independent} independent checks**" in README
    assert set(make_tables.UNBUILT) <= {one.id for one in outcomes if one.judged != "C"}


SNIPPETS = [
    pytest.param(block, id=f"{page}-{number}")
    for page in ("docs/systems.md", "docs/faq.md")
    for number, block in enumerate(_blocks(page), start=1)
]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippet_is_a_study_or_lines_for_that_of_the_readme(
    snippet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = _read(snippet)
    study = given if "title" in given else {**_read(_blocks("README.md")[0]), **given}
    monkeypatch.chdir(tmp_path)
    with Path("my-study.yaml").open("w", encoding="utf-8") as stream:
        YAML(typ="safe").dump(study, stream)
    assert main(["check", "my-study.yaml"]) == 0
    assert "0 infeasible" in capsys.readouterr().out


def test_the_readme_calls_nothing_unbuilt_that_is_built() -> None:
    named = README.split("**Not built yet.**")[1].split(" are listed")[0]
    assert set(re.findall(r"`(\w+)`", named)) == set(NOT_BUILT)
