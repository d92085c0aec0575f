"""What `gemsim fit` says of the model: steps of the rate, joint starts beside chance, repeats, and the round trip."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gemsim.failures.logs.chance import LEVEL, Joint
from gemsim.failures.logs.fit import LARGEST, RUNGS, Analysis, misses
from gemsim.failures.logs.model import FEW, Source
from gemsim.failures.logs.roundtrip import JOINED, Check
from gemsim.failures.logs.steps import FEWEST
from gemsim.failures.logs.wording import clock, short, show, span, table, within, wrapped, wrapped_text


def steps_lines(analysis: Analysis) -> Iterator[str]:
    """Steps of the rate by the strict penalty, and what the section has of them."""
    steps, model = analysis.steps, analysis.model
    yield (
        f"steps of the rate (penalty {steps.penalty:.3g} = 2 ln(bins) in log-likelihood for each,"
        f" bins of {steps.bin_h:.3g} h, joint starts as one):"
    )
    if sum(steps.counts) < FEWEST:
        yield f"  too few events ({sum(steps.counts)}) to tell steps: from {FEWEST} on; the section has an even rate"
    elif len(steps.starts_h) == 1:
        finer = f"; the section has {len(model.drift)} stretches by a finer one, see the model" if model.drift else ""
        yield f"  none by this penalty{finer}" if finer else "  none: the rate is even"
    else:
        pairs = zip(steps.starts_h, steps.factors, strict=True)
        yield from wrapped([f"from {start / 24:.4g} d × {factor:.3g}" for start, factor in pairs])
        if len(model.drift) > len(steps.starts_h):
            yield f"  the section has {len(model.drift)} stretches by a finer penalty, see the model"


def model_lines(analysis: Analysis) -> Iterator[str]:
    """The classes of the section: how many, and what is told of the data by each part."""
    model = analysis.model
    strictness = RUNGS[analysis.rung][0]
    drift = "an even rate"
    if model.drift:
        drift = f"{len(model.drift)} stretches of the rate shared by all"
        drift += f" (penalty {strictness:g} ln(bins), bins of {model.bin_h:.3g} h)"
    many = len(model.sources)
    yield f"model for a study: {many} class{'es' if many > 1 else ''}, {drift}"
    for one in model.sources:
        if one.steps != model.drift:
            yield f"  {short(one.name)}: {len(one.steps)} stretches of its own"
    if analysis.log.named:
        joint = next((one for one in model.sources if one.sizes), None)
        yield from _joint(model.joint, joint, analysis.log.tick_h)
        few = [one for one in model.sources if not one.sizes and one.events < FEW]
        if few and len(analysis.log.time_h) < LARGEST:
            names = ", ".join(f"{short(one.name)} ({one.events})" for one in few)
            yield from wrapped_text(f"  too few events to tell repeats on a node, from {FEW} of a class on: {names}")
    yield from (f"  {short(one.name)}: {_recurs(one)}" for one in model.sources if one.again)


def _joint(found: Joint, source: Source | None, tick_h: float) -> Iterator[str]:
    """The class of joint starts, what chance has to do with it, and a clock that is too coarse for it."""
    if source is not None:
        sizes = ", ".join(f"{size} nodes {share:.1%}" for size, share in source.sizes[:6])
        more = " …" if len(source.sizes) > 6 else ""
        yield f"  joint starts (two nodes or more {within(found.window_h)}): {source.events} events; {sizes}{more}"
    if found.seen == 0:
        yield "  no joint starts: never two nodes within the window of joint starts"
    else:
        yield from wrapped_text(_beside_chance(found, source))
    if found.coarse and tick_h > 0:
        yield from wrapped_text(
            f"  warning: all starts lie on a grid of {clock(tick_h)}, coarser than the {clock(found.wanted_h)} within"
            " which starts count as joint: only equal starts do here, and few real ones hide among those of chance"
        )


def _beside_chance(found: Joint, source: Source | None) -> str:
    follow = f"{found.seen:,} start{'s follow' if found.seen > 1 else ' follows'} one of another node"
    p = "p < 1e-6" if found.p < 1e-6 else f"p = {found.p:.2g}"
    chance = f"by chance about {show(found.chance)} would, at the rate nearby (one-sided binomial test: {p})"
    if source is None:
        less = f"{follow} {within(found.window_h)}; {chance}"
        return f"  no class of joint starts: {less}, not told from chance at {LEVEL:g}"
    return f"    {follow}; {chance}: {round(found.chance):,} of them are left to their own classes"


def _recurs(one: Source) -> str:
    return (
        f"{one.again:.1%} of failures are followed by another of the same node after a Weibull gap"
        f" (shape {one.gap_shape:.3g}, mean {one.gap_mean_h:.4g} h)"
    )


def trip_lines(analysis: Analysis) -> Iterator[str]:
    """The statistics of the data beside those of simulated logs."""
    if not analysis.checks:
        yield f"round trip: not run, and no recurrence fitted, above {LARGEST:,} events; cut the log with --where"
        return
    many = analysis.replications
    yield f"round trip: {many} logs simulated from the section over the same window and nodes, seed {analysis.seed}"
    heading = ["statistic", "data", "simulated 95 %", "median", "within"]
    near = within(analysis.model.joint_h)
    rows = []
    for one in analysis.checks:
        verdict = "no figure" if math.isnan(one.data) else "yes" if one.holds else "NO"
        rows.append([_check(one, near), show(one.data), span(one.low, one.high, show), show(one.median), verdict])
    yield from table([heading, *rows])
    missed, known = misses(analysis), sum(not math.isnan(one.data) for one in analysis.checks)
    if missed:
        yield "The simulated logs do not have: " + "; ".join(_check(one, near) for one in missed) + "."
    elif known < len(analysis.checks):
        yield f"The simulated logs have all {known} of these statistics that have a figure, of {len(analysis.checks)}."
    else:
        yield "The simulated logs have every one of these statistics."
    if analysis.rung:
        yield "The steps of the rate were made finer until this held or came closest: a calibration, no forecast."


def _check(one: Check, near: str) -> str:
    """What is compared; the window of joint starts is that of the model, not that of row 3 of the system."""
    names = {"mtbf_h": "MTBF h", "gap_shape": "gap shape", "fano_24h": "Fano 24 h"}
    row = f"starts {near} as one" if one.row == JOINED else one.row
    return f"{row}: {names[one.name]}"
