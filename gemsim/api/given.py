"""Numbers given by a caller: whole and in range, or one line that says what is allowed."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from gemsim.errors import ValueRefused, show
from gemsim.study.machine import cpus
from gemsim.study.runner import limit_of

LARGEST_SEED = 2**63 - 1


def whole(name: str, value: SupportsIndex | None, *, least: int = 1, most: int | None = None) -> int | None:
    """The value as an int (of NumPy too), None for None. Raises ValueRefused."""
    if value is None:
        return None
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        upto = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueRefused(f"{name}: not such a number ({show(value)})", f"a whole number {upto}")
    return number


def seed_of(value: SupportsIndex | None) -> int | None:
    """A seed, None for that of the study. Raises ValueRefused."""
    return whole("seed", value, least=0, most=LARGEST_SEED)


def jobs_of(value: SupportsIndex | None) -> int:
    """Worker processes: those given, else one for each CPU. Raises ValueRefused."""
    return whole("jobs", value) or cpus()


def seconds_of(name: str, value: str | None) -> float | None:
    """A longest time with its unit, in seconds. Raises ValueRefused."""
    try:
        return None if value is None else limit_of(value)
    except ValueRefused as refused:
        raise ValueRefused(f"{name}: {refused.what}", refused.allowed, refused.todo) from None
