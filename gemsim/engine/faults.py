"""One injector for all failures: what is due next, on whichever clock.

Wall classes fire on the wall clock, job software on the clock of running time. What strikes unseen (a silent
corruption, a slow node) comes back as an event of its own when it is detected, and so does a failure that follows on
the same device.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

from gemsim.engine.fleet import Fleet
from gemsim.engine.strike import NOWHERE
from gemsim.failures.trace import Event, Trace
from gemsim.scenario import Scenario

NO_MORE = Event(inf, -1, -1, -1)


class Clock:
    """The failures of one exposure clock: those of the trace in order, and those that follow others."""

    def __init__(self, events: list[Event]) -> None:
        self.events = [*events, NO_MORE]
        self.next = 0
        self.followers: list[tuple[float, int, Event]] = []
        self.due = self.events[0].time

    def push(self, event: Event, order: int) -> None:
        """A failure that follows another."""
        heappush(self.followers, (event.time, order, event))
        self.due = min(self.due, event.time)

    def pop(self) -> Event:
        """The failure that is due."""
        if self.followers and self.followers[0][0] <= self.due:
            event = heappop(self.followers)[2]
        else:
            event = self.events[self.next]
            self.next += 1
        left = self.events[self.next][0]
        self.due = min(left, self.followers[0][0]) if self.followers else left
        return event

    def first(self) -> Event:
        """The failure that is due, left where it is."""
        if self.followers and self.followers[0][0] <= self.due:
            return self.followers[0][2]
        return self.events[self.next]


class Injector:
    """Merges the clocks. `peek` gives the next wall time; `pop` what happens then."""

    def __init__(self, scenario: Scenario, trace: Trace) -> None:
        self.scenario = scenario
        self.trace = trace
        self.wall = Clock(trace.wall)
        self.running = Clock(trace.running)
        self.detections: list[tuple[float, int, float, Event]] = []  # (when, order, since, event)
        self.order = 0
        self.away: dict[tuple[int, int, int], float] = {}  # of followers: seconds in repair of their device until then

    def peek(self, now: float, running: float, advancing: bool) -> float:
        """Wall time of the next event, while the job runs (`advancing`) or stands still."""
        when = self.wall.due
        if advancing and self.running.due < inf:
            when = min(when, now + max(0.0, self.running.due - running))
        if self.detections:
            when = min(when, max(now, self.detections[0][0]))
        return when

    def pop(self, now: float, running: float, advancing: bool) -> tuple[Event, float | None]:
        """The event due at `now` and, for a detection, since when there has been something to detect."""
        due = self.running.due - running if advancing else inf
        # Not `<= now`: the clock may have stopped one rounding short of the time that `peek` gave.
        if self.detections and self.detections[0][0] <= min(self.wall.due, now + due):
            _, _, since, event = heappop(self.detections)
            return event, since
        return (self.wall if self.wall.due <= now + due else self.running).pop(), None

    def drop(self, now: float, running: float, misses: Callable[[Event], bool]) -> float:
        """Drop what a running job would meet next as long as it is the failure of a device, and strikes nobody; then
        `peek`."""
        while True:
            when = now + (self.running.due - running)
            clock = self.running
            if self.wall.due <= when:
                when, clock = self.wall.due, self.wall
            if self.detections and self.detections[0][0] <= when:
                break
            event = clock.first() if clock.followers else clock.events[clock.next]
            if not event.bound or event.again or not misses(event):
                break
            clock.pop()
        return self.peek(now, running, advancing=True) if self.detections or when < now else when

    def struck(self, event: Event, fleet: Fleet, now: float, running: float) -> int:
        """The GPU of the job that a failure strikes now, or NOWHERE. Where its class recurs, a failure that follows on
        the same device of the fleet waits for its time."""
        kind = self.scenario.classes[event.index]
        if kind.recurrence is None:
            return fleet.struck(event, now)
        wall = kind.exposure == "wall"
        if event.again and wall and self._postponed(event, fleet, now):
            return NOWHERE
        gpu = fleet.struck(event, now)
        device = fleet.failed_idle(event) if gpu == NOWHERE else fleet.device(event, gpu)
        after = None if device == NOWHERE else self.trace.follower(event, device, event.time if wall else running)
        if after is not None:
            self._wait(after, self.wall if wall else self.running, fleet.away(after, now))
        return gpu

    def _postponed(self, event: Event, fleet: Fleet, now: float) -> bool:
        """On the wall clock the time to the failure that follows stands still while its device is in repair."""
        away = fleet.away(event, now)
        late = away - self.away.pop(event[1:3] + event[5:], away)
        if late <= 0.0:
            return False
        self._wait(event._replace(time=event.time + late), self.wall, away)
        return True

    def _wait(self, event: Event, clock: Clock, away: float) -> None:
        self.order += 1
        self.away[event.index, event.number, event.again] = away
        clock.push(event, self.order)

    def hide(self, event: Event, now: float, until: float | None = None) -> None:
        """A silent corruption or a slow node begins; it is found after its detection time, or at `until`."""
        kind = self.scenario.classes[event.index]
        self.order += 1
        when = now + float(kind.detect.quantile(self.trace.mark(event, "detect"))) if until is None else until
        heappush(self.detections, (when, self.order, now, event))

    def forget_corruptions(self, captured: float) -> None:
        """A roll-back to a version captured at `captured` removes every later corruption."""
        silent = [kind.scope == "silent" for kind in self.scenario.classes]
        self.detections = sorted(d for d in self.detections if d[2] < captured or not silent[d[3].index])
