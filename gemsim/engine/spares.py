"""Spare nodes: who is idle, who is in repair, and when a replacement can start.

A repair's length is known when it begins, so the pool is a count and a heap of return times.
"""

from __future__ import annotations

from heapq import heappop, heappush


class SparePool:
    """`idle` nodes ready to be activated; repaired nodes come back to it."""

    def __init__(self, idle: int) -> None:
        self.idle = idle
        self.returns: list[float] = []

    def settle(self, now: float) -> None:
        """Take back all nodes whose repair has ended."""
        while self.returns and self.returns[0] <= now:
            heappop(self.returns)
            self.idle += 1

    def send_to_repair(self, until: float) -> None:
        """A node leaves for repair and returns at `until`."""
        heappush(self.returns, until)

    def take(self, nodes: int, now: float) -> float:
        """Wall time at which `nodes` spares are at hand: now, or when enough repairs have ended."""
        self.settle(now)
        ready = now
        for _ in range(nodes):
            if self.idle > 0:
                self.idle -= 1
            else:
                ready = max(ready, heappop(self.returns))
        return ready

    def lose_idle(self, number: int, now: float, until: float) -> bool:
        """Spare `number` (from 0) fails: True when that many were idle, so that idle ones fail at their own rate."""
        self.settle(now)
        if number >= self.idle:
            return False
        self.idle -= 1
        self.send_to_repair(until)
        return True
