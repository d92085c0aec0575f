"""Runs (scenario, replication) tasks on processes, in batches that last about a second.

Anything with the Executor interface will do. A worker that dies costs its batches a second, isolated try: what kills a
worker again is reported, all else goes on.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

from gemsim.errors import GemsimError
from gemsim.results.rows import check_row

BATCH_S = 1.5  # long against the cost of a batch, short against what a kill may lose
FIRST_BATCH = 8  # tasks, while nothing is known about their cost
LARGEST_BATCH = 64  # tasks; their rows fit into a pipe at once, so that a result is handed over in one go
GRACE_S = 5.0  # for the task at hand when a run is stopped
HOPELESS = 3  # points that kill a lone worker before anything has run: the fault is not theirs

T = TypeVar("T")
_halt = threading.Event()  # of a worker: its run has been stopped


class Simulate(Protocol):
    """Scenario, seed and replication to the row of one replication; must be importable by a worker."""

    def __call__(self, scenario: Any, *, seed: int, replication: int) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Task:
    """One replication of one design."""

    point: str
    replication: int
    scenario: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task: its row, or the error in one line with the traceback behind it."""

    task: Task
    row: Mapping[str, Any] | None = None
    error: str = ""
    traceback: str = ""
    died: bool = False  # the process, not the code
    seconds: float = 0.0


def run_batch(simulate: Simulate, seed: int, tasks: Sequence[Task], budget_s: float) -> list[Outcome]:
    """Run `tasks` in order until `budget_s` is spent (at least one); what is not reached is the caller's again."""
    stop = time.monotonic() + budget_s
    outcomes: list[Outcome] = []
    for task in tasks:
        if _halt.is_set() or (outcomes and time.monotonic() >= stop):
            break
        outcomes.append(_run(simulate, seed, task))
    return outcomes


def _run(simulate: Simulate, seed: int, task: Task) -> Outcome:
    start = time.monotonic()
    named = replace(task, scenario=None)  # what is handed back need not carry the scenario
    try:
        row = dict(simulate(task.scenario, seed=seed, replication=task.replication))
        check_row(row)
    except Exception as error:  # whatever a design point does, the others go on
        return failed(named, error)
    return Outcome(named, row=row, seconds=time.monotonic() - start)


def failed(task: Task, error: Exception) -> Outcome:
    """The outcome of a task that ended in `error`."""
    line = " ".join(f"{type(error).__name__}: {error}".split())
    return Outcome(task, error=line, traceback="".join(traceback.format_exception(error)))


class InProcess(Executor):
    """Runs each call at once, here: one job needs no second process."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Return a future that is done; only an Exception is kept in it, so Ctrl-C still stops the run."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class WorkerPool(Executor):
    """`jobs` spawned processes (no lock or thread of this one is copied) that end when this one does, however it ends.

    Each worker watches the far end of one pipe, which closes on `shutdown(cancel_futures=True)` and with this process.
    """

    def __init__(self, jobs: int) -> None:
        context = multiprocessing.get_context("spawn")
        reader, self._lifeline = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(jobs, context, initializer=_begin_worker, initargs=(reader,))

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As Executor.submit; BrokenProcessPool once a worker has died. Ctrl-C reaches this process only."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a new worker inherits the mask
        try:
            return self._pool.submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: after all that is submitted, or after the task at hand with `cancel_futures`."""
        if cancel_futures:
            self._lifeline.close()
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)


def _begin_worker(lifeline: Connection) -> None:
    threading.Thread(target=_watch, args=(lifeline,), daemon=True).start()


def _watch(lifeline: Connection) -> None:
    """Let the batch end early once the pipe closes; a task that takes no end, or a parent that is gone, ends it here.

    To die at once would be wrong: a worker that dies while it hands over a result leaves the parent waiting for it.
    """
    lifeline.poll(None)  # nothing is ever sent: readable means closed
    _halt.set()
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join(GRACE_S)
    os._exit(1)


def local(jobs: int) -> Executor:
    """This process for one job, a pool of processes for more."""
    return InProcess() if jobs == 1 else WorkerPool(jobs)


