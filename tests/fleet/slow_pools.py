"""The pools as oracle: one SimPy process for each request, attempt and repair, and no look-ahead.

It plays what happens as it happens; nothing is known before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import simpy

from gemsim.scenario.fleet import RepairPlan, SparesPlan
from tests.fleet.queues import Marks, Process, SlowShop


@dataclass(eq=False)
class Place:
    """A node that is started for a request."""

    node: int
    kind: str
    expected: float  # wall time at which it will have started; inf if it fails, which nobody but the oracle knows
    chosen: bool
    state: str = "starting"  # starting | started | given up


@dataclass(eq=False)
class Request:
    """Nodes asked for."""

    count: int
    marks: Marks
    begin: float
    places: list[Place] = field(default_factory=list)
    attempts: int = 0
    ready: float = inf
    selected: bool = False

    def missing(self) -> int:
        """Nodes for which nothing is being tried."""
        return self.count - len(self.places)

    @property
    def nodes(self) -> list[int]:
        """Those that run or are about to."""
        return [place.node for place in self.places]


class SlowPools:
    """The rules of the pools, for single nodes, as they happen."""

    def __init__(self, env: simpy.Environment, plan: SparesPlan, mending: RepairPlan, jobs: int) -> None:
        self.env, self.plan = env, plan
        self.shop = SlowShop(env, mending, self.returned)
        ids = iter(range(jobs, jobs + plan.nodes + plan.borrow))
        sizes = {"hot": plan.hot, "warm": plan.warm, "cold": plan.cold, "lent": plan.borrow}
        self.pool = {kind: [next(ids) for _ in range(size)] for kind, size in sizes.items()}
        self.activation = dict(zip(("hot", "warm", "cold"), plan.activation, strict=True))
        self.requests: list[Request] = []
        self.sure: set[int] = set()
        self.failed: set[int] = set()  # in repair, and spares that did not start or broke idle
        self.shelf: list[int] = []
        self.borrowing = self.must_choose = False
        self.selections = self.borrowed = self.failed_joins = 0

    def ask(self, count: int, begin: float, marks: Marks) -> Request:
        """Ask for nodes now, to be started from `begin` on; those of the first kind that are there are kept."""
        self.forget_if_met()
        request = Request(count, marks, begin)
        self.requests.append(request)
        first = "hot" if self.plan.hot or self.plan.selection else "warm"
        while request.missing() > 0 and self.pool[first] and not self.must_choose:
            self.start(request, self.pool[first].pop(0), first, chosen=False)
        self.env.process(self._begin(request))
        return request

    def _begin(self, request: Request) -> Process:
        yield self.env.timeout(request.begin - self.env.now)
        self.arrange()

    def returned(self, node: int, repaired: bool) -> None:
        """A node is back from repair."""
        del repaired
        failed = node in self.failed
        self.failed.discard(node)
        waiting = [request for request in self.requests if request.ready == inf]
        if waiting and failed and self.plan.join_fails >= 1.0:
            self.shelf.append(node)
            return
        self.forget_if_met()
        if not failed and any(self.lacks(request) for request in waiting):
            self.sure.add(node)
        kind = self.stand_by(node)
        self.arrange()
        if waiting and not failed and node in self.pool[kind] and not self.must_choose:
            self.overtake(node, kind, waiting)

    def stand_by(self, node: int) -> str:
        """Hot while there are too few, else warm."""
        kind = "hot" if len(self.pool["hot"]) < self.plan.hot else "warm"
        self.pool[kind].append(node)
        return kind

    def overtake(self, node: int, kind: str, waiting: list[Request]) -> None:
        """The node replaces the slowest of all places in which it is of use."""
        later = [
            (place, request)
            for request in waiting
            for place in request.places
            if place.state == "starting" and self.would_start(request, kind, place.chosen) < place.expected
        ]
        if later:
            slowest, request = max(later, key=lambda one: one[0].expected)
            self.pool[kind].remove(node)
            self.sure.add(node)
            request.places.remove(slowest)
            slowest.state = "given up"
            self.start(request, node, kind, chosen=slowest.chosen)
            if slowest.expected < inf:
                self.pool[slowest.kind].append(slowest.node)

    def lacks(self, request: Request) -> bool:
        """Not met by those that are being started."""
        return request.missing() > 0 or any(place.expected == inf for place in request.places)

    def forget_if_met(self) -> None:
        """Who was mended while a request lacked nodes is a spare like others once none does."""
        if not any(self.lacks(request) for request in self.requests):
            self.sure.clear()

    def would_start(self, request: Request, kind: str, chosen: bool) -> float:
        """When a node would have started that was taken now."""
        now = self.env.now + self.plan.selection if chosen else self.env.now
        return max(now, request.begin) + self.activation[kind]

    def arrange(self) -> None:
        """Give what is there to who waits."""
        choosing = self.plan.selection > 0
        while True:
            waiting = [one for one in self.requests if one.begin <= self.env.now and one.missing() > 0]
            if not waiting:
                return
            if self.pool["hot"] and not self.must_choose:
                self.start(waiting[0], self.pool["hot"].pop(0), "hot", chosen=False)
            elif choosing:
                if not self.choose(waiting):
                    return
            elif self.pool["warm"]:
                self.start(waiting[0], self.pool["warm"].pop(0), "warm", chosen=False)
            elif self.pool["cold"]:
                self.start(waiting[0], self.pool["cold"].pop(0), "cold", chosen=False)
            else:
                self.borrow()
                return

    def choose(self, waiting: list[Request]) -> bool:
        """Whether a selection took place."""
        need = sum(request.missing() for request in waiting)
        powered = len(self.pool["hot"]) + len(self.pool["warm"])
        if powered + len(self.pool["cold"]) < need:
            self.must_choose = True
            self.borrow()
            return False
        if self.must_choose and self.borrowing:
            return False
        if self.must_choose and self.pool["lent"] and powered < need + self.plan.hot:
            self.borrow()
            return False
        self.must_choose = False
        self.selections += 1
        for request in waiting:
            request.selected = True
            while request.missing() > 0:
                kind = "hot" if self.pool["hot"] else "warm" if self.pool["warm"] else "cold"
                self.start(request, self.pool[kind].pop(0), kind, chosen=True)
        while self.pool["warm"] and len(self.pool["hot"]) < self.plan.hot:
            self.pool["hot"].append(self.pool["warm"].pop(0))
        return True

    def borrow(self) -> None:
        """One at a time."""
        if self.pool["lent"] and not self.borrowing:
            self.borrowing = True
            self.env.process(self._borrow())

    def _borrow(self) -> Process:
        yield self.env.timeout(self.plan.borrow_each)
        self.borrowing = False
        self.borrowed += 1
        self.stand_by(self.pool["lent"].pop(0))
        self.arrange()

    def start(self, request: Request, node: int, kind: str, *, chosen: bool) -> None:
        """Try to start a node."""
        joins, name = True, ""
        if self.plan.join_fails and node not in self.sure:
            name = f"join:{request.attempts}"
            request.attempts += 1
            joins = request.marks(name) >= self.plan.join_fails
        started = self.would_start(request, kind, chosen)
        place = Place(node, kind, started if joins else inf, chosen)
        request.places.append(place)
        self.env.process(self._try(request, place, started - self.env.now, name))

    def _try(self, request: Request, place: Place, seconds: float, name: str) -> Process:
        yield self.env.timeout(seconds)
        if place.expected < inf:
            if place.state == "starting":
                place.state = "started"
                self.see_whether_met(request)
            return
        yield self.env.timeout(self.plan.join_timeout)
        self.failed_joins += 1
        self.failed.add(place.node)
        self.shop.enter(place.node, lambda mark: request.marks(f"{name}:{mark}"))
        if place.state == "starting":
            request.places.remove(place)
            self.arrange()

    def see_whether_met(self, request: Request) -> None:
        """All nodes have started."""
        if request.missing() == 0 and all(place.state == "started" for place in request.places):
            request.ready = self.env.now
            self.requests.remove(request)
            if not self.requests:
                for node in self.shelf:
                    self.stand_by(node)
                self.shelf.clear()
