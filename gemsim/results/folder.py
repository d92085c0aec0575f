"""The output folder of a sweep: one writer at a time, whole files only, one clear line when the disk refuses."""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gemsim.errors import ResultsError

LOCK = ".lock"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says about `path` (read-only, full, not a folder) into one ResultsError."""
    try:
        yield
    except OSError as error:
        at = error.filename or path
        reason = error.strerror or str(error)
        raise ResultsError(f"{at}: cannot be written ({reason}); free it or give --out another folder") from error


@dataclass(frozen=True, slots=True)
class Hold:
    """The right to write in `folder`, as long as its lock file is the one that was locked."""

    folder: Path
    descriptor: int

    def check(self) -> None:
        """Raise ResultsError if the folder was removed or exchanged: what was written there is not in it any more."""
        held = os.fstat(self.descriptor)
        try:
            found = (self.folder / LOCK).stat()
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != (held.st_dev, held.st_ino):
            gone = f"{self.folder}: was removed or replaced while this run was writing there"
            raise ResultsError(f"{gone}; what it held is gone; run again, which makes anew what is missing")


@contextmanager
def locked(folder: Path) -> Iterator[Hold]:
    """Hold `folder` (made if absent) for this process; ResultsError if another one holds it.

    The lock is the kernel's and goes with the process, however it ends, so a stale file never blocks.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(descriptor, folder)
        with writing(folder):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {platform.node()}".encode(), 0)
        yield Hold(folder, descriptor)
    finally:
        os.close(descriptor)


def _take(descriptor: int, folder: Path) -> None:
    """Take the lock at once or raise ResultsError: who has it, or that this filesystem gives none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        process, _, host = os.read(descriptor, 300).decode(errors="replace").strip().partition(" ")
        where = f" on {host}" if host not in ("", platform.node()) else ""
        busy = f"{folder}: another gemsim run (process {process or 'unknown'}{where}) is writing here"
        raise ResultsError(f"{busy}; wait for it or give --out another folder") from None
    except OSError as error:
        refused = f"{folder}: this filesystem gives no lock ({error.strerror}), so two runs could write here at once"
        todo = "give --out a folder on a local disk, or have it mounted with locks (docs/folder.md)"
        raise ResultsError(f"{refused}; {todo}") from error


def replace_durably(temporary: Path, target: Path) -> None:
    """Give a complete, synced `temporary` the name `target`, on the disk before this returns."""
    temporary.replace(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in `folder` on the disk before this returns."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file `path` in one step; if anything stops it, `path` stays as it was."""
    temporary = path.with_name(f".{path.name}.tmp")
    with writing(path):
        try:
            with temporary.open("wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            replace_durably(temporary, path)
        except BaseException:
            with suppress(OSError):  # a full disk gets its bytes back; what cannot be removed is never read
                temporary.unlink(missing_ok=True)
            raise


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
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as stream:
        stream.write(content)
