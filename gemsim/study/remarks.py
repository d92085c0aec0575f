"""What stands below the table of a sweep: points that cannot exist, costs beyond a profile, designs without numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gemsim.results.summary import EXTRAPOLATED, Point, Row
from gemsim.study.advice import Group
from gemsim.study.labels import label
from gemsim.study.sweep import SweepResult

SHOWN_REASONS = 3


def infeasible(rows: Sequence[Row]) -> Iterator[str]:
    """The reasons, most frequent first, with the variants that they rule out."""
    ruled_out: dict[str, list[str]] = {}
    for row in rows:
        if not row["feasible"]:
            ruled_out.setdefault(row["reason"], []).append(row["variant"])
    if ruled_out:
        yield f"{sum(map(len, ruled_out.values()))} points are infeasible:"
    reasons = sorted(ruled_out.items(), key=lambda one: -len(one[1]))
    for reason, variants in reasons[:SHOWN_REASONS]:
        names = ", ".join(dict.fromkeys(filter(None, variants)))
        yield f"  {len(variants)} × {reason}" + (f" ({names})" if names else "")
    if len(reasons) > SHOWN_REASONS:
        yield f"  and {len(reasons) - SHOWN_REASONS} other reasons, in summary.csv"


def extrapolated(groups: Sequence[Group]) -> Iterator[str]:
    """The points whose costs lie beyond what their profile holds, wherever they stand in the table."""
    points = [point for group in groups for point in group.points]
    shouted = ([note for note in point.static.get("notes") or () if EXTRAPOLATED in note] for point in points)
    reasons = Counter(notes[0].partition(f"{EXTRAPOLATED}: ")[2] for notes in shouted if notes)
    if reasons:
        yield f"Caution: the costs of {reasons.total()} of {len(points)} points are EXTRAPOLATED beyond their profile:"
    yield from most_frequent(reasons)


def most_frequent(reasons: Counter[str]) -> Iterator[str]:
    """The reasons that count most, and how many others there are."""
    for reason, count in reasons.most_common(SHOWN_REASONS):
        yield f"  {count:,} × {reason}"
    if len(reasons) > SHOWN_REASONS:
        yield f"  and {len(reasons) - SHOWN_REASONS} other reasons"


def short(result: SweepResult) -> Iterator[str]:
    """Designs that are shown without numbers since they failed, or since a part of their replications is not here."""
    if result.failed:
        yield f"{len(result.failed)} designs failed (tracebacks in {result.folder / 'errors'}):"
        yield from _named(result, result.failed)
    if result.incomplete:
        lack = f"{len(result.incomplete)} designs lack replications and are shown without numbers"
        yield f"{lack}; gemsim sweep with --out {result.folder} adds what is missing:"
        yield from _named(result, result.incomplete)


def _named(result: SweepResult, reasons: Mapping[str, str]) -> Iterator[str]:
    designs: dict[str, Point] = {}
    for point in result.points:
        if point.id in reasons:
            designs.setdefault(point.id, point)
    yield from (f"  {label(point)}: {reasons[id_]}" for id_, point in designs.items())
