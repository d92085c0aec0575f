"""What a recommendation costs, beside its goal: `python benchmarks/recommend.py [--jobs N]`.

`gemsim recommend studies/recommend.yaml` in full, in an empty folder: seconds of each stage, wall and CPU (workers
included), and points screened per CPU second. On a shared machine trust the CPU seconds more than the wall.
"""

from __future__ import annotations

import argparse
import platform
import resource
import tempfile
import time
from pathlib import Path

from gemsim.spec.loading import load_study
from gemsim.study.plan import MODEL, plan
from gemsim.study.progress import Lines
from gemsim.study.recommend.answer import Answer
from gemsim.study.recommend.objective import Sought
from gemsim.study.recommend.run import recommend
from gemsim.study.recommend.screen import screened
from gemsim.study.recommend.space import structures
from gemsim.study.recommend.tools import TOOLS

STUDY = Path(__file__).resolve().parents[1] / "studies" / "recommend.yaml"
GOAL_S = 30.0  # wall, on two cores
LEAST_POINTS, LEAST_CONFIRMED = 100_000, 8


def cpu() -> float:
    """CPU seconds of this process and of its workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def run(jobs: int) -> tuple[Answer, float, float]:
    """The answer, with wall and CPU seconds."""
    with tempfile.TemporaryDirectory() as folder, open("/dev/null", "w") as nowhere:
        wall, before = time.monotonic(), cpu()
        loaded = load_study(STUDY)
        base = plan(loaded, seed=None, replications=None)
        answer = recommend(loaded, TOOLS, MODEL, base, Path(folder), jobs=jobs, report=Lines("recommend", nowhere))
        return answer, time.monotonic() - wall, cpu() - before


def screening() -> tuple[int, float]:
    """Points, and CPU seconds of their screening alone."""
    loaded = load_study(STUDY)
    before = time.process_time()
    table = screened(loaded, structures(loaded), TOOLS, Sought("goodput"))
    return table.points, time.process_time() - before


def main() -> None:
    """Print the table; exit 1 where fewer points or designs than the goal names were looked at."""
    parser = argparse.ArgumentParser(description="What a recommendation costs.")
    parser.add_argument("--jobs", type=int, default=2)
    jobs = parser.parse_args().jobs
    answer, wall, spent = run(jobs)
    points, alone = screening()
    confirmed = 0 if answer.verdict is None else len(answer.verdict.designs)
    print(f"Python {platform.python_version()}, {jobs} jobs, studies/recommend.yaml")
    for name, seconds in answer.seconds.items():
        print(f"{name:<42} {seconds:>9.2f} s")
    print(f"{'wall (goal ' + format(GOAL_S, 'g') + ' s on two cores)':<42} {wall:>9.2f} s {wall / GOAL_S:>7.2f}")
    print(f"{'CPU, workers included':<42} {spent:>9.2f} s")
    print(f"{'points screened':<42} {points:>9,}")
    print(f"{'points per CPU second, building included':<42} {points / alone:>9,.0f}")
    print(f"{'designs confirmed':<42} {confirmed:>9}")
    if points < LEAST_POINTS or confirmed < LEAST_CONFIRMED:
        raise SystemExit(f"fewer than {LEAST_POINTS:,} points or {LEAST_CONFIRMED} designs")


if __name__ == "__main__":
    main()
