"""Ctrl-C, and SIGTERM as a batch system sends it: a command ends in good order, at once if asked again.

The first signal is a KeyboardInterrupt, so that whoever is at work keeps what there is. The second ends the worker
processes, which write nothing, so that nobody waits for them. The third ends everything.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Self

HANDLED = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Stops:
    """Handles both signals while it is entered; `code` is the exit code of a command that was stopped."""

    def __init__(self) -> None:
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}
        self.code = 128 + signal.SIGINT

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number, usual in HANDLED.items():
                if signal.getsignal(number) == usual:  # who has it ignored, as nohup and shells do, means it
                    self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

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
