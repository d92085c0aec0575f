"""The repair shop: when each broken node is back, and whether it is mended.

A node's way through the stages is drawn when it enters. Without limits its end is then known, and the shop is a heap of
ends. With crews or parts, only arrivals at a limited stage are events: the shift of a crew is a heap of the times at
which its members are free (Kiefer and Wolfowitz 1955), so that an arrival's start is known when it comes.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush, heapreplace, nsmallest
from math import fsum, inf

from gemsim.failures.laws import quantile
from gemsim.scenario.fleet import RepairPlan, Stage

Marks = Callable[[str], float]
"""The uniform in [0, 1) of this name: the same however often, and in whatever order, it is asked for."""

Return = tuple[float, int, bool]
"""(wall time, node, whether it is mended)."""

_PART, _ARRIVAL = 0, 1  # at one instant a part comes before whoever needs it


@dataclass(frozen=True, slots=True)
class _Visit:
    """One node's way through a shop with limits."""

    number: int
    node: int
    seconds: list[float]  # of each stage that it goes through
    repaired: bool
    lead: float  # s until the part that it takes has been replaced; negative: it takes none


_Event = tuple[float, int, int, int, _Visit | None]  # (when, what, order, stage, who)


class Shop:
    """Nodes in repair. Times are wall seconds; `enter` must be called in order of time.

    The last stage is the one that fits parts: of the nodes that come to it a share `needed` takes one from the stock
    and orders the next. Whoever finds none waits, without keeping a crew, for the first that comes, in order of asking.
    """

    def __init__(self, plan: RepairPlan) -> None:
        self.entered = 0
        self.inside = 0
        self.crew_wait = 0.0  # node-seconds spent waiting for a crew
        self.part_wait = 0.0  # node-seconds spent waiting for a part
        self._sum = 0.0  # of exits less entries
        self._sums: dict[int, float] = {}  # of each node that has been here: s of the stays that are over
        self._since: dict[int, float] = {}  # of each node inside: when it came
        self._last = len(plan.stages) - 1
        self._stages = [_steps(stage, number < self._last) for number, stage in enumerate(plan.stages)]
        self._parts = plan.parts if plan.parts is not None and plan.parts.needed > 0.0 else None
        self._lead = quantile(self._parts.lead) if self._parts else None
        self.limited = self._parts is not None or any(stage.crews for stage in plan.stages)
        self._stock = self._parts.stock if self._parts else 0
        self._crews = [[-inf] * stage.crews for stage in plan.stages]  # when each member is free
        self._backlog: deque[tuple[float, _Visit]] = deque()  # (since when, who) waits for a part
        self._events: list[_Event] = []
        self._done: list[tuple[float, int, int, bool]] = []
        self.due = inf  # wall time before which nothing happens here

    def enter(self, node: int, came: float, marks: Marks, *, stage: int = 0, left: float | None = None) -> None:
        """A node comes in. Marks that it may ask for, of each stage S that it reaches: repair:S, escalate:S, silent:S;
        part and lead at the last. In a shop without limits it may be in a `stage` already, with `left` s to go."""
        now = came
        self.entered += 1
        self.inside += 1
        self._sum -= now
        self._since[node] = now
        lengths: list[float] = []
        repaired = True
        for repair, seconds, escalate, further, silent, hidden in self._stages[stage:] if stage else self._stages:
            length = seconds(marks(repair)) if left is None else left
            lengths.append(length)
            now += length
            left = None
            if not further or marks(escalate) >= further:
                repaired = not hidden or marks(silent) >= hidden
                break
        if not self.limited:
            heappush(self._done, (now, self.entered, node, repaired))
            if now < self.due:
                self.due = now
            return
        lead = -1.0
        if self._parts and self._lead and len(lengths) > self._last and marks("part") < self._parts.needed:
            lead = self._lead(marks("lead"))
        self._walk(came, _Visit(self.entered, node, lengths, repaired, lead), 0)

    def enter_for(self, node: int, now: float, seconds: float) -> None:
        """A node is away for a time that is known and depends on no crew or part, and comes back mended."""
        self.entered += 1
        self.inside += 1
        self._sum -= now
        self._since[node] = now
        self._leaves(now + seconds, self.entered, node, True)

    def next_back(self, limit: float) -> Return | None:
        """Let the next node out, if that is by wall time `limit`. Nobody may enter before the time returned."""
        done, events = self._done, self._events
        while events and events[0][0] <= limit and not (done and done[0][0] < events[0][0]):
            self._happen()
        if not done or done[0][0] > limit:
            self.due = min(done[0][0] if done else inf, events[0][0] if events else inf)
            return None
        end, _, node, repaired = heappop(done)
        self.due = done[0][0] if done else inf
        if events and events[0][0] < self.due:
            self.due = events[0][0]
        self.inside -= 1
        self._sum += end
        self._sums[node] = self._sums.get(node, 0.0) + end - self._since.pop(node)
        return end, node, repaired

    def returns(self, now: float) -> list[Return]:
        """Let out all nodes that are back by `now`, in order of time (of entry, at one instant)."""
        back: list[Return] = []
        while (one := self.next_back(now)) is not None:
            back.append(one)
        return back

    def next_returns(self, n: int) -> float:
        """Wall time at which the n-th node from now (n = 1, 2, ...) is back if nobody else enters; inf if never."""
        if n > self.inside:
            return inf
        if not self._events and not self._backlog:
            return self._done[0][0] if n == 1 else nsmallest(n, self._done)[-1][0]
        ahead = self.clone()
        for _ in range(n - 1):
            ahead.next_back(inf)
        last = ahead.next_back(inf)
        return inf if last is None else last[0]

    def node_seconds(self, now: float) -> float:
        """The number in the shop, integrated over time up to `now`, when all who are back by then have been let out."""
        return self._sum + self.inside * now

    def seconds_inside(self, now: float, size: Callable[[int], int]) -> float:
        """`node_seconds` where a node stands for `size` of them."""
        over = fsum(size(node) * seconds for node, seconds in self._sums.items())
        return over + fsum(size(node) * (now - since) for node, since in self._since.items())

    def away(self, node: int) -> float:
        """Seconds that a node has been inside; a present stay counts to its end, as if nobody else came."""
        ahead = self
        if node in self._since:
            ahead = self.clone()
            while (back := ahead.next_back(inf)) is not None and back[1] != node:
                pass
        return ahead._sums.get(node, 0.0)

    def clone(self) -> Shop:
        """A shop in the same state that goes its own way: for looking ahead."""
        twin = copy.copy(self)
        twin._done, twin._sums, twin._since = self._done.copy(), self._sums.copy(), self._since.copy()
        if self.limited:
            twin._events = self._events.copy()
            twin._backlog = self._backlog.copy()
            twin._crews = [crew.copy() for crew in self._crews]
        return twin

    def renamed(self, names: dict[int, int]) -> Shop:
        """The same shop at time 0 with other numbers for the nodes inside; what it has counted so far is forgotten."""
        twin = self.clone()
        twin.crew_wait = twin.part_wait = twin._sum = 0.0
        twin._sums, twin._since = {}, dict.fromkeys(names.values(), 0.0)
        twin._done = [(when, number, names[node], mended) for when, number, node, mended in self._done]
        twin._events = [(*one, visit and replace(visit, node=names[visit.node])) for *one, visit in self._events]  # type: ignore[misc]
        twin._backlog = deque((since, replace(visit, node=names[visit.node])) for since, visit in self._backlog)
        return twin

    def _walk(self, now: float, visit: _Visit, stage: int) -> None:
        """Go on from the door of a stage to the next limited one, or out."""
        while stage < len(visit.seconds):
            if self._crews[stage] or (stage == self._last and visit.lead >= 0.0):
                heappush(self._events, (now, _ARRIVAL, visit.number, stage, visit))
                self.due = min(self.due, now)
                return
            now += visit.seconds[stage]
            stage += 1
        self._leaves(now, visit.number, visit.node, visit.repaired)

    def _leaves(self, when: float, number: int, node: int, repaired: bool) -> None:
        """A node is back at that time."""
        heappush(self._done, (when, number, node, repaired))
        if when < self.due:
            self.due = when

    def _happen(self) -> None:
        """The next event: a node at the door of a limited stage, or a part that comes."""
        now, _, number, stage, visit = heappop(self._events)
        if visit is None:
            if not self._backlog:
                self._stock += 1
                return
            since, visit = self._backlog.popleft()
            self.part_wait += now - since
            stage = self._last
        elif stage == self._last and visit.lead >= 0.0:
            heappush(self._events, (now + visit.lead, _PART, number, stage, None))  # later than what happens now
            if self._stock == 0:
                self._backlog.append((now, visit))
                return
            self._stock -= 1
        start, crew = now, self._crews[stage]
        if crew:
            start = max(now, crew[0])
            self.crew_wait += start - now
            heapreplace(crew, start + visit.seconds[stage])
        self._walk(start + visit.seconds[stage], visit, stage + 1)


_Steps = tuple[str, Callable[[float], float], str, float, str, float]


def _steps(stage: Stage, goes_on: bool) -> _Steps:
    """A stage as the inner loop wants it: (mark, seconds of a uniform, mark, P(escalate), mark, P(silent))."""
    name, seconds = stage.name, quantile(stage.time)
    further = stage.escalate if goes_on else 0.0
    return f"repair:{name}", seconds, f"escalate:{name}", further, f"silent:{name}", stage.silent


def renamed(marks: Marks, before: str) -> Marks:
    """The same marks under longer names, so that one event can send several units to repair."""
    return partial(_ask, marks, before)


def _ask(marks: Marks, before: str, name: str) -> float:
    return marks(before + name)
