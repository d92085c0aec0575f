"""Executors on this machine: this process itself, or worker processes that are watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from gemsim.study.children import Children, belong, watched

T = TypeVar("T")


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
    """`jobs` processes that end when this one does, however it ends; one that dies takes its own call along, no other.

    A thread stands before each process and waits for its answer.
    """

    def __init__(self, jobs: int) -> None:
        self._children = Children()
        self._threads = ThreadPoolExecutor(jobs, "gemsim", initializer=belong, initargs=(self._children,))

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As Executor.submit, but no keywords; Lost in the future if the process dies. Ctrl-C reaches only this one."""
        if kwargs:
            raise TypeError("a call in a worker takes no keywords")
        if fn is watched:  # brings its own limit
            return self._threads.submit(fn, *args)
        return self._threads.submit(watched, fn, args, None)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers: after all that is submitted, or at once with `cancel_futures`."""
        if cancel_futures:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._children.end()
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        if wait:
            self._children.end()


def local(jobs: int) -> Executor:
    """This process for one job, a pool of processes for more."""
    return InProcess() if jobs == 1 else WorkerPool(jobs)


@contextmanager
def here_or_there(dask: str | None, *, say: Callable[[str], None]) -> Iterator[Callable[[int], Executor]]:
    """What makes executors: of this machine, or of the Dask cluster with this address (see cluster.connected)."""
    if dask is None:
        yield local
    else:
        from gemsim.study.cluster import connected

        with connected(dask, say=say) as make:
            yield make
