"""One replication of one design, what became of it, and a batch of them run in order: what a worker does."""

from __future__ import annotations

import io
import logging
import time
import traceback
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TextIO

from gemsim.results.rows import check_row
from gemsim.study.child import LOG_BYTES, child_log, mark

Key = tuple[str, int]


class Simulate(Protocol):
    """Scenario, seed and replication to the row of one replication; must be importable by a worker."""

    def __call__(self, scenario: Any, *, seed: int, replication: int) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Task:
    """One replication of one design."""

    point: str
    replication: int
    scenario: Any = field(repr=False)

    @property
    def key(self) -> Key:
        """What tells it from all others."""
        return self.point, self.replication


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task: its row, or the error in one line with the traceback behind it; and what it said."""

    task: Task
    row: Mapping[str, Any] | None = None
    error: str = ""
    traceback: str = ""
    log: str = ""  # what was printed, warned and logged
    died: bool = False  # the process, not the code; or it gave no answer
    seconds: float = 0.0

    @property
    def account(self) -> str:
        """Traceback and log, for the file of a point that failed."""
        said = f"\nWhat it printed, warned and logged:\n{self.log}" if self.log else ""
        return self.traceback + said


def in_shard(task: Task, shard: tuple[int, int]) -> bool:
    """Whether `task` is one of share i of n (i from 1): the replications of a design go round the shares."""
    share, of = shard
    return (zlib.crc32(task.point.encode()) + task.replication) % of == share - 1


def run_batch(simulate: Simulate, seed: int, tasks: Sequence[Task], budget_s: float) -> list[Outcome]:
    """Run `tasks` in order until `budget_s` is spent (at least one); what is not reached is the caller's again."""
    stop = time.monotonic() + budget_s
    outcomes: list[Outcome] = []
    with _heard() as log:
        for index, task in enumerate(tasks):
            if outcomes and time.monotonic() >= stop:
                break
            mark(index)
            outcomes.append(_run(simulate, seed, task, log))
    return [_checked(outcome) for outcome in outcomes]  # all at once: code that has just run is fast


def _run(simulate: Simulate, seed: int, task: Task, log: TextIO) -> Outcome:
    start = time.monotonic()
    named = Task(task.point, task.replication, None)  # what is handed back need not carry the scenario
    try:
        row = dict(simulate(task.scenario, seed=seed, replication=task.replication))
    except Exception as error:  # whatever a design point does, the others go on
        return replace(failed(named, error), log=_taken(log))
    return Outcome(named, row=row, log=_taken(log), seconds=time.monotonic() - start)


def _checked(outcome: Outcome) -> Outcome:
    """A row that does not add up is a failure."""
    if outcome.row is None:
        return outcome
    try:
        check_row(outcome.row)
    except Exception as error:
        return replace(failed(outcome.task, error), log=outcome.log)
    return outcome


def failed(task: Task, error: Exception) -> Outcome:
    """The outcome of a task that ended in `error`."""
    line = " ".join([type(error).__name__ + ":" * bool(str(error)), *str(error).split()])  # a MemoryError says nothing
    return Outcome(task, error=line, traceback="".join(traceback.format_exception(error)))


@contextmanager
def _heard() -> Iterator[TextIO]:
    """A stream that takes what is printed, warned and logged meanwhile: the log of a child, where this is one."""
    stream = child_log() or io.StringIO()
    _taken(stream)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with redirect_stdout(stream), redirect_stderr(stream), warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = partial(_show, stream)  # whatever a notebook or a test puts there
            yield stream
    finally:
        root.removeHandler(handler)


def _show(stream: TextIO, message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
    stream.write(warnings.formatwarning(message, category, filename, lineno))


def _taken(log: TextIO) -> str:
    """What is in the log, its end where it is long; the log is empty then."""
    size = log.tell()
    if not size:
        return ""
    log.seek(max(0, size - LOG_BYTES))
    text = log.read()
    log.seek(0)
    log.truncate()
    return text
