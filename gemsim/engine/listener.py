"""Who hears what is due while a job runs, and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gemsim.failures.trace import Event

if TYPE_CHECKING:
    from gemsim.engine.strike import Strike


class Listener(Protocol):
    """Is told of all that is due, and of what goes out of a job that runs on."""

    def heard(self, event: Event, since: float | None, strike: Strike | None, now: float) -> None:
        """A failure is due at wall time `now`, or, with `since`, what has struck unseen then is found. `strike`: what
        it does to the job; None for nothing yet."""

    def out(self, unit: int, until: float, cause: str) -> None:
        """A unit of the job is out, until this wall time; again whenever that changes."""
