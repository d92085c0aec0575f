"""The analysis in plain lines, and as an object for JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from gemsim.failures.logs.fit import Analysis, ClassFit
from gemsim.failures.logs.model import FEWEST
from gemsim.failures.logs.report_model import model_lines, steps_lines, trip_lines
from gemsim.failures.logs.statistics import Row
from gemsim.failures.logs.wording import best, hours, short, show, span, table, within_interval, wrapped_text


def render(analysis: Analysis) -> str:
    """All that is said on the terminal, ending in a line feed."""
    parts = [
        _head(analysis),
        _system(analysis),
        _classes(analysis),
        steps_lines(analysis),
        model_lines(analysis),
        trip_lines(analysis),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def as_object(analysis: Analysis) -> dict[str, Any]:
    """The same as plain values, numbers that are not finite as None; times in hours, rates per node-hour."""
    log = analysis.log
    shown: dict[str, Any] = _plain({
        "log": log.source, "events": len(log.time_h), "nodes": log.nodes, "window_h": log.window_h,
        "node_hours": log.node_hours, "resolution_h": log.tick_h, "notes": log.notes,
        "system": [
            {**_fields(one), "mtbf_by_fano_h": one.wide_h, "gap_best_by_aic": best(one.gap_fits)}
            for one in analysis.rows
        ],
        "intervals": "95 %: exact Poisson for counts and rates, profile likelihood for Weibull shapes",
        "classes": [_class_fields(one) for one in analysis.classes],
        "at_once": None if analysis.at_once is None else _fields(analysis.at_once),
        "steps": _fields(analysis.steps) | {"factors": analysis.steps.factors},
        "model": _fields(analysis.model),
        "round_trip": [_fields(one) | {"holds": one.holds} for one in analysis.checks],
        "replications": analysis.replications, "seed": analysis.seed,
    })  # fmt: skip
    return shown


def _head(analysis: Analysis) -> Iterator[str]:
    log = analysis.log
    struck = analysis.classes[0].nodes.struck if analysis.classes[0].nodes else None
    nodes = f"{log.nodes:,} nodes" + (f" ({struck:,} struck)" if struck is not None else "")
    events = f"{analysis.rows[0].events:,} events"
    yield f"{log.source}: {events}, {nodes}, {hours(log.window_h)}, {log.node_hours:,.0f} node-hours"
    yield from (f"  {note}" for note in log.notes)


def _system(analysis: Analysis) -> Iterator[str]:
    heading = ["starts of the whole system", "events", "MTBF h (95 % Poisson)", "95 % by Fano", "zero gaps"]
    heading += ["gap Weibull shape (95 %)", "Fano 24 h", "best by AIC"]
    yield from table([heading, *(_row(one) for one in analysis.rows)])
    yield "MTBF: exact Poisson interval; by Fano: about 95 % where counts vary as those of days do, Poisson x root."
    yield "Shape: profile likelihood, zero gaps left out. Fano: variance / mean of daily counts, 1 for Poisson."
    yield "These describe the system and are no law of a device: frailty, joint starts and steps of the rate make them."


def _row(one: Row) -> list[str]:
    return [
        one.name, f"{one.events:,}", f"{one.mtbf_h:.4g} ({span(one.mtbf_low_h, one.mtbf_high_h)})",
        span(*one.wide_h), f"{one.zero_gaps:,}",
        within_interval(one.shape, one.shape_low, one.shape_high), show(one.fano_24h),
        best(one.gap_fits),
    ]  # fmt: skip


def _classes(analysis: Analysis) -> Iterator[str]:
    log = analysis.log
    heading = [
        "class",
        "events",
        "per 1e6 node h (95 %)",
        "node MTBF h",
        "first failure: shape (95 %)",
        "var/mean",
        "worst 10 %",
        "frailty",
    ]
    yield from table([heading, *(_class(one) for one in analysis.classes)])
    yield "Rates: exact Poisson interval. First failure of a node: Weibull shape, profile likelihood, nodes without one"
    yield "censored, and the law with the least AIC. var/mean: of the counts of nodes, 1 if all are alike. Frailty: the"
    yield "law of node counts with the least AIC: alike, gamma k (shape of the rates), or lemons, share × multiplier."
    nodes = analysis.classes[0].nodes
    if nodes is not None and math.isfinite(nodes.gamma_shape):
        yield (
            f"All causes: alike AIC {nodes.aic_alike:.1f}; gamma {show(nodes.gamma_shape)}, {nodes.aic_gamma:.1f};"
            f" lemons {nodes.lemon_share:.1%} at {nodes.lemon_multiplier:.3g} times, {nodes.aic_lemons:.1f}."
        )
    few = [short(one.name) for one in analysis.classes if one.nodes and one.events < FEWEST]
    if few:
        yield from wrapped_text(f"Too few events to tell how unlike the nodes are, below {FEWEST}: {', '.join(few)}.")
    if not log.named:
        yield "No nodes are named: rates are events of the job per node-hour of its nodes, not a rate of hardware."
    if any(one.repair.known for one in analysis.classes):
        yield ""
        yield from _repairs(analysis)
    if (down := analysis.at_once) is not None:
        alone = ", ".join(str(one) for one in down.independent)
        yield f"Nodes down at once: {down.median} in the median, {down.p95} at 95 % of the time, {down.p99} at 99 %,"
        yield f"{down.most} at most. Independent nodes at this unavailability (binomial) would have {alone}."


def _class(one: ClassFit) -> list[str]:
    lives, nodes = one.lives, one.nodes
    shape = (
        f"{within_interval(lives.shape, lives.shape_low, lives.shape_high)} {best(lives.fits)}"
        if lives and lives.fits
        else "–"
    )
    return [
        short(one.name), f"{one.events:,}",
        f"{one.rate * 1e6:.4g} ({one.rate_low * 1e6:.3g}–{one.rate_high * 1e6:.3g})",
        f"{1 / one.rate:,.0f}" if one.rate < 1e-2 else f"{1 / one.rate:.3g}", shape,
        show(nodes.variance_over_mean) if nodes else "–", f"{nodes.worst_tenth:.0%}" if nodes else "–", _frailty(one),
    ]  # fmt: skip


def _repairs(analysis: Analysis) -> Iterator[str]:
    heading = ["class", "down times", "median h", "mean h", "best by AIC", "unavailability"]
    heading += ["law for a study", "its median h", "beyond longest"]
    yield from table([heading, *(_repair(one) for one in analysis.classes)])
    yield "Unavailability: down node-hours / node-hours, overlaps of one node once, nothing beyond the window. The law"
    yield "for a study keeps the mean, and the median or (sq) the mean of squares; beyond longest: its share of"
    yield "node-hours in outages longer than any of the log."
    bad = [short(one.name) for one in analysis.classes if one.repair.misfits]
    if bad:
        yield f"No lognormal fits the down times of {', '.join(bad)}:"
        yield "its median is off by half or more, or over 10 % of node-hours lie beyond the longest. It keeps the mean."


def _repair(one: ClassFit) -> list[str]:
    down = one.repair
    unknown = f" (+{down.unknown} unknown)" if down.unknown else ""
    lost = "–" if math.isnan(down.unavailability) else f"{down.unavailability:.3%}"
    law = f"{down.kind or '–'}{f' {down.sigma:.3g}' * (down.sigma > 0)}{' (sq)' * (down.keeps == 'squares')}"
    return [
        short(one.name),
        f"{down.known}{unknown}",
        show(down.median_h),
        show(down.mean_h),
        best(down.fits),
        lost,
        law,
        show(down.law_median_h),
        f"{down.beyond:.1%}" if down.known else "–",
    ]


def _frailty(one: ClassFit) -> str:
    nodes = one.nodes
    if nodes is None or one.events < FEWEST:
        return "–"
    if nodes.best == "lemons":
        return f"lemons {nodes.lemon_share:.1%} × {nodes.lemon_multiplier:.3g}"
    return f"gamma {nodes.gamma_shape:.3g}" if nodes.best == "gamma" else "alike"


def _fields(one: Any) -> dict[str, Any]:
    return dataclasses.asdict(one)


def _class_fields(one: ClassFit) -> dict[str, Any]:
    law = {"law_median_h": one.repair.law_median_h, "beyond_longest": one.repair.beyond, "misfits": one.repair.misfits}
    best = one.nodes.best if one.nodes else None
    return _fields(one) | {"frailty_best_by_aic": best, "repair": _fields(one.repair) | law}


def _plain(value: Any) -> Any:
    """Without arrays, tuples and numbers that are not finite."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
