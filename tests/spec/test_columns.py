"""The columns a study may put a bound on are the ones that results are written with."""

from __future__ import annotations

from gemsim.results import ledger, summary
from gemsim.spec import columns


def test_a_study_knows_the_columns_that_results_are_written_with() -> None:
    assert columns.LEDGER == ledger.LEDGER
    assert set(columns.SUMMARY_COLUMNS) == set(summary.RESULT_COLUMNS)
