"""A finished or stopped sweep again, from its folder alone: the points are built anew, nothing is simulated.

So a report, a notebook and a merge see what the sweep itself saw, and a folder of another version is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gemsim.errors import ResultsError, printable
from gemsim.files import read_file
from gemsim.results.provenance import LARGEST_LIST, runs_of
from gemsim.results.rows import RowStore
from gemsim.results.summary import Point, summarise
from gemsim.spec.loading import parse_study
from gemsim.spec.yaml import LARGEST
from gemsim.study.conclude import FAILED, error_file, incomplete, is_error
from gemsim.study.plan import MODEL, plan
from gemsim.study.points import realise
from gemsim.study.stopping import ends_of
from gemsim.study.sweep import SOURCE, Plan, SweepResult

AGAIN = "run gemsim sweep on the study again with --out this folder (what it holds is kept)"


def reopen(folder: Path) -> SweepResult:
    """The sweep that `folder` holds, with points, rows and summary.

    Raises ResultsError if the folder holds none, or one whose designs this version builds otherwise.
    """
    asked = plan_of(folder)
    points, _, _ = realise(asked.designs, asked.resolve, MODEL)
    if asked.inputs is not None:
        points = asked.inputs(points, asked.designs)
    table = RowStore(folder / "rows").read()
    failed = failed_in(folder)
    refuse_strangers(folder, points, set(table["point"].unique().to_pylist()))
    ends = ends_of(points, table, failed, replications=asked.replications, rule=asked.rule)
    lacking = incomplete(points, table, ends, but=failed)
    summary = summarise(points, table, require=asked.require, failed={**lacking, **failed}, **ends._asdict())
    return SweepResult(asked, folder, points, summary, failed, 0, lacking)


def plan_of(folder: Path) -> Plan:
    """What the last run in `folder` was asked for, from the study it keeps. ResultsError if there is none."""
    runs = runs_of(folder / "provenance.json")
    try:
        content = read_file(folder / SOURCE, most=LARGEST)
    except OSError as error:
        raise ResultsError(f"{folder}: holds no sweep ({SOURCE}: {error.strerror}); {AGAIN}") from error
    if not runs or not content:
        raise ResultsError(f"{folder}: holds no sweep that has ended or was stopped; {AGAIN}")
    last = runs[-1]
    if not _recorded(last):
        raise ResultsError(f"{folder}: provenance.json does not say what was run; {AGAIN}")
    quick = bool(last.get("quick"))
    loaded = parse_study(content, folder / SOURCE, quick=quick, folder=last.get("study_folder"))
    found = plan(loaded, seed=last.get("seed"), replications=last.get("replications"), quick=quick)
    return replace(found, facts={**found.facts, "study": last.get("study", found.facts["study"])})


def _recorded(run: Any) -> bool:
    """Whether it is a run as `record` writes it, as far as the plan needs it."""
    if not isinstance(run, dict):
        return False
    seed, replications = run.get("seed"), run.get("replications")
    if not isinstance(run.get("study_folder", ""), str):
        return False
    return type(seed) is int and type(replications) is int and seed >= 0 and replications >= 1


def failed_in(folder: Path) -> Mapping[str, str]:
    """Scenario id to what went wrong in the last run in `folder`, as text on one line that steers no terminal.

    An id names a file too, so what could be no id (a path that leads elsewhere) is none.
    """
    try:
        found: Any = json.loads(read_file(folder / FAILED, most=LARGEST_LIST))
    except (OSError, ValueError, RecursionError):  # absent: nothing failed
        return {}
    known = found if isinstance(found, dict) else {}
    return {id_: printable(str(why), keep="") for id_, why in known.items() if is_error(error_file(id_))}


def refuse_strangers(folder: Path, points: Sequence[Point], held: set[str]) -> None:
    """A folder of which no design is known here was made by another version, or its study has been exchanged."""
    known = {point.id for point in points if point.id}
    if held and not held & known:
        raise ResultsError(f"{folder}: none of its designs is one of this version of gemsim; {AGAIN}")
