"""Write docs/formulas.md: every formula with its source, kind, validity and an example that the code computes.

python docs/make_formulas.py
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from scipy.special import lambertw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.formulas_data import GROUPS, Formula
from gemsim.analytic import renewal, survival
from gemsim.analytic.named import NAMED
from gemsim.costs import links
from gemsim.scenario.build import COMMUNICATOR

HERE = Path(__file__).resolve().parent
TARGET = HERE / "formulas.md"
INTRO = HERE / "formulas_intro.md"
CODE: dict[str, Any] = {"NAMED": NAMED, "renewal": renewal, "survival": survival, "links": links}
CODE["COMMUNICATOR"] = COMMUNICATOR
HAND: dict[str, Any] = {
    **{name: getattr(math, name) for name in ("sqrt", "exp", "expm1", "log", "comb", "ceil", "factorial")},
    "lambertw": lambertw,
}


def by_code(one: Formula) -> float:
    """What the code gives for the example."""
    return float(eval(one.call, dict(CODE)))


def by_hand(one: Formula) -> float:
    """The formula itself over the same numbers."""
    return float(eval(one.hand, dict(HAND)))


def shown(value: float, unit: str) -> str:
    """Four digits, and the unit."""
    if unit == "count":
        return f"{value:g}"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text if unit == "share" else f"{text} {unit}"


def section(one: Formula) -> list[str]:
    """The lines of one formula."""
    if one.of in NAMED:
        model = NAMED[one.of]
        title, gives = f"{model.title} (`{one.of}`)", model.gives
        kind, source, valid, leaves_out = model.kind, model.source, model.valid, model.leaves_out
    else:
        title, gives = one.of, ""
        kind, source, valid, leaves_out = one.says
    return [
        f"### {title[0].upper()}{title[1:]}",
        "",
        f"{one.formula}",
        "",
        *([f"* Gives: {gives}."] if gives else []),
        f"* Kind: {kind.replace('_', ' ')}. Source: {source}.",
        f"* Holds for: {valid}.",
        f"* Leaves out: {leaves_out}.",
        f"* Example: `{one.call}` = {shown(by_code(one), one.unit)}.",
        "",
    ]


def page() -> str:
    """The text of docs/formulas.md."""
    lines = [INTRO.read_text(encoding="utf-8").rstrip(), ""]
    for title, formulas in GROUPS:
        lines += [f"## {title}", ""]
        for one in formulas:
            lines += section(one)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
    print(f"wrote {TARGET}")
