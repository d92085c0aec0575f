"""Where the rows of a folder come from: versions, seed, command, study; enough to make them again."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gemsim
from gemsim.results.folder import write_text

_PACKAGES = ("numpy", "scipy", "simpy", "pyarrow")


def record(path: Path, facts: Mapping[str, Any], *, added: int) -> None:
    """Append a run that added rows to the list in `path`; a run that added none leaves the file as it is."""
    runs = runs_of(path)
    if added or not runs:
        runs.append(
            {"when": datetime.now(UTC).isoformat(timespec="seconds"), "rows_added": added, **facts, **_software()}
        )
        write_text(path, json.dumps({"runs": runs}, indent=2) + "\n")


def runs_of(path: Path) -> list[Any]:
    """What `record` wrote, oldest first; nothing where there is none."""
    try:
        runs = json.loads(path.read_text())["runs"]
    except (OSError, ValueError, KeyError, TypeError):  # absent, or not ours: the rows carry seed and ids themselves
        return []
    return runs if isinstance(runs, list) else []


def _software() -> dict[str, Any]:
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "gemsim": gemsim.__version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
