"""What fuzzing found, each as the smallest input that showed it: now a clear refusal, or a number."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gemsim.cli.main import main
from gemsim.costs.calibrate import check, write_profile
from gemsim.errors import (
    GemsimError,
    Infeasible,
    NotCovered,
    Problem,
    ProfileError,
    ResultsError,
    StudyError,
    ValueRefused,
)
from gemsim.failures.logs.load import Request, observe
from gemsim.protection.saving import lost_work
from gemsim.results.rows import RowStore
from gemsim.spec.loading import load_study, parse_study, resolve_point
from gemsim.study.backtest.read import read_run
from gemsim.study.plan import MODEL
from gemsim.study.progress import Bar
from gemsim.study.reopen import failed_in, plan_of
from gemsim.study.report.origin import origin_of
from gemsim.study.report.view import view_of
from tests.calibrate.samples import bench
from tests.fuzz.cases import REPLAYED, SWEPT
from tests.logs.synthetic import write

STEERING = "\x1b[31m\u202ered\u2028\ud800\x07"


@pytest.mark.parametrize(
    "error",
    [
        ValueRefused("x", todo=STEERING),
        Infeasible(STEERING),
        StudyError([Problem("f:1:1", STEERING + "\n", "what\nis", "allowed")]),
    ],
)
def test_a_message_steers_no_terminal(error: GemsimError) -> None:
    assert str(error).isprintable()
    str(error).encode()
    assert "red" in str(error)
    assert "\\x1b" in str(error)


def test_a_word_of_the_command_line_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems", "a", STEERING[:6]]) == 2
    assert all(line.isprintable() for line in capsys.readouterr().err.split("\n"))


def measurement(**changes: Any) -> dict[str, Any]:
    """What a bench wrote, with parts exchanged."""
    return {**json.loads(json.dumps(bench(widths=(4,), rows=(1,)))), **changes}


def one_series(**changes: Any) -> dict[str, Any]:
    """The same with one series exchanged in parts."""
    whole = measurement()
    whole["series"][-1] |= changes
    return whole


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (measurement(device="../../elsewhere"), "no name"),
        (measurement(device="/tmp/elsewhere"), "no name"),
        (measurement(device=None), "device is no text"),
        (measurement(taken=5), "taken is no text"),
        (measurement(facts=["x"]), "facts are no object"),
        (measurement(facts={"gpu": "\ud800"}), "facts are no object"),
        (measurement(series=None), "series is no list"),
        (measurement(series=[5]), "not an object with"),
        (one_series(seconds=["x"]), "seconds of one call"),
        (one_series(seconds=[0.0]), "seconds of one call"),
        (one_series(seconds=[1e308]), "seconds of one call"),
        (one_series(shard_bytes="1"), "shard_bytes is no whole number"),
        (one_series(rows=10**30), "rows is no whole number"),
        (one_series(family="\ud800"), "family is no text"),
        (one_series(op="encode", bytes_read=0, bytes_written=0), "no shard or no byte"),
    ],
)
def test_a_measurement_that_is_none_is_refused(broken: dict[str, Any], told: str, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    with pytest.raises(ProfileError, match=told):
        write_profile(tmp_path / "inside" / "out", broken)
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


def test_a_broken_line_of_samples_is_told_in_short(tmp_path: Path) -> None:
    folder = write_profile(tmp_path, measurement())
    samples = folder / "samples.csv"
    samples.write_text(samples.read_text().replace("\n", '\n"', 3))
    with pytest.raises(ProfileError) as caught:
        check(folder / "profile.json")
    assert len(str(caught.value)) < 300


RUN = '{"job_start_time": 0.0}\n{"step_count": 0, "step_start_time": 5.0}\n'


@pytest.mark.parametrize(
    "line",
    [
        '{"event_type": {}}',
        '{"event_type": ["save"]}',
        f'{{"job_end_time": 1{"0" * 400}}}',
        f'{{"step_start_time": 1, "step_count": 1{"0" * 400}}}',
    ],
)  # fmt: skip
def test_an_entry_that_is_none_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(f"{RUN}{line}\n")
    with pytest.raises(ValueRefused, match=r"run\.jsonl:3"):
        read_run(path)


def test_nodes_that_only_leave_were_there_from_the_beginning(tmp_path: Path) -> None:
    log = write(tmp_path, "time_h,node\n1,a\n2,b\n")
    leaving = write(tmp_path, "time_h,node,event\n5,a,remove\n6,b,remove\n", name="nodes.csv")
    found = observe(Request(log, window_h=10.0, exposure=leaving)).log()
    assert found.node_hours == 5.0 + 6.0


@pytest.mark.parametrize("nodes", [math.inf, -math.inf, math.nan, 10**400])
def test_a_meta_file_of_no_number_says_nothing(nodes: float, tmp_path: Path) -> None:
    log = write(tmp_path, meta={"nodes": nodes, "obs_end_h": nodes})
    found = observe(Request(log))
    assert found.nodes is None
    assert found.window_h is None


def refused(text: str) -> list[str]:
    """The problems of a study."""
    with pytest.raises(StudyError) as caught:
        parse_study(text.encode(), "study.yaml")
    return str(caught.value).splitlines()


@pytest.mark.parametrize("number", ["1" + "0" * 400, "9" * 5000, "0x" + "f" * 300, "-1" + "0" * 309])
def test_a_number_that_no_float_holds_is_none(number: str) -> None:
    (line,) = refused(SWEPT.replace("gpus: 64", f"gpus: {number}"))
    assert "not a number" in line
    assert line.startswith("study.yaml:3:")


@pytest.mark.parametrize("restart", ["[]", "[all_processes]", "[{mode: in_place}]"])
def test_a_path_into_a_list_is_refused(restart: str) -> None:
    text = SWEPT.replace("restart: all_processes", f"restart: {restart}").replace(
        "failures.scale: [1, 100]", "restart.mode: [in_place]"
    )
    assert any("restart" in line for line in refused(text))


def test_a_law_at_a_path_into_a_list_is_refused() -> None:
    text = (
        SWEPT.replace("restart: all_processes", "restart: [in_place]") + "uncertain: {restart.warmup: 20 s .. 40 s}\n"
    )
    assert any("restart" in line for line in refused(text))


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """The folder of a small sweep."""
    (tmp_path / "study.yaml").write_text(SWEPT)
    assert main(["sweep", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "out"), "--jobs", "1"]) == 0
    return tmp_path / "out"


@pytest.mark.parametrize(
    "run",
    [
        "x",
        5,
        [],
        {},
        {"seed": "1", "replications": 2},
        {"seed": 0, "replications": "2"},
        {"seed": 0, "replications": 2, "study_folder": 5},
    ],
)
def test_a_provenance_that_says_nothing_is_refused(run: Any, swept: Path) -> None:
    (swept / "provenance.json").write_text(json.dumps({"runs": [run]}))
    with pytest.raises(ResultsError, match="provenance"):
        plan_of(swept)


def test_a_part_with_broken_text_is_refused(swept: Path) -> None:
    part = next((swept / "rows").glob("*.parquet"))
    part.write_bytes(part.read_bytes().replace(b"replication", b"replicatio\xfd"))
    with pytest.raises(ResultsError, match="remove this file") as caught:
        RowStore(swept / "rows").read()
    assert len(str(caught.value)) < 500 + len(str(part))


OFTEN = """
title: Links that fail all the time
cluster: {gpus: 4096, gpus_per_node: 1, gpu: h100-80gb, storage: {write: 2 TB/s, read: 2 TB/s}}
workload: {parameters: 1e9, parallel: {data: 4096}, step: 0.1 s, microbatches: 1, layers: 24}
restart: {mode: all_processes, process: 20 min, communicator: 0 s, warmup: 0 s}
failures:
  classes:
  - {name: server, scope: node, rate: 10000 / node d, exposure: running, detect: 0 s, action: replace, repair: 1 d,
     frailty: {kind: lemons, share: 0.15, multiplier: 6, of: good}}
