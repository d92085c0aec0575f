"""What the engine and the twin cost, in CPU seconds and ratios, beside the goals: `python benchmarks/engine.py`.

Times are medians of CPU time in one process; on a shared machine trust the ratios more than the seconds.
"""

from __future__ import annotations

import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

from gemsim.analytic.run import predict
from gemsim.engine.run import simulate
from gemsim.errors import NotCovered
from gemsim.scenario import Scenario, build
from gemsim.spec.loading import parse_study, resolve_point

SIZES = (1_024, 16_384, 131_072)
FAILURES_PER_DAY = 419 / 54 / 16_384  # of one GPU, llama3-2024

STUDY = """
title: benchmark
cluster: {{gpus: {gpus}, gpu: h100-80gb, spare_nodes: 64, storage: {{write: 2 TB/s, read: 2 TB/s}}}}
workload:
  parameters: 405e9
  parallel: {{tensor: 8, pipeline: 16, data: {data}, shard: optimizer}}
  step: 6 s
  microbatches: 16
  layers: 126
restart: in_place
failures: {{mix: llama3-2024{law}}}
protection:
  - retry: {{granularity: mixed}}
  - stripe: {{layout: gpu, k: 64, m: 2}}
  - checkpoint: {{target: remote, mode: async, blocked: 1 s, interval: 30 min}}
run: {{horizon: {days} d, replications: 1}}
"""


def scenario(gpus: int, days: float, law: str = "") -> Scenario:
    """The 405B job with three tiers on this many GPUs."""
    text = STUDY.format(gpus=gpus, data=gpus // 128, days=days, law=f", law: {{{law}}}" if law else "")
    return build(resolve_point(parse_study(text.encode(), "benchmark.yaml"), {}))


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def replications(point: Scenario, count: int) -> tuple[float, float]:
    """Median CPU seconds and mean number of failures of a replication; each draws its own failures."""
    simulate(point, seed=1, replication=count)
    seconds, failures = [], []
    for number in range(count):
        start = time.process_time()
        row = simulate(point, seed=1, replication=number)
        seconds.append(time.process_time() - start)
        failures.append(row["failures"])
    return median(seconds), sum(failures) / count


def per_failure(gpus: int, law: str = "") -> float:
    """CPU seconds of one more failure: the slope between runs of about 1,000 and 3,000 of them."""
    days = 1_000 / (FAILURES_PER_DAY * gpus)
    short, few = replications(scenario(gpus, days, law), 7)
    long, many = replications(scenario(gpus, 3 * days, law), 7)
    return (long - short) / (many - few)


def help_seconds() -> float:
    """CPU seconds of `gemsim --help` in a process of its own."""
    command = [sys.executable, "-c", "from gemsim.cli.main import main; main()", "--help"]
    times = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(times)


def twin_seconds(point: Scenario) -> float:
    """CPU seconds of the closed form for one design point."""

    def ask() -> None:
        try:
            predict(point)
        except NotCovered as reason:
            print(f"the twin does not cover the benchmark: {reason}")

    ask()
    return median(cpu(ask) for _ in range(20))


def line(what: str, value: float, goal: float, unit: str = "CPU-s") -> None:
    """One row of the table."""
    print(f"{what:<58} {value:>10.4g} {unit:<6} {goal:>8g} {value / goal:>7.2f}")


def main() -> None:
    """Print the table."""
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    print(f"{'what':<58} {'value':>10} {'':<6} {'goal':>8} {'/ goal':>7}")
    weibull = "kind: weibull, shape: 0.7"
    main_job = scenario(16_384, 54)
    line("16,384 GPUs x 54 d, one replication", replications(main_job, 15)[0], 0.04)
    line("131,072 GPUs x 30 d, exponential", replications(scenario(131_072, 30), 7)[0], 0.15)
    line("131,072 GPUs x 30 d, Weibull 0.7", replications(scenario(131_072, 30, weibull), 7)[0], 0.3)
    for law, name in (("", "exponential"), (weibull, "Weibull 0.7")):
        slopes = {gpus: per_failure(gpus, law) for gpus in SIZES}
        for gpus, slope in slopes.items():
            print(f"  {f'one more failure at {gpus:,} GPUs, {name}':<56} {slope * 1e6:>10.4g} us")
        line(f"dearest over cheapest of these, {name}", max(slopes.values()) / min(slopes.values()), 1.5, "times")
    line("gemsim --help", help_seconds(), 0.3)
    line("closed form of one design point", twin_seconds(main_job), 0.001)


if __name__ == "__main__":
    main()
