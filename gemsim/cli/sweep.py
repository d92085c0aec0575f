"""`gemsim sweep`: run a study and say which design point protects best."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gemsim.cli.main import DONE, POINTS_FAILED

if TYPE_CHECKING:
    from gemsim.study.sweep import SweepResult

EXAMPLES = """\b
Examples:
  gemsim sweep studies/widths.yaml --quick
  gemsim sweep studies/systems/gemini.yaml --replications 64 --out out/gemini
"""


@click.command(epilog=EXAMPLES)
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--quick", is_flag=True, help="Run the study's small version, in seconds.")
@click.option("--jobs", "-j", type=click.IntRange(1), help="Worker processes (default: one for each CPU).")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the results (default: out/STUDY).")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Instead of the study's seed.")
@click.option("--replications", type=click.IntRange(1), help="Instead of the study's number.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing on stderr but errors.")
def sweep(
    study: Path,
    quick: bool,
    jobs: int | None,
    out: Path | None,
    seed: int | None,
    replications: int | None,
    quiet: bool,
) -> int:
    """Simulate every design point of STUDY and say which protects best.

    What the folder holds already is not run again, so a stopped sweep goes on where it was and a larger number of
    replications adds to it.
    """
    from gemsim.spec.loading import load_study
    from gemsim.study.plan import MODEL, default_folder, plan
    from gemsim.study.progress import reporter
    from gemsim.study.sweep import sweep as run

    loaded = load_study(study, quick=quick)
    asked = plan(loaded, seed=seed, replications=replications, quick=quick)
    with reporter(study.stem, quiet=quiet) as report:
        if quick and not loaded.has_quick:
            report.say(f"{study}: has no `quick:` section, so the full study runs")
        if loaded.spec.decide is not None:
            report.say(f"{study}: `decide:` is for gemsim recommend and is left aside here")
        result = run(asked, MODEL, out or default_folder(study, quick=quick), jobs=jobs or cpus(), report=report)
    return show(result)


def show(result: SweepResult) -> int:
    """Print the page of a sweep and return the exit code."""
    from gemsim.study.terminal import render

    width = max(80, min(shutil.get_terminal_size((100, 24)).columns, 120))
    click.echo(render(result, width=width, styled=sys.stdout.isatty()), nl=False)
    return POINTS_FAILED if result.failed or result.incomplete else DONE


def cpus() -> int:
    """The CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
