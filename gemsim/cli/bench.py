"""`gemsim bench`: what a replication costs in CPU seconds on this machine, beside limits and goals."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gemsim.study.bench import Case, Size

EXAMPLES = """\b
Examples:
  gemsim bench --quick
  gemsim bench --json
"""


@click.command(epilog=EXAMPLES)
@click.option("--quick", is_flag=True, help="Three sizes and three replications each: some seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def bench(quick: bool, as_json: bool) -> None:
    """Time the engine: CPU seconds of a replication over the size of the fleet, and of three known cases."""
    from gemsim.study import bench as measured

    facts = measured.machine()
    if as_json:
        found = {
            "machine": facts,
            "sizes": [asdict(size) for size in measured.sizes(quick=quick)],
            "cases": [asdict(case) for case in measured.cases(quick=quick)],
            "peer": measured.PEER,
        }
        click.echo(json.dumps(found, indent=2))
        return
    click.echo(", ".join(f"{name} {value}" for name, value in facts.items()))
    click.echo("CPU seconds of one replication, medians; its failures are drawn anew each time\n")
    click.echo(f"{'54 days of':<14} {'CPU-s':>8} {'failures':>9} {'µs for one more failure':>24}")
    slopes = [_size(size) for size in measured.sizes(quick=quick)]
    click.echo(f"dearest over cheapest failure: {max(slopes) / min(slopes):.2f}, goal 1.5\n")
    click.echo(f"{'case':<52} {'CPU-s':>8} {'limit':>5} {'goal':>11} {'failures':>9} {'µs each':>8}  peer, CPU-s")
    for case in measured.cases(quick=quick):
        _case(case)
    click.echo(f"\npeer: {measured.PEER}")


def _size(size: Size) -> float:
    name = f"{size.gpus:,} GPUs"
    click.echo(f"{name:<14} {size.cpu:>8.4f} {size.failures:>9,.0f} {size.per_failure * 1e6:>24.1f}")
    return size.per_failure


def _case(case: Case) -> None:
    each, met = case.cpu / case.failures * 1e6, "met" if case.goal is None or case.cpu <= case.goal else "missed"
    goal = "-" if case.goal is None else f"{case.goal:g} {met}"
    times = f"{case.cpu:>8.3f} {case.limit:>5g} {goal:>11}"
    click.echo(f"{case.name:<52} {times} {case.failures:>9,.0f} {each:>8.1f}  {case.peer or '-'}")
