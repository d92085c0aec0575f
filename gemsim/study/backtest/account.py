"""Where the time of a log went, by the categories and rules of the ledger (docs/model.md).

Work is productive when first done; the first step after a stop says from where on it has to be done again, and that
moves to wasted progress. What a log cannot tell apart is booked together, and `merged` says what.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

from gemsim.results.ledger import LEDGER
from gemsim.study.backtest.events import Event, RunLog

AFTER = {  # event -> what the time until the next is
    **dict.fromkeys(("step", "run", "save_end", "pause_end"), "productive"),
    "save_start": "overhead",
    "pause_start": "other",
    "failure": "detection",
    "planned": "planned",
    "restart": "restart",
    "restore_end": "restart",
    "restore_start": "recovery",
}
UP = ("productive", "overhead", "wasted")
STANDS = ("detection", "restart", "recovery")


@dataclass(slots=True)
class Stop:
    """One stop of the job: seconds of each part of it, and of work that had to be done again."""

    planned: bool
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys((*STANDS, "planned"), 0.0))
    lost: float = 0.0
    over: bool = False  # whether work goes on after it

    @property
    def stood(self) -> float:
        """Seconds from the failure until work goes on."""
        return math.fsum(self.seconds[name] for name in STANDS)


@dataclass(slots=True)
class Account:
    """The ledger of a log and what can be counted in it. Times in seconds."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LEDGER, 0.0))
    wall: float = 0.0
    stops: list[Stop] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)  # how long each stood in the way
    every: list[int] = field(default_factory=list)  # steps from save to save, or from a start to the first
    steps: list[tuple[int, float]] = field(default_factory=list)  # of each life: steps, and seconds of work in them
    beyond: float = 0.0  # work that a roll-back gave up from before the log began

    @property
    def failures(self) -> list[Stop]:
        """Stops that were not on purpose."""
        return [stop for stop in self.stops if not stop.planned]

    @property
    def up(self) -> float:
        """Seconds of work and saves, in which failures are counted: no pauses, and no stops."""
        return math.fsum(self.seconds[name] for name in UP)

    @property
    def aside(self) -> dict[str, float]:
        """Seconds by category of what no failure brings about and nothing predicts: pauses, and stops on purpose with
        the restart and the lost work of each."""
        found = dict.fromkeys(LEDGER, 0.0) | {"other": self.seconds["other"]}
        for stop in self.stops:
            if stop.planned:
                found = {name: spent + stop.seconds.get(name, 0.0) for name, spent in found.items()}
                found["wasted"] += stop.lost
        return found

    @property
    def judged(self) -> dict[str, float]:
        """Seconds by category without what stands `aside`."""
        aside = self.aside
        return {name: spent - aside[name] for name, spent in self.seconds.items()}

    @property
    def step(self) -> float:
        """Mean seconds of work in a step; nan without steps."""
        done = sum(steps for steps, _ in self.steps)
        return math.fsum(seconds for _, seconds in self.steps) / done if done else math.nan


@dataclass(slots=True)
class _Chunk:
    """Work between two rows: from a step until before another, or until a stop where `to` is not known."""

    begin: int
    end: int
    seconds: float


