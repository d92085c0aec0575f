"""The fleet ledger in node-seconds: who is in the job, back from repair but held back, on order, and reserved at all.

Each is a sum of its own over what comes and goes, and none is what the others leave. Idle spares are counted by the
pools and repair by the shop, so that a node which is lost or counted twice keeps the ledger from closing.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field


@dataclass(slots=True)
class Books:
    """Of a job of `jobs` nodes with `spares`. Times are wall seconds; sums hold exits less entries."""

    jobs: int
    spares: int
    _missing: int = 0  # places of the job that nobody stands in, and for which nobody is being started
    _worked: float = 0.0
    _shelved: int = 0
    _shelf: float = 0.0
    _changes: list[tuple[float, int]] = field(default_factory=list)  # of what is reserved: (from when, nodes)
    _orders: list[tuple[int, float, float]] = field(default_factory=list)  # (nodes, asked for, there)

    def joins(self, nodes: int, now: float) -> None:
        """Nodes are taken for the job: they count as its own from here, also while they start."""
        self._missing -= nodes
        self._worked -= nodes * now

    def leaves(self, nodes: int, now: float) -> None:
        """Nodes of the job, or that were being started for it, go elsewhere."""
        self._missing += nodes
        self._worked += nodes * now

    def shelve(self, nodes: int, now: float) -> None:
        """Nodes that are back from repair are held back, or no longer (negative)."""
        self._shelved += nodes
        self._shelf -= nodes * now

    def reserve(self, nodes: int, now: float) -> None:
        """Nodes are borrowed, or given up (negative)."""
        self._changes.append((now, nodes))

    def order(self, nodes: int, now: float, there: float) -> None:
        """New nodes come later: they are reserved from then on, though the shop keeps them meanwhile."""
        self._orders.append((nodes, now, there))
        self.reserve(nodes, there)

    def in_job(self, now: float) -> float:
        """Node-seconds in the job or being started for it."""
        return self._worked + (self.jobs - self._missing) * now

    def on_shelf(self, now: float) -> float:
        """Node-seconds held back after repair."""
        return self._shelf + self._shelved * now

    def on_order(self, now: float) -> float:
        """Node-seconds that the shop counts of nodes that have not come yet."""
        return sum(nodes * (min(there, now) - asked) for nodes, asked, there in self._orders)

    def reserved(self, now: float) -> float:
        """Node-seconds reserved: job and spares all the time, others from when they come, or until they go."""
        more = sum(nodes * (now - when) for when, nodes in self._changes if when < now)
        return (self.jobs + self.spares) * now + more

    def clone(self) -> Books:
        """The same books, to be written on without an effect."""
        twin = copy.copy(self)
        twin._changes = self._changes.copy()
        return twin
