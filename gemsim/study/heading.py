"""What stands above the table of a sweep: the question, how much was run, by which rule, and what the costs rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gemsim.results.summary import Point, Row
from gemsim.study.labels import label
from gemsim.study.stopping import TIME, lasting
from gemsim.study.sweep import SweepResult


def head(result: SweepResult) -> Iterator[str]:
    """The question, what was run, and which designs time has ended."""
    yield str(result.plan.facts.get("title", result.folder))
    yield counted(result)
    yield from stopped_late(result)


def counted(result: SweepResult) -> str:
    """How many points, designs and replications."""
    designs = len({point.id for point in result.points if point.id})
    points = f"{_several(len(result.points), 'point')}, {_several(designs, 'distinct design')}"
    return f"{points}, {_replications(result)}, seed {result.plan.seed}."


def _several(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def stopped_late(result: SweepResult) -> Iterator[str]:
    """The designs that time has ended, if any."""
    late = dict.fromkeys(label(point) for point in result.points if _row_of(result, point)["stopped_by"] == TIME)
    if late:
        yield f"Stopped by time, so another run may end elsewhere: {'; '.join(late)}."


def _replications(result: SweepResult) -> str:
    """How many, and by which rule where there is one."""
    rule = result.plan.rule
    if rule is None:
        return f"{result.plan.replications} replication{'s' if result.plan.replications > 1 else ''} each"
    low, high = lasting(result.summary.rows)
    return f"{low} to {high} replications ({rule})" if low < high else f"{high} replications each ({rule})"


def _row_of(result: SweepResult, point: Point) -> Row:
    return result.summary.rows[point.index]


def sources(rows: Sequence[Row]) -> Iterator[str]:
    """Say of each cost profile whether it was measured."""
    profiles = {(row["profile"], row["modelled"]) for row in rows if row["profile"]}
    for profile, modelled in sorted(profiles):
        yield f"Costs: profile {profile}, {'modelled, not measured' if modelled else 'measured'}."
