"""The seconds of a recovery, step by step in ledger columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from gemsim.results.ledger import Ledger

Down = list[tuple[str, float]]  # (ledger column, seconds) in order


@dataclass(frozen=True, slots=True)
class Course:
    """Seconds of one recovery: detect, then activate a spare (beside a reset or reboot), restart, and restore."""

    detection: float = 0.0
    planned: float = 0.0
    activation: float = 0.0
    device: float = 0.0
    restart: float = 0.0
    recovery: float = 0.0

    def steps(self, held_up: float) -> Down:
        """The seconds by ledger column, when all replacements are at hand `held_up` s from now.

        A spare still in repair holds up any recovery, but only until it is back, however often this starts again.
        """
        waiting = max(self.activation + max(0.0, held_up - self.detection - self.planned), self.device)
        return [
            ("detection", self.detection),
            ("planned", self.planned),
            ("waiting", waiting),
            ("restart", self.restart),
            ("recovery", self.recovery),
        ]


def longer(one: Course, other: Course, held_up: float) -> Course:
    """The longer of two recoveries, made of the steps of the one with more to do.

    Where the other is longer for its detection alone, the job stands that much longer before the first step.
    """
    total = max(length(course.steps(held_up)) for course in (one, other))
    graver = max(one, other, key=lambda course: length(course.steps(held_up)[1:]))
    if total == inf:  # nobody is left who could come
        return graver
    return replace(graver, detection=graver.detection + total - length(graver.steps(held_up)))


def length(down: Down) -> float:
    """Seconds of a recovery."""
    return sum(seconds for _, seconds in down)


def book_down(ledger: Ledger, down: Down, spent: float) -> Down:
    """Book the first `spent` seconds of a recovery; returns what is left of it."""
    left: Down = []
    for column, seconds in down:
        used = min(seconds, spent)
        ledger.book(column, used)
        spent -= used
        left.append((column, seconds - used))
    return left
