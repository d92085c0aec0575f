"""Which versions of the state exist, where and since when - by arithmetic on the lives of the job.

A life runs from one restart to the next; in-place repairs only pause it. Saves happen at known steps of a life, so
their versions, capture times and completion times are computed when a failure asks for them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from math import inf

from gemsim.protection.timeline import Phase, Timeline, end_of_save, saves_by

SAME_MOMENT = 1e-6  # running seconds that rounding may part; far less than a step
NEVER_ASKED = (-1.0, Phase(0, 0.0))  # running seconds, and the phase then


def _newest_first(held: tuple[int, float]) -> tuple[int, float]:
    return -held[0], -held[1]


class Life:
    """One stretch of running from version `base`; `pieces` map running seconds to wall seconds across in-place
    pauses."""

    __slots__ = ("_phase", "_spent", "base", "cap", "ended", "pieces", "timeline")

    def __init__(self, base: int, timeline: Timeline, wall: float) -> None:
        self.base = base
        self.timeline = timeline
        self.pieces: list[tuple[float, float]] = [(0.0, wall)]  # (running, wall) at the start of each piece
        self.cap = inf  # newest version that later roll-backs left in the lineage
        self.ended: tuple[float, float] | None = None  # (running, wall) of its end
        self._phase = NEVER_ASKED  # that last asked for, as several ask for the same
        self._spent: tuple[float, tuple[float, ...]] | None = None

    def at(self, running: float) -> Phase:
        """Phase after `running` seconds."""
        asked, phase = self._phase
        if asked != running:
            phase = self.timeline.at(running)
            self._phase = running, phase
        return phase

    def spent(self, running: float) -> tuple[float, ...]:
        """Seconds spent in each stall during the first `running` seconds."""
        if self._spent is None or self._spent[0] != running:
            self._spent = (running, self.timeline.spent(self.at(running)))
        return self._spent[1]

    def resume(self, running: float, wall: float) -> None:
        """Go on after an in-place pause; a redo may have taken `running` back within the step."""
        while len(self.pieces) > 1 and self.pieces[-1][0] >= running:
            self.pieces.pop()
        self.pieces.append((running, wall))

    def wall_at(self, running: float) -> float:
        """Wall time at which the life had first run so long: before a pause that begins just then."""
        if len(self.pieces) == 1:
            start, wall = self.pieces[0]
            return wall + (running - start)
        number = bisect_right(self.pieces, (running - SAME_MOMENT, inf)) - 1
        start, wall = self.pieces[max(0, number)]
        return wall + (running - start)


class History:
    """All lives of the job so far and the versions they left in each tier that keeps any."""

    def __init__(self, *, stalls: dict[int, int], lags: dict[int, float], volatile: frozenset[int]) -> None:
        self.stalls = stalls  # tier number -> its stall in the timeline
        self.lags = lags
        self.volatile = volatile  # tiers whose versions live in GPU memory and start anew with each life
        self.lasting = [(tier, number) for tier, number in stalls.items() if tier not in volatile]
        self.lives: list[Life] = []
        self.noted: dict[int, list[tuple[int, float, float]]] = {}  # tier -> (version, captured, finished)
        self.savers: dict[int, list[Life]] = {tier: [] for tier in stalls}  # ended lives that made a version

    def begin(self, life: Life) -> None:
        """A new life; whatever is newer than its base has left the lineage."""
        lives, base = self.lives, life.base
        if lives:
            self._keep(lives[-1])
        for tier, _ in self.lasting:
            savers = self.savers[tier]
            while savers and savers[-1].base > base:
                savers.pop()
        while lives and lives[-1].base > base:
            lives.pop()
        if lives and lives[-1].cap > base:
            lives[-1].cap = base
        if self.noted:
            kept = ((tier, [one for one in noted if one[0] <= life.base]) for tier, noted in self.noted.items())
            self.noted = dict(kept)
        lives.append(life)

    def note(self, tier: int, version: int, captured: float, finished: float) -> None:
        """A save out of turn, as before a stop that was announced."""
        self.noted.setdefault(tier, []).append((version, captured, finished))

    def cut_off(self, wall: float) -> None:
        """A save out of turn that has not ended by now never does."""
        for tier, noted in self.noted.items():
            self.noted[tier] = [one for one in noted if one[2] <= wall]

    def _keep(self, ended: Life) -> None:
        """Note which tiers an ended life has versions for, so that a search never walks lives without any."""
        phase = ended.at(ended.ended[0] if ended.ended else 0.0)
        for tier, number in self.lasting:
            if phase.steps > ended.timeline.stalls[number].first or saves_by(ended.timeline, number, phase):
                self.savers[tier].append(ended)

    def newest(self, tier: int, *, running: float, wall: float) -> tuple[int, float] | None:
        """The first of `versions`; nearly always it is the last save of the present life."""
        life = self.lives[-1]
        if tier not in self.noted and life.ended is None:
            number = self.stalls[tier]
            timeline = life.timeline
            stall = timeline.stalls[number]
            index = saves_by(timeline, number, life.at(running)) - 1
            done = stall.first + index * stall.every
            if index >= 0 and life.base + done <= life.cap:
                captured = timeline.done(done)
                end = end_of_save(timeline, number, index, captured) if timeline.halts else captured
                finished = life.wall_at(end) + self.lags[tier]
                if finished <= wall:
                    return life.base + done, life.wall_at(captured)
        return next(self.versions(tier, running=running, wall=wall), None)

    def versions(self, tier: int, *, running: float, wall: float) -> Iterator[tuple[int, float]]:
        """(version, wall time of its capture) of the finished saves of one tier, newest first.

        The state that the job began with (version 0) counts as saved at time 0; a volatile tier holds the base of the
        present life.
        """
        if tier not in self.noted:
            return self._in_turn(tier, running=running, wall=wall)
        out_of_turn = [(version, captured) for version, captured, end in reversed(self.noted[tier]) if end <= wall]
        both = merge(self._in_turn(tier, running=running, wall=wall), out_of_turn, key=_newest_first)
        return (pair for pair, _ in groupby(both))

    def _in_turn(self, tier: int, *, running: float, wall: float) -> Iterator[tuple[int, float]]:
        present = self.lives[-1]
        yield from self._of_life(present, tier, *(present.ended or (running, wall)))
        if tier in self.volatile:
            yield present.base, present.pieces[0][1]
            return
        for life in reversed(self.savers[tier]):
            yield from self._of_life(life, tier, *(life.ended or (running, wall)))
        yield 0, 0.0

    def _of_life(self, life: Life, tier: int, running: float, wall: float) -> Iterator[tuple[int, float]]:
        number = self.stalls[tier]
        stall = life.timeline.stalls[number]
        for index in range(saves_by(life.timeline, number, life.at(running)) - 1, -1, -1):
            version = life.base + stall.first + index * stall.every
            if version > life.cap:
                continue
            finished = life.wall_at(end_of_save(life.timeline, number, index)) + self.lags[tier]
            if finished <= wall:
                yield version, life.wall_at(life.timeline.done(stall.first + index * stall.every))
