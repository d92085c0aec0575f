"""Who looks on while a job runs: a watch, which may change what fails next, and a listener, which changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gemsim.failures.trace import Event

if TYPE_CHECKING:
    from gemsim.engine.job import Job
    from gemsim.engine.recovery import Recovery
    from gemsim.engine.strike import Strike


class Watch(Protocol):
    """Is told of each stop of a job; raises to end the run."""

    def begins(self, recovery: Recovery, event: Event) -> None:
        """A recovery is about to take in its first failure."""

    def standing(self, job: Job, recovery: Recovery, end: float) -> None:
        """The job stands still, to `end` unless something happens; again after each failure meanwhile."""

    def idle(self, job: Job) -> None:
        """What was due has struck nobody while the job runs."""


class Listener(Protocol):
    """Is told of all that is due, and of what goes out of a job that runs on."""

    def heard(self, event: Event, since: float | None, strike: Strike | None, now: float) -> None:
        """A failure is due at wall time `now`, or, with `since`, what has struck unseen then is found. `strike`: what
        it does to the job; None for nothing yet."""

    def out(self, unit: int, until: float, cause: str) -> None:
        """A unit of the job is out, until this wall time; again whenever that changes."""
