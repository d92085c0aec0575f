"""Where a running job stands after y seconds of running: step, phase, stalls - by arithmetic, never by events.

Steps of equal length run back to back; at some step boundaries the job stalls (an encode, a snapshot, the blocked
part of a checkpoint). Everything a failure needs to know follows from y.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Stall:
    """A stop of `seconds` after every `every`-th step, first after step `first` of a life; `tier` pays for it."""

    tier: int
    every: int
    seconds: float
    first: int


class Phase(NamedTuple):  # a tuple, since one is made for each failure
    """`steps` completed, then `within` seconds of the next one, or `elapsed` seconds of stall number `stall`."""

    steps: int
    within: float
    stall: int = -1
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """Steps of `step` seconds (slow-down by overlapped encodes included) with stalls in order at each boundary."""

    step: float
    stalls: tuple[Stall, ...]
    halts: tuple[Stall, ...] = field(init=False, repr=False, compare=False)  # those stalls that take time
    pace: float = field(init=False, repr=False, compare=False)  # mean seconds of a step with its stalls

    def __post_init__(self) -> None:
        pace = self.step
        for stall in self.stalls:
            pace += stall.seconds / stall.every
        object.__setattr__(self, "halts", tuple(stall for stall in self.stalls if stall.seconds))
        object.__setattr__(self, "pace", pace)

    def start(self, steps: int) -> float:
        """Running seconds at which step `steps` + 1 begins: all stalls up to that boundary done."""
        total = steps * self.step
        for stall in self.halts:
            if steps >= stall.first:
                total += stall.seconds * ((steps - stall.first) // stall.every + 1)
        return total

    def done(self, steps: int) -> float:
        """Running seconds at which step `steps` completes, before the stalls of its boundary."""
        return self.start(steps - 1) + self.step if steps > 0 else 0.0

    def at(self, running: float) -> Phase:
        """Phase after `running` seconds."""
        steps, begun = self._step_at(running)
        within = running - begun
        if within < self.step:
            return Phase(steps, max(0.0, within))
        boundary, left = steps + 1, within - self.step
        last = -1
        for number, stall in enumerate(self.stalls):
            if not stalls_at(stall, boundary):
                continue
            last = number
            if left < stall.seconds:
                return Phase(boundary, 0.0, number, left)
            left -= stall.seconds
        return Phase(boundary, 0.0, last, self.stalls[last].seconds) if last >= 0 else Phase(boundary, 0.0)

    def _step_at(self, running: float) -> tuple[int, float]:
        """Largest n with start(n) <= running, from the mean pace and a few corrections; and that start."""
        pace = self.pace
        steps = int(running / pace) if running > 0.0 else 0
        begun = self.start(steps)
        while begun > running and steps > 0:
            steps = max(0, steps - max(1, floor((begun - running) / pace)))
            begun = self.start(steps)
        while (after := self.start(steps + 1)) <= running:
            steps += max(1, floor((running - after) / pace))
            begun = self.start(steps)
            while begun > running:
                steps -= 1
                begun = self.start(steps)
        return steps, begun

    def ahead(self, phase: Phase) -> frozenset[int]:
        """Tiers whose stall at this boundary has not begun, while the job stands in an earlier one."""
        if phase.stall < 0:
            return frozenset()
        return frozenset(s.tier for s in self.stalls[phase.stall + 1 :] if stalls_at(s, phase.steps))

    def stalled(self, running: float) -> tuple[int, tuple[float, ...]]:
        """Completed steps and the seconds spent in each stall during the first `running` seconds."""
        phase = self.at(running)
        return phase.steps, self.spent(phase)

    def spent(self, phase: Phase) -> tuple[float, ...]:
        """Seconds spent in each stall up to a phase."""
        spent = []
        for number, stall in enumerate(self.stalls):
            count = (phase.steps - stall.first) // stall.every + 1 if phase.steps >= stall.first else 0
            seconds = stall.seconds * count
            if phase.stall >= 0 and stalls_at(stall, phase.steps):
                if number == phase.stall:
                    seconds -= stall.seconds - phase.elapsed
                elif number > phase.stall:
                    seconds -= stall.seconds
            spent.append(seconds)
        return tuple(spent)


def stalls_at(stall: Stall, boundary: int) -> bool:
    """Whether the stall happens at this step boundary."""
    return boundary >= stall.first and (boundary - stall.first) % stall.every == 0


def saves_done(timeline: Timeline, number: int, running: float) -> int:
    """How often stall `number` has been completed within the first `running` seconds."""
    return saves_by(timeline, number, timeline.at(running))


def saves_by(timeline: Timeline, number: int, phase: Phase) -> int:
    """How often stall `number` has been completed up to a phase."""
    stall = timeline.stalls[number]
    count = (phase.steps - stall.first) // stall.every + 1 if phase.steps >= stall.first else 0
    unfinished = phase.stall >= 0 and stalls_at(stall, phase.steps) and _not_over(phase, number, stall)
    return count - 1 if unfinished else count


def _not_over(phase: Phase, number: int, stall: Stall) -> bool:
    return phase.stall < number or (phase.stall == number and phase.elapsed < stall.seconds)


def end_of_save(timeline: Timeline, number: int, index: int, begin: float | None = None) -> float:
    """Running seconds at which stall `number` ends for the `index`-th time (from 0). `begin`: when the step before is
    done, where that is known."""
    stall = timeline.stalls[number]
    boundary = stall.first + index * stall.every
    end = timeline.done(boundary) if begin is None else begin
    for other in timeline.stalls[:number]:
        if stalls_at(other, boundary):
            end += other.seconds
    return end + stall.seconds
