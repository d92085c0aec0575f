"""The end of a sweep, and of a merge: parts united, the summary written, and what the folder still lacks.

All of it follows from the rows, so a run that is stopped here loses nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from gemsim.errors import ResultsError
from gemsim.results.folder import json_text, write_text
from gemsim.results.rows import RowStore, keys_of
from gemsim.results.summary import Point, Require, Summary, summarise
from gemsim.results.table import to_csv
from gemsim.study.stopping import STOPPED, Ends, Rule, ends_of

FAILED = "errors/failed.json"  # scenario id to what went wrong
INCOMPLETE = "incomplete"  # the first word of why a design is shown without numbers


def error_file(id_: str) -> str:
    """Where in the folder the traceback of a design lies."""
    return f"errors/{id_[:16]}.txt"


def is_error(name: str) -> bool:
    """Whether a sweep writes a file of this name within its folder: a traceback, or the list of all that failed."""
    return name == FAILED or re.fullmatch(r"errors/[\w-]{1,16}\.txt", name) is not None


def conclude(
    points: Sequence[Point],
    store: RowStore,
    folder: Path,
    *,
    replications: int,
    rule: Rule | None = None,
    require: Require,
    failed: Mapping[str, str],
    least: int,
) -> tuple[Summary, dict[str, str]]:
    """Write what the rows in `store` say into `folder`; the summary, and which designs lack replications (their ids).

    ResultsError if the rows contradict each other, are fewer than `least` or the folder cannot be written.
    """
    store.compact()
    table = store.read()
    if len(table) < least:  # a summary without them would be another
        gone = (
            f"{store.folder}: {least - len(table)} replications are gone since this run began: something removed files"
        )
        raise ResultsError(f"{gone}; run again, which makes them anew")
    if failed:
        write_text(folder / FAILED, json_text(failed))
    ends = ends_of(points, table, failed, replications=replications, rule=rule)
    lacking = incomplete(points, table, ends, but=failed)
    summary = summarise(points, table, require=require, failed={**lacking, **failed}, **ends._asdict())
    write_text(folder / "summary.csv", to_csv(summary.rows))
    write_text(folder / "costs.csv", to_csv(summary.costs))
    return summary, lacking


def incomplete(points: Sequence[Point], table: pa.Table, ends: Ends, *, but: Mapping[str, str]) -> dict[str, str]:
    """Scenario id to how many of its replications there are, of designs that lack some and are not in `but`.

    Where a rule may end a design early, those lack some that it has neither ended nor left to the clock.
    """
    wanted = dict.fromkeys(point.id for point in points if point.id and point.id not in but)
    if not isinstance(ends.replications, int):
        open_ = [id_ for id_ in wanted if ends.stopped_by[id_] == STOPPED]
        held = Counter(id_ for id_, _ in keys_of(table))
        return {id_: f"{INCOMPLETE}: {held[id_]} replications are here, and its group goes on" for id_ in open_}
    asked = ends.replications
    held = Counter(id_ for id_, replication in keys_of(table) if replication < asked)
    return {id_: f"{INCOMPLETE}: {held[id_]} of {asked} replications are here" for id_ in wanted if held[id_] < asked}