fleet:
  spares: {hot: 16, warm: 48, activation: {hot: 0 s, warm: 0 s}, choose: random, borrow: 200, borrow_each: 20 min}
  repair:
    stages:
    - {name: automatic, time: {kind: exponential, mean: 120 min}, escalate: 0.8, silent: 0.4}
    - {name: manual, time: {kind: exponential, mean: 2880 min}, silent: 0.2}
protection: [{checkpoint: {target: remote, mode: async, blocked: 0 s, write: 0 s, read: 0 s, interval: 0.1 s}}]
run: {start: new, steps: 221184000, max_wall: 450 d, replications: 2}
"""


@pytest.mark.filterwarnings("error")
def test_a_closed_form_without_a_number_is_no_closed_form() -> None:
    scenario = MODEL.build(resolve_point(parse_study(OFTEN.encode(), "study.yaml"), {}))
    with pytest.raises(NotCovered, match="no number"):
        MODEL.predict(scenario)


@pytest.mark.parametrize(("roll_back", "keep"), [(1e-9, 1e6), (1e-3, 1e6), (1e-30, 1.0)])
def test_work_lost_among_many_restarts_that_keep_it(roll_back: float, keep: float) -> None:
    """Where all but a few restarts take the work on, the work since the last save of `tau` grows until a roll-back."""
    lost = lost_work(100.0, 0.0, roll_back=roll_back, keep=keep)
    assert lost == pytest.approx(1.0 / roll_back, rel=1e-6)


def test_no_file_that_never_ends_is_read(tmp_path: Path) -> None:
    readers: tuple[Callable[[Path], object], ...] = (load_study, read_run, lambda path: observe(Request(path)))
    for reader in readers:
        with pytest.raises(GemsimError, match="a device, not a file"):
            reader(Path("/dev/zero"))


def test_the_replay_of_the_fuzz_is_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    assert parse_study(REPLAYED.encode(), tmp_path / "study.yaml").spec.failures.replay is not None


def test_a_chain_that_no_float_resolves_is_no_closed_form() -> None:
    """A stop of a century beside repairs of hours: the matrix of the chain of standbys is singular to a float."""
    text = OFTEN.replace("10000 / node d", "0.01 / node d").replace("read: 0 s", "read: 36500 d")
    text = text.replace("hot: 16, warm: 48", "hot: 32, warm: 96")
    scenario = MODEL.build(resolve_point(parse_study(text.encode(), "study.yaml"), {}))
    with pytest.raises(NotCovered, match="chain of standbys"):
        MODEL.predict(scenario)


@pytest.mark.parametrize(
    "address", ["", "x=1", "tcp://[::1", "http://h:1", "\x1b[31m", "{here}/a.json", "{here}/b.json"]
)
def test_an_address_of_no_scheduler_is_told_in_one_line(address: str, tmp_path: Path) -> None:
    """Nothing is left half made either, which would print a traceback when Python throws it away."""
    (tmp_path / "study.yaml").write_text(SWEPT)
    (tmp_path / "a.json").write_text("[" * 100_000)
    words = [
        "sweep",
        str(tmp_path / "study.yaml"),
        "--dask",
        address.format(here=tmp_path),
        "--out",
        str(tmp_path / "o"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "gemsim.cli.main", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "scheduler" in line
    assert line.isprintable()


@pytest.mark.parametrize("share", ["1/" + "9" * 5000, "1/", "/1", "2/1", "0/1", "1/1/1", "²/3", "1/٣x"])
def test_a_share_that_is_none_is_refused(share: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "study.yaml", "--shard", share]) == 2
    err = capsys.readouterr().err
    assert "is no share" in err
    assert all(len(line) < 300 for line in err.splitlines())


@pytest.mark.parametrize("where", ["title: {}", "title: x\nnotes: {}", "title: x\n{}: 1", "title: x\nfailures: [{}]"])
@pytest.mark.parametrize("sign", ["\\x1b[31m", "\\u202e", "\\x00", "\\r", "\\uD800", "\\x85", "\\b", "\\uFFFF"])
def test_no_escape_in_a_text_steers_a_terminal(sign: str, where: str) -> None:
    (line,) = [line for line in refused(where.format(f'"red {sign}"')) if "control character" in line]
    assert line.startswith(f"study.yaml:{1 + where.count(chr(10))}:")


def test_a_text_in_any_alphabet_over_several_lines_stays() -> None:
    text = SWEPT.replace("title: Small", 'title: "Größe 測試 ☃ 👩\u200d🔬 \u05d0 a\\u00a0b"\nnotes: "a\\tb\\nc"')
    assert parse_study(text.encode(), "study.yaml").spec.notes == "a\tb\nc"


@pytest.mark.parametrize("name", ["study.yaml", "source.yaml", "summary.csv", "costs.csv", "errors"])
@pytest.mark.parametrize("command", ["sweep", "merge"])
def test_a_file_that_no_sweep_made_is_not_replaced(
    command: str, name: str, swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own"
    (own / "errors").mkdir(parents=True) if name == "errors" else own.mkdir()
    mine = own / "errors" / "mine.txt" if name == "errors" else own / name
    mine.write_text(SWEPT)
    source = mine if name == "study.yaml" and command == "sweep" else tmp_path / "study.yaml"
    words = {"sweep": ["sweep", str(source), "--jobs", "1"], "merge": ["merge", str(swept)]}[command]
    assert main([*words, "--out", str(own)]) == 2
    assert f"holds {name}, which no sweep made" in capsys.readouterr().err
    assert mine.read_text() == SWEPT
    assert not (own / "rows").exists()


@pytest.mark.parametrize("lost", ["provenance.json", "rows"])
def test_a_folder_that_a_sweep_made_is_its_own(lost: str, swept: Path, tmp_path: Path) -> None:
    """A list of runs that was moved away, or rows that were, do not make a folder another's."""
    (swept / lost).rename(tmp_path / "away")
    assert main(["sweep", str(tmp_path / "study.yaml"), "--out", str(swept), "--jobs", "1"]) == 0