class Runner:
    """Yields the outcomes of all tasks, batch by batch, in the order in which batches end."""

    def __init__(
        self, simulate: Simulate, *, seed: int, jobs: int, make_executor: Callable[[int], Executor] = local
    ) -> None:
        self.simulate = simulate
        self.seed = seed
        self.jobs = jobs
        self.make_executor = make_executor
        self._queue: deque[Task] = deque()
        self._flying: dict[Future[list[Outcome]], list[Task]] = {}
        self._suspects: list[Task] = []  # of batches that did not come back
        self._deadly: set[str] = set()  # points that killed a worker all alone
        self._broken = False
        self._ended = 0
        self._spent_s = 0.0

    def run(self, tasks: Iterable[Task]) -> Generator[list[Outcome], None, None]:
        """Run all `tasks`; when the caller stops asking, what still runs is dropped."""
        self._queue.extend(tasks)
        executor = self.make_executor(self.jobs)
        try:
            while self._queue or self._flying:
                self._fill(executor)
                yield from self._gather(FIRST_COMPLETED)
                if self._broken:
                    yield from self._gather(ALL_COMPLETED)
                    executor.shutdown(cancel_futures=True)
                    executor = self.make_executor(self.jobs)
                    self._broken = False
                if self._suspects:
                    yield from self._isolate()
        finally:
            executor.shutdown(cancel_futures=bool(self._flying))

    def _fill(self, executor: Executor) -> None:
        """Keep every worker busy and one batch waiting for each."""
        limit = 1 if isinstance(executor, InProcess) else 2 * self.jobs
        while self._queue and len(self._flying) < limit:
            batch = [self._queue.popleft() for _ in range(min(self._size(), len(self._queue)))]
            batch = [task for task in batch if task.point not in self._deadly]
            if not batch:
                continue
            try:
                self._flying[executor.submit(run_batch, self.simulate, self.seed, batch, BATCH_S)] = batch
            except BrokenProcessPool:
                self._queue.extendleft(reversed(batch))
                self._broken = True
                return

    def _size(self) -> int:
        """Tasks for a batch of about BATCH_S, but never so many that the last ones run on one worker."""
        shared = -(-len(self._queue) // (2 * self.jobs))
        wanted = FIRST_BATCH if not self._spent_s else int(BATCH_S * self._ended / self._spent_s)
        return max(1, min(shared, wanted, LARGEST_BATCH))

    def _gather(self, when: str) -> Iterator[list[Outcome]]:
        """Outcomes of the batches that have ended; the tasks of those that were lost become suspects."""
        for future in wait(self._flying, return_when=when).done:
            batch = self._flying.pop(future)
            error = future.exception()
            if error is None:
                yield self._accept(batch, future.result())
            else:
                self._suspects += batch
                self._broken |= isinstance(error, BrokenProcessPool)

    def _accept(self, batch: Sequence[Task], outcomes: list[Outcome]) -> list[Outcome]:
        """Count what was done and put the rest of the batch back in front."""
        self._ended += len(outcomes)
        self._spent_s += sum(outcome.seconds for outcome in outcomes)
        self._queue.extendleft(reversed(batch[len(outcomes) :]))
        return outcomes

    def _isolate(self) -> Iterator[list[Outcome]]:
        """Try each suspect once more, alone in a process: the innocent get their row, the culprit is named."""
        suspects, self._suspects = self._suspects, []
        executor = WorkerPool(1)
        try:
            for task in suspects:
                if task.point in self._deadly:
                    continue
                try:
                    outcomes = executor.submit(run_batch, self.simulate, self.seed, [task], 0.0).result()
                except BrokenProcessPool:
                    self._bury(task)
                    yield [Outcome(task, error="the worker process died (killed, out of memory or crashed)", died=True)]
                    executor.shutdown(cancel_futures=True)
                    executor = WorkerPool(1)
                except Exception as error:  # the task cannot travel to a process
                    yield [failed(task, error)]
                else:
                    yield self._accept([task], outcomes)
        finally:
            executor.shutdown(cancel_futures=True)

    def _bury(self, task: Task) -> None:
        """Remember a point that kills workers; stop when workers die whatever they are given."""
        self._deadly.add(task.point)
        if not self._ended and len(self._deadly) >= HOPELESS:
            what = f"worker processes die whatever they run ({HOPELESS} design points tried, one at a time)"
            guard = "a script that starts a sweep must do so under `if __name__ == '__main__':`"
            raise GemsimError(f"{what}; {guard}; --jobs 1 runs without workers and shows more")
