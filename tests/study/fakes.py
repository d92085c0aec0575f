"""A model small enough to reason about: k and m decide the cost, `fate` what happens to whoever simulates it."""

from __future__ import annotations

import hashlib
import logging
import os
import signal
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from gemsim.errors import Infeasible, NotCovered
from gemsim.results.ledger import LEDGER
from gemsim.results.rows import FLEET, GPU_SECONDS
from gemsim.spec.study import Requirement
from gemsim.study.design import expand
from gemsim.study.points import Model
from gemsim.study.progress import Standing
from gemsim.study.sweep import Plan

WALL = 1e6
SLEEP = "GEMSIM_TEST_SLEEP"  # only a run that is to be caught in the middle takes its time
COUNTS = ("steps", "interruptions", "failures_idle", "unrecoverable", "touch_failures", *FLEET)


@dataclass(frozen=True)
class Scenario:
    """One fake design; with m = 0 the width is nobody's business."""

    k: int
    m: int
    mode: str = "in_place"
    fate: str = "fine"
    cargo: Any = field(default=None, compare=False)

    @property
    def id(self) -> str:
        """As the real one: a hash of all that affects a result."""
        width = self.k if self.m else 0
        return hashlib.sha256(f"{width} {self.m} {self.mode} {self.fate}".encode()).hexdigest()


def build(values: Mapping[str, Any]) -> Scenario:
    """Widths beyond 100 cannot exist."""
    k, m = values.get("protection.stripe.k", 8), values.get("protection.stripe.m", 1)
    if k > 100:
        raise Infeasible(f"k = {k} is more than the 100 pages of the state")
    fate = values.get("protection.fate", "fine")
    cargo = (lambda: None) if fate == "cannot travel" else None
    return Scenario(k, m, values.get("restart", "in_place"), fate, cargo)


def describe(scenario: Scenario) -> dict[str, Any]:
    """The static columns."""
    share = scenario.m / scenario.k
    static = {"step_overhead": share / 10, "memory_overhead": share, "survivable_burst_pages": 100 * share}
    return static | {"interval_s": 600.0, "profile": "fake", "modelled": True, "notes": ()}


def predict(scenario: Scenario) -> dict[str, Any]:
    """A closed form for one mode only."""
    if scenario.mode != "in_place":
        raise NotCovered("no form for this mode")
    return {"ettr_analytic": 0.98, "analytic_kind": "exact", "analytic_error": 0.0}


def row_of(point: str, replication: int, **seconds_and_counts: Any) -> dict[str, Any]:
    """A row with a closed ledger: what is not given is zero, and productive time is the rest."""
    row: dict[str, Any] = {"point": point, "replication": replication, "wall_s": WALL}
    row |= {f"{name}_s": 0.0 for name in LEDGER} | dict.fromkeys(COUNTS, 0)
    row |= dict.fromkeys(("at_risk_s", "wasted_failures_s", "cost_failures_s", "touch_lost_s"), 0.0)
    row |= dict.fromkeys(GPU_SECONDS, 0.0) | {"gpu_s_job": 16 * WALL, "gpu_s_reserved": 16 * WALL}
    row |= {"failures": 0, "fallbacks": 0, "rollbacks": 0, "by_class": "{}", "by_tier": "{}"}
    row |= {"lost_by_class": "{}", "overhead_by_tier": "{}"}
    row |= seconds_and_counts
    row["productive_s"] = WALL - sum(row[f"{name}_s"] for name in LEDGER if name != "productive")
    return row


def simulate(scenario: Scenario, *, seed: int, replication: int) -> dict[str, Any]:
    """Failures depend on seed and replication alone; their cost on the design."""
    _suffer(scenario.fate, replication)
    failures = int(np.random.default_rng([seed, replication]).poisson(20))
    saved = failures // 4 if scenario.m and scenario.mode == "in_place" else 0
    lost = 1000.0 * (failures - saved) + 20.0 * saved
    counts = {"failures": failures, "fallbacks": failures // 4 - saved, "touch_failures": failures // 4}
    seconds = {"wasted_s": lost, "overhead_s": 10.0 * scenario.m, "cost_failures_s": lost, "wasted_failures_s": lost}
    return row_of(scenario.id, replication, touch_lost_s=lost / 4, **counts, **seconds)


def _suffer(fate: str, replication: int) -> None:
    fate, _, _ = fate.partition(" #")  # a number makes it a design of its own
    if fate in ENDS:
        ENDS[fate]()
    elif fate == "slow" and SLEEP in os.environ:
        time.sleep(0.02)
    elif fate == "raises" and replication % 2:
        raise ValueError(f"replication {replication} is odd")
    elif fate == "takes its time":
        time.sleep(0.02)
    elif fate == "says":
        print("printed")
        warnings.warn(f"warned of {replication}", RuntimeWarning, stacklevel=1)
        logging.getLogger("engine").warning("logged")
        if replication == 2:
            raise ValueError("enough")
    elif fate.startswith("dies once"):
        marker = Path(fate.removeprefix("dies once "))
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _segfault() -> None:
    os.write(2, b"written below Python\n")
    os.kill(os.getpid(), signal.SIGSEGV)


def _hang() -> None:
    print("about to hang", flush=True)
    time.sleep(1e6)


ENDS = {"dies": _die, "exits": lambda: os._exit(7), "leaves": lambda: sys.exit(1), "crashes": _segfault, "hangs": _hang}


def never(scenario: Scenario, *, seed: int, replication: int) -> dict[str, Any]:
    """For runs that must find everything in the folder."""
    raise AssertionError("nothing is left to simulate")


MODEL = Model(build=build, describe=describe, predict=predict, simulate=simulate)


def plan(grid: Mapping[str, Sequence[Any]], *, replications: int = 6, seed: int = 1, bound: float = 0.5) -> Plan:
    """A plan over the fake model."""
    return Plan(
        designs=expand(grid=grid, zipped={}, compare={}),
        resolve=dict,
        seed=seed,
        replications=replications,
        require={"memory_overhead": Requirement("<=", bound)},
        study_text="title: fake\n",
        facts={"title": "Which fake?"},
    )


class Listener:
    """Keeps what a sweep reports."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.total = self.done = 0
        self.standing = Standing(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def begin(self, total: int, done: int) -> None:
        """As Reporter."""
        self.total, self.done = total, done

    def advance(self, count: int) -> None:
        """As Reporter."""
        self.done += count

    def skip(self, count: int) -> None:
        """As Reporter."""
        self.total -= count

    def stand(self, standing: Standing) -> None:
        """As Reporter."""
        self.standing = standing

    def say(self, line: str, *, error: bool = False) -> None:
        """As Reporter."""
        self.said.append(line)


SLOW: Mapping[str, Sequence[Any]] = {
    "protection.stripe.k": [8, 16, 32],
    "protection.stripe.m": [1, 2],
    "protection.fate": ["slow"],
}


if __name__ == "__main__":  # a sweep for another process to kill: FOLDER JOBS
    from gemsim.study.sweep import sweep

    sweep(plan(SLOW, replications=40), MODEL, Path(sys.argv[1]), jobs=int(sys.argv[2]), report=Listener())


def at_a_terminal() -> None:
    """Before a child starts: let Ctrl-C reach it, as at a terminal; a shell has its background jobs ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
