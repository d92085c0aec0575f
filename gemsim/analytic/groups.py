"""What the renewal form takes: classes of interruptions by how they end, and what is first order beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Stop(NamedTuple):
    """Interruptions of one kind: `rate` per second, `seconds` standing still; `wall`: they come meanwhile too."""

    rate: float
    seconds: float
    wall: bool = True


@dataclass(slots=True)
class Groups:
    """Classes by how they end, and first-order losses beside them."""

    restarting: list[Stop] = field(default_factory=list)
    keeping: list[Stop] = field(default_factory=list)
    in_place: list[Stop] = field(default_factory=list)
    extra: float = 0.0  # further useful seconds lost per running second, to first order
    silent: float = 0.0  # share of the work done that was corrupt when it was done
    written: float = 0.0  # seconds of writes to the main tier per second that end before a corruption is found
    doubt: float = 0.0  # error of what is not exact, share of time
    planned: float = 0.0  # seconds of planned stops per running second
    dead: float = 0.0  # of these, seconds in which a failure costs nothing, per second of any kind
    saver: int = 0  # the tier that the job comes back from after them
    saved: float = 0.0  # of these stops per second, those that save to the main tier
    falls: float = 0.0  # failures per second that end deeper than they would alone, as another meets them
    start: float = 0.0  # failures per second that start the job again
    unsure_start: float = 0.0  # error of that

    @property
    def rate(self) -> float:
        """All interruptions per second."""
        return sum(stop.rate for group in (self.restarting, self.keeping, self.in_place) for stop in group)

    @property
    def standing(self) -> float:
        """Seconds standing still per second of running, to first order."""
        groups = (self.restarting, self.keeping, self.in_place)
        return sum(stop.rate * stop.seconds for group in groups for stop in group)

    def fall(self, rate: float) -> None:
        """Make roll-backs of so many restarts per second that would keep the state."""
        kept = sum(stop.rate for stop in self.keeping)
        share = min(1.0, rate / kept)
        self.restarting += [stop._replace(rate=stop.rate * share) for stop in self.keeping]
        self.keeping = [stop._replace(rate=stop.rate * (1.0 - share)) for stop in self.keeping]

    def join(self) -> None:
        """Make one class of those that stand still equally long."""
        self.restarting, self.keeping, self.in_place = map(joined, (self.restarting, self.keeping, self.in_place))

    def kinds(self, *, wall: bool) -> dict[str, list[tuple[float, float]]]:
        """The classes by name, as the renewal form takes them: those that fail on the wall clock, or the others."""
        named = {"restarting": self.restarting, "in_place": self.in_place, "keeping": self.keeping}
        return {
            name: [(stop.rate, stop.seconds) for stop in joined(group) if stop.wall == wall]
            for name, group in named.items()
        }


def joined(stops: Sequence[Stop]) -> list[Stop]:
    """Stops that stand still equally long as one."""
    rates: dict[tuple[float, bool], float] = {}
    for stop in stops:
        rates[stop.seconds, stop.wall] = rates.get((stop.seconds, stop.wall), 0.0) + stop.rate
    return [Stop(rate, seconds, wall) for (seconds, wall), rate in rates.items()]