def test_what_is_no_traceback_of_a_sweep_stays_in_errors(swept: Path, tmp_path: Path) -> None:
    (swept / "errors").mkdir()
    for name in ("0123456789abcdef.txt", "failed.json", "notes on this.txt", "other.json"):
        (swept / "errors" / name).write_text("{}")
    assert main(["sweep", str(tmp_path / "study.yaml"), "--out", str(swept), "--jobs", "1"]) == 0
    assert sorted(path.name for path in (swept / "errors").iterdir()) == ["notes on this.txt", "other.json"]


def test_a_failed_design_names_no_file_elsewhere(swept: Path, tmp_path: Path) -> None:
    """The list of failures is a file like any other: an id in it that is a path must lead a merge nowhere."""
    (tmp_path / "stolen.txt").write_text("mine")
    (swept / "errors").mkdir()
    named = {"../../stolen": "x", "a" * 64: STEERING.replace("\ud800", "")}
    (swept / "errors" / "failed.json").write_text(json.dumps(named))
    found = failed_in(swept)
    assert list(found) == ["a" * 64]
    assert found["a" * 64].isprintable()
    before = sorted(tmp_path.rglob("*"))
    assert main(["merge", str(swept), "--out", str(tmp_path / "b" / "c")]) in (0, 3)
    new = [path for path in tmp_path.rglob("*") if path not in before]
    assert all((tmp_path / "b") in (path, *path.parents) for path in new)
    assert not list((tmp_path / "b").rglob("stolen*"))


