"""What happened in a run, as events in order of time: the one form that all logs are brought to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from gemsim.errors import ValueRefused

KINDS = {  # what each says
    "step": "this step begins",
    "run": "work goes on, in a log without step numbers",
    "save_start": "the job stands still for a save",
    "save_end": "and works again",
    "pause_start": "the job stands still for something else (an evaluation)",
    "pause_end": "and works again",
    "failure": "the job has stopped",
    "planned": "the job is stopped on purpose",
    "restart": "processes are started",
    "restore_start": "the state is read back",
    "restore_end": "it is there",
    "end": "the end of the log",
}


class Event(NamedTuple):
    """One event: seconds, one of KINDS, the step where it has one, and its line in the file."""

    time: float
    kind: str
    step: int | None
    line: int


@dataclass(frozen=True, slots=True)
class RunLog:
    """A run from its first to its last event. `notes`: what was left out or understood in one of several ways."""

    path: Path
    events: tuple[Event, ...]
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Wall time from the first to the last event."""
        return self.events[-1].time - self.events[0].time

    def has(self, *kinds: str) -> bool:
        """Whether it tells of any of these."""
        return any(event.kind in kinds for event in self.events)

    def part(self, first: int, last: int) -> RunLog:
        """The events from `first` to `last`, that one included."""
        return replace(self, events=self.events[first : last + 1])


def refuse(path: Path, line: int, what: str, allowed: str = "", todo: str = "") -> ValueRefused:
    """The error of one line of a log."""
    return ValueRefused(f"{path}:{line}: {what}", allowed, todo)
