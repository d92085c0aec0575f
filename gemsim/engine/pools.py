"""Nodes beside the job: hot, warm, cold, in other jobs, in repair, gone; and when a replacement can start.

Nothing here is a process. Between calls nothing happens until `settle` or the next call plays what is due. What a
request comes to is found by playing a copy to its end, so it is exact as long as nobody else breaks; when somebody
does, open requests are played again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from random import Random

from gemsim.engine.claims import COLD, HOT, WARM, Claim, Near, Taken
from gemsim.engine.repair import Marks, Return, Shop, renamed
from gemsim.engine.standby import Standby
from gemsim.scenario.fleet import SparesPlan


class Pools:
    """The spares of a job of `jobs` nodes and the shop that mends them. Times are wall seconds, calls in order of time.

    Nodes are numbered: 0 to jobs - 1 in the job, then hot, warm and cold spares, those that can be borrowed, and new
    ones. With `unit` > 1 blocks of that many (each of a spare kind a multiple) come and go together. The first `away`
    spares are in the shop at the start, and `lacking` nodes of the job.

    *Order.* A hot one first. With none left: warm, cold, borrowed one by one (a whole unit each), and then whoever
    comes back from repair. A repaired node refills the hot ones up to their number, else it is warm, whatever it was.
    *Selection.* If choosing hosts takes time or reshuffles, it follows when no hot one is left: it takes warm, then
    cold ones, and refills the hot ones from the warm. With fewer in all than needed, nodes are borrowed until the hot
    ones are full too, and the selection starts as soon as there are enough and nobody is being borrowed; who is mended
    meanwhile counts.
    *Joining.* A spare fails to start with probability `join_fails`, which is noticed `join_timeout` s after it should
    have started; it goes to repair and the next is tried. A node that broke in the job and is mended while a request
    still lacks nodes always joins, and takes the place of whoever would start last. At `join_fails` 1 no spare is
    tried twice for one request.
    """

    def __init__(self, plan: SparesPlan, shop: Shop, *, jobs: int, away: int = 0, lacking: int = 0) -> None:
        self.shop = shop
        self.gone = 0  # nodes retired
        self.failures_idle = 0
        self._met = -inf  # when the last has started of those that were at hand when asked for
        self._plan, self._unit = plan, plan.unit
        self._state = Standby(plan, shop, jobs)
        self._state.books.leaves(lacking, 0.0)
        for _ in range(away):
            next(pool for pool in self._state.idle if pool).popleft()
        # Of the first kind nobody who comes back later can start sooner, so that a request is met when it is made.
        hot, warm, _ = plan.activation
        sooner = self._state.first == WARM or hot <= warm
        self._quick = sooner and jobs % plan.unit == 0
        self._surely = self._quick and plan.unit == 1 and not plan.join_fails

    @property
    def selections(self) -> int:
        """Times that hosts were chosen anew."""
        return self._state.selections

    @property
    def borrowed(self) -> int:
        """Nodes taken from other jobs."""
        return self._state.borrowed

    @property
    def failed_joins(self) -> int:
        """Spares that were tried and did not start."""
        return self._state.failed_joins

    @property
    def ready(self) -> float:
        """Wall time at which all that was asked for so far has started; not later than now when it has."""
        return max([self._met, *(claim.taken.ready for claim in self._state.claims.values())])

    @property
    def known(self) -> int:
        """Nodes so far: all numbers are below."""
        return self._state.next_id

    def came_back(self) -> list[Return]:
        """Who came out of repair since this was last asked, as (wall time, first node of its unit, mended or not)."""
        back = self._state.came_back
        if back:
            self._state.came_back = []
        return back

    def counts(self, now: float | None = None) -> dict[str, int]:
        """Nodes by where they are, at wall time `now` if given, without playing on for good; those in the job or about
        to start are left out."""
        state = self._state
        if now is not None:
            state = state.clone()
            state.settle(now)
        idle = {name: state.nodes(kind) for kind, name in enumerate(("hot", "warm", "cold"))}
        lent = sum(map(state.size, state.lendable))
        return {**idle, "borrowable": lent, "repair": state.shop.inside * self._unit, "gone": self.gone}

    def node_seconds(self, now: float) -> tuple[float, float, float]:
        """Hot, warm and cold nodes that stood idle, integrated up to `now`, which must have been settled."""
        hot, warm, cold = (self._state.node_seconds(kind, now) for kind in (HOT, WARM, COLD))
        return hot, warm, cold

    def fleet_seconds(self, now: float) -> dict[str, float]:
        """Node-seconds up to `now` in the job, idle as hot, warm or cold spare, and in repair; and all reserved.

        Each is added up by itself, so that their sum can be held against `reserved`. Nothing is played on for good.
        """
        state = self._state.clone()
        state.settle(now)
        books = state.books
        idle = {name: state.node_seconds(kind, now) for kind, name in enumerate(("hot", "warm", "cold"))}
        idle["warm"] += books.on_shelf(now)
        repair = state.shop.seconds_inside(now, state.size) - books.on_order(now)
        return {"job": books.in_job(now), **idle, "repair": repair, "reserved": books.reserved(now)}

    def nodes_of(self, node: int) -> Sequence[int]:
        """All nodes of the unit that a node belongs to."""
        unit = self._head(node)
        return range(unit, unit + self._state.size(unit))

    def settle(self, now: float) -> None:
        """Play everything up to `now`: who is back, who did not start, who was borrowed."""
        self._state.settle(now)

    def send(self, nodes: Iterable[int], now: float, marks: Marks) -> None:
        """Nodes of the job go to repair with their units. Further units ask for marks 1:NAME, 2:NAME, ..."""
        self._state.settle(now)
        for number, unit in enumerate(self._units(nodes)):
            self._state.books.leaves(self._state.size(unit), now)
            self.shop.enter(unit, now, renamed(marks, f"{number}:") if number else marks)
        if self._state.claims:
            self._look_ahead()

    def send_for(self, nodes: Iterable[int], now: float, seconds: float) -> None:
        """Nodes of the job are away for a known time, with their units."""
        self._state.settle(now)
        for unit in self._units(nodes):
            self._state.books.leaves(self._state.size(unit), now)
            self.shop.enter_for(unit, now, seconds)
        self._look_ahead()

    def take(
        self, count: int, now: float, marks: Marks, *, begin: float | None = None, near: Near | None = None
    ) -> Taken:
        """Ask for `count` nodes that can be started from wall time `begin` on (when the failure has been detected).

        Hot ones that are there now (of a plan without, and without a selection, warm ones) are kept at once. Of the
        kind that is next in turn, those that are `near` come first.

        Marks: join:0, join:1, ... for the spares tried; join:K:NAME for the repair of one that did not start.
        """
        state = self._state
        state.settle(now)
        begin = now if begin is None or begin < now else begin
        first = state.first
        units, rest = (count, 0) if self._unit == 1 else divmod(count, self._unit)
        if self._quick and not rest and 0 < units <= len(state.idle[first]) and not state.claims:
            fails = self._plan.join_fails
            if not fails or (units == 1 and marks("join:0") >= fails):
                nodes = [state.pick(first, now, near) for _ in range(units)]
                if self._unit > 1:
                    nodes = [node for unit in nodes for node in range(unit, unit + self._unit)]
                taken = Taken(count, nodes, begin + self._plan.activation[first])
                self._met = max(self._met, taken.ready)
                return taken
        taken = Taken(count, [], inf)
        state.open(Claim(taken, marks, begin, count, near), now)
        self._look_ahead()
        return taken

    def at_hand(self, now: float, begin: float) -> float:
        """Wall time at which a node has started, if it is asked for now and can be started from `begin` on; inf unless
        one stands by that surely starts."""
        state = self._state
        state.settle(now)
        if not self._surely or state.claims or not state.idle[state.first]:
            return inf
        return begin + self._plan.activation[state.first]

    def swap(self, now: float, marks: Marks, seconds: float | None, node: int, ready: float) -> int:
        """A node goes to repair, for a known time if that is given, and the one that `at_hand` has just spoken of takes
        its place; that one has started at wall time `ready`."""
        if seconds is None:
            self.shop.enter(node, now, marks)
        else:
            self.shop.enter_for(node, now, seconds)
        if self.shop.due <= now:
            self._state.settle(now)  # one mended at once is back before another is taken
        if ready > self._met:
            self._met = ready
        return self._state.pop(self._state.first, now)

    def idle_node(self, number: int) -> int | None:
        """The spare `number` (from 0) among those that are powered, hot ones first; None when fewer stand idle."""
        for kind in (HOT, WARM):
            units = self._state.idle[kind]
            if number < len(units) * self._unit:
                return units[number // self._unit] + number % self._unit
            number -= len(units) * self._unit
        return None

    def lose_idle(self, node: int, now: float, marks: Marks, seconds: float | None = None) -> bool:
        """A spare fails where it stands and goes to repair with its unit, for a known time if that is given; False when
        it is not an idle, powered one."""
        self._state.settle(now)
        unit = self._head(node)
        if not self._state.lose(unit, now):
            return False
        self.failures_idle += 1
        if seconds is None:
            self.shop.enter(unit, now, marks)
        else:
            self.shop.enter_for(unit, now, seconds)
        self._look_ahead()
        return True

    def retire(self, node: int, now: float, restock: float = inf) -> int | None:
        """A node of the job, or an idle one, is taken out for good with its unit; a new unit comes `restock` s later.

        Returns the first node of the new unit, if there is one.
        """
        state, unit = self._state, self._head(node)
        state.settle(now)
        if not state.remove(unit, now):
            state.books.leaves(state.size(unit), now)
        self.gone += state.size(unit)
        state.books.reserve(-state.size(unit), now)
        new: int | None = None
        if restock < inf:
            new, state.next_id = state.next_id, state.next_id + self._unit
            self.shop.enter_for(new, now, restock)
            state.books.order(self._unit, now, now + restock)
        self._look_ahead()
        return new

    def reshuffle(self, running: Sequence[int], now: float, u: float) -> list[tuple[int, int]]:
        """Draw anew who of the job's nodes and the idle powered ones runs, all alike, and who of the rest is hot.

        `u` in [0, 1) decides all. Returns (place in `running`, its new node) where it changes; the cost grows with the
        idle ones alone. With units, `running` holds the first node of each.
        """
        state, draw = self._state, Random(int(u * 2.0**53))
        state.settle(now)
        hot = len(state.idle[HOT])
        idle = [state.pop(kind, now) for kind in (HOT, WARM) for _ in range(len(state.idle[kind]))]
        drawn = draw.sample(range(len(running) + len(idle)), len(idle))
        leaving = [place for place in drawn if place < len(running)]
        resting = {place - len(running) for place in drawn if place >= len(running)}
        coming = [unit for place, unit in enumerate(idle) if place not in resting]
        draw.shuffle(coming)
        rest = [idle[place] for place in sorted(resting)] + [running[place] for place in leaving]
        draw.shuffle(rest)
        state.books.joins(sum(map(state.size, idle)) - sum(map(state.size, rest)), now)
        for place, unit in enumerate(rest):
            state.put(HOT if place < hot else WARM, unit, now)
        return list(zip(leaving, coming, strict=True))

    def away(self, node: int) -> float:
        """Seconds in repair of a node with its unit, to the end of a present stay; call `settle` before."""
        return self.shop.away(self._head(node))

    def _head(self, node: int) -> int:
        """First node of the unit of a node."""
        jobs = self._state.jobs
        return node - (node - jobs if node >= jobs else node) % self._unit

    def _units(self, nodes: Iterable[int]) -> Iterable[int]:
        return nodes if self._unit == 1 else dict.fromkeys(map(self._head, nodes))

    def _look_ahead(self) -> None:
        """What open requests come to from here, if nobody else breaks."""
        state = self._state
        if not state.claims:
            return
        ahead = state.clone()
        played = list(ahead.claims.values())
        ahead.play_out()
        for claim in played:
            claim.report(state.size)
