"""Sweeps in processes of their own, to be stopped and killed."""

from __future__ import annotations

import time
from pathlib import Path


def members(group: int) -> list[int]:
    """The live processes of a process group."""
    alive = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            alive.append(int(path.parent.name))
    return alive


def wait_until_gone(group: int) -> None:
    """The last of the others end when they see that the sweep has, a moment after it."""
    deadline = time.monotonic() + 20.0
    while members(group):
        assert time.monotonic() < deadline, "workers outlive their sweep"
        time.sleep(0.05)
