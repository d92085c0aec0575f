"""The job of the general form, played failure by failure: a second, obvious implementation to judge `renewal` against.

It shares no formula with it: clocks are drawn, interruptions grow and start again, and work is counted when it is
durable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

IN_PLACE, KEEP, ROLL_BACK = 0, 1, 2


@dataclass(frozen=True)
class Job:
    """One scenario: classes are (rate, seconds), times in seconds."""

    tau: float
    delta: float
    restarting: Sequence[tuple[float, float]]
    in_place: Sequence[tuple[float, float]] = ()
    keeping: Sequence[tuple[float, float]] = ()
    step: float = 0.0
    write_lag: float = 0.0

    @property
    def classes(self) -> list[tuple[int, float, float]]:
        """(kind, rate, seconds) of every class."""
        kinds = ((IN_PLACE, self.in_place), (KEEP, self.keeping), (ROLL_BACK, self.restarting))
        return [(kind, rate, seconds) for kind, group in kinds for rate, seconds in group]


def lives(job: Job, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(work kept, wall seconds) of `count` lives; a life ends when the job runs again after a roll-back."""
    failures = _failures(job, rng)
    played = [_life(job, failures) for _ in range(count)]
    return np.array([kept for kept, _ in played]), np.array([wall for _, wall in played])


def _failures(job: Job, rng: np.random.Generator) -> Iterator[tuple[float, int, float]]:
    """(seconds to the next failure, its kind, its down time) without end."""
    classes = job.classes
    rates = np.array([rate for _, rate, _ in classes])
    while True:
        gaps = rng.exponential(1.0 / rates.sum(), size=4096).tolist()
        picks = rng.choice(len(classes), size=4096, p=rates / rates.sum()).tolist()
        for gap, pick in zip(gaps, picks, strict=True):
            kind, _, seconds = classes[pick]
            yield gap, kind, seconds


def _life(job: Job, failures: Iterator[tuple[float, int, float]]) -> tuple[float, float]:
    wall = clock = pending = 0.0  # clock: running seconds since the checkpoint clock started
    saves: list[tuple[float, float]] = []  # (wall time when the blocked part ended, work in it)
    while True:
        gap, kind, seconds = next(failures)
        while clock + gap >= job.tau + job.delta:
            left = job.tau + job.delta - clock
            wall, gap, clock = wall + left, gap - left, 0.0
            saves.append((wall, pending + job.tau))
            pending = 0.0
        wall, clock = wall + gap, clock + gap
        kind, hit, wall = _interruption(kind, seconds, wall, failures)
        if kind == ROLL_BACK:
            return sum(work for saved, work in saves if saved + job.write_lag <= hit), wall
        if kind == KEEP:
            done = min(clock, job.tau)
            pending += math.floor(done / job.step) * job.step if job.step else done
            clock = 0.0


def _interruption(
    kind: int, seconds: float, wall: float, failures: Iterator[tuple[float, int, float]]
) -> tuple[int, float, float]:
    """(final kind, wall time of the first roll-back failure in it, wall time when the job runs again)."""
    hit = wall if kind == ROLL_BACK else math.inf
    while True:
        gap, other, longer = next(failures)
        if gap >= seconds:
            return kind, hit, wall + seconds
        wall += gap
        if other == ROLL_BACK:
            hit = min(hit, wall)
        kind, seconds = max(kind, other), max(seconds, longer)
