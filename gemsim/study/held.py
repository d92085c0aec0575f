"""What an output folder holds before a run: rows that are kept, what has changed since, and the list of its runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from gemsim.errors import ResultsError
from gemsim.results import provenance
from gemsim.results.rows import RowStore, other_seeds
from gemsim.results.summary import Point
from gemsim.study.progress import Reporter

DESIGN_HASH = "design_hash"  # in the provenance: what decides designs and rows


WRITTEN = ("study.yaml", "source.yaml", "summary.csv", "costs.csv", "errors")  # what a sweep replaces or clears away


def refuse_foreign(folder: Path) -> None:
    """ResultsError if `folder` holds a file of a name that a sweep writes and no sweep was ever made there.

    So that `--out .` in the folder of a study called study.yaml does not write over it. The list of runs stands before
    anything else is written, and rows last if it is moved away.
    """
    if (folder / "provenance.json").exists() or (folder / "rows").exists():
        return
    others = [name for name in WRITTEN if (folder / name).exists()]
    if others:
        what = f"{folder}: holds {', '.join(others)}, which no sweep made there and this one would replace"
        raise ResultsError(f"{what}; give --out another folder, or move that away")


def held(store: RowStore, folder: Path, seed: int) -> pa.Table:
    """The rows in `folder`. ResultsError if they cannot be read, contradict each other or have another seed."""
    table = store.read()
    others = other_seeds(table, seed)
    if others:
        found = f"{folder}: holds rows of seed {others[0]}, not of seed {seed}"
        raise ResultsError(f"{found}; give --seed {others[0]} to go on there, or --out another folder")
    return table


def news(points: Sequence[Point], table: pa.Table, runs: Sequence[Mapping[str, Any]], now: Mapping[str, Any]) -> str:
    """What is kept and what is new, where the study asks something else than the last run in the folder did; or ""."""
    if not len(table):
        return ""
    designs = {point.id for point in points if point.id}
    there = set(table["point"].unique().to_pylist())
    known, strange = len(designs & there), len(there - designs)
    asked = runs[-1].get(DESIGN_HASH) if runs else None
    if asked == now.get(DESIGN_HASH) and (known or not designs):
        return ""
    what = "the study has changed since the last run here"
    if runs and asked == now.get(DESIGN_HASH):
        what = "the last run here was made by a version of gemsim whose designs are others"
    kept = f"{known} of {len(designs)} designs are known, {len(designs) - known} are new"
    return f"{what}: {kept}" + (f"; rows of {strange} others stay" if strange else "")


@contextmanager
def listed(
    facts: Mapping[str, Any],
    points: Sequence[Point],
    table: pa.Table,
    store: RowStore,
    folder: Path,
    report: Reporter,
    *,
    new: bool,
) -> Iterator[dict[str, Any]]:
    """Say what has changed since the last run in the folder, and list this one there if it asks or adds anything.

    What the run finds and the list shall say goes into what is handed out.
    """
    path = folder / "provenance.json"
    runs = provenance.runs_of(path)
    line = news(points, table, runs, facts)
    if line:
        report.say(line)
    if not new and same_run(runs, facts):
        yield {}
        return
    with provenance.recorded(path, facts, rows=len(table), count=lambda: len(store.keys())) as found:
        yield found


def same_run(runs: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> bool:
    """Whether the last run listed has ended and was asked for just what is asked now."""
    asked = json.loads(json.dumps(facts))  # as the list has it: a tuple is a list there
    return bool(runs) and runs[-1].get("outcome") == provenance.ENDED and provenance.facts_of(runs[-1]) == asked
