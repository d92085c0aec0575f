"""Runs (scenario, replication) tasks on any executor, in batches that grow to about a second.

A batch that is lost is run again. What it was lost at gets a second try, alone: only what ends two workers is called
deadly, is reported with all that they had logged, and leaves the rest to go on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from queue import Empty, SimpleQueue

from gemsim.errors import GemsimError, ValueRefused, show
from gemsim.study.children import CannotStart, Lost, watched
from gemsim.study.executors import InProcess, local
from gemsim.study.tasks import Key, Outcome, Simulate, Task, failed, run_batch
from gemsim.units import parse

BATCH_S = 1.5  # long against the cost of a batch, short against what a kill may lose
FIRST_BATCH = 8  # tasks, while nothing is known about their cost
LARGEST_BATCH = 1024  # tasks
HAND_OVER_S = 1.0  # between two lists of outcomes: each becomes a file, whatever the number of workers
LIMIT_S = 600.0  # for one replication, where nobody says
LIMIT_TIMES = 100.0  # and never less than this many times the longest so far
HOPELESS = 3  # points that end workers before anything has run, or workers that do not start: the fault is not theirs

Made = Future[list[Outcome]]


def limit_of(text: str) -> float:
    """Seconds that a replication may take, from a time with its unit. Raises ValueRefused."""
    seconds: float = parse(text, "time")
    if seconds <= 0.0:
        raise ValueRefused(f"{show(text)} leaves no time", "a longer one; a replication takes milliseconds to minutes")
    return seconds


class Runner:
    """Yields the outcomes of all tasks, in the order in which batches end.

    `limit_s` bounds the time of a replication. Without one it is LIMIT_S, or LIMIT_TIMES the longest so far, in worker
    processes; what runs in this process (one job) is bounded, and outlived, only if a limit is given: it then has a
    worker too.
    """

    def __init__(
        self,
        simulate: Simulate,
        *,
        seed: int,
        jobs: int,
        make_executor: Callable[[int], Executor] = local,
        limit_s: float | None = None,
    ) -> None:
        self.simulate = simulate
        self.seed = seed
        self.jobs = jobs
        self.make_executor = make_executor
        self.limit_s = limit_s
        self._queue: deque[Task] = deque()
        self._again: deque[Task] = deque()  # suspects, to be tried alone, one of a point at a time
        self._held: dict[str, list[Task]] = {}  # the other tasks of their points, until that is settled
        self._tried: set[Key] = set()  # all that have been suspects
        self._flying: dict[Made, list[Task]] = {}
        self._landed: SimpleQueue[Made] = SimpleQueue()
        self._deadly: set[str] = set()  # points that ended two workers
        self._ready: list[Outcome] = []
        self._urgent = self._broken = False
        self._unstarted = self._ended = 0
        self._spent_s = self._longest_s = 0.0

    def add(self, tasks: Iterable[Task]) -> None:
        """More of them, while `run` is under way or before it is called again."""
        self._queue.extend(tasks)

    @property
    def waiting(self) -> bool:
        """Whether tasks were added that `run` has not come to."""
        return bool(self._queue)

    def run(self, tasks: Iterable[Task]) -> Generator[list[Outcome], None, None]:
        """Run all `tasks`; when the caller stops asking, what still runs is dropped. Raises CannotStart."""
        self._queue.extend(tasks)
        executor = self.make_executor(self.jobs)
        since = time.monotonic()
        try:
            while self._queue or self._again or self._flying:
                self._fill(executor)
                self._gather()
                now = time.monotonic()
                if self._urgent or (self._ready and now - since >= HAND_OVER_S):
                    since = now
                    yield self._hand_over()
                if self._broken and not self._flying:
                    executor.shutdown(cancel_futures=True)
                    executor = self.make_executor(self.jobs)
                    self._broken = False
            if self._ready:
                yield self._hand_over()
        except (KeyboardInterrupt, GemsimError):
            if self._ready:
                yield self._hand_over()
            raise
        finally:
            executor.shutdown(cancel_futures=bool(self._flying))

    def _hand_over(self) -> list[Outcome]:
        ready, self._ready, self._urgent = self._ready, [], False
        return ready

    def _fill(self, executor: Executor) -> None:
        """Keep every worker busy and one batch waiting for each."""
        jobs = max(1, getattr(executor, "slots", self.jobs))  # `slots`: of one that grows and shrinks
        limit = 1 if isinstance(executor, InProcess) else 2 * jobs
        while (self._queue or self._again) and len(self._flying) < limit and not self._broken:
            batch = [self._again.popleft()] if self._again else self._batch(jobs)
            if batch:
                self._submit(executor, batch)

    def _submit(self, executor: Executor, batch: list[Task]) -> None:
        what = (self.simulate, self.seed, batch, BATCH_S)
        try:
            if isinstance(executor, InProcess) and self.limit_s is None:
                future = executor.submit(run_batch, *what)
            else:
                future = executor.submit(watched, run_batch, what, self._limit())
        except BrokenProcessPool:
            self._queue.extendleft(reversed(batch))
            self._broken = True
            return
        self._flying[future] = batch
        future.add_done_callback(self._landed.put)

    def _limit(self) -> float:
        return max(LIMIT_S, LIMIT_TIMES * self._longest_s) if self.limit_s is None else self.limit_s

    def _batch(self, jobs: int) -> list[Task]:
        """Tasks for about BATCH_S, but never so many that the last ones run on one worker."""
        shared = -(-len(self._queue) // (2 * jobs))
        wanted = FIRST_BATCH if not self._spent_s else int(BATCH_S * self._ended / self._spent_s)
        batch = []
        for task in [self._queue.popleft() for _ in range(max(1, min(shared, wanted, LARGEST_BATCH)))]:
            if task.point in self._held:
                self._held[task.point].append(task)
            elif task.point not in self._deadly:
                batch.append(task)
        return batch

    def _gather(self) -> None:
        """Take the batches that have ended; wait for the first, but not for long."""
        try:
            future = self._landed.get(timeout=HAND_OVER_S) if self._flying else None
            while future is not None:
                self._land(self._flying.pop(future), future)
                future = self._landed.get_nowait()
        except Empty:
            pass

    def _land(self, batch: list[Task], future: Made) -> None:
        """See what has become of a batch."""
        try:
            self._accept(batch, future.result())
        except Lost as lost:
            self._lose(batch, lost)
        except CannotStart:
            self._unstarted += 1
            if self._unstarted >= HOPELESS:
                raise
            self._queue.extendleft(reversed(batch))
        except GemsimError:  # nothing that another try would mend
            raise
        except (Exception, CancelledError) as error:
            self._broken |= isinstance(error, BrokenProcessPool)
            for task in batch:
                self._suspect(task, error)

    def _accept(self, batch: Sequence[Task], outcomes: list[Outcome]) -> None:
        """Count what was done and put the rest of the batch back in front."""
        self._unstarted = 0
        self._ended += len(outcomes)
        for outcome in outcomes:
            self._spent_s += outcome.seconds
            self._longest_s = max(self._longest_s, outcome.seconds)
            self._urgent |= outcome.row is None
        self._ready += outcomes
        self._queue.extendleft(reversed(batch[len(outcomes) :]))
        if batch[0].key in self._tried:
            self._settle(batch[0].point)

    def _lose(self, batch: list[Task], lost: Lost) -> None:
        """The task that was at hand is tried alone, and named if that is lost too; the others go back."""
        if 0 <= lost.at < len(batch):
            culprit = batch.pop(lost.at)
            self._queue.extendleft(reversed(batch))
            batch = [culprit]
        for task in batch:
            self._suspect(task, lost)

    def _suspect(self, task: Task, error: BaseException) -> None:
        """Try it once more, alone; what has had that is reported."""
        if task.key in self._tried:
            self._report(task, error)
        elif task.point in self._held:
            self._held[task.point].append(task)
        else:
            self._tried.add(task.key)
            self._held[task.point] = []
            self._again.append(task)

    def _report(self, task: Task, error: BaseException) -> None:
        """Name a task that has ended two workers, or that cannot travel to one."""
        if isinstance(error, Lost | BrokenProcessPool):
            self._deadly.add(task.point)
            why = str(error) if isinstance(error, Lost) else "the worker process died (of what, its pool does not say)"
            outcome = Outcome(task, error=why, log=getattr(error, "log", ""), died=True)
        else:
            outcome = failed(task, error if isinstance(error, Exception) else RuntimeError("its call was cancelled"))
        self._ready.append(replace(outcome, task=replace(task, scenario=None)))
        self._urgent = True
        self._settle(task.point)
        if not self._ended and len(self._deadly) >= HOPELESS:
            what = f"worker processes die whatever they run ({HOPELESS} design points tried, each twice)"
            raise GemsimError(f"{what}; --jobs 1 runs without workers and shows more")

    def _settle(self, point: str) -> None:
        """A suspect has been tried: the other tasks of its point go on, or are dropped with it."""
        held = self._held.pop(point, [])
        if point not in self._deadly:
            self._queue.extendleft(reversed(held))
