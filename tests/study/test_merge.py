"""Runs made in several folders become one: what one run would have said, or one clear line why not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gemsim.cli.main import main
from gemsim.errors import ResultsError
from gemsim.results.folder import locked
from gemsim.results.provenance import runs_of
from gemsim.results.rows import SCHEMA, RowStore
from gemsim.study.merge import merge
from gemsim.study.reopen import reopen
from tests.study.fakes import Listener
from tests.study.small import study_text

SHARDS = 3
SHIPPED = Path(__file__).parents[2] / "studies/retry.yaml"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished sweep; nobody may change it."""
    home = tmp_path_factory.mktemp("whole")
    (home / "small.yaml").write_text(study_text(replications=6))
    assert main(["sweep", str(home / "small.yaml"), "--out", str(home / "out"), "--jobs", "1", "-q"]) == 0
    return home / "out"


def part_of(whole: Path, folder: Path, keep: Callable[[int], bool]) -> Path:
    """A folder as a host would leave it that was given only the tasks `keep` names."""
    folder.mkdir(parents=True)
    for name in ("source.yaml", "study.yaml", "provenance.json"):
        shutil.copy(whole / name, folder / name)
    runs = runs_of(folder / "provenance.json")
    (folder / "provenance.json").write_text(json.dumps({"runs": [{**run, "host": folder.name} for run in runs]}))
    table = RowStore(whole / "rows").read()
    order = np.lexsort((table["point"].to_numpy(zero_copy_only=False), table["replication"].to_numpy()))
    mine = [int(at) for number, at in enumerate(order) if keep(number)]
    RowStore(folder / "rows").append_table(table.take(pa.array(mine, pa.int64())))
    return folder


def shards(whole: Path, home: Path) -> list[Path]:
    def mine(number: int, *, at: int) -> bool:
        return number % SHARDS == at

    return [part_of(whole, home / f"host {at} ü", partial(mine, at=at)) for at in range(SHARDS)]


def told(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("summary.csv", "costs.csv", "study.yaml", "source.yaml")]


