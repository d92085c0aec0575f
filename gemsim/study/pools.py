"""One pool of processes lent again and again: starting workers costs more than some stages of a job take."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from types import TracebackType
from typing import Any, Self, TypeVar

from gemsim.study.executors import InProcess, local

T = TypeVar("T")


class Pools:
    """Lends one executor again and again; one that is ended with its futures cancelled is replaced by a new one."""

    def __init__(self, jobs: int, make: Callable[[int], Executor] = local) -> None:
        self.jobs = jobs
        self._make = make
        self._held: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._held is not None:
            self.end(cancel=kind is not None)

    def lend(self, jobs: int) -> Executor:
        """As `executors.local`, for `sweep(make_executor=...)`: ending what is lent leaves the workers for the next."""
        held = self.held
        return held if isinstance(held, InProcess) else _Lent(self)

    @property
    def held(self) -> Executor:
        """The executor behind what is lent, made when first asked for."""
        if self._held is None:
            self._held = self._make(self.jobs)
        return self._held

    def end(self, *, cancel: bool) -> None:
        """End the workers."""
        held, self._held = self._held, None
        if held is not None:
            held.shutdown(cancel_futures=cancel)


class _Lent(Executor):
    def __init__(self, pools: Pools) -> None:
        self._pools = pools

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As Executor.submit."""
        return self._pools.held.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers only where what still runs is to be dropped."""
        if cancel_futures:
            self._pools.end(cancel=True)
