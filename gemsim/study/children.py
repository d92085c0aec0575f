"""Calls in processes that are watched: one that dies or is silent is replaced, and the caller learns at what it was.

Each child has a pipe and a log of its own, so that the end of one costs the others nothing. Children are forked from a
server that has imported the simulator once: a new one costs milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import BaseContext
from typing import IO, Any, TypeVar

from gemsim.errors import GemsimError
from gemsim.study.child import LOG_BYTES, UNBEGUN, Passed, serve

PRELOADED = ["gemsim.study.tasks", "gemsim.engine.run", "gemsim.scenario"]
READY_S = 300.0  # for a child to import what it needs, from a slow disk that many share
LOOK_S = 0.5  # between two looks at a child that is to answer within a limit
DUMP_S = 0.3  # for a child to write down where it hangs

T = TypeVar("T")
_starting = threading.Lock()  # what is set aside while a process starts is that of the whole process


class Lost(GemsimError):
    """A call that did not come back: `why`, the last index it marked (or UNBEGUN), and what its process had logged."""

    def __init__(self, why: str, at: int, log: str = "") -> None:
        super().__init__(why, at, log)
        self.why, self.at, self.log = why, at, log

    def __str__(self) -> str:
        return self.why


class Unanswered(Lost):
    """The process was killed, since it gave no answer within its limit."""


class CannotStart(GemsimError):
    """No process for a call could be made."""


class Child:
    """One process that makes calls, one at a time."""

    def __init__(self) -> None:
        self._conn, theirs = multiprocessing.Pipe()
        self._log, self._at = _unnamed_file(), _unnamed_file()
        passed = Passed(self._log.fileno(), self._at.fileno())
        self._process = _context().Process(target=serve, args=(theirs, passed), daemon=True)  # type: ignore[attr-defined]
        try:
            with _starting, _sigint_blocked(), _may_have_children():
                self._process.start()
            theirs.close()
            ready = self._conn.poll(READY_S) and self._conn.recv()
        except (OSError, EOFError, RuntimeError) as error:
            self.end()
            raise CannotStart(_unstarted(str(error) or "it ended at once")) from error
        if not ready:
            self.end()
            raise CannotStart(_unstarted(f"it was not ready after {READY_S:g} s"))

    def call(self, fn: Callable[..., T], args: tuple[Any, ...], *, limit_s: float | None) -> T:
        """`fn(*args)`, made there, or what it raises; Lost if that is not answered. `limit_s` counts from each mark."""
        message = pickle.dumps((fn, args), pickle.HIGHEST_PROTOCOL)  # before anything is sent: it may not travel
        os.pwrite(self._at.fileno(), UNBEGUN.to_bytes(8, "little", signed=True), 0)
        try:
            self._conn.send_bytes(message)
            self._await(limit_s)
            good, value = self._conn.recv()
        except (EOFError, OSError) as error:
            raise Lost(f"the worker process died ({self._how()})", self._reached(), self._said()) from error
        if good:
            return value  # type: ignore[no-any-return]
        raise value

    def end(self) -> None:
        """Kill the process, whatever it does."""
        self._conn.close()
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()
        self._log.close()
        self._at.close()

    def _await(self, limit_s: float | None) -> None:
        """Return once there is something to read."""
        seen, since = UNBEGUN, time.monotonic()
        look = None if limit_s is None else min(LOOK_S, limit_s / 2)
        while not self._conn.poll(look):
            assert limit_s is not None
            at, now = self._reached(), time.monotonic()
            if at != seen:
                seen, since = at, now
            elif now - since > (limit_s if at != UNBEGUN else max(limit_s, READY_S)):  # it may have much to import
                raise Unanswered(f"no answer within {limit_s:g} s", at, self._where_it_hangs())

    def _where_it_hangs(self) -> str:
        """Its log, with the Python stack that the signal makes it write."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGUSR1)
        time.sleep(DUMP_S)
        return self._said()

    def _reached(self) -> int:
        return int.from_bytes(os.pread(self._at.fileno(), 8, 0), "little", signed=True)

    def _said(self) -> str:
        descriptor = self._log.fileno()
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, LOG_BYTES, max(0, size - LOG_BYTES)).decode(errors="replace")

    def _how(self) -> str:
        self._process.join(READY_S)
        code = self._process.exitcode
        if code is None or code >= 0:
            return f"exit code {code}"
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"{name}; out of memory, or killed" if name == "SIGKILL" else name


class Children:
    """Lends children and keeps those that come back; a lost one is not missed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._busy: set[Child] = set()
        self._ended = False

    def call(self, fn: Callable[..., T], args: tuple[Any, ...], *, limit_s: float | None = None) -> T:
        """As Child.call; a child that had gone before the call began is replaced once."""
        child, fresh = self._take()
        try:
            answer = child.call(fn, args, limit_s=limit_s)
        except Lost as lost:
            self._drop(child)
            if fresh or lost.at != UNBEGUN or isinstance(lost, Unanswered) or self._ended:
                raise
            return self.call(fn, args, limit_s=limit_s)
        except Exception:
            self._give_back(child)
            raise
        except BaseException:  # Ctrl-C in the middle: its answer would be taken for that of the next call
            self._drop(child)
            raise
        self._give_back(child)
        return answer

    def end(self) -> None:
        """Kill all of them; what they are at is lost."""
        with self._lock:
            self._ended = True
            everyone, self._idle = [*self._idle, *self._busy], []
        for child in everyone:
            if child in self._busy:
                child._process.kill()  # whoever waits for it sees its end, and drops it
            else:
                child.end()

    def _take(self) -> tuple[Child, bool]:
        with self._lock:
            child = self._idle.pop() if self._idle else None
        fresh = child is None
        child = child or Child()
        with self._lock:
            self._busy.add(child)
            ended = self._ended
        if ended:
            self._drop(child)
            raise CannotStart("the workers have been ended")
        return child, fresh

    def _give_back(self, child: Child) -> None:
        with self._lock:
            self._busy.discard(child)
            if not self._ended:
                self._idle.append(child)
                return
        child.end()

    def _drop(self, child: Child) -> None:
        with self._lock:
            self._busy.discard(child)
        child.end()


def _context() -> BaseContext:
    """Fork from a server that is clean; where there is none, spawn."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _unnamed_file() -> IO[bytes]:
    return tempfile.TemporaryFile(buffering=0)


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Ctrl-C reaches this process only: what is started inherits the mask."""
    resource_tracker.ensure_running()  # which starts before any child, and lets SIGINT through again once it has
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _may_have_children() -> Iterator[None]:
    """A worker of Dask is a daemon, which multiprocessing lets have no children: ours end with it all the same."""
    config: dict[str, Any] = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    held = config.pop("daemon", None)
    try:
        yield
    finally:
        if held is not None:
            config["daemon"] = held


def _unstarted(why: str) -> str:
    what = f"worker processes die whatever they run: one could not be started ({' '.join(why.split())})"
    guard = "a script that starts a sweep must do so under `if __name__ == '__main__':`"
    return f"{what}; {guard}; --jobs 1 runs without workers and shows more"


_default = Children()
_mine = threading.local()


def belong(children: Children) -> None:
    """From now on the calls that this thread has watched are made by `children`."""
    _mine.children = children


def watched(fn: Callable[..., T], args: tuple[Any, ...], limit_s: float | None) -> T:
    """`fn(*args)` in a child of this process, killed where it is silent for `limit_s` after a mark; Lost tells."""
    children: Children = getattr(_mine, "children", _default)
    return children.call(fn, args, limit_s=limit_s)
