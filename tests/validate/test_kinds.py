"""What the files of papers say of their numbers: which check is no independent one, and some readings of tables."""

from __future__ import annotations

import pytest

from gemsim.spec.published import names, paper

READ = {  # overheads of DeepSeek-MoE in table 3 of MoEvement
    ("relatives", "moe_cost"): 0.02,
    ("relatives", "moe_gemini_cost"): (0.02, 0.03, 0.06, 0.11),
    ("relatives", "moe_checkfreq_cost"): (0.03,) * 4,
}


@pytest.mark.parametrize("place", READ)
def test_an_input_is_what_its_table_says(place: tuple[str, str]) -> None:
    name, key = place
    assert getattr(paper(name).inputs, key) == READ[place]


NOT_INDEPENDENT = {
    "G5.save": "12 B were inferred from it", "G8.ratio": "terms chosen by Fig. 15", "G13.single": "spans assumed",
    "T1.CXL-D": "the model was named by its bar", "T1.CXL": "rule chosen by the figure",
    "GEM.bound.h100": "true by construction",
    "case1.lost": "250 iterations worked out from it", "E3.memory": "the same formula", "S1.storage": "the same",
    "R10.capacity": "groups out worked out from it",
}  # fmt: skip


@pytest.mark.parametrize("check", NOT_INDEPENDENT)
def test_what_was_fitted_is_not_called_independent(check: str) -> None:
    outcomes = {one: outcome for name in names() for one, outcome in paper(name).outcomes.items()}
    assert outcomes[check].kind != "independent", NOT_INDEPENDENT[check]
