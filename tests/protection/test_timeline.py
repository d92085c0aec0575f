"""Where a running job stands, by arithmetic, against a loop that takes every step and every stall in turn."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsim.protection.timeline import Stall, Timeline, end_of_save, saves_done, stalls_at

# Lengths in 1/64 s: sums of them are exact, so that a boundary is a boundary in both.
lengths = st.integers(1, 2000).map(lambda n: n / 64)
stalls = st.builds(
    lambda every, first, seconds: (every, min(first, every), seconds),
    st.integers(1, 7),
    st.integers(1, 7),
    st.one_of(st.just(0.0), lengths),
)


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    """Up to three stalls at a boundary; a first save may come early (saves anchored to the wall)."""
    drawn = draw(st.lists(stalls, max_size=3))
    return Timeline(draw(lengths), tuple(Stall(tier, every, s, first) for tier, (every, first, s) in enumerate(drawn)))


@dataclass(frozen=True)
class Piece:
    """One stretch of a life: a step (stall -1) or one stall, after `steps` whole steps."""

    start: float
    end: float
    steps: int
    stall: int


def walk(timeline: Timeline, until: float) -> list[Piece]:
    """All pieces that begin before `until`, one after the other."""
    pieces: list[Piece] = []
    now, steps = 0.0, 0
    while now <= until:
        pieces.append(Piece(now, now + timeline.step, steps, -1))
        now += timeline.step
        steps += 1
        for number, stall in enumerate(timeline.stalls):
            if steps >= stall.first and (steps - stall.first) % stall.every == 0:
                pieces.append(Piece(now, now + stall.seconds, steps, number))
                now += stall.seconds
    return pieces


@given(timelines(), st.integers(0, 100 * 64))
def test_the_phase_is_that_of_the_loop(timeline: Timeline, ticks: int) -> None:
    running = ticks / 64
    pieces = [p for p in walk(timeline, running) if p.end > p.start]
    piece = pieces[bisect_right([p.start for p in pieces], running) - 1]
    phase = timeline.at(running)
    assert (phase.steps, phase.stall) == (piece.steps, piece.stall)
    assert (phase.within if piece.stall < 0 else phase.elapsed) == running - piece.start


@given(timelines(), st.integers(0, 100 * 64))
def test_the_seconds_in_each_stall_are_those_of_the_loop(timeline: Timeline, ticks: int) -> None:
    running = ticks / 64
    spent = [0.0] * len(timeline.stalls)
    done = 0
    for piece in walk(timeline, running):
        if piece.stall >= 0:
            spent[piece.stall] += min(max(0.0, running - piece.start), piece.end - piece.start)
        elif piece.end <= running:
            done = piece.steps + 1
    steps, seconds = timeline.stalled(running)
    assert steps == done
    assert seconds == pytest.approx(tuple(spent), abs=1e-9)


@given(timelines(), st.integers(0, 60))
def test_starts_and_ends_of_steps_are_those_of_the_loop(timeline: Timeline, steps: int) -> None:
    pieces = walk(timeline, (steps + 1) * (timeline.step + sum(s.seconds for s in timeline.stalls)))
    begun = next(p for p in pieces if p.stall < 0 and p.steps == steps)
    assert timeline.start(steps) == begun.start
    assert timeline.done(steps + 1) == begun.end
    assert timeline.done(0) == 0.0


@given(timelines(), st.integers(0, 100 * 64))
def test_saves_are_counted_when_their_stall_is_over(timeline: Timeline, ticks: int) -> None:
    running = ticks / 64
    pieces = walk(timeline, running)
    for number, stall in enumerate(timeline.stalls):
        ends = [p.end for p in pieces if p.stall == number]
        count = sum(end <= running for end in ends)
        assert saves_done(timeline, number, running) == count
        assert [end_of_save(timeline, number, index) for index in range(len(ends))] == ends
        boundaries = {p.steps for p in pieces if p.stall == number}
        assert {n for n in range(max(boundaries, default=0) + 1) if stalls_at(stall, n)} == boundaries


@given(timelines(), st.integers(0, 100 * 64))
def test_what_is_ahead_are_the_later_stalls_of_this_boundary(timeline: Timeline, ticks: int) -> None:
    phase = timeline.at(ticks / 64)
    later = timeline.stalls[phase.stall + 1 :] if phase.stall >= 0 else ()
    assert timeline.ahead(phase) == {s.tier for s in later if stalls_at(s, phase.steps)}


@given(st.floats(1e-3, 1e3), st.floats(0, 10), st.integers(1, 1000), st.floats(0, 5e6))
def test_the_phase_stays_within_its_piece_where_sums_round(
    step: float, seconds: float, every: int, running: float
) -> None:
    timeline = Timeline(step, (Stall(0, every, seconds, every),))
    phase = timeline.at(running)
    assert 0.0 <= phase.within <= step
    assert 0.0 <= phase.elapsed <= seconds
    behind = timeline.start(phase.steps) if phase.stall < 0 else timeline.done(phase.steps)
    assert behind + phase.within + phase.elapsed == pytest.approx(running, rel=1e-9, abs=1e-6)
