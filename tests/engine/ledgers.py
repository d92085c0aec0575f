"""Ledgers worked out by hand: a life ridden step by step, and what failures took between lives."""

from __future__ import annotations

import pytest

from gemsim.protection.timeline import Stall
from gemsim.scenario import Scenario
from tests.engine.small import (
    ACTIVATION,
    COMMUNICATOR,
    DETECT,
    PROCESS,
    READ,
    WARMUP,
    Row,
    checkpoint,
    expect,
    scenario,
)

HORIZON = 5000.0
RESTART = PROCESS + COMMUNICATOR + WARMUP
DOWN = DETECT + ACTIVATION + RESTART + READ  # of a replaced node that comes back from the checkpoint: 45 s


def ride(of: Scenario, seconds: float, *, first: int | None = None) -> tuple[float, float]:
    """(work, overhead) of a life that runs so long, step by step; `first` = its first save, if not by the interval."""
    worked = spent = 0.0
    steps = 0
    while True:
        piece = min(of.timeline.step, seconds)
        worked += piece * of.useful_share
        spent += piece * (1.0 - of.useful_share)
        seconds -= piece
        steps += 1
        for stall in of.timeline.stalls:
            if _stalls(stall, steps, first):
                piece = min(stall.seconds, seconds)
                spent += piece
                seconds -= piece
        if seconds <= 0.0:
            return worked, spent


def _stalls(stall: Stall, steps: int, first: int | None) -> bool:
    begin = stall.every if first is None or stall.every == 1 else first
    return steps >= begin and (steps - begin) % stall.every == 0


def check(row: Row, lives: list[tuple[float, float]], *, wasted: float, **down: float) -> None:
    """The ledger from the (work, overhead) of each life and what was lost and spent between them."""
    worked, spent = (sum(life[i] for life in lives) for i in (0, 1))
    expect(row, productive=worked - wasted, overhead=spent, wasted=wasted, **down)
    assert row["cost_failures_s"] == pytest.approx(wasted + sum(down.values()), abs=1e-6)
    assert row["wasted_failures_s"] == pytest.approx(wasted + down.get("recovery", 0.0), abs=1e-6)


REMOTE = scenario(checkpoint(), mode="all_processes")
