"""Write the tables in docs/systems.md and docs/validity.md that follow from calibration/published.

python docs/make_tables.py
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.make_reference import table
from gemsim.spec import catalog
from gemsim.spec.published import Outcome, names, paper
from gemsim.spec.systems import system

HERE = Path(__file__).resolve().parent
END = "<!-- end of table -->"
UNBUILT = ("E2.continue",)
"""Outcomes of class A or B that are not judged, since what they need is not built."""


def systems() -> list[str]:
    """Every named system: what it does, with which tiers and restart mode, and what moves its result most."""
    rows: list[tuple[str, ...]] = [("system", "what it does", "tiers", "restart", "moves its result most")]
    for name in catalog.system_names():
        one = system(name)
        tiers = Counter(kind for tier in one.protection for kind in tier)
        shown = ", ".join(f"{count} × {kind}" if count > 1 else kind for kind, count in tiers.items())
        mode = str(one.settings.get("restart", "any"))
        linked = f"[`{name}`]({one.source})" if "://" in one.source else f"`{name}`"
        rows.append((linked, one.line, shown, mode, " ".join(one.most_sensitive.split())))
    return table(rows)


def checks() -> list[str]:
    """Outcomes of each paper: those that are judged by kind, and those that are shown."""
    rows: list[tuple[str, ...]] = [("file", "of", "judged: independent", "calibrated", "identity", "shown only")]
    total: Counter[str] = Counter()
    for name in names():
        read = paper(name)
        found = Counter(judged_as(one) for one in read.outcomes.values())
        total += found
        rows.append((f"`{name}`", read.title, *(str(found[kind]) for kind in KINDS)))
    return table([*rows, ("all", "", *(str(total[kind]) for kind in KINDS))])


def judged_as(one: Outcome) -> str:
    """The kind of an outcome that is judged; "shown" of the others."""
    return "shown" if one.judged == "C" or one.id in UNBUILT else one.kind


KINDS = ("independent", "calibrated", "identity", "shown")
TABLES: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "systems.md": ("<!-- table of systems, written by docs/make_tables.py -->", systems),
    "validity.md": ("<!-- table of checks, written by docs/make_tables.py -->", checks),
}


def written(page: str, text: str) -> str:
    """The text of a page with its table made anew. Raises SystemExit where the markers are missing."""
    begin, make = TABLES[page]
    found = re.search(re.escape(begin) + r"\n(.*?)" + re.escape(END), text, re.DOTALL)
    if found is None:
        raise SystemExit(f"docs/{page}: no table between its markers")
    start, end = found.span(1)
    return text[:start] + "\n".join(make()) + text[end:]


if __name__ == "__main__":
    for page in TABLES:
        target = HERE / page
        target.write_text(written(page, target.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"wrote {target}")
