"""Live progress on stderr: a bar with the time left on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PLAIN_EVERY_S = 10.0


class Reporter(AbstractContextManager["Reporter"], Protocol):
    """Where a sweep says how far it is."""

    def begin(self, total: int, done: int) -> None:
        """`done` of `total` replications are there already."""

    def advance(self, count: int) -> None:
        """`count` more replications have ended."""

    def say(self, line: str) -> None:
        """Something that cannot wait for the end."""


class Bar:
    """A live bar with the time left."""

    def __init__(self, label: str, stream: TextIO) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(None), MofNCompleteColumn(), TextColumn("replications,"))
        left = (TimeRemainingColumn(), TextColumn("left,"), TimeElapsedColumn(), TextColumn("gone"))
        self._progress = Progress(*columns, *left, console=Console(file=stream), transient=True)
        self._task = self._progress.add_task(label, total=None, start=False)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.stop()

    def begin(self, total: int, done: int) -> None:
        """Start the clock."""
        self._progress.update(self._task, total=total, completed=done)
        self._progress.start_task(self._task)

    def advance(self, count: int) -> None:
        """Move the bar."""
        self._progress.advance(self._task, count)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)


class Lines:
    """Plain lines, at most one in PLAIN_EVERY_S seconds."""

    def __init__(self, label: str, stream: TextIO) -> None:
        self.label = label
        self.stream = stream
        self._total = self._done = self._new = 0
        self._start = self._spoke = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def begin(self, total: int, done: int) -> None:
        """Say how much there is to do."""
        self._total, self._done = total, done
        self._start = self._spoke = time.monotonic()
        kept = f", {done} of them kept from before" if done else ""
        self.say(f"{self.label}: {total} replications{kept}")

    def advance(self, count: int) -> None:
        """Count, and say so when the last line is old."""
        self._done += count
        self._new += count
        now = time.monotonic()
        if now - self._spoke >= PLAIN_EVERY_S:
            self._spoke = now
            left = (self._total - self._done) * (now - self._start) / max(self._new, 1)
            self.say(f"{self.label}: {self._done} of {self._total} replications, about {left:.0f} s left")

    def say(self, line: str) -> None:
        """Print a line."""
        print(line, file=self.stream, flush=True)


def reporter(label: str) -> Reporter:
    """A bar where stderr is a terminal, lines otherwise."""
    return Bar(label, sys.stderr) if sys.stderr.isatty() else Lines(label, sys.stderr)