@pytest.mark.parametrize("packages", ["x", 5, ["a"], None, {"numpy": None}])
def test_a_list_of_runs_with_odd_packages_is_shown(packages: Any, swept: Path) -> None:
    runs = json.loads((swept / "provenance.json").read_text())
    runs["runs"][-1]["packages"] = packages
    (swept / "provenance.json").write_text(json.dumps(runs))
    assert origin_of(view_of(swept)).facts


@pytest.mark.parametrize("name", ["provenance.json", "errors/failed.json"])
def test_a_list_nested_without_end_is_refused_or_nothing(name: str, swept: Path) -> None:
    (swept / name).parent.mkdir(exist_ok=True)
    (swept / name).write_text('{"runs": ' + "[" * 200_000)
    if name == "provenance.json":
        with pytest.raises(ResultsError, match="no list of runs"):
            plan_of(swept)
    else:
        assert not failed_in(swept)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["provenance.json", "source.yaml", "errors/failed.json"])
def test_a_pipe_in_a_folder_keeps_nobody_waiting(name: str, swept: Path) -> None:
    (swept / name).parent.mkdir(exist_ok=True)
    (swept / name).unlink(missing_ok=True)
    os.mkfifo(swept / name)
    if name == "errors/failed.json":
        assert not failed_in(swept)
    else:
        with pytest.raises(ResultsError, match=r"a pipe, not a file|holds no sweep"):
            plan_of(swept)