class _Reader:
    """Walks through the events of a log."""

    def __init__(self) -> None:
        self.found = Account()
        self.work: list[_Chunk] = []  # of the log so far, in order of steps
        self.open = 0.0  # work since the last step began
        self.step: int | None = None
        self.first: int | None = None  # step with which this life began
        self.worked = 0.0  # seconds of whole steps in this life
        self.saved: int | None = None  # step with which work went on after the last save of this life
        self.saving = False  # since the last step row
        self.origin: int | None = None  # the earliest step of the log

    def book(self, event: Event, seconds: float, *, until: str = "") -> None:
        """The time after an event, and the kind of event that ends it; a save that a failure cuts off tells no time."""
        category, found = AFTER[event.kind], self.found
        found.seconds[category] += seconds
        if category == "productive":
            self.open += seconds
        elif category == "overhead" and until in ("save_end", "step", "run"):
            found.saves.append(seconds)
        if found.stops and not found.stops[-1].over and category in found.stops[-1].seconds:
            found.stops[-1].seconds[category] += seconds

    def meet(self, event: Event) -> None:
        """What an event means for the work done so far."""
        if event.kind in ("failure", "planned", "restart"):
            self._stop(event)
        elif event.kind in ("step", "run"):
            self._go_on(event)
        elif event.kind == "save_start":
            self.saving = True

    def _stop(self, event: Event) -> None:
        """A new stop, unless the job stands already."""
        if self.found.stops and not self.found.stops[-1].over:
            return
        if event.kind == "restart" and self.step is None and not self.work:
            return  # the first start of the job is no failure
        self.found.stops.append(Stop(event.kind == "planned"))
        self._close_life()

    def _close_life(self) -> None:
        if self.first is not None and self.step is not None and self.step > self.first:
            self.found.steps.append((self.step - self.first, self.worked))
        self.worked, self.first = 0.0, None

    def _go_on(self, event: Event) -> None:
        stands = bool(self.found.stops) and not self.found.stops[-1].over
        if stands:
            self.found.stops[-1].over = True
        if event.step is None:
            return
        if stands:
            self._back_to(event.step)
        elif self.step is not None:
            self.work.append(_Chunk(self.step, event.step, self.open))
            self.worked += self.open
            self.open = 0.0
        self.step = event.step
        if self.origin is None:
            self.origin = event.step
        if self.first is None:
            self.first = self.saved = event.step
        elif self.saving and self.saved is not None:
            self.found.every.append(event.step - self.saved)
            self.saved = event.step
        self.saving = False

    def _back_to(self, step: int) -> None:
        """Work goes on with this step: what was done of it and beyond is wasted."""
        lost = 0.0
        if self.step is not None and self.open > 0.0:
            mean = self._mean()
            kept = min(self.open, max(0, step - self.step) * mean) if mean > 0.0 else 0.0
            lost += self.open - kept
            if kept > 0.0:
                self.work.append(_Chunk(self.step, step, kept))
        while self.work and self.work[-1].end > step:
            chunk = self.work.pop()
            share = min(1.0, (chunk.end - step) / (chunk.end - chunk.begin))
            lost += share * chunk.seconds
            if chunk.begin < step:
                self.work.append(_Chunk(chunk.begin, step, (1.0 - share) * chunk.seconds))
        self.open = 0.0
        if self.origin is not None and step < self.origin:
            self.found.beyond += (self.origin - step) * self._mean()
            self.origin = step
        self.found.seconds["productive"] -= lost
        self.found.seconds["wasted"] += lost
        self.found.stops[-1].lost += lost

    def _mean(self) -> float:
        done = sum(steps for steps, _ in self.found.steps)
        return math.fsum(seconds for _, seconds in self.found.steps) / done if done else 0.0


def account(log: RunLog) -> Account:
    """The ledger of a log, which closes to its wall time.

    A stop without a failure row lies between the last row before it and the restart: that time is booked as detection,
    the step that was cut off with it.
    """
    reader = _Reader()
    for before, event in pairwise(log.events):
        reader.meet(before)
        seconds = event.time - before.time
        if event.kind == "restart" and AFTER[before.kind] == "productive":
            reader.meet(event)
            reader.book(Event(before.time, "failure", None, before.line), seconds)
        else:
            reader.book(before, seconds, until=event.kind)
    found = reader.found
    if log.events[-1].kind in ("step", "run"):
        reader.meet(log.events[-1])
    reader._close_life()
    found.wall = log.seconds
    return found


def merged(log: RunLog) -> dict[str, tuple[str, ...]]:
    """What a log tells apart: a name for each group of the ledger's categories, all of which occur once."""
    work = ["productive", "degraded"]
    down, again = ["detection", "waiting"], ["restart"]
    groups: dict[str, tuple[str, ...]] = {}
    if not log.has("step"):
        work.append("wasted")
    if not log.has("save_start"):
        work.append("overhead")
    if not log.has("restore_start"):
        again.append("recovery")
    if not log.has("restart"):
        down, again = down + again, []
    for names in (work, ["overhead"], ["wasted"], down, again, ["recovery"], ["planned"], ["other"]):
        told = tuple(names)
        if told and not any(name in group for group in groups.values() for name in told):
            groups[" + ".join(told)] = told
    return groups
