"""`gemsim fit` as a user runs it: what it prints and writes, and that a refusal leaves nothing behind."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from gemsim.cli.main import main
from tests.logs.synthetic import TRAPS, as_csv, drawn, write


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = as_csv(drawn(np.random.default_rng(5)))
    return write(tmp_path_factory.mktemp("log"), text, meta={"nodes": 100, "obs_start_h": 0, "obs_end_h": 4000})


@pytest.fixture(scope="module")
def run(log: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What one full run printed, and its folder."""
    out, shown = tmp_path_factory.mktemp("fit") / "out", io.StringIO()
    with contextlib.redirect_stdout(shown):
        assert main(["fit", str(log), "--simultaneous", "1 min", "--out", str(out), "--replications", "100"]) == 0
    return shown.getvalue(), out


def test_it_says_and_writes_everything(run: tuple[str, Path]) -> None:
    shown, out = run
    for words in (
        "603 events, 100 nodes", "as logged", "same-node repeats merged (off)", "simultaneous starts merged (1 min)",
        "MTBF h (95 % Poisson)", "95 % by Fano",
        "beyond longest", "no law of a device", "per 1e6 node h (95 %)", "unavailability", "steps of the rate (penalty",
        "joint starts (two nodes or more", "followed by another of the same node", "round trip: 100 logs", "written: ",
    ):  # fmt: skip
        assert words in shown, words
    assert max(len(line) for line in shown.splitlines() if not line.startswith("written")) < 170
    names = ["failures.yaml", "fit.json", "fit.png", "fit.svg"]
    assert sorted(path.name for path in out.iterdir() if path.name != ".lock") == names
    told = json.loads((out / "fit.json").read_text())
    assert [row["events"] for row in told["system"]][:2] == [603, 603]
    assert told["round_trip"][0]["name"] == "mtbf_h"
    assert (out / "fit.png").read_bytes().startswith(b"\x89PNG")
    assert b"fitted section" in (out / "fit.svg").read_bytes()


