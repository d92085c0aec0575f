"""Folders and files of any name, spaces and letters of all alphabets included, wherever a command takes a path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gemsim.cli.main import main
from tests.backtest.test_reading import PLAIN
from tests.calibrate.samples import bench
from tests.fuzz.cases import REPLAYED, SWEPT, lay, swept
from tests.logs.synthetic import write

NAME = "My studies, no. 2 – Größe 測試 ☃ #1 'x' %s {y}"
DECIDED = f"""{SWEPT.partition("sweep:")[0]}
decide: {{objective: goodput, variables: {{protection.checkpoint.interval: [30 min, 1 h]}}}}
run: {{horizon: 2 d, replications: 2}}
"""
UNCERTAIN = SWEPT.replace("blocked: 1 s", "blocked: 1 s .. 2 s")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of such a name, with inputs of such names in it; a study there names its log by a relative name."""
    folder = tmp_path / NAME
    folder.mkdir()
    write(folder, name=f"log {NAME}.csv", meta={"nodes": 8, "obs_end_h": 100})
    for name, text in (("study", SWEPT), ("decide", DECIDED), ("uncertain", UNCERTAIN)):
        (folder / f"{name} {NAME}.yaml").write_text(text, encoding="utf-8")
    quoted = json.dumps(f"log {NAME}.csv", ensure_ascii=False)
    (folder / "replay é.yaml").write_text(REPLAYED.replace("log.csv", quoted), encoding="utf-8")
    (folder / "run 1.csv").write_text(PLAIN)
    (folder / "bench é.json").write_text(json.dumps(bench(widths=(4,), rows=(1,))))
    (folder / "nodes é.csv").write_text("time_h,node,event\n" + "".join(f"0,{node},add\n" for node in "abc"))
    lay(swept(), folder / "swept é 1")
    monkeypatch.chdir(tmp_path)
    return folder


COMMANDS = {
    "check": (["check", "@study"], []),
    "check a replay": (["check", "@/replay é.yaml"], []),
    "sweep": (["sweep", "@study", "--jobs", "1", "--out", "@/out é 1"], ["out é 1/summary.csv"]),
    "recommend": (
        ["recommend", "@decide", "--jobs", "1", "--confirm", "2", "--out", "@/out é 1"],
        ["out é 1/recommend.json"],
    ),
    "explain": (["explain", "@study", "--point", "1", "--json", "@/one é.json"], ["one é.json"]),
    "sensitivity": (
        ["sensitivity", "@uncertain", "--quick", "--samples", "8", "--out", "@/out é 1"],
        ["out é 1/sensitivity.json", "out é 1/tornado.svg"],
    ),
    "sweep on processes": (
        ["sweep", "@study", "-j", "2", "--limit", "5 min", "--shard", "1/2", "--out", "@/out é 1"],
        ["out é 1/study.yaml"],
    ),
    "report": (["report", "@/swept é 1", "--out", "@/page é 1"], ["page é 1/report.html", "page é 1/figures/ettr.svg"]),
    "merge": (["merge", "@/swept é 1", "--out", "@/out é 1"], ["out é 1/summary.csv", "out é 1/source.yaml"]),
    "timeline": (
        ["timeline", "@study", "--point", "2", "--out", "@/out é 1"],
        ["out é 1/timeline.txt", "out é 1/timeline.json", "out é 1/timeline.svg", "out é 1/spans.csv"],
    ),
    "schema": (["schema", "--out", "@/schema é.json"], ["schema é.json"]),
    "losses": (["losses", "@study", "--most", "0.1", "--json", "@/losses é.json"], ["losses é.json"]),
    "fit": (
        ["fit", "@log", "--exposure", "@/nodes é.csv", "--replications", "100", "--out", "@/fit é 1"],
        ["fit é 1/failures.yaml", "fit é 1/fit.png"],
    ),
    "backtest": (
        ["backtest", "@study", "@/run 1.csv", "--point", "1", "--runs", "100", "--json", "@/back é.json"],
        ["back é.json"],
    ),
    "calibrate": (
        ["calibrate", "--from", "@/bench é.json", "--out", "@/profiles é 1"],
        ["profiles é 1/made-up/2026-02-03/profile.json", "profiles é 1/made-up/2026-02-03/samples.csv"],
    ),
    "validate": (["validate", "--quick", "--only", "case1", "--sets", "@/sets é.csv"], ["sets é.csv"]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "absolute"),
    [*((name, True) for name in COMMANDS), *((name, False) for name in ("check", "sweep", "losses", "merge"))],
)
def test_a_path_of_any_name(name: str, absolute: bool, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, made = COMMANDS[name]
    assert main([path(word, here if absolute else Path(NAME)) for word in words]) == 0, capsys.readouterr().err
    assert all((here / file).stat().st_size for file in made)
    assert sorted(one.name for one in here.parent.iterdir()) == [NAME]


def path(word: str, folder: Path) -> str:
    """A word of the command line: @NAME is a file of that kind, @/NAME any file of the folder."""
    if word.startswith("@/"):
        return str(folder / word[2:])
    return str(folder / f"{word[1:]} {NAME}.{'csv' if word == '@log' else 'yaml'}") if word.startswith("@") else word


def test_a_profile_of_any_name_is_used_and_checked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = here / "profiles é 1"
    assert main(["calibrate", "--from", str(here / "bench é.json"), "--out", str(out)]) == 0
    profile = out / "made-up" / "2026-02-03"
    assert main(["calibrate", "--check", str(profile)]) == 0
    study = here / f"study {NAME}.yaml"
    named = json.dumps(str(profile.relative_to(here)), ensure_ascii=False)
    study.write_text(f"{SWEPT}profile: {named}\n", encoding="utf-8")
    assert main(["check", str(study)]) == 0
    assert "made-up/2026-02-03" in capsys.readouterr().out
