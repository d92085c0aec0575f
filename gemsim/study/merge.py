"""Runs of one study made in several folders, joined into one: rows united, runs listed, the summary written anew.

Nothing is simulated. Sources are only read, so they may lie on a read-only disk, and may still be written: rows that
come later come with the next merge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gemsim.errors import ResultsError
from gemsim.results import provenance
from gemsim.results.folder import locked, write_bytes
from gemsim.results.rows import RowStore, each_once, keys_of
from gemsim.results.summary import Point
from gemsim.study.conclude import conclude, error_file
from gemsim.study.held import DESIGN_HASH, refuse_foreign, same_run
from gemsim.study.plan import MODEL
from gemsim.study.points import realise
from gemsim.study.progress import Reporter
from gemsim.study.reopen import failed_in, plan_of, refuse_strangers
from gemsim.study.sweep import Plan, SweepResult, facts_asked, forget_errors, write_study

RUNS = "provenance.json"


@dataclass(frozen=True, slots=True)
class Source:
    """What one folder brings."""

    folder: Path
    plan: Plan
    table: pa.Table
    failed: Mapping[str, str]


def merge(folders: Sequence[Path], out: Path, *, report: Reporter) -> SweepResult:
    """Join the runs in `folders` into `out`, which may hold rows of that study already; `added` counts new rows.

    The plan is that of the most replications. Raises ResultsError if a folder holds no sweep, another study or seed,
    or another row of the same replication, and if `out` is held by another run or cannot be written.
    """
    sources = [_source(folder) for folder in folders if folder.resolve() != out.resolve()]
    plan = _joined(sources) if sources else plan_of(out)
    points, _, _ = realise(plan.designs, plan.resolve, MODEL)
    if plan.inputs is not None:
        points = plan.inputs(points, plan.designs)
    for one in sources:
        refuse_strangers(one.folder, points, set(one.table["point"].unique().to_pylist()))
    with locked(out):
        refuse_foreign(out)
        result = _into(sources, out, plan, points)
    rows = sum(len(one.table) for one in sources)
    report.say(f"merged {rows} rows from {len(sources)} folders: {result.added} of them are new in {out}")
    return result


def _source(folder: Path) -> Source:
    plan = plan_of(folder)
    return Source(folder, plan, RowStore(folder / "rows").read(), failed_in(folder))


def _joined(sources: Sequence[Source]) -> Plan:
    """The plan of all: that with the most replications. ResultsError where they ask different things."""
    first = sources[0]
    for one in sources[1:]:
        if one.plan.facts[DESIGN_HASH] != first.plan.facts[DESIGN_HASH]:
            raise ResultsError(
                f"{one.folder}: holds another study than {first.folder}; only runs of one study can be joined, which "
                f"may differ in replications alone; compare their study.yaml"
            )
        if one.plan.seed != first.plan.seed:
            raise ResultsError(
                f"{one.folder}: holds seed {one.plan.seed}, {first.folder} holds seed {first.plan.seed}; "
                f"only runs of one seed can be joined; run one of them again with --seed {first.plan.seed}"
            )
    return max((one.plan for one in sources), key=lambda plan: plan.replications)


def _into(sources: Sequence[Source], out: Path, plan: Plan, points: Sequence[Point]) -> SweepResult:
    """The merge itself, in a folder that is held: all is checked before anything is written."""
    store = RowStore(out / "rows")
    held = [_source(out)] if provenance.runs_of(out / RUNS) else []
    table = held[0].table if held else store.read()
    plan = _joined([*held, *sources]) if held else plan
    united = each_once([(str(out), table), *((str(one.folder), one.table) for one in sources)])
    if len(table) and not held:
        raise ResultsError(
            f"{out}: holds rows, but {RUNS} says of no run where they are from; give --out another folder"
        )
    failed, new = _failed([*held, *sources], united, plan.replications), _without(united, table)
    _list_runs(sources, out, facts_asked(plan, points), held=len(table), new=len(new))
    store.clean()
    forget_errors(out / "errors")
    write_study(plan, out)
    if len(new):
        store.append_table(new)
    _copy_errors(sources, out, failed)
    summary, incomplete = conclude(
        points,
        store,
        out,
        replications=plan.replications,
        rule=plan.rule,
        require=plan.require,
        failed=failed,
        least=len(united),
    )
    provenance.end(out / RUNS, rows=len(united))
    return SweepResult(plan, out, points, summary, failed, len(new), incomplete)


def _without(table: pa.Table, there: pa.Table) -> pa.Table:
    """The rows of `table` whose replication is not in `there`."""
    held = set(keys_of(there))
    return table.filter(pa.array(np.fromiter((key not in held for key in keys_of(table)), bool, len(table))))


def _failed(sources: Sequence[Source], united: pa.Table, replications: int) -> dict[str, str]:
    """Designs that failed somewhere and that no other folder has whole."""
    rows = Counter(id_ for id_, replication in keys_of(united) if replication < replications)
    found: dict[str, str] = {}
    for one in sources:
        for id_, reason in one.failed.items():
            if rows[id_] < replications:
                found.setdefault(id_, reason)
    return found


def _list_runs(sources: Sequence[Source], out: Path, facts: Mapping[str, Any], *, held: int, new: int) -> None:
    """List the runs of all sources in `out`, each once with the folder it was made in, and this merge behind them."""
    path = out / RUNS
    before = provenance.runs_of(path)
    runs = {_identity(run): run for run in before}
    for one in sources:
        for run in provenance.runs_of(one.folder / RUNS):
            runs[_identity(run)] = {"folder": str(one.folder), **run}
    listed = list(runs.values())
    if new or listed != before or not same_run(before, facts):
        provenance.begin(path, facts, rows=held, earlier=listed)


def _identity(run: Mapping[str, Any]) -> tuple[str, ...]:
    """What tells a run from all others, however it ended since it was last seen."""
    return tuple(str(run.get(name)) for name in ("when", "host", "process", "command", "study_hash"))


def _copy_errors(sources: Sequence[Source], out: Path, failed: Mapping[str, str]) -> None:
    for id_ in failed:
        for one in sources:
            if (one.folder / error_file(id_)).is_file():
                write_bytes(out / error_file(id_), (one.folder / error_file(id_)).read_bytes())
