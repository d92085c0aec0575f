"""The failures of one replication, marks included: exogenous to every design.

A failure is (class, number); its marks (which device, contained?, region, page, repair time, ...) are uniforms of
streams of their own, indexed by that number and drawn only when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import partial
from itertools import count, repeat
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from gemsim.failures.classes import FailureClass
from gemsim.failures.draw import Draw
from gemsim.failures.streams import uniforms


class Event(NamedTuple):  # a tuple, since thousands are made for each replication
    """One failure: when its class's exposure clock shows `time` s, failure `number` of class `index` hits `unit`.

    `unit` is a place: a clock unit of the job, or beyond the class's `units` an idle spare. When `bound`, it is a
    device of the fleet, wherever that stands then. `again` counts the failures of that device which this one follows.
    """

    time: float
    index: int  # type: ignore[assignment]  # hides the method of tuples, which nobody needs
    number: int
    unit: int
    bound: bool = False
    again: int = 0


_event = partial(tuple.__new__, Event)  # from its fields, in a third of the time that their names would take


@dataclass(slots=True)
class Trace:
    """All failures up to `horizon` s on each exposure clock, and their marks on demand."""

    classes: tuple[FailureClass, ...]
    seed: int
    replication: int
    wall: list[Event]
    running: list[Event]
    counts: list[int]
    given: InitVar[Mapping[tuple[int, str], list[float]]] = MappingProxyType({})  # marks in place of those drawn
    stationary: bool = False  # nodes are in repair when it begins
    _marks: list[dict[str, list[float]]] = field(init=False, repr=False)  # of each class, by name

    def __post_init__(self, given: Mapping[tuple[int, str], list[float]]) -> None:
        self._marks = [{} for _ in self.classes]
        for (index, name), marks in given.items():
            self.set_marks(index, name, marks)

    def mark(self, event: Event, name: str) -> float:
        """The uniform `name` of this failure, the same whether or not anything used it before."""
        _, index, number, _, _, again = event
        if again:
            name = f"{name}:again{again}"
        known = self._marks[index]
        if name not in known:
            label = self.classes[index].name
            known[name] = uniforms(self.seed, self.replication, label, name, count=self.counts[index])
        return known[name][number]

    def set_marks(self, index: int, name: str, marks: list[float]) -> None:
        """Give the marks `name` of a class by the numbers of its failures, in place of those of the stream."""
        self._marks[index][name] = marks

    def follower(self, event: Event, device: int, now: float) -> Event | None:
        """The failure that follows on the same device, where the class recurs and its mark says so; `now` is the time
        on the exposure clock."""
        law = self.classes[event.index].recurrence
        if law is None or self.mark(event, "recurs") >= law.again:
            return None
        gap = float(law.gap.quantile(self.mark(event, "gap")))
        return Event(now + gap, event.index, event.number, device, bound=True, again=event.again + 1)


def draw_trace(
    classes: Sequence[FailureClass], *, horizon: float, seed: int, replication: int, stationary: bool = True
) -> Trace:
    """Draw every failure of every class up to `horizon` s of its exposure clock."""
    wall: list[Event] = []
    running: list[Event] = []
    counts: list[int] = []
    for index, kind in enumerate(classes):
        draw = Draw(kind, horizon, seed, replication, stationary)
        numbers = count()
        target = wall if kind.exposure == "wall" else running
        for (times, units), bound in draw.parts():
            columns = times.tolist(), repeat(index), numbers, units.tolist(), repeat(bound), repeat(0)
            target.extend(map(_event, zip(*columns, strict=False)))
        counts.append(next(numbers))
    wall.sort(key=itemgetter(0))
    running.sort(key=itemgetter(0))
    return Trace(tuple(classes), seed, replication, wall, running, counts)
