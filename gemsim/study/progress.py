"""Live progress on stderr: a bar with the time left on a terminal, a plain line now and then elsewhere.

A sweep goes on where nobody can read it any more: its reader has left, the disk of its log is full.
"""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

PLAIN_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How many of the `total` points of the table have all their replications, have failed, or cannot exist."""

    total: int
    done: int = 0
    failed: int = 0
    infeasible: int = 0

    def __str__(self) -> str:
        others = [f"{n} {what}" for n, what in ((self.failed, "failed"), (self.infeasible, "infeasible")) if n]
        return ", ".join([f"{self.done} of {self.total} points done", *others])


class Reporter(AbstractContextManager["Reporter"], Protocol):
    """Where a sweep says how far it is."""

    def begin(self, total: int, done: int) -> None:
        """`done` of `total` replications are there already."""

    def advance(self, count: int) -> None:
        """`count` more replications have ended."""

    def skip(self, count: int) -> None:
        """`count` of all replications are not needed any more."""

    def stand(self, standing: Standing) -> None:
        """What has become of the points so far."""

    def say(self, line: str, *, error: bool = False) -> None:
        """Something that cannot wait for the end; an `error` is said even where all else is quiet."""


class Bar:
    """A live bar with the rate and the time left."""

    def __init__(self, label: str, stream: TextIO) -> None:
        left = (Rate(), TimeRemainingColumn(), TextColumn("left"), TextColumn("{task.fields[points]}"))
        columns = (TextColumn("{task.description}", markup=False), BarColumn(None), MofNCompleteColumn(), *left)
        self._progress = Progress(*columns, console=Console(file=stream), transient=True)
        self._total = 0
        self._task = self._progress.add_task(label, total=None, start=False, points="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.stop()

    def begin(self, total: int, done: int) -> None:
        """Start the clock."""
        self._total = total
        self._progress.update(self._task, total=total, completed=done)
        self._progress.start_task(self._task)

    def advance(self, count: int) -> None:
        """Move the bar."""
        self._progress.advance(self._task, count)

    def skip(self, count: int) -> None:
        """Make the whole shorter; what is left alone tells the time left."""
        self._total -= count
        self._progress.update(self._task, total=self._total)

    def stand(self, standing: Standing) -> None:
        """Show it behind the bar."""
        self._progress.update(self._task, points=str(standing))

    def say(self, line: str, *, error: bool = False) -> None:
        """Print a line above the bar."""
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)


class Rate(ProgressColumn):
    """Replications in a second."""

    def render(self, task: Task) -> Text:
        """Nothing as long as nothing has been timed."""
        return Text(f"{task.speed:.3g}/s" if task.speed else "")


class Lines:
    """Plain lines, at most one in PLAIN_EVERY_S seconds, and one at the end."""

    def __init__(self, label: str, stream: TextIO) -> None:
        self.label = label
        self.stream = stream
        self._total = self._done = self._new = 0
        self._standing = Standing(0)
        self._start = self._spoke = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None and self._new:
            took = time.monotonic() - self._start
            self.say(f"{self.label}: {self._new} replications in {took:.1f} s ({self._rate()}); {self._standing}")

    def begin(self, total: int, done: int) -> None:
        """Say how much there is to do."""
        self._total, self._done, self._new = total, done, 0
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
            done = f"{self.label}: {self._done} of {self._total} replications, {self._rate()}, about {left:.0f} s left"
            self.say(f"{done}; {self._standing}")

    def skip(self, count: int) -> None:
        """There is so much less to do."""
        self._total -= count

    def stand(self, standing: Standing) -> None:
        """Keep it for the next line."""
        self._standing = standing

    def say(self, line: str, *, error: bool = False) -> None:
        """Print a line."""
        _print(line, self.stream)

    def _rate(self) -> str:
        return f"{self._new / max(time.monotonic() - self._start, 1e-9):.3g} replications/s"


class Quiet:
    """Says errors only."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def begin(self, total: int, done: int) -> None:
        """As Reporter."""

    def advance(self, count: int) -> None:
        """As Reporter."""

    def skip(self, count: int) -> None:
        """As Reporter."""

    def stand(self, standing: Standing) -> None:
        """As Reporter."""

    def say(self, line: str, *, error: bool = False) -> None:
        """Print what went wrong."""
        if error:
            _print(line, self.stream)


def reporter(label: str, *, quiet: bool = False) -> Reporter:
    """A bar where stderr is a terminal, lines otherwise; errors alone where it is to be quiet."""
    if quiet:
        return Quiet(sys.stderr)
    return Bar(label, sys.stderr) if sys.stderr.isatty() else Lines(label, sys.stderr)


def _print(line: str, stream: TextIO) -> None:
    """A line at once, if it can be had. What failed stands in the table and in errors/ too."""
    with suppress(OSError):
        print(line, file=stream, flush=True)
