"""What the renewal form takes, and what it came to: classes of interruptions by how they end, and what is first order
beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gemsim.analytic.capacity import Missing
from gemsim.analytic.renewal import Interruptions
from gemsim.analytic.saves import Stalls
from gemsim.protection.arrays import at_most, either
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario

NEGLIGIBLE = 1e-5  # share of time, a hundredth of what a run of this size can tell


class Stop(NamedTuple):
    """Interruptions of one kind: `rate` per second, `seconds` standing still; `wall`: they come meanwhile too."""

    rate: float
    seconds: float
    wall: bool = True


@dataclass(frozen=True, slots=True)
class Told:
    """What one branch put into the groups: how it ends there (restarting, keeping, in_place), its rate per second, the
    seconds standing still, of these `detect` until it is known, and per running second what it loses beside (`extra`)
    or had lost already (`silent`)."""

    branch: Branch
    ending: str
    rate: float
    down: float
    extra: float = 0.0
    silent: float = 0.0
    detect: float = 0.0


@dataclass(slots=True)
class Groups:
    """Classes by how they end, and first-order losses beside them."""

    restarting: list[Stop] = field(default_factory=list)
    keeping: list[Stop] = field(default_factory=list)
    in_place: list[Stop] = field(default_factory=list)
    extra: float = 0.0  # further useful seconds lost per running second, to first order
    beside: float = 0.0  # of these, what restarts from a version between lose
    silent: float = 0.0  # share of the work done that was corrupt when it was done
    doubt: float = 0.0  # error of what is not exact, share of time
    written: float = 0.0  # seconds of writes to the main tier per second that end before a corruption is found
    planned: float = 0.0  # seconds of planned stops per running second
    dead: float = 0.0  # of these, seconds in which a failure costs nothing, per second of any kind
    saver: int = 0  # the tier that the job comes back from after them
    saved: float = 0.0  # of these stops per second, those that save to the main tier
    falls: float = 0.0  # failures per second that end deeper than they would alone, as another meets them
    start: float = 0.0  # failures per second that start the job again
    unsure_start: float = 0.0  # error of that
    told: list[Told] = field(default_factory=list)  # by branch, for who asks which failures it was

    def take(self, told: Told) -> None:
        """Add what a branch puts into the groups."""
        group: list[Stop] = getattr(self, told.ending)
        group.append(Stop(told.rate, told.down, told.branch.kind.exposure == "wall"))
        self.extra = self.extra + told.extra
        self.silent = self.silent + told.silent
        self.told.append(told)

    @property
    def rate(self) -> float:
        """All interruptions per second."""
        return sum(stop.rate for group in (self.restarting, self.keeping, self.in_place) for stop in group)

    @property
    def standing(self) -> float:
        """Seconds standing still per second of running, to first order."""
        groups = (self.restarting, self.keeping, self.in_place)
        return sum(stop.rate * stop.seconds for group in groups for stop in group)

    def fall(self, rate: float) -> None:
        """Make roll-backs of so many restarts per second that would keep the state."""
        kept = sum(stop.rate for stop in self.keeping)
        share = either(kept > 0.0, lambda: at_most(1.0, rate / kept), lambda: 0.0)
        self.restarting += [stop._replace(rate=stop.rate * share) for stop in self.keeping]
        self.keeping = [stop._replace(rate=stop.rate * (1.0 - share)) for stop in self.keeping]
        keeping = [told for told in self.told if told.ending == "keeping"]
        others = [told for told in self.told if told.ending != "keeping"]
        fallen = [replace(told, ending="restarting", rate=told.rate * share, extra=0.0, silent=0.0) for told in keeping]
        self.told = [*others, *(replace(told, rate=told.rate * (1.0 - share)) for told in keeping), *fallen]

    def join(self) -> None:
        """Make one class of those that stand still equally long."""
        self.restarting, self.keeping, self.in_place = map(joined, (self.restarting, self.keeping, self.in_place))

    def kinds(self, *, wall: bool | None = None) -> dict[str, list[tuple[float, float]]]:
        """The classes by name, as the renewal form takes them: all, or those that do or do not fail on the wall
        clock."""
        named = {"restarting": self.restarting, "in_place": self.in_place, "keeping": self.keeping}
        return {
            name: [(stop.rate, stop.seconds) for stop in joined(group) if wall in (None, stop.wall)]
            for name, group in named.items()
        }


def joined(stops: Sequence[Stop]) -> list[Stop]:
    """Stops that stand still equally long as one."""
    rates: dict[tuple[float, bool], float] = {}
    for stop in stops:
        rates[stop.seconds, stop.wall] = rates.get((stop.seconds, stop.wall), 0.0) + stop.rate
    return [Stop(rate, seconds, wall) for (seconds, wall), rate in rates.items()]


@dataclass(frozen=True, slots=True)
class Interrupted:
    """How a job is interrupted: the groups, what they come to, what is missing meanwhile, and the checkpoint tier that
    the renewal form rolls back to."""

    groups: Groups
    standing: Interruptions
    lost: Missing
    main: Checkpoint | None


@dataclass(frozen=True, slots=True)
class Solved:
    """What the renewal form was given and what it came to; `scenario` has the mean time to start a spare. Steps between
    saves, and all that follows from them, may be arrays.

    `renewal` is `general_ettr` of `tau`, `delta` and `lag` (s); then come first-order losses (`groups`), capacity that
    is out (`lost`), and the share `out` of the time in which a node is lacking. `degraded`: share of time.
    """

    scenario: Scenario
    found: tuple[Branch, ...]
    main: Checkpoint | None
    groups: Groups
    lost: Missing
    out: float
    standing: Interruptions
    pace: float
    tau: float
    delta: float
    lag: float
    renewal: float
    degraded: float
    ettr: float
    error: float
    inexact: float
    stalled: Stalls
    unread: float = 0.0  # failures per second that nobody ever notices
    factor: float = 1.0  # of writes that are cut off, or end before a corruption is found
    starts: float = 0.0  # of the job from nothing, per run
    kept: float = 1.0  # share of the work that is left by these

    @property
    def kind(self) -> str:
        """exact or first_order."""
        return either(self.inexact < NEGLIGIBLE, lambda: "exact", lambda: "first_order")
