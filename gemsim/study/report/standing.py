"""Figures of single designs: what their time was lost to, what their memory buys, how far they are apart."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from gemsim.results.estimate import Floats, Interval, mean_interval
from gemsim.results.figures.forest import Apart, forest_figure
from gemsim.results.figures.front import Cost, front_figure
from gemsim.results.figures.looks import MOST
from gemsim.results.figures.lost import Losses, lost_figure
from gemsim.results.ledger import LEDGER
from gemsim.results.summary import ROUNDING, Row, meets
from gemsim.study.advice import Group
from gemsim.study.report import axes
from gemsim.study.report.content import Figure, Left
from gemsim.study.report.view import View
from gemsim.study.report.words import LEVEL, interval
from gemsim.study.shares import percent, points_of
from gemsim.study.titles import job_of, said

SHOWN_APART = 24
SHOWN_GROUPS = 6
NAMES = {  # the badput names of docs/model.md
    "overhead": "protection overhead",
    "detection": "detection",
    "wasted": "wasted progress",
    "recovery": "recovery",
    "restart": "restart",
    "waiting": "waiting",
    "degraded": "degraded",
    "planned": "planned stops",
    "other": "other",
}
assert set(NAMES) == set(LEDGER) - {"productive"}


def lost(view: View) -> Figure | Left:
    """Where the time of the best design went, beside the design that spends least."""
    title = "What the time was lost to"
    if view.lead is None or view.shown is None:
        return Left(title, "nothing was simulated that meets the requirement")
    pair = [view.shown, *_beside(view.lead, view.shown)]
    shares = [_shares(view.runs[row["point"]]) for row in pair]
    kept = [name for name in NAMES if any(own[name].value > 0.0 for own in shares)]
    if not kept:
        return Left(title, "no time was lost")
    losses = [
        Losses(view.lead.name(row), {NAMES[name]: own[name] for name in kept}, _all_lost(view.runs[row["point"]]))
        for row, own in zip(pair, shares, strict=True)
    ]
    largest = sorted(kept, key=lambda name: -shares[0][name].value)[:2]
    parts = " and ".join(f"{NAMES[name]} ({percent(shares[0][name].value)})" for name in largest)
    total = sum(own.value for own in shares[0].values())
    beside = f"; beside it {losses[1].title}" if len(losses) > 1 else ""
    seen = (
        f"{losses[0].title} loses {percent(total)} of its wall time, most to {parts}{beside}. Each bar starts where "
        f"the one above it ends; ± is half of the {LEVEL} interval."
    )
    return Figure("lost", title, seen, *lost_figure(losses), wide=len(losses) > 1)


def _beside(group: Group, shown: Row) -> list[Row]:
    """The design to set beside the best: the one that spends least memory, or if that is the best the smallest ETTR."""
    others = [row for row in group.designs if row["point"] != shown["point"]]
    cheaper = [row for row in others if row["memory_overhead"] < shown["memory_overhead"]]
    if cheaper:
        return [min(cheaper, key=lambda row: (row["memory_overhead"], -row["ettr"]))]
    return [min(others, key=lambda row: float(row["ettr"]))] if others else []


def _shares(run: Mapping[str, Floats]) -> dict[str, Interval]:
    """Shares of wall time by category, with intervals over the replications."""
    found = {}
    for name in NAMES:
        share = mean_interval(run[f"{name}_s"] / run["wall_s"])
        found[name] = share if abs(share.value) > ROUNDING else Interval(0.0, 0.0, 0.0)
    return found


def _all_lost(run: Mapping[str, Floats]) -> Interval:
    """The share of wall time that is not productive: the sum of the others, with an interval of its own."""
    return mean_interval(1.0 - run["productive_s"] / run["wall_s"])


def front(view: View) -> Figure | Left:
    """Wasted time over memory, the front of each series joined."""
    title = "What memory buys"
    costs = [cost for name, rows in _series(view) for cost in _costs(name, rows, view)]
    if len(costs) < 2:
        return Left(title, "fewer than two designs were simulated")
    if len({cost.memory for cost in costs}) < 2:
        return Left(title, f"all designs spend the same memory ({percent(costs[0].memory)})")
    first = costs[0].series
    on = [cost for cost in costs if cost.on_front and cost.series == first]
    least, most = min(on, key=lambda one: one.memory), min(on, key=lambda one: one.wasted.value)
    none = percent(least.wasted.value) == percent(most.wasted.value)
    gain = "and no memory buys less" if none else f"{percent(most.memory)} buy {percent(most.wasted.value)}"
    among = f" Of {first}:" if len({cost.series for cost in costs}) > 1 else ""
    seen = (
        f"Joined: designs of a series that no other of it beats in wasted time for as little memory.{among} at "
        f"{percent(least.memory)} of memory {percent(least.wasted.value)} of the time is wasted, {gain}. Whiskers: "
        f"{LEVEL} intervals; rings: the best designs."
    )
    return Figure("front", title, seen, *front_figure(costs))


def _series(view: View) -> list[tuple[str, list[Row]]]:
    """Groups as series where there are a few; else the first group, by variant or by the axis with fewest values."""
    if view.lead is None:
        return []
    group, job = view.lead, _job(view)
    known_groups = [(one, title) for one, title in zip(view.groups, view.titles, strict=True) if one.designs]
    if job:
        known_groups = [one for one in known_groups if job_of(one[0]) == job]
    if 1 < len(known_groups) <= SHOWN_GROUPS:
        known_groups.sort(key=lambda one: one[0] is not group)
        return [(title, one.designs) for one, title in known_groups]
    points = [point for point in group.points if view.rows[point.index]["ettr"] is not None]
    by = axes.series(points, "") if points else None
    if by is None:
        return [("designs", group.designs)]
    parts: dict[str, dict[str, Row]] = {}
    name = {**group.names, axes.VARIANT: ""}[by]
    for point in points:
        raw = axes.value(point, by)
        label = str(raw) if by == axes.VARIANT else f"{name} = {axes.text(raw)}" if raw != "" else "without it"
        parts.setdefault(label, {}).setdefault(point.id, view.rows[point.index])
    return [(label, list(rows.values())) for label, rows in list(parts.items())[:MOST]]


def _costs(name: str, rows: Sequence[Row], view: View) -> list[Cost]:
    found = []
    for row in rows:
        ettr = interval(row, "ettr")
        wasted = Interval(1.0 - ettr.value, 1.0 - ettr.hi, 1.0 - ettr.lo)
        beaten = any(
            (other["ettr"] > row["ettr"] and other["memory_overhead"] <= row["memory_overhead"])
            or (other["ettr"] >= row["ettr"] and other["memory_overhead"] < row["memory_overhead"])
            for other in rows
        )
        best = any(view.rows[i]["point"] == row["point"] and view.rows[i]["best"] for i in _bests(view))
        found.append(Cost(name, row["memory_overhead"], wasted, not beaten, best))
    return found


def _bests(view: View) -> list[int]:
    return [group.choice.best for group in view.groups if group.choice.best is not None]


def apart(view: View) -> Figure | Left:
    """Paired differences to the largest ETTR: of the fleets, of a job's designs, or of those of the first group."""
    title = "How far the designs are apart"
    found = _compared(view)
    if found is None:
        return Left(title, "no design meets the requirement, so there is none to compare with")
    names, differences, tied, reference, best = found
    chosen = "" if best is None else names[best]
    require = view.result.plan.require
    others = [
        Apart(names[i], apart, i in tied, meets(view.rows[i], require))
        for i, apart in differences.items()
        if i != reference
    ]
    if not others:
        return Left(title, "one design only")
    others.sort(key=lambda one: -one.difference.value)
    drawn = [one for place, one in enumerate(others) if _kept(place, len(others)) or one.name == chosen]
    pictures = forest_figure(drawn, reference=names[reference])
    seen = _apart_seen(others, names[reference], _where(view), len(others) - len(drawn))
    return Figure("differences", title, seen, *pictures, wide=True)


