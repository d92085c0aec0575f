"""The life of a worker process: calls from a pipe, answers back, all that is said to a log, and where it is to a mark.

Log and mark are files that the process at the other end can read when this one has died or is silent.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import DupFd
from typing import Any, TextIO

LOG_BYTES = 20_000  # of a log that are shown: its end
UNBEGUN = -1  # the mark of a call that has not begun

_mark_at: int | None = None  # the file that says at what this process is, if it is a child
_log: TextIO | None = None  # where all goes that it says


def mark(index: int) -> None:
    """Note that the call at hand has come to `index`; outside a child this is nothing."""
    if _mark_at is not None:
        os.pwrite(_mark_at, index.to_bytes(8, "little", signed=True), 0)


def child_log() -> TextIO | None:
    """The log of this process, if it is a child."""
    return _log


class Passed:
    """Two descriptors on their way to a child."""

    def __init__(self, log: int, at: int) -> None:
        self._raw = (log, at)

    def __getstate__(self) -> tuple[Any, Any]:
        return DupFd(self._raw[0]), DupFd(self._raw[1])  # this happens while the process is made, as DupFd asks

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        self._raw = (state[0].detach(), state[1].detach())

    def both(self) -> tuple[int, int]:
        """Log and mark."""
        return self._raw


def serve(conn: Connection, passed: Passed) -> None:
    """The life of a child: calls until the other end is closed."""
    global _mark_at, _log
    log, _mark_at = passed.both()
    _log = _log_to(log)
    threading.Thread(target=_follow_parent, daemon=True).start()
    conn.send(True)
    while True:
        try:
            fn, args = pickle.loads(conn.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)
        except Exception as error:  # made of what cannot be had here
            conn.send((False, error))
            continue
        _answer(conn, fn, args)


def _answer(conn: Connection, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        answer = (True, fn(*args))
    except Exception as error:
        answer = (False, error)
    try:
        message = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # an answer that cannot travel
        message = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    conn.send_bytes(message)


def _log_to(descriptor: int) -> TextIO:
    """All that is written, by Python or below it, goes to the log; so does the stack of a crash."""
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    log = open(descriptor, "w+", buffering=1, errors="replace", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr = log
    faulthandler.enable(file=descriptor)
    faulthandler.register(signal.SIGUSR1, file=descriptor)
    return log


def _follow_parent() -> None:
    """End with the process that asks, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