def test_the_name_of_a_study_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """Of `gemsim sweep "[/x].yaml"` on a terminal, where the bar shows the name."""
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    with Bar("a[/x][red]", screen) as bar:
        bar.begin(2, 0)
        bar.advance(2)
    assert "a[/x][red]" in screen.getvalue()


@pytest.mark.parametrize("window", [2.0**63, 1e300, 8.8e5])
def test_a_window_of_more_than_a_century_is_refused(window: float, tmp_path: Path) -> None:
    """Counts by day of it would fill any memory."""
    log = write(tmp_path, meta={"nodes": 8, "obs_end_h": window})
    with pytest.raises(ValueRefused, match="a century"):
        observe(Request(log))
    with pytest.raises(ValueRefused, match="a century"):
        observe(Request(log, window_h=window))


DEEP = "[" * 200_000


@pytest.mark.parametrize(
    "words",
    [
        ["calibrate", "--from", "deep.json"],
        ["backtest", "study.yaml", "deep.json", "--point", "1"],
        ["explain", "study.yaml", f"failures.scale={DEEP}"],
        ["fit", "log.csv"],
        ["report", "."],
        ["check", "deep.json"],
    ],
    ids=lambda words: words[0],
)
def test_json_nested_without_end_is_refused(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    for name in ("deep.json", "meta.json", "provenance.json"):
        (tmp_path / name).write_text(DEEP)
    (tmp_path / "study.yaml").write_text(SWEPT)
    assert main(words) == 2, capsys.readouterr().err
    assert all(len(line) < 1000 for line in capsys.readouterr().err.splitlines())


@pytest.mark.parametrize("words", [["schema", "--out"], ["explain", "study.yaml", "--point", "1", "--json"]])
@pytest.mark.parametrize("place", [".", "/", "a/.."])
def test_a_folder_is_no_file_to_write(
    words: list[str], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "study.yaml").write_text(SWEPT)
    assert main([*words, place]) == 2
    assert "directory" in capsys.readouterr().err


@pytest.mark.parametrize("quick", ["false", "0", "[]", "''", "x"])
def test_a_quick_form_that_is_no_mapping_is_refused(quick: str) -> None:
    assert any("quick: not a mapping" in line for line in refused(f"{SWEPT}quick: {quick}\n"))
    assert parse_study(f"{SWEPT}quick:\n".encode(), "study.yaml").spec.quick == {}


def test_a_title_is_no_formula(tmp_path: Path) -> None:
    """What stands between two $ is text in a picture too."""
    (tmp_path / "study.yaml").write_text(SWEPT.replace("title: Small", "title: from $\\frac{1$ to <b> & $_^$"))
    words = ["timeline", str(tmp_path / "study.yaml"), "--point", "2", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    drawn = ElementTree.parse(tmp_path / "out" / "timeline.svg")
    assert any("$_^$" in (text.text or "") for text in drawn.iter())


def test_half_a_character_in_the_list_of_runs_does_not_break_the_report(swept: Path) -> None:
    listed = json.loads((swept / "provenance.json").read_text())
    listed["runs"][-1]["command"] = ["gemsim", "\ud800"]
    (swept / "provenance.json").write_text(json.dumps(listed))
    assert main(["report", str(swept)]) == 0
    assert "gemsim &#39;?&#39;" in (swept / "report.html").read_text(encoding="utf-8")
