"""How far the running job is: its seconds, what they are booked as, and where its state stands.

Running is arithmetic: from one stop to the next is one call of `advance`, however many steps and saves lie between.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from gemsim.engine.capacity import Capacity
from gemsim.engine.hidden import Hidden
from gemsim.engine.history import History, Life
from gemsim.engine.tally import SLOW, Tally
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.timeline import Timeline
from gemsim.results.ledger import Ledger
from gemsim.scenario import Scenario

NEVER = (0, inf)  # no steps wanted, and when they are done


class Progress:
    """The lives of the job, and the running seconds of the present one and of all."""

    def __init__(self, scenario: Scenario, history: History, ledger: Ledger, tally: Tally, capacity: Capacity) -> None:
        self.scenario, self.history, self.ledger, self.tally = scenario, history, ledger, tally
        self.capacity = capacity
        self.hidden = Hidden()
        self.running = 0.0  # running seconds of the present life
        self.exposure = 0.0  # running seconds of the whole run, repeats included
        self.share, self._names = scenario.useful_share, [tier.name for tier in scenario.tiers]
        self._slower = [(t.name, t.overhead().slower) for t in scenario.tiers if t.overhead().slower]
        self._anchored = {t.number for t in scenario.tiers if isinstance(t, Checkpoint) and t.wall_anchor}
        self._last = NEVER  # steps wanted, running seconds of this life at which they are done

    @property
    def life(self) -> Life:
        """The present life."""
        return self.history.lives[-1]

    @property
    def place(self) -> float:
        """Where the state stands in its lineage, in steps."""
        life = self.life
        phase = life.at(self.running)
        return life.base + phase.steps + phase.within / life.timeline.step

    def begin(self, version: int, now: float) -> None:
        """A new life from this version."""
        self.running, self._last = 0.0, NEVER
        timeline = self.timeline_at(now)
        self.history.begin(Life(version, timeline, now))

    def left(self, wanted: int) -> float:
        """Running seconds until the last of the wanted steps is done; 0 steps: no end."""
        steps, done = self._last
        if steps != wanted:
            life = self.history.lives[-1]
            done = life.timeline.done(wanted - life.base)
            self._last = wanted, done
        left = done - self.running
        return left if left > 0.0 else 0.0

    def advance(self, seconds: float, now: float) -> None:
        """Book the running seconds up to `now`, piece by piece where groups are out."""
        if not self.capacity.out and not self.hidden.slow:
            self._book(seconds, 0.0)
            return
        for piece, lost, causes in self._pieces(seconds, now):
            begin = self.place
            missing = self._book(piece, lost)
            if missing:
                self.capacity.note(begin, begin + missing / lost / self.scenario.useful_step, lost)
                less = self.capacity.tier if self.capacity.out else None
                self.tally.charge(causes, missing, by=SLOW if less is None else less.name, touched=less is not None)
        self.capacity.settle(now)

    def _pieces(self, seconds: float, now: float) -> list[tuple[float, float, list[str]]]:
        """Stretches of equal capacity; all ranks go at the pace of the slowest node."""
        pieces = self.capacity.pieces(now - seconds, now) if self.capacity.out else [(seconds, 0.0, [])]
        if not self.hidden.slow:
            return pieces
        slower, index = self.hidden.slowest()
        cause = self.scenario.classes[index].name
        return [(piece, lost + (1.0 - lost) * slower, [*causes, cause]) for piece, lost, causes in pieces]

    def _book(self, seconds: float, lost: float) -> float:
        """Book running seconds: work, encodes, saves. The share `lost` of the work is missing; returns its seconds."""
        life = self.history.lives[-1]
        working = seconds
        if life.timeline.halts:
            before, after = life.spent(self.running), life.spent(self.running + seconds)
            for stall, spent_before, spent_after in zip(life.timeline.stalls, before, after, strict=True):
                spent = spent_after - spent_before
                if spent:
                    self.ledger.book_overhead(self._names[stall.tier], spent)
                    working -= spent
        worked = working * self.share
        missing = worked * lost
        self.ledger.seconds["productive"] += worked - missing
        if missing:
            self.ledger.book("degraded", missing)
        for name, slower in self._slower:
            self.ledger.book_overhead(name, working * slower / life.timeline.step)
        self.running += seconds
        self.exposure += seconds
        return missing

    def timeline_at(self, now: float) -> Timeline:
        """The scenario's timeline, with the checkpoints that are anchored to the wall clock where that clock stands."""
        timeline = self.scenario.timeline
        if not self._anchored:
            return timeline
        stalls = []
        for stall in timeline.stalls:
            period = stall.every * timeline.step + stall.seconds
            steps = round((period - now % period) / timeline.step)
            first = max(1, min(stall.every, steps))
            stalls.append(replace(stall, first=first) if stall.tier in self._anchored else stall)
        return Timeline(timeline.step, tuple(stalls))