def test_complete_shards_are_the_single_run_byte_for_byte(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = shards(whole, tmp_path)
    before = {path: path.read_bytes() for one in folders for path in one.rglob("*") if path.is_file()}
    out = tmp_path / "zusammen geführt"
    assert main(["merge", *map(str, folders), "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert told(out) == told(whole)
    assert RowStore(out / "rows").read().equals(RowStore(whole / "rows").read())
    assert len(list((out / "rows").iterdir())) == 1
    assert shown.err == f"merged 24 rows from 3 folders: 24 of them are new in {out}\n"
    assert "Which width for a small job?" in shown.out
    assert {path: path.read_bytes() for one in folders for path in one.rglob("*") if path.is_file()} == before


def test_shares_run_apart_stopped_topped_up_and_joined_are_the_single_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/cluster.md, with a study that is shipped: `gemsim sweep --shard I/N` in N folders, then `gemsim merge`."""

    def swept(folder: Path, *words: str, replications: int = 2) -> int:
        asked = ["--replications", str(replications), "--jobs", "1", "--out", str(folder), "-q"]
        return main(["sweep", str(SHIPPED), "--quick", *asked, *words])

    single, out = tmp_path / "single", tmp_path / "joined: all ü"
    assert swept(single) == 0
    folders = [tmp_path / f"share {share} ü" for share in range(1, SHARDS + 1)]
    for share, folder in enumerate(folders, 1):
        assert swept(folder, "--shard", f"{share}/{SHARDS}") == 0
    shutil.rmtree(folders[1] / "rows")  # as a share that was killed before its first rows
    assert main(["merge", *map(str, folders), "--out", str(out), "-q"]) == 3
    assert "lack replications" in capsys.readouterr().out
    assert swept(folders[1], "--shard", f"2/{SHARDS}") == 0
    rows = [len(RowStore(folder / "rows").keys()) for folder in folders]
    assert sum(rows) == len(RowStore(single / "rows").keys()) == 24
    assert min(rows) >= 6
    assert main(["merge", *map(str, folders), "--out", str(out), "-q"]) == 0
    same(out, single)
    for share, folder in enumerate(folders, 1):  # more replications later: each share adds its own
        assert swept(folder, "--shard", f"{share}/{SHARDS}", replications=3) == 0
    assert main(["merge", *map(str, folders), "--out", str(out), "-q"]) == 0
    assert swept(single, replications=3) == 0
    same(out, single)


def same(one: Path, other: Path) -> None:
    """Byte for byte what they tell, and row for row what they hold, in order."""
    assert told(one) == told(other)
    assert RowStore(one / "rows").read().equals(RowStore(other / "rows").read())


def test_the_runs_of_all_sources_are_listed_with_their_folders(whole: Path, tmp_path: Path) -> None:
    folders = shards(whole, tmp_path)
    merge(folders, tmp_path / "out", report=Listener())
    *sources, own = runs_of(tmp_path / "out/provenance.json")
    assert [run["folder"] for run in sources] == [str(folder) for folder in folders]
    assert (own["rows_before"], own["rows_added"], own["outcome"], own["study"]) == (0, 24, "ended", "small.yaml")
    again = merge(folders, tmp_path / "out", report=Listener())
    assert again.added == 0
    assert len(runs_of(tmp_path / "out/provenance.json")) == 4  # a repeat changes nothing


def test_rows_that_come_later_come_with_the_next_merge(whole: Path, tmp_path: Path) -> None:
    first, *others = shards(whole, tmp_path)
    out = tmp_path / "out"
    result = merge([first], out, report=Listener())
    assert set(result.incomplete.values()) == {"incomplete: 2 of 6 replications are here"}
    assert all(row["ettr"] is None for row in result.summary.rows)  # a part of the replications is no fair sample
    assert merge([first, *others], out, report=Listener()).added == 16
    assert told(out) == told(whole)


def test_what_is_incomplete_is_listed_and_a_sweep_adds_it(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = shards(whole, tmp_path)[1:]
    out = tmp_path / "out"
    assert main(["merge", *map(str, folders), "--out", str(out), "-q"]) == 3
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "4 designs lack replications" in shown.out
    assert "incomplete: 4 of 6 replications are here" in shown.out
    study = tmp_path / "small.yaml"
    study.write_text(study_text(replications=6))
    assert main(["sweep", str(study), "--out", str(out), "--jobs", "1"]) == 0
    assert told(out) == told(whole)


def test_a_folder_may_join_others_into_itself(whole: Path, tmp_path: Path) -> None:
    first, *others = shards(whole, tmp_path)
    assert merge([first, *others], first, report=Listener()).added == 16
    assert told(first) == told(whole)


def test_replications_may_differ_and_the_most_are_taken(tmp_path: Path, whole: Path) -> None:
    study = tmp_path / "small.yaml"
    study.write_text(study_text(replications=3))
    assert main(["sweep", str(study), "--out", str(tmp_path / "few"), "--jobs", "1", "-q"]) == 0
    result = merge([tmp_path / "few", whole], tmp_path / "out", report=Listener())
    assert (result.plan.replications, result.added) == (6, 24)
    assert told(tmp_path / "out") == told(whole)


def test_other_studies_and_other_seeds_are_refused_before_anything_is_written(tmp_path: Path, whole: Path) -> None:
    study = tmp_path / "other.yaml"
    study.write_text(study_text(replications=2).replace("tensor: 8", "tensor: 4").replace("data: 8", "data: 16"))
    assert main(["sweep", str(study), "--out", str(tmp_path / "other"), "--jobs", "1", "-q"]) == 0
    with pytest.raises(ResultsError, match=r"other: holds another study than .*only runs of one study can be joined"):
        merge([whole, tmp_path / "other"], tmp_path / "out", report=Listener())
    study.write_text(study_text(replications=2))
    again = ["sweep", str(study), "--out", str(tmp_path / "seed"), "--jobs", "1", "-q", "--seed", "4"]
    assert main(again) == 0
    with pytest.raises(ResultsError, match=r"seed: holds seed 4, .*holds seed 3; .*again with --seed 3"):
        merge([whole, tmp_path / "seed"], tmp_path / "out", report=Listener())
    assert not (tmp_path / "out").exists()
    before = told(tmp_path / "seed")
    with pytest.raises(ResultsError, match="holds seed"):
        merge([whole], tmp_path / "seed", report=Listener())
    assert told(tmp_path / "seed") == before


def test_rows_that_contradict_each_other_are_refused_with_both_folders(tmp_path: Path, whole: Path) -> None:
    first = part_of(whole, tmp_path / "first", lambda n: n < 12)
    second = part_of(whole, tmp_path / "second", lambda n: n >= 10)
    rows = RowStore(second / "rows").read().to_pylist()
    twice = RowStore(first / "rows").keys() & RowStore(second / "rows").keys()
    assert len(twice) == 2
    changed = [row | {"steps": row["steps"] + ((row["point"], row["replication"]) in twice)} for row in rows]
    shutil.rmtree(second / "rows")
    RowStore(second / "rows").append_table(pa.Table.from_pylist(changed, schema=SCHEMA))
    with pytest.raises(ResultsError, match=r"first and .*second: two rows of replication \d .* differ \(in steps\)"):
        merge([first, second], tmp_path / "out", report=Listener())
    assert not (tmp_path / "out/rows").exists()


def test_a_folder_without_a_sweep_and_a_target_in_use_are_one_clear_line(
    tmp_path: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["merge", str(tmp_path / "empty"), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("holds no sweep") == 1
    with locked(tmp_path / "out"):
        assert main(["merge", str(whole), "--out", str(tmp_path / "out")]) == 2
    assert "is writing here" in capsys.readouterr().err
    with locked(whole):  # a source that is being written is read all the same
        assert main(["merge", str(whole), "--out", str(tmp_path / "out"), "-q"]) == 0


def test_failures_of_the_sources_stay_failures_unless_another_has_the_design_whole(tmp_path: Path, whole: Path) -> None:
    first = part_of(whole, tmp_path / "first", lambda n: n % 3 == 0)
    id_ = min(RowStore(whole / "rows").keys())[0]
    (first / "errors").mkdir()
    (first / "errors/failed.json").write_text(json.dumps({id_: "failed; in replication 1: ValueError: odd"}))
    (first / f"errors/{id_[:16]}.txt").write_text("Traceback of that host")
    result = merge([first], tmp_path / "part", report=Listener())
    assert result.failed == {id_: "failed; in replication 1: ValueError: odd"}
    assert id_ not in result.incomplete
    assert (tmp_path / f"part/errors/{id_[:16]}.txt").read_text() == "Traceback of that host"
    assert reopen(tmp_path / "part").failed == result.failed
    assert merge([first, whole], tmp_path / "part", report=Listener()).failed == {}
    assert told(tmp_path / "part") == told(whole)
