"""A sweep as a report looks at it: its groups, which of them the first screen is about, and the rows by replication."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gemsim.results.choice import Choice
from gemsim.results.estimate import Floats
from gemsim.results.rows import RowStore
from gemsim.results.runs import by_design
from gemsim.results.summary import Point, Row
from gemsim.study.advice import Group
from gemsim.study.ranking import spread
from gemsim.study.reopen import reopen
from gemsim.study.report.halfway import Halfway, halfway
from gemsim.study.spares import Answer, fleets
from gemsim.study.sweep import SweepResult
from gemsim.study.terminal import fleet_decides, groups_of
from gemsim.study.titles import titles_of


@dataclass(frozen=True, slots=True)
class View:
    """A sweep with what every part of its report asks for.

    `lead` is the group of the first screen: the first with a design that was simulated; where the fleet decides the
    group of the one to take, and where systems are ranked on `jobs` that of the largest of the first job. It is None
    where nothing was simulated.
    """

    result: SweepResult
    groups: Sequence[Group]
    titles: Sequence[str]
    fleets: Sequence[Answer]
    fleet_decides: bool
    lead: Group | None
    runs: Mapping[str, Mapping[str, Floats]]
    jobs: Mapping[str, Choice] = field(default_factory=dict)  # whose designs lie in several groups
    far: Halfway | None = None  # of a sweep that was stopped

    @property
    def rows(self) -> Sequence[Row]:
        """The summary, a row for each point."""
        return self.result.summary.rows

    @property
    def shown(self) -> Row | None:
        """The row that the first screen is about: the best of the lead, or where none is best its largest ETTR.

        Where systems are ranked, the largest of the first job.
        """
        if self.jobs:
            return self.rows[_largest(self.jobs)]
        return None if self.lead is None else self.lead.best or self.lead.reference

    @property
    def simulated(self) -> list[Point]:
        """The points with numbers."""
        return [point for point in self.result.points if self.rows[point.index]["ettr"] is not None]

    def title(self, group: Group) -> str:
        """What a group is called; nothing where it is the only one."""
        return self.titles[self.groups.index(group)] if len(self.groups) > 1 else ""


def view_of(folder: Path) -> View:
    """Read a folder. ResultsError where it holds no sweep of this version."""
    result, far = halfway(reopen(folder))
    groups = groups_of(result)
    answers = list(fleets(groups, result.summary))
    alone = any(group.designs for group in groups) and fleet_decides(groups, answers)
    jobs = {} if alone or result.plan.jobs else spread(groups, result.summary)
    taken = answers[0].taken if alone else _largest(jobs) if jobs else None
    lead = _lead(groups, taken)
    return View(result, groups, titles_of(groups), answers, alone, lead, _runs(result), jobs, far)


def _largest(jobs: Mapping[str, Choice]) -> int:
    """The index of the largest ETTR of the first job."""
    index = next(iter(jobs.values())).reference
    assert index is not None
    return index


def _runs(result: SweepResult) -> dict[str, dict[str, Floats]]:
    """The rows behind the numbers of the summary: of each design as many replications as it counts."""
    counted = {row["point"]: row["replications"] for row in result.summary.rows}
    runs = by_design(RowStore(result.folder / "rows").read(), result.plan.replications)
    return {id_: {name: own[: counted.get(id_, 0)] for name, own in run.items()} for id_, run in runs.items()}


def _lead(groups: Sequence[Group], taken: int | None) -> Group | None:
    """The group to open with: that of the design `taken`; else the first that has a choice, or any design."""
    if taken is not None:
        return next(group for group in groups if any(point.index == taken for point in group.points))
    known = [group for group in groups if group.designs]
    return next((group for group in known if len(group.designs) > 1), known[0] if known else None)
