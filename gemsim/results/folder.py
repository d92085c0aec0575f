"""The output folder of a sweep: one writer at a time, whole files only, one clear line when the disk refuses."""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gemsim.errors import ResultsError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says about `path` (read-only, full, not a folder) into one ResultsError."""
    try:
        yield
    except OSError as error:
        at = error.filename or path
        reason = error.strerror or str(error)
        raise ResultsError(f"{at}: cannot be written ({reason}); free it or give --out another folder") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder` (made if absent) for this process; ResultsError if another one holds it.

    The lock is the kernel's and goes with the process, however it ends, so a stale file never blocks.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            busy = f"{folder}: another gemsim run (process {holder}) is writing here"
            raise ResultsError(f"{busy}; wait for it or give --out another folder") from None
        with writing(folder):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def replace_durably(temporary: Path, target: Path) -> None:
    """Give a complete, synced `temporary` the name `target`, on the disk before this returns."""
    temporary.replace(target)
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def json_text(value: Any) -> str:
    """Plain data as JSON, in which a number that is not finite is null: the standard knows neither NaN nor infinity."""
    return json.dumps(_finite(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step; a file that holds `text` already is left alone."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step; a file that holds it already is left alone."""
    with writing(path):
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        replace_durably(temporary, path)
