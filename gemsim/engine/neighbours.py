"""Nodes that keep their rack: what a failure of a whole domain strikes where spares are spread over the job's racks.

A domain is one of racks, not of places. Who stands in it by now is struck: nodes in whichever places of the job they
work, and spares that stand by there, which then cannot replace anybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from gemsim.engine.claims import Near
from gemsim.engine.repair import renamed
from gemsim.engine.strike import NOWHERE, Strike
from gemsim.failures.classes import FailureClass
from gemsim.failures.trace import Event
from gemsim.scenario.blind import WIDER
from gemsim.scenario.racks import racks_in, takes_spares, turns, whole_domain

if TYPE_CHECKING:
    from gemsim.engine.fleet import Fleet

T = TypeVar("T")


class Neighbours:
    """Who stands in which rack, in the job or beside it."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.grid = fleet, fleet.grid
        order = turns(self.grid)
        self.racks = len(order)
        self.order, self.turn_of = order, {rack: turn for turn, rack in enumerate(order)}
        self.domains = [whole_domain(kind) for kind in fleet.scenario.classes]
        # Places that the last such failure strikes where these are not those of its number: (all of them, or more).
        self.moved: tuple[Event, tuple[int, ...], bool] | None = None

    def struck(self, event: Event, now: float) -> int:
        """A GPU of the job that a failure of a whole domain strikes, or NOWHERE; spares that stand there leave."""
        kind, per_node, unit = self.fleet.scenario.classes[event.index], self.grid.per_node, self.domains[event.index]
        if event.bound:
            gpu = self.fleet.struck_device(event, kind, now)
            if gpu == NOWHERE or kind.scope not in WIDER:
                return gpu  # of a batch, what its devices have by themselves
            node, part = self.fleet.node_in(gpu // per_node), gpu % per_node
        elif event.unit >= kind.units:
            return NOWHERE  # the cause that idle spares would share by themselves is that of the job's domains
        else:
            node, part = divmod(self._counted(event, kind), per_node)
        number = self._rack(node) * self.grid.per_rack // self.grid.size(unit)
        beside = sorted(self._beside(unit, number))
        own = self.grid.nodes(unit, number)
        if takes_spares(kind):
            self._lose([*own, *beside], event, kind, now)
        if kind.scope in WIDER:
            return self._all(event, node, part, own, beside)
        return self._one(event, node, part, beside)

    def _counted(self, event: Event, kind: FailureClass) -> int:
        """The GPU of the job, as it was built, at which a clock of the class counts a failure."""
        if kind.clock == "gpu":
            return event.unit
        size = self.grid.gpus if kind.clock == "job" else self.grid.per_node
        return min(event.unit * size + int(self.fleet.trace.mark(event, "device") * size), self.grid.gpus - 1)

    def _all(self, event: Event, node: int, part: int, own: range, beside: list[int]) -> int:
        """The whole domain strikes at once, whichever of its devices the failure is counted at."""
        places = sorted(self._places([*own, *beside]))
        self.moved = None if places == list(own) else (event, tuple(places), True)
        if not places:
            return NOWHERE
        place = self.fleet.where(node)
        first = places[0] if place == NOWHERE else place
        return min(first * self.grid.per_node + part, self.grid.gpus - 1)

    def _one(self, event: Event, node: int, part: int, beside: list[int]) -> int:
        """One node of a domain that fails as a whole: the others have failures of their own, but for nodes that came
        from beside the job; these go with the first."""
        more = self._places(beside)
        first = next(iter([*self._places([node]), *more]), NOWHERE)
        self.moved = (event, tuple(more), False) if more else None
        return NOWHERE if first == NOWHERE else min(first * self.grid.per_node + part, self.grid.gpus - 1)

    def _beside(self, unit: str, number: int) -> Iterator[int]:
        """Nodes that do not stem from the job and stand in a domain, known so far."""
        places, end = self.fleet.places, self.fleet.pools.known
        for rack in racks_in(self.grid, unit, number):
            yield from range(places + self.turn_of[rack], end, self.racks)

    def _places(self, nodes: list[int]) -> list[int]:
        """Places of the job in which these stand."""
        return [place for node in nodes if (place := self.fleet.where(node)) != NOWHERE]

    def _lose(self, nodes: list[int], event: Event, kind: FailureClass, now: float) -> None:
        """Those of them that stand by, powered, go to repair, each by itself or in the time of the class."""
        fleet = self.fleet
        marks = partial(fleet.trace.mark, event)
        seconds = float(kind.repair.quantile(marks("repair"))) if fleet.plan.repair is None else None
        for node in nodes:
            if fleet.where(node) == NOWHERE and fleet.pools.lose_idle(
                node, now, renamed(marks, f"beside{node}:"), seconds
            ):
                fleet.tally.failures_idle += 1

    def near(self, places: tuple[int, ...]) -> Near | None:
        """Whoever stands by in the rack of a place is called first for it. Where several leave at once it is mostly
        with their rack, and nobody is left in it."""
        home = self._rack(places[0])
        return (lambda node: self._rack(node) == home) if len(places) == 1 else None

    def _rack(self, node: int) -> int:
        if node < self.fleet.places:
            return node * self.grid.per_node // self.grid.per_rack
        return self.order[(node - self.fleet.places) % self.racks]

    def placed(self, strike: Strike) -> Strike:
        """The strike of the last failure, at the places where those whom it strikes stand."""
        if self.moved is None or self.moved[0] is not strike.event:
            return strike
        _, places, all_of_them = self.moved
        blocks, hosts, was = frozenset(("node", place) for place in places), frozenset(places), strike.damage
        slots = places if all_of_them else (*strike.slots, *places)

        def there(old: frozenset[T], new: frozenset[T]) -> frozenset[T]:
            if not old:
                return old  # such a loss is not of this failure
            return new if all_of_them else old | new

        slots = tuple(dict.fromkeys(slots)) if strike.slots else ()
        return replace(
            strike,
            damage=replace(
                was,
                lost=there(was.lost, blocks),
                hosts=there(was.hosts, hosts),
                disks=there(was.disks, hosts),
                struck=there(was.struck, blocks),
            ),
            slots=slots,
            retired=slots if all_of_them and strike.retired else strike.retired,
        )

    def others(self, strike: Strike) -> Iterator[int]:
        """Places of nodes that go with the one that the last failure strikes: it is one of their own failures too."""
        if self.moved is not None and self.moved[0] is strike.event and not self.moved[2]:
            yield from (place for place in self.moved[1] if place != strike.gpu // self.grid.per_node)
