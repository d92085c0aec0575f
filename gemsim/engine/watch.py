"""Who looks on while a job runs and may change what fails next. Who only listens: `listener`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gemsim.failures.trace import Event

if TYPE_CHECKING:
    from gemsim.engine.job import Job
    from gemsim.engine.recovery import Recovery


class Watch(Protocol):
    """Is told of each stop of a job; raises to end the run."""

    def begins(self, recovery: Recovery, event: Event) -> None:
        """A recovery is about to take in its first failure."""

    def standing(self, job: Job, recovery: Recovery, end: float) -> None:
        """The job stands still, to `end` unless something happens; again after each failure meanwhile."""

    def idle(self, job: Job) -> None:
        """What was due has struck nobody while the job runs."""
