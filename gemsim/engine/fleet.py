"""The nodes of job and pool by identity: who stands in which place, who is a lemon, who is to go for good.

A place of the job keeps its number, its rack and its part of every stripe; the node that stands in it changes. What
strikes a place strikes whoever stands there. What strikes a device strikes it where it is, or nobody notices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf

from gemsim.engine.before import BEFORE, at_the_start
from gemsim.engine.claims import HOT, WARM, Taken
from gemsim.engine.neighbours import Neighbours
from gemsim.engine.pools import Pools
from gemsim.engine.rows import Rows
from gemsim.engine.strike import NOWHERE, Strike
from gemsim.engine.tally import Tally
from gemsim.failures.classes import FailureClass
from gemsim.failures.trace import Event, Trace
from gemsim.scenario import Scenario


class Fleet:
    """All nodes. Node numbers below the job's size stand in the place of that number at the start."""

    def __init__(self, scenario: Scenario, trace: Trace, tally: Tally) -> None:
        self.scenario, self.trace, self.tally = scenario, trace, tally
        self.plan = scenario.fleet
        self.grid = scenario.platform.grid
        self.places, self.per_host = self.grid.count("node"), self.grid.per_node
        start = at_the_start(scenario, trace.seed, trace.replication, stationary=trace.stationary)
        lacking = start.lacks(self.places)
        self.pools = Pools(self.plan.spares, start.shop, jobs=self.places, away=start.away, lacking=lacking)
        self.standing = list(range(self.places))  # the node in each place, or that was there last
        self.place_of: dict[int, int] = {}  # of nodes that have moved; NOWHERE: not in the job
        # Places, who was asked for, by which failure.
        self.coming: list[tuple[tuple[int, ...], Taken, Event]] = start.ask(self.pools, self.places)
        # Places whose node has left, where nobody has begun to start -> since when.
        self.vacant = {place: -inf for places, _, _ in self.coming for place in places}
        self.place_of.update(dict.fromkeys(self.vacant, NOWHERE))
        self.left: list[int] = []  # nodes that have left since this was last read
        self.lost: tuple[Event, int] | None = None  # the spare that failed last where it stood, and by which failure
        self.drawn: Event | None = None  # the failure after which all hosts are drawn anew
        self.cured: set[int] = set()  # nodes that repair made ordinary
        self.per_node = [self.grid.per_node if kind.clock == "gpu" else 1 for kind in scenario.classes]
        spares = self.plan.spares
        of_their_own = spares.selection or spares.join_fails or spares.borrow or spares.warm or spares.cold
        self.at_once = not of_their_own and spares.activation[HOT] == spares.activation[WARM]
        # Seconds to start whoever is at hand, begun anew after each failure; 0 where it differs and is in `ready`.
        self.activation = spares.activation[HOT] if self.at_once else 0.0
        self.lemons = any(kind.frailty is not None and kind.frailty.kind == "lemons" for kind in scenario.classes)
        self.misdiagnosis = 0.0 if self.plan.repair is None else self.plan.repair.misdiagnosis
        self.rows = None if scenario.geometry is None else Rows(scenario.geometry, self.per_host)
        self.neighbours = Neighbours(self) if self.plan.spares.placed == "spread" else None

    def node_in(self, place: int) -> int:
        """The node that stands in a place of the job."""
        return self.standing[place]

    def where(self, node: int) -> int:
        """The place of the job in which a node stands, or NOWHERE."""
        return self.place_of.get(node, node if node < self.places else NOWHERE)

    def struck(self, event: Event, now: float) -> int:
        """The GPU of the job that a failure strikes, or NOWHERE: an idle spare failed, or nothing is there."""
        kind = self.scenario.classes[event.index]
        if self.coming:
            self._arrive(now)
        if self.neighbours is not None and self.neighbours.domains[event.index]:
            return self.neighbours.struck(event, now)
        if event.bound:
            return self.struck_device(event, kind, now)
        if event.unit >= kind.units:
            spare = (event.unit - kind.units) // self.per_node[event.index]
            self.pools.settle(now)
            if (node := self.pools.idle_node(spare)) is not None:
                self._lose(node, event, kind, now)
            return NOWHERE
        if kind.clock == "job":
            return min(int(self.trace.mark(event, "device") * self.grid.gpus), self.grid.gpus - 1)
        gpu, per_node = event.unit, self.grid.per_node
        if kind.clock == "node" and per_node > 1:
            gpu = min(event.unit * per_node + int(self.trace.mark(event, "device") * per_node), self.grid.gpus - 1)
        return NOWHERE if self.vacant and gpu // per_node in self.vacant else gpu

    def struck_device(self, event: Event, kind: FailureClass, now: float) -> int:
        """Where a device of the fleet is hit: in the job, among the spares, or where nobody notices."""
        node, part = divmod(event.unit, self.per_node[event.index])
        lemon = kind.frailty is not None and kind.frailty.kind == "lemons" and not event.again
        if lemon and node in self.cured:
            return NOWHERE
        place = self.where(node)
        if place == NOWHERE:
            if kind.fails_idle and not (lemon and self._mended(node, now)):
                self._lose(node, event, kind, now)
            return NOWHERE
        if kind.clock == "node" and self.grid.per_node > 1:
            part = int(self.trace.mark(event, "device") * self.grid.per_node)
        return min(place * self.grid.per_node + part, self.grid.gpus - 1)

    def _mended(self, node: int, now: float) -> bool:
        """Whether a node has come out of repair an ordinary one by now."""
        self.pools.settle(now)
        self._note_cured()
        return node in self.cured

    def misses(self, event: Event) -> bool:
        """Whether the first failure of a device strikes one that is cured, or stands where nobody notices: known
        beforehand while the job runs and lacks nobody."""
        kind = self.scenario.classes[event.index]
        node = event.unit // self.per_node[event.index]
        if node in self.cured and kind.frailty is not None and kind.frailty.kind == "lemons":
            return True
        return self.where(node) == NOWHERE and not kind.fails_idle

    def _lose(self, node: int, event: Event, kind: FailureClass, now: float) -> None:
        """A spare fails where it stands, if it stands by and is powered."""
        marks = self._marks(event)
        seconds = float(kind.repair.quantile(marks("repair"))) if self.plan.repair is None else None
        if self.pools.lose_idle(node, now, marks, seconds):
            self.tally.failures_idle += 1
            self.lost = event, node

    def device(self, event: Event, gpu: int) -> int:
        """The device of the fleet that stands at this GPU now, as the clock of the failure's class numbers them."""
        place, part = divmod(gpu, self.grid.per_node)
        node = self.node_in(place)
        return node * self.grid.per_node + part if self.scenario.classes[event.index].clock == "gpu" else node

    def failed_idle(self, event: Event) -> int:
        """The device of a spare that this failure, the last one, has struck where it stood; NOWHERE if it has not."""
        if self.lost is None or self.lost[0] is not event:
            return NOWHERE
        per_node = self.per_node[event.index]
        return self.lost[1] * per_node + event.unit % per_node

    def away(self, event: Event, now: float) -> float:
        """Seconds that the node of the device that a failure binds has been in repair, to the end of a present stay."""
        self.pools.settle(now)
        return self.pools.away(event.unit // self.per_node[event.index])

    def remap(self, event: Event, gpu: int) -> bool:
        """Enter the rows of a memory error in the books; True when its GPU has no room to remap them: it has to be
        replaced at its next reset."""
        if self.rows is None:
            return False
        rows = self.scenario.classes[event.index].rows_hit(self.trace.mark(event, "rows"))
        return self.rows.hit(self._gpu_at(gpu), rows, self._marks(event))

    @property
    def worn(self) -> set[int]:
        """Nodes in the job with a GPU that cannot remap another row."""
        return set() if self.rows is None else self.rows.worn

    def worn_places(self, but: Iterable[int]) -> tuple[int, ...]:
        """Places of the job, other than these, whose nodes do not outlive a restart that serves row remaps."""
        places = {self.where(node) for node in self.worn} - {NOWHERE}
        return tuple(sorted(places - set(but) - self.vacant.keys()))

    def serve_rows(self, gpus: Iterable[int] | None = None) -> None:
        """These GPUs of the job are reset, or all: rows that wait for it are remapped."""
        if self.rows is not None:
            self.rows.serve(None if gpus is None else map(self._gpu_at, gpus))

    def _gpu_at(self, gpu: int) -> int:
        place, part = divmod(gpu, self.per_host)
        return self.node_in(place) * self.per_host + part

    def replace(self, strike: Strike) -> Taken | None:
        """Nodes leave for repair or for good, and others are asked for; what that comes to. A place that nobody has
        come to yet has nobody to lose: None if all are such."""
        if self.coming:
            self._arrive(strike.wall)
        places = tuple(place for place in strike.slots if place not in self.vacant) if self.vacant else strike.slots
        if not places:
            return None
        marks = self._marks(strike.event)
        for place in places:
            self.vacant[place] = strike.wall
        nodes = [self._leaver(place, strike.event) for place in places]
        retired = [node for place, node in zip(places, nodes, strict=True) if place in strike.retired]
        self._send_away(nodes, retired, strike, marks)
        near = None if self.neighbours is None else self.neighbours.near(places)
        begin = self.called(strike.wall, strike.detect)
        taken = self.pools.take(len(places), strike.wall, marks, begin=begin, near=near)
        self.coming.append((places, taken, strike.event))
        self._note_cured()
        return taken

    @property
    def complete(self) -> bool:
        """Whether all places are taken, and nothing is to be done to the nodes in them."""
        return not (self.coming or self.vacant or self.drawn or (self.rows and self.rows.worn))

    def swap(self, event: Event, place: int, now: float, repair: float, ready: float, until: float) -> None:
        """One that stands by takes the place of a node that leaves a complete job for `repair` s, or for the shop. The
        job runs again at `until`: what `replace` and then `settle_in` come to."""
        leaver = self._leaver(place, event) if self.misdiagnosis else self.standing[place]
        self._forget(leaver)
        seconds = repair if self.plan.repair is None else None
        node = self.pools.swap(now, self._marks(event), seconds, leaver, ready + self.activation)
        self.pools.settle(until)
        self.standing[place] = node
        self.place_of[node] = place
        self._note_cured()

    def called(self, wall: float, detect: float) -> float:
        """Wall time at which others are called for after a failure: when it is known, if calling takes time at all;
        where they stand by, only a repair can hold the job up, and it has begun before."""
        return wall if self.at_once else wall + detect

    def settle_in(self, now: float) -> None:
        """The job runs again: who was asked for stands in the places, and a selection draws all hosts anew."""
        self.pools.settle(now)
        self._arrive(now)
        self._note_cured()
        if self.drawn is None:
            return
        unit = self.plan.spares.unit
        manned: Sequence[int] = range(0, self.places, unit)
        running = self.standing[::unit]
        if self.vacant:
            manned = [place for place in manned if place not in self.vacant]
            running = [self.standing[place] for place in manned]
        for number, coming in self.pools.reshuffle(running, now, self.trace.mark(self.drawn, "hosts")):
            first = manned[number]
            for place in range(first, min(first + unit, self.places)):
                self.left.append(self.node_in(place))
                self.place_of[self.left[-1]] = NOWHERE
                self._put(place, coming + place - first)
        self.drawn = None

    def _arrive(self, now: float) -> None:
        """Put into their places all who were asked for and have begun to start by now, and no failure ago."""
        waiting = []
        for places, taken, event in self.coming:
            if now <= self.vacant[places[0]] or now < taken.ready - self.activation:
                waiting.append((places, taken, event))
                continue
            for place, node in zip(places, taken.nodes, strict=False):
                self._put(place, node)
                del self.vacant[place]
            if taken.selected and self.plan.spares.reshuffle and event.number != BEFORE:
                self.drawn = event
        self.coming = waiting

    def _put(self, place: int, node: int) -> None:
        self.standing[place] = node
        self.place_of[node] = place

    def _leaver(self, place: int, event: Event) -> int:
        """The node that leaves a place: who stands there, or a healthy one that is blamed in its stead."""
        if self.misdiagnosed(event):
            return self._innocent(place, self.trace.mark(event, "blamed"))
        return self.standing[place]

    def _send_away(self, nodes: list[int], retired: list[int], strike: Strike, marks: Callable[[str], float]) -> None:
        """Nodes leave the job, to repair or, those that are retired, for good."""
        self.left += nodes
        for node in nodes:
            self._forget(node)
        for unit in dict.fromkeys(self.pools.nodes_of(node)[0] for node in retired):
            assert self.plan.retire is not None
            self.tally.retired += len(self.pools.nodes_of(unit))
            self.pools.retire(unit, strike.wall, self.plan.retire.restock)
        mended = [node for node in nodes if node not in retired] if retired else nodes
        if mended and self.plan.repair is None:
            self.pools.send_for(mended, strike.wall, strike.repair)
        elif mended:
            self.pools.send(mended, strike.wall, marks)

    def _forget(self, node: int) -> None:
        """A node is in the job no more; comes it back, then with new memory."""
        self.place_of[node] = NOWHERE
        if self.rows is not None:
            self.rows.forget(node)

    def misdiagnosed(self, event: Event) -> bool:
        """Whether a healthy node is taken out for this failure."""
        return 0.0 < self.misdiagnosis > self.trace.mark(event, "misdiagnosed")

    def _innocent(self, place: int, u: float) -> int:
        """A healthy node of the job, whose place the one to blame now takes."""
        other = min(int(u * self.places), self.places - 1)
        node, guilty = self.node_in(other), self.node_in(place)
        if other in self.vacant:
            return guilty
        self._put(other, guilty)
        return node

    def _note_cured(self) -> None:
        """Repair makes a lemon ordinary, unless it silently failed."""
        back = self.pools.came_back()
        if not back or not self.lemons or self.plan.repair is None:
            return
        whole = self.plan.spares.unit > 1
        for _, unit, mended in back:
            if mended:
                self.cured.update(self.pools.nodes_of(unit) if whole else (unit,))

    def _marks(self, event: Event) -> Callable[[str], float]:
        return partial(self.trace.mark, event)
