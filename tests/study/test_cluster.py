"""Dask workers, as processes of their own on the loopback: the same rows, and a worker killed in the middle."""

from __future__ import annotations

import ast
import csv
import json
import logging
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gemsim as gs
from gemsim.cli.main import main
from gemsim.cli.sweep import sweep as command
from gemsim.errors import GemsimError
from gemsim.results.rows import RowStore
from gemsim.study import cluster
from gemsim.study.cluster import connected, fingerprint, refuse_others
from gemsim.study.sweep import SweepResult, sweep
from tests.study import fakes

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore:Port 8787 is already in use")
STUDY = ROOT / "studies/retry.yaml"


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """Two Dask workers and their scheduler; nothing listens beyond the loopback, and there is no dashboard."""
    distributed = pytest.importorskip("distributed")
    settings = {"dashboard_address": None, "worker_dashboard_address": None, "scheduler_port": 0}
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", **settings
    ) as running:
        yield running


def swept(address: str, folder: Path, fates: list[str], **settings: Any) -> SweepResult:
    plan = fakes.plan({"protection.fate": fates}, replications=settings.pop("replications", 6))
    listener = fakes.Listener()
    with connected(address, say=listener.say) as make:
        return sweep(plan, fakes.MODEL, folder, jobs=1, report=listener, make_executor=make, **settings)


def test_one_job_two_jobs_and_dask_give_the_same_rows_and_summary_of_a_real_study(workers: Any, tmp_path: Path) -> None:
    ways = {"one": ["--jobs", "1"], "two": ["--jobs", "2"], "dask": ["--dask", workers.scheduler_address]}
    for name, words in ways.items():
        where = ["--out", str(tmp_path / name), "--replications", "3"]
        assert main(["sweep", str(STUDY), "--quick", *where, *words]) == 0
    study = gs.load_study(STUDY, quick=True)
    gs.sweep(study, out=tmp_path / "gs", replications=3, dask=workers.scheduler_address, quiet=True)
    assert (tmp_path / "gs/summary.csv").read_bytes() == (tmp_path / "dask/summary.csv").read_bytes()
    one = RowStore(tmp_path / "one/rows").read()
    assert one.num_rows == 36
    for name in ("two", "dask"):
        assert RowStore(tmp_path / name / "rows").read().equals(one)
        assert (tmp_path / name / "summary.csv").read_bytes() == (tmp_path / "one/summary.csv").read_bytes()


def test_a_point_that_ends_or_hangs_its_worker_is_named_and_the_cluster_stays(workers: Any, tmp_path: Path) -> None:
    before = set(workers.scheduler_info["workers"])
    named = ["fine", "dies", "hangs", "raises"]
    result = swept(workers.scheduler_address, tmp_path, named, limit_s=1.0)
    with (tmp_path / "summary.csv").open(newline="") as stream:
        reasons = [row["reason"] for row in csv.DictReader(stream)]
    assert reasons == [
        "",
        "failed: the worker process died (SIGKILL; out of memory, or killed)",
        "failed: no answer within 1 s",
        "failed in 3 replications; in replication 1: ValueError: replication 1 is odd",
    ]
    assert result.added == 6 + 3
    assert set(workers.scheduler_info["workers"]) == before


