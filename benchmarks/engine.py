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
from gemsim.errors import NotCovered
from gemsim.scenario import Scenario
from gemsim.study.bench import cases, dense, per_failure, replications

SIZES = (1_024, 16_384, 131_072)
WEIBULL = {"kind": "weibull", "shape": 0.7}
COUNT = 7  # replications behind each cost of one more failure


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


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
    main_job = dense(16_384, 54)
    line("16,384 GPUs x 54 d, one replication", replications(main_job, 15)[0], 0.04)
    line("131,072 GPUs x 30 d, exponential", replications(dense(131_072, 30), 7)[0], 0.15)
    line("131,072 GPUs x 30 d, Weibull 0.7", replications(dense(131_072, 30, WEIBULL), 7)[0], 0.3)
    for law, name in ((None, "exponential"), (WEIBULL, "Weibull 0.7")):
        slopes = {gpus: per_failure(gpus, COUNT, law) for gpus in SIZES}
        for gpus, slope in slopes.items():
            print(f"  {f'one more failure at {gpus:,} GPUs, {name}':<56} {slope * 1e6:>10.4g} us")
        line(f"dearest over cheapest of these, {name}", max(slopes.values()) / min(slopes.values()), 1.5, "times")
    for case in cases(quick=False):
        line(case.name, case.cpu, case.limit if case.goal is None else case.goal)
    line("gemsim --help", help_seconds(), 0.3)
    line("closed form of one design point", twin_seconds(main_job), 0.001)


if __name__ == "__main__":
    main()
