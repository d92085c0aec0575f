"""The rules by which nodes are found for a job that waits, played event by event.

All state is here, so that a copy can be played ahead to see what a request comes to. `Pools` is the way in.
"""

from __future__ import annotations

import copy
from collections import deque
from heapq import heappop, heappush
from itertools import pairwise
from math import inf

from gemsim.engine.books import Books
from gemsim.engine.claims import COLD, HOT, WARM, Claim, Near, Trial
from gemsim.engine.repair import Return, Shop, renamed
from gemsim.scenario.fleet import SparesPlan

_Event = tuple[float, int, int, Trial | None]  # (when, order, request, who turned out not to start)
_ANYONE = -1  # in place of a request: a borrowed node comes


class Standby:
    """Who stands by, which requests are open, and what is due. See `Pools` for the rules in words.

    Pools hold units by their first node. Calls come in order of time.
    """

    def __init__(self, plan: SparesPlan, shop: Shop, jobs: int) -> None:
        self.plan, self.shop, self.unit, self.jobs = plan, shop, plan.unit, jobs
        self.selections = self.borrowed = self.failed_joins = 0
        self.came_back: list[Return] = []
        sizes = (plan.hot, plan.warm, plan.cold, plan.borrow)
        bounds = [jobs + sum(sizes[:k]) for k in range(5)]
        pools = [deque(range(first, end, plan.unit)) for first, end in pairwise(bounds)]
        self.idle, self.lendable = pools[:3], pools[3]
        self.next_id = bounds[4]
        self.claims: dict[int, Claim] = {}
        self._anew = plan.selection > 0.0 or plan.reshuffle
        self.first = HOT if plan.hot or self._anew else WARM  # the kind that is taken first
        self._hot_units = plan.hot // plan.unit
        self._since = [0.0, 0.0, 0.0]  # per kind: node-seconds of exits less entries
        self.books = Books(jobs, plan.hot + plan.warm + plan.cold)
        self._events: list[_Event] = []
        self._order = 0
        self._lending = self._choosing = False
        self._sure: set[int] = set()  # mended while a request lacks nodes
        self._doubtful: set[int] = set()  # in repair, and spares that did not start or broke idle
        self._shelf: list[int] = []  # back from there, and not to be tried again by open requests

    def clone(self) -> Standby:
        """The same state, to be played on without an effect."""
        twin = copy.copy(self)
        twin.shop = self.shop.clone()
        twin.idle = [pool.copy() for pool in self.idle]
        twin.lendable = self.lendable.copy()
        twin.came_back = []
        twin.claims = {number: claim.clone() for number, claim in self.claims.items()}
        twin._since = self._since.copy()
        twin.books = self.books.clone()
        twin._events = self._events.copy()
        twin._sure, twin._doubtful, twin._shelf = self._sure.copy(), self._doubtful.copy(), self._shelf.copy()
        return twin

    def size(self, unit: int) -> int:
        """Nodes of a unit; the last one of the job may be smaller."""
        return min(self.unit, self.jobs - unit) if unit < self.jobs else self.unit

    def put(self, kind: int, unit: int, now: float) -> None:
        """A unit stands by from now on."""
        self.idle[kind].append(unit)
        self._since[kind] -= now if self.unit == 1 else now * self.size(unit)

    def pop(self, kind: int, now: float, near: Near | None = None) -> int:
        """The unit that has stood by longest in a pool that is not empty, of those that are near if there are any."""
        units = self.idle[kind]
        if near is not None and (unit := next(filter(near, units), None)) is not None:
            units.remove(unit)
        else:
            unit = units.popleft()
        self._since[kind] += now if self.unit == 1 else now * self.size(unit)
        return unit

    def pick(self, kind: int, now: float, near: Near | None = None) -> int:
        """`pop` for the job."""
        unit = self.pop(kind, now, near)
        self.books.joins(self.size(unit), now)
        return unit

    def remove(self, unit: int, now: float) -> bool:
        """Take out this very unit, if it is idle and powered."""
        for kind in (HOT, WARM):
            if unit in self.idle[kind]:
                self.idle[kind].remove(unit)
                self._since[kind] += now * self.size(unit)
                return True
        return False

    def lose(self, unit: int, now: float) -> bool:
        """An idle, powered unit breaks; mended it is a spare as before, which may not start."""
        if not self.remove(unit, now):
            return False
        if self.plan.join_fails:
            self._doubtful.add(unit)
        return True

    def put_mended(self, unit: int, now: float) -> None:
        """A unit comes from repair or from another job: hot while there are too few of these, else warm."""
        self.put(HOT if self._hot_units and len(self.idle[HOT]) < self._hot_units else WARM, unit, now)

    def node_seconds(self, kind: int, now: float) -> float:
        """Nodes of a kind that stood by, integrated up to `now`."""
        return self._since[kind] + now * self.nodes(kind)

    def nodes(self, *kinds: int) -> int:
        """Nodes in these pools."""
        return sum(self.size(unit) for kind in kinds for unit in self.idle[kind])

    def settle(self, now: float) -> None:
        """Play all that is due by `now`."""
        if self.claims or self._events:
            while self._step(now):
                pass
        else:
            while now >= self.shop.due and (back := self.shop.next_back(now)) is not None:
                self._returned(back)

    def open(self, claim: Claim, now: float) -> None:
        """Take in a request. Those of the first kind that are there are kept for it; the rest comes when it begins."""
        self._order += 1
        self.claims[self._order] = claim
        while claim.need > 0 and self.idle[self.first] and not self._choosing:
            self._start(claim, self.pick(self.first, now, claim.near), self.first, now)
        if claim.begin > now:
            heappush(self._events, (claim.begin, self._order, self._order, None))
        else:
            self._allocate(now)

    def play_out(self) -> None:
        """Play on, as if nobody else broke, until all requests are met or nothing can happen any more."""
        while self.claims and self._step(inf):
            pass

    def _step(self, until: float) -> bool:
        """Play the next event by `until`; False when there is none. Requests that are met by then are closed."""
        limit = min(until, self._events[0][0]) if self._events else until
        back = self.shop.next_back(limit)
        due = back is None and bool(self._events) and self._events[0][0] <= until
        self._close(back[0] if back else limit)
        if back:
            self._returned(back)
        elif due:
            self._happen()
        return back is not None or due

    def _happen(self) -> None:
        """The next event: a borrowed node comes, a request can begin, or a spare is known not to start."""
        now, _, number, trial = heappop(self._events)
        if number == _ANYONE:
            self._lending = False
            self.borrowed += self.unit
            self.books.reserve(self.unit, now)
            self.put_mended(self.lendable.popleft(), now)
        elif trial is not None:
            self._not_started(number, trial, now)
        self._allocate(now)

    def _close(self, now: float) -> None:
        """Forget the requests whose nodes have all started."""
        met = [(number, claim.ready) for number, claim in self.claims.items() if claim.ready <= now]
        for number, ready in met:
            if ready < inf:
                del self.claims[number]
        if self._sure and not self._lacking():
            self._sure.clear()
        if not self.claims:
            last = max((ready for _, ready in met), default=now)
            while self._shelf:
                self.books.shelve(-self.size(self._shelf[0]), last)
                self.put_mended(self._shelf.pop(0), last)

    def _lacking(self) -> bool:
        """Whether a request is not met by those that are being started."""
        return any(claim.ready == inf for claim in self.claims.values())

    def _returned(self, back: Return) -> None:
        """A unit comes out of repair; while the job waits it may start at once, even in the place of another."""
        now, unit, _ = back
        self.came_back.append(back)
        doubtful = unit in self._doubtful
        self._doubtful.discard(unit)
        if not self.claims:
            self.put_mended(unit, now)
            return
        if doubtful and self.plan.join_fails >= 1.0:
            self._shelf.append(unit)
            self.books.shelve(self.size(unit), now)
            return
        self.put_mended(unit, now)
        if not doubtful and self._lacking():
            self._sure.add(unit)
        self._allocate(now)
        if not doubtful:
            self._overtake(unit, now)

    def _overtake(self, unit: int, now: float) -> None:
        """A mended unit that is still idle takes the place of the one that would start last, if it starts sooner."""
        kind = HOT if unit in self.idle[HOT] else WARM
        if self._choosing or unit not in self.idle[kind]:
            return
        slowest, place, last = None, -1, -inf
        for claim in self.claims.values():
            number, finish = claim.latest(now, self.plan.activation[kind], self.plan.selection)
            if finish > last:
                slowest, place, last = claim, number, finish
        if slowest is None:
            return
        late = slowest.trials.pop(place)
        slowest.need += self.size(late.unit)
        self.remove(unit, now)
        self.books.joins(self.size(unit), now)
        self._sure.add(unit)
        then = now + self.plan.selection if late.chosen else now
        self._start(slowest, unit, kind, then, chosen=late.chosen)
        if not late.fails:
            self.put(late.kind, late.unit, now)
            self.books.leaves(self.size(late.unit), now)

    def _allocate(self, now: float) -> None:
        """Start what is at hand for the requests that have begun, in order of asking."""
        waiting = [claim for claim in self.claims.values() if claim.need > 0 and claim.begin <= now]
        for claim in waiting:
            while claim.need > 0:
                kind = next((kind for kind in (HOT, WARM, COLD) if self.idle[kind]), None)
                if self._anew and (self._choosing or kind != HOT):
                    self._choose([one for one in waiting if one.need > 0], now)
                    return
                if kind is None:
                    self._borrow(now)
                    return
                self._start(claim, self.pick(kind, now, claim.near), kind, now)

    def _borrow(self, now: float) -> None:
        """Begin to take a unit from another job, one after the other."""
        if self.lendable and not self._lending:
            self._lending = True
            self._order += 1
            heappush(self._events, (now + self.plan.borrow_each, self._order, _ANYONE, None))

    def _choose(self, waiting: list[Claim], now: float) -> None:
        """Choose hosts anew, once there are enough: see `Pools`."""
        need = sum(claim.need for claim in waiting)
        ready = self.nodes(HOT, WARM)
        short = ready + self.nodes(COLD) < need
        if short or (self._choosing and (self._lending or (self.lendable and ready < need + self.plan.hot))):
            self._choosing = True
            self._borrow(now)
            return
        self._choosing = False
        self.selections += 1
        for claim in waiting:
            claim.selected = True
            while claim.need > 0:
                kind = next(kind for kind in (HOT, WARM, COLD) if self.idle[kind])
                unit = self.pick(kind, now, claim.near)
                self._start(claim, unit, kind, now + self.plan.selection, chosen=True)
        while self.idle[WARM] and len(self.idle[HOT]) < self._hot_units:
            self.put(HOT, self.pop(WARM, now), now)

    def _start(self, claim: Claim, unit: int, kind: int, now: float, *, chosen: bool = False) -> None:
        """Start a unit that was taken out of its pool."""
        plan, name, fails = self.plan, "", False
        if plan.join_fails and unit not in self._sure:
            name = f"join:{claim.attempts}"
            claim.attempts += 1
            fails = claim.marks(name) < plan.join_fails
        finish = max(now, claim.begin) + plan.activation[kind] + (plan.join_timeout if fails else 0.0)
        trial = Trial(unit, kind, finish, fails, chosen, claim.marks, name)
        claim.trials.append(trial)
        claim.need -= self.size(unit)
        if fails:
            number = next(number for number, one in self.claims.items() if one is claim)
            self._order += 1
            heappush(self._events, (finish, self._order, number, trial))

    def _not_started(self, number: int, trial: Trial, now: float) -> None:
        """A spare did not start: it goes to repair, and the next is tried unless a mended one has its place."""
        self.failed_joins += 1
        self._doubtful.add(trial.unit)
        self.books.leaves(self.size(trial.unit), now)
        self.shop.enter(trial.unit, now, renamed(trial.marks, trial.name + ":"))
        claim = self.claims.get(number)
        if claim is not None and trial in claim.trials:
            claim.trials.remove(trial)
            claim.failed += 1
            claim.need += self.size(trial.unit)
