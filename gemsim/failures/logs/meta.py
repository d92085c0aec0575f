"""What lies beside a log: number of nodes, observed window and care, from meta.json and the table it points to."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gemsim.errors import ValueRefused, show
from gemsim.failures.logs.read import Where
from gemsim.files import read_file

LARGEST = 4 * 2**20  # bytes
_INCOMPLETE = ("narrated", "incomplete", "lower bound")


@dataclass(frozen=True, slots=True)
class Meta:
    """What is known of the observation; None where nothing says it."""

    nodes: int | None = None
    begin_h: float | None = None
    end_h: float | None = None
    gpus_per_node: int | None = None
    varies: bool = False
    refused: str = ""  # why the rows are no measure of a rate
    path: Path | None = None
    name: str = ""


def read_meta(log: Path, where: Sequence[Where] = (), *, needed: bool = True) -> Meta:
    """The meta.json beside `log`, or an empty Meta. Values per system are looked up by the one value of --where;
    one has to be named only if they are `needed`.

    Raises ValueRefused when the file cannot be read.
    """
    path = log.parent / "meta.json"
    if not path.is_file():
        return Meta()
    try:
        known = json.loads(read_file(path, most=LARGEST))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueRefused(
            f"{path}: cannot be read ({show(str(error))})", "JSON", "mend it, or move it away"
        ) from error
    if not isinstance(known, dict):
        raise ValueRefused(f"{path}: not an object", 'e.g. {"nodes": 400, "obs_start_h": 0, "obs_end_h": 8352}')
    keys = [one.values[0] for one in where if one.keep and len(one.values) == 1]
    kind = str(known.get("kind", ""))
    refused = kind if any(word in kind for word in _INCOMPLETE) else ""
    meta = Meta(
        nodes=_whole(_pick(known.get("nodes"), keys)),
        begin_h=_number(_pick(known.get("obs_start_h"), keys)),
        end_h=_number(_pick(known.get("obs_end_h"), keys)),
        gpus_per_node=_whole(_pick(known.get("gpus_per_node"), keys)),
        varies="varies" in str(known.get("nodes", "")),
        refused=refused, path=path, name=str(known.get("name", log.parent.name)),
    )  # fmt: skip
    return _from_table(meta, known, log.parent, where) if needed else meta


def _from_table(meta: Meta, known: Mapping[str, Any], folder: Path, where: Sequence[Where]) -> Meta:
    """Fill what meta.json refers to a table for: "per system, see systems.csv", "per system: first_event_h"."""
    named = re.search(r"per (\w+), see ([\w.-]+\.csv)", str(known.get("nodes", "")))
    if named is None or not (folder / named[2]).is_file():
        return meta
    column, table = named[1], folder / named[2]
    wanted = [one for one in where if one.column == column and one.keep]
    if len(wanted) != 1 or len(wanted[0].values) != 1:
        raise ValueRefused(
            f"{meta.path}: nodes and window are given per {column}", f"one {column} at a time",
            f"add --where {column}=VALUE (see {table.name})",
        )  # fmt: skip
    with table.open(encoding="utf-8", newline="") as stream:
        row = next((row for row in csv.DictReader(stream) if row.get(column) == wanted[0].values[0]), None)
    if row is None:
        raise ValueRefused(f"{table}: no {column} {show(wanted[0].values[0])}", "one of that table")
    ends = [str(known.get(key, "")).rpartition(": ")[2] for key in ("obs_start_h", "obs_end_h")]
    begin, end = (_number(row.get(name)) for name in ends)
    return replace(meta, nodes=_whole(row.get("nodes")), begin_h=begin, end_h=end)


def _pick(value: Any, keys: Sequence[str]) -> Any:
    """A value that is given for each system: that of the system asked for."""
    return next((value[key] for key in keys if key in value), None) if isinstance(value, dict) else value


def _number(value: Any) -> float | None:
    """A finite number; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) and number >= 1 else None
