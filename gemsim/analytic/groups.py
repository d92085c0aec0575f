"""What the renewal form takes, and what it came to: classes of interruptions by how they end, and what is first order
beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gemsim.analytic.capacity import Missing
from gemsim.analytic.renewal import Interruptions
from gemsim.protection.arrays import either
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.reach import Branch
from gemsim.scenario import Scenario

NEGLIGIBLE = 1e-5  # share of time, a hundredth of what a run of this size can tell


@dataclass(frozen=True, slots=True)
class Told:
    """What one branch put into the groups: how it ends there (restarting, keeping, in_place), its rate per second, the
    seconds standing still, and per running second what it loses beside (`extra`) or had lost already (`silent`)."""

    branch: Branch
    ending: str
    rate: float
    down: float
    extra: float = 0.0
    silent: float = 0.0


@dataclass(slots=True)
class Groups:
    """Classes by how they end, as (rate per second, seconds standing still), and first-order losses beside them."""

    restarting: list[tuple[float, float]] = field(default_factory=list)
    keeping: list[tuple[float, float]] = field(default_factory=list)
    in_place: list[tuple[float, float]] = field(default_factory=list)
    extra: float = 0.0  # further useful seconds lost per running second, to first order
    silent: float = 0.0  # share of the work done that was corrupt when it was done
    doubt: float = 0.0  # error of what is not exact, share of time
    told: list[Told] = field(default_factory=list)  # by branch, for who asks which failures it was

    def take(self, told: Told) -> None:
        """Add what a branch puts into the groups."""
        group: list[tuple[float, float]] = getattr(self, told.ending)
        group.append((told.rate, told.down))
        self.extra += told.extra
        self.silent += told.silent
        self.told.append(told)

    @property
    def rate(self) -> float:
        """All interruptions per second."""
        return sum(rate for group in (self.restarting, self.keeping, self.in_place) for rate, _ in group)

    @property
    def standing(self) -> float:
        """Seconds standing still per second of running, to first order."""
        return sum(rate * down for group in (self.restarting, self.keeping, self.in_place) for rate, down in group)

    def kinds(self) -> dict[str, list[tuple[float, float]]]:
        """The classes by name, as the renewal form takes them."""
        return {
            "restarting": joined(self.restarting),
            "in_place": joined(self.in_place),
            "keeping": joined(self.keeping),
        }


def joined(classes: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Classes that stand still equally long as one class."""
    rates: dict[float, float] = {}
    for rate, seconds in classes:
        rates[seconds] = rates.get(seconds, 0.0) + rate
    return [(rate, seconds) for seconds, rate in rates.items()]


@dataclass(frozen=True, slots=True)
class Interrupted:
    """How a job is interrupted: the groups, what they come to, and what is missing meanwhile."""

    groups: Groups
    standing: Interruptions
    lost: Missing


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

    @property
    def kind(self) -> str:
        """exact or first_order."""
        return either(self.inexact < NEGLIGIBLE, lambda: "exact", lambda: "first_order")
