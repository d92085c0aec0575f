"""The columns of summary.csv that a study may put a bound on, with what each one measures."""

from __future__ import annotations

from typing import Literal

LEDGER = (
    "productive", "overhead", "detection", "wasted", "recovery", "restart", "waiting", "degraded", "planned", "other",
)  # fmt: skip

Measure = Literal["share", "time", "count", "text"]

COLUMN_MEASURES: dict[str, Measure] = {
    "variant": "text",
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
    "tied": "text",
    "fleet_diff": "share",
    "fleet_diff_lo": "share",
    "fleet_diff_hi": "share",
    "ettr_analytic": "share",
    "analytic_kind": "text",
    "analytic_error": "share",
    "z_analytic": "count",
    "analytic_note": "text",
    "failures_analytic": "count",
    "fallback_per_failure_analytic": "share",
    "wasted_s_per_failure_analytic": "time",
    "cost_s_per_failure_analytic": "time",
    "overhead_analytic": "share",
    "step_overhead": "share",
    "memory_overhead": "share",
    "survivable_burst_pages": "count",
    "blind_falls_per_run": "count",
    "interval_s": "time",
    "optimum_ettr": "share",
    "wall_s": "time",
    "wall_s_lo": "time",
    "wall_s_hi": "time",
    "failures": "count",
    "failures_lo": "count",
    "failures_hi": "count",
    "wasted_s_per_failure": "time",
    "cost_s_per_failure": "time",
    "fallback_per_failure": "share",
    "fallback_per_failure_lo": "share",
    "fallback_per_failure_hi": "share",
    "rollback_per_failure": "share",
    "recovered_by": "text",
    "unrecoverable_per_run": "count",
    "unrecoverable_per_run_lo": "count",
    "unrecoverable_per_run_hi": "count",
    "touch_share_failures": "share",
    "touch_share_lost": "share",
    "ettr_perfect": "share",
    "interruptions": "count",
    "failures_idle": "count",
    "planned_stops": "count",
    "found_early": "count",
    "joins_failed": "count",
    "selections": "count",
    "borrowed": "count",
    "retired": "count",
    **{f"time_{category}": "share" for category in LEDGER},
    "caution": "text",
    "profile": "text",
    "modelled": "text",
    "point": "text",
}
JUDGED = (  # against the best of those that meet the bounds
    *("ettr_diff", "ettr_diff_lo", "ettr_diff_hi"),
    *("fleet_diff", "fleet_diff_lo", "fleet_diff_hi"),
)
SUMMARY_COLUMNS: tuple[str, ...] = tuple(COLUMN_MEASURES)
