"""When the replications of a design are enough: by precision, by their number, by time.

One idea: whether to go on is asked at fixed numbers of replications only, and of the rows alone. So one job or many, a
cluster, a stop and a resume give the same numbers; only a limit of time does not. A group stops together, since its
designs are compared on the same failures: it runs on until each of them has its precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from gemsim import units
from gemsim.results import estimate
from gemsim.results.estimate import FEW_REPLICATIONS, Floats, Interval
from gemsim.results.runs import by_design
from gemsim.results.summary import Point
from gemsim.spec.precision import Precision, shown
from gemsim.spec.run import FEWEST_EVENTS, RunSpec

GROWTH = 1.5  # from one number of replications at which is asked to the next
PRECISION, REPLICATIONS, TIME, STOPPED = "precision", "replications", "time", "stopped"

Run = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Rule:
    """Half widths by column, the events that these need, replications and seconds at most."""

    precision: Mapping[str, Precision]
    min_events: int
    most: int
    at_most_s: float | None = None

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """The numbers of replications at which is asked whether they are enough: 10, 15, 22, 33, … and the most."""
        found = []
        number = FEW_REPLICATIONS
        while self.precision and number < self.most:
            found.append(number)
            number = int(number * GROWTH)
        return (*found, self.most)

    def __str__(self) -> str:
        """In words."""
        bounds = [f"{column} ± {shown(column, one)}" for column, one in self.precision.items()]
        time = [] if self.at_most_s is None else [f"at most {units.brief(self.at_most_s, 'time')} for each run"]
        return ", ".join([*bounds, f"at most {self.most} replications", *time])


def rule_of(run: RunSpec) -> Rule | None:
    """The rule that a study gives; None where every design has the same number of replications."""
    if not run.precision and run.at_most is None:
        return None
    return Rule(run.precision, run.min_events, run.replications, run.at_most)


def plain(replications: int) -> Rule:
    """As many replications of each design."""
    return Rule({}, FEWEST_EVENTS, replications)


class _Metric(NamedTuple):
    """A column: its interval, and for rare events which are counted."""

    interval: Callable[[Run], Interval]
    events: str = ""


def _share(run: Run, events: str) -> Interval:
    return estimate.share_interval(run[events], run["failures"])


METRICS: Mapping[str, _Metric] = {
    "ettr": _Metric(lambda run: estimate.mean_interval(run["productive_s"] / run["wall_s"])),
    "wall_s": _Metric(lambda run: estimate.mean_interval(run["wall_s"])),
    "failures": _Metric(lambda run: estimate.mean_interval(run["failures"])),
    "wasted_s_per_failure": _Metric(lambda run: estimate.ratio_interval(run["wasted_failures_s"], run["failures"])),
    "cost_s_per_failure": _Metric(lambda run: estimate.ratio_interval(run["cost_failures_s"], run["failures"])),
    "fallback_per_failure": _Metric(
        lambda run: estimate.share_interval(run["fallbacks"], run["failures"]), "fallbacks"
    ),
    "rollback_per_failure": _Metric(
        lambda run: estimate.share_interval(run["rollbacks"], run["failures"]), "rollbacks"
    ),
    "unrecoverable_per_run": _Metric(lambda run: estimate.count_interval(run["unrecoverable"]), "unrecoverable"),
}
NEEDED = (
    *("productive_s", "wall_s", "failures", "wasted_failures_s", "cost_failures_s"),
    *("fallbacks", "rollbacks", "unrecoverable"),
)


def precise(run: Run, rule: Rule) -> bool:
    """Whether the replications of one design are enough: intervals narrow, and events to trust them by.

    A relative precision of rare events needs `min_events` of these; an absolute one rests on exact intervals and needs
    none. All else needs as many failures.
    """
    for column, wanted in rule.precision.items():
        metric = METRICS[column]
        interval = metric.interval(run)
        limit = wanted.value * (abs(interval.value) if wanted.relative else 1.0)
        if not interval.half_width <= limit:  # NaN is not precise
            return False
        if (wanted.relative or not metric.events) and run[metric.events or "failures"].sum() < rule.min_events:
            return False
    return True


class Settled(NamedTuple):
    """How many replications a group has or is to have next, and why it ends there: "" as long as it goes on."""

    replications: int
    why: str


def settle(members: Sequence[str], runs: Mapping[str, Run], failed: Iterable[str], rule: Rule) -> Settled:
    """Where a group stands, by the replications 0, 1, … that each member has without a gap.

    Who has failed is not waited for; up to where it has rows it has its say, whenever it failed.
    """
    given_up = set(failed)
    for number in rule.checkpoints:
        there = [id_ for id_ in members if _length(runs.get(id_)) >= number]
        if any(id_ not in given_up for id_ in set(members) - set(there)):
            return Settled(number, "")
        if rule.precision and there and all(precise(_first(runs[id_], number), rule) for id_ in there):
            return Settled(number, PRECISION)
        if not there:
            break
    return Settled(number, REPLICATIONS)


def _length(run: Run | None) -> int:
    return 0 if run is None else len(run["wall_s"])


def _first(run: Run, number: int) -> Run:
    return {name: run[name][:number] for name in NEEDED}


@dataclass(frozen=True, slots=True)
class Counts:
    """By scenario id: the replications that the summary is made of, and what ended them."""

    replications: Mapping[str, int]
    why: Mapping[str, str]


def groups_of(points: Sequence[Point]) -> list[list[str]]:
    """The designs of each group, each with the group of its first point."""
    groups: dict[object, list[str]] = {}
    seen: set[str] = set()
    for point in points:
        if point.id and point.id not in seen:
            seen.add(point.id)
            groups.setdefault(point.group, []).append(point.id)
    return list(groups.values())


def counted(points: Sequence[Point], table: pa.Table, failed: Iterable[str], rule: Rule) -> Counts:
    """The replications of each design by the rows that are there; of a group that is not done those that all have."""
    runs, given_up = by_design(table, rule.most), set(failed)
    numbers, why = dict[str, int](), dict[str, str]()
    for members in groups_of(points):
        found = settle(members, runs, given_up, rule)
        if not found.why:
            common = min(_length(runs.get(id_)) for id_ in members if id_ not in given_up)
            found = Settled(common, STOPPED if rule.at_most_s is None else TIME)
        numbers |= dict.fromkeys(members, found.replications)
        why |= dict.fromkeys(members, found.why)
    return Counts(numbers, why)


class Ends(NamedTuple):
    """Which replications a summary is made of (of all, or by scenario id), and by id what ended each design."""

    replications: int | Mapping[str, int]
    stopped_by: Mapping[str, str]


def ends_of(
    points: Sequence[Point], table: pa.Table, failed: Iterable[str], *, replications: int, rule: Rule | None
) -> Ends:
    """Where each design ends by the rows that are there."""
    if rule is None:
        return Ends(replications, {})
    found = counted(points, table, failed, rule)
    return Ends(found.replications, found.why)


def late_of(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """The ids of the designs of a summary that time has ended."""
    return list(dict.fromkeys(str(row["point"]) for row in rows if row["stopped_by"] == TIME))


def lasting(rows: Iterable[Mapping[str, object]]) -> tuple[int, int]:
    """The fewest and the most replications of the designs of a summary; zeros where none has any."""
    numbers = [int(str(row["replications"])) for row in rows if row["ettr"] is not None]
    return (min(numbers), max(numbers)) if numbers else (0, 0)
