"""The folder of the study that is being read: where the names of files in it start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from gemsim.errors import ValueRefused, show
from gemsim.files import leads_out

_folder: ContextVar[str] = ContextVar("folder of the study", default="")


@contextmanager
def beside(folder: str) -> Iterator[None]:
    """Read a study of this folder."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def folder_of_study() -> str:
    """The folder of the study that is being read; the working folder where none is."""
    return _folder.get()


def folders(of_study: str) -> tuple[Path, ...]:
    """Where a relative name of a study is looked for: its own folder, then the working folder."""
    return Path(of_study), Path()


def refuse_outside(name: str) -> None:
    """Raises ValueRefused for a relative name that leads out of where it starts."""
    if leads_out(name):
        what = f"leads out of the study's folder ({show(name)})"
        raise ValueRefused(what, "a name below that folder, or an absolute path", "write the path from the root")
