"""The tables of the pages follow from calibration/published."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import make_tables
from gemsim.spec.published import names, paper

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")


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


def test_every_shipped_study_and_mix_is_told_of() -> None:
    studies = (ROOT / "studies" / "README.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(\w+)\.yaml`", studies))
    assert {path.stem for path in (ROOT / "studies").glob("**/*.yaml")} <= told
    mixes = (ROOT / "calibration" / "README.md").read_text(encoding="utf-8")
    assert {path.stem for path in (ROOT / "calibration/published/failures").glob("*.yaml")} <= set(
        re.findall(r"`([\w-]+)`", mixes)
    )
