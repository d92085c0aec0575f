"""The columns of summary.csv that a study may put a bound on, with what each one measures."""

from __future__ import annotations

from typing import Literal

LEDGER = (
    "productive", "overhead", "detection", "wasted", "recovery", "restart", "waiting", "degraded", "planned", "other",
)  # fmt: skip

Measure = Literal["share", "time", "count", "money", "text"]  # money: a number of the currency of prices

COLUMN_MEASURES: dict[str, Measure] = {
    "variant": "text",
    "feasible": "text",
    "reason": "text",
    "replications": "count",
    "stopped_by": "text",
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
    "ettr_input_lo": "share",
    "ettr_input_hi": "share",
    "ettr_diff_input_lo": "share",
    "ettr_diff_input_hi": "share",
    "input_draws": "count",
    "input_failures": "count",
    "input_note": "text",
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
    "spare_nodes": "count",
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
    "unrecoverable_analytic": "count",
    "unrecoverable_note": "text",
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
    "lost_gpu_h_per_run": "count",
    "lost_gpu_h_per_run_lo": "count",
    "lost_gpu_h_per_run_hi": "count",
    "lost_gpu_h_per_failure": "count",
    "cost_per_useful_gpu_hour": "money",
    "cost_per_useful_gpu_hour_lo": "money",
    "cost_per_useful_gpu_hour_hi": "money",
    "cost_per_useful_gpu_hour_analytic": "money",
    "cost_diff": "money",
    "cost_diff_lo": "money",
    "cost_diff_hi": "money",
    **{f"{name}{end}": "money" for name in ("cost_per_run", "lost_cost_per_run") for end in ("", "_lo", "_hi")},
    "lost_cost_per_failure": "money",
    **{f"{name}{end}": "count" for name in ("energy_kwh_per_run", "lost_kwh_per_run") for end in ("", "_lo", "_hi")},
    "lost_kwh_per_failure": "count",
    **{f"co2_kg_per_run{end}": "count" for end in ("", "_lo", "_hi")},
    "caution": "text",
    "profile": "text",
    "modelled": "text",
    "point": "text",
}
JUDGED = (  # against the best of those that meet the bounds
    *("ettr_diff", "ettr_diff_lo", "ettr_diff_hi"),
    *("fleet_diff", "fleet_diff_lo", "fleet_diff_hi"),
    *("ettr_diff_input_lo", "ettr_diff_input_hi"),
    *("cost_diff", "cost_diff_lo", "cost_diff_hi"),
)
SUMMARY_COLUMNS: tuple[str, ...] = tuple(COLUMN_MEASURES)


_UNITS: dict[Measure, str] = {"share": "1", "time": "s", "count": "1", "text": "text"}
_TRUTHS = ("feasible", "best", "tied", "modelled")
_IN_THE_NAME = {"_gpu_h_": "GPU h", "_kwh_": "kWh", "co2_kg_": "kg"}


def unit_of(column: str, currency: str = "") -> str:
    """The unit of a column of summary.csv: `1` for shares and counts, `text` for words; money in `currency`."""
    measure = COLUMN_MEASURES[column]
    if measure == "money":
        money = currency or "currency of prices"
        return f"{money}/GPU h" if column.startswith(("cost_per_useful", "cost_diff")) else money
    named = [unit for part, unit in _IN_THE_NAME.items() if part in column and measure == "count"]
    return "true or false" if column in _TRUTHS else named[0] if named else _UNITS[measure]
