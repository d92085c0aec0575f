"""One fuzzed input of each kind, read as a user's would be: refused in a clean line, accepted, or run; else Defect.

A case is a kind and a number. The number seeds all of it, so that a defect is found again from the two.
"""

from __future__ import annotations

import io
import json
import math
import os
import random
import tempfile
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from gemsim.cli.check import failures_per_run
from gemsim.cli.main import COMMANDS, main
from gemsim.costs.calibrate import check, write_profile
from gemsim.costs.profiles import read_profile
from gemsim.errors import GemsimError, StudyError
from gemsim.failures.logs.fit import analyse
from gemsim.failures.logs.load import Request, observe
from gemsim.failures.logs.report import as_object
from gemsim.results.figures.canvas import canvas, svg_of
from gemsim.results.rows import RowStore, check_row
from gemsim.results.table import to_csv
from gemsim.spec.loading import load_study, parse_study
from gemsim.spec.yaml import read_tree
from gemsim.study.backtest.account import account
from gemsim.study.backtest.fit import fit, split
from gemsim.study.backtest.read import read_run
from gemsim.study.conclude import FAILED, error_file
from gemsim.study.design import designs_of
from gemsim.study.plan import MODEL, plan
from gemsim.study.points import realise
from gemsim.study.reopen import reopen
from gemsim.study.report.origin import origin_of
from gemsim.study.report.view import view_of
from gemsim.study.terminal import render
from tests.backtest.test_reading import PLAIN
from tests.calibrate.samples import bench
from tests.fuzz import mutate
from tests.fuzz.watch import Defect, watched
from tests.logs.synthetic import TRAPS

ROOT = Path(__file__).resolve().parents[2]
CHEAP = 300.0  # failures of a run that is simulated
UNDEFINED = {"interval_s", "reach_rate_per_day"}  # nan where the study saves nothing
LONGEST = 1500  # characters of a line of a message
REFUSED, ACCEPTED, RUN = "refused", "accepted", "run"

REPLAYED = """
title: Replay
cluster: {gpus: 64, gpu: h100-80gb, spare_nodes: 2, storage: {write: 2 TB/s, read: 2 TB/s}}
workload: {parameters: 8e9, parallel: {tensor: 8, data: 8}, step: 30 s}
restart: all_processes
failures:
  replay: {log: log.csv, nodes: 8, window: 100 h, repair: 2 h, block: 30 h}
protection: [{checkpoint: {target: remote, mode: async, blocked: 1 s, interval: 1 h}}]
sweep: {grid: {failures.replay.block: [20 h, 50 h]}}
run: {horizon: 10 d, replications: 2}
"""


def attempt(call: Callable[[], str]) -> str:
    """What `call` says, or that it was refused as a user can bear; Defect for any other exception."""
    try:
        return call()
    except GemsimError as error:
        clean(error)
        return REFUSED
    except Defect:
        raise
    except Exception as error:
        raise Defect(f"{type(error).__name__}: {error}\n{traceback.format_exc()}") from error


def clean(error: GemsimError) -> None:
    """A message in lines of printable text; of a study one line for each problem, with its place first."""
    text = str(error)
    readable(text)
    if not text.strip():
        raise Defect(f"an error that says nothing ({type(error).__name__})")
    if isinstance(error, StudyError):
        lines = [str(problem) for problem in error.problems]
        for line in lines:
            if "\n" in line or not line.startswith("study.yaml:"):
                raise Defect(f"not one line with its place: {line[:200]!r}")
        if not lines:
            raise Defect("a refusal without a problem")


def readable(text: str) -> None:
    """Raise Defect unless a terminal can show the text, and nothing in it steers the terminal."""
    for line in text.split("\n"):
        if not line.isprintable():
            raise Defect(f"not printable: {line[:300]!r}")
        if len(line) > LONGEST:
            raise Defect(f"a line of {len(line)} characters: {line[:200]!r}")
    text.encode()


def finite(found: Mapping[str, Any], what: str) -> None:
    """Raise Defect for a number that is none."""
    for name, value in found.items():
        if isinstance(value, float) and not math.isfinite(value) and name not in UNDEFINED:
            raise Defect(f"{what}: {name} is {value}")
        if isinstance(value, str) and "broke down" in value:
            raise Defect(f"{what}: {name}: {value}")
        if isinstance(value, Mapping):
            finite(value, f"{what}: {name}")


