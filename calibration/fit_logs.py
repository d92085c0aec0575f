"""Writes the mixes fitted to public failure logs: `GEMSIM_TRACES=FOLDER python calibration/fit_logs.py [--check]`.

The logs are not part of the project: FOLDER holds them, one folder each, as events.csv with a meta.json. `--check`
writes nothing and fails where a file differs from what the logs give.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from gemsim.failures.logs.clean import clean
from gemsim.failures.logs.fit import Analysis, analyse
from gemsim.failures.logs.meta import read_meta
from gemsim.failures.logs.read import parse_where, read_log
from gemsim.failures.logs.section import mix

MIXES = Path(__file__).parent / "published" / "failures"
LANL = (
    "Los Alamos National Laboratory, failure data of all systems 1996-2005, LA-UR-05-7318 (public release; credit: Los"
    " Alamos National Laboratory), from github.com/Derek-Jones/ESEUR-code-data, commit 1a49d102. Studied in B."
    " Schroeder and G. Gibson, A Large-Scale Study of Failures in High-Performance Computing Systems, doi"
    " 10.1109/TDSC.2009.4."
)
FITTED = (
    "Fitted by gemsim fit: rates from counts over node-hours, healthy nodes included; gamma frailty by maximum"
    " likelihood; repeats on one node as recurrence; starts of several nodes together, beyond those of chance, as the"
    " class joint_starts; down times log-normal with the mean of the data and their median or mean of squares. The"
    " system's gaps are used for nothing. The steps of the rate are of the log's own time and stand as a comment: with"
    " them the simulated logs have the log's"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A log and what is said of it."""

    name: str
    log: str
    where: tuple[str, ...]
    title: str
    source: str
    cited: str
    care: str


SOURCES = (
    Source(
        "stepfun-2024", "stepfun_infinitehbd/events.csv", (),
        "StepFun, 400 servers of an LLM pre-training cluster, node outages by cause, 348 days from 2024-03-30",
        "github.com/stepfun-ai/InfiniteHBD-Trace, fault_trace.json, commit 7aacdc8c (Apache-2.0); InfiniteHBD, arXiv"
        " 2502.03885 (SIGCOMM 2025).",
        "StepFun trace (arXiv 2502.03885)",
        "Outages of nodes, not interruptions of a job: 97 stress-test failures, 14 troubleshooting, 4 changes and 2"
        " tests are among the 584.",
    ),
    *(
        Source(
            f"lanl-{system}", "lanl_hpc_1995_2005/events.csv", (f"system={system}",),
            f"LANL system {system}, {what}, node outages by root cause", LANL,
            f"LANL system {system} (LA-UR-05-7318)",
            "CPU clusters without GPUs; times in whole minutes as entered by operators.",
        )
        for system, what in ((2, "49 nodes with 6,152 processors"), (18, "1,024 nodes"), (20, "512 nodes"))
    ),
)  # fmt: skip


def text_of(source: Source, folder: Path) -> str:
    """The file of one mix."""
    path, where = folder / source.log, parse_where(source.where)
    meta = read_meta(path, where)
    assert meta.begin_h is not None
    assert meta.end_h is not None
    rows = read_log(path, where=where)
    log = clean(rows, nodes=meta.nodes, begin_h=meta.begin_h, window_h=meta.end_h - meta.begin_h)
    found = analyse(log, merge_h=0.0, simultaneous_h=0.0, replications=200, seed=0)
    head = "# Written by calibration/fit_logs.py.\n"
    notes = f"{FITTED} {_has(found)}. {source.care}"
    return head + mix(found, title=source.title, source=source.source, notes=notes, gpus=0, cited=source.cited)


def _has(found: Analysis) -> str:
    """Which statistics of the log as logged the simulated ones have."""
    names = {"mtbf_h": "MTBF", "gap_shape": "gap shape", "fano_24h": "Fano factor"}
    met = [names[one.name] for one in found.checks[:3] if one.holds]
    missed = [
        f"its {names[one.name]} ({one.data:.3g}, simulated {one.low:.3g} to {one.high:.3g})"
        for one in found.checks[:3]
        if not one.holds
    ]
    text = " and ".join(part for part in (", ".join(met[:-1]), met[-1]) if part)
    return text + (f", not {' or '.join(missed)}" if missed else "")


def main(arguments: list[str]) -> int:
    """Write the mixes, or compare them."""
    folder, differing = Path(os.environ["GEMSIM_TRACES"]), 0
    for source in SOURCES:
        path, text = MIXES / f"{source.name}.yaml", text_of(source, folder)
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"{path} differs from what the log gives")
            differing += 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
