"""What a replication costs in CPU seconds: over the size of the fleet, and in three cases that others have or want.

Times are medians of CPU time in this process. On a shared machine trust their ratios more than the seconds.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import mean, median
from typing import Any

from gemsim import __version__, resources
from gemsim.engine.run import simulate
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import load_study, resolve_point

SIZES = (1_024, 4_096, 16_384, 65_536, 131_072)
QUICK_SIZES = (1_024, 16_384, 131_072)
FAILURES_PER_DAY = 419 / 54 / 16_384  # of one GPU: Llama 3 (arXiv 2407.21783), Table 5
FEW, MANY = 1_000, 3_000  # failures of the two runs between which the cost of one more is taken
SEED = 1
PEER = "AIReSim at 7b139c7, measured on another 2-core machine"
SERVERS_16K: Mapping[str, Any] = {  # the peer's larger run, all of it four times its default but the time
    "cluster.gpus": 16_384,
    "workload.parallel.data": 16_384,
    "fleet.spares.hot": 64,
    "fleet.spares.warm": 192,
    "fleet.spares.borrow": 800,
    "run.steps": 8_640_000,
    "run.max_wall": "120 d",
}


@dataclass(frozen=True, slots=True)
class Size:
    """A fleet of `gpus` GPUs for 54 days: CPU seconds and failures of a run, CPU seconds of one more failure."""

    gpus: int
    cpu: float
    failures: float
    per_failure: float


@dataclass(frozen=True, slots=True)
class Case:
    """A named case: medians over `replications`; in CPU seconds `limit`, the most that is allowed, `goal`, what is
    aimed at, where that is less, and what the closest peer takes for it."""

    name: str
    cpu: float
    failures: float
    replications: int
    limit: float
    goal: float | None
    peer: str


def scenario(study: str, changes: Mapping[str, Any] | None = None) -> Scenario:
    """A shipped study, such as bench/dense, with some of its values changed."""
    return build(resolve_point(load_study(resources.studies() / f"{study}.yaml"), changes or {}))


def dense(gpus: int, days: float, law: Mapping[str, Any] | None = None) -> Scenario:
    """The 405B job with three tiers on this many GPUs; `law` replaces that of every class."""
    changes = {"cluster.gpus": gpus, "workload.parallel.data": gpus // 128, "run.horizon": f"{days} d"}
    return scenario("bench/dense", changes | ({"failures.law": law} if law else {}))


def replications(point: Scenario, count: int) -> tuple[float, float]:
    """Median CPU seconds and mean number of failures of a replication; each draws its own failures."""
    simulate(point, seed=SEED, replication=count)
    seconds, failures = [], []
    for number in range(count):
        start = time.process_time()
        row = simulate(point, seed=SEED, replication=number)
        seconds.append(time.process_time() - start)
        failures.append(row["failures"])
    return median(seconds), mean(failures)


def per_failure(gpus: int, count: int, law: Mapping[str, Any] | None = None) -> float:
    """CPU seconds of one more failure: the slope between a short run and one three times as long."""
    days = FEW / (FAILURES_PER_DAY * gpus)
    short, few = replications(dense(gpus, days, law), count)
    long, many = replications(dense(gpus, days * MANY / FEW, law), count)
    return (long - short) / (many - few)


def sizes(*, quick: bool) -> Iterator[Size]:
    """One row for each size of the fleet, as it is measured."""
    count = 3 if quick else 9
    for gpus in QUICK_SIZES if quick else SIZES:
        cpu, failures = replications(dense(gpus, 54), count)
        yield Size(gpus, cpu, failures, per_failure(gpus, count))


def cases(*, quick: bool) -> Iterator[Case]:
    """The peer's default case, its larger run, and a fleet with everything that fails, as they are measured."""
    for name, study, changes, limit, goal, peer in (
        ("peer's default: 4,096 servers, 256 d of work", "peers/airesim_default", None, 0.25, 0.1, "23 to 39"),
        ("16,384 servers, 10 d of work", "peers/airesim_default", SERVERS_16K, 0.4, None, "61.7"),
        ("100,000 GPUs, 90 d: domains, lemons, spares, repair", "bench/fleet", None, 1.0, None, ""),
    ):
        count = 3 if quick else 9
        cpu, failures = replications(scenario(study, changes), count)
        yield Case(name, cpu, failures, count, limit, goal, peer)


def machine() -> dict[str, str]:
    """What the times were taken on."""
    packages = {name: version(name) for name in ("numpy", "simpy")}
    facts = {"machine": _processor(), "cores": str(os.cpu_count()), "python": platform.python_version()}
    return {**facts, "gemsim": __version__, **packages}


def _processor() -> str:
    """The name that the system gives its processor, else the kind of machine."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()
