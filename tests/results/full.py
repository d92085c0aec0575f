"""A disk that is full from some step of writing a file on."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from gemsim.results import folder

STEPS = ("open", "write", "fsync", "rename", "sync_folder")


def break_at(monkeypatch: pytest.MonkeyPatch, step: str, *, after: int = 0) -> None:
    """Have `step` of every file that is written fail with ENOSPC, but for the first `after` times."""
    calls = 0

    def full(usual: Any) -> Any:
        def fails(*given: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > after:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return usual(*given, **named)

        return fails

    if step in ("open", "write"):
        usual_open = Path.open

        def opened(self: Path, mode: str = "r", *given: Any, **named: Any) -> Any:
            if "w" not in mode:
                return usual_open(self, mode, *given, **named)
            if step == "open":
                return full(usual_open)(self, mode, *given, **named)
            stream = usual_open(self, mode, *given, **named)
            try:
                full(lambda: None)()
            except OSError as error:
                return _Full(stream, error)
            return stream

        monkeypatch.setattr(Path, "open", opened)
    elif step == "rename":
        usual = Path.replace
        monkeypatch.setattr(Path, "replace", lambda self, target: full(usual)(self, target))
    else:
        where = os if step == "fsync" else folder
        monkeypatch.setattr(where, step, full(getattr(where, step)))


class _Full:
    """A stream that takes nothing."""

    def __init__(self, stream: Any, error: OSError) -> None:
        self._stream = stream
        self._error = error

    def write(self, content: Any) -> int:
        raise self._error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stream.close()
