"""What the systems do in a job without failures, at one written failure, and under every loss of a few hosts."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from gemsim.analytic.first_order import published_linear
from gemsim.engine.run import simulate
from gemsim.failures.trace import Event, Trace
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.placement import Coded, Placement, placement
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point

STUDY = """
title: eight hosts
cluster: {gpus: 64, gpu: h100-80gb, spare_nodes: 8, storage: {write: 2 TB/s, read: 7 TB/s}}
workload:
  parameters: 13e9
  parallel: {tensor: 8, data: 8}
  step: STEP
  update: 0 s
  skew: 0 s
  network_idle: 1 s
restart: {mode: MODE, process: 60 s, communicator: 5 s, warmup: 30 s}
failures: {classes: [{name: any, scope: process, rate: 1 / 100 d, gpus: 64, detect: 4 s, action: restart_app}]}
protection: SYSTEM
run: {horizon: HORIZON}
"""


def job(system: str, *, step: str = "10 s", mode: str = "all_processes", horizon: str = "20 h") -> Scenario:
    """A job of 10-s steps under a named system."""
    text = STUDY.replace("SYSTEM", system).replace("STEP", step).replace("MODE", mode).replace("HORIZON", horizon)
    return build(resolve_point(parse_study(text.encode(), "eight.yaml"), {}))


def run(built: Scenario, *times: float) -> dict[str, Any]:
    """One run with failures at these running times and no others."""
    hits = [Event(time, 0, number, 0) for number, time in enumerate(times)]
    trace = Trace(built.classes, 0, 0, [], hits, [len(hits)])
    return simulate(built, seed=0, replication=0, trace=trace)


@pytest.mark.parametrize(
    ("system", "step", "share"),
    [
        ("strawman", "10 s", 0.0),
        ("highfreq", "62 s", 81 / (9 * 62 + 81)),  # 12.7 % of the wall; print divides by the work, 14.5 %
        ("gemini", "62 s", 1 / (174 * 62 + 1)),  # the remote save each three hours; copies fit the idle second
        ("checkfreq", "10 s", 1 / 601),
        ("check_n_run", "10 s", 7 / 1807),
        ("moevement", "2.67 s", (0.02 + 1 / 10_800) / (1 + 0.02 + 1 / 10_800)),  # table 3: 2 %
        ("ft_hsdp", "10 s", 1 / 3601),
        ("torchft", "10 s", 1 / 3601),
        ("just_in_time", "10 s", 1 / 10801),
        ("concordia", "10 s", 1 / 3601),
    ],
)
def test_without_failures_only_the_overhead_is_lost(system: str, step: str, share: float) -> None:
    row = run(job(system, step=step, horizon="2000 h"))
    assert row["overhead_s"] / row["wall_s"] == pytest.approx(share, rel=2e-3)
    assert row["productive_s"] + row["overhead_s"] == pytest.approx(row["wall_s"])


def test_print_of_highfreq_divides_by_the_work() -> None:
    assert 1.0 - published_linear(1.0 - 81 / 558, []) == pytest.approx(0.145, abs=5e-4)


@pytest.mark.parametrize(
    ("system", "mode", "time", "lost"),
    [
        ("strawman", "all_processes", 12_000.0, 1_200.0),  # saved at 10,800
        ("highfreq", "all_processes", 1_500.0, 218.0),  # 56 steps and 81 s: saved at 641 and 1,282
        ("checkfreq", "all_processes", 1_500.0, 298.0),  # saved at 601 and 1,202
        ("check_n_run", "all_processes", 2_000.0, 193.0),  # saved at 1,807
        ("gemini", "all_processes", 1_505.0, 15.0),  # the copies of step 150 are on their way, those of 149 are there
        ("concordia", "all_processes", 1_505.0, 15.0),  # the log of step 149
        ("moevement", "in_process", 150.0, 150.0 - 120.64),  # windows end at 60.32 and 120.64 and take 16 s more
        ("moevement", "in_process", 130.0, 130.0 - 60.32 - 0.32),  # the second is not whole yet
        ("just_in_time", "in_process", 1_505.0, 5.0),  # the step that was cut off
        ("just_in_time", "all_processes", 1_505.0, 1_505.0),  # nobody keeps the state: from the beginning
    ],
)
def test_one_written_failure(system: str, mode: str, time: float, lost: float) -> None:
    row = run(job(system, mode=mode), time)
    assert row["failures"] == 1
    assert row["wasted_s"] == pytest.approx(lost, abs=0.02)  # a remote save takes some milliseconds to be complete


def test_a_lag_that_is_not_kept_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: a copy counts as complete when it begins."""
    from dataclasses import replace

    built = job("gemini")
    tiers = tuple(replace(t, lag=0.0) if isinstance(t, Checkpoint) else t for t in built.tiers)
    with pytest.raises(AssertionError):
        assert run(replace(built, tiers=tiers), 1_505.0)["wasted_s"] == pytest.approx(15.0, abs=0.02)


def kept(system: str) -> Placement:
    """Where the first level of a system lies, over the eight hosts."""
    tier = job(system).tiers[0]
    assert isinstance(tier, Checkpoint)
    return placement(tier.placement, 8, size=tier.size, losses=tier.losses, copies=tier.copies)


def neighbours(gone: tuple[int, ...]) -> bool:
    """Whether two hosts that follow each other, round, are gone."""
    return any((host + 1) % 8 in gone for host in gone)


SURVIVES = {
    "scr_single": lambda gone: not gone,
    "scr_partner": lambda gone: not neighbours(gone),
    "scr_xor": lambda gone: len(gone) <= 1,
    "scr_rs": lambda gone: len(gone) <= 2,
    "eccheck": lambda gone: len(gone) <= 2,
    "concordia": lambda gone: not gone,
    "gemini": lambda gone: not any(gone.count(host) and host + 1 in gone for host in (0, 2, 4, 6)),
}


def check_survival(system: str) -> None:
    """Every loss of up to four of eight hosts."""
    place = kept(system)
    for count in range(5):
        for gone in combinations(range(8), count):
            assert place.survives(frozenset(gone)) == SURVIVES[system](gone), gone


@pytest.mark.parametrize("system", SURVIVES)
def test_survives_exactly_what_it_should(system: str) -> None:
    check_survival(system)


@pytest.mark.parametrize("system", ["scr_xor", "scr_rs", "eccheck"])
def test_a_set_that_survives_one_loss_more_is_caught(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Coded.survives
    monkeypatch.setattr(Coded, "survives", lambda self, gone: whole(Coded(self.sets, self.losses + 1), gone))
    with pytest.raises(AssertionError):
        check_survival(system)


def test_a_lost_process_costs_the_same_with_every_scheme() -> None:
    """A process dies: every cache is there, so no scheme loses more than another but for its own writes."""
    single, coded = (run(job(name), 1_500.0)["wasted_s"] for name in ("scr_single", "scr_rs"))
    assert single == pytest.approx(coded, rel=0.2)
