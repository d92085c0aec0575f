"""A study that replays a log: its rate, its blocks, its down times, what its identity hangs on, and what is refused."""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from gemsim import scenario
from gemsim.analytic.run import predict
from gemsim.cli.main import main
from gemsim.engine.run import simulate
from gemsim.errors import NotCovered, StudyError, ValueRefused
from gemsim.failures.laws import duration
from gemsim.failures.logs.replay import replay
from gemsim.failures.logs.trace import as_trace, repair_law, share_below, the_log
from gemsim.failures.trace import Event, Trace
from gemsim.scenario import Scenario
from gemsim.spec.loading import LoadedStudy, parse_study, resolve_point
from gemsim.spec.paths import fields_of
from gemsim.spec.printing import canonical_yaml, explain, study_hash
from gemsim.spec.replay import ReplaySpec
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.logs.synthetic import as_csv, drawn, write

HOUR, DAY = 3600.0, 86400.0
SHIPPED = Path(__file__).resolve().parents[2] / "studies" / "replay.yaml"
META = {"nodes": 100, "obs_start_h": 0, "obs_end_h": 4000}
TEXT = as_csv(drawn(np.random.default_rng(5)))
STUDY = """\
title: replayed
cluster: {{gpus: {gpus}, gpu: h100-80gb, {spares}storage: {{write: 2 TB/s, read: 7 TB/s}}}}
workload: {{parameters: 7e9, step: 10 s, parallel: {{data: {gpus}, shard: full}}}}
failures: {failures}
{fleet}
protection: [{{checkpoint: {{target: remote, mode: async, blocked: 1 s, interval: optimal}}}}]
run: {{horizon: {horizon}, replications: 3, seed: 5}}
sweep: {{grid: {{protection.checkpoint.interval: [optimal, 1 h]}}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs")
    write(path, TEXT, meta=META)
    return path


def study(
    log: Path | str, more: str = "", *, gpus: int = 400, spares: str = "spare_nodes: 6, ", horizon: str = "60 d",
    failures: str = "", fleet: str = "",
) -> LoadedStudy:  # fmt: skip
    section = failures or f'{{replay: {{log: "{log}"{more}}}}}'
    text = STUDY.format(gpus=gpus, spares=spares, failures=section, fleet=fleet, horizon=horizon)
    return parse_study(text.encode(), "study.yaml")


def built(log: Path | str, more: str = "", **kinds: Any) -> Scenario:
    return scenario.build(study(log, more, **kinds).spec)


def trace_of(one: Scenario, replication: int = 0) -> Trace:
    assert one.replay is not None
    return as_trace(
        one.replay, one.classes, horizon=one.horizon, seed=5, replication=replication, stationary=one.stationary
    )


def of_job(trace: Trace) -> list[Event]:
    return [event for event in trace.wall if event.unit < trace.classes[event.index].units]


def test_each_component_is_a_class_with_the_mean_rate_of_the_log(folder: Path) -> None:
    one = built(folder / "log.csv")
    log = drawn(np.random.default_rng(5))
    (kind,) = one.classes
    assert (kind.name, kind.clock, kind.exposure, kind.units, kind.spare_units) == ("gpu", "node", "wall", 50, 6)
    assert kind.rate == pytest.approx(50 * len(log.time_h) / (100 * 4000 * HOUR))
    assert kind.repair.mean == pytest.approx(float(log.downtime_h.mean()) * HOUR)
    assert kind.repair.sigma == pytest.approx(float(np.log(log.downtime_h).std()))


def check_mean_rate(one: Scenario) -> None:
    """Failures of the job's nodes per run; a joint start or a lemon cannot change the mean."""
    expected = one.classes[0].rate * one.horizon

    def counts(stage: int) -> list[float]:
        return [float(len(of_job(trace_of(one, 10**6 * stage + number)))) for number in range(600)]

    statcheck.mean_two_stage(counts, expected, detect=0.12 * expected)


def test_the_mean_rate_is_kept(folder: Path) -> None:
    check_mean_rate(built(folder / "log.csv"))


