"""docs/formulas.md: all named models are there, and each example is the formula worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from docs import make_formulas
from docs.formulas_data import GROUPS, SAVES, Formula
from gemsim.analytic.named import NAMED

ALL = [one for _, formulas in GROUPS for one in formulas]


def test_the_page_is_current() -> None:
    held = make_formulas.TARGET.read_text(encoding="utf-8")
    assert held == make_formulas.page(), "run python docs/make_formulas.py"


def test_every_named_model_has_its_formula_once() -> None:
    named = [one.of for one in ALL if one.of in NAMED]
    assert sorted(named) == sorted(NAMED)


@pytest.mark.parametrize("one", [one for one in ALL if one.of not in NAMED], ids=lambda one: str(one.of))
def test_what_is_not_among_them_says_kind_source_validity_and_what_it_leaves_out(one: Formula) -> None:
    assert all(one.says)
    assert one.says[0] in ("exact", "first_order", "bound")


@pytest.mark.parametrize("one", ALL, ids=lambda one: str(one.of))
def test_an_example_is_what_the_formula_gives_by_hand(one: Formula) -> None:
    assert make_formulas.by_code(one) == pytest.approx(make_formulas.by_hand(one), rel=1e-12)


def test_a_wrong_formula_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: Young without its 2."""
    wrong: Any = NAMED["young"]._replace(of=lambda save, rate: (save / rate) ** 0.5)
    monkeypatch.setitem(NAMED, "young", wrong)
    young = next(one for one in SAVES if one.of == "young")
    assert make_formulas.by_code(young) != pytest.approx(make_formulas.by_hand(young), rel=0.1)
