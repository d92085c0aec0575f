"""Ctrl-C, and SIGTERM as a batch system sends it: a command ends in good order, at once if asked again.

The first signal is a KeyboardInterrupt, so that whoever is at work keeps what there is. The second ends the worker
processes, which write nothing, so that nobody waits for them. The third ends everything. Those that come late,
while the interpreter ends, do not change the exit code.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Self

HANDLED = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Stops:
    """Handles both signals while it is entered; `code` is the exit code of a command that was stopped.

    With `to_the_end` a process that was stopped does nothing more afterwards: it goes on counting until it has ended.
    """

    def __init__(self, *, to_the_end: bool = False) -> None:
        self._to_the_end = to_the_end
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}
        self.code = 128 + signal.SIGINT

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number, usual in HANDLED.items():
                if signal.getsignal(number) == usual:  # who has it ignored, as nohup and shells do, means it
                    self._before[number] = signal.signal(number, self._stop)
        if self._to_the_end:
            atexit.register(self._deaf)  # early, so late at the end: after multiprocessing has joined its children
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not (self._to_the_end and self._count):
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def _deaf(self) -> None:
        """Python takes its handlers away before it unloads what it loaded; a signal would then end it by itself."""
        for number in self._before if self._count else ():
            signal.signal(number, signal.SIG_IGN)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count == 1:
            self.code = 128 + number
            raise KeyboardInterrupt
        if self._count > 2:
            os._exit(self.code)
        loaded = sys.modules.get("multiprocessing")
        for child in loaded.active_children() if loaded else ():
            child.kill()
