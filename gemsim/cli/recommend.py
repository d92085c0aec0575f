"""`gemsim recommend`: what to run, how surely, and what the answer hangs on."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gemsim.cli.example import study_argument
from gemsim.cli.main import ASKED_WRONG, DONE, POINTS_FAILED
from gemsim.cli.options import jobs_option, seed_option

EXAMPLES = """\b
Examples:
  gemsim recommend studies/recommend.yaml --quick
  gemsim recommend studies/recommend.yaml --out out/decision
"""


@click.command(epilog=EXAMPLES)
@study_argument
@click.option("--quick", is_flag=True, help="Decide the study's small version, in seconds.")
@jobs_option
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the results (default: out/STUDY-recommend).")
@seed_option
@click.option("--replications", type=click.IntRange(2), help="To begin with, instead of the study's number.")
@click.option("--confirm", type=click.IntRange(2), help="Designs that the engine confirms (default: 8).")
def recommend(
    study: Path,
    quick: bool,
    jobs: int | None,
    out: Path | None,
    seed: int | None,
    replications: int | None,
    confirm: int | None,
) -> int:
    """Find the design of STUDY to run, among all that its `decide:` section allows.

    The closed form screens every point, the engine confirms the best and the front on the same failures. The folder
    keeps the replications, so a repeat goes on where it was, and recommend.json has every number.
    """
    from gemsim.cli.sweep import width
    from gemsim.spec.loading import load_study
    from gemsim.study.machine import cpus
    from gemsim.study.plan import MODEL, default_folder, plan
    from gemsim.study.progress import reporter
    from gemsim.study.recommend.page import render
    from gemsim.study.recommend.run import CONFIRMED
    from gemsim.study.recommend.run import recommend as run
    from gemsim.study.recommend.tools import TOOLS

    loaded = load_study(study, quick=quick)
    if quick and not loaded.has_quick:
        click.echo(f"{study}: has no `quick:` section, so the full study runs", err=True)
    if loaded.spec.sweep.count > 1:
        click.echo(f"{study}: `sweep:` is for gemsim sweep and is left aside here", err=True)
    base = plan(loaded, seed=seed, replications=replications)
    folder = out or default_folder(study, quick=quick).with_name(f"{default_folder(study, quick=quick).name}-recommend")
    with reporter(study.stem) as report:
        answer = run(
            loaded, TOOLS, MODEL, base, folder, jobs=jobs or cpus(), report=report, number=confirm or CONFIRMED
        )
    click.echo(render(answer, width=width(), styled=sys.stdout.isatty()), nl=False)
    rows = "" if answer.verdict is None else ", rows/ (every replication), summary.csv"
    click.echo(f"Files in {folder}: recommend.json (all of this, and more){rows}.")
    if answer.choice is None:
        return POINTS_FAILED if answer.failed else ASKED_WRONG
    return POINTS_FAILED if answer.failed else DONE
