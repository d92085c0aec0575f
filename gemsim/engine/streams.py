"""The Poisson streams of failures that a run meets, as something to draw single failures from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gemsim.failures.classes import FailureClass
from gemsim.failures.draw import Draw
from gemsim.failures.trace import Event
from gemsim.scenario import Scenario

HORIZON = 5.0  # failures that are drawn to take the first of them


@dataclass(frozen=True, slots=True)
class Stream:
    """Instants at which units of one class fail together, at `rate` per second of its clock."""

    index: int
    kind: FailureClass
    first: int  # number of its first unit
    units: int
    rate: float

    @property
    def of_job(self) -> bool:
        """Else of spares, which strike nobody but are lost to the pool."""
        return self.first == 0

    def struck(self, rng: np.random.Generator) -> list[int]:
        """The units that one instant strikes, in the order of the trace."""
        if self.kind.batch is None:
            return [self.first + int(rng.integers(self.units))]
        while True:
            seed = int(rng.integers(2**62))
            draw = Draw(self.kind, HORIZON / self.rate, seed, 0, True)
            times, units = draw.of_places("rare", self.units, self.first)
            if len(times):
                return [int(unit) for unit in units[times == times[0]]]


def streams_of(scenario: Scenario) -> list[Stream]:
    """All that can fail, those of idle spares last."""
    found = [Stream(i, kind, 0, kind.units, kind.starts) for i, kind in enumerate(scenario.classes)]
    for index, kind in enumerate(scenario.classes):
        if kind.spare_units:
            rate = replace(kind, units=kind.spare_units).starts
            found.append(Stream(index, kind, kind.units, kind.spare_units, rate))
    return [stream for stream in found if stream.rate > 0.0]


def events(stream: Stream, units: list[int], time: float, number: int) -> list[Event]:
    """One instant as failures of the trace, numbered from `number`."""
    return [Event(time, stream.index, number + i, unit) for i, unit in enumerate(units)]