@cache
def studies() -> mutate.Seeds:
    """All shipped studies, those of tests/spec/valid, and one that replays a small log in place of one not shipped."""
    files = [path for path in sorted((ROOT / "studies").rglob("*.yaml")) if path.name != "replay.yaml"]
    files += sorted((ROOT / "tests" / "spec" / "valid").glob("*.yaml"))
    trees = [read_tree(path.read_bytes(), path.name).data for path in files]
    return mutate.Seeds.of([*trees, read_tree(REPLAYED.encode(), "replay").data])


def study(draw: random.Random, folder: Path) -> str:
    """A study; where it is still one, some of its points are built and predicted, and a cheap one is run."""
    tree = mutate.mutated_tree(draw, studies())
    content = mutate.write(tree).encode("utf-8", "surrogatepass")
    if draw.randrange(10) == 0:
        content = mutate.mutated_bytes(content, draw)
    (folder / "log.csv").write_text(TRAPS)
    (folder / "study.yaml").write_bytes(content)
    return attempt(lambda: _studied(content, draw))


def _studied(content: bytes, draw: random.Random) -> str:
    loaded = parse_study(content, "study.yaml", quick=draw.randrange(4) == 0)
    asked = plan(loaded, seed=None, replications=None)
    designs = designs_of(loaded)
    chosen = [designs[0], draw.choice(designs)]
    points, scenarios, faults = realise(chosen, asked.resolve, MODEL)
    for error in faults.values():
        raise error
    for point in points:
        finite(point.static, "described")
        finite(point.twin, "closed form")
        readable(point.reason)
    cheap = [one for one in scenarios.values() if failures_per_run(one) <= CHEAP]
    for one in cheap[:1]:
        row = MODEL.simulate(one, seed=draw.randrange(100), replication=0)
        check_row(row)
        finite(row, "row")
    return RUN if cheap else ACCEPTED


LOGS = (
    TRAPS,
    "start,end,node,component\n2024-03-01T00:00Z,2024-03-01T02:00Z,a,gpu\n2024-03-02T10:00Z,,b,gpu\n2024-03-03T10:00+02:00,2024-03-04T00:00Z,a,nic\n",
    "time_h,end_h\n1,2\n2,4\n5,\n9,10\n",
    "T,host,kind\n" + "".join(f"{at * 7 % 97 + 0.5},n{at % 5},{'gpu' if at % 3 else 'nic'}\n" for at in range(40)),
)  # fmt: skip
COLUMNS: tuple[dict[str, str], ...] = ({}, {}, {}, {"time_h": "T", "node": "host", "component": "kind"})
META = {"name": "made up", "nodes": 8, "obs_start_h": 0, "obs_end_h": 100, "gpus_per_node": 8, "kind": "complete"}
EXPOSURE = "time_h,node,event\n0,a,add\n0,b,add\n5,c,add\n60,b,remove\n80,a,remove\n"


def log(draw: random.Random, folder: Path) -> str:
    """A failure log, its meta.json and its list of nodes that come and go."""
    which = draw.randrange(len(LOGS))
    path = folder / "log.csv"
    at_fault = draw.randrange(6)
    path.write_bytes(mutate.mutated_table(LOGS[which].encode(), draw) if at_fault < 4 else LOGS[which].encode())
    meta = mutate.mutated_json(META, draw) if at_fault == 4 else json.dumps(META).encode()
    (folder / "meta.json").write_bytes(meta)
    exposure = mutate.mutated_table(EXPOSURE.encode(), draw) if at_fault == 5 else EXPOSURE.encode()
    (folder / "nodes.csv").write_bytes(exposure)
    there = folder / "nodes.csv" if at_fault == 5 else None
    request = Request(
        path, columns=tuple(COLUMNS[which].items()), nodes=draw.choice((None, 8)), exposure=there,
        window_h=draw.choice((None, 100.0, 1e-9, 8e5)), origin=draw.choice((None, "2024-03-01T00:00Z")),
        begin_h=draw.choice((None, 0.0, -5.0)),
    )  # fmt: skip
    return attempt(lambda: _logged(request, draw))


