"""The ledger's seconds in the order in which they are booked, and the spans of wall time that they fill.

The job books what it likes into a dict; this one remembers. Nothing else in the engine knows that it is listened to.
"""

from __future__ import annotations

from collections.abc import Mapping

from gemsim.results.timeline import WORK, Span

RUNNING = ("productive", "overhead", "degraded")  # what a running job books; a job that stands still never does


class Booked(dict[str, float]):
    """Seconds by column, as in a `Ledger`, with each change noted."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        super().__init__(seconds)
        self.notes: list[tuple[str, float]] = []
        self.moved = 0.0  # from productive to wasted since this was last read

    def __setitem__(self, column: str, total: float) -> None:
        """Note what is booked; `Ledger.waste` takes from productive first, which then is no note."""
        seconds = total - self[column]
        super().__setitem__(column, total)
        if column == "wasted":
            self.notes.pop()
            self.moved += seconds
        else:
            self.notes.append((column, seconds))

    def taken(self) -> list[tuple[str, float]]:
        """What has been booked since this was last asked, in order."""
        notes, self.notes = self.notes, []
        return [(column, seconds) for column, seconds in notes if seconds]

    def taken_back(self) -> float:
        """Seconds of work that roll-backs have undone since this was last asked."""
        moved, self.moved = self.moved, 0.0
        return moved


class Spans:
    """What the job did, from 0 on; each span begins where the one before ends."""

    def __init__(self, booked: Booked) -> None:
        self.booked = booked
        self.found: list[Span] = []
        self.clock = 0.0  # wall seconds up to which all is told
        self._by_tier: dict[str, float] = {}

    def up_to(self, now: float, overhead: Mapping[str, float], recovery: int) -> None:
        """Tell all that was booked up to wall time `now`. `overhead`: by tier, of the whole run so far; `recovery`: the
        stop that the time belongs to in which the job stood still."""
        working: dict[str, float] = {}
        for column, seconds in self.booked.taken():
            if column in RUNNING:
                working[column] = working.get(column, 0.0) + seconds
            else:
                self._stand(column, seconds, recovery)
        by_tier = {name: total - self._by_tier.get(name, 0.0) for name, total in overhead.items()}
        self._by_tier = dict(overhead)
        if working:
            self._work(now, working, {name: seconds for name, seconds in by_tier.items() if seconds})
        elif self.found and now != self.clock:  # the last step ends at the engine's own sum, to the last bit
            last = self.found[-1]
            self.found[-1] = Span(last.begin, now, last.doing, last.booked, last.overhead, last.recovery)
            self.clock = now

    @property
    def doing(self) -> str:
        """What the job did last."""
        return self.found[-1].doing if self.found else WORK

    def _stand(self, column: str, seconds: float, recovery: int) -> None:
        begin, self.clock = self.clock, self.clock + seconds
        self.found.append(Span(begin, self.clock, column, {column: seconds}, recovery=recovery))

    def _work(self, now: float, booked: dict[str, float], overhead: dict[str, float]) -> None:
        """A stretch of running; it goes on the one before where neither lacks capacity."""
        last = self.found[-1] if self.found else None
        if last is not None and last.doing == WORK and not ("degraded" in booked or "degraded" in last.booked):
            self.found[-1] = Span(last.begin, now, WORK, _sum(last.booked, booked), _sum(last.overhead, overhead))
        else:
            self.found.append(Span(self.clock, now, WORK, booked, overhead))
        self.clock = now


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}