def test_a_dask_worker_killed_in_the_middle_costs_nothing(workers: Any, tmp_path: Path) -> None:
    pids = [worker.pid for worker in workers.workers.values()]
    killed: list[int] = []

    def kill_one() -> None:
        deadline = time.monotonic() + 60.0
        while not list(tmp_path.glob("rows/part-*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(pids[0], signal.SIGKILL)
        killed.append(pids[0])

    killer = threading.Thread(target=kill_one)
    killer.start()
    result = swept(workers.scheduler_address, tmp_path, ["takes its time", "fine"], replications=100)
    killer.join()
    assert killed
    assert not result.failed
    assert result.added == 200
    assert RowStore(tmp_path / "rows").read().num_rows == 200


def test_a_scheduler_that_is_not_there_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    assert main(["sweep", str(STUDY), "--quick", "--dask", "tcp://127.0.0.1:9"]) == 2
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert line.startswith("tcp://127.0.0.1:9: no Dask scheduler answers there (")
    assert main(["sweep", str(STUDY), "--quick", "--dask", "nowhere/scheduler.json"]) == 2
    assert "there is no such scheduler file" in capsys.readouterr().err
    assert main(["sweep", str(STUDY), "--quick", "--dask", "127.0.0.1:9", "--jobs", "2"]) == 2


def test_what_dask_logs_of_a_scheduler_that_is_gone_is_not_shown(workers: Any) -> None:
    log = logging.getLogger("distributed.client")  # has a level of its own
    before = log.level
    with connected(workers.scheduler_address, say=print):
        assert not log.isEnabledFor(logging.ERROR)
    assert log.level == before


def test_without_distributed_the_line_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["sweep", str(STUDY), "--quick", "--dask", "127.0.0.1:9"]) == 2
    assert "pip install 'gemsim[cluster]'" in capsys.readouterr().err


def test_a_worker_with_another_gemsim_or_none_is_refused() -> None:
    refuse_others({"tcp://a:1": fingerprint()})
    with pytest.raises(GemsimError, match=r"tcp://a:1: this Dask worker has no gemsim"):
        refuse_others({"tcp://a:1": None})
    with pytest.raises(GemsimError, match=r"would not give the same rows: gemsim 0\.0\.9, not "):
        refuse_others({"tcp://a:1": fingerprint() | {"gemsim": "0.0.9"}})
    with pytest.raises(GemsimError, match=r"the code of gemsim is 0123, not "):
        refuse_others({"tcp://a:1": fingerprint() | {"code": "0123"}})


def test_other_code_is_refused_by_a_worker_that_comes_later(
    workers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(workers.scheduler_address, say=print) as make:
        theirs = fingerprint() | {"code": "0123"}
        monkeypatch.setattr(cluster, "fingerprint", lambda: theirs)
        with pytest.raises(GemsimError, match="would not give the same rows: the code of gemsim is"):
            make(1).submit(int, "7").result()


def test_a_command_without_a_cluster_imports_no_dask() -> None:
    code = "import sys, gemsim.cli.sweep, gemsim.study.cluster, gemsim.study.sweep; print('distributed' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "False\n"


def test_the_workers_for_slurm_get_a_job_script(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    jobqueue = pytest.importorskip("dask_jobqueue")
    signal.signal(signal.SIGINT, before)  # its import takes Ctrl-C for itself, and from the tests that come later
    script = (ROOT / "docs/slurm/workers.py").read_text()
    (call,) = [node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Call) and node.keywords][:1]
    settings = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
    file = tmp_path / "scheduler.json"
    local = {**settings["scheduler_options"], "host": "127.0.0.1", "scheduler_file": str(file)}
    with jobqueue.SLURMCluster(**{**settings, "scheduler_options": local, "interface": None}) as running:
        job = running.job_script()
        assert json.loads(file.read_text())["address"] == running.scheduler_address
        listening = running.scheduler.http_server._sockets.values()  # it has one even without a dashboard
        assert {socket.getsockname()[0] for socket in listening} == {"127.0.0.1"}
    assert f"#SBATCH --cpus-per-task={settings['cores']}" in job
    assert f"#SBATCH -t {settings['walltime']}" in job
    assert f"--nworkers {settings['processes']}" in job
    assert f"{settings['python']} -m distributed.cli.dask_worker" in job
    assert "--no-dashboard --dashboard-address 127.0.0.1:0" in job


def test_a_scheduler_that_goes_away_is_one_line_and_what_has_ended_is_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    settings = {"dashboard_address": None, "worker_dashboard_address": None, "scheduler_port": 0}
    running = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, host="127.0.0.1", **settings)

    def close() -> None:
        deadline = time.monotonic() + 60.0
        while not list(tmp_path.glob("rows/part-*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        running.close()

    closer = threading.Thread(target=close)
    closer.start()
    soon, gone = {"distributed.comm.timeouts.connect": "1s"}, "the Dask scheduler is gone, or dropped the work"
    with dask.config.set(soon), pytest.raises(GemsimError, match=gone):
        swept(running.scheduler_address, tmp_path, ["takes its time"], replications=1000)
    closer.join()
    assert 0 < RowStore(tmp_path / "rows").read().num_rows < 1000
    assert "Traceback" not in capfd.readouterr().err


def test_the_array_for_slurm_runs_a_command_that_gemsim_takes() -> None:
    (line,) = [line for line in (ROOT / "docs/slurm/array.sh").read_text().splitlines() if line.startswith("exec ")]
    words = shlex.split(line.replace("$I", "200"))
    assert words[:3] == ["exec", "gemsim", "sweep"]
    context = command.make_context("sweep", words[3:])
    assert context.params["shard"] == (200, 200)
    assert context.params["out"] == Path("/shared/runs/big-200")
