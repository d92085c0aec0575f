"""What an input may cause: bounded work, writes where results go, no foreign code. Python's audit events tell."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

CPU_S = 30.0  # of one case: a thousand times what a good input needs
MEMORY = 3 * 2**30  # bytes on top of what the process has

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.rename",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.chown",
}
_FOREIGN = {
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
    "pty.spawn",
    "os.startfile",
}
_PROCESSES = os.path.join(os.path.realpath(tempfile.gettempdir()), "pymp-")  # where processes of one run meet
HARMLESS = ("/dev/null", "/dev/tty")

_allowed: list[Path] = []
_seen: list[str] = []
_on = False


class Hung(BaseException):
    """A case used up its CPU time. Not an Exception, so that no handler takes it for a failure of a point."""


class Defect(AssertionError):
    """Something that no input may cause."""


def _inside(name: Any) -> bool:
    if isinstance(name, int):
        return True
    path = os.path.realpath(os.fsdecode(name))
    inside = any(path == str(one) or path.startswith(f"{one}{os.sep}") for one in _allowed)
    return inside or path in HARMLESS or path.startswith(_PROCESSES)


def _writes(name: Any, flags: Any) -> bool:
    """Whether this call of `open` can leave something behind: of a folder it makes a file without a name at most."""
    return isinstance(flags, int) and bool(flags & _WRITES) and not os.path.isdir(name)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _on:
        return
    if event == "socket.connect" and isinstance(args[1], str | bytes):
        return  # of this machine, by a name
    if event in _FOREIGN:
        _seen.append(f"{event} {args[:2]!r}")
    elif event == "open" and _writes(args[0], args[2]) and not _inside(args[0]):
        if "__pycache__" not in str(args[0]):  # the interpreter keeps what it compiles
            _seen.append(f"wrote {args[0]!r}")
    elif event in _CHANGES and not _inside(args[0]) and "__pycache__" not in str(args[0]):
        _seen.append(f"{event} {args[0]!r}")


sys.addaudithook(_hook)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise Hung


@contextmanager
def watched(*writable: Path, cpu_s: float = CPU_S) -> Iterator[None]:
    """Raise Defect where the block writes outside `writable`, runs a program or does not come back."""
    global _on
    _allowed[:] = [path.resolve() for path in writable]
    _seen.clear()
    before = signal.signal(signal.SIGPROF, _stop)
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    limits = resource.getrlimit(resource.RLIMIT_AS)
    if pages:
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    _on = True
    try:
        yield
    except Hung:
        raise Defect(f"no end within {cpu_s:g} CPU seconds") from None
    finally:
        _on = False
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGPROF, before)
    if _seen:
        raise Defect("; ".join(_seen[:3]))
