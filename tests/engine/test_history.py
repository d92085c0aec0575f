"""The versions that exist, by arithmetic, against a list of saves that grows and shrinks as the job runs on."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.engine.history import History, Life
from gemsim.protection.timeline import Stall, Timeline

STEP = 8.0
SNAPSHOT, NEAR, FAR = 0, 1, 2
TIMELINE = Timeline(STEP, (Stall(SNAPSHOT, 2, 0.5, 2), Stall(NEAR, 3, 1.0, 3), Stall(FAR, 5, 0.0, 5)))
LAGS = {SNAPSHOT: 3.0, NEAR: 0.0, FAR: 21.0}


@dataclass
class Slow:
    """The job taken step by step; `saves` = (tier, version, captured, usable) in the order they were made."""

    wall: float = 0.0
    version: int = 0
    pieces: list[tuple[str, float]] = field(default_factory=list)  # what is still to come in this step and boundary
    saves: list[tuple[int, int, float, float]] = field(default_factory=list)
    base: tuple[int, float] = (0, 0.0)
    since: int = 0  # steps of this life

    def __post_init__(self) -> None:
        self.pieces = [("step", STEP)]

    def ride(self, seconds: float) -> None:
        """Run on for so long."""
        while seconds > 0.0:
            name, left = self.pieces[0]
            used = min(left, seconds)
            self.wall += used
            seconds -= used
            self.pieces[0] = (name, left - used)
            if used == left:
                self.pieces.pop(0)
                self.finish(name)

    def finish(self, name: str) -> None:
        """A step or a stall is over."""
        if name == "step":
            self.version += 1
            self.since += 1
            due = [s for s in TIMELINE.stalls if self.since % s.every == 0]
            self.pieces = [(f"{s.tier}|{self.wall!r}", s.seconds) for s in due] + [("step", STEP)]
        else:
            tier, captured = name.split("|")
            self.saves.append((int(tier), self.version, float(captured), self.wall + LAGS[int(tier)]))
        while self.pieces[0][1] == 0.0:
            self.finish(self.pieces.pop(0)[0])

    def within(self) -> float:
        """Seconds into the step in progress, 0 in a stall."""
        name, left = self.pieces[0]
        return STEP - left if name == "step" else 0.0

    def redo(self, seconds: float) -> None:
        """Go back within the step."""
        if seconds:
            self.pieces[0] = ("step", self.pieces[0][1] + seconds)

    def restart(self, version: int, killed: float, down: float) -> None:
        """A new life from that version: newer ones and writes unfinished when processes died are gone."""
        self.saves = [s for s in self.saves if s[1] <= version and s[3] <= killed and s[0] != SNAPSHOT]
        self.wall += down
        self.version, self.since, self.pieces = version, 0, [("step", STEP)]
        self.base = (version, self.wall)

    def usable(self, tier: int) -> list[tuple[int, float]]:
        """(version, captured), newest first, with what the life or the job began with."""
        made = [(version, captured) for t, version, captured, usable in self.saves if t == tier and usable <= self.wall]
        return [*reversed(made), self.base if tier == SNAPSHOT else (0, 0.0)]


ticks = st.integers(1, 400).map(lambda n: n / 8)
acts = st.tuples(st.sampled_from(["pause", "redo", "keep", "near", "far", "start"]), ticks, ticks)


@given(st.lists(acts, max_size=12), ticks)
def test_versions_are_those_of_a_list_kept_by_hand(script: list[tuple[str, float, float]], last: float) -> None:
    history = History(stalls={SNAPSHOT: 0, NEAR: 1, FAR: 2}, lags=LAGS, volatile=frozenset({SNAPSHOT}))
    history.begin(Life(0, TIMELINE, 0.0))
    slow, running = Slow(), 0.0
    for act, ridden, down in [*script, ("pause", last, 1.0)]:
        slow.ride(ridden)
        running += ridden
        for tier in (SNAPSHOT, NEAR, FAR):
            found = list(history.versions(tier, running=running, wall=slow.wall))
            assert [v for v, _ in found] == [v for v, _ in slow.usable(tier)]
            assert [c for _, c in found] == pytest.approx([c for _, c in slow.usable(tier)])
        if act in ("pause", "redo"):
            back = slow.within() if act == "redo" else 0.0
            slow.wall += down
            slow.redo(back)
            running -= back
            history.lives[-1].resume(running, slow.wall)
            continue
        version = {
            "keep": slow.version,
            "near": slow.usable(NEAR)[0][0],
            "far": slow.usable(FAR)[0][0],
            "start": 0,
        }[act]
        history.lives[-1].ended = (running, slow.wall)
        slow.restart(version, slow.wall, down)
        history.begin(Life(version, TIMELINE, slow.wall))
        running = 0.0