def _logged(request: Request, draw: random.Random) -> str:
    cleaned = observe(request).log(draw.choice((0.0, 1.0)))
    if draw.randrange(10):
        return ACCEPTED
    found = analyse(cleaned, merge_h=0.0, simultaneous_h=0.0, replications=100, seed=0)
    json.dumps(as_object(found), allow_nan=False)
    return RUN


GOODPUT = [
    {"job_name": "a", "job_start_time": 1000.0},
    *({"job_name": "a", "step_count": at, "step_start_time": 1010.0 + 5 * at} for at in range(6)),
    {"job_name": "a", "event_type": "save", "checkpoint_manager_blocking_start_time": 1041.0,
     "checkpoint_manager_blocking_duration_secs": 2.0},
    {"job_name": "a", "job_start_time": 1100.0},
    *({"job_name": "a", "step_count": at, "step_start_time": 1110.0 + 5 * at} for at in range(4, 12)),
    {"job_name": "a", "job_end_time": 1200.0},
]  # fmt: skip


def run_log(draw: random.Random, folder: Path) -> str:
    """The log of a run, as a plain table, as JSON lines, as one JSON list."""
    kind = draw.randrange(4)
    path = folder / "run.csv"
    if kind < 2:
        path.write_bytes(mutate.mutated_table(PLAIN.encode(), draw))
    elif kind == 2:
        lines = json.loads(json.dumps(GOODPUT))
        raw = b"\n".join(
            mutate.mutated_json(one, draw) if draw.randrange(8) == 0 else json.dumps(one).encode() for one in lines
        )
        path.write_bytes(raw)
    else:
        path.write_bytes(mutate.mutated_json(GOODPUT, draw))
    return attempt(lambda: _ran(path))


def _ran(path: Path) -> str:
    first, rest = split(read_run(path), 0.5)
    fitted, before = fit(first)
    after = account(rest)
    for found in (before, after):
        finite(found.seconds, "account")
    json.dumps([fitted.rate.value, fitted.stand.value])  # nan where nothing of the kind was seen
    return ACCEPTED


@cache
def profile_trees() -> tuple[Any, ...]:
    """The shipped profiles as plain data."""
    return tuple(
        json.loads(path.read_text()) for path in sorted((ROOT / "calibration" / "profiles").glob("*/*/profile.json"))
    )


@cache
def measured() -> dict[str, Any]:
    """What a bench writes, small."""
    return dict(json.loads(json.dumps(bench(widths=(4,), rows=(1, 2)))))


def profile(draw: random.Random, folder: Path) -> str:
    """A profile and, where it is measured, its samples."""
    kind = draw.randrange(3)
    if kind == 0:
        tree = draw.choice(profile_trees())
        there = folder / str(tree["device"]) / str(tree["date"]) / "profile.json"
        there.parent.mkdir(parents=True)
        there.write_bytes(mutate.mutated_json(tree, draw))
        return attempt(lambda: _profiled(there))
    if kind == 1:
        there = write_profile(folder, measured()) / "profile.json"
        samples = there.parent / "samples.csv"
        samples.write_bytes(mutate.mutated_table(samples.read_bytes(), draw))
        return attempt(lambda: _checked(there))
    raw = mutate.mutated_json(measured(), draw)
    (folder / "bench.json").write_bytes(raw)
    return command(["calibrate", "--from", str(folder / "bench.json"), "--out", str(folder / "out")])


def _profiled(path: Path) -> str:
    read_profile(path)
    return _checked(path) if (path.parent / "samples.csv").exists() else ACCEPTED


def _checked(path: Path) -> str:
    for line in check(path):
        readable(line)
    return ACCEPTED


SWEPT = """
title: Small
cluster: {gpus: 64, gpu: h100-80gb, spare_nodes: 2, storage: {write: 2 TB/s, read: 2 TB/s}}
workload: {parameters: 8e9, parallel: {tensor: 8, data: 8}, step: 30 s}
restart: all_processes
failures: llama3-2024
protection: [{checkpoint: {target: remote, mode: async, blocked: 1 s, interval: 1 h}}]
sweep: {grid: {failures.scale: [1, 100]}}
run: {horizon: 2 d, replications: 2}
"""


