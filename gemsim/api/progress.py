"""How far a run is: nothing when quiet, plain lines in a notebook, else what the command shows."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from gemsim.study.progress import Lines, Reporter, reporter


class Silent:
    """Says nothing; what failed is in the results."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def begin(self, total: int, done: int) -> None:
        """Nothing."""

    def advance(self, count: int) -> None:
        """Nothing."""

    def say(self, line: str) -> None:
        """Nothing."""


def reporting(label: str, *, quiet: bool) -> Reporter:
    """Where a run says how far it is. A notebook shows stderr as if it were an error, so its lines go to stdout."""
    if quiet:
        return Silent()
    return Lines(label, sys.stdout) if _in_notebook() else reporter(label)


def _in_notebook() -> bool:
    """Whether output goes to a Jupyter kernel, which wraps stdout in a stream of its own."""
    return type(sys.stdout).__module__.partition(".")[0] == "ipykernel"
