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

    @property
    def rate(self) -> float:
        """All interruptions per second."""
        return sum(rate for group in (self.restarting, self.keeping, self.in_place) for rate, _ in group)

    @property
    def standing(self) -> float:
        """Seconds standing still per second of running, to first order."""
        return sum(rate * down for group in (self.restarting, self.keeping, self.in_place) for rate, down in group)

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
