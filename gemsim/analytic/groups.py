"""What the renewal form takes: classes of interruptions by how they end, and what is first order beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Groups:
    """Classes by how they end, as (rate per second, seconds standing still), and first-order losses beside them."""

    restarting: list[tuple[float, float]] = field(default_factory=list)
    keeping: list[tuple[float, float]] = field(default_factory=list)
    in_place: list[tuple[float, float]] = field(default_factory=list)
    extra: float = 0.0  # further useful seconds lost per running second, to first order
    silent: float = 0.0  # share of the work done that was corrupt when it was done
    doubt: float = 0.0  # error of what is not exact, share of time
    falls: float = 0.0  # failures per second that end deeper than they would alone, as another meets them
    start: float = 0.0  # failures per second that start the job again
    unsure_start: float = 0.0  # error of that

    @property
    def rate(self) -> float:
        """All interruptions per second."""
        return sum(rate for group in (self.restarting, self.keeping, self.in_place) for rate, _ in group)

    @property
    def standing(self) -> float:
        """Seconds standing still per second of running, to first order."""
        return sum(rate * down for group in (self.restarting, self.keeping, self.in_place) for rate, down in group)

    def fall(self, rate: float) -> None:
        """Make roll-backs of so many restarts per second that would keep the state."""
        kept = sum(one for one, _ in self.keeping)
        share = min(1.0, rate / kept)
        self.restarting += [(one * share, down) for one, down in self.keeping]
        self.keeping = [(one * (1.0 - share), down) for one, down in self.keeping]

    def kinds(self) -> dict[str, list[tuple[float, float]]]:
        """The classes by name, as the renewal form takes them."""
        return {
            "restarting": joined(self.restarting),
            "in_place": joined(self.in_place),
            "keeping": joined(self.keeping),
        }


def joined(classes: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Classes that stand still equally long as one class."""
    rates: dict[float, float] = {}
    for rate, seconds in classes:
        rates[seconds] = rates.get(seconds, 0.0) + rate
    return [(rate, seconds) for seconds, rate in rates.items()]