@cache
def swept() -> Mapping[str, bytes]:
    """The files of a small sweep."""
    return _made(lambda _: None, ["sweep", "study.yaml", "--out", "out", "--jobs", "1"])


@cache
def joined() -> Mapping[str, bytes]:
    """The files of two shares of it joined, so with parts of several folders and several runs in the list."""
    shares = [["sweep", "study.yaml", "--out", f"s{at}", "--jobs", "1", "--shard", f"{at}/2"] for at in (1, 2)]
    return _made(lambda _: None, *shares, ["merge", "s1", "s2", "--out", "out"])


@cache
def failing() -> Mapping[str, bytes]:
    """The files of it where one design has failed."""

    def fail(out: Path) -> None:
        id_ = str(RowStore(out / "rows").read()["point"][0].as_py())
        (out / "errors").mkdir()
        (out / FAILED).write_text(json.dumps({id_: "failed; in replication 0: ValueError: odd"}))
        (out / error_file(id_)).write_text("Traceback")

    return _made(fail, ["sweep", "study.yaml", "--out", "out", "--jobs", "1"])


def _made(change: Callable[[Path], None], *commands: list[str]) -> Mapping[str, bytes]:
    """The files in out/ after these commands and that change."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            Path("study.yaml").write_text(SWEPT)
            for words in commands:
                quiet(words)
            out = Path("out")
            change(out)
            return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
        finally:
            os.chdir(before)


@cache
def drawn() -> None:
    """Have the library of figures make its own folders and caches, which it does once."""
    with canvas(1.0, 1.0) as figure:
        figure.text(0.5, 0.5, "x")
        svg_of(figure)


IDS = ("../../../x", "/tmp/elsewhere", "..", "a/b", "", "\x1b[31m", "x" * 300, "\0")  # of designs in failed.json


def results(draw: random.Random, folder: Path) -> str:
    """The folder of a sweep with files broken, gone or exchanged; opened, merged, and now and then shown."""
    whole = draw.choice((swept, joined, failing))()
    files = dict(whole)
    names = [name for name in files if name != ".lock" and not name.endswith(".csv")]
    for _ in range(draw.choice((1, 1, 2))):
        name = draw.choice(names)
        kind = draw.randrange(7)
        if kind == 0:
            files[name] = draw.choice((b"", b"[" * 200_000, b'{"runs": ' + b"[" * 200_000, b"0", b'"x"', b"null"))
        elif kind == 1:
            files.pop(name, None)
        elif kind == 2:
            files[name] = files[draw.choice([*files])]
        elif name == FAILED and kind == 3:
            files[name] = json.dumps({draw.choice(IDS): draw.choice(mutate.JSON_VALUES[:9])}).encode()
        elif name.endswith(".json") and name in files and kind < 6:
            files[name] = mutate.mutated_json(json.loads(whole[name]), draw)
        else:
            files[name] = mutate.mutated_bytes(files.get(name) or b"x", draw)
    lay(files, folder / "in")
    if draw.randrange(2):
        command(["merge", "in", *draw.choice(([], ["in"])), "--out", draw.choice(("in", "joined"))])
    if draw.randrange(40) == 0:
        command(["report", "in"])
    return attempt(lambda: _opened(folder / "in"))


def lay(files: Mapping[str, bytes], folder: Path) -> None:
    """Write these files into a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _opened(folder: Path) -> str:
    try:
        found = reopen(folder)
    except StudyError as error:
        readable(str(error))
        return REFUSED
    to_csv(found.summary.rows)
    readable(render(found))
    origin_of(view_of(folder))
    return ACCEPTED


