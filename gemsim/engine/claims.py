"""Replacements that were asked for: what the job is told, and what the pools keep until all have started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from gemsim.engine.repair import Marks

HOT, WARM, COLD = 0, 1, 2
Near = Callable[[int], bool]


@dataclass(slots=True)
class Taken:
    """What a request for nodes comes to, if nothing else happens: read it again after every other call to the pools.

    `nodes` are those that start, in the order in which they were chosen; they are the job's from wall time `ready` on,
    when the last has started: infinite, and `nodes` too few, when none is left that could come.
    """

    count: int
    nodes: list[int]
    ready: float
    selected: bool = False  # hosts were chosen anew among all at hand
    failed_joins: int = 0  # spares that were tried and did not start


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A node that is started for the job."""

    unit: int
    kind: int  # of the pool that it came from
    finish: float  # wall time at which it has started, or is known not to
    fails: bool
    chosen: bool  # by a selection
    marks: Marks
    name: str  # of the mark that decides, and of those of its repair


@dataclass(slots=True)
class Claim:
    """A request until all its nodes have started."""

    taken: Taken
    marks: Marks
    begin: float  # wall time from which nodes can be started
    need: int  # nodes for which nothing is being tried
    near: Near | None = None  # of the kind that is next, those that are taken first
    attempts: int = 0
    trials: list[Trial] = field(default_factory=list)
    selected: bool = False
    failed: int = 0

    @property
    def ready(self) -> float:
        """When the last node has started, as far as is known; inf while one is still to be found."""
        if self.need > 0:
            return inf
        latest = self.begin
        for trial in self.trials:
            if trial.fails:
                return inf
            latest = max(latest, trial.finish)
        return latest

    def clone(self) -> Claim:
        """The same, to be played on without an effect."""
        trials = self.trials.copy()
        return Claim(
            self.taken, self.marks, self.begin, self.need, self.near, self.attempts, trials, self.selected, self.failed
        )

    def report(self, size: Callable[[int], int]) -> None:
        """Tell whoever asked how it stands."""
        taken = self.taken
        taken.nodes = [
            node
            for trial in self.trials
            if not trial.fails
            for node in range(trial.unit, trial.unit + size(trial.unit))
        ]
        taken.ready, taken.selected, taken.failed_joins = self.ready, self.selected, self.failed

    def latest(self, now: float, activation: float, again: float) -> tuple[int, float]:
        """The trial that starts last of those that start later than a node that comes now: (its number, when).

        Where a selection chose the trial, that node needs one too: `again` s more. Without any: (-1, -inf).
        """
        found, when = -1, -inf
        for number, trial in enumerate(self.trials):
            finish = inf if trial.fails else trial.finish
            start = max(now + again if trial.chosen else now, self.begin) + activation
            if finish > start and finish > when:
                found, when = number, finish
        return found, when