def test_the_picture_says_what_it_shows(run: tuple[str, Path]) -> None:
    drawn_text = (run[1] / "fit.svg").read_text()
    for words in (
        "central 95 % of 200 logs", "steps of the rate that all classes of the section share",
        "laws of the section, all classes together",
    ):  # fmt: skip
        assert words in drawn_text, words


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--where", "component=gpus"], "component holds 'gpu', 'nic'; did you mean --where 'component=gpu'?"),
        (["--where", "component=GPU"], "did you mean --where 'component=gpu'?"),
        (["--where", "component=zz"], "component holds 'gpu', 'nic'; check the values"),
        (
            ["--window", "100"],
            "a number without a unit ('100'); a length such as '348 d', or 'FROM to TO'; write '100 h' for hours,"
            " '100 d' for days",
        ),
        (["--nodes", "10.5"], "--nodes: not a number of nodes ('10.5'); a whole number from 1 to 10,000,000"),
        (["--nodes", "0"], "--nodes: not a number of nodes ('0')"),
    ],
    ids=["near", "capitals", "far", "no unit", "half a node", "no node"],
)
def test_a_slip_is_answered_with_what_was_meant(
    asked: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path)
    assert main(["fit", str(path), "--nodes", "5", *(["--window", "100 h"] if "--where" in asked else []), *asked]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


def test_the_same_log_gives_the_same_bytes(tmp_path: Path) -> None:
    path = write(tmp_path)
    written = []
    for name in ("one", "two"):
        asked = ["--nodes", "5", "--window", "100 h", "--replications", "100", "--out", str(tmp_path / name)]
        assert main(["fit", str(path), *asked]) == 0
        written.append({one.name: one.read_bytes() for one in (tmp_path / name).iterdir() if one.name != ".lock"})
    assert written[0] == written[1]
    assert len(written[0]) == 4


def test_the_section_runs_in_a_study(run: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped = Path(__file__).resolve().parents[2] / "studies" / "widths.yaml"
    kept, inside = [], False
    for line in shipped.read_text(encoding="utf-8").splitlines():
        inside = line.startswith("failures:") or (inside and line[:1] in (" ", "#", ""))
        if not inside:
            kept.append(line)
    study = tmp_path / "study.yaml"
    study.write_text("\n".join(kept) + "\n" + (run[1] / "failures.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["check", str(study)]) == 0, capsys.readouterr().err
    assert "joint_starts" in capsys.readouterr().out


def test_json_is_all_there_is(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(log), "--json", "--merge", "1 h", "--replications", "100", "--seed", "4"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["seed"] == 4
    assert told["system"][1]["events"] < told["system"][0]["events"]
    assert told["classes"][0]["rate_low"] < told["classes"][0]["rate"] < told["classes"][0]["rate_high"]


def test_the_window_and_nodes_may_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path)
    assert main(["fit", str(path), "--nodes", "5", "--window", "100 h", "--where", "component=gpu"]) == 0
    assert "5 events, 5 nodes (3 struck), 100 h" in capsys.readouterr().out
    absolute = write(
        tmp_path, "at,host\n2024-01-02T00:00Z,a\n2024-01-05T00:00Z,b\n2024-01-09T00:00Z,a\n", name="iso.csv"
    )
    asked = ["--columns", "start=at,node=host", "--window", "2024-01-01T00:00Z to 2024-01-11T00:00Z", "--nodes", "4"]
    assert main(["fit", str(absolute), *asked]) == 0
    assert "3 events, 4 nodes (2 struck), 240 h (10 d)" in capsys.readouterr().out


def test_a_log_without_nodes_gives_a_rate_of_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "\n".join(f"{7.3 * i},job,restart" for i in range(1, 20))
    path = write(tmp_path, f"time_h,node,component\n{rows}\n")
    assert (
        main(["fit", str(path), "-n", "16", "--window", "150 h", "--gpus-per-node", "4", "--out", str(tmp_path)]) == 0
    )
    assert "names no nodes" in capsys.readouterr().out
    section = (tmp_path / "failures.yaml").read_text()
    assert "rate: 19 / 150 h\n      gpus: 64\n" in section
    assert "scope: process" in section


def test_a_fleet_that_varies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    joins = "".join(f"{i},n{i},add\n{i + 4},n{i},remove\n" for i in range(20))
    write(tmp_path, "time_h,node,event\n" + joins, name="there.csv")
    path = write(tmp_path, "time_h,node\n" + "".join(f"{i + 4},n{i}\n" for i in range(20)))
    assert main(["fit", str(path), "--exposure", "there.csv", "--window", "24 h"]) == 0
    shown = capsys.readouterr().out
    assert "20 nodes were there for 80.0 node-hours in all; 20 left" in shown
    assert "2.5e+05 (1.53e+05" in shown


TWO = "time_h,node\n5,a\n7,b\n"
THOUSAND = ["--nodes", "10", "--window", "1000 h"]
REFUSED = {
    "narrated": (
        TRAPS,
        {"kind": "narrated incidents, incomplete"},
        [],
        "its 7 rows cannot give a rate, for its meta.json calls it 'narrated",
    ),
    "one event": ("time_h,node\n500,a\n500,a\n", None, THOUSAND, "one event, written 2 times; two or more"),
    "for ever": (
        "time_h,node,downtime_h\n5,a,1e300\n7,b,1\n", None, THOUSAND,
        "an outage of 1e+300 h (line 2); at most 100 years",
    ),
    "no unit": (TWO, None, ["--nodes", "10", "--window", "-10 to 1000 h"], "--window: a number without a unit ('-10')"),
    "no end": (TWO, None, ["--nodes", "10", "--window", "0 h to inf h"], "'inf h'"),
    "two clocks": (
        TWO, None, ["--nodes", "10", "--window", "2024-01-01 to 2024-02-01"], "ISO times, but 'time_h' counts hours",
    ),
    "nodes": (TRAPS, None, ["--window", "100 h"], "number of nodes is not known"),
    "too few": (TRAPS, None, ["--window", "100 h", "--nodes", "2"], "more than --nodes 2"),
    "window": (TRAPS, None, ["--nodes", "9"], "window is not known"),
    "short": (TRAPS, None, ["--nodes", "9", "--window", "20 h"], "after the window ends"),
    "merge": (TRAPS, None, ["--nodes", "9", "--window", "100 h", "--merge", "soon"], "--merge"),
    "column": (TRAPS, None, ["--nodes", "9", "--window", "100 h", "--by", "colours"], "no column 'colours'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "meta", "options", "words"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_one_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, meta: object, options: list[str], words: str
) -> None:
    path, out = write(tmp_path, text, meta=meta), tmp_path / "out"
    assert main(["fit", str(path), *options, "--out", str(out)]) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert not out.exists()


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path)
    (tmp_path / "taken").write_text("", encoding="utf-8")
    out = str(tmp_path / "taken")
    assert main(["fit", str(path), "-n", "5", "--window", "100 h", "--out", out, "--replications", "100"]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.long
def test_a_hundred_megabytes_are_read_within_a_minute(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    count = 2_000_000
    rows = zip(
        np.sort(rng.random(count) * 8e4).tolist(),
        rng.integers(0, 20_000, count).tolist(),
        rng.lognormal(1, 1.5, count).tolist(),
        strict=True,
    )
    path = tmp_path / "large.csv"
    with path.open("w", encoding="utf-8") as stream:
        stream.write("time_h,node,component,downtime_h,detail\n")
        stream.writelines(
            f"{time:.4f},node{node:06d},gpu,{down:.3f},a column that nobody asks for\n" for time, node, down in rows
        )
    assert path.stat().st_size > 1e8
    before = os.times()
    assert main(["fit", str(path), "-n", "20000", "--window", "80000 h"]) == 0
    after = os.times()
    assert after.user + after.system - before.user - before.system < 60
    assert "round trip: not run" in capsys.readouterr().out


def test_a_few_events_are_said_to_be_too_few(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Six events get no steps, no frailty, no repeats; the section has none either, and says so with the report."""
    rows = "".join(
        f"{time},n{number},gpu,1\n" for number, time in enumerate((300.0, 300.6, 301.2, 436.03, 519.25, 556))
    )
    path = write(tmp_path, "time_h,node,component,downtime_h\n" + rows)
    assert main(["fit", str(path), "-n", "10", "--window", "672 h", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "too few events (6) to tell steps: from 20 on; the section has an even rate" in shown
    assert "Too few events to tell how unlike the nodes are, below 10: all." in shown
    assert "too few events to tell repeats on a node, from 40 of a class on: gpu (6)" in shown
    section = (tmp_path / "out" / "failures.yaml").read_text()
    assert [word for word in ("drift", "frailty", "recurrence") if word in section] == []


def test_steps_that_only_the_section_has_are_told_beside_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bursts too weak for the strict penalty: the section has steps by a finer one, and both are said."""
    rng = np.random.default_rng(12)
    times = np.sort(
        np.concatenate([rng.random(20) * 600.0, *(at + rng.random(4) * 8.0 for at in (90.0, 250.0, 430.0))])
    )
    path = write(tmp_path, "time_h\n" + "".join(f"{time:.4f}\n" for time in times))
    asked = ["-n", "10", "--window", "600 h", "--replications", "100", "--out", str(tmp_path / "out")]
    assert main(["fit", str(path), *asked]) == 0
    shown = capsys.readouterr().out
    stretches = (tmp_path / "out" / "failures.yaml").read_text().partition(" stretches")[0].rpartition("# ")[2]
    assert f"none by this penalty; the section has {stretches} stretches by a finer one" in shown
    assert "none: the rate is even" not in shown


def test_statistics_without_a_figure_are_not_said_to_be_met(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A window of less than two days has no Fano factor. The gaps are the quantiles of an exponential law."""
    gaps = -1.3 * np.log1p(-(np.arange(30) + 0.5) / 30)
    times = np.cumsum(np.random.default_rng(2).permutation(gaps))
    rows = "".join(f"{time:.4f},n{number}\n" for number, time in enumerate(times))
    path = write(tmp_path, "time_h,node\n" + rows)
    assert main(["fit", str(path), "-n", "40", "--window", "40 h", "--replications", "100"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("no figure") == 2
    assert "The simulated logs have all 4 of these statistics that have a figure, of 6." in shown


def test_equal_rows_count_once_below_the_first_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = "{0},n{1},gpu,4\n"
    path = write(
        tmp_path, "time_h,node,component,downtime_h\n" + "".join(row.format(60 * i, i) * 3 for i in range(1, 11))
    )
    assert main(["fit", str(path), "-n", "11", "--window", "30 d", "--json", "--replications", "100"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["events"] for one in told["system"]] == [30, 10, 10]
    assert told["classes"][0]["events"] == told["model"]["sources"][0]["events"] == 10
    assert "equal rows once" in told["system"][1]["name"]


def test_a_merge_that_is_asked_for_is_not_called_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path)
    assert main(["fit", str(path), "-n", "5", "--window", "100 h", "--merge", "1 h", "--replications", "100"]) == 0
    assert "--merge is off" not in capsys.readouterr().out


def test_a_statistic_that_cannot_be_told_is_one_dash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "time_h,node\n5,a\n60,b\n")
    assert main(["fit", str(path), "-n", "5", "--window", "100 h", "--replications", "100"]) == 0
    shown = capsys.readouterr().out
    assert "(–" not in shown
    assert "inf" not in shown
    assert " or more" in shown


def shown_of(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a run prints, on one line."""
    assert main(["fit", str(path), "--replications", "100", *words]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_class_called_joint_starts_is_the_users_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    rows = [f"{at!r},{at % 1 * 7:.0f},joint_starts" for at in sorted((rng.random(60) * 1000.0).tolist())]
    path = write(tmp_path, "time_h,node,component\n" + "\n".join(rows) + "\n")
    out = tmp_path / "out"
    shown = shown_of(path, capsys, "--nodes", "8", "--window", "1000 h", "--out", str(out))
    assert "joint starts (two nodes or more" not in shown
    assert "no joint starts: " in shown or "no class of joint starts: " in shown
    assert "on two nodes or more" not in (out / "failures.yaml").read_text()


def test_a_log_whose_starts_are_all_one_can_be_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "time_h,node\n5,a\n5,b\n")
    shown_of(path, capsys, "--nodes", "10", "--window", "100 h", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out" / "fit.png").is_file()


def test_down_times_of_zero_are_kept_in_the_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    rows = [f"{at!r},{number % 8},0" for number, at in enumerate(sorted((rng.random(60) * 1000.0).tolist()))]
    path = write(tmp_path, "time_h,node,downtime_h\n" + "\n".join(rows) + "\n")
    shown_of(path, capsys, "--nodes", "8", "--window", "1000 h", "--out", str(tmp_path / "out"))
    assert "repair: 0 h" in (tmp_path / "out" / "failures.yaml").read_text()


def test_equal_rows_that_chance_makes_on_a_coarse_clock_are_all_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """800 failures of 8 nodes in whole days of 8,064 h: about 119 pairs meet by chance."""
    rng = np.random.default_rng(3)
    rows = sorted(
        (24 * int(day), int(node)) for day, node in zip(rng.integers(0, 336, 800), rng.integers(0, 8, 800), strict=True)
    )
    path = write(tmp_path, "time_h,node\n" + "".join(f"{at},{node}\n" for at, node in rows))
    shown = shown_of(path, capsys, "--nodes", "8", "--window", "8064 h")
    assert "another in every column: chance makes as many on this clock and these nodes (up to 11" in shown
    assert "same-node repeats merged (off) 800" in shown


def test_times_that_were_rounded_to_hours_in_part_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    minutes = np.floor(rng.random(2000) * 8000.0 * 60.0) / 60.0
    mixed = np.sort(np.where(rng.random(2000) < 0.2, np.floor(minutes), minutes))
    for times, told in ((mixed, True), (np.sort(minutes), False)):
        path = write(tmp_path, "time_h,node\n" + "".join(f"{at:.4f},{i % 500}\n" for i, at in enumerate(times)))
        shown = shown_of(path, capsys, "--nodes", "500", "--window", "8000 h")
        assert ("starts lie on whole hours, 1.67% would" in shown) is told


def test_a_thin_start_counts_joint_starts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first of eight batches at 150 h of 1,000: one time in four. As 80 events it would be one in 400,000."""
    rows = "".join(f"{150 + 105 * batch},{10 * batch + one}\n" for batch in range(8) for one in range(10))
    path = write(tmp_path, "time_h,node\n" + rows)
    assert "thin start" not in shown_of(path, capsys, "--nodes", "100", "--window", "1000 h")