OPTIONS = (
    "--quick", "--jobs", "-j", "--out", "--seed", "--replications", "--point", "--json", "--help", "-h", "--confirm",
    "--split", "--runs", "--nodes", "--window", "--where", "--columns", "--merge", "--by", "--exposure", "--check",
    "--from",
    "--dask", "--shard", "--limit", "--fail-fast", "--quiet", "-q", "--replication", "--full", "--analytic",
    "--output", "--vary", "--samples", "--only", "--sets", "--precision", "--most", "--version", "--example", "--",
)  # fmt: skip
WORDS = (
    "", " ", "-", "--", "-1", "0", "1e9", "nan", "x=1", "k=16", "=", "a=", "=b", "variant=x", "restart=in_place",
    "100 h", "20 %",
    "é", "\u202e", "\x1b[31m", "\udcff", "none.yaml", "no/such/folder/study.yaml", ".", "/", "/dev/null", "%s", "{}",
    "gemini",
    "1/2", "2/1", "1/99999999999999999999", "٣/٣", "1/", "10 min", "1 us", "1e400 s", "bash", "out", "out2",
    "llama3", "nvidia-h100", "widths", "99999999999999999999", "1.5", "--no-such", "-z",
)  # fmt: skip
FITTING = {
    "report": ["out2"], "merge": ["out2", "--out", "out3"], "timeline": ["study.yaml", "--point", "1"], "schema": [],
    "explain": ["study.yaml", "--point", "2"], "completion": ["zsh"], "systems": ["gemini"], "fit": ["log.csv"],
}  # fmt: skip
WRITES = ("--out", "--json", "--sets")  # where a user may write is the user's to say
COSTLY = {"bench", "validate"}  # they take no input but their size


def words(draw: random.Random, folder: Path) -> str:
    """A command line of commands, options, files and other words in any order."""
    (folder / "study.yaml").write_text(SWEPT)
    (folder / "log.csv").write_text(TRAPS)
    lay(swept(), folder / "out2")
    name = draw.choice([one for one in COMMANDS if one not in COSTLY] + ["sweeep", "", "--quick"])
    some = [
        draw.choice((*OPTIONS, *WORDS, *TEXTS_OF_A_LINE, "study.yaml", "log.csv"))
        for _ in range(draw.choice((0, 0, 0, 1, 2, 3, 4)))
    ]
    short = ["--most", "0.1"] if name == "losses" else []
    asked = [
        name,
        *short,
        *draw.choice((FITTING.get(name, ["study.yaml"]), [], ["study.yaml"], ["log.csv"], ["out2"])),
        *some,
    ]
    before = ["", *asked[:-1]]
    return command(
        ["out" if word == "/" and said in WRITES else word for said, word in zip(before, asked, strict=True)]
    )


TEXTS_OF_A_LINE = tuple(text for text in mutate.TEXTS if not set(text) & {"\x00", "\ud800"} and len(text) < 200)


def command(arguments: list[str]) -> str:
    """The command line, run here: exit code and output are those of a user's error or of success."""
    code, out, err = quiet(arguments)
    text = err.replace("\r", "")
    if code == 1 or "Traceback (most recent call last)" in text or "internal error" in text:
        raise Defect(f"gemsim {arguments!r}: exit {code}: {err[:1500]}")
    if code not in (0, 2, 3):
        raise Defect(f"gemsim {arguments!r}: exit {code}")
    if not all(line.isprintable() for line in out.replace("\t", "").split("\n")):
        raise Defect(f"gemsim {arguments!r}: steers the terminal")
    if code == 2:
        readable(text)
        if not text.strip() and not out.strip():
            raise Defect(f"gemsim {arguments!r}: refused without a word")
    return REFUSED if code == 2 else ACCEPTED


def quiet(arguments: Iterable[str]) -> tuple[int, str, str]:
    """Exit code, output and messages of a command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(arguments))
    return code, out.getvalue(), err.getvalue()


KINDS: dict[str, Callable[[random.Random, Path], str]] = {
    "study": study, "log": log, "run_log": run_log, "profile": profile, "results": results, "words": words,
}  # fmt: skip


def run_case(kind: str, number: int, folder: Path) -> str:
    """Refused, accepted or run. Raises Defect, which begins with what to call to see it again."""
    draw = random.Random(f"{kind} {number}")
    for make in (swept, joined, failing, drawn) if kind in ("results", "words") else ():
        make()
    before = Path.cwd()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    try:
        with watched(folder):
            return KINDS[kind](draw, folder)
    except Defect as defect:
        raise Defect(f"case {kind} {number}: {defect}") from defect
    finally:
        os.chdir(before)


__all__ = ["ACCEPTED", "KINDS", "REFUSED", "RUN", "load_study", "run_case"]