Compared = tuple[Mapping[int, str], Mapping[int, Interval], Collection[int], int, int | None]


def _compared(view: View) -> Compared | None:
    """Names and differences by index, the tied, the reference and the best: of a fleet, a job or the first group."""
    group, job = view.lead, _job(view)
    if group is None:
        return None
    if view.fleet_decides:
        family = view.result.summary.families[0]
        keys = {index: key for key, index in family.picks.items()}
        titles = dict(zip(keys, said([dict(key) for key in keys.values()]), strict=True))
        alike = {index for index in keys if family.alike(index)}
        return titles, {i: family.differences[i] for i in keys}, alike, family.best, view.fleets[0].taken
    choice = view.result.summary.jobs[job] if job else group.choice
    if choice.reference is None:
        return None
    names = {index: _called(view.rows[index], group, job) for index in choice.differences}
    return names, choice.differences, choice.tied, choice.reference, choice.best


def _where(view: View) -> str:
    """Of which designs the comparison is, where that is not all of them."""
    if view.fleet_decides or view.lead is None:
        return ""
    job = _job(view)
    return f"all of {job}, each with its restart mode" if job else view.title(view.lead)


def _apart_seen(others: Sequence[Apart], reference: str, where: str, left: int) -> str:
    tied = sum(one.tied for one in others)
    none = math.isnan(others[0].difference.lo)
    bars = "one replication gives no interval" if none else f"bars are {LEVEL} intervals of the paired difference"
    farthest = points_of(abs(others[-1].difference.value))
    more = f" {left} more are in summary.csv." if left else ""
    allowed = sum(one.allowed for one in others)
    out = f" ({len(others) - allowed} more do not meet the requirement)" if allowed < len(others) else ""
    return (
        f"ETTR less that of {reference}{f' ({where})' if where else ''}, on the same failures: {tied} of {allowed} "
        f"others are tied with it{out}, the farthest is {farthest} away; {bars}.{more}"
    )


def _called(row: Row, group: Group, job: str) -> str:
    return str(row["variant"]).partition(": ")[2] if job else group.name(row)


def _kept(place: int, count: int) -> bool:
    """The nearest and the farthest, where all are too many for a picture."""
    return count <= SHOWN_APART or place < SHOWN_APART - 6 or place >= count - 5


def _job(view: View) -> str:
    """The job of the first group, where its designs lie in several groups and so in several restart modes."""
    job = "" if view.lead is None else job_of(view.lead)
    spread = sum(job_of(group) == job for group in view.groups)
    return job if job in view.result.summary.jobs and spread > 1 else ""
