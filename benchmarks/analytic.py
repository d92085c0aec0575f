"""CPU seconds of a grid by the closed form alone: `python benchmarks/analytic.py [--structures]`.

The job is that of `studies/widths.yaml` where it repairs in place. The first grid is one that a team would sweep: k, m,
steps between encodes, interval of the remote saves, spares; 80 structures, of which the rest are arrays. In the second
every point is a structure of its own: k, m and steps between encodes alone. One process, one core; of three rounds the
fastest, since others share the machine. Reading the file is not counted, writing it is not done.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

from gemsim import resources
from gemsim.results.summary import Row
from gemsim.spec.loading import LoadedStudy, parse_study
from gemsim.study.analytic import closed_forms

GOAL_S = 5.0  # of 20,000 points
ROUNDS = 3
K, M, CADENCE = (f"protection.stripe.{key}" for key in ("k", "m", "cadence"))
REALISTIC: Mapping[str, Sequence[object]] = {
    K: [16, 32, 64, 128],
    M: [1, 2, 3, 4],
    CADENCE: [1, 2, 4, 8, 16],
    "protection.checkpoint.interval": [f"{minutes} min" for minutes in range(5, 130, 5)],
    "cluster.spare_nodes": [8 * number for number in range(1, 11)],
}
STRUCTURES = {K: list(range(16, 216, 20)), M: [1, 2, 3, 4], CADENCE: list(range(1, 26))}


def study(grid: Mapping[str, Sequence[object]]) -> LoadedStudy:
    """The job with another sweep."""
    text = (resources.studies() / "widths.yaml").read_text(encoding="utf-8")
    before, _, rest = text.partition("\nsweep:")
    run = "\nrun:" + rest.partition("\nrun:")[2].partition("\nquick:")[0]
    return parse_study(f"{before}\nsweep: {{grid: {dict(grid)!r}}}{run}\n".encode(), "grid.yaml")


def measured(grid: Mapping[str, Sequence[object]], rounds: int) -> tuple[int, float, int]:
    """Points, CPU seconds of the fastest round, and points without a number."""
    loaded, found, best = study(grid), tuple[Row, ...](), float("inf")
    for _ in range(rounds):
        start = time.process_time()
        found = closed_forms(loaded)
        best = min(best, time.process_time() - start)
    return len(found), best, sum(row["ettr_analytic"] is None for row in found)


def main() -> None:
    """Print both, and how far the goal is."""
    points, seconds, without = measured(REALISTIC, ROUNDS)
    print(f"k x m x cadence x interval x spares: {points:,} points, {without:,} without a number")
    print(f"  {seconds:.2f} CPU-seconds, {points / seconds:,.0f} points per CPU-second (goal: 20,000 in {GOAL_S:g} s)")
    if "--structures" in sys.argv:
        points, seconds, without = measured(STRUCTURES, 1)
        print(f"k x m x cadence, each point a structure of its own: {points:,} points, {without:,} without a number")
        print(f"  {seconds:.2f} CPU-seconds, {points / seconds:,.0f} points per CPU-second")


if __name__ == "__main__":
    main()
