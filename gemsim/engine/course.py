"""The seconds of a recovery, step by step in ledger columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from gemsim.results.ledger import Ledger

Down = list[tuple[str, float]]  # (ledger column, seconds) in order


@dataclass(slots=True)  # not frozen, which would double the time that it takes to make one
class Course:
    """Seconds of one recovery: detect, then activate a spare (beside a reset or reboot), restart, and restore."""

    detection: float = 0.0
    planned: float = 0.0
    activation: float = 0.0
    device: float = 0.0
    restart: float = 0.0
    recovery: float = 0.0

    def waiting(self, held_up: float) -> float:
        """Seconds of waiting, when all replacements are at hand `held_up` s from now.

        A spare still in repair holds up any recovery, but only until it is back, however often this starts again.
        """
        return max(self.activation + max(0.0, held_up - self.detection - self.planned), self.device)

    def steps(self, held_up: float) -> Down:
        """The seconds by ledger column, when all replacements are at hand `held_up` s from now."""
        return [
            ("detection", self.detection),
            ("planned", self.planned),
            ("waiting", self.waiting(held_up)),
            ("restart", self.restart),
            ("recovery", self.recovery),
        ]

    def length(self, held_up: float) -> float:
        """Seconds of all steps."""
        return self.detection + self.planned + self.waiting(held_up) + self.restart + self.recovery

    @property
    def work(self) -> float:
        """Seconds that pass after the detection, however long ago that was: all but the wait for nodes."""
        return self.planned + max(self.activation, self.device) + self.restart + self.recovery


def longer(one: Course, other: Course, held_up: float) -> Course:
    """The longer of two recoveries, made of the steps of the one with more to do.

    Where the other is longer for its detection alone, the job stands that much longer before the first step.
    """
    graver, milder = (other, one) if other.work > one.work else (one, other)
    whole, total = graver.length(held_up), milder.length(held_up)
    if whole >= total or total == inf:  # infinite: nobody is left who could come
        return graver
    return replace(graver, detection=total - graver.work)


def length(down: Down) -> float:
    """Seconds of a recovery."""
    total = 0.0
    for _, seconds in down:
        total += seconds
    return total


def book_all(ledger: Ledger, down: Down) -> None:
    """Book a recovery to its end."""
    booked = ledger.seconds
    for column, seconds in down:
        booked[column] += seconds


def book_down(ledger: Ledger, down: Down, spent: float) -> Down:
    """Book the first `spent` seconds of a recovery; returns what is left of it."""
    left: Down = []
    for column, seconds in down:
        used = min(seconds, spent)
        ledger.book(column, used)
        spent -= used
        left.append((column, seconds - used))
    return left
