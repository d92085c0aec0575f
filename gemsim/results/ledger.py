"""Where every second of a run went. Each second is booked once, when it passes; no column is a remainder.

Work is productive when first done; a roll-back moves it to wasted progress, so the sum never changes by one.
"""

from __future__ import annotations

from math import fsum
from operator import itemgetter

LEDGER = (
    "productive",
    "overhead",
    "detection",
    "wasted",
    "recovery",
    "restart",
    "waiting",
    "degraded",
    "planned",
    "other",
)
FLEET_LEDGER = ("gpu_s_job", "gpu_s_hot", "gpu_s_warm", "gpu_s_cold", "gpu_s_repair")
LOST_TO_FAILURES = ("detection", "wasted", "recovery", "restart", "waiting", "degraded")
_lost = itemgetter(*LOST_TO_FAILURES)


class Ledger:
    """Seconds by category; `total` is their sum, which must equal the wall time booked from outside."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(LEDGER, 0.0)
        self.overhead_by_tier: dict[str, float] = {}

    def book(self, category: str, seconds: float) -> None:
        """Book seconds that have just passed."""
        self.seconds[category] += seconds

    def book_overhead(self, tier: str, seconds: float) -> None:
        """Book protection overhead and who caused it."""
        self.seconds["overhead"] += seconds
        self.overhead_by_tier[tier] = self.overhead_by_tier.get(tier, 0.0) + seconds

    def waste(self, seconds: float) -> None:
        """Move work that has to be done again from productive to wasted progress."""
        self.seconds["productive"] -= seconds
        self.seconds["wasted"] += seconds

    @property
    def total(self) -> float:
        """All seconds booked."""
        return fsum(self.seconds.values())

    @property
    def wasted(self) -> float:
        """Progress lost, and its retrieval: what GEMINI counts as wasted."""
        return self.seconds["wasted"] + self.seconds["recovery"]

    @property
    def lost_to_failures(self) -> float:
        """Detection, wasted progress, recovery, restart, waiting, and work missing while capacity is out."""
        return fsum(_lost(self.seconds))
