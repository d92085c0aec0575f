"""Design points per CPU-second of the twin, on arrays and one at a time: `python benchmarks/twin.py [--quick]`.

The job is that of `studies/widths.yaml` where it repairs in place: retry, a stripe in each GPU, a remote store. Codes
and cadences are structures, each resolved and built; steps between saves and spare nodes are arrays. One process, one
core; of three rounds the fastest, since others share the machine. Trust the ratio more than the seconds.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gemsim import resources
from gemsim.analytic.run import predict
from gemsim.analytic.screen import screen
from gemsim.scenario import build
from gemsim.spec.loading import LoadedStudy, load_study, resolve_point

K = tuple(range(16, 272, 16))
M = (1, 2, 3, 4, 5)
CADENCE = (1, 2, 4, 8)
STEPS = np.arange(1, 65) * 5
SPARES = np.arange(16) * 8
GOAL = 200_000  # points per CPU-second
SAMPLE = 150  # points of the loop
ROUNDS = 3


def structures(quick: bool) -> Iterator[dict[str, Any]]:
    """What is resolved and built anew."""
    for k, m, cadence in itertools.product(K[:: 4 if quick else 1], M, CADENCE):
        if k + m <= 255 or m < 4:
            yield {
                "restart": "in_place",
                "protection.stripe.k": k,
                "protection.stripe.m": m,
                "protection.stripe.cadence": cadence,
            }


def arrays(loaded: LoadedStudy, designs: Sequence[dict[str, Any]]) -> tuple[float, float, int, int]:
    """CPU seconds to resolve and build all structures, and to screen them; points, and those without a number."""
    tier = next(at for at, one in enumerate(loaded.spec.protection) if one.kind == "checkpoint")
    making, screening, points, without = 0.0, 0.0, 0, 0
    for design in designs:
        start = time.process_time()
        scenario = build(resolve_point(loaded, design))
        built = time.process_time()
        found = screen(scenario, every={tier: STEPS[:, None]}, spares=SPARES)["ettr_analytic"]
        making, screening = making + built - start, screening + time.process_time() - built
        points, without = points + found.size, without + int(np.isnan(found).sum())
    return making, screening, points, without


def one_at_a_time(loaded: LoadedStudy, designs: Sequence[dict[str, Any]]) -> float:
    """CPU seconds of a point that is resolved, built and predicted by itself."""
    rng, step = np.random.default_rng(6), loaded.spec.workload.step
    start = time.process_time()
    for _ in range(SAMPLE):
        given = {
            "protection.checkpoint.interval": f"{rng.choice(STEPS) * step} s",
            "cluster.spare_nodes": int(rng.choice(SPARES)),
        }
        predict(build(resolve_point(loaded, designs[int(rng.integers(len(designs)))] | given)))
    return (time.process_time() - start) / SAMPLE


def main() -> None:
    """Print points per CPU-second, and how they compare."""
    loaded = load_study(resources.studies() / "widths.yaml")
    designs = list(structures("--quick" in sys.argv))
    arrays(loaded, designs[:3])
    making, screening, points, without = min(arrays(loaded, designs) for _ in range(ROUNDS))
    alone = min(one_at_a_time(loaded, designs) for _ in range(ROUNDS))
    total, each = making + screening, 1e3 / len(designs)
    print(f"{points:,} design points of {len(designs)} structures, {without:,} without a number")
    print(
        f"  on arrays      {points / total:>12,.0f} points per CPU-second (goal {GOAL:,}: {points / total / GOAL:.2f})"
    )
    print(f"    of it {making / total:.0%} to resolve and build, {each * making:.2f} ms a structure")
    print(f"    and {screening / total:.0%} to screen, {each * screening:.2f} ms a structure")
    print(f"  one at a time  {1.0 / alone:>12,.0f} points per CPU-second, {1e3 * alone:.2f} ms each")
    print(f"  ratio          {points / total * alone:>12,.0f}")


if __name__ == "__main__":
    main()
