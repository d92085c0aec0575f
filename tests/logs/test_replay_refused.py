"""What a study that replays a log refuses: one line each, at its place in the study."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemsim.errors import StudyError
from tests.logs.synthetic import write
from tests.logs.test_replay_study import META, TEXT, study

REFUSED = {
    "file": ("{replay: {log: none.csv}}", "log: no such file ('none.csv')"),
    "long name": ("{replay: {log: " + "x" * 3000 + "}}", "log: no such file"),
    "folder": ("{replay: {log: .}}", "log: no such file"),
    "number": ("{replay: {log: 3}}", "log: not a file name (3)"),
    "nodes": ("{replay: {log: FOLDER/bare.csv, window: 900 d}}", "log: FOLDER/bare.csv: the number of nodes is not"),
    "window": ("{replay: {log: FOLDER/bare.csv, nodes: 100}}", "log: FOLDER/bare.csv: the observed window is not"),
    "few nodes": ("{replay: {log: FOLDER/log.csv, nodes: 3}}", "more than nodes 3"),
    "narrated": (
        "{replay: {log: FOLDER/told/log.csv}}",
        "rows cannot give a rate, for its meta.json calls it 'narrated",
    ),
    "binary": ("{replay: {log: FOLDER/binary.csv}}", "log: FOLDER/binary.csv: not a text file"),
    "no such rows": ("{replay: {log: FOLDER/log.csv, where: {component: fan}}}", "no row of 603 meets where"),
    "block": ("{replay: {log: FOLDER/log.csv, block: 200 d}}", "block: a block of 200 d is longer than the window"),
    "window text": ("{replay: {log: FOLDER/log.csv, window: soon}}", "window: cannot be read ('soon')"),
    "columns": ("{replay: {log: FOLDER/log.csv, columns: {when: t}}}", "columns: not a pair of names ('when': 't')"),
    "where": ("{replay: {log: FOLDER/log.csv, where: [a]}}", "where: not a mapping"),
    "mix": ("{mix: llama3-2024, replay: {log: FOLDER/log.csv}}", "mix: does not go with replay"),
    "scale": ("{scale: 2, replay: {log: FOLDER/log.csv}}", "scale: does not go with replay"),
    "scope": ("{replay: {log: FOLDER/log.csv, scope: rack}}", "scope: unknown value ('rack')"),
    "absurd": ("{replay: {log: FOLDER/absurd.csv, nodes: 9, window: 9 h}}", "an outage of 1e+09 h"),
    "nothing": ("{page: 2 MiB}", "failures: neither mix nor classes"),
}


@pytest.mark.parametrize(("section", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_replayed_is_one_line_with_its_place(
    section: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GEMSIM_TRACES", raising=False)
    (tmp_path / "told").mkdir()
    write(tmp_path, TEXT, meta=META)
    write(tmp_path / "told", TEXT, meta=META | {"kind": "narrated incidents"})
    (tmp_path / "meta.json").replace(tmp_path / "kept.json")
    for name, text in (("bare.csv", TEXT), ("absurd.csv", "time_h,node,downtime_h\n1,a,1e9\n2,b,1\n")):
        write(tmp_path, text, name=name)
    (tmp_path / "binary.csv").write_bytes(b"time_h\0\n")
    bare = "bare" in section or "absurd" in section
    if not bare:
        (tmp_path / "kept.json").replace(tmp_path / "meta.json")
    with pytest.raises(StudyError) as caught:
        study("", failures=section.replace("FOLDER", str(tmp_path)))
    (line,) = str(caught.value).splitlines()
    assert line.startswith("study.yaml:4:")
    assert words.replace("FOLDER", str(tmp_path)) in line
    assert "--" not in line
