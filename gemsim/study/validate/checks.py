"""What a module of rows hands to the judge: for each id of a check, what gemsim computes."""

from __future__ import annotations

from dataclasses import dataclass

Value = float | bool | str | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Engine:
    """A simulated number beside the exact closed form of the same scenario, in SI."""

    mean: float
    error: float
    """Standard error over replications."""
    exact: float | None
    """What |z| <= 4 is asserted against; None: shown only."""

    @property
    def z(self) -> float | None:
        """How many standard errors the engine is from the exact form; None without one, or without a spread."""
        if self.exact is None:
            return None
        apart = self.mean - self.exact
        if self.error > 0.0:
            return apart / self.error
        return 0.0 if abs(apart) <= 1e-9 * abs(self.exact) else float("inf")


@dataclass(frozen=True, slots=True)
class Ours:
    """What we compute for one check, in SI (a share as a share)."""

    value: Value
    interval: tuple[float, float] | None = None
    linear: float | tuple[float, ...] | None = None
    """The published accounting of the same scenario; where it is given, print is judged against it."""
    engine: Engine | tuple[Engine, ...] | None = None
    note: str = ""
    """Why a correct simulator differs, or what is assumed."""
    unbuilt: str = ""
    """What it would need, such as "needs the fleet model": shown, not judged."""


Rows = dict[str, Ours]
"""Check id -> ours."""


def one_number(value: Value | None) -> float:
    """A value that is one number. Raises TypeError for any other."""
    if isinstance(value, float):
        return value
    raise TypeError(f"not one number: {value!r}")
