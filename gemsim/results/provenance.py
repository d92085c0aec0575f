"""Where the rows of a folder come from: versions, seed, command, study; enough to make them again.

A run is listed before its first row and closed after its last, so that rows of a run that was killed have one too.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gemsim
from gemsim.errors import ResultsError
from gemsim.files import read_file
from gemsim.results.folder import write_text

RUNNING, ENDED, STOPPED, KILLED, FAILED = "running", "ended", "stopped", "killed", "failed"
LARGEST_LIST = 100_000_000  # bytes that are read of a list of runs, or of failures
_TOLD = ("when", "ended", "outcome", "rows_before", "rows_added", "found")
_SOFTWARE = ("folder", "command", "host", "process", "gemsim", "python", "packages")
_PACKAGES = ("numpy", "scipy", "simpy", "pyarrow")


def begin(
    path: Path, facts: Mapping[str, Any], *, rows: int, earlier: Sequence[Mapping[str, Any]] | None = None
) -> None:
    """Append a run to the list in `path` (to `earlier` in its place) before it adds anything to `rows` rows.

    A run that never ended was killed: what it added is what the folder has gained since it began.
    """
    runs = [_closed(run, rows) for run in (runs_of(path) if earlier is None else earlier)]
    started = {"when": _now(), "ended": None, "outcome": RUNNING, "rows_before": rows, "rows_added": None}
    _write(path, [*runs, {**started, **facts, **_software()}])


def end(path: Path, *, rows: int, outcome: str = ENDED, found: Mapping[str, Any] | None = None) -> None:
    """Close the run that `begin` wrote last, with what it `found`. A list that is gone is not made again."""
    runs = runs_of(path)
    if runs and runs[-1].get("outcome") == RUNNING:
        added = rows - int(runs[-1].get("rows_before", rows))
        runs[-1] |= {"ended": _now(), "outcome": outcome, "rows_added": added} | ({"found": found} if found else {})
        _write(path, runs)


@contextmanager
def recorded(path: Path, facts: Mapping[str, Any], *, rows: int, count: Callable[[], int]) -> Iterator[dict[str, Any]]:
    """`begin`, and `end` however what is done meanwhile ends; `count` says how many rows there are by then.

    Into what is handed out goes what the run finds and the list shall say.
    """
    begin(path, facts, rows=rows)
    found: dict[str, Any] = {}
    try:
        yield found
    except BaseException as error:
        outcome = STOPPED if isinstance(error, KeyboardInterrupt) else f"{FAILED}: {error}"
        with suppress(ResultsError):  # a disk that is full now must not hide why; the next run closes this one
            end(path, rows=count(), outcome=outcome, found=found)
        raise
    end(path, rows=count(), found=found)


def runs_of(path: Path) -> list[dict[str, Any]]:
    """The runs listed in `path`, oldest first; nothing where there is none. ResultsError if it cannot be read."""
    try:
        runs = json.loads(read_file(path, most=LARGEST_LIST))["runs"]
        if not all(isinstance(run, dict) for run in runs):
            raise TypeError("a run is no mapping")
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        todo = "mend it or move it away (the rows carry their seed and design themselves) and run again"
        raise ResultsError(f"{path}: is no list of runs ({reason}); {todo}") from error
    return list(runs)


def facts_of(run: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was asked for, without when and by which software."""
    return {name: value for name, value in run.items() if name not in (*_TOLD, *_SOFTWARE)}


def _closed(run: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """A run as it stands once another holds its folder; of one in another folder (a merge) that is not known."""
    if run.get("outcome") != RUNNING or "folder" in run:
        return dict(run)
    return {**run, "outcome": KILLED, "rows_added": rows - int(run.get("rows_before", rows))}


def _write(path: Path, runs: Sequence[Mapping[str, Any]]) -> None:
    write_text(path, json.dumps({"runs": runs}, indent=2) + "\n")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _software() -> dict[str, Any]:
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "host": platform.node(),
        "process": os.getpid(),
        "gemsim": gemsim.__version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
