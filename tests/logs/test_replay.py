"""Replay: the mean rate is kept, blocks stay whole, nodes are who they are, streams depend on nothing else."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from gemsim.errors import ValueRefused
from gemsim.failures.logs import replay as module
from gemsim.failures.logs.replay import HOUR, Replayed, caution, replay, usual_block
from tests import statcheck
from tests.faults import must_reject, replaced
from tests.logs.synthetic import log_of

TIMES = np.sort(np.random.default_rng(1).random(60) ** 2 * 1000)
NODE = np.random.default_rng(2).integers(0, 10, 60)
LOG = log_of(
    TIMES, node=NODE, kind=np.arange(60) % 2, kinds=("gpu", "nic"), down=np.where(np.arange(60) % 3, 2.0, math.nan)
)


def runs(
    count: int, *, nodes: int = 10, hours: float = 500.0, block_h: float = 100.0, permute: bool = True, first: int = 0
) -> list[tuple[Replayed, ...]]:
    return [
        replay(
            LOG, horizon=hours * HOUR, nodes=nodes, seed=3, replication=first + number, block_h=block_h, permute=permute
        )
        for number in range(count)
    ]


def check_mean_rate() -> None:
    """A run of one block, a tenth of the window, has a tenth of the log's failures on average, though the log is far
    from even in time."""
    ring = np.concatenate([TIMES, TIMES + 1000])
    most = max(int(((ring >= start) & (ring < start + 100)).sum()) for start in ring)
    counts = [float(len(run)) for run in runs(8000, hours=100.0)]
    statcheck.mean_bounded(counts, 6.0, low=0.0, high=float(most), detect=0.8)


def test_the_mean_rate_is_that_of_the_log() -> None:
    check_mean_rate()


def test_blocks_that_do_not_wrap_are_noticed() -> None:
    def unwrapped(blocks: Callable[..., object]) -> Callable[..., object]:
        return lambda times, window, starts, block: blocks(times, window, starts * (1 - block / window), block)

    must_reject(check_mean_rate, replaced("gemsim.failures.logs.replay:_blocks", unwrapped))


@pytest.mark.parametrize("nodes", [3, 25])
def test_the_rate_goes_with_the_nodes(nodes: int) -> None:
    def counts(stage: int) -> list[float]:
        return [float(len(run)) for run in runs(400, nodes=nodes, first=stage * 10**6)]

    statcheck.mean_two_stage(counts, 3.0 * nodes, detect=0.18 * 3.0 * nodes)


def test_a_block_is_a_piece_of_the_log() -> None:
    (run,) = runs(1, hours=100.0, permute=False)
    starts = np.array([one.time / HOUR for one in run])
    ring = np.concatenate([TIMES, TIMES + 1000])
    shifts = {round(float(t - starts[0]), 6) for t in ring} if len(starts) else set()
    whole = [
        shift for shift in shifts
        if all(np.abs(ring - shift - one).min() < 1e-6 for one in starts)
    ]  # fmt: skip
    assert whole
    for one in run:
        event = int(np.abs(ring - whole[0] - one.time / HOUR).argmin()) % 60
        assert (one.node, one.kind) == (NODE[event], LOG.kinds[event % 2])
        assert one.downtime == (2.0 * HOUR if event % 3 else None)


def test_what_starts_together_stays_together() -> None:
    pairs = log_of(np.repeat([100.0, 350.0, 600.0], 2), node=[0, 1, 2, 3, 4, 5])
    for number in range(30):
        run = replay(pairs, horizon=2000 * HOUR, nodes=10, seed=0, replication=number, block_h=50.0)
        together = Counter(one.time for one in run)
        assert set(together.values()) <= {2}


def test_nodes_keep_who_they_are_through_a_run() -> None:
    lemon = log_of(np.arange(1.0, 999.0, 10.0), node=[4] * 100)
    struck = {
        frozenset(one.node for one in replay(lemon, horizon=3e6, nodes=10, seed=0, replication=number))
        for number in range(60)
    }
    assert all(len(nodes) == 1 for nodes in struck)
    assert len(struck) > 5
    kept = replay(lemon, horizon=3e6, nodes=10, seed=0, replication=0, permute=False)
    assert {one.node for one in kept} == {4}


def test_a_usual_block_is_long_and_the_few_it_leaves_are_told() -> None:
    assert usual_block(8352.0) == 8352.0 / 6.0
    assert usual_block(80000.0) == 1440.0
    assert "348 d of log hold 6 blocks of 58 d that do not overlap. That is few" in caution(8352.0, 8352.0 / 6.0)
    assert caution(80000.0, 1440.0).endswith("do not overlap")


def test_larger_fleets_have_blocks_of_their_own() -> None:
    run = replay(LOG, horizon=500 * HOUR, nodes=20, seed=0, replication=0, block_h=100.0)
    low, high = ([one.time for one in run if (one.node < 10) == first] for first in (True, False))
    assert low
    assert high
    assert not set(low) & set(high)


def test_a_longer_horizon_only_appends_and_more_nodes_only_add() -> None:
    short, long = (
        replay(LOG, horizon=hours * HOUR, nodes=10, seed=1, replication=2, block_h=70.0) for hours in (300, 900)
    )
    assert [one for one in long if one.time < 300 * HOUR] == list(short)
    more = replay(LOG, horizon=300 * HOUR, nodes=14, seed=1, replication=2, block_h=70.0)
    assert [one for one in more if one.node < 10] == list(short)
    assert replay(LOG, horizon=300 * HOUR, nodes=10, seed=1, replication=3, block_h=70.0) != short


def test_a_log_without_names_strikes_at_random() -> None:
    nameless = dataclasses.replace(LOG, named=False, node=np.zeros(60, dtype=np.int64))
    runs_of = [replay(nameless, horizon=1000 * HOUR, nodes=5, seed=0, replication=number) for number in range(300)]
    assert np.mean([len(run) for run in runs_of]) == pytest.approx(30, rel=0.1)
    assert {one.node for run in runs_of for one in run} == set(range(5))
    assert module.fleet_of(nameless) == 10


@pytest.mark.parametrize(
    "change", [{"horizon": 0.0}, {"horizon": math.inf}, {"block_h": 0.0}, {"block_h": 1001.0}, {"nodes": 0}]
)
def test_what_cannot_be_replayed_is_refused(change: dict[str, float]) -> None:
    asked = {"horizon": 10.0, "nodes": 3, "seed": 0, "replication": 0} | change
    with pytest.raises(ValueRefused, match="replay"):
        replay(LOG, **asked)  # type: ignore[arg-type]
