"""Energy from a ledger: seconds in each state times the power drawn in it.

Powers are never published with these systems, so whoever gives them marks them as assumptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum


def energy(seconds: Mapping[str, float], watts: Mapping[str, float]) -> float:
    """Joules: `seconds` by state (of a ledger row, or of one resource) at `watts` by state. KeyError names a state
    without a power."""
    return fsum(spent * watts[state] for state, spent in seconds.items())