def test_a_job_that_takes_the_spares_failures_is_noticed(folder: Path) -> None:
    def crowded(run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **named: tuple(
            dataclasses.replace(one, node=one.node % 50) for one in run(*given, **named | {"nodes": 65})
        )

    one = built(folder / "log.csv")
    must_reject(lambda: check_mean_rate(one), replaced("gemsim.failures.logs.trace:replay", crowded))


def test_the_sweep_meets_the_blocks_of_the_log(folder: Path) -> None:
    """Times, nodes and down times of a run are those of the log from the start of the block on."""
    one = built(folder / "log.csv", ", keep_nodes: true, block: 60 d", gpus=800, spares="")
    trace, log = trace_of(one), drawn(np.random.default_rng(5))
    when, node, down = (np.concatenate([part, part]) for part in (log.time_h, log.node, log.downtime_h))
    when[len(log.time_h) :] += 4000.0
    labels: dict[str, int] = {}
    for name in log.node.tolist():  # the file's nodes are numbered as they come
        labels.setdefault(name, len(labels))
    found = [(event.time / HOUR, event.unit) for event in trace.wall]
    held = 0
    for time, who in zip(when.tolist(), node.tolist(), strict=True):
        start = time - found[0][0]
        if labels[who] != found[0][1] or not 0.0 <= start < 4000.0:
            continue
        kept = (when >= start) & (when < start + 60 * 24)
        block = sorted(zip((when[kept] - start).tolist(), [labels[who] for who in node[kept].tolist()], strict=True))
        if len(block) == len(found) and np.allclose(block, found, rtol=0, atol=1e-9):
            held += 1
            repair = [one.classes[0].repair.quantile(trace.mark(event, "repair")) / HOUR for event in trace.wall]
            assert sorted(repair) == pytest.approx(sorted(down[kept].tolist()), rel=1e-9)
    assert held == 1
    assert max(Counter(event.time for event in trace.wall).values()) == 3  # a joint start stays one


def test_the_engine_counts_what_the_replay_gives(folder: Path) -> None:
    one = built(folder / "log.csv")
    for number in range(3):
        row = simulate(one, seed=5, replication=number)
        run = replay(the_log(one.replay), horizon=one.horizon, nodes=50, seed=5, replication=number)
        waiting = row["wall_s"] - row["productive_s"]
        assert len(run) - 3 - waiting / HOUR <= row["failures"] <= len(run)
        assert row["failures"] > 0


WIDE = [
    [1.0, 2.0, 300.0], [0.0, 0.5, 1e4], [5.0], [3.0] * 40, [0.01] * 500 + [2000.0], [1000.0] * 500 + [1e-4],
    np.random.default_rng(1).lognormal(2.0, 3.0, 4000).tolist(),
]  # fmt: skip


@pytest.mark.parametrize("hours", WIDE, ids=range(len(WIDE)))
def test_a_down_time_is_given_back_to_nine_digits(hours: list[float]) -> None:
    law = repair_law(np.array(hours), None)
    assert law is not None
    assert law.mean == pytest.approx(float(np.mean(hours)) * HOUR)
    for one in hours:
        assert law.quantile(share_below(law, one * HOUR)) == pytest.approx(one * HOUR, rel=1e-9, abs=0.0)


def test_a_law_too_narrow_for_its_longest_is_noticed() -> None:
    def check() -> None:
        test_a_down_time_is_given_back_to_nine_digits([0.01] * 500 + [2000.0])

    check()
    with replaced("gemsim.failures.logs.trace:_HIGH", lambda _: 40.0), pytest.raises(AssertionError):
        check()


def test_laws_without_a_known_time() -> None:
    two, nan = duration("fixed", 7200.0), math.nan
    assert repair_law(np.array([]), None) is None
    assert repair_law(np.array([nan, nan]), two) == two
    assert repair_law(np.array([0.0, 0.0]), two) == duration("fixed", 0.0)
    mixed = repair_law(np.array([0.0, nan]), two)
    assert mixed is not None
    assert mixed.quantile(share_below(mixed, 7200.0)) == pytest.approx(7200.0, rel=1e-9)
    assert mixed.quantile(share_below(mixed, 0.0)) == 0.0


UNKNOWN = "time_h,node,component,downtime_h\n" + "".join(
    f"{10 * i},n{i % 7},{('nic', 'gpu')[i % 2]},{4 + i % 5 if i % 3 and i % 2 else ''}\n" for i in range(80)
)


def test_outages_of_unknown_length_follow_the_law_given(tmp_path: Path) -> None:
    log = write(tmp_path, UNKNOWN)
    asked = ", nodes: 10, window: 800 h"
    with pytest.raises(StudyError, match=r"repair: missing, and 53 of 80 outages of the log do not say"):
        study(log, asked)
    study(log, asked + ", action: reset")
    study(log, asked, spares="", fleet="fleet: {spares: {hot: 6}, repair: {stages: [{name: swap, time: 2 h}]}}")
    one = built(log, asked + ", repair: 9 h", gpus=80)
    trace = trace_of(one)
    lengths = Counter(
        (one.classes[event.index].name, round(one.classes[event.index].repair.quantile(trace.mark(event, "repair"))))
        for event in trace.wall
    )
    assert {seconds for name, seconds in lengths if name == "nic"} == {9 * 3600}
    assert {seconds for name, seconds in lengths if name == "gpu"} == {round(h * HOUR) for h in (4, 5, 6, 7, 8, 9)}


def test_spares_and_designs_do_not_move_the_failures_of_the_job(folder: Path) -> None:
    few, many = built(folder / "log.csv"), built(folder / "log.csv", spares="spare_nodes: 60, ")
    first, second = trace_of(few), trace_of(many)
    assert of_job(first) == of_job(second)
    assert len(second.wall) > len(first.wall)
    assert [first.mark(event, "device") for event in of_job(first)] == [
        second.mark(event, "device") for event in of_job(second)
    ]
    loaded = study(folder / "log.csv")
    other = scenario.build(resolve_point(loaded, {"protection.checkpoint.interval": "1 h"}))
    assert trace_of(other).wall == first.wall
    assert other.id != few.id


def test_false_alarms_beside_a_log_are_drawn(folder: Path) -> None:
    fleet = (
        "fleet: {spares: {hot: 6}, checks: {every: 1 h, finds: 0.3, false_positives: 1e-3},"
        " repair: {stages: [{name: swap, time: 2 h}]}}"
    )
    one = built(folder / "log.csv", spares="", fleet=fleet)
    trace = trace_of(one)
    assert [kind.name for kind in one.classes] == ["gpu", "false_alarm"]
    assert set(Counter(event.index for event in trace.wall)) == {0, 1}
    assert trace.counts == [sum(event.index == index for event in trace.wall) for index in (0, 1)]
    assert simulate(one, seed=5, replication=0)["failures"] > 0


def test_a_replayed_study_says_how_few_blocks_its_log_holds(folder: Path) -> None:
    one = built(folder / "log.csv")
    assert one.replay is not None
    assert one.replay.block_h == pytest.approx(4000.0 / 6.0)
    assert [note for note in one.notes if "hold 6 blocks" in note and "That is few" in note]
    assert "hold 47.6 blocks of 3.5 d" in built(folder / "log.csv", ", block: 3.5 d").notes[-1]


def test_the_identity_is_that_of_the_content(folder: Path, tmp_path: Path) -> None:
    one = built(folder / "log.csv")
    moved = write(tmp_path, TEXT, name="elsewhere.csv", meta=META)
    assert built(moved).id == one.id
    write(tmp_path, TEXT.replace("gpu", "nic", 1), name="elsewhere.csv")
    assert built(moved).id != one.id
    for more in (", block: 3 d", ", keep_nodes: true", ", merge: 1 h", ", nodes: 101"):
        assert built(folder / "log.csv", more).id != one.id
    laws = built("", failures="{classes: [{name: a, scope: node, rate: 1 / 9 d, gpus: 8, detect: 0 s, action: reset}]}")
    assert laws.replay is None


def test_a_log_that_changes_under_the_workers_is_an_error(tmp_path: Path) -> None:
    one = built(write(tmp_path, TEXT, name="changed.csv", meta=META), ", block: 5 d")
    write(tmp_path, TEXT.replace("gpu", "nic"), name="changed.csv")
    with pytest.raises(ValueRefused, match="the log has changed since the study was read"):
        simulate(one, seed=5, replication=0)


def test_one_and_two_workers_give_the_same_rows(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    text = STUDY.format(
        gpus=400, spares="spare_nodes: 6, ", failures="{replay: {log: log.csv}}", fleet="", horizon="30 d"
    )
    path.write_text(text, encoding="utf-8")
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMSIM_TRACES", str(folder))
        for jobs in ("1", "2"):
            out = tmp_path / jobs
            assert main(["sweep", str(path), "--jobs", jobs, "--out", str(out)]) == 0
            rows = pq.read_table(out / "rows").to_pylist()
            found.append(sorted(rows, key=lambda row: (row["point"], row["replication"])))
    assert len(found[0]) == 6
    assert found[0] == found[1]


def test_the_closed_form_says_that_it_has_none(folder: Path) -> None:
    with pytest.raises(NotCovered, match="a replayed log has no law"):
        predict(built(folder / "log.csv"))


ALL_KEYS = (
    ", nodes: 120, window: 4100 h, where: {component: gpu, node!: [n1, n2]}, columns: {downtime_h: downtime_h},"
    " merge: 10 min, block: 9 d, keep_nodes: true, scope: gpu, action: replace, detect: 10 min, repair: 2 h"
)


def test_every_key_is_read_and_written(folder: Path) -> None:
    loaded = study(folder / "log.csv", ALL_KEYS)
    again = parse_study(canonical_yaml(loaded.spec).encode(), "again.yaml")
    assert again.spec.failures == loaded.spec.failures
    assert study_hash(again.spec) == study_hash(loaded.spec)
    assert loaded.spec.failures.replay is not None
    assert loaded.spec.failures.replay.model_fields_set == set(fields_of(ReplaySpec))
    rows = {row.path: row.value for row in explain(loaded)}
    assert rows["failures.replay.where"] == "component gpu, node! ['n1', 'n2']"
    assert "repair lognormal" in rows["failures.gpu"]


def test_a_replay_can_be_swept_and_replaced(folder: Path) -> None:
    loaded = study(folder / "log.csv")
    shorter = resolve_point(loaded, {"failures.replay.block": "2 d"}).failures.replay
    assert shorter is not None
    assert shorter.block == 2 * DAY
    laws = resolve_point(loaded, {"failures": {"replay": None, "mix": "llama3-2024"}})
    assert laws.failures.replay is None


def test_the_log_is_looked_for_here_and_then_among_the_traces(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEMSIM_TRACES", str(folder))
    there = built("log.csv").replay
    assert there is not None
    assert there.path == str((folder / "log.csv").resolve())
    shutil.copy(folder / "meta.json", tmp_path)
    shutil.copy(folder / "log.csv", tmp_path)
    here = built("log.csv").replay
    assert here is not None
    assert here.path == str((tmp_path / "log.csv").resolve())
    assert here == there


def test_the_shipped_study_says_which_log_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GEMSIM_TRACES", raising=False)
    assert main(["check", str(SHIPPED)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "failures.replay.log: no such file ('stepfun_infinitehbd/events.csv')" in told


@pytest.mark.skipif(not os.environ.get("GEMSIM_TRACES"), reason="GEMSIM_TRACES names no folder with real logs")
def test_the_shipped_study_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(SHIPPED), "--quick"]) == 0
    assert "4 feasible, 0 infeasible" in capsys.readouterr().out
    command = ["sweep", str(SHIPPED), "--quick", "--replications", "2", "--jobs", "1", "--out", str(tmp_path)]
    assert main(command) == 0
