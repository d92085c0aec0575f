"""The files that a study or a command names: where they are looked for, and how they are read.

Only whole, plain files of a bounded size are read: a pipe or a device could keep a run waiting for ever. What a study
names is data, and a relative name in it leads nowhere outside its folder.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

_KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)  # fmt: skip


def size_of(path: Path, *, most: int) -> int:
    """The bytes of a plain file. Raises OSError for any other thing, and for a file of more than `most` bytes."""
    try:
        found = path.stat()
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.ENOENT, "no such file", str(path)) from error
    return _size(found, path, most)


def read_file(path: Path, *, most: int) -> bytes:
    """The content of a plain file. Raises OSError as `size_of` does."""
    size_of(path, most=most)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # never waits, whatever it is by now
    with os.fdopen(descriptor, "rb") as stream:
        _size(os.fstat(descriptor), path, most)
        content = stream.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most:,} bytes", str(path))
    return content


def _size(found: os.stat_result, path: Path, most: int) -> int:
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "no file")
        raise OSError(errno.EINVAL, f"{kind}, not a file", str(path))
    if found.st_size > most:
        raise OSError(errno.EFBIG, f"too large: {found.st_size:,} bytes, at most {most:,}", str(path))
    return found.st_size


def is_file(path: Path) -> bool:
    """Whether a plain file has this name; a name that no file can have is no error."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def leads_out(name: str) -> bool:
    """Whether a relative name leads out of the folder that it starts from."""
    return not os.path.isabs(name) and os.path.normpath(name).split(os.sep)[0] == os.pardir


def first_of(name: str, folders: Iterable[Path]) -> Path | None:
    """The first of these folders that holds a file of this name, as an absolute path to that file."""
    for folder in folders:
        path = folder / name
        if is_file(path):
            return path.resolve()
    return None
