"""Kill -9 at any time, as often as it likes: what is resumed ends as if nothing had happened, byte for byte.

The real engine runs a real study. Batches are short and parts are united often, so that kills meet every step.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gemsim.cli.main import main
from gemsim.results.provenance import runs_of
from gemsim.results.rows import RowStore, keys_of
from gemsim.study.reopen import reopen
from tests.study.processes import wait_until_gone
from tests.study.small import study_text

ROOT = Path(__file__).parents[2]
DRIVER = """\
import sys
from gemsim.cli.main import main
from gemsim.results import rows
from gemsim.study import runner
SMALL = {rows: {"LOOSE": 4}, runner: {"BATCH_S": 0.02, "LARGEST_BATCH": 8, "HAND_OVER_S": 0.02}}
for module, sizes in SMALL.items():
    for name, size in sizes.items():
        assert hasattr(module, name), name  # a name that is gone would leave the sizes as they are
        setattr(module, name, size)
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


@dataclass
class Bench:
    """A study, what it ends in, and how kills have gone so far."""

    home: Path
    whole: Path
    rows: int
    seconds: float  # from the first entry in the list of runs to the end
    dice: random.Random
    fell: Counter[str] = field(default_factory=Counter)

    def start(self, folder: Path, jobs: int) -> subprocess.Popen[bytes]:
        words = ["sweep", str(self.home / "small.yaml"), "--quick", "--out", str(folder), "--jobs", str(jobs), "-q"]
        command = [sys.executable, str(self.home / "driver.py"), *words]
        return subprocess.Popen(command, cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL)


def bench(home: Path, seed: int, *, replications: int) -> Bench:
    quick = f"quick:\n  run: {{replications: {replications}}}\n"
    (home / "small.yaml").write_text(study_text(replications=300).partition("quick:")[0] + quick)
    (home / "driver.py").write_text(DRIVER)
    made = Bench(home, home / "whole", 4 * replications, 0.0, random.Random(seed))
    process = made.start(made.whole, 1)
    while not runs_of(made.whole / "provenance.json"):
        time.sleep(0.005)
    began = time.monotonic()
    assert process.wait() == 0
    made.seconds = time.monotonic() - began
    return made


def kill_once(bench: Bench, folder: Path, jobs: int, *, parent_only: bool) -> bool:
    """Start a run in `folder` and kill it at a random time; whether it was still running then."""
    before = runs_of(folder / "provenance.json")
    process = bench.start(folder, jobs)
    left = 1.0 - len(RowStore(folder / "rows").keys()) / bench.rows
    aim = bench.dice.random()
    while process.poll() is None and len(runs_of(folder / "provenance.json")) == len(before):
        if aim < 0.1:  # before its first word
            time.sleep(bench.dice.uniform(0.0, 0.5))
            break
        time.sleep(0.005)
    if 0.1 <= aim < 0.7:
        time.sleep(bench.dice.uniform(0.0, 1.2 * bench.seconds * max(left, 0.1)))
    elif aim < 0.85:  # as parts are united
        _wait_until_parts_go(folder, process)
    else:  # when nothing is left but the end
        _wait_for_all_rows(folder, process, bench.rows)
        time.sleep(bench.dice.choice((0.0, bench.dice.uniform(0.0, 0.1))))
    if process.poll() is not None:
        return False
    (os.kill if parent_only else os.killpg)(process.pid, signal.SIGKILL)
    process.wait()
    wait_until_gone(process.pid)
    bench.fell[where(folder, bench.rows, begun=len(before))] += 1
    return True


def _wait_until_parts_go(folder: Path, process: subprocess.Popen[bytes]) -> None:
    seen: set[str] = set()
    while process.poll() is None:
        found = {path.name for path in folder.glob("rows/part-*")}
        if seen - found:
            return
        seen |= found


def _wait_for_all_rows(folder: Path, process: subprocess.Popen[bytes], rows: int) -> None:
    """Until they are there, in one part."""
    while process.poll() is None and len(RowStore(folder / "rows").keys()) < rows:
        time.sleep(0.002)
    while process.poll() is None and len(list(folder.glob("rows/part-*"))) > 1:
        time.sleep(0.001)


def where(folder: Path, rows: int, *, begun: int) -> str:
    """What a killed run was doing, by what it has left."""
    runs = runs_of(folder / "provenance.json")
    parts = [pq.read_table(path, columns=["point", "replication"]) for path in folder.glob("rows/part-*")]
    keys = [key for part in parts for key in keys_of(part)]
    if len(runs) == begun:
        return "before it began"
    if runs[-1]["outcome"] == "ended":
        return "after the end"
    if len(keys) > len(set(keys)):
        return "uniting parts"
    if list(folder.glob("rows/.part-*.tmp")):
        return "writing a part"
    return "running" if len(keys) < rows else "at the summary"


def nothing_is_lost(bench: Bench, folder: Path) -> None:
    """Every row that is there is a row of the whole run; a reader may look at any time."""
    whole = {row["point"] + str(row["replication"]): row for row in RowStore(bench.whole / "rows").read().to_pylist()}
    table = RowStore(folder / "rows").read()
    assert all(whole[row["point"] + str(row["replication"])] == row for row in table.to_pylist())
    runs = runs_of(folder / "provenance.json")
    assert bool(runs) or not len(table)
    if runs and (folder / "source.yaml").is_file():
        assert len(reopen(folder).summary.rows) == 6


def kill_and_resume(bench: Bench, jobs: int, kills: int) -> None:
    """`kills` kills, some of them in one folder one after another, each folder then run to its end."""
    done = 0
    while done < kills:
        folder = Path(tempfile.mkdtemp(prefix=f"killed {jobs} é ", dir=bench.home))
        for _ in range(min(kills - done, bench.dice.randint(1, 4))):
            done += kill_once(bench, folder, jobs, parent_only=bench.dice.random() < 0.5)
            nothing_is_lost(bench, folder)
        assert main(["sweep", str(bench.home / "small.yaml"), "--quick", "--out", str(folder), "-j1", "-q"]) == 0
        for name in ("summary.csv", "costs.csv", "study.yaml", "source.yaml"):
            assert (folder / name).read_bytes() == (bench.whole / name).read_bytes()
        assert RowStore(folder / "rows").read().equals(RowStore(bench.whole / "rows").read())
        runs = runs_of(folder / "provenance.json")
        assert {run["outcome"] for run in runs[:-1]} <= {"killed", "ended"}
        assert runs[-1]["outcome"] == "ended"
        assert sum(run["rows_added"] for run in runs) == bench.rows
        assert not list(folder.rglob(".*.tmp"))


def test_kill_9_at_random_times_then_resume_equals_an_uninterrupted_run(tmp_path: Path) -> None:
    made = bench(tmp_path, seed=1, replications=50)
    for jobs, kills in ((1, 2), (2, 3)):
        kill_and_resume(made, jobs, kills)
    assert made.fell.total() == 5


@pytest.mark.long
@pytest.mark.parametrize("jobs", [1, 2])
def test_thirty_kills_meet_every_step_of_a_run(tmp_path: Path, jobs: int) -> None:
    made = bench(tmp_path, seed=10 + jobs, replications=150)
    kill_and_resume(made, jobs, 30)
    assert made.fell.total() == 30
    steps = ("running", "writing a part", "uniting parts", "at the summary")
    while not all(made.fell[step] for step in steps) and made.fell.total() < 90:  # some last for 20 ms
        kill_and_resume(made, jobs, 10)
    print(f"jobs={jobs}: kills fell {dict(made.fell)}")
    for step in steps:
        assert made.fell[step] >= 1, step
