"""The columns of summary.csv that a study may put a bound on, with what each one measures."""

from __future__ import annotations

from typing import Literal

LEDGER = (
    "productive", "overhead", "detection", "wasted", "recovery", "restart", "waiting", "degraded", "planned", "other",
)  # fmt: skip

Measure = Literal["share", "time", "count", "text"]

COLUMN_MEASURES: dict[str, Measure] = {
    "feasible": "text",
    "reason": "text",
    "replications": "count",
    "ettr": "share",
    "ettr_lo": "share",
    "ettr_hi": "share",
    "ettr_meta": "share",
    "ettr_diff": "share",
    "ettr_diff_lo": "share",
    "ettr_diff_hi": "share",
    "best": "text",
    "ettr_analytic": "share",
    "analytic_kind": "text",
    "analytic_error": "share",
    "z_analytic": "count",
    "step_overhead": "share",
    "memory_overhead": "share",
    "survivable_burst_pages": "count",
    "failures": "count",
    "wasted_s_per_failure": "time",
    "cost_s_per_failure": "time",
    "fallback_per_failure": "share",
    "unrecoverable_per_run": "count",
    **{f"time_{category}": "share" for category in LEDGER},
    "ettr_perfect": "share",
    "touch_share_failures": "share",
    "touch_share_lost": "share",
    "interval_s": "time",
    "profile": "text",
}
SUMMARY_COLUMNS: tuple[str, ...] = tuple(COLUMN_MEASURES)
