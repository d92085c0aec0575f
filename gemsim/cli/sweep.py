"""`gemsim sweep`: run a study and say which design point protects best."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from gemsim.cli.example import study_argument
from gemsim.cli.main import DONE, POINTS_FAILED

EXAMPLES = """\b
Examples:
  gemsim sweep --example widths --quick
  gemsim sweep studies/widths.yaml --quick
  gemsim sweep studies/systems/gemini.yaml --replications 64 --out out/gemini
"""


@click.command(epilog=EXAMPLES)
@study_argument
@click.option("--quick", is_flag=True, help="Run the study's small version, in seconds.")
@click.option("--jobs", "-j", type=click.IntRange(1), help="Worker processes (default: one for each CPU).")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the results (default: out/STUDY).")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Instead of the study's seed.")
@click.option("--replications", type=click.IntRange(1), help="Instead of the study's number.")
def sweep(
    study: Path, quick: bool, jobs: int | None, out: Path | None, seed: int | None, replications: int | None
) -> int:
    """Simulate every design point of STUDY and say which protects best.

    What the folder holds already is not run again, so a stopped sweep goes on where it was and a larger number of
    replications adds to it.
    """
    from gemsim.spec.loading import load_study
    from gemsim.study.plan import MODEL, default_folder, plan
    from gemsim.study.progress import reporter
    from gemsim.study.sweep import sweep as run
    from gemsim.study.terminal import render

    loaded = load_study(study, quick=quick)
    if quick and not loaded.has_quick:
        click.echo(f"{study}: has no `quick:` section, so the full study runs", err=True)
    if loaded.spec.decide is not None:
        click.echo(f"{study}: `decide:` is for gemsim recommend and is left aside here", err=True)
    asked = plan(loaded, seed=seed, replications=replications, quick=quick)
    with reporter(study.stem) as report:
        result = run(asked, MODEL, out or default_folder(study, quick=quick), jobs=jobs or cpus(), report=report)
    width = max(80, min(shutil.get_terminal_size((100, 24)).columns, 120))
    click.echo(render(result, width=width, styled=sys.stdout.isatty()), nl=False)
    return POINTS_FAILED if result.failed else DONE


def cpus() -> int:
    """The CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
